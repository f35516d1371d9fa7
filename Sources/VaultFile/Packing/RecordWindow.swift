import VaultCrypto
import VaultFormat
import VaultStream

/// The stream that the data records of a container hold, read at any place, one record at a time. It keeps the last
/// record, because the next read usually begins in it.
struct RecordWindow: ~Copyable {
    private let records: RecordSource
    private var record = ByteBuffer()
    private var atHand: UInt64?
    /// The last record that failed. It is kept because many small items may be in one record.
    private var failed: (index: UInt64, error: VaultError)?

    init(_ records: RecordSource) {
        self.records = records
    }

    /// Reads a record that failed once more, if it is asked for again.
    mutating func forgetFailure() {
        failed = nil
    }

    private var layout: ContainerLayout { records.layout }

    private mutating func load(_ index: UInt64) throws {
        guard atHand != index else { return }
        // mutant: without this, the record is read again and fails again
        if let failed, failed.index == index { throw failed.error }
        atHand = nil
        let place = layout.place(ofRecord: index)
        if record.count < place.count { try record.resize(to: place.count) }
        do {
            try record.withMutableSpan(of: 0..<place.count) { [records] in try records.open(place, in: &$0) }
        } catch let error as VaultError {
            failed = (index, error)
            throw error
        }
        atHand = index
    }

    /// Lends a part of the stream, record by record.
    mutating func read(_ range: Range<UInt64>, to sink: (Span<UInt8>) throws -> Void) throws {
        guard range.upperBound <= layout.streamLength else {
            throw VaultError(.truncated, "the stream that the records hold is shorter", offset: layout.manifestOffset)
        }
        for index in layout.records(covering: range) {
            try load(index)
            let there = layout.streamRange(ofRecord: index)
            let wanted = range.clamped(to: there)
            let start = RecordHead.count + Int(wanted.lowerBound - there.lowerBound)
            try record.withSpan(of: start..<start + wanted.count, sink)
        }
    }

    /// Appends a part of the stream.
    mutating func append(_ range: Range<UInt64>, to bytes: inout ByteBuffer) throws {
        try read(range) { try bytes.append($0) }
    }

    /// Appends a small part of the stream.
    mutating func append(_ range: Range<UInt64>, to bytes: inout [UInt8]) throws {
        try read(range) { bytes.append($0) }
    }
}
