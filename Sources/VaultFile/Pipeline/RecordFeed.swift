import Synchronization
import SystemPackage
import VaultCrypto
import VaultFormat
import VaultStream

/// One data record in a worker's hand.
struct HeldRecord: Sendable {
    let index: UInt64
    /// Where it stands in the container.
    let offset: UInt64
    /// Where it stands in what was read.
    let start: Int
    /// How many bytes of plaintext it holds, and where they belong.
    let text: Range<UInt64>

    var place: Range<Int> { start..<start + text.count + RecordHead.overhead }
}

/// Where the data records of a container come from.
protocol RecordFeed: Sendable {
    /// The most bytes that `take` and `load` put into a worker's memory.
    var pieceCount: Int { get }
    /// Takes the next records, in order.
    ///
    /// - Returns: none at the end.
    func take(into bytes: inout [UInt8]) throws -> [HeldRecord]
    /// Reads what `take` has left to be read, at any time.
    ///
    /// - Returns: how many bytes of what was to be read there are.
    func load(_ records: [HeldRecord], into bytes: inout [UInt8]) throws -> Int
    /// Refuses what the caller's limits refuse, behind the record's own checks.
    func check(_ record: HeldRecord) throws
}

/// Records of a container that can be read anywhere: whoever takes some reads them himself.
final class PlacedRecords: RecordFeed {
    private let source: any ByteSource
    private let layout: ContainerLayout
    private let left: Mutex<Range<UInt64>>

    init(_ reader: SeekableVaultReader, covering range: Range<UInt64>) {
        source = reader.source
        layout = reader.layout
        left = Mutex(reader.layout.records(covering: range))
    }

    var pieceCount: Int {
        let chunks = min(PieceSize.chunks(of: layout.chunkSize), Int(clamping: layout.recordCount))
        return chunks * (layout.chunkSize.bytes + RecordHead.overhead)
    }

    func take(into bytes: inout [UInt8]) -> [HeldRecord] {
        let taken = left.withLock { left in
            let end = min(left.lowerBound + UInt64(PieceSize.chunks(of: layout.chunkSize)), left.upperBound)
            defer { left = end..<left.upperBound }
            return left.lowerBound..<end
        }
        let first = layout.offset(ofRecord: taken.lowerBound)
        return taken.map { index in
            let offset = layout.offset(ofRecord: index)
            return HeldRecord(
                index: index, offset: offset, start: Int(offset - first), text: layout.streamRange(ofRecord: index))
        }
    }

    func load(_ records: [HeldRecord], into bytes: inout [UInt8]) throws -> Int {
        guard let first = records.first, let last = records.last else { return 0 }
        return try source.fill(&bytes, count: last.place.upperBound, at: first.offset)
    }

    func check(_ record: HeldRecord) {}
}

/// Records as they come, with the streaming reader's own rules for what may stand there.
final class StreamedRecords: RecordFeed {
    private let input: FileDescriptor
    private let limits: OpenLimits
    private let state: Mutex<State>
    let chunkSize: ChunkSize
    let cipher: RecordCipher

    private struct State: ~Copyable {
        var reader: VaultReader
        /// What was read and is no whole data record.
        var rest: [UInt8] = []
    }

    /// Reads on until the header is open.
    init(
        _ input: FileDescriptor, _ reader: consuming VaultReader, limits: OpenLimits,
        onBeginning: ([UInt8]) -> Void
    ) throws {
        var reader = reader
        var isBeginning = true
        while reader.header == nil {
            var bytes = [UInt8](repeating: 0, count: reader.missingCount)
            let count = try input.fill(&bytes, 0..<bytes.count)
            if isBeginning { onBeginning([UInt8](bytes.prefix(count))) }
            isBeginning = false
            try reader.push(bytes.span.extracting(0..<count)) { _ in }
            guard count == bytes.count else {
                _ = try reader.finish()
                preconditionFailure("a container ends behind its header")
            }
        }
        guard let (size, cipher) = reader.records else { preconditionFailure("its header is open") }
        chunkSize = size
        self.cipher = cipher
        self.input = input
        self.limits = limits
        state = Mutex(State(reader: reader))
    }

    var pieceCount: Int { chunkSize.bytes + RecordHead.overhead }

    func take(into bytes: inout [UInt8]) throws -> [HeldRecord] {
        try state.withLock { state in
            var count = try input.fill(&bytes, 0..<RecordHead.count)
            if count == RecordHead.count, let length = try state.reader.dataLength(bytes.prefix(count)) {
                let all = length + RecordHead.overhead
                count += try input.fill(&bytes, count..<all)
                if count == all {
                    let (index, offset, text) = state.reader.passOver(dataRecord: length)
                    return [HeldRecord(index: index, offset: offset, start: 0, text: text)]
                }
            }
            state.rest = [UInt8](bytes.prefix(count))
            return []
        }
    }

    func load(_ records: [HeldRecord], into bytes: inout [UInt8]) -> Int { records.last?.place.upperBound ?? 0 }

    func check(_ record: HeldRecord) throws {
        try limits.check(plaintextLength: record.text.upperBound)
    }

    /// Reads what stands behind the data records, in order.
    ///
    /// - Parameter digest: the SHA-256 of what the records held.
    func finish(digest: consuming SHA256?) throws -> OpenedContainer {
        let digest = Mutex(digest)
        return try state.withLock { state in
            state.reader.take(digest: digest.withLock { $0.take() })
            let rest = state.rest
            try state.reader.push(rest.span) { _ in }
            var bytes = [UInt8](repeating: 0, count: 1 << 16)
            while case let count = try input.fill(&bytes, 0..<bytes.count), count > 0 {
                try state.reader.push(bytes.span.extracting(0..<count)) { _ in }
            }
            return try exchange(&state.reader, with: VaultReader(keys: KeySet())).finish()
        }
    }
}
