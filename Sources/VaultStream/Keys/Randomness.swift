import VaultCrypto
import VaultFormat

/// The source of a new container's key, ID, salts and nonces. Tests replace it with known bytes; no public call can.
package struct Randomness: Sendable {
    package let fileKey: @Sendable () throws -> FileKey
    package let bytes: @Sendable (_ count: Int) -> [UInt8]

    package init(
        fileKey: @escaping @Sendable () throws -> FileKey,
        bytes: @escaping @Sendable (_ count: Int) -> [UInt8]
    ) {
        self.fileKey = fileKey
        self.bytes = bytes
    }

    /// The system's generator.
    package static let system = Randomness(
        fileKey: {
            FileKey(
                try guarded { () throws(MemoryUnavailable) in try SecretBytes(randomCount: FileKey.byteCount) })
        },
        bytes: { RandomBytes.array(count: $0) })
}
