package import VaultCrypto
import VaultDeflate
package import VaultFormat

/// Packs blocks into items (PACK-2). Only one thread at a time may use it.
package final class BlockPacker: Sendable {
    private let deflater: Deflater

    /// - Throws: `memoryUnavailable`.
    package init() throws(VaultError) {
        do {
            deflater = try Deflater()
        } catch {
            throw VaultError(error)
        }
    }

    /// Writes the item of a block into `bytes`, from `place` on. There must be room for the item of a stored block.
    ///
    /// - Returns: the length of the item's body.
    package func pack(
        _ block: Span<UInt8>, into bytes: inout ByteBuffer, at place: Int
    ) throws(VaultError) -> Int {
        let body = place + ItemHead.count
        let count: Int?
        do {
            // One byte less room than the block: a block that does not become shorter is stored (WRITE-10).
            count = try bytes.withMutableSpan(of: body..<body + max(0, block.count - 1)) {
                output throws(ZlibFailure) in
                try deflater.deflate(block, into: &output)
            }
        } catch {
            throw VaultError(error)
        }
        if count == nil { bytes.replace(at: body, with: block) }
        let head = ItemHead(count == nil ? .stored : .deflated, bodyCount: count ?? block.count)
        bytes.replace(at: place, with: head.bytes.span)
        return head.bodyCount
    }
}

extension VaultError {
    init(_ failure: ZlibFailure) {
        self.init(.memoryUnavailable, "zlib ran out of memory (its status is \(failure.status))")
    }
}
