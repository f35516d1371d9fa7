/// The offsets and lengths of a container's parts. All arithmetic of the geometry is here (LAY-2 to LAY-7).
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
        // A stream below 2⁶³ bytes has at most 2⁵¹ records, so the sum cannot overflow. Everything else in a container
        // takes less than 2²² bytes: two headers and a manifest of at most 2²⁰ each, zeros, footer.
        guard streamLength < Self.limit, streamLength + Self.overhead * recordCount < Self.limit - (1 << 22) else {
            throw VaultError(.tooLarge, "the container reaches 2^63 bytes")
        }
    }

    /// The layout that puts the manifest at this offset. Nil if there is none: the last record would hold no byte.
    package init?(capacity: HeaderCapacity, chunkSize: ChunkSize, manifestOffset: UInt64) {
        guard manifestOffset < Self.limit, manifestOffset >= UInt64(capacity.bytes) else { return nil }
        self.capacity = capacity
        self.chunkSize = chunkSize
        let records = manifestOffset - UInt64(capacity.bytes)
        let (full, rest) = records.quotientAndRemainder(dividingBy: UInt64(chunkSize.recordBytes))
        guard rest == 0 || rest > Self.overhead else { return nil }
        streamLength = records - Self.overhead * (full + (rest > 0 ? 1 : 0))
    }

    /// n, the number of data records; also the index of the manifest record.
    package var recordCount: UInt64 {
        let (full, rest) = streamLength.quotientAndRemainder(dividingBy: chunk)
        return full + (rest > 0 ? 1 : 0)
    }

    /// m, the offset of the manifest record.
    package var manifestOffset: UInt64 {
        UInt64(capacity.bytes) + streamLength + Self.overhead * recordCount
    }

    /// The offset of a data record. `index` is at most n; record n is the manifest record.
    package func offset(ofRecord index: UInt64) -> UInt64 {
        index < recordCount ? UInt64(capacity.bytes) + index * stride : manifestOffset
    }

    /// The number of bytes of the stream in a data record.
    package func length(ofRecord index: UInt64) -> Int {
        Int(min(chunk, streamLength - index * chunk))
    }

    /// The length of a data record in bytes, with head and tag.
    package func recordBytes(_ index: UInt64) -> Int { length(ofRecord: index) + RecordHead.overhead }

    /// The bytes of the stream in a data record.
    package func streamRange(ofRecord index: UInt64) -> Range<UInt64> {
        let start = index * chunk
        return start..<start + UInt64(length(ofRecord: index))
    }

    /// The place of a data record.
    package func place(ofRecord index: UInt64) -> RecordPlace {
        RecordPlace(index: index, offset: offset(ofRecord: index), text: streamRange(ofRecord: index))
    }

    /// The records that hold these bytes of the stream. The range is within the stream.
    package func records(covering range: Range<UInt64>) -> Range<UInt64> {
        guard !range.isEmpty else { return 0..<0 }
        return range.lowerBound / chunk..<(range.upperBound - 1) / chunk + 1
    }

    /// The offset of the end of the manifest record.
    package func manifestEnd(manifestLength: Int) -> UInt64 {
        manifestOffset + UInt64(manifestLength) + Self.overhead
    }

    /// T: the least multiple of the alignment that is not before the manifest's end.
    package func tailOffset(manifestLength: Int) -> UInt64 {
        capacity.aligned(manifestEnd(manifestLength: manifestLength))
    }

    /// The number of zeros before T, less than the alignment.
    package func paddingCount(manifestLength: Int) -> Int {
        Int(tailOffset(manifestLength: manifestLength) - manifestEnd(manifestLength: manifestLength))
    }

    /// The whole container's length.
    package func containerLength(manifestLength: Int) -> UInt64 {
        tailOffset(manifestLength: manifestLength) + UInt64(capacity.bytes) + UInt64(Footer.count)
    }

    /// The bytes after the manifest record: zeros, the tail header copy, the footer.
    package func end(header: [UInt8], manifestLength: Int) -> [UInt8] {
        [UInt8](repeating: 0, count: paddingCount(manifestLength: manifestLength)) + header
            + footer(manifestLength: manifestLength).bytes
    }

    /// The footer of this layout.
    package func footer(manifestLength: Int) -> Footer {
        Footer(
            manifestOffset: manifestOffset, containerLength: containerLength(manifestLength: manifestLength),
            capacity: capacity, manifestLength: manifestLength)
    }
}
