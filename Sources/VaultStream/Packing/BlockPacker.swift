import VaultCrypto
package import VaultFormat

/// Makes items of blocks (PACK-2). For one thread at a time.
package final class BlockPacker: Sendable {
    private let deflater: Deflater

    /// - Throws: `memoryUnavailable`.
    package init() throws(VaultError) {
        deflater = try Deflater()
    }

    /// Writes the item of a block at a place in `bytes`, where there is room for one that is stored.
    ///
    /// - Returns: the length of its body.
    package func pack(
        _ block: Span<UInt8>, into bytes: inout [UInt8], at place: Int
    ) throws(VaultError) -> Int {
        let body = place + ItemHead.count
        // Into less than the block has: what does not become shorter is stored (WRITE-10).
        let count = try bytes.withMutableSpan(of: body..<body + max(0, block.count - 1)) {
            output throws(VaultError) in
            try deflater.deflate(block, into: &output)
        }
        if count == nil { bytes.replace(at: body, with: block) }
        let head = ItemHead(count == nil ? .stored : .deflated, bodyCount: count ?? block.count)
        bytes.replace(at: place, with: head.bytes.span)
        return head.bodyCount
    }
}
