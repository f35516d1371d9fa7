import Synchronization
import SystemPackage
import VaultCrypto
import VaultFormat
import VaultStream

/// Encrypts an input to its end. Workers take chunks in order, seal them at the same time, and write them to their
/// places or in order.
final class Sealing: Sendable {
    let input: PipelineInput
    let output: PipelineOutput
    let options: SealOptions
    /// The most chunks that one worker holds.
    let chunks: Int
    /// It has its own lock: a worker that takes chunks may wait for a pipe, and must not stop the others.
    let plaintext: Mutex<ChunkInput>
    let isSmall: Bool
    private let container: Mutex<ContainerSealer?>

    /// Reads the first bytes and writes the header.
    ///
    /// - Parameter storeHeaderFile: stores the header file of a detached container, before a byte of the container is
    ///   written (DET-14); nil if the container has its own slots.
    init(
        from input: FileDescriptor, to output: FileDescriptor, for recipients: [Recipient], options: SealOptions,
        randomness: Randomness, storingHeaderFile storeHeaderFile: ((HeaderFile) throws -> Void)? = nil
    ) throws {
        let new = try NewContainer(
            for: recipients, options: options, isDetached: storeHeaderFile != nil, randomness: randomness)
        let headerFile = new.headerFile
        self.input = PipelineInput(input)
        self.output = try PipelineOutput(output, isPlaintext: false)
        self.options = options
        let plaintext = try ChunkInput(self.input, hasDigest: options.digest, hasIndex: options.tarIndex)
        chunks =
            plaintext.smallCount.map { ($0 + options.chunkSize.bytes - 1) / options.chunkSize.bytes }
            ?? PieceSize.chunks(of: options.chunkSize)
        isSmall = plaintext.isSmall
        let known = plaintext.smallCount.map { UInt64($0) }
        self.plaintext = Mutex(plaintext)
        let container = try new.start(plaintextLength: known)
        let header = container.header
        if let headerFile { try storeHeaderFile?(headerFile) }
        try self.output.write(header.span, at: 0)
        self.container = Mutex(container)
    }

    /// Seals everything, then writes the manifest and the end of the container.
    ///
    /// - Parameter checkEnd: called when the input has ended, before that.
    func run(
        jobs: ThreadCount, onProgress: (UInt64) throws -> Void, onEnd checkEnd: () throws -> Void = {}
    ) throws -> Manifest {
        // mutant: more threads make the same bytes
        let pipeline = Pipeline(jobs: isSmall ? .one : jobs, input: input)
        var packed: Manifest.Packed?
        if options.compression == .deflate {
            packed = try pack(pipeline, onProgress: onProgress)
        } else {
            try pipeline.run({ try Worker(self) }, pass: { try $0.write() }, onProgress: onProgress)
        }
        try checkEnd()
        let (length, findings) = plaintext.withLock { ($0.length, $0.findings()) }
        return try container.withLock { [packed] container in
            guard let end = try container.take()?.finish(plaintextLength: length, packed: packed, findings: findings)
            else { preconditionFailure("a container is finished once") }
            try output.write(end.bytes.span, at: end.offset)
            try output.finish()
            return end.manifest
        }
    }

    /// The records for the next part of the stream: all are full, except perhaps the last of the container.
    ///
    /// - Parameter count: the length of the part.
    /// - Throws: `tooLarge`.
    func nextRecords(of count: Int) throws(VaultError) -> RecordSeal {
        try container.withLock { container throws(VaultError) in
            guard let seal = try container?.nextRecords(of: count) else {
                preconditionFailure("there are no records after the end")
            }
            return seal
        }
    }

    private final class Worker: PipelineWorker {
        private let sealing: Sealing
        private var run: ChunkRun
        private var seal: RecordSeal?
        /// The place of the records in the container.
        private var place: UInt64 = 0

        init(_ sealing: Sealing) throws(VaultError) {
            self.sealing = sealing
            run = try ChunkRun(
                sealing.options.chunkSize, capacity: sealing.chunks, lead: RecordHead.count,
                trail: RecordHead.overhead - RecordHead.count)
        }

        // mutant: in order, at places, the bytes are the same
        var isOrdered: Bool { !sealing.output.hasPlaces }
        var progress: UInt64 { UInt64(run.length) }

        func take() throws -> Bool {
            try sealing.plaintext.withLock { try $0.take(&run) }
            guard run.count > 0 else { return false }
            let seal = try sealing.nextRecords(of: run.length)
            place = seal.offset
            self.seal = consume seal
            return true
        }

        func work() throws {
            try sealing.input.load(&run)
            run.bytes.withMutableSpan(of: 0..<run.extent) { records in
                guard let seal = seal.take() else { preconditionFailure("what was taken can be sealed") }
                let count = records.count
                seal.seal(&records, count: count)
            }
        }

        func finish() throws {
            if !isOrdered { try write() }
        }

        func write() throws {
            try run.bytes.withSpan(of: 0..<run.extent) { try sealing.output.write($0, at: place) }
        }
    }
}
