internal import Synchronization
internal import VaultFile

/// The keys of a run, tried on one container.
final class OpeningAttempt: KeyProvider {
    private let keys: OpeningKeys
    private let subject: Failure.Subject
    private let stretching = Stretching()
    /// What the container has slots for; nil for a passphrase.
    private let wanted = Mutex<Set<KeyID?>>([])

    /// - Parameter subject: The file that a passphrase would be asked for.
    init(_ keys: OpeningKeys, on subject: Failure.Subject) {
        self.keys = keys
        self.subject = subject
    }

    func symmetricKeys(for ids: [KeyID]) throws -> [SymmetricKey] {
        wanted.withLock { $0.formUnion(ids) }
        if keys.isKeyringLocked { stretching.begin() }
        return try keys.symmetricKeys(for: ids)
    }

    func passphrases() throws -> [Passphrase] {
        wanted.withLock { _ = $0.insert(nil) }
        stretching.begin()
        return try keys.passphrases(for: subject)
    }

    /// Says that a passphrase will be stretched, whether or not one is asked for.
    func willStretch() {
        stretching.begin()
    }

    /// Says that no passphrase is tried any more: it is open, or stays shut.
    func end() {
        stretching.end()
    }

    /// What an error means, given that perhaps there was nothing to try at all.
    ///
    /// - Parameter triedOthers: Whether there was something to try besides.
    func explain(_ error: any Error, triedOthers: Bool = false) -> Failure {
        keys.explain(error, about: subject, wanted: wanted.withLock { $0 }, triedOthers: triedOthers)
    }
}

/// The stretching of passphrases: one at a time in the process, for each takes the memory that its slot asks for, and
/// several at once could take all there is.
final class Stretching: Sendable {
    private static let isGoingOn = Monitor(false)
    private let isMine = Atomic(false)
    private let turn = Turn.current

    /// Waits until nobody else stretches. May be called again.
    func begin() {
        guard !isMine.exchange(true, ordering: .relaxed) else { return }
        Self.isGoingOn.wait { isGoingOn -> Void? in
            guard !isGoingOn else { return nil }
            isGoingOn = true
            return ()
        }
        turn?.isAwaited.store(true, ordering: .relaxed)
    }

    /// Lets others stretch. May be called again, and without `begin`.
    func end() {
        guard isMine.exchange(false, ordering: .relaxed) else { return }
        turn?.isAwaited.store(false, ordering: .relaxed)
        Self.isGoingOn.withLock { $0 = false }
    }

    deinit {
        end()
    }
}
