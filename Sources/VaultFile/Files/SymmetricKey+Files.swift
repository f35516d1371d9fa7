public import SystemPackage
import VaultCrypto
import VaultFormat
public import VaultStream

/// Key files (Spec, appendix A), read and written through guarded memory.
extension SymmetricKey {
    /// Reads the key of a key file.
    ///
    /// - Throws: `VaultError` with `inputFailed`, `badKey`, `memoryUnavailable`.
    public static func read(from path: FilePath) throws -> SymmetricKey {
        let file = try FileDescriptor.openInput(path)
        defer { file.closeQuietly() }
        return try read(from: file)
    }

    /// Reads the key of a key file that is open, from where it stands.
    static func read(from file: FileDescriptor) throws -> SymmetricKey {
        // One more than the largest, so that what is larger is seen to be.
        var text = try SecretBuffer(count: largestKeyFile + 1)
        let count = try text.withMutableBytes { bytes in
            var filled = 0
            while filled < bytes.count {
                let more = try bytes.withPart(filled..<bytes.count) { try file.readSome(into: &$0) }
                guard more > 0 else { break }
                filled += more
            }
            return filled
        }
        return try text.withBytes { try SymmetricKey(keyFile: $0.extracting(0..<count)) }
    }

    /// Writes a key file with mode 0600; it appears complete, or not at all, and never over another file.
    ///
    /// - Parameter created: what its comment says of the time of creation, as for `withKeyFile`.
    /// - Throws: `VaultError` with `outputExists`, `outputFailed`, `memoryUnavailable`, `invalidArgument`.
    public func write(to path: FilePath, created: String? = nil) throws {
        let file = try OutputFile(at: path)
        try withKeyFile(created: created) { try file.write($0) }
        try file.commit()
    }
}
