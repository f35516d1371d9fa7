import Synchronization
import VaultCrypto
import VaultFormat
import VaultStream

/// The state that the threads that unpack a stream share.
private final class Unpacking: Sendable {
    let stream: PackedStream
    let output: PipelineOutput
    /// The most blocks that one worker holds.
    let most: Int
    let items: Mutex<ItemFeed>

    init(_ feed: any RecordFeed, _ stream: PackedStream, _ output: PipelineOutput) throws(VaultError) {
        self.stream = stream
        self.output = output
        most = max(1, feed.pieceCount / stream.chunkSize.recordBytes)
        items = Mutex(try ItemFeed(feed, stream))
    }
}

/// The work of one thread on a packed stream: it inflates blocks.
private final class BlockOpener: PipelineWorker {
    private let unpacking: Unpacking
    private let chunk: Int
    private var unpacker: BlockUnpacker?
    private(set) var held = HeldItems()
    /// Each block begins at a multiple of the chunk size.
    private var bytes: ByteBuffer
    /// The lengths of the blocks up to the first that fails.
    private(set) var counts: [Int] = []
    /// The place of the first block in the plaintext.
    var place: UInt64 = 0

    init(_ unpacking: Unpacking) throws(VaultError) {
        self.unpacking = unpacking
        chunk = unpacking.stream.chunkSize.bytes
        bytes = try ByteBuffer(count: unpacking.most * chunk)
    }

    var progress: UInt64 { UInt64(counts.reduce(0, +)) }
    /// Only a check in order shows that no block follows a short one.
    var isOrdered: Bool { true }

    func take() -> Bool {
        unpacking.items.withLock { $0.take(unpacking.most, into: &held) }
        return !held.isEmpty
    }

    func work() throws {
        let unpacker = try unpacker ?? BlockUnpacker(unpacking.stream)
        self.unpacker = unpacker
        counts.removeAll(keepingCapacity: true)
        for item in held.items {
            do {
                let start = counts.count * chunk
                let count = try held.bytes.withSpan(of: item.body) { body throws(VaultError) in
                    try bytes.withMutableSpan(of: start..<start + chunk) { block throws(VaultError) in
                        try unpacker.unpack(item.head, body, into: &block, at: item.position)
                    }
                }
                counts.append(count)
            } catch {
                // The blocks before it are written first. Nothing after it matters.
                held.failure = error
                held.begun = item.position
                return
            }
        }
    }

    func finish() throws {
        if unpacking.output.hasPlaces { try write() }
    }

    /// Lends a block.
    func withText(of block: Int, _ body: (Span<UInt8>) throws -> Void) throws {
        try bytes.withSpan(of: block * chunk..<block * chunk + counts[block], body)
    }

    /// Writes the blocks that were passed. All are full, except perhaps the last.
    func write() throws(VaultError) {
        guard !counts.isEmpty else { return }
        try bytes.withSpan(of: 0..<Int(progress)) { text throws(VaultError) in
            try unpacking.output.write(text, at: place)
        }
    }
}

/// A packed stream that was unpacked.
struct Unpacked: ~Copyable {
    /// Its items and blocks, to be compared with the manifest.
    let stream: UnpackedStream
    /// The SHA-256 of the plaintext, if it was asked for.
    let digest: SHA256?
}

extension RecordFeed {
    /// Decrypts and unpacks all records that the feed gives.
    func unpack(
        _ stream: PackedStream, to output: PipelineOutput, hashes: Bool, jobs: ThreadCount,
        onProgress: (UInt64) throws -> Void
    ) throws -> Unpacked {
        let unpacking = try Unpacking(self, stream, output)
        var blocks = BlockRow(stream)
        var digest = hashes ? Optional(opener.newDigest()) : nil
        try Pipeline(jobs: jobs, input: input).run(
            { try BlockOpener(unpacking) },
            pass: { worker in
                worker.place = blocks.length
                for (block, item) in zip(worker.counts.indices, worker.held.items) {
                    let count = worker.counts[block]
                    try blocks.checkNext(at: item.position)
                    try check(plaintextLength: blocks.length + UInt64(count))
                    blocks.append(count)
                    try worker.withText(of: block) { text in
                        digest?.update(text)
                        if !output.hasPlaces { try output.write(text) }
                    }
                }
                // A reader of one thread checks the head before it reads the body that failed.
                if let begun = worker.held.begun { try blocks.checkNext(at: begun) }
                if let failure = worker.held.failure { throw failure }
            }, onProgress: onProgress)
        try output.finish()
        return Unpacked(
            stream: UnpackedStream(unpacking.items.withLock { $0.walk }, blocks), digest: digest.take())
    }
}
