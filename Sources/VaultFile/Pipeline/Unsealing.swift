import Synchronization
public import SystemPackage
import VaultCrypto
import VaultFormat
import VaultStream

/// The decryption of a range of a container or of all of it: records are opened at once, and their plaintext goes to its
/// places or, in order, to whatever takes one byte after the other.
final class Unsealing: Sendable {
    private let feed: any RecordFeed
    private let cipher: RecordCipher
    private let range: Range<UInt64>
    private let output: PipelineOutput
    private let hashes: Bool
    private let state: Mutex<State>

    private struct State: ~Copyable {
        var digest: SHA256?
        /// How much plaintext there was.
        var end: UInt64
    }

    /// - Parameters:
    ///   - range: of the plaintext, what is wanted.
    ///   - hashes: whether the SHA-256 of it is computed.
    init(
        _ feed: any RecordFeed, cipher: RecordCipher, _ range: Range<UInt64>, to output: FileDescriptor?, hashes: Bool
    ) {
        self.feed = feed
        self.cipher = cipher
        self.range = range
        self.output = PipelineOutput(output)
        self.hashes = hashes
        state = Mutex(State(digest: hashes ? SHA256() : nil, end: range.lowerBound))
    }

    /// Decrypts everything that the feed gives.
    ///
    /// - Returns: the SHA-256, where it was to be computed.
    func run(jobs: Int, onProgress: (UInt64) throws -> Void) throws -> SHA256? {
        try Pipeline(jobs: jobs).run({ Worker(self) }, onProgress: onProgress)
        return try state.withLock { state in
            try output.finish(length: state.end - range.lowerBound)
            return state.digest.take()
        }
    }

    private final class Worker: PipelineWorker {
        private let unsealing: Unsealing
        private var bytes: [UInt8]
        private var records: [HeldRecord] = []
        /// How many of them are opened, from the first on.
        private var openedCount = 0
        private var failure: (any Error)?
        private(set) var progress: UInt64 = 0

        init(_ unsealing: Unsealing) {
            self.unsealing = unsealing
            bytes = [UInt8](repeating: 0, count: unsealing.feed.pieceCount)
        }

        var isOrdered: Bool { !unsealing.output.hasPlaces || unsealing.hashes }

        func take() throws -> Bool {
            records = try unsealing.feed.take(into: &bytes)
            guard let end = records.last?.text.upperBound else { return false }
            unsealing.state.withLock { $0.end = min(end, unsealing.range.upperBound) }
            return true
        }

        func work() throws {
            openedCount = 0
            progress = 0
            do {
                try open()
            } catch {
                // What stands before it goes out first.
                guard isOrdered else { throw error }
                failure = error
            }
            if !isOrdered { try write() }
        }

        private func open() throws {
            let (feed, cipher) = (unsealing.feed, unsealing.cipher)
            let filled = try feed.load(records, into: &bytes)
            for record in records {
                guard record.place.upperBound <= filled else {
                    throw VaultError(
                        .truncated, "the file has become shorter", offset: record.offset, record: record.index)
                }
                try bytes.withMutableSpan(of: record.place) { bytes throws(VaultError) in
                    try cipher.openData(&bytes, index: record.index, offset: record.offset)
                }
                try feed.check(record)
                openedCount += 1
            }
        }

        func pass() throws {
            if unsealing.hashes {
                unsealing.state.withLock { state in
                    forEachText { text, _ in state.digest?.update(text) }
                }
            }
            if !unsealing.output.hasPlaces { try write() }
            if let failure { throw failure }
        }

        func finish() throws {
            if isOrdered, unsealing.output.hasPlaces { try write() }
        }

        private func write() throws {
            try forEachText { text, offset in
                try unsealing.output.write(text, at: offset - unsealing.range.lowerBound)
                progress += UInt64(text.count)
            }
        }

        /// Lends what is wanted of each record that was opened, and where in the plaintext it stands.
        private func forEachText<E>(_ body: (Span<UInt8>, UInt64) throws(E) -> Void) throws(E) {
            let bytes = bytes
            for record in records.prefix(openedCount) {
                let wanted = unsealing.range.clamped(to: record.text)
                let start = record.start + RecordHead.count + Int(wanted.lowerBound - record.text.lowerBound)
                try body(bytes.span.extracting(start..<start + wanted.count), wanted.lowerBound)
            }
        }
    }
}

extension SeekableVaultReader {
    /// Decrypts a range, or everything and then with all that can be checked of the whole, the SHA-256 too.
    ///
    /// - Parameters:
    ///   - range: nil for everything.
    ///   - output: written at its places if it is an empty regular file, else in order.
    ///   - jobs: how many threads work, the calling one among them. What comes out does not depend on it.
    ///   - onProgress: called on the calling thread now and then, with the bytes that have been written.
    /// - Throws: what `read` throws, `VaultError` with `outputFailed` and `contentMismatch`, and what `onProgress` throws.
    public func decrypt(
        _ range: Range<UInt64>? = nil, to output: FileDescriptor, jobs: Int = Vault.processorCount,
        onProgress: (UInt64) throws -> Void = { _ in }
    ) throws {
        let wanted = range ?? 0..<length
        try check(wanted)
        let expected = range == nil ? opened.manifest.digest : nil
        let unsealing = Unsealing(
            PlacedRecords(self, covering: wanted), cipher: cipher, wanted, to: output, hashes: expected != nil)
        let digest = try unsealing.run(jobs: jobs, onProgress: onProgress)?.finish()
        if let expected, let digest {
            try opened.manifest.check(digest: digest, is: expected, at: layout.manifestOffset)
        }
    }
}
