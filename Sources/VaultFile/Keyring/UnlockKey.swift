import SystemPackage
import VaultFormat
import VaultStream

/// The key of a keyring's one slot, in a file beside it (KEYRING-2, KEYRING-3).
///
/// It is a file of its own so that a change of the keyring, which makes a new container, needs one of the keys and
/// passphrases that unlock it and takes nothing from the others; and so that changing these is a rotation of a small
/// container and leaves the keyring as it is.
struct UnlockKey: Sendable {
    /// Keeps a container that was made for something else, but for the same key or passphrase, from being put here.
    static let context = Context(unchecked: Array("vaultfile keyring key".utf8))
    static let contentType = "application/x-vaultfile-key"

    let key: SymmetricKey
    /// Of the file that it was read from, to see whether it is still the one.
    let identity: FileStatus.Identity

    init(_ key: SymmetricKey, _ identity: FileStatus.Identity) {
        self.key = key
        self.identity = identity
    }

    /// Reads it: a container that the keys given open, or a key file that nothing protects.
    ///
    /// - Throws: `inputFailed`, `wrongKey`, `badKey`; what the provider throws.
    init(at path: FilePath, keys: any KeyProvider) throws {
        let file = try FileDescriptor.openForReading(path)
        defer { file.closeQuietly() }
        do {
            identity = try file.status().identity
        } catch {
            throw VaultError(.inputFailed, "it cannot be looked at: \(error)", systemError: error.rawValue)
        }
        let source = FileSource(file)
        do {
            let text = try SeekableVaultReader(source, keys: keys, context: Self.context)
                .secret(atMost: SymmetricKey.largestKeyFile)
            key = try text.withBytes { try SymmetricKey(keyFile: $0) }
        } catch let error as VaultError {
            guard error.code == .notVaultfile else { throw error }
            key = try SymmetricKey.read(from: file)
        }
    }

    /// Writes one.
    ///
    /// - Parameter unlockers: who is to open it; none for a key file that nothing protects.
    static func write(_ key: SymmetricKey, to file: borrowing OutputFile, for unlockers: [Recipient]) throws {
        try key.withKeyFile { text in
            guard !unlockers.isEmpty else { return try file.write(text) }
            var options = SealOptions()
            options.context = context
            options.metadata.contentType = contentType
            // Room for more of them, so that adding one leaves the file in its place.
            options.headerCapacity = HeaderCapacity(bytes: 4096)
            try file.seal(text, for: unlockers, options: options)
        }
    }
}
