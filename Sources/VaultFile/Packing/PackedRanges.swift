import Synchronization
import VaultCrypto
import VaultFormat
import VaultStream

/// Ranges of a packed container's plaintext, by its index (Spec 7.3). What the index points to is its maker's word:
/// that a full read gives the same, only a full read shows (PACK-17).
final class PackedRanges: Sendable {
    /// How many wait for the next call; what there were more at once is let go.
    private static let mostReaders = 4

    let layout: PackedLayout
    private let state = Mutex(State())

    private struct State: ~Copyable {
        /// Those that no thread is using.
        var readers: [BlockReader] = []
        /// Of the group that was read last.
        var index: GroupIndex?
    }

    init(_ layout: PackedLayout) {
        self.layout = layout
    }

    /// Lends the bytes of a range, which lies within the plaintext, block by block.
    func read(_ range: Range<UInt64>, _ window: inout RecordWindow, to sink: (Span<UInt8>) throws -> Void) throws {
        let reader = try state.withLock { $0.readers.popLast() } ?? BlockReader(layout.stream)
        defer {
            state.withLock { if $0.readers.count < Self.mostReaders { $0.readers.append(reader) } }
        }
        var index: GroupIndex?
        for block in layout.blocks(covering: range) {
            let there = layout.plaintextRange(ofBlock: block)
            if index?.item(ofBlock: block) == nil { index = try self.index(ofBlock: block, &window) }
            guard let item = index?.item(ofBlock: block) else { throw GroupIndex.lacks(block, of: layout.stream) }
            try reader.withBlock(at: item, count: there.count, &window) { text in
                let wanted = range.clamped(to: there)
                let start = Int(wanted.lowerBound - there.lowerBound)
                try sink(text.extracting(start..<start + wanted.count))
            }
        }
    }

    private func index(ofBlock block: UInt64, _ window: inout RecordWindow) throws -> GroupIndex {
        if let index = state.withLock({ $0.index }), index.item(ofBlock: block) != nil { return index }
        let index = try GroupIndex(layout.group(ofBlock: block), of: layout.stream, &window)
        state.withLock { $0.index = index }
        return index
    }
}
