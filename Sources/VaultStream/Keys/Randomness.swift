package import VaultCrypto
import VaultFormat
package import VaultXWing

/// The source of a new container's key, ID, salts and nonces. Tests replace it with known bytes; no public call can.
package struct Randomness: Sendable {
    package let fileKey: @Sendable () throws -> FileKey
    package let bytes: @Sendable (_ count: Int) -> [UInt8]
    /// The bytes of an ephemeral secret; nil to copy them from `bytes`.
    private let secret: SecretDraw?
    /// The library that draws the randomness of X-Wing by itself; nil if there is none.
    let xWing: XWing?

    package typealias SecretDraw = @Sendable (_ count: Int) throws(MemoryUnavailable) -> SecretBytes

    package init(
        fileKey: @escaping @Sendable () throws -> FileKey,
        bytes: @escaping @Sendable (_ count: Int) -> [UInt8],
        secret: SecretDraw? = nil,
        xWing: XWing? = .available
    ) {
        self.fileKey = fileKey
        self.bytes = bytes
        self.secret = secret
        self.xWing = xWing
    }

    func secret(_ count: Int) throws(VaultError) -> SecretBytes {
        try guarded { () throws(MemoryUnavailable) in
            if let secret { try secret(count) } else { try SecretBytes(copying: bytes(count).span) }
        }
    }

    /// The system's generator.
    package static let system = Randomness(
        fileKey: {
            FileKey(
                try guarded { () throws(MemoryUnavailable) in try SecretBytes(randomCount: FileKey.byteCount) })
        },
        bytes: { RandomBytes.array(count: $0) },
        secret: { count throws(MemoryUnavailable) in try SecretBytes(randomCount: count) })
}
