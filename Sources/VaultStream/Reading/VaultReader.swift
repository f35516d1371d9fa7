import VaultCrypto
public import VaultFormat

/// Reads a container whose bytes come in order, from a file, a pipe or memory (Spec 8). It holds one record.
///
/// Plaintext is lent to `sink` once it is authenticated. Only the end shows that a container is complete: trust the
/// plaintext as a whole only after `finish` has returned.
///
///     var reader = VaultReader(with: .key(key))
///     try reader.push(container.span) { piece in plaintext += piece.indices.map { piece[$0] } }
///     let opened = try reader.finish()
///
/// Prefer a `SeekableVaultReader` for a file: it opens a container even if either header copy is damaged, and reads the
/// header again if another program may be rotating it.
public struct VaultReader: ~Copyable, Sendable {
    private var opening: StreamOpening
    private let limits: OpenLimits
    private var failure: (any Error)?
    /// The bytes of the expected structure so far, unless it is a data record.
    private var buffer: [UInt8] = []
    /// The bytes of the data record that have come.
    private var record = ByteBuffer()
    /// Nil unless the stream is packed.
    private var unpacker: StreamUnpacker?
    /// The SHA-256 of the plaintext; nil until the header is open.
    private var digest: SHA256?

    /// A reader that has read nothing yet.
    ///
    /// - Parameter credentials: the keys, and limits on the cost of opening. The reader keeps the keys only until the
    ///   header is open.
    public init(with credentials: Credentials) {
        opening = StreamOpening(trials: SlotTrials(credentials))
        limits = credentials.limits
    }

    /// The header, once a key has opened it.
    public var header: HeaderSummary? { opening.header.map { HeaderSummary($0.copy) } }

    /// Takes the next bytes of the container, any number, and lends `sink` the plaintext that they complete.
    ///
    /// - Throws: `VaultError` with the check that failed; what the key provider or `sink` throws. After an error,
    ///   each call throws the same error again.
    public mutating func push(_ container: Span<UInt8>, to sink: (Span<UInt8>) throws -> Void) throws {
        if let failure { throw failure }
        do {
            var taken = 0
            while taken < container.count {
                let held = buffer.count + record.count
                let count = min(opening.count - held, container.count - taken)
                let part = container.extracting(taken..<taken + count)
                if opening.expected == .dataRecord {
                    try record.append(part)
                } else {
                    if buffer.capacity < opening.count {
                        try ByteBuffer.check(count: opening.count)
                        buffer.reserveCapacity(opening.count)
                    }
                    buffer.append(part)
                }
                taken += count
                if held + count == opening.count { try take(to: sink) }
            }
        } catch {
            failure = error
            throw error
        }
    }

    /// Tells the reader that the container ends here.
    ///
    /// - Returns: the opened container. Only now the plaintext is known to be complete.
    /// - Throws: `VaultError` with `truncated` or `notVaultfile`, or the error that `push` threw.
    public consuming func finish() throws -> OpenedContainer {
        if let failure { throw failure }
        return try opening.finish(held: buffer, more: record.count)
    }

    /// Takes the structure that is complete.
    private mutating func take(to sink: (Span<UInt8>) throws -> Void) throws {
        let start = opening.offset
        switch opening.expected {
        case .header:
            try opening.take(buffer)
            let header = try opening.opened()
            try limits.check(chunkSize: header.chunkSize)
            digest = header.opener.newDigest()
            unpacker = try header.packing.map { packing throws(VaultError) in try StreamUnpacker(packing) }
        case .dataRecord:
            try takeDataRecord(to: sink)
        case .manifestRecord:
            try opening.takeManifest(
                &buffer, unpacked: unpacker.take()?.finish(), digest: digest.take()?.finish())
        case .prefix, .recordHead, .zeros, .tail, .footer, .end:
            try opening.take(buffer)
        }
        // The prefix is part of the header too, and the head part of its record.
        if opening.offset > start {
            buffer.removeAll(keepingCapacity: true)
        } else if opening.expected == .dataRecord {
            let (head, whole) = (buffer, opening.count)
            try record.reserve(count: whole)
            try record.append(head.span)
            buffer.removeAll(keepingCapacity: true)
        }
    }

    private mutating func takeDataRecord(to sink: (Span<UInt8>) throws -> Void) throws {
        let opener = try opening.opened().opener
        let place = opening.takeDataRecord()
        // Taken out of the reader while it is lent, and put back to be filled again.
        var record = exchange(&record, with: ByteBuffer())
        try record.withMutableSpan(of: 0..<place.count) { record throws(VaultError) in
            try opener.open(&record, at: place)
        }
        try record.withSpan(of: RecordHead.count..<RecordHead.count + place.text.count) {
            try release(stream: $0, end: place.text.upperBound, to: sink)
        }
        record.removeAll()
        self.record = consume record
    }

    /// Lends what the next bytes of the stream complete: the blocks that they unpack to, or the bytes themselves.
    private mutating func release(
        stream: Span<UInt8>, end: UInt64, to sink: (Span<UInt8>) throws -> Void
    ) throws {
        // Taken out of the reader while it is used.
        guard var unpacker = unpacker.take() else { return try release(stream, end: end, to: sink) }
        try unpacker.take(stream) { try release($0, end: $1, to: sink) }
        self.unpacker = consume unpacker
    }

    private mutating func release(
        _ plaintext: Span<UInt8>, end: UInt64, to sink: (Span<UInt8>) throws -> Void
    ) throws {
        try limits.check(plaintextLength: end)
        digest?.update(plaintext)
        try sink(plaintext)
    }
}
