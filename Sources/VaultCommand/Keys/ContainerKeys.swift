internal import Synchronization
internal import VaultFile

/// The keys of a run for one container: first what `--add` and `--remove` name, then what opens (`RunKeys`).
///
/// Defaults are asked only for the keys that the named secrets lack, so that nobody unlocks a keyring or types a
/// passphrase without need. If the named secrets have one of the keys, a keyring that stays locked is not yet a failure:
/// it is one if the change turns out to need more.
final class ContainerKeys: KeyProvider {
    private let keys: RunKeys
    private let change: SlotChange
    private let named: KeySet
    private let subject: Failure.Subject
    private let stretching = Stretching()
    /// What the container has slots for and the named secrets lack; nil for a passphrase.
    private let wanted = Mutex<Set<KeyID?>>([])
    private let unavailable = Mutex<Failure?>(nil)

    /// - Parameter subject: The file that a passphrase would be asked for.
    init(_ keys: RunKeys, changing change: SlotChange = .none, on subject: Failure.Subject) {
        self.keys = keys
        self.change = change
        named = KeySet(keys: change.keys)
        self.subject = subject
    }

    func symmetricKeys(for ids: [KeyID]) throws -> [SymmetricKey] {
        let own = named.symmetricKeys(for: ids)
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
            unavailable.withLock { $0 = failure }
            return own
        }
        // This may have opened the keyring. Nothing has been written yet.
        try keys.refuseRetired(change.added.keys)
        return own + others
    }

    func passphrases() throws -> [Passphrase] {
        if keys.areDefaults, !change.removing.passphrases.isEmpty { return [] }
        wanted.withLock { _ = $0.insert(nil) }
        stretching.begin()
        return try keys.passphrases(for: subject)
    }

    /// Announces that a passphrase will be stretched, whether or not one is asked for.
    func willStretch() {
        stretching.begin()
    }

    /// Ends the trying: the container is open, or stays locked.
    func end() {
        stretching.end()
    }

    /// Why keys are missing that opening did not need.
    var whyKeysAreMissing: Failure? { unavailable.withLock { $0 } }

    /// What an error means.
    func explain(_ error: any Error) -> Failure {
        keys.explain(error, about: subject, wanted: wanted.withLock { $0 }, triedOthers: change.opens)
    }
}
