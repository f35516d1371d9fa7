import VaultCrypto
import VaultFormat
import VaultStream

extension RecordFeed {
    /// Opens all records that the feed gives.
    ///
    /// - Parameters:
    ///   - jobs: how many threads open records.
    ///   - stopsAtFailure: whether to end at the first record that fails: the records before it are passed, then its
    ///     error is thrown. Otherwise a record that failed is passed like the others.
    ///   - isOrdered: whether pieces are passed.
    ///   - pass: called on the calling thread with each piece, in order.
    ///   - finishing: called on the opening thread with each piece that was opened and passed, in any order.
    ///   - onProgress: called on the calling thread now and then, with the count of bytes of text that were
    ///     opened or have failed.
    /// - Throws: the error of the first record that failed, if `stopsAtFailure`; what the closures and the feed throw.
    func open(
        jobs: ThreadCount, stopsAtFailure: Bool = true, isOrdered: Bool = true, pass: (OpeningWorker) throws -> Void,
        finishing: @escaping @Sendable (OpeningWorker) throws -> Void = { _ in },
        onProgress: (UInt64) throws -> Void = { _ in }
    ) throws {
        try Pipeline(jobs: isOnePiece ? .one : jobs, input: input).run(
            { try OpeningWorker(self, stopsAtFailure: stopsAtFailure, isOrdered: isOrdered, finishing) },
            pass: { worker in
                try pass(worker)
                try worker.endIfFailed()
            }, onProgress: onProgress)
    }
}

/// One thread's work on opening data records.
final class OpeningWorker: PipelineWorker {
    private let feed: any RecordFeed
    private let stopsAtFailure: Bool
    private let finishing: @Sendable (OpeningWorker) throws -> Void
    let isOrdered: Bool
    private var piece: RecordPiece
    /// What the piece is sealed with again.
    var seal: RecordSeal?

    fileprivate init(
        _ feed: some RecordFeed, stopsAtFailure: Bool, isOrdered: Bool,
        _ finishing: @escaping @Sendable (OpeningWorker) throws -> Void
    ) throws(VaultError) {
        self.feed = feed
        self.stopsAtFailure = stopsAtFailure
        self.isOrdered = isOrdered
        self.finishing = finishing
        piece = try RecordPiece(for: feed)
    }

    func take() throws -> Bool {
        try piece.take(from: feed)
    }

    func work() throws {
        piece.open(by: feed, stopsAtFailure: stopsAtFailure) { [feed] place throws(VaultError) in
            try feed.check(plaintextLength: place.text.upperBound)
        }
        if !isOrdered { try endIfFailed() }
    }

    func finish() throws {
        try finishing(self)
    }

    var progress: UInt64 { UInt64(piece.textCount) }

    fileprivate func endIfFailed() throws {
        if stopsAtFailure, let failure = piece.failure { throw failure }
    }

    // MARK: Opened records

    var records: [HeldRecord] { piece.records }
    /// How many bytes of text the piece holds.
    var textCount: Int { piece.textCount }

    /// Lends the text of each opened record, in order, with its place: as much of it as is within a range.
    func forEachText<E>(in range: Range<UInt64>, _ body: (Span<UInt8>, UInt64) throws(E) -> Void) throws(E) {
        for record in records where record.isOpened {
            let wanted = range.clamped(to: record.place.text)
            try piece.bytes.withSpan(of: record.part(of: wanted)) { text throws(E) in
                try body(text, wanted.lowerBound)
            }
        }
    }

    /// Lends the text of one record.
    func withText<E>(of record: HeldRecord, _ body: (Span<UInt8>) throws(E) -> Void) throws(E) {
        try piece.bytes.withSpan(of: record.textPart, body)
    }

    /// Writes the text within a range to its places, in one system call where possible.
    func write(_ range: Range<UInt64>, to output: PipelineOutput) throws(VaultError) {
        guard let first = records.first else { return }
        precondition(records.allSatisfy(\.isOpened), "a record that failed is not written")
        let parts = records.map { $0.part(of: range.clamped(to: $0.place.text)) }
        let place = range.clamped(to: first.place.text).lowerBound - range.lowerBound
        try piece.bytes.withSpan { bytes throws(VaultError) in try output.write(bytes, parts: parts, at: place) }
    }

    /// Seals the piece again in place, for another container, and writes it there.
    func reseal(to output: PipelineOutput) throws(VaultError) {
        guard let seal = seal.take() else { preconditionFailure("a piece gets its seal when it is passed") }
        let place = seal.offset
        let count = piece.seal(seal)
        try piece.bytes.withSpan(of: 0..<count) { bytes throws(VaultError) in try output.write(bytes, at: place) }
    }
}
