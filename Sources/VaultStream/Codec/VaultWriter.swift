import VaultCrypto
public import VaultFormat

/// Makes a container out of bytes as they come: plaintext is pushed in, the container's bytes come out in order, to a
/// file, a pipe, memory or wherever `sink` takes them. Holds one chunk, at most 64 KiB before the first.
///
/// A writer is finished by consuming it. One that is dropped before has written no manifest, no tail and no footer:
/// what came out of it opens nowhere as complete. It cannot be copied, because a copy would encrypt other bytes under
/// the nonces of the first.
///
///     var writer = try VaultWriter(for: [.key(key)])
///     try writer.write(bytes.span) { container.append($0) }
///     try writer.finish { container.append($0) }
public struct VaultWriter: ~Copyable {
    private let sealer: ContainerSealer
    private let chunkCount: Int
    private let most: UInt64 = 1 << 63
    private var started: ContainerSealer.Started?
    /// What has come before it is known whether the input is small.
    private var early: [UInt8] = []
    /// The record that is being filled: head, text, tag.
    private var record: [UInt8] = []
    private var filled = 0
    private var index: UInt64 = 0
    private var length: UInt64 = 0
    private var digest: SHA256?
    private var hasFailed = false

    /// A writer for a new container, with a file key of its own, that every one of the recipients can open.
    ///
    /// - Throws: `VaultError` with `lastSlot` for no recipients, `invalidArgument` for options that the format cannot hold,
    ///   `doesNotFit` for slots that no header holds, `memoryUnavailable`; and what a private slot's `wrap` throws.
    public init(for recipients: [Recipient], options: SealOptions = SealOptions()) throws {
        try self.init(for: recipients, options: options, randomness: .system)
    }

    package init(for recipients: [Recipient], options: SealOptions, randomness: Randomness) throws {
        sealer = try ContainerSealer(for: recipients, options: options, randomness: randomness)
        chunkCount = options.chunkSize.bytes
        digest = options.digest ? SHA256() : nil
    }

    /// Encrypts `plaintext`, any number of bytes, and lends `sink` what is complete.
    ///
    /// - Throws: `VaultError` with `tooLarge`, `invalidArgument` for a header that is too small for the input, and what
    ///   `sink` throws. After an error the writer is dead.
    public mutating func write(_ plaintext: Span<UInt8>, to sink: (Span<UInt8>) throws -> Void) throws {
        try begin()
        digest?.update(plaintext)
        var rest = 0
        if started == nil {
            // Whether the input is small decides on the header, which comes out first.
            rest = min(ContainerSealer.smallInput - early.count, plaintext.count)
            early.append(plaintext.extracting(0..<rest))
            if early.count == ContainerSealer.smallInput { try start(isSmall: false, to: sink) }
        }
        if started != nil { try seal(plaintext.extracting(rest..<plaintext.count), to: sink) }
        hasFailed = false
    }

    /// Completes the container and lends `sink` what is left of it.
    ///
    /// - Returns: the manifest, as every reader will see it.
    /// - Throws: what `write` throws.
    @discardableResult
    public consuming func finish(to sink: (Span<UInt8>) throws -> Void) throws -> Manifest {
        try begin()
        if started == nil { try start(isSmall: true, to: sink) }
        if filled > 0 { try sealRecord(to: sink) }
        guard let started else { preconditionFailure("a writer that did not fail has started") }
        let sum = digest.take()?.finish()
        let end = try sealer.finish(started, plaintextLength: length, digest: sum)
        try sink(end.bytes.span)
        return end.manifest
    }

    private mutating func start(isSmall: Bool, to sink: (Span<UInt8>) throws -> Void) throws {
        let started = try sealer.start(isSmall: isSmall)
        self.started = started
        record = [UInt8](repeating: 0, count: chunkCount + RecordHead.overhead)
        try sink(started.header.span)
        let held = early
        early = []
        try seal(held.span, to: sink)
    }

    private mutating func seal(_ plaintext: Span<UInt8>, to sink: (Span<UInt8>) throws -> Void) throws {
        var taken = 0
        while taken < plaintext.count {
            let count = min(chunkCount - filled, plaintext.count - taken)
            record.replace(at: RecordHead.count + filled, with: plaintext.extracting(taken..<taken + count))
            taken += count
            filled += count
            if filled == chunkCount { try sealRecord(to: sink) }
        }
    }

    private mutating func sealRecord(to sink: (Span<UInt8>) throws -> Void) throws {
        guard let started else { preconditionFailure("a record is sealed behind the header") }
        let count = filled + RecordHead.overhead
        length += UInt64(filled)
        // Refused before a byte of it is out: |Z| + 20·n stays below 2⁶³.
        guard length < most, length + UInt64(RecordHead.overhead) * (index + 1) < most else {
            throw VaultError(.tooLarge, "the records reach 2^63 bytes")
        }
        record.withMutableSpan(of: 0..<count) { started.cipher.seal(&$0, kind: .data, index: index) }
        index += 1
        filled = 0
        try sink(record.span.extracting(0..<count))
    }

    /// A step that fails has lost bytes; going on would leave a hole, or use an index twice. So every step counts as
    /// failed until it is through.
    private mutating func begin() throws(VaultError) {
        guard !hasFailed else {
            throw VaultError(.invalidArgument, "this writer has failed before and cannot go on")
        }
        hasFailed = true
    }
}
