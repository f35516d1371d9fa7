import VaultCrypto
import VaultFormat
import VaultStream

/// What opens data records in a pipeline. Whoever runs it is shown the opened pieces in their order, and may have more
/// done with each of them in no order.
final class RecordOpener: PipelineWorker {
    /// What the records are opened for, and so what one that cannot be had means.
    enum Purpose: Sendable {
        /// To be read: it is the end. What stands before it is passed, where anything is, and then its error is thrown.
        case reading
        /// To be verified: it is passed as one that has failed.
        case verifying
        /// To be recovered: the same, and each record is opened as if its head were the one that belongs there
        /// (RECOV-9).
        case recovering
    }

    private let feed: any RecordFeed
    private let cipher: RecordCipher
    private let purpose: Purpose
    private let finishing: @Sendable (RecordOpener) throws -> Void
    let isOrdered: Bool

    /// The piece in hand.
    private(set) var records: [HeldRecord] = []
    private(set) var bytes: [UInt8]
    /// What the piece is sealed with again.
    var seal: RecordSeal?

    private init(
        _ feed: any RecordFeed, _ cipher: RecordCipher, _ purpose: Purpose, isOrdered: Bool,
        _ finishing: @escaping @Sendable (RecordOpener) throws -> Void
    ) {
        self.feed = feed
        self.cipher = cipher
        self.purpose = purpose
        self.isOrdered = isOrdered
        self.finishing = finishing
        bytes = [UInt8](repeating: 0, count: feed.pieceCount)
    }

    /// Opens all that a feed gives.
    ///
    /// - Parameters:
    ///   - jobs: how many threads open.
    ///   - isOrdered: whether pieces are passed.
    ///   - pass: called on the calling thread with each piece in order.
    ///   - finishing: called on the opening thread with each piece that was opened and passed.
    ///   - onProgress: called on the calling thread now and then, with the bytes of text that have been looked at.
    /// - Throws: for reading, that of the first record that failed; what the closures and the feed throw.
    static func run(
        _ feed: any RecordFeed, _ cipher: RecordCipher, for purpose: Purpose = .reading, jobs: Int,
        isOrdered: Bool = true, pass: (RecordOpener) throws -> Void,
        finishing: @escaping @Sendable (RecordOpener) throws -> Void = { _ in },
        onProgress: (UInt64) throws -> Void = { _ in }
    ) throws {
        try Pipeline(jobs: feed.isOnePiece ? 1 : jobs, input: feed.input).run(
            { RecordOpener(feed, cipher, purpose, isOrdered: isOrdered, finishing) },
            pass: { opener in
                try pass(opener)
                try opener.endIfFailed()
            }, onProgress: onProgress)
    }

    func take() throws -> Bool {
        records.removeAll(keepingCapacity: true)
        try feed.take(&records, into: &bytes)
        return !records.isEmpty
    }

    func work() throws {
        feed.load(&records, into: &bytes)
        for place in records.indices {
            let record = records[place]
            do {
                if case .sealed = record.fate {
                    try bytes.withMutableSpan(of: record.place) { bytes throws(VaultError) in
                        if purpose == .recovering {
                            try cipher.openData(restoring: &bytes, index: record.index, offset: record.offset)
                        } else {
                            try cipher.openData(&bytes, index: record.index, offset: record.offset)
                        }
                    }
                    try feed.check(plaintextLength: record.text.upperBound)
                    records[place].fate = .opened
                }
            } catch {
                records[place].fate = .failed(error)
            }
            if purpose == .reading, case .failed = records[place].fate {
                records.removeSubrange((place + 1)...)
                break
            }
        }
        if !isOrdered { try endIfFailed() }
    }

    func finish() throws {
        try finishing(self)
    }

    var progress: UInt64 { (records.last?.text.upperBound ?? 0) - (records.first?.text.lowerBound ?? 0) }

    private func endIfFailed() throws {
        if purpose == .reading, case .failed(let error)? = records.last?.fate { throw error }
    }

    // MARK: What was opened

    /// Lends the text of each record that is opened, as far as it lies in a range, in order, with its place.
    func forEachText<E>(in range: Range<UInt64>, _ body: (Span<UInt8>, UInt64) throws(E) -> Void) throws(E) {
        let bytes = bytes
        for record in records {
            guard case .opened = record.fate else { continue }
            let wanted = range.clamped(to: record.text)
            try body(bytes.span.extracting(record.place(of: wanted)), wanted.lowerBound)
        }
    }

    /// Lends the text of one record.
    func withText<E>(of record: HeldRecord, _ body: (Span<UInt8>) throws(E) -> Void) throws(E) {
        let bytes = bytes
        try body(bytes.span.extracting(record.textPlace))
    }

    /// Writes what of a range was opened to its places, in one call of the system where that can be.
    func write(_ range: Range<UInt64>, to output: PipelineOutput) throws(VaultError) {
        guard let first = records.first else { return }
        precondition(records.allSatisfy(\.isOpened), "what has failed is not written")
        let bytes = bytes
        try output.write(
            bytes.span, parts: records.map { $0.place(of: range.clamped(to: $0.text)) },
            at: range.clamped(to: first.text).lowerBound - range.lowerBound)
    }

    /// Seals the piece again, for another container, where it stands.
    ///
    /// - Returns: how many bytes of `bytes` it is.
    func reseal() -> Int {
        guard let seal = seal.take() else { preconditionFailure("a piece is sealed by what it was given in its turn") }
        let count = records.last?.place.upperBound ?? 0
        // Out of the object while it is changed.
        var all = exchange(&bytes, with: [])
        var span = all.mutableSpan
        seal.seal(&span, count: count)
        bytes = all
        return count
    }
}

extension HeldRecord {
    var isOpened: Bool {
        if case .opened = fate { true } else { false }
    }

    /// Where a part of its text stands in what was read.
    fileprivate func place(of part: Range<UInt64>) -> Range<Int> {
        let from = textPlace.lowerBound + Int(part.lowerBound - text.lowerBound)
        return from..<from + part.count
    }
}
