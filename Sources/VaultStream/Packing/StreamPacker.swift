import VaultCrypto
import VaultFormat

/// Packs plaintext in order: cuts it into blocks and lends their items, and the index items, in order (Spec 7.1).
struct StreamPacker: ~Copyable, Sendable {
    private let packer: BlockPacker
    private var row = ItemRow()
    /// The block that is being filled.
    private var block: ByteBuffer
    private var filled = 0
    private var item: ByteBuffer

    /// - Throws: `memoryUnavailable`.
    init(_ chunkSize: ChunkSize) throws(VaultError) {
        let packer = try BlockPacker()
        let block = try ByteBuffer(count: chunkSize.bytes)
        let item = try ByteBuffer(count: ItemHead.count + chunkSize.bytes)
        // Only now, because a throw would leave it half-initialised.
        self.packer = packer
        self.block = consume block
        self.item = consume item
    }

    mutating func take(_ plaintext: Span<UInt8>, to sink: (Span<UInt8>) throws -> Void) throws {
        var taken = 0
        while taken < plaintext.count {
            let count = min(block.count - filled, plaintext.count - taken)
            block.replace(at: filled, with: plaintext.extracting(taken..<taken + count))
            taken += count
            filled += count
            if filled == block.count { try pack(to: sink) }
        }
    }

    /// Lends the items that are left.
    ///
    /// - Returns: what the manifest says about the stream.
    mutating func finish(to sink: (Span<UInt8>) throws -> Void) throws -> Manifest.Packed {
        if filled > 0 { try pack(to: sink) }
        if let index = row.finish() { try sink(index.span) }
        return row.packed
    }

    private mutating func pack(to sink: (Span<UInt8>) throws -> Void) throws {
        let count = try block.withSpan(of: 0..<filled) { block throws(VaultError) in
            try packer.pack(block, into: &item, at: 0)
        }
        filled = 0
        let index = try row.append(bodyCount: count)
        try item.withSpan(of: 0..<ItemHead.count + count, sink)
        if let index { try sink(index.span) }
    }
}
