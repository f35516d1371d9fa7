public import SystemPackage
import VaultCrypto
import VaultFormat
public import VaultStream

/// Key files (Spec, appendix A), read and written through guarded memory.
extension SymmetricKey {
    /// Reads the key of a key file.
    ///
    /// - Parameter path: the path of the key file.
    /// - Throws: `VaultError` with `inputFailed` if it cannot be read (``VaultError/systemError`` says why), `badKey`
    ///   if it is not a key file, `memoryUnavailable`.
    public static func read(from path: FilePath) throws -> SymmetricKey {
        let file = try FileDescriptor.openInput(path)
        defer { file.closeQuietly() }
        return try read(from: file)
    }

    /// Reads the key of an open key file, from its offset on.
    static func read(from file: FileDescriptor) throws -> SymmetricKey {
        // One byte more than the largest key file has, so that a larger file is noticed.
        var text = try SecretBuffer(count: largestKeyFile + 1)
        let count = try text.withMutableBytes { bytes throws(VaultError) in try file.fill(&bytes) }
        return try text.withBytes { try SymmetricKey(keyFile: $0.extracting(0..<count)) }
    }

    /// Writes a key file with mode 0600. It appears complete or not at all, and never replaces a file. On a file system
    /// that keeps no modes, such as exFAT, others may be able to read it.
    ///
    /// - Parameters:
    ///   - path: the path of the new key file.
    ///   - created: the time of creation for its comment; nil for no such comment.
    /// - Throws: `VaultError` with `outputExists`, `outputFailed`, `memoryUnavailable`; with `invalidArgument` if the
    ///   year of `created` does not have four digits.
    public func write(to path: FilePath, created: Timestamp? = nil) throws {
        let file = try OutputFile(at: path)
        try withKeyFile(created: created) { try file.write($0) }
        try file.commit()
    }
}
