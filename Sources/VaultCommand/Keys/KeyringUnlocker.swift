internal import Synchronization
internal import VaultFile

/// What unlocks a keyring: the secrets that `--unlock` names, else the one that `VAULTFILE_UNLOCK` names, else a
/// passphrase that is asked for. Each is read once, when it is first needed. A store is unlocked in the same way, but not
/// by a variable.
///
/// A keyring that nothing protects is accepted only if the user says so in this run. Otherwise an attacker who can
/// write the two files of a keyring could put their own there, and new containers would be encrypted for their key.
final class KeyringUnlocker: KeyProvider {
    /// What was named.
    let named: [KeyArgument]
    /// Whether the command line names it, not the environment.
    let isNamedOnLine: Bool
    private let reader: SecretReader
    private let purpose: SecretPurpose
    /// Reads what a word names.
    private let read: @Sendable (KeyArgument, SecretPurpose) throws(Failure) -> Secret
    private let state = Mutex(State())

    private struct State {
        /// The secrets that were read, by the index of their argument: a descriptor that is named twice gives two
        /// lines.
        var known: [Int: Secret] = [:]
        /// The secrets that protect a new keyring of this run.
        var set: [Secret]?
        /// Secrets that the command line names for something else and that are tried too.
        var others: [Secret] = []
        var hasTriedPassphrases = false
        /// Whether this run makes a keyring that nothing protects.
        var makesUnprotected = false
    }

    init(_ options: UnlockOptions, _ reader: SecretReader) {
        self.reader = reader
        named = options.argumentsOrVariable
        isNamedOnLine = !options.unlock.isEmpty
        purpose = .unlocking
        read = { argument, purpose throws(Failure) in try reader.secret(argument, for: purpose) }
    }

    /// What unlocks a store.
    ///
    /// - Parameter keyring: Has the keys that a word can name.
    init(ofStore named: [KeyArgument], _ keyring: KeyringSession) {
        reader = keyring.reader
        self.named = named
        isNamedOnLine = !named.isEmpty
        purpose = .unlockingStore
        read = { argument, purpose throws(Failure) in try keyring.secret(argument, for: purpose) }
    }

    private var arguments: [KeyArgument] {
        named.isEmpty ? [KeyArgument(.passphrase, of: "--unlock")] : named.filter { $0.source != .unprotected }
    }

    /// Whether there was a key or a passphrase to try.
    var hadSomething: Bool { namesSecrets || state.withLock { $0.hasTriedPassphrases } }

    /// Whether keys or passphrases were named.
    var namesSecrets: Bool { named.contains { $0.source != .unprotected } }

    /// Whether nothing but a passphrase that the user types was tried.
    private var isOnlyTyped: Bool { arguments.allSatisfy { $0.source == .passphrase } }

    /// Whether the environment names a secret, so that no passphrase is asked for.
    var isOfVariable: Bool { !isNamedOnLine && !isOnlyTyped }

    /// What is said if nothing that was tried unlocks the keyring.
    var mismatch: String {
        guard !isOnlyTyped, let option = named.first?.option else { return "wrong passphrase" }
        return "what \(option) names does not unlock \(purpose.subject ?? "it")"
    }

    /// The word that says that nothing protects the keyring, if it was given.
    var wordForUnprotected: KeyArgument? { named.first { $0.source == .unprotected } }

    /// Whether a keyring that nothing protects is accepted.
    var allowsUnprotected: Bool { wordForUnprotected != nil || state.withLock { $0.makesUnprotected } }

    /// The passphrases that were named to unlock the keyring; nil if only keys were named.
    func passphrasesIfAny() throws -> [Passphrase]? {
        try named.isEmpty || named.contains(where: \.isPassphrase) ? passphrases() : nil
    }

    /// Reads or asks for the secrets that will unlock a new keyring. They unlock it for the rest of the run.
    func setForNewKeyring() throws(Failure) -> [Secret] {
        var secrets: [Secret] = []
        for argument in arguments { secrets.append(try reader.secret(argument, for: .settingUnlocker)) }
        state.withLock { $0.set = secrets }
        return secrets
    }

    /// Accepts a keyring that nothing protects, because this run makes one.
    func makeUnprotected() {
        state.withLock { $0.makesUnprotected = true }
    }

    /// Also tries secrets that the command line names for something else. If one of them is a passphrase, the user is
    /// not asked for one.
    func alsoTry(_ secrets: [Secret]) {
        state.withLock { $0.others = secrets }
    }

    /// Reads the lines that unlock the keyring from descriptors that `others` read too. Their lines come after these.
    func takeLines(before others: [KeyArgument]) throws(Failure) {
        let shared = Set(others.compactMap(\.descriptor))
        _ = try secrets { $0.descriptor.map(shared.contains) ?? false }
    }

    func symmetricKeys(for ids: [KeyID]) throws -> [SymmetricKey] {
        try (others + secrets { !$0.isPassphrase }).keys.map(\.key)
    }

    func passphrases() throws -> [Passphrase] {
        let others = others.passphrases
        guard wordForUnprotected == nil else { return others }
        state.withLock { $0.hasTriedPassphrases = true }
        return try others.isEmpty || !named.isEmpty ? others + secrets(\.isPassphrase).passphrases : others
    }

    /// Whether the passphrase that did not fit was typed, so that the user may try again. A mistyped passphrase is the
    /// commonest mistake.
    func asksAgain() -> Bool {
        guard arguments.contains(where: { $0.source == .passphrase }),
            state.withLock({ $0.set == nil && $0.others.passphrases.isEmpty && !$0.known.isEmpty }),
            reader.asksAgain(for: purpose)
        else { return false }
        let typed = arguments.enumerated().filter { $1.source == .passphrase }.map(\.offset)
        state.withLock { state in typed.forEach { state.known[$0] = nil } }
        return true
    }

    private var others: [Secret] { state.withLock { $0.others } }

    private func secrets(_ isWanted: (KeyArgument) -> Bool) throws(Failure) -> [Secret] {
        if let set = state.withLock({ $0.set }) { return set }
        var secrets: [Secret] = []
        for (index, argument) in arguments.enumerated() where isWanted(argument) {
            if let secret = state.withLock({ $0.known[index] }) {
                secrets.append(secret)
                continue
            }
            let secret = try read(argument, purpose)
            state.withLock { $0.known[index] = secret }
            secrets.append(secret)
        }
        return secrets
    }
}
