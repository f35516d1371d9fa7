import Synchronization
import SystemPackage
import VaultCrypto
import VaultFormat
import VaultStream

/// One data record in a worker's hand.
struct HeldRecord: Sendable {
    /// What is known of a record.
    enum Fate: Sendable {
        /// Its bytes are in hand, or to be read.
        case sealed
        /// Its text stands where its ciphertext stood.
        case opened
        case failed(any Error)
    }

    let index: UInt64
    /// Where it stands in the container.
    let offset: UInt64
    /// Where it stands in what was read.
    let start: Int
    /// Where its text belongs in the stream of the records' texts, and so how much it holds.
    let text: Range<UInt64>
    var fate = Fate.sealed

    /// Where the record behind it begins in the container.
    var end: UInt64 { offset + UInt64(place.count) }
    var place: Range<Int> { start..<start + text.count + RecordHead.overhead }
    var textPlace: Range<Int> { start + RecordHead.count..<start + RecordHead.count + text.count }

    /// What befell it while its bytes were read, said of this record.
    func failure(_ error: VaultError) -> VaultError {
        error.at(offset, record: index)
    }
}

/// Where the data records of a container come from.
protocol RecordFeed: Sendable {
    /// The most bytes that `take` and `load` put into a worker's memory.
    var pieceCount: Int { get }
    /// Whether one worker can take them all at once.
    var isOnePiece: Bool { get }
    /// What they are read from, where that may make one wait.
    var input: PipelineInput? { get }
    /// Whether the next ones can be taken without waiting.
    var isReady: Bool { get }
    /// Takes the next records, in order: none at the end.
    func take(_ records: inout [HeldRecord], into bytes: inout [UInt8]) throws
    /// Reads what `take` has left to be read, at any time.
    func load(_ records: inout [HeldRecord], into bytes: inout [UInt8])
    /// Refuses what the caller's limits refuse, behind the checks of what holds it.
    func check(plaintextLength: UInt64) throws(VaultError)
}

extension RecordFeed {
    var isOnePiece: Bool { false }
    var input: PipelineInput? { nil }
    var isReady: Bool { true }
    func load(_ records: inout [HeldRecord], into bytes: inout [UInt8]) {}
    func check(plaintextLength: UInt64) {}
}

/// Records of a container that can be read anywhere: whoever takes some reads them himself.
final class PlacedRecords: RecordFeed {
    private let source: any ByteSource
    private let layout: ContainerLayout
    private let chunks: Int
    private let left: Mutex<Range<UInt64>>
    let isOnePiece: Bool

    /// - Parameter range: of the records' texts, what is wanted.
    init(_ source: any ByteSource, _ layout: ContainerLayout, covering range: Range<UInt64>) {
        self.source = source
        self.layout = layout
        let records = layout.records(covering: range)
        chunks = min(records.count, PieceSize.chunks(of: layout.chunkSize))
        isOnePiece = chunks == records.count
        left = Mutex(records)
    }

    var pieceCount: Int { chunks * layout.chunkSize.recordBytes }

    func take(_ records: inout [HeldRecord], into bytes: inout [UInt8]) {
        let taken = left.withLock { left in
            let end = min(left.lowerBound + UInt64(chunks), left.upperBound)
            defer { left = end..<left.upperBound }
            return left.lowerBound..<end
        }
        let first = layout.offset(ofRecord: taken.lowerBound)
        for index in taken {
            let offset = layout.offset(ofRecord: index)
            records.append(
                HeldRecord(
                    index: index, offset: offset, start: Int(offset - first), text: layout.streamRange(ofRecord: index))
            )
        }
    }

    func load(_ records: inout [HeldRecord], into bytes: inout [UInt8]) {
        guard let first = records.first, let last = records.last else { return }
        let count = last.place.upperBound
        if let filled = try? source.fill(&bytes, 0..<count, at: first.offset), filled == count { return }
        // What cannot be read takes nothing with it that can.
        for place in records.indices {
            let record = records[place]
            do {
                guard try source.fill(&bytes, record.place, at: record.offset) == record.place.count else {
                    throw VaultError(.truncated, "the file has become shorter")
                }
            } catch let error as VaultError {
                records[place].fate = .failed(record.failure(error))
            } catch {
                records[place].fate = .failed(error)
            }
        }
    }
}

/// Records as they come, with the streaming reader's own rules for what may stand there.
final class StreamedRecords: RecordFeed {
    private let stream: PipelineInput
    private let limits: OpenLimits
    private let state: Mutex<State>
    let chunkSize: ChunkSize
    let cipher: RecordCipher
    /// Where the records hold a packed stream.
    let packing: PackedStream?

    private struct State: ~Copyable {
        var reader: VaultReader
        /// What was read and is no whole data record.
        var rest: [UInt8] = []
        /// How the records ended, once those before the end are handed out.
        var end: Result<Void, any Error>?

        /// Reads the next data record; nil where there is none.
        mutating func next(
            _ input: PipelineInput, into bytes: inout [UInt8], at start: Int
        ) throws(VaultError) -> HeldRecord? {
            let text = start + RecordHead.count
            var end = start + (try input.fill(&bytes, start..<text))
            if end == text, let length = try reader.dataLength(bytes[start..<end]) {
                let all = text..<start + length + RecordHead.overhead
                end += try input.fill(&bytes, all)
                if end == all.upperBound {
                    let (index, offset, text) = reader.passOver(dataRecord: length)
                    return HeldRecord(index: index, offset: offset, start: start, text: text)
                }
            }
            rest = [UInt8](bytes[start..<end])
            return nil
        }
    }

    /// Reads on until the header is open.
    init(
        _ input: FileDescriptor, _ reader: consuming VaultReader, limits: OpenLimits,
        onBeginning: ([UInt8]) -> Void
    ) throws {
        let stream = PipelineInput(input)
        var reader = reader
        var isBeginning = true
        while reader.header == nil {
            var bytes = [UInt8](repeating: 0, count: reader.missingCount)
            let count = try stream.fill(&bytes, 0..<bytes.count)
            if isBeginning { onBeginning([UInt8](bytes.prefix(count))) }
            isBeginning = false
            try reader.push(bytes.span.extracting(0..<count)) { _ in }
            guard count == bytes.count else {
                _ = try reader.finish()
                preconditionFailure("a container ends behind its header")
            }
        }
        guard let (size, cipher, packing) = reader.records else { preconditionFailure("its header is open") }
        chunkSize = size
        self.cipher = cipher
        self.packing = packing
        self.stream = stream
        self.limits = limits
        state = Mutex(State(reader: reader))
    }

    var pieceCount: Int { PieceSize.chunks(of: chunkSize) * chunkSize.recordBytes }
    var input: PipelineInput? { stream }
    var isReady: Bool { stream.holds(chunkSize.recordBytes) }

    func take(_ records: inout [HeldRecord], into bytes: inout [UInt8]) throws {
        try state.withLock { state in
            do {
                while state.end == nil {
                    guard let record = try state.next(stream, into: &bytes, at: records.last?.place.upperBound ?? 0)
                    else {
                        state.end = .success(())
                        break
                    }
                    records.append(record)
                    // What has come goes on: it may be long until more comes.
                    guard records.count < PieceSize.chunks(of: chunkSize), stream.holds(chunkSize.recordBytes) else {
                        return
                    }
                }
            } catch {
                state.end = .failure(error)
            }
            if records.isEmpty { try state.end?.get() }
        }
    }

    func check(plaintextLength: UInt64) throws(VaultError) {
        try limits.check(plaintextLength: plaintextLength)
    }

    /// Reads what stands behind the data records, in order.
    ///
    /// - Parameters:
    ///   - digest: the SHA-256 of the plaintext.
    ///   - unpacked: what a packed stream came to.
    func finish(digest: consuming SHA256?, unpacked: UnpackedStream? = nil) throws -> OpenedContainer {
        let digest = Mutex(digest)
        return try state.withLock { state in
            state.reader.take(digest: digest.withLock { $0.take() }, unpacked)
            let rest = state.rest
            try state.reader.push(rest.span) { _ in }
            var bytes = [UInt8](repeating: 0, count: 1 << 16)
            while case let count = try stream.fill(&bytes, 0..<bytes.count), count > 0 {
                try state.reader.push(bytes.span.extracting(0..<count)) { _ in }
            }
            return try exchange(&state.reader, with: VaultReader(keys: KeySet())).finish()
        }
    }
}
