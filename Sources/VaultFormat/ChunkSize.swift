/// The number of bytes of plaintext, or of the packed stream, in a full record: a power of two, 4 KiB to 8 MiB (HDR-5).
///
/// A reader of a range decrypts whole records, so smaller chunks make short ranges cheaper. Each record adds 20 bytes.
public struct ChunkSize: Hashable, Sendable {
    /// The binary logarithm of the size, 12 to 23.
    public let log2: UInt8

    package init?(log2: UInt8) {
        guard (12...23).contains(log2) else { return nil }
        self.log2 = log2
    }

    /// Returns nil unless `bytes` is a power of two from 4096 to 8,388,608.
    public init?(bytes: Int) {
        guard bytes.nonzeroBitCount == 1 else { return nil }
        self.init(log2: UInt8(bytes.trailingZeroBitCount))
    }

    /// The size in bytes.
    public var bytes: Int { 1 << Int(log2) }

    /// The smallest size, 4 KiB.
    public static let minimum = ChunkSize(unchecked: 12)
    /// The default, 64 KiB.
    public static let standard = ChunkSize(unchecked: 16)
    /// The largest size, 8 MiB.
    public static let maximum = ChunkSize(unchecked: 23)

    private init(unchecked log2: UInt8) {
        self.log2 = log2
    }
}
