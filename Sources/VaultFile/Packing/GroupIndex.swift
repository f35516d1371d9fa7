import VaultCrypto
import VaultFormat
import VaultStream

/// Where the items of one group's blocks stand.
struct GroupIndex: Sendable {
    /// The first block's number.
    private let first: UInt64
    /// Where in the stream each item stands; behind the last one, where it ends.
    private let positions: [UInt64]

    /// From the group's index item (PACK-15).
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
            throw stream.malformed("the lengths in an index item do not lead to it", at: group.indexOffset)
        }
        self.positions = positions
    }

    /// What only a mistake of ours could lead to: a service that reads for others is not to end by it.
    static func lacks(_ block: UInt64, of stream: PackedStream) -> VaultError {
        stream.malformed("an index item does not hold the block \(block) of its group", at: 0)
    }

    /// Where a block's item stands in the stream; nil of another group's.
    func item(ofBlock block: UInt64) -> Range<UInt64>? {
        guard block >= first, block - first < UInt64(positions.count - 1) else { return nil }
        let index = Int(block - first)
        return positions[index]..<positions[index + 1]
    }
}

/// Reads single blocks of a packed stream, each from where its item stands. For one thread at a time.
final class BlockReader: @unchecked Sendable {
    let stream: PackedStream
    private let unpacker: BlockUnpacker
    private var item: [UInt8] = []
    private var block: [UInt8]

    /// - Throws: `memoryUnavailable`.
    init(_ stream: PackedStream) throws(VaultError) {
        self.stream = stream
        unpacker = try BlockUnpacker(stream)
        block = [UInt8](repeating: 0, count: stream.chunkSize.bytes)
    }

    /// Lends the block whose item stands at a place, with the body length that the index says (PACK-16).
    ///
    /// - Parameter count: how long the block has to be; nil where nobody knows.
    /// - Throws: `packingMalformed`, `memoryUnavailable`; what the stream and `body` throw.
    func withBlock<R>(
        at place: Range<UInt64>, count expected: Int?, _ bytes: inout RecordWindow,
        _ body: (Span<UInt8>) throws -> R
    ) throws -> R {
        item.removeAll(keepingCapacity: true)
        // The head decides before the body is read: the body's record may be damaged, the head's not.
        let headEnd = place.lowerBound + UInt64(ItemHead.count)
        try bytes.append(place.lowerBound..<headEnd, to: &item)
        guard let head = ItemHead(parsing: item[...]), head.method != .index,
            UInt64(head.itemCount) == UInt64(place.count)
        else {
            throw stream.malformed("an item is not what its index item says", at: place.lowerBound)
        }
        try bytes.append(headEnd..<place.upperBound, to: &item)
        let (item, unpacker) = (item, unpacker)
        let count = try block.withMutableSpan(of: 0..<block.count) { block throws(VaultError) in
            try unpacker.unpack(
                head, item.span.extracting(ItemHead.count..<item.count), into: &block, at: place.lowerBound)
        }
        guard expected == nil || count == expected else {
            throw stream.malformed("a block is not as long as its place in the plaintext", at: place.lowerBound)
        }
        let block = block
        return try body(block.span.extracting(0..<count))
    }
}
