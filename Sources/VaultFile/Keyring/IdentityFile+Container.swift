import VaultFormat
public import VaultStream

extension IdentityFile {
    /// Reads a file of identities that is in a container. Its text is only in guarded memory.
    ///
    /// - Parameters:
    ///   - container: the container, which must not be compressed.
    ///   - credentials: what opens it.
    /// - Throws: `unsupportedCompression`; `badKey` if the text is no file of identities; what ``SeekableVaultReader``
    ///   throws.
    public init(inContainer container: any ByteSource, with credentials: Credentials) throws {
        let reader = try SeekableVaultReader(container, with: credentials)
        let text = try reader.secret(
            atMost: Self.longest, orElse: VaultError(.badKey, "a file of identities has at most \(Self.longest) bytes"))
        self = try text.withBytes { text throws(VaultError) in try IdentityFile(text) }
    }

    /// KEYTEXT-5.
    private static let longest = 1 << 20
}
