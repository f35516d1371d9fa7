/// The size of one header copy in bytes: a power of two, 512 to 1,048,576 (HDR-9).
public struct HeaderCapacity: Hashable, Sendable, Comparable {
    /// The size in bytes.
    public let bytes: Int

    /// Returns nil unless `bytes` is a power of two from 512 to 1,048,576.
    public init?(bytes: Int) {
        guard (512...1 << 20).contains(bytes), bytes.nonzeroBitCount == 1 else { return nil }
        self.bytes = bytes
    }

    /// The smallest capacity of at least `count` bytes, or nil if there is none.
    package init?(holding count: Int) {
        var bytes = 512
        while bytes < count, bytes < 1 << 20 { bytes *= 2 }
        guard bytes >= count else { return nil }
        self.bytes = bytes
    }

    /// The least capacity at which a write of a header shares no block of 4096 bytes with payload (WRITE-7).
    package static let separate = HeaderCapacity(unchecked: 4096)

    /// The default for a header with a slot of X-Wing: it holds 13 of them (WRITE-7).
    package static let roomy = HeaderCapacity(unchecked: 16_384)

    private init(unchecked bytes: Int) {
        self.bytes = bytes
    }

    /// A: the tail's offset is a multiple of it.
    package var alignment: UInt64 { UInt64(min(bytes, 4096)) }

    /// The least multiple of A that is not below `offset`, which is below 2⁶⁴ − A.
    package func aligned(_ offset: UInt64) -> UInt64 {
        (offset + alignment - 1) / alignment * alignment
    }

    /// Orders by size.
    public static func < (left: HeaderCapacity, right: HeaderCapacity) -> Bool {
        left.bytes < right.bytes
    }
}
