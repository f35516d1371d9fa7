import VaultCrypto
package import VaultFormat

/// Unpacks a stream whose bytes come in order. Lends each block once its item is complete and checked (STR-11). Holds
/// one item and one block.
package struct StreamUnpacker: ~Copyable, Sendable {
    private let unpacker: BlockUnpacker
    private var unpacked: UnpackedStream
    /// The bytes of the current item that have come.
    private var item = ByteBuffer()
    private var head: ItemHead?
    private var block = ByteBuffer()
    private let chunkSize: ChunkSize

    /// - Throws: `memoryUnavailable`.
    package init(_ stream: PackedStream) throws(VaultError) {
        unpacker = try BlockUnpacker(stream)
        unpacked = UnpackedStream(stream)
        chunkSize = stream.chunkSize
    }

    /// Takes the next bytes of the stream.
    ///
    /// - Parameter sink: takes each block, and where in the plaintext it ends.
    /// - Throws: `packingMalformed`, `memoryUnavailable`, and what `sink` throws.
    package mutating func take(
        _ stream: Span<UInt8>, to sink: (_ block: Span<UInt8>, _ end: UInt64) throws -> Void
    ) throws {
        var taken = 0
        while taken < stream.count {
            let wanted = head?.itemCount ?? ItemHead.count
            let count = min(wanted - item.count, stream.count - taken)
            try item.append(stream.extracting(taken..<taken + count))
            taken += count
            guard item.count == wanted else { return }
            if let head {
                try complete(head, to: sink)
            } else {
                head = try unpacked.walk.begin(item.copy(of: 0..<item.count)[...])
                if head?.method != .index { try unpacked.blocks.checkNext(at: unpacked.walk.position) }
            }
        }
    }

    private mutating func complete(
        _ head: ItemHead, to sink: (_ block: Span<UInt8>, _ end: UInt64) throws -> Void
    ) throws {
        if head.method == .index {
            try unpacked.walk.endIndex(head, item.copy(of: ItemHead.count..<item.count)[...])
        } else {
            // An empty stream needs no memory for a block.
            if block.isEmpty { try block.resize(to: chunkSize.bytes) }
            let (position, unpacker) = (unpacked.walk.position, unpacker)
            let count = try item.withSpan(of: ItemHead.count..<item.count) { body throws(VaultError) in
                try block.withMutableSpan(of: 0..<block.count) { block throws(VaultError) in
                    try unpacker.unpack(head, body, into: &block, at: position)
                }
            }
            unpacked.walk.endBlock(head)
            unpacked.blocks.append(count)
            let end = unpacked.blocks.length
            try block.withSpan(of: 0..<count) { try sink($0, end) }
        }
        item.removeAll()
        self.head = nil
    }

    /// The items and blocks that have come, to be compared with the manifest (STR-14 to STR-17).
    package consuming func finish() -> UnpackedStream { unpacked }
}
