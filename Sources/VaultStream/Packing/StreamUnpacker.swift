import VaultCrypto
package import VaultFormat

/// Unpacks a stream as it comes: lends the blocks in order, each once its item is complete and checked (STR-11). Holds
/// one item and one block.
package struct StreamUnpacker: ~Copyable, Sendable {
    private let unpacker: BlockUnpacker
    private var unpacked: UnpackedStream
    /// The item at hand, as far as it has come.
    private var item: [UInt8] = []
    private var head: ItemHead?
    private var block: [UInt8] = []
    private let chunkSize: ChunkSize

    /// - Throws: `memoryUnavailable`.
    package init(_ stream: PackedStream) throws(VaultError) {
        unpacker = try BlockUnpacker(stream)
        unpacked = UnpackedStream(stream)
        chunkSize = stream.chunkSize
    }

    /// Takes the next bytes of the stream.
    ///
    /// - Parameter sink: is lent each block, and told where in the plaintext it ends.
    /// - Throws: `packingMalformed`, `memoryUnavailable`, and what `sink` throws.
    package mutating func take(
        _ stream: Span<UInt8>, to sink: (_ block: Span<UInt8>, _ end: UInt64) throws -> Void
    ) throws {
        var taken = 0
        while taken < stream.count {
            let wanted = head?.itemCount ?? ItemHead.count
            let count = min(wanted - item.count, stream.count - taken)
            item.append(stream.extracting(taken..<taken + count))
            taken += count
            guard item.count == wanted else { return }
            if let head {
                try complete(head, to: sink)
            } else {
                head = try unpacked.walk.begin(item[...])
                if head?.method != .index { try unpacked.blocks.checkNext(at: unpacked.walk.position) }
            }
        }
    }

    private mutating func complete(
        _ head: ItemHead, to sink: (_ block: Span<UInt8>, _ end: UInt64) throws -> Void
    ) throws {
        if head.method == .index {
            try unpacked.walk.endIndex(head, item[ItemHead.count...])
        } else {
            // Not before: where others unpack, this one only checks what it came to.
            if block.isEmpty { block = [UInt8](repeating: 0, count: chunkSize.bytes) }
            let (item, position, unpacker) = (item, unpacked.walk.position, unpacker)
            let count = try block.withMutableSpan(of: 0..<block.count) { block throws(VaultError) in
                try unpacker.unpack(
                    head, item.span.extracting(ItemHead.count..<item.count), into: &block, at: position)
            }
            unpacked.walk.endBlock(head)
            unpacked.blocks.append(count)
            try sink(block.span.extracting(0..<count), unpacked.blocks.length)
        }
        item.removeAll(keepingCapacity: true)
        self.head = nil
    }

    /// Goes on behind what somebody else has unpacked.
    mutating func take(_ unpacked: UnpackedStream) {
        self.unpacked = unpacked
    }

    /// Checks what the stream came to against the manifest (STR-14 to STR-17).
    ///
    /// - Throws: `packingMalformed`, `manifestMismatch`.
    package func check(_ manifest: Manifest, streamLength: UInt64, at offset: UInt64) throws(VaultError) {
        try unpacked.check(manifest, streamLength: streamLength, at: offset)
    }
}
