import VaultCrypto

/// A container in memory.
public struct MemorySource: ByteSource {
    private let bytes: [UInt8]

    /// Reads these bytes.
    public init(_ bytes: [UInt8]) {
        self.bytes = bytes
    }

    /// The number of bytes.
    public func size() -> UInt64 { UInt64(bytes.count) }

    /// Copies at most as many bytes as the buffer holds, from `offset` on.
    ///
    /// - Returns: the count of bytes that were copied; 0 at the end.
    public func read(at offset: UInt64, into buffer: inout MutableSpan<UInt8>) -> Int {
        guard offset < UInt64(bytes.count) else { return 0 }
        let start = Int(offset)
        let count = min(buffer.count, bytes.count - start)
        buffer.replace(at: 0, with: bytes.span.extracting(start..<start + count))
        return count
    }
}
