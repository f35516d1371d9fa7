import Synchronization
import SystemPackage
import VaultCrypto
import VaultFormat
import VaultStream

/// The encryption of all that an input gives: taken in order, sealed at once, written to its places or in order.
final class Sealing: Sendable {
    let input: PipelineInput
    let output: PipelineOutput
    let options: SealOptions
    /// How many chunks one worker has in hand at most.
    let chunks: Int
    /// With a lock of its own: to take some may last as long as a pipe's other end likes, and what is in hand goes on.
    let plaintext: Mutex<ChunkInput>
    let isSmall: Bool
    let state: Mutex<State>

    struct State: ~Copyable {
        var container: StartedContainer?
        /// Of the stream that the records hold.
        var length: UInt64 = 0
    }

    /// Reads the beginning and writes the header.
    init(
        from input: FileDescriptor, to output: FileDescriptor, for recipients: [Recipient], options: SealOptions,
        randomness: Randomness
    ) throws {
        let sealer = try ContainerSealer(for: recipients, options: options, randomness: randomness)
        self.input = PipelineInput(input)
        self.output = try PipelineOutput(output, isPlaintext: false)
        self.options = options
        let plaintext = try ChunkInput(self.input, hasDigest: options.digest)
        chunks =
            plaintext.smallCount.map { ($0 + options.chunkSize.bytes - 1) / options.chunkSize.bytes }
            ?? PieceSize.chunks(of: options.chunkSize)
        isSmall = plaintext.isSmall
        self.plaintext = Mutex(plaintext)
        let container = try sealer.start(isSmall: isSmall)
        let header = container.header
        try self.output.write(header.span, at: 0)
        state = Mutex(State(container: container))
    }

    /// Seals everything and writes what stands behind it.
    func run(jobs: Int, onProgress: (UInt64) throws -> Void) throws -> Manifest {
        let pipeline = Pipeline(jobs: isSmall ? 1 : jobs, input: input)
        var packed: Manifest.Packed?
        if options.compression == .deflate {
            packed = try pack(pipeline, onProgress: onProgress)
        } else {
            try pipeline.run({ Worker(self) }, pass: { try $0.write() }, onProgress: onProgress)
        }
        let (length, digest) = plaintext.withLock { ($0.length, $0.finishDigest()) }
        return try state.withLock { [packed] state in
            guard let container = state.container.take() else { preconditionFailure("a container is finished once") }
            let place = try container.end(streamLength: state.length)
            let end = try container.finish(plaintextLength: length, packed: packed, digest: digest)
            try output.write(end.bytes.span, at: place)
            try output.finish()
            return end.manifest
        }
    }

    struct NextRecords: ~Copyable {
        /// Where the first belongs.
        let place: UInt64
        var seal: RecordSeal?
    }

    /// Sets the next records aside for a part of the stream: full ones, but perhaps for the last of all.
    ///
    /// - Parameter count: how long the part is.
    func nextRecords(of count: Int) throws(VaultError) -> NextRecords {
        let chunk = options.chunkSize.bytes
        return try state.withLock { state throws(VaultError) in
            // Refused before a byte of it is out.
            try state.container?.check(streamLength: state.length + UInt64(count))
            let place = state.container?.offset(ofRecord: state.length / UInt64(chunk))
            guard let place, let seal = state.container?.nextRecords((count + chunk - 1) / chunk) else {
                preconditionFailure("there are no records behind the end")
            }
            state.length += UInt64(count)
            return NextRecords(place: place, seal: seal)
        }
    }

    private final class Worker: PipelineWorker {
        private let sealing: Sealing
        private var run: ChunkRun
        private var next: NextRecords?

        init(_ sealing: Sealing) {
            self.sealing = sealing
            run = ChunkRun(
                sealing.options.chunkSize, capacity: sealing.chunks, lead: RecordHead.count,
                trail: RecordHead.overhead - RecordHead.count)
        }

        var isOrdered: Bool { !sealing.output.hasPlaces }
        var progress: UInt64 { UInt64(run.length) }

        func take() throws -> Bool {
            try sealing.plaintext.withLock { try $0.take(&run) }
            guard run.count > 0 else { return false }
            next = try sealing.nextRecords(of: run.length)
            return true
        }

        func work() throws {
            try sealing.input.load(&run)
            guard let seal = next?.seal.take() else { preconditionFailure("what was taken can be sealed") }
            // Out of the object while it is changed.
            var bytes = exchange(&run.bytes, with: [])
            var span = bytes.mutableSpan
            seal.seal(&span, count: run.extent)
            run.bytes = bytes
        }

        func finish() throws {
            if !isOrdered { try write() }
        }

        func write() throws {
            guard let place = next?.place else { preconditionFailure("what was taken has its place") }
            let bytes = run.bytes
            try sealing.output.write(bytes.span.extracting(0..<run.extent), at: place)
        }
    }
}
