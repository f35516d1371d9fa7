import Synchronization
import SystemPackage
import VaultCrypto
import VaultFormat
import VaultStream

/// The stream of the items that the threads have packed. The items follow one another, and the stream is cut into
/// records like any other.
private struct PackedOutput {
    let chunkCount: Int
    private(set) var row = ItemRow()
    /// The end of the stream, which does not fill a record yet.
    private var rest: [UInt8] = []

    init(_ chunkSize: ChunkSize) {
        chunkCount = chunkSize.bytes
    }

    /// Appends items, in order.
    ///
    /// - Parameter bodyCounts: the body lengths of the items, which follow one another in `items`.
    /// - Returns: the next bytes of the stream, as many as fill whole records.
    mutating func append(_ items: Span<UInt8>, bodyCounts: [Int]) throws(VaultError) -> [UInt8] {
        var place = 0
        for count in bodyCounts {
            let end = place + ItemHead.count + count
            rest.append(items.extracting(place..<end))
            if let index = try row.append(bodyCount: count) { rest += index }
            place = end
        }
        var full = exchange(&rest, with: [])
        let count = full.count / chunkCount * chunkCount
        rest = [UInt8](full[count...])
        full.removeLast(full.count - count)
        return full
    }

    /// The last bytes of the stream.
    mutating func finish() -> [UInt8] {
        if let index = row.finish() { rest += index }
        return exchange(&rest, with: [])
    }
}

/// One thread's work on a packed stream: it deflates blocks, and seals the records that its items fill.
private final class PackingWorker: PipelineWorker {
    private let sealing: Sealing
    private var packer: BlockPacker?
    private var blocks: ChunkRun
    /// The items, one after another.
    private(set) var items: [UInt8]
    private(set) var bodyCounts: [Int] = []
    /// The records to be sealed.
    var records = PlacedStream()

    init(_ sealing: Sealing) {
        self.sealing = sealing
        blocks = ChunkRun(sealing.options.chunkSize, capacity: sealing.chunks)
        items = [UInt8](repeating: 0, count: sealing.chunks * (ItemHead.count + blocks.chunkCount))
    }

    var progress: UInt64 { UInt64(blocks.length) }
    /// An item's place in the stream depends on the lengths of the items before it.
    var isOrdered: Bool { true }

    func take() throws -> Bool {
        try sealing.plaintext.withLock { try $0.take(&blocks) }
        return blocks.count > 0
    }

    func work() throws {
        try sealing.input.load(&blocks)
        let packer = try packer ?? BlockPacker()
        self.packer = packer
        bodyCounts.removeAll(keepingCapacity: true)
        var place = 0
        let bytes = blocks.bytes
        for index in 0..<blocks.count {
            let block = bytes.span.extracting(blocks.part(index))
            let body = try packer.pack(block, into: &items, at: place)
            bodyCounts.append(body)
            place += ItemHead.count + body
        }
    }

    func finish() throws {
        // If the output has no places, `pass` has written them in order.
        try sealing.write(&records)
    }
}

/// A part of the stream that begins with a record, and the records that it fills.
private struct PlacedStream: ~Copyable {
    var bytes: [UInt8] = []
    /// Nil if nothing is to be sealed.
    var seal: RecordSeal?
}

extension Sealing {
    /// Packs everything.
    ///
    /// - Returns: what the manifest says about the stream.
    func pack(_ pipeline: Pipeline, onProgress: (UInt64) throws -> Void) throws -> Manifest.Packed {
        var packed = PackedOutput(options.chunkSize)
        try pipeline.run(
            { PackingWorker(self) },
            pass: { worker in
                let items = worker.items
                worker.records = try place(packed.append(items.span, bodyCounts: worker.bodyCounts))
                if !output.hasPlaces { try write(&worker.records) }
            }, onProgress: onProgress)
        var rest = try place(packed.finish())
        try write(&rest)
        return packed.row.packed
    }

    /// Gives the next part of the stream its records: all are full, except perhaps the last of the container.
    private func place(_ stream: [UInt8]) throws(VaultError) -> PlacedStream {
        PlacedStream(bytes: stream, seal: try nextRecords(of: stream.count))
    }

    /// Makes records of a part of the stream and writes them. The second call does nothing.
    fileprivate func write(_ records: inout PlacedStream) throws {
        guard let seal = records.seal.take() else { return }
        let place = seal.offset
        let chunk = options.chunkSize.bytes
        let count = (records.bytes.count + chunk - 1) / chunk
        var bytes = [UInt8](repeating: 0, count: records.bytes.count + count * RecordHead.overhead)
        for index in 0..<count {
            let text = records.bytes.span.extracting(index * chunk..<min((index + 1) * chunk, records.bytes.count))
            bytes.replace(at: index * options.chunkSize.recordBytes + RecordHead.count, with: text)
        }
        let all = bytes.count
        var span = bytes.mutableSpan
        seal.seal(&span, count: all)
        try output.write(bytes.span, at: place)
    }
}
