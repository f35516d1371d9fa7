internal import Synchronization
internal import VaultFile

/// What unlocks a keyring: the secrets that `--unlock` names, else the one that `VAULTFILE_UNLOCK` names, else a
/// passphrase that is asked for. Each is read once, when it is first needed.
final class KeyringUnlocker: KeyProvider {
    /// What was named.
    let named: [KeyArgument]
    /// Whether the command line names it, not the environment.
    let isNamedOnLine: Bool
    private let reader: SecretReader
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
    }

    init(_ options: UnlockOptions, _ reader: SecretReader) {
        self.reader = reader
        named = options.argumentsOrVariable
        isNamedOnLine = !options.unlock.isEmpty
    }

    private var arguments: [KeyArgument] {
        named.isEmpty ? [KeyArgument(.passphrase, of: "--unlock")] : named
    }

    /// Whether there was a key or a passphrase to try.
    var hadSomething: Bool { !named.isEmpty || state.withLock { $0.hasTriedPassphrases } }

    /// Whether a keyring that nothing protects is accepted. It is not if the user has named what unlocks it, now or
    /// when this run made it: another keyring may have been put in its place.
    var allowsUnprotected: Bool { named.isEmpty && state.withLock { $0.set == nil } }

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
        state.withLock { $0.hasTriedPassphrases = true }
        let others = others.passphrases
        return try others.isEmpty || !named.isEmpty ? others + secrets(\.isPassphrase).passphrases : others
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
            let secret = try reader.secret(argument, for: .unlocking)
            state.withLock { $0.known[index] = secret }
            secrets.append(secret)
        }
        return secrets
    }
}
