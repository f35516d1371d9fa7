import Synchronization
import SystemPackage
import VaultCrypto
import VaultFormat
import VaultStream

/// The encryption of all that an input gives: read in order, sealed at once, written to its places or in order.
final class Sealing: Sendable {
    let input: PipelineInput
    let output: PipelineOutput
    let options: SealOptions
    /// How many chunks one worker has in hand at most.
    let chunks: Int
    let state: Mutex<State>

    struct State: ~Copyable {
        var container: StartedContainer?
        /// What was read before it was known whether the input is small.
        var early: ArraySlice<UInt8>
        var plaintextLength: UInt64 = 0
        /// Of the stream that the records hold.
        var length: UInt64 = 0
        var digest: SHA256?
        var isAtEnd: Bool

        /// Reads as much as there is into a part of `bytes`.
        mutating func read(
            _ input: PipelineInput, into bytes: inout [UInt8], _ range: Range<Int>
        ) throws(VaultError) -> Int {
            let held = early.prefix(range.count)
            bytes.replaceSubrange(range.lowerBound..<range.lowerBound + held.count, with: held)
            early = early.dropFirst(held.count)
            guard held.count < range.count, !isAtEnd else { return held.count }
            let more = try input.fill(&bytes, range.dropFirst(held.count))
            isAtEnd = held.count + more < range.count
            return held.count + more
        }
    }

    /// Reads the beginning and writes the header.
    init(
        from input: FileDescriptor, to output: FileDescriptor, for recipients: [Recipient], options: SealOptions,
        randomness: Randomness
    ) throws {
        let sealer = try ContainerSealer(for: recipients, options: options, randomness: randomness)
        self.input = PipelineInput(input)
        self.output = PipelineOutput(output, isPlaintext: false)
        self.options = options
        var early = [UInt8](repeating: 0, count: ContainerSealer.smallInput)
        let count = try self.input.fill(&early, 0..<early.count)
        let isSmall = count < early.count
        chunks =
            isSmall
            ? (count + options.chunkSize.bytes - 1) / options.chunkSize.bytes : PieceSize.chunks(of: options.chunkSize)
        let container = try sealer.start(isSmall: isSmall)
        let header = container.header
        try self.output.write(header.span, at: 0)
        state = Mutex(
            State(
                container: container, early: early.prefix(count), digest: options.digest ? SHA256() : nil,
                isAtEnd: isSmall))
    }

    /// Seals everything and writes what stands behind it.
    func run(jobs: Int, onProgress: (UInt64) throws -> Void) throws -> Manifest {
        let isSmall = state.withLock { $0.isAtEnd }
        let pipeline = Pipeline(jobs: isSmall ? 1 : jobs, input: input)
        var packed: Manifest.Packed?
        if options.compression == .deflate {
            packed = try pack(pipeline, onProgress: onProgress)
        } else {
            try pipeline.run({ Worker(self) }, pass: { try $0.write() }, onProgress: onProgress)
        }
        return try state.withLock { [packed] state in
            let place = try state.container?.end(streamLength: state.length) ?? 0
            let digest = state.digest.take()?.finish()
            let end = try state.container.take()?.finish(
                plaintextLength: state.plaintextLength, packed: packed, digest: digest)
            guard let end else { preconditionFailure("a container is finished once") }
            try output.write(end.bytes.span, at: place)
            try output.finish()
            return end.manifest
        }
    }

    private final class Worker: PipelineWorker {
        private let sealing: Sealing
        private let chunk: Int
        private var records: [UInt8]
        private var seal: RecordSeal?
        private var count = 0
        private var place: UInt64 = 0
        private(set) var progress: UInt64 = 0

        init(_ sealing: Sealing) {
            self.sealing = sealing
            chunk = sealing.options.chunkSize.bytes
            records = [UInt8](repeating: 0, count: sealing.chunks * (chunk + RecordHead.overhead))
        }

        var isOrdered: Bool { !sealing.output.hasPlaces }

        func take() throws -> Bool {
            try sealing.state.withLock { state in
                var taken = 0
                count = 0
                while taken < sealing.chunks {
                    // What has come through a pipe goes on: it may be long until more comes.
                    if taken > 0, !sealing.input.holds(chunk) { break }
                    let start = count + RecordHead.count
                    let filled = try state.read(sealing.input, into: &records, start..<start + chunk)
                    guard filled > 0 else { break }
                    state.digest?.update(records.span.extracting(start..<start + filled))
                    taken += 1
                    count += filled + RecordHead.overhead
                }
                guard taken > 0 else { return false }
                let text = UInt64(count - taken * RecordHead.overhead)
                // Refused before a byte of it is out.
                try state.container?.check(streamLength: state.length + text)
                place = state.container?.offset(ofRecord: state.length / UInt64(chunk)) ?? 0
                state.length += text
                state.plaintextLength += text
                progress = text
                seal = state.container?.nextRecords(taken)
                return true
            }
        }

        func work() throws {
            guard let seal = seal.take() else { preconditionFailure("what was taken can be sealed") }
            // Out of the object while it is changed.
            var bytes = exchange(&records, with: [])
            var span = bytes.mutableSpan
            seal.seal(&span, count: count)
            records = bytes
        }

        func finish() throws {
            if !isOrdered { try write() }
        }

        func write() throws {
            let bytes = records
            try sealing.output.write(bytes.span.extracting(0..<count), at: place)
        }
    }
}
