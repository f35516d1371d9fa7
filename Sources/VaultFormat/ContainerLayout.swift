/// Where everything stands: all arithmetic of the container's geometry is here and nowhere else (LAY-1 to LAY-6).
///
/// c capacity, B chunk size, |Z| length of the stream that the data records hold, n their number.
package struct ContainerLayout: Hashable, Sendable {
    package let capacity: HeaderCapacity
    package let chunkSize: ChunkSize
    /// |Z|, in bytes.
    package let streamLength: UInt64

    private static let limit: UInt64 = 1 << 63
    private static let overhead = UInt64(RecordHead.overhead)

    private var chunk: UInt64 { UInt64(chunkSize.bytes) }
    private var stride: UInt64 { UInt64(chunkSize.recordBytes) }

    /// - Throws: `tooLarge` if the container could reach 2⁶³ bytes (WRITE-11).
    package init(capacity: HeaderCapacity, chunkSize: ChunkSize, streamLength: UInt64) throws(VaultError) {
        self.capacity = capacity
        self.chunkSize = chunkSize
        self.streamLength = streamLength
        // Below 2⁶³ there are at most 2⁵¹ records, so that the sum cannot overflow. Everything else in a container
        // takes less than 2²² bytes: two headers and a manifest of at most 2²⁰ each, zeros, footer.
        guard streamLength < Self.limit, streamLength + Self.overhead * recordCount < Self.limit - (1 << 22) else {
            throw VaultError(.tooLarge, "the container reaches 2^63 bytes")
        }
    }

    /// From where the manifest stands. Nil where no stream leads there: a last record that would hold no byte.
    package init?(capacity: HeaderCapacity, chunkSize: ChunkSize, manifestOffset: UInt64) {
        guard manifestOffset < Self.limit, manifestOffset >= UInt64(capacity.bytes) else { return nil }
        self.capacity = capacity
        self.chunkSize = chunkSize
        let records = manifestOffset - UInt64(capacity.bytes)
        let (full, rest) = records.quotientAndRemainder(dividingBy: UInt64(chunkSize.recordBytes))
        guard rest == 0 || rest > Self.overhead else { return nil }
        streamLength = records - Self.overhead * (full + (rest > 0 ? 1 : 0))
    }

    /// n, the number of data records; also the index of the manifest's.
    package var recordCount: UInt64 {
        let (full, rest) = streamLength.quotientAndRemainder(dividingBy: chunk)
        return full + (rest > 0 ? 1 : 0)
    }

    /// m.
    package var manifestOffset: UInt64 {
        UInt64(capacity.bytes) + streamLength + Self.overhead * recordCount
    }

    /// Where a data record begins; `index` is at most n, whose place is the manifest's.
    package func offset(ofRecord index: UInt64) -> UInt64 {
        index < recordCount ? UInt64(capacity.bytes) + index * stride : manifestOffset
    }

    /// How many bytes of the stream a data record holds.
    package func length(ofRecord index: UInt64) -> Int {
        Int(min(chunk, streamLength - index * chunk))
    }

    /// How many bytes a data record has, with head and tag.
    package func recordBytes(_ index: UInt64) -> Int { length(ofRecord: index) + RecordHead.overhead }

    /// Which bytes of the stream a data record holds.
    package func streamRange(ofRecord index: UInt64) -> Range<UInt64> {
        let start = index * chunk
        return start..<start + UInt64(length(ofRecord: index))
    }

    /// The records that hold these bytes of the stream, which lie within it.
    package func records(covering range: Range<UInt64>) -> Range<UInt64> {
        guard !range.isEmpty else { return 0..<0 }
        return range.lowerBound / chunk..<(range.upperBound - 1) / chunk + 1
    }

    /// Where the manifest's record ends.
    package func manifestEnd(manifestLength: Int) -> UInt64 {
        manifestOffset + UInt64(manifestLength) + Self.overhead
    }

    /// T: the least multiple of the alignment that is not before the manifest's end.
    package func tailOffset(manifestLength: Int) -> UInt64 {
        capacity.aligned(manifestEnd(manifestLength: manifestLength))
    }

    /// How many zeros stand before T: less than the alignment.
    package func paddingCount(manifestLength: Int) -> Int {
        Int(tailOffset(manifestLength: manifestLength) - manifestEnd(manifestLength: manifestLength))
    }

    /// The whole container's length.
    package func containerLength(manifestLength: Int) -> UInt64 {
        tailOffset(manifestLength: manifestLength) + UInt64(capacity.bytes) + UInt64(Footer.count)
    }

    /// What stands behind the manifest's record: zeros, the tail header, the footer.
    package func end(header: [UInt8], manifestLength: Int) -> [UInt8] {
        [UInt8](repeating: 0, count: paddingCount(manifestLength: manifestLength)) + header
            + footer(manifestLength: manifestLength).bytes
    }

    /// The footer that belongs here.
    package func footer(manifestLength: Int) -> Footer {
        Footer(
            manifestOffset: manifestOffset, containerLength: containerLength(manifestLength: manifestLength),
            capacity: capacity, manifestLength: manifestLength)
    }
}
