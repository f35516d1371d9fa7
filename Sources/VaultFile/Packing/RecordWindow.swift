import VaultCrypto
import VaultFormat
import VaultStream

/// The stream that the data records of a container hold, read at any place. It keeps the last record, because the next
/// read usually begins in it.
struct RecordWindow: ~Copyable {
    private let records: RecordSource
    /// Consecutive records, which were read at once. Each is opened when it is needed.
    private var bytes = ByteBuffer()
    private var held: Range<UInt64> = 0..<0
    private var isOpen: [Bool] = []
    /// The place in the stream up to which the next reads go.
    private var expected: UInt64 = 0
    /// The last record that failed. It is kept because many small items may be in one record.
    private var failed: (index: UInt64, error: VaultError)?

    init(_ records: RecordSource) {
        self.records = records
    }

    /// Says that the next reads go on to a place. What is before it is then read in few requests, as the source wants it.
    mutating func expect(upTo end: UInt64) { expected = min(end, layout.streamLength) }

    /// To be called when the caller has all that it wants. Keeps the last record alone, and reads a record that failed
    /// once more if it is asked for again.
    mutating func endReading() {
        (failed, expected) = (nil, 0)
        guard held.count > 1 else { return }
        var kept = ByteBuffer()
        let last = isOpen.lastIndex(of: true)
        if let last, (try? bytes.withSpan(of: part(last)) { try kept.append($0) }) != nil {
            let index = held.lowerBound + UInt64(last)
            (held, isOpen) = (index..<index + 1, [true])
        } else {
            (held, isOpen) = (0..<0, [])
        }
        bytes = kept
    }

    private var layout: ContainerLayout { records.layout }

    /// The place of a record that is held.
    private func part(_ number: Int) -> Range<Int> {
        let place = layout.place(ofRecord: held.lowerBound + UInt64(number))
        let start = number * layout.chunkSize.recordBytes
        return start..<start + place.count
    }

    private mutating func load(_ index: UInt64) throws {
        // mutant: without this, the record is read again and fails again
        if let failed, failed.index == index { throw failed.error }
        do {
            if !held.contains(index) { try read(from: index) }
            let number = Int(index - held.lowerBound)
            guard !isOpen[number] else { return }
            let place = layout.place(ofRecord: index)
            try bytes.withMutableSpan(of: part(number)) { [records] in try records.opener.open(&$0, at: place) }
            isOpen[number] = true
        } catch let error as VaultError {
            // A record that does not open is spoilt by the try.
            (held, isOpen) = (0..<0, [])
            failed = (index, error)
            throw error
        }
    }

    /// Reads a record, and those behind it that are expected.
    private mutating func read(from index: UInt64) throws {
        (held, isOpen) = (0..<0, [])
        let most = UInt64(PieceSize.chunks(of: layout.chunkSize, in: records.source.readSize))
        let start = layout.streamRange(ofRecord: index).lowerBound
        let wanted = start < expected ? layout.records(covering: start..<expected).upperBound : index + 1
        var end = min(wanted, index + most)
        let first = layout.place(ofRecord: index)
        while true {
            let last = layout.place(ofRecord: end - 1)
            let count = Int(last.offset - first.offset) + last.count
            if bytes.count < count { try bytes.resize(to: count) }
            do {
                if try records.source.fill(&bytes, 0..<count, at: first.offset) == count { break }
                guard end > index + 1 else {
                    throw VaultError(
                        .truncated, "the file has become shorter", offset: first.offset, record: first.index)
                }
            } catch let error as VaultError where error.code == .inputFailed && end > index + 1 {
                // What cannot be read may not be needed yet.
            }
            end = index + 1
        }
        held = index..<end
        isOpen = [Bool](repeating: false, count: held.count)
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
            let start =
                part(Int(index - held.lowerBound)).lowerBound + RecordHead.count
                + Int(wanted.lowerBound - there.lowerBound)
            try bytes.withSpan(of: start..<start + wanted.count, sink)
        }
    }

    /// Appends a part of the stream.
    mutating func append(_ range: Range<UInt64>, to buffer: inout ByteBuffer) throws {
        try read(range) { try buffer.append($0) }
    }

    /// Appends a small part of the stream.
    mutating func append(_ range: Range<UInt64>, to buffer: inout [UInt8]) throws {
        try read(range) { buffer.append($0) }
    }
}
