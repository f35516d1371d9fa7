import Synchronization
import VaultCrypto
import VaultFormat
import VaultStream

/// The records of a container that is read as a stream. It is the second shell over `StreamOpening`. The threads that
/// take records open them.
final class StreamedRecords: RecordFeed {
    private let stream: PipelineInput
    private let limits: OpenLimits
    private let state: Mutex<State>
    let header: OpenedHeader

    private struct State: ~Copyable {
        var opening: StreamOpening
        /// The bytes of the expected structure that were read, unless it is a data record.
        var held: [UInt8] = []
        /// The count of bytes after `held`, of a data record that the end of the input cuts off.
        var cutCount = 0
        /// The end of the data records, after all records before it were taken.
        var end: Result<Void, any Error>?

        /// Reads the next data record; nil if there is none.
        mutating func next(
            _ input: PipelineInput, into bytes: inout ByteBuffer, at start: Int
        ) throws -> HeldRecord? {
            let text = start + RecordHead.count
            var end = start + (try input.fill(&bytes, start..<text))
            if end == text {
                try opening.take(bytes.copy(of: start..<end))
                if opening.expected == .dataRecord {
                    let whole = start + opening.count
                    end += try input.fill(&bytes, text..<whole)
                    if end == whole {
                        return HeldRecord(place: opening.takeDataRecord(), start: start)
                    }
                }
            }
            // The input ends within a record, or a structure begins that is none.
            held = bytes.copy(of: start..<min(end, text))
            cutCount = end - start - held.count
            return nil
        }

        /// Reads the rest of the expected structure.
        ///
        /// - Returns: whether all of it came.
        mutating func fill(_ input: PipelineInput) throws(VaultError) -> Bool {
            let (start, count) = (held.count, opening.count)
            try ByteBuffer.check(count: count)
            held += [UInt8](repeating: 0, count: count - start)
            let filled = try input.fill(&held, start..<count)
            held.removeLast(count - start - filled)
            return held.count == count
        }

        /// Takes a structure that is complete.
        mutating func take(_ body: (inout StreamOpening, inout [UInt8]) throws -> Void) throws {
            let start = opening.offset
            try body(&opening, &held)
            // The prefix is also a part of the header, and the head a part of its record.
            if opening.offset > start { held.removeAll() }
        }
    }

    /// Reads until the header is open.
    ///
    /// - Parameter onBeginning: called with the first bytes, before they are checked.
    init(
        _ input: PipelineInput, _ opening: consuming StreamOpening, limits: OpenLimits,
        onBeginning: ([UInt8]) -> Void = { _ in }
    ) throws {
        var state = State(opening: opening)
        var isBeginning = true
        var header: OpenedHeader?
        while header == nil {
            let isComplete = try state.fill(input)
            if isBeginning { onBeginning(state.held) }
            isBeginning = false
            guard isComplete else {
                _ = try state.opening.finish(held: state.held)
                preconditionFailure("a container ends after its header")
            }
            try state.take { opening, held in try opening.take(held) }
            header = state.opening.header
        }
        guard let header else { preconditionFailure("its header is open") }
        try limits.check(chunkSize: header.chunkSize)
        self.header = header
        stream = input
        self.limits = limits
        self.state = Mutex(state)
    }

    var opener: RecordOpener { header.opener }
    var pieceCount: Int { PieceSize.chunks(of: header.chunkSize) * header.chunkSize.recordBytes }
    var input: PipelineInput? { stream }
    var isReady: Bool { stream.holds(header.chunkSize.recordBytes) }

    func take(_ records: inout [HeldRecord], into bytes: inout ByteBuffer) throws {
        try state.withLock { state in
            do {
                while state.end == nil {
                    guard let record = try state.next(stream, into: &bytes, at: records.last?.part.upperBound ?? 0)
                    else {
                        state.end = .success(())
                        break
                    }
                    records.append(record)
                    // The worker starts with the bytes that were read: the next bytes may come much later.
                    guard records.count < PieceSize.chunks(of: header.chunkSize), isReady else { return }
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

    /// Decrypts all data records, and compares what they hold with the manifest.
    ///
    /// - Returns: the layout and the manifest's length; nil if the container ends before its manifest.
    func decryptAll(
        to output: PipelineOutput, jobs: ThreadCount, onProgress: (UInt64) throws -> Void
    ) throws -> (layout: ContainerLayout, manifestLength: Int)? {
        var stream: UnpackedStream?
        var digest: [UInt8]?
        if let packing = header.packing {
            let unpacked = try unpack(
                packing, to: output, hashes: true, jobs: jobs, onProgress: onProgress)
            stream = unpacked.stream
            digest = unpacked.digest?.finish()
        } else {
            digest = try decrypt(
                0..<(1 << 63), to: output, hashes: true, jobs: jobs, onProgress: onProgress
            )?.finish()
        }
        return try state.withLock { state in
            guard state.opening.expected == .manifestRecord, try state.fill(self.stream) else { return nil }
            try state.take { opening, held in try opening.takeManifest(&held, unpacked: stream, digest: digest) }
            return state.opening.geometry
        }
    }

    /// Reads what follows the manifest.
    func finish() throws -> OpenedContainer {
        try state.withLock { state in
            while ![.manifestRecord, .dataRecord].contains(state.opening.expected), try state.fill(stream) {
                try state.take { opening, held in try opening.take(held) }
            }
            return try state.opening.finish(held: state.held, more: state.cutCount)
        }
    }
}
