import Synchronization
import VaultCrypto
import VaultFormat
import VaultStream

/// A source of the data records of a container.
protocol RecordFeed: Sendable {
    /// What opens the records.
    var opener: RecordOpener { get }
    /// The most bytes that `take` and `load` put into a worker's memory.
    var pieceCount: Int { get }
    /// Whether one worker can take all records at once.
    var isOnePiece: Bool { get }
    /// The input of the records, if reading it may block.
    var input: PipelineInput? { get }
    /// Whether the next records can be taken without waiting.
    var isReady: Bool { get }
    /// Takes the next records, in order: none at the end.
    func take(_ records: inout [HeldRecord], into bytes: inout ByteBuffer) throws
    /// Reads the records that `take` did not read, at any time.
    func load(_ records: inout [HeldRecord], into bytes: inout ByteBuffer)
    /// Refuses a plaintext that is longer than the caller's limits allow.
    func check(plaintextLength: UInt64) throws(VaultError)
}

extension RecordFeed {
    var isOnePiece: Bool { false }
    var input: PipelineInput? { nil }
    var isReady: Bool { true }
    func load(_ records: inout [HeldRecord], into bytes: inout ByteBuffer) {}
    func check(plaintextLength: UInt64) {}
}

/// The data records of a container that can be read from any place.
struct RecordSource: Sendable {
    let source: any ByteSource
    let layout: ContainerLayout
    let opener: RecordOpener

    /// Reads a record into the first bytes of `bytes`, and opens it there.
    ///
    /// - Throws: `truncated`, `recordDamaged`, and what the source throws.
    func open(_ place: RecordPlace, in bytes: inout MutableSpan<UInt8>) throws {
        try bytes.withPart(0..<place.count) { record in
            guard try source.fill(&record, at: place.offset) == place.count else {
                throw VaultError(
                    .truncated, "the file has become shorter", offset: place.offset, record: place.index)
            }
            try opener.open(&record, at: place)
        }
    }
}

/// Records of a container that can be read from any place: each worker reads those that it takes.
final class PlacedRecords: RecordFeed {
    private let records: RecordSource
    private let chunks: Int
    private let left: Mutex<Range<UInt64>>
    let isOnePiece: Bool

    /// - Parameter range: the wanted bytes of the stream.
    init(_ records: RecordSource, covering range: Range<UInt64>) {
        self.records = records
        let indices = records.layout.records(covering: range)
        chunks = min(
            indices.count, PieceSize.chunks(of: records.layout.chunkSize, in: records.source.readSize))
        isOnePiece = chunks == indices.count
        left = Mutex(indices)
    }

    var opener: RecordOpener { records.opener }
    var pieceCount: Int { chunks * records.layout.chunkSize.recordBytes }

    func take(_ records: inout [HeldRecord], into bytes: inout ByteBuffer) {
        let taken = left.withLock { left in
            let end = min(left.lowerBound + UInt64(chunks), left.upperBound)
            defer { left = end..<left.upperBound }
            return left.lowerBound..<end
        }
        var start = 0
        for index in taken {
            let record = HeldRecord(place: self.records.layout.place(ofRecord: index), start: start)
            start = record.part.upperBound
            records.append(record)
        }
    }

    func load(_ records: inout [HeldRecord], into bytes: inout ByteBuffer) {
        guard let first = records.first, let last = records.last else { return }
        let source = self.records.source
        let count = last.part.upperBound
        do {
            if try source.fill(&bytes, 0..<count, at: first.place.offset) == count { return }
        } catch let error as VaultError where error.code == .inputFailed {
            // One record that cannot be read must not make the others fail.
        } catch {
            // A second try would hide an error that a program's source throws once, such as a cancellation.
            for index in records.indices { records[index].state = .failed(error) }
            return
        }
        for index in records.indices {
            let record = records[index]
            do {
                guard try source.fill(&bytes, record.part, at: record.place.offset) == record.part.count else {
                    throw VaultError(.truncated, "the file has become shorter")
                }
            } catch let error as VaultError {
                records[index].state = .failed(record.failure(error))
            } catch {
                for rest in records[index...].indices { records[rest].state = .failed(error) }
                return
            }
        }
    }
}
