internal import VaultFile
internal import VaultSystem

extension KeyArgument {
    /// The key file that the environment names; nil if it names none.
    static var ofEnvironment: KeyArgument? {
        guard let path = Variable.value(Variable.keyFile) else { return nil }
        // `./-` is a file named `-`; a plain `-` would be standard input.
        let bytes = path == [UInt8(ascii: "-")] ? Array("./-".utf8) : path
        return KeyArgument(.file(PathArgument(bytes: bytes)), of: Variable.keyFile)
    }
}

extension KeyHolders {
    /// Recognises the files of the user's keyrings too, those that this run does not use included.
    static func ofUser() throws(Failure) -> KeyHolders {
        KeyHolders(own: try FileIdentity.all(of: KeyringPlace.all.flatMap { [$0.path, $0.unlockKey] }))
    }
}

extension KeyOptions {
    /// The files with secrets, found before any is read. None of them may become an output or be removed. Nor may those
    /// with public keys.
    func secretFiles(beside recipients: RecipientOptions? = nil) throws(Failure) -> Set<FileIdentity> {
        var sources = arguments + unlocking.arguments + (recipients?.arguments ?? [])
        if isEmpty, let key = KeyArgument.ofEnvironment { sources.append(key) }
        let named = try FileIdentity.all(of: sources.compactMap(\.path))
        return usesKeyring ? try named.union(unlocking.secretFiles()) : named
    }
}

extension UnlockOptions {
    /// The two files of the keyring, and the files that unlock it.
    func secretFiles() throws(Failure) -> Set<FileIdentity> {
        guard let place = KeyringPlace.find() else { return [] }
        return try FileIdentity.all(of: argumentsOrVariable.compactMap(\.path) + [place.path, place.unlockKey])
    }
}
