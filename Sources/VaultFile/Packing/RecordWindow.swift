import VaultCrypto
import VaultFormat
import VaultStream

/// The stream that the data records of a container hold, at any place of it, out of one record at a time. The last one
/// is kept: what is read next mostly begins in it.
struct RecordWindow {
    private let source: any ByteSource
    private let cipher: RecordCipher
    private let layout: ContainerLayout
    /// Whether each record is opened as if its head were the one that belongs there (RECOV-9).
    private let isRecovering: Bool
    private var record: [UInt8] = []
    private var atHand: UInt64?
    /// The one that failed last: many small items may lie in it.
    private var failed: (index: UInt64, error: VaultError)?

    init(_ source: any ByteSource, _ cipher: RecordCipher, _ layout: ContainerLayout, isRecovering: Bool = false) {
        self.source = source
        self.cipher = cipher
        self.layout = layout
        self.isRecovering = isRecovering
    }

    private mutating func load(_ index: UInt64) throws {
        guard atHand != index else { return }
        // mutant: it would be read and fail once more
        if let failed, failed.index == index { throw failed.error }
        atHand = nil
        let count = layout.recordBytes(index)
        let offset = layout.offset(ofRecord: index)
        if record.count < count { record = [UInt8](repeating: 0, count: count) }
        do {
            guard try source.fill(&record, 0..<count, at: offset) == count else {
                throw VaultError(.truncated, "the file has become shorter", offset: offset, record: index)
            }
            try record.withMutableSpan(of: 0..<count) { [cipher, isRecovering] record throws(VaultError) in
                if isRecovering {
                    try cipher.openData(restoring: &record, index: index, offset: offset)
                } else {
                    try cipher.openData(&record, index: index, offset: offset)
                }
            }
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
            try sink(record.span.extracting(start..<start + wanted.count))
        }
    }

    /// Appends a part of the stream.
    mutating func append(_ range: Range<UInt64>, to bytes: inout [UInt8]) throws {
        try read(range) { bytes.append($0) }
    }
}
