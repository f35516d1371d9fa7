import VaultCrypto
import VaultFormat
import VaultStream

/// One data record in a worker's memory.
struct HeldRecord: Sendable {
    enum State: Sendable {
        /// It is encrypted, and may not be read yet.
        case sealed
        /// Its text has replaced its ciphertext.
        case opened
        case failed(any Error)
    }

    let place: RecordPlace
    /// Its first byte in the worker's memory.
    let start: Int
    var state = State.sealed

    /// The record in the worker's memory.
    var part: Range<Int> { start..<start + place.count }
    /// Its text there.
    var textPart: Range<Int> { start + RecordHead.count..<start + RecordHead.count + place.text.count }

    var isOpened: Bool {
        if case .opened = state { true } else { false }
    }

    /// An error of reading, as the error of this record.
    func failure(_ error: VaultError) -> VaultError {
        error.at(place.offset, record: place.index)
    }

    /// A part of its text, in the worker's memory.
    func part(of text: Range<UInt64>) -> Range<Int> {
        let from = textPart.lowerBound + Int(text.lowerBound - place.text.lowerBound)
        return from..<from + text.count
    }
}

/// Consecutive data records in the memory of one worker.
struct RecordPiece: ~Copyable {
    private(set) var records: [HeldRecord] = []
    private(set) var bytes: ByteBuffer

    /// - Throws: `memoryUnavailable`.
    init(for feed: some RecordFeed) throws(VaultError) {
        bytes = try ByteBuffer(count: feed.pieceCount)
    }

    /// How many bytes of text the records hold.
    var textCount: Int {
        guard let first = records.first, let last = records.last else { return 0 }
        return Int(last.place.text.upperBound - first.place.text.lowerBound)
    }

    /// Takes the next records.
    ///
    /// - Returns: whether there were any.
    mutating func take(from feed: some RecordFeed) throws -> Bool {
        records.removeAll(keepingCapacity: true)
        try feed.take(&records, into: &bytes)
        return !records.isEmpty
    }

    /// Reads the records that were not read yet, and opens all.
    ///
    /// - Parameters:
    ///   - stopsAtFailure: whether the records after the first that fails are dropped.
    ///   - check: called for each record that is opened. What it throws is the record's failure.
    mutating func open(
        by feed: some RecordFeed, stopsAtFailure: Bool,
        _ check: (RecordPlace) throws(VaultError) -> Void = { _ throws(VaultError) in }
    ) {
        feed.load(&records, into: &bytes)
        let opener = feed.opener
        for index in records.indices {
            let record = records[index]
            do {
                if case .sealed = record.state {
                    try bytes.withMutableSpan(of: record.part) { bytes throws(VaultError) in
                        try opener.open(&bytes, at: record.place)
                    }
                    try check(record.place)
                    records[index].state = .opened
                }
            } catch {
                records[index].state = .failed(error)
            }
            if stopsAtFailure, case .failed = records[index].state {
                records.removeSubrange((index + 1)...)
                return
            }
        }
    }

    /// The error of the last record, if that failed.
    var failure: (any Error)? {
        if case .failed(let error)? = records.last?.state { error } else { nil }
    }

    /// Seals the records again in place, for another container.
    ///
    /// - Returns: the count of their bytes.
    mutating func seal(_ seal: consuming RecordSeal) -> Int {
        let count = records.last?.part.upperBound ?? 0
        var seal: RecordSeal? = consume seal
        bytes.withMutableSpan(of: 0..<count) { seal.take()?.seal(&$0, count: count) }
        return count
    }
}
