import VaultCrypto
import VaultDeflate
package import VaultFormat

/// Unpacks items into blocks (PACK-12). Only one thread at a time may use it.
package final class BlockUnpacker: Sendable {
    private let inflater: Inflater
    private let stream: PackedStream

    /// - Throws: `memoryUnavailable`.
    package init(_ stream: PackedStream) throws(VaultError) {
        do {
            inflater = try Inflater()
        } catch {
            throw VaultError(error)
        }
        self.stream = stream
    }

    /// Writes the block of an item into `block`, which has the length of a full block.
    ///
    /// - Parameters:
    ///   - head: the head of a block's item. The item's body is no longer than a full block.
    ///   - position: where the item begins in the stream.
    /// - Returns: the block's length.
    /// - Throws: `packingMalformed`, `memoryUnavailable`.
    package func unpack(
        _ head: ItemHead, _ body: Span<UInt8>, into block: inout MutableSpan<UInt8>, at position: UInt64
    ) throws(VaultError) -> Int {
        guard head.method == .deflated else {
            block.replace(at: 0, with: body)
            return body.count
        }
        let outcome: Inflater.Outcome
        do {
            outcome = try inflater.inflate(body, into: &block)
        } catch {
            throw VaultError(error)
        }
        switch outcome {
        case .block(let count):
            // This gives every block one legal method, and refuses a body that inflates to nothing.
            guard body.count < count else {
                throw stream.malformed("a deflated body is not shorter than its block", at: position)
            }
            return count
        case .malformed(let check):
            throw stream.malformed(check, at: position)
        }
    }
}
