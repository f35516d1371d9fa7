internal import Synchronization
internal import VaultFile

/// The keys that a run tries on one container: first those that `--add` and `--remove` name, then the keys that open
/// (`RunKeys`).
///
/// The defaults are asked only for keys that are not among the named secrets, so that the user does not unlock a
/// keyring or type a passphrase without need. If the named secrets include one of the container's keys, a keyring that
/// stays locked is an error only if the change turns out to need further keys.
final class ContainerKeys: KeyProvider {
    private let keys: RunKeys
    private let change: SlotChange
    /// Whether the passphrases whose slots are removed are tried. A change of slots tries them itself.
    private let triesRemoved: Bool
    private let named: KeySet
    private let subject: Failure.Subject
    private let stretching = Stretching()
    /// Looks at the container again, to explain why nothing opens it.
    private let look: @Sendable () -> Inspection?
    /// What has slots in the container and is not among the named secrets.
    private let wanted = Mutex(WantedKeys())
    private let unavailable = Mutex<Failure?>(nil)
    /// The questions for passphrases whose answers were tried, with their numbers.
    private let tried = Mutex<[(question: PassphraseQuestion, number: Int)]>([])

    /// - Parameters:
    ///   - subject: The file that a question for a passphrase names.
    ///   - look: Looks at the container without a key; nil if it cannot be read twice.
    init(
        _ keys: RunKeys, changing change: SlotChange = .none, triesRemoved: Bool = false, on subject: Failure.Subject,
        _ look: @escaping @Sendable () -> Inspection? = { nil }
    ) {
        self.look = look
        self.keys = keys
        self.change = change
        self.triesRemoved = triesRemoved
        named = KeySet(keys: change.keys, identities: change.identities)
        self.subject = subject
    }

    func symmetricKeys(for ids: [KeyID]) throws -> [SymmetricKey] {
        let own = named.symmetricKeys(for: ids)
        let found = Set(own.map(\.id))
        let rest = keys.areDefaults ? ids.filter { !found.contains($0) } : ids
        guard !rest.isEmpty else { return own }
        wanted.withLock { $0.keys.formUnion(rest) }
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
        // The call above may have opened the keyring, so keys to be added are checked again. Nothing has been written
        // yet.
        try keys.keyring.refuseRetired(change.added.keys)
        return own + others
    }

    func identities() throws -> [Identity] {
        wanted.withLock { $0.identity = true }
        let own = named.identities()
        if own.isEmpty { try openKeyring() }
        return try own + keys.identities()
    }

    /// Unlocks the keyring for its identities. A change of slots asks for identities in any case: the keyring is unlocked
    /// only for a container that they may open.
    private func openKeyring() throws {
        guard keys.isKeyringLocked, look().map({ $0.slots.contains(where: \.kind.isOfPublicKey) }) ?? true else {
            return
        }
        stretching.begin()
        _ = try keys.keyring.open()
    }

    func pluginIdentities() throws -> [PluginIdentity] {
        wanted.withLock { $0.identity = true }
        let own = change.pluginIdentities
        if own.isEmpty { try openKeyring() }
        return try own + keys.pluginIdentities()
    }

    func secrets(
        in slots: [[AgeStanza]], by plugin: String, with identities: [PluginIdentity]
    ) throws -> [StanzaSecret?] {
        // The user may take long to answer, and what another thread prepares may need the turn to stretch.
        try stretching.pause {
            try keys.preparation.once()
            return try keys.keyring.plugins.secrets(in: slots, by: plugin, with: identities)
        }
    }

    func passphrases() throws -> [Passphrase] {
        // The passphrase whose slot is removed opens the container, so no other one is asked for.
        let isEnough = keys.areDefaults && change.removesPassphrase
        let removed = triesRemoved ? try change.removing().passphrases : []
        let questions = [isEnough ? nil : keys.question, change.question].compactMap(\.self)
        tried.withLock { $0 = questions.map { ($0, $0.number) } }
        if isEnough { return removed }
        let hasKeys = wanted.withLock { wanted in
            wanted.passphrase = true
            return !wanted.keys.isEmpty
        }
        stretching.begin()
        return try removed + keys.passphrases(for: subject, hasKeys: hasKeys)
    }

    /// Waits for the turn to stretch a passphrase that need not be asked for.
    func willStretch() {
        stretching.begin()
    }

    /// To be called when no further key is tried.
    func end() {
        stretching.end()
    }

    /// Calls `body` with these keys. If the typed passphrase does not open the container, the user may try again.
    ///
    /// - Parameter make: Makes the keys for each try.
    static func tries<R>(_ make: () -> ContainerKeys, _ body: (ContainerKeys) throws -> R) throws -> R {
        while true {
            let keys = make()
            defer { keys.end() }
            do {
                let result = try body(keys)
                for (question, _) in keys.tried.withLock({ $0 }) { question.noteOpened() }
                return result
            } catch is AskedAgain {
                continue
            } catch let error as VaultError where error.code == .wrongKey {
                // It is not known which of the answers was mistyped, so each question is asked again.
                let asksAgain = keys.tried.withLock { $0 }.map { $0.asksAgain(after: $1) }
                guard asksAgain.contains(true) else { throw keys.explain(error) }
            }
        }
    }

    /// Why keys could not be read that opening did not need; nil if there are none.
    var whyKeysAreMissing: Failure? { unavailable.withLock { $0 } }

    /// The failure for an error of opening.
    func explain(_ error: any Error) -> Failure {
        var wanted = wanted.withLock { $0 }
        wanted.seen = look()
        return keys.explain(error, about: subject, wanted: wanted, triedOthers: change.opens)
    }
}
