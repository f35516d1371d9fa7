/// The first 4 bytes of an item of a packed stream: its method and the length of its body (PACK-2).
package struct ItemHead: Hashable, Sendable {
    package enum Method: UInt8, Sendable {
        /// A block without compression.
        case stored = 0
        /// A block as a raw DEFLATE stream.
        case deflated = 1
        /// The body lengths of the blocks' items since the previous index item.
        case index = 2
    }

    package static let count = 4

    package let method: Method
    /// The length of the body in bytes, below 2²⁴.
    package let bodyCount: Int

    package init(_ method: Method, bodyCount: Int) {
        precondition((0..<1 << 24).contains(bodyCount))
        self.method = method
        self.bodyCount = bodyCount
    }

    /// Nil for a method that version 1 does not have (PACK-7).
    package init?(parsing bytes: ArraySlice<UInt8>) {
        guard bytes.count == Self.count, let method = bytes.first.flatMap(Method.init) else { return nil }
        self.method = method
        bodyCount = Int(bytes.dropFirst().bigEndian() as UInt32)
    }

    package var bytes: [UInt8] {
        [
            method.rawValue, UInt8(truncatingIfNeeded: bodyCount >> 16), UInt8(truncatingIfNeeded: bodyCount >> 8),
            UInt8(truncatingIfNeeded: bodyCount),
        ]
    }

    /// The length of the whole item in bytes.
    package var itemCount: Int { Self.count + bodyCount }
}

/// The body of an index item: the body length of each item of its group, 3 bytes each (PACK-2).
package enum IndexBody {
    /// The number of bytes of one length.
    package static let entryCount = 3

    package static func append(_ length: UInt32, to bytes: inout [UInt8]) {
        bytes.append(UInt8(truncatingIfNeeded: length >> 16))
        bytes.append(UInt8(truncatingIfNeeded: length >> 8))
        bytes.append(UInt8(truncatingIfNeeded: length))
    }
}

/// The geometry of a packed container's stream that the header alone gives.
package struct PackedStream: Hashable, Sendable {
    /// The number of blocks in a group; only the last group may have fewer (PACK-4).
    package static let groupCount: UInt64 = 65_536
    /// The greatest number of blocks (PACK-1).
    package static let maximumBlockCount: UInt64 = 1 << 32

    package let capacity: HeaderCapacity
    package let chunkSize: ChunkSize

    package init(capacity: HeaderCapacity, chunkSize: ChunkSize) {
        self.capacity = capacity
        self.chunkSize = chunkSize
    }

    /// The geometry by a header copy; nil if the stream is not packed.
    package init?(_ copy: HeaderCopy) {
        guard copy.preamble.compression == .deflate else { return nil }
        self.init(capacity: copy.capacity, chunkSize: copy.preamble.chunkSize)
    }

    /// The offset of a byte of the stream in the container, and its record. `position` is below 2⁶² and was read, or is
    /// within a stream whose geometry was checked.
    package func place(of position: UInt64) -> (offset: UInt64, record: UInt64) {
        let (record, rest) = position.quotientAndRemainder(dividingBy: UInt64(chunkSize.bytes))
        let stride = UInt64(chunkSize.recordBytes)
        return (UInt64(capacity.bytes) + record * stride + UInt64(RecordHead.count) + rest, record)
    }

    /// The error of every violation in a packed stream (PACK-5), at a position of the stream.
    package func malformed(_ check: String, at position: UInt64) -> VaultError {
        let place = place(of: position)
        return VaultError(.packingMalformed, check, offset: place.offset, record: place.record)
    }
}

/// The groups of a packed stream, by the manifest's members (PACK-14).
package struct PackedLayout: Hashable, Sendable {
    package let stream: PackedStream
    /// P.
    package let plaintextLength: UInt64
    private let indexOffsets: [UInt64]

    /// The blocks between two index items, with the index item after them.
    package struct Group: Hashable, Sendable {
        /// The numbers of the blocks.
        package let blocks: Range<UInt64>
        /// The position of its first item in the stream.
        package let start: UInt64
        /// The position of its index item in the stream.
        package let indexOffset: UInt64

        package var indexHead: ItemHead {
            ItemHead(.index, bodyCount: IndexBody.entryCount * blocks.count)
        }
    }

    /// Checks that the groups follow one another and fill the stream. Readers of ranges rely on it: otherwise an offset
    /// could lead out of the stream, or there could be more blocks than the stream can hold.
    ///
    /// - Throws: `packingMalformed`.
    package init(
        _ stream: PackedStream, plaintextLength: UInt64, packed: Manifest.Packed
    ) throws(VaultError) {
        self.stream = stream
        self.plaintextLength = plaintextLength
        indexOffsets = packed.indexOffsets
        let chunk = UInt64(stream.chunkSize.bytes)
        guard blockCount <= PackedStream.maximumBlockCount else {
            throw VaultError(.packingMalformed, "the packed stream would have more than 2^32 blocks")
        }
        guard (blockCount + PackedStream.groupCount - 1) / PackedStream.groupCount == UInt64(indexOffsets.count) else {
            throw VaultError(.packingMalformed, "the number of index items does not fit the plaintext's length")
        }
        var start: UInt64 = 0
        for index in indexOffsets.indices {
            let group = group(index, start: start)
            let count = UInt64(group.blocks.count)
            let (least, most) = (UInt64(ItemHead.count + 1), UInt64(ItemHead.count) + chunk)
            guard (start + least * count...start + most * count).contains(group.indexOffset) else {
                throw VaultError(.packingMalformed, "the offset of index item \(index) is out of range")
            }
            start = group.indexOffset + UInt64(group.indexHead.itemCount)
        }
        guard start == packed.streamLength else {
            throw VaultError(.packingMalformed, "the last index item does not end where the packed stream does")
        }
    }

    /// b. The last block may be shorter.
    package var blockCount: UInt64 {
        let (full, rest) = plaintextLength.quotientAndRemainder(dividingBy: UInt64(stream.chunkSize.bytes))
        return full + (rest > 0 ? 1 : 0)
    }

    package var groupCount: Int { indexOffsets.count }

    /// The group of a block.
    package func group(ofBlock block: UInt64) -> Group {
        group(Int(block / PackedStream.groupCount))
    }

    package func group(_ index: Int) -> Group {
        guard index > 0 else { return group(index, start: 0) }
        let before = group(index - 1, start: 0)
        return group(index, start: before.indexOffset + UInt64(before.indexHead.itemCount))
    }

    private func group(_ index: Int, start: UInt64) -> Group {
        let first = UInt64(index) * PackedStream.groupCount
        return Group(
            blocks: first..<min(first + PackedStream.groupCount, blockCount), start: start,
            indexOffset: indexOffsets[index])
    }

    /// The bytes of the plaintext in a block.
    package func plaintextRange(ofBlock block: UInt64) -> Range<UInt64> {
        let chunk = UInt64(stream.chunkSize.bytes)
        return block * chunk..<min((block + 1) * chunk, plaintextLength)
    }

    /// The blocks that hold these bytes of the plaintext.
    package func blocks(covering range: Range<UInt64>) -> Range<UInt64> {
        guard !range.isEmpty else { return 0..<0 }
        let chunk = UInt64(stream.chunkSize.bytes)
        return range.lowerBound / chunk..<(range.upperBound - 1) / chunk + 1
    }
}
