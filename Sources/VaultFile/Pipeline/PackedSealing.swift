import Synchronization
import SystemPackage
import VaultCrypto
import VaultFormat
import VaultStream

/// The stream of the items that the threads have packed. The items follow one another, and the stream is cut into
/// records like any other.
private struct PackedOutput: ~Copyable {
    let chunkCount: Int
    private(set) var row = ItemRow()
    /// The end of the stream, which does not fill a record yet.
    private var rest = ByteBuffer()

    init(_ chunkSize: ChunkSize) {
        chunkCount = chunkSize.bytes
    }

    /// Appends items, in order.
    ///
    /// - Parameter bodyCounts: the body lengths of the items, which follow one another in `items`.
    /// - Returns: the next bytes of the stream, as many as fill whole records.
    mutating func append(_ items: Span<UInt8>, bodyCounts: [Int]) throws(VaultError) -> ByteBuffer {
        var place = 0
        for count in bodyCounts {
            let end = place + ItemHead.count + count
            try rest.append(items.extracting(place..<end))
            if let index = try row.append(bodyCount: count) { try rest.append(index.span) }
            place = end
        }
        var full = exchange(&rest, with: ByteBuffer())
        let count = full.count / chunkCount * chunkCount
        try full.withSpan(of: count..<full.count) { end throws(VaultError) in try rest.append(end) }
        full.setCount(count)
        return full
    }

    /// The last bytes of the stream.
    mutating func finish() throws(VaultError) -> ByteBuffer {
        if let index = row.finish() { try rest.append(index.span) }
        return exchange(&rest, with: ByteBuffer())
    }
}

/// One thread's work on a packed stream: it deflates blocks, and seals the records that its items fill.
private final class PackingWorker: PipelineWorker {
    private let sealing: Sealing
    private var packer: BlockPacker?
    private var blocks: ChunkRun
    /// The items, one after another.
    private var items: ByteBuffer
    private var bodyCounts: [Int] = []
    /// The records to be sealed.
    var records = PlacedStream()

    init(_ sealing: Sealing) throws(VaultError) {
        self.sealing = sealing
        blocks = try ChunkRun(sealing.options.chunkSize, capacity: sealing.chunks)
        items = try ByteBuffer(count: sealing.chunks * (ItemHead.count + sealing.options.chunkSize.bytes))
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
        for index in 0..<blocks.count {
            let body = try blocks.bytes.withSpan(of: blocks.part(index)) { block throws(VaultError) in
                try packer.pack(block, into: &items, at: place)
            }
            bodyCounts.append(body)
            place += ItemHead.count + body
        }
    }

    /// Appends its items to the stream.
    func append(to output: inout PackedOutput) throws(VaultError) -> ByteBuffer {
        let bodyCounts = bodyCounts
        return try items.withSpan { items throws(VaultError) in try output.append(items, bodyCounts: bodyCounts) }
    }

    func finish() throws {
        // If the output has no places, `pass` has written them in order.
        try sealing.write(&records)
    }
}

/// A part of the stream that begins with a record, and the records that it fills.
private struct PlacedStream: ~Copyable {
    var bytes = ByteBuffer()
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
            { try PackingWorker(self) },
            pass: { worker in
                worker.records = try place(worker.append(to: &packed))
                // mutant: at places, the same bytes would be written twice
                if !output.hasPlaces { try write(&worker.records) }
            }, onProgress: onProgress)
        var rest = try place(packed.finish())
        try write(&rest)
        return packed.row.packed
    }

    /// Gives the next part of the stream its records: all are full, except perhaps the last of the container.
    private func place(_ stream: consuming ByteBuffer) throws(VaultError) -> PlacedStream {
        let seal = try nextRecords(of: stream.count)
        return PlacedStream(bytes: stream, seal: seal)
    }

    /// Makes records of a part of the stream and writes them. The second call does nothing.
    fileprivate func write(_ records: inout PlacedStream) throws {
        var seal = records.seal.take()
        guard let place = seal?.offset else { return }
        let chunk = options.chunkSize.bytes
        let count = (records.bytes.count + chunk - 1) / chunk
        var bytes = try ByteBuffer(count: records.bytes.count + count * RecordHead.overhead)
        for index in 0..<count {
            records.bytes.withSpan(of: index * chunk..<min((index + 1) * chunk, records.bytes.count)) { text in
                bytes.replace(at: index * options.chunkSize.recordBytes + RecordHead.count, with: text)
            }
        }
        let all = bytes.count
        bytes.withMutableSpan(of: 0..<all) { seal.take()?.seal(&$0, count: all) }
        try bytes.withSpan { try output.write($0, at: place) }
    }
}
