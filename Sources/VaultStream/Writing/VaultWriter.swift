import VaultCrypto
public import VaultFormat

/// Makes a container from plaintext that is pushed in. The container's bytes come out in order: `sink` takes them to a
/// file, a pipe or memory. The writer holds one chunk, and at most 64 KiB before the first.
///
/// `finish` consumes the writer. A writer that is dropped before has written no manifest, no tail and no footer, and no
/// reader accepts its output as complete. A writer cannot be copied: the copy would encrypt other bytes under the same
/// nonces.
///
/// A writer belongs to the process that made it. After `fork` the child has a copy of it, whose next call that encrypts
/// throws `forked`; the parent goes on. A copy of a whole machine cannot be noticed: two runs that resume from one
/// snapshot, taken while a writer was in use, encrypt under the same nonces. Make new containers after such a resume.
///
///     var writer = try VaultWriter(for: [.key(key)])
///     try writer.write(bytes.span) { piece in container += piece.indices.map { piece[$0] } }
///     try writer.finish { piece in container += piece.indices.map { piece[$0] } }
public struct VaultWriter: ~Copyable, Sendable {
    private let chunkCount: Int
    /// The container's preamble, from the beginning.
    package let preamble: Preamble
    /// The header file with the slots of a detached container. Nil for any other container.
    public let headerFile: HeaderFile?
    /// Until it is known whether the input is small.
    private var new: NewContainer?
    /// From the header on.
    private var sealer: ContainerSealer?
    /// The plaintext that came before it was known whether the input is small.
    private var early: [UInt8] = []
    /// The record that is being filled: head, text, tag.
    private var record = ByteBuffer()
    private var filled = 0
    private var plaintextLength: UInt64 = 0
    /// Nil unless the stream is packed.
    private var packer: StreamPacker?
    private let hasDigest: Bool
    private let hasIndex: Bool
    /// Nil until the header is written.
    private var passing: PassingPlaintext?
    private var failure: (any Error)?

    /// A writer for a new container with a new file key. Each of the recipients can open it.
    ///
    /// - Throws: `VaultError` with `lastSlot` for no recipients, `invalidArgument` for options that the format cannot
    ///   hold, `doesNotFit` for slots that no header holds, `memoryUnavailable`; and what a private slot's `wrap`
    ///   throws.
    public init(for recipients: [Recipient], options: SealOptions = SealOptions()) throws {
        try self.init(for: recipients, options: options, randomness: .system)
    }

    /// A writer for a new container whose slots are in a header file (Spec, chapter 23). Store ``headerFile`` durably
    /// before the first byte of the container goes anywhere: without it, nobody opens the container. If the container
    /// then fails, remove it.
    ///
    /// - Throws: as for another container.
    public init(detachedFor recipients: [Recipient], options: SealOptions = SealOptions()) throws {
        try self.init(for: recipients, options: options, isDetached: true, randomness: .system)
    }

    package init(
        for recipients: [Recipient], options: SealOptions, isDetached: Bool = false, randomness: Randomness
    ) throws {
        let new = try NewContainer(
            for: recipients, options: options, isDetached: isDetached, randomness: randomness)
        let packer = options.compression == .deflate ? try StreamPacker(options.chunkSize) : nil
        headerFile = new.headerFile
        preamble = new.preamble
        self.new = consume new
        self.packer = consume packer
        chunkCount = options.chunkSize.bytes
        hasDigest = options.digest
        hasIndex = options.tarIndex
    }

    /// Encrypts `plaintext`, any number of bytes, and lends `sink` what is complete.
    ///
    /// - Throws: `VaultError` with `tooLarge`, `invalidArgument` for a header that is too small for the input, `forked`
    ///   in a child of the process that made the writer; and what `sink` throws. After an error the writer cannot go
    ///   on: bytes are lost, and it throws the same error again.
    public mutating func write(_ plaintext: Span<UInt8>, to sink: (Span<UInt8>) throws -> Void) throws {
        if let failure { throw failure }
        do {
            plaintextLength = try Self.sum(plaintextLength, plaintext.count)
            var taken = 0
            if sealer == nil {
                // The header comes out first, and its size depends on whether the input is small.
                taken = min(NewContainer.smallInput - early.count, plaintext.count)
                early.append(plaintext.extracting(0..<taken))
                guard early.count == NewContainer.smallInput else { return }
                try start(plaintextLength: nil, to: sink)
            }
            try take(plaintext.extracting(taken..<plaintext.count), to: sink)
        } catch {
            failure = error
            throw error
        }
    }

    /// Completes the container and lends `sink` the rest of it.
    ///
    /// - Returns: the manifest of the container.
    /// - Throws: what `write` throws.
    @discardableResult
    public consuming func finish(to sink: (Span<UInt8>) throws -> Void) throws -> Manifest {
        if let failure { throw failure }
        if sealer == nil { try start(plaintextLength: plaintextLength, to: sink) }
        var packed: Manifest.Packed?
        if var packer = packer.take() { packed = try packer.finish { try seal($0, to: sink) } }
        if filled > 0 { try sealRecord(to: sink) }
        let findings = passing.take()?.finish() ?? .none
        guard
            let end = try sealer.take()?.finish(plaintextLength: plaintextLength, packed: packed, findings: findings)
        else {
            preconditionFailure("a writer that did not fail has started")
        }
        try sink(end.bytes.span)
        return end.manifest
    }

    private mutating func start(plaintextLength: UInt64?, to sink: (Span<UInt8>) throws -> Void) throws {
        guard let sealer = try new.take()?.start(plaintextLength: plaintextLength) else {
            preconditionFailure("a writer starts once")
        }
        // Both processes have one file with one offset: a header that the child writes would stay in the parent's container.
        try sealer.checkOwner()
        let header = sealer.header
        passing = PassingPlaintext(digest: hasDigest ? sealer.newDigest() : nil, hasIndex: hasIndex)
        self.sealer = consume sealer
        record = try ByteBuffer(count: chunkCount + RecordHead.overhead)
        try sink(header.span)
        let held = exchange(&early, with: [])
        try take(held.span, to: sink)
    }

    /// A length that stays below 2⁶³ (WRITE-11).
    private static func sum(_ length: UInt64, _ count: Int) throws(VaultError) -> UInt64 {
        let sum = length + UInt64(count)
        // mutant: no test can write so much
        guard sum < 1 << 63 else { throw VaultError(.tooLarge, "the plaintext reaches 2^63 bytes") }
        return sum
    }

    private mutating func take(_ plaintext: Span<UInt8>, to sink: (Span<UInt8>) throws -> Void) throws {
        passing?.update(plaintext)
        // Taken out of the writer while it is used.
        guard var packer = packer.take() else { return try seal(plaintext, to: sink) }
        try packer.take(plaintext) { try seal($0, to: sink) }
        self.packer = consume packer
    }

    private mutating func seal(_ stream: Span<UInt8>, to sink: (Span<UInt8>) throws -> Void) throws {
        var taken = 0
        while taken < stream.count {
            let count = min(chunkCount - filled, stream.count - taken)
            record.replace(at: RecordHead.count + filled, with: stream.extracting(taken..<taken + count))
            taken += count
            filled += count
            if filled == chunkCount { try sealRecord(to: sink) }
        }
    }

    private mutating func sealRecord(to sink: (Span<UInt8>) throws -> Void) throws {
        let count = filled + RecordHead.overhead
        guard let seal = try sealer?.nextRecords(of: filled) else {
            preconditionFailure("a record is sealed after the header")
        }
        var own: RecordSeal? = consume seal
        record.withMutableSpan(of: 0..<count) { own.take()?.seal(&$0, count: count) }
        filled = 0
        try record.withSpan(of: 0..<count, sink)
    }
}
