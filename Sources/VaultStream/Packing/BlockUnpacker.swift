import VaultCrypto
import VaultDeflate
package import VaultFormat

/// Makes blocks of items (PACK-12). For one thread at a time.
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

    /// Writes the block of an item into `block`, which is as long as a block may be.
    ///
    /// - Parameters:
    ///   - head: of an item of a block, whose body is no longer than a block.
    ///   - position: where the item stands in the stream.
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
            // So every block has one legal method, and a stream of nothing is refused.
            guard body.count < count else {
                throw stream.malformed("a deflated body is not shorter than its block", at: position)
            }
            return count
        case .malformed(let check):
            throw stream.malformed(check, at: position)
        }
    }
}
