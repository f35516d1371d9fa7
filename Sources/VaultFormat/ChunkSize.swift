/// How many bytes of the stream a full record holds: a power of two, 4 KiB to 8 MiB (HDR-4).
public struct ChunkSize: Hashable, Sendable {
    /// The binary logarithm, 12 to 23.
    public let log2: UInt8

    package init?(log2: UInt8) {
        guard (12...23).contains(log2) else { return nil }
        self.log2 = log2
    }

    /// Nil unless `bytes` is a power of two from 4096 to 8,388,608.
    public init?(bytes: Int) {
        guard bytes.nonzeroBitCount == 1 else { return nil }
        self.init(log2: UInt8(bytes.trailingZeroBitCount))
    }

    /// The size in bytes.
    public var bytes: Int { 1 << Int(log2) }

    /// 4 KiB.
    public static let minimum = ChunkSize(unchecked: 12)
    /// 64 KiB, the default.
    public static let standard = ChunkSize(unchecked: 16)
    /// 8 MiB.
    public static let maximum = ChunkSize(unchecked: 23)

    private init(unchecked log2: UInt8) {
        self.log2 = log2
    }
}
