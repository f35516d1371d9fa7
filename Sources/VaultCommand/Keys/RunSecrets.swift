internal import VaultFile

/// The secrets of a run: the keyring, and what else the command line or the environment names.
struct RunSecrets: Sendable {
    let reader: SecretReader
    let keyring: KeyringSession

    init(_ unlocking: UnlockOptions, _ console: Console) {
        reader = SecretReader(console: console)
        keyring = KeyringSession(unlocking, reader, console)
    }

    /// The files that secrets come from, known before any is read: none of them may become an output or be removed.
    static func files(_ options: KeyOptions) throws(Failure) -> Set<FileIdentity> {
        var paths = (options.arguments + options.unlocking.arguments).compactMap(\.path)
        if options.isEmpty, let path = defaultKeyFile { paths.append(path) }
        if options.usesKeyring, let place = KeyringPlace.find() {
            paths += [place.path, place.unlockKey] + options.unlocking.argumentsOrVariable.compactMap(\.path)
        }
        return try FileIdentity.all(of: paths)
    }

    /// The key or passphrase that one word names.
    func secret(_ argument: KeyArgument, for purpose: SecretPurpose) throws(Failure) -> Secret {
        guard let name = argument.name else { return try reader.secret(argument, for: purpose) }
        return .key(try keyring.key(name, for: purpose))
    }

    /// All that the options name. A source that is named twice is read once, but each `-p` asks anew.
    func secrets(_ options: KeyOptions, for purpose: SecretPurpose) throws(Failure) -> [Secret] {
        var secrets: [Secret] = []
        for argument in options.arguments {
            let isQuestion = argument.source == .passphrase
            secrets.append(
                try isQuestion ? .passphrase(reader.ask(for: purpose)) : secret(argument, for: purpose))
        }
        if purpose.makesSlot { try keyring.refuseRetired(secrets.keys) }
        return secrets
    }

    /// All keys that the options name.
    func keys(_ options: KeyFileOptions) throws(Failure) -> [LoadedKey] {
        var secrets: [Secret] = []
        for argument in options.arguments { secrets.append(try secret(argument, for: .opening)) }
        return secrets.keys
    }

    /// The key file that the environment names.
    private static var defaultKeyFile: PathArgument? {
        guard let path = Variable.value(Variable.keyFile) else { return nil }
        // `./` keeps a file that is called `-` a file.
        return PathArgument(bytes: path == [UInt8(ascii: "-")] ? Array("./-".utf8) : path)
    }

    /// The key of the key file that the environment names; nil if it names none.
    func environmentKey() throws(Failure) -> LoadedKey? {
        guard let path = Self.defaultKeyFile else { return nil }
        return try reader.secret(KeyArgument(.file(path), of: Variable.keyFile), for: .opening).key
    }

    /// The key that encrypts if none is named: that of the key file in the environment, else the keyring's current key.
    ///
    /// - Throws: What `missing` gives if there is neither.
    func encryptionKey(orElse missing: @autoclosure () -> Failure) throws(Failure) -> LoadedKey {
        if let key = try environmentKey() { return key }
        guard keyring.exists else { throw missing() }
        return try keyring.currentKey()
    }
}
