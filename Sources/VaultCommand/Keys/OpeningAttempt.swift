internal import Synchronization
internal import VaultFile

/// The keys of a run, tried on one container: first what `--add` and `--remove` name, where its keys are changed, and
/// then what opens (`OpeningKeys`).
///
/// Where nothing but defaults opens, they are asked only for what the named secrets have no key for: nobody is to
/// unlock a keyring or type a passphrase that is not needed. And where the named secrets have one of the keys, a
/// keyring that stays locked is no obstacle yet: it is one if the change turns out to need more.
final class OpeningAttempt: KeyProvider {
    private let keys: OpeningKeys
    private let named: NamedSecrets
    private let namedKeys: KeySet
    private let subject: Failure.Subject
    private let stretching = Stretching()
    /// What the container has slots for, and the named secrets have not; nil for a passphrase.
    private let wanted = Mutex<Set<KeyID?>>([])
    private let missed = Mutex<Failure?>(nil)

    /// - Parameter subject: The file that a passphrase would be asked for.
    init(_ keys: OpeningKeys, and named: NamedSecrets = .none, on subject: Failure.Subject) {
        self.keys = keys
        self.named = named
        namedKeys = KeySet(keys: named.keys)
        self.subject = subject
    }

    func symmetricKeys(for ids: [KeyID]) throws -> [SymmetricKey] {
        let own = namedKeys.symmetricKeys(for: ids)
        let found = Set(own.map(\.id))
        let rest = keys.areDefaults ? ids.filter { !found.contains($0) } : ids
        guard !rest.isEmpty else { return own }
        wanted.withLock { $0.formUnion(rest) }
        if keys.isKeyringLocked { stretching.begin() }
        let others: [SymmetricKey]
        do {
            others = try keys.symmetricKeys(for: rest)
        } catch {
            guard keys.areDefaults, !own.isEmpty, let failure = error as? Failure, failure.status == .noKey else {
                throw error
            }
            missed.withLock { $0 = failure }
            return own
        }
        // The keyring may have been opened by this, and nothing has been written yet.
        try keys.refuseRetired(named.keysAdded)
        return own + others
    }

    func passphrases() throws -> [Passphrase] {
        if keys.areDefaults, !named.removing.passphrases.isEmpty { return [] }
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

    /// Why keys are missing that were not needed to open the container.
    var whyKeysAreMissing: Failure? { missed.withLock { $0 } }

    /// What an error means, given that perhaps there was nothing to try at all.
    func explain(_ error: any Error) -> Failure {
        keys.explain(error, about: subject, wanted: wanted.withLock { $0 }, triedOthers: named.opens)
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
