import VaultCrypto
import VaultFormat
import VaultStream

/// The places of one group's items.
struct GroupIndex: Sendable {
    /// The first block's number.
    private let first: UInt64
    /// The place of each item in the stream, and then the end of the last one.
    private let positions: [UInt64]

    /// Reads the group's index item (PACK-15).
    ///
    /// - Throws: `packingMalformed`, and what the stream throws.
    init(
        _ group: PackedLayout.Group, of stream: PackedStream, _ bytes: inout RecordWindow
    ) throws {
        let head = group.indexHead
        var item: [UInt8] = []
        try bytes.append(group.indexOffset..<group.indexOffset + UInt64(head.itemCount), to: &item)
        guard item.starts(with: head.bytes) else {
            throw stream.malformed("there is no index item where the manifest says", at: group.indexOffset)
        }
        first = group.blocks.lowerBound
        var positions = [group.start]
        positions.reserveCapacity(group.blocks.count + 1)
        var position = group.start
        for entry in stride(from: ItemHead.count, to: item.count, by: IndexBody.entryCount) {
            let length: UInt32 = item[entry..<entry + IndexBody.entryCount].bigEndian()
            guard (1...stream.chunkSize.bytes).contains(Int(length)) else {
                throw stream.malformed("a length in an index item is out of range", at: group.indexOffset)
            }
            position += UInt64(ItemHead.count) + UInt64(length)
            positions.append(position)
        }
        guard position == group.indexOffset else {
            throw stream.malformed("the lengths in an index item do not add up to its place", at: group.indexOffset)
        }
        self.positions = positions
    }

    /// The error for a block of another group. Only a bug in this library leads to it, and a service that reads
    /// containers for others must not crash because of that.
    static func lacks(_ block: UInt64, of stream: PackedStream) -> VaultError {
        stream.malformed("an index item does not hold the block \(block) of its group", at: 0)
    }

    /// Where the item of the last of these blocks that are in the group ends; nil if there is none.
    func end(ofBlocksBefore block: UInt64) -> UInt64? {
        guard block > first else { return nil }
        return positions[Int(min(block - first, UInt64(positions.count - 1)))]
    }

    /// The place of a block's item in the stream; nil for a block of another group.
    func item(ofBlock block: UInt64) -> Range<UInt64>? {
        guard block >= first, block - first < UInt64(positions.count - 1) else { return nil }
        let index = Int(block - first)
        return positions[index]..<positions[index + 1]
    }
}

/// Reads single blocks of a packed stream, each at the place of its item. Only one thread at a time may use it.
final class BlockReader: @unchecked Sendable {
    let stream: PackedStream
    private let unpacker: BlockUnpacker
    private var item = ByteBuffer()
    private var block: ByteBuffer

    /// - Throws: `memoryUnavailable`.
    init(_ stream: PackedStream) throws(VaultError) {
        self.stream = stream
        unpacker = try BlockUnpacker(stream)
        block = try ByteBuffer(count: stream.chunkSize.bytes)
    }

    /// Lends the block of the item at a place, whose length is that of the index (PACK-16).
    ///
    /// - Parameter expected: the length that the block must have; nil if it is not known.
    /// - Throws: `packingMalformed`, `memoryUnavailable`; what the stream and `body` throw.
    func withBlock<R>(
        at place: Range<UInt64>, count expected: Int?, _ bytes: inout RecordWindow,
        _ body: (Span<UInt8>) throws -> R
    ) throws -> R {
        item.removeAll()
        // The head is checked before the body is read: the body's record may be damaged when the head's is not.
        let headEnd = place.lowerBound + UInt64(ItemHead.count)
        try bytes.append(place.lowerBound..<headEnd, to: &item)
        guard let head = ItemHead(parsing: item.copy(of: 0..<item.count)[...]), head.method != .index,
            UInt64(head.itemCount) == UInt64(place.count)
        else {
            throw stream.malformed("an item is not what its index item says", at: place.lowerBound)
        }
        try bytes.append(headEnd..<place.upperBound, to: &item)
        let count = try item.withSpan(of: ItemHead.count..<item.count) { body throws(VaultError) in
            try block.withMutableSpan(of: 0..<block.count) { block throws(VaultError) in
                try unpacker.unpack(head, body, into: &block, at: place.lowerBound)
            }
        }
        guard expected == nil || count == expected else {
            throw stream.malformed("a block is not as long as its place in the plaintext", at: place.lowerBound)
        }
        return try block.withSpan(of: 0..<count, body)
    }
}
