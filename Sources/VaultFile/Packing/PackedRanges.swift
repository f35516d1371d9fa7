import Synchronization
import VaultCrypto
import VaultFormat
import VaultStream

/// Reads ranges of a packed container's plaintext by its index (Spec 7.3). The container's maker chose the index. Only
/// a full read shows whether it leads to the same bytes (PACK-17).
final class PackedRanges: Sendable {
    /// How many readers are kept for the next calls.
    private static let mostReaders = 4

    let layout: PackedLayout
    private let records: RecordSource
    private let state = Mutex(State())

    private struct State: ~Copyable {
        /// The readers that no thread is using.
        var readers: [Reader] = []
        /// The index of the group that was read last.
        var index: GroupIndex?
    }

    /// What one call reads with. The last record stays with it: the next range usually begins in that record.
    private final class Reader: @unchecked Sendable {
        let blocks: BlockReader
        var window: RecordWindow

        init(_ stream: PackedStream, _ records: RecordSource) throws(VaultError) {
            blocks = try BlockReader(stream)
            window = RecordWindow(records)
        }
    }

    init(_ layout: PackedLayout, _ records: RecordSource) {
        self.layout = layout
        self.records = records
    }

    /// Lends the bytes of a range, block by block. The range lies within the plaintext.
    func read(_ range: Range<UInt64>, to sink: (Span<UInt8>) throws -> Void) throws {
        let reader = try state.withLock { $0.readers.popLast() } ?? Reader(layout.stream, records)
        defer {
            // The medium may be well again when the next call reads.
            reader.window.endReading()
            state.withLock { if $0.readers.count < Self.mostReaders { $0.readers.append(reader) } }
        }
        var index: GroupIndex?
        let blocks = layout.blocks(covering: range)
        for block in blocks {
            try Cancellation.check()
            let there = layout.plaintextRange(ofBlock: block)
            if index?.item(ofBlock: block) == nil {
                index = try self.index(ofBlock: block, &reader.window)
                if let end = index?.end(ofBlocksBefore: blocks.upperBound) { reader.window.expect(upTo: end) }
            }
            guard let item = index?.item(ofBlock: block) else { throw GroupIndex.lacks(block, of: layout.stream) }
            try reader.blocks.withBlock(at: item, count: there.count, &reader.window) { text in
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
