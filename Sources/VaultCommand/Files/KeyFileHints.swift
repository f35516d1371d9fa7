extension KeyArgument {
    /// The hint for the name of a key that is not there, if it is the name of a file: how a key file is named.
    var hintAtFile: Hint? {
        guard let name, Self.isFile(Array(name.utf8)) else { return nil }
        let isKeyOption = option == "-k"
        let input = try? Input(PathArgument(bytes: Array(name.utf8)))
        defer { input?.close() }
        return switch try? input?.withSecretPrefix(KnownFormats.kind) {
        // They unlock no keyring and no store.
        case .recipients where option == "--unlock", .identities where option == "--unlock": nil
        case .recipients: .recipientsFile(name, isKeyOption: isKeyOption)
        case .identities: .identityFile(name, isKeyOption: isKeyOption)
        default: .keyFile(name, isKeyOption: isKeyOption)
        }
    }
}
