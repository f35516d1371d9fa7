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
    let state: Mutex<State>

    struct State: ~Copyable {
        var input: ChunkInput
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
        self.output = PipelineOutput(output, isPlaintext: false)
        self.options = options
        let plaintext = try ChunkInput(self.input, hasDigest: options.digest)
        chunks =
            plaintext.smallCount.map { ($0 + options.chunkSize.bytes - 1) / options.chunkSize.bytes }
            ?? PieceSize.chunks(of: options.chunkSize)
        let container = try sealer.start(isSmall: plaintext.isSmall)
        let header = container.header
        try self.output.write(header.span, at: 0)
        state = Mutex(State(input: plaintext, container: container))
    }

    /// Seals everything and writes what stands behind it.
    func run(jobs: Int, onProgress: (UInt64) throws -> Void) throws -> Manifest {
        let isSmall = state.withLock { $0.input.isSmall }
        let pipeline = Pipeline(jobs: isSmall ? 1 : jobs, input: input)
        var packed: Manifest.Packed?
        if options.compression == .deflate {
            packed = try pack(pipeline, onProgress: onProgress)
        } else {
            try pipeline.run({ Worker(self) }, pass: { try $0.write() }, onProgress: onProgress)
        }
        return try state.withLock { [packed] state in
            let place = try state.container?.end(streamLength: state.length) ?? 0
            let end = try state.container.take()?.finish(
                plaintextLength: state.input.length, packed: packed, digest: state.input.finishDigest())
            guard let end else { preconditionFailure("a container is finished once") }
            try output.write(end.bytes.span, at: place)
            try output.finish()
            return end.manifest
        }
    }

    private final class Worker: PipelineWorker {
        private let sealing: Sealing
        private var run: ChunkRun
        private var seal: RecordSeal?
        private var place: UInt64 = 0

        init(_ sealing: Sealing) {
            self.sealing = sealing
            run = ChunkRun(
                sealing.options.chunkSize, capacity: sealing.chunks, lead: RecordHead.count,
                trail: RecordHead.overhead - RecordHead.count)
        }

        var isOrdered: Bool { !sealing.output.hasPlaces }
        var progress: UInt64 { UInt64(run.length) }

        func take() throws -> Bool {
            try sealing.state.withLock { state in
                try state.input.take(&run)
                guard run.count > 0 else { return false }
                // Refused before a byte of it is out.
                try state.container?.check(streamLength: state.input.length)
                place = state.container?.offset(ofRecord: state.length / UInt64(run.chunkCount)) ?? 0
                state.length = state.input.length
                seal = state.container?.nextRecords(run.count)
                return true
            }
        }

        func work() throws {
            try sealing.input.load(&run)
            guard let seal = seal.take() else { preconditionFailure("what was taken can be sealed") }
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
            let bytes = run.bytes
            try sealing.output.write(bytes.span.extracting(0..<run.extent), at: place)
        }
    }
}
