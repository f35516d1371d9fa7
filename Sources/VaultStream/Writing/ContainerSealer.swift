import VaultCrypto
package import VaultFormat

/// A container before its header is fixed: its keys and its slots.
package struct ContainerSealer: ~Copyable {
    /// Below this length of the plaintext a header copy may be smaller than 4096 bytes.
    package static let smallInput = 65_536

    private let options: SealOptions
    private let schedule: KeySchedule
    private let preamble: Preamble
    private let slots: [Slot]

    /// Draws a file key and a file ID, and wraps the key for every recipient.
    ///
    /// - Throws: `lastSlot` for no recipients, `invalidArgument`, `doesNotFit`, `memoryUnavailable`, and what a private
    ///   slot's `wrap` throws.
    package init(for recipients: [Recipient], options: SealOptions, randomness: Randomness) throws {
        try options.metadata.validate()
        guard !recipients.isEmpty else {
            throw VaultError(.lastSlot, "a container needs at least one key or passphrase")
        }
        for recipient in recipients { try recipient.maker.check() }
        let fileKey = try randomness.fileKey()
        let blank = Preamble(
            chunkSize: options.chunkSize, compression: options.compression, fileID: randomness.bytes(16),
            commitment: [UInt8](repeating: 0, count: 32))
        let schedule = try KeySchedule(fileKey: fileKey, parameters: blank.parameters, context: options.context)
        let preamble = Preamble(
            chunkSize: blank.chunkSize, compression: blank.compression, fileID: blank.fileID,
            commitment: schedule.commitment)
        let recipients = Recipient.distinct(recipients, under: preamble)
        // Before any passphrase is stretched, and before a program gets the file key.
        _ = try HeaderCopy.capacity(for: recipients.map { $0.maker.outline(under: preamble) }, withSpare: false)
        slots = try recipients.map {
            try $0.maker.slot(for: fileKey, preamble: preamble, randomness: randomness)
        }
        self.options = options
        self.schedule = schedule
        self.preamble = preamble
    }

    /// Fixes the header.
    ///
    /// - Parameter isSmall: whether the plaintext is known to be shorter than 64 KiB.
    /// - Throws: `doesNotFit` if the slots do not fit the capacity asked for; `invalidArgument` if it is too small for
    ///   the input.
    package consuming func start(isSmall: Bool) throws(VaultError) -> StartedContainer {
        let needed = try HeaderCopy.capacity(for: slots, withSpare: options.headerCapacity == nil)
        let capacity = options.headerCapacity ?? (isSmall ? needed : max(needed, .separate))
        guard capacity >= needed else {
            throw VaultError(
                .doesNotFit, "the slots need a header of \(needed.bytes) bytes, more than \(capacity.bytes)")
        }
        guard isSmall || capacity >= .separate else {
            throw VaultError(
                .invalidArgument, "a header of less than 4096 bytes is for less than 64 KiB of input only")
        }
        let body = HeaderCopy.body(preamble: preamble, capacity: capacity, generation: 1, slots: slots)
        return StartedContainer(
            header: schedule.seal(headerBody: body), capacity: capacity, preamble: preamble,
            metadata: options.metadata, cipher: try RecordCipher(schedule, preamble: preamble, capacity: capacity))
    }
}

/// A container whose header is fixed: it hands out its records, each once, and then what stands behind them.
///
/// It knows no input and no output, and not in which order the records are sealed or written.
package struct StartedContainer: ~Copyable {
    /// A header copy, which is the front and the tail.
    package let header: [UInt8]
    private let capacity: HeaderCapacity
    private let preamble: Preamble
    private let metadata: Metadata
    private let cipher: RecordCipher
    private var next: UInt64 = 0

    /// A SHA-256 for its plaintext.
    func newDigest() -> SHA256 { cipher.newDigest() }

    fileprivate init(
        header: [UInt8], capacity: HeaderCapacity, preamble: Preamble, metadata: Metadata, cipher: RecordCipher
    ) {
        self.header = header
        self.capacity = capacity
        self.preamble = preamble
        self.metadata = metadata
        self.cipher = cipher
    }

    /// The next data records, in the order of their indices.
    package mutating func nextRecords(_ count: Int = 1) -> RecordSeal {
        let indices = next..<next + UInt64(count)
        next = indices.upperBound
        return RecordSeal(cipher, kind: .data, indices: indices, chunkCount: preamble.chunkSize.bytes)
    }

    /// Where the data record with an index begins.
    package func offset(ofRecord index: UInt64) -> UInt64 {
        UInt64(capacity.bytes) + index * UInt64(preamble.chunkSize.recordBytes)
    }

    /// Where the manifest's record begins, behind a stream as long as `check` has let through.
    package func end(streamLength: UInt64) throws(VaultError) -> UInt64 {
        try layout(streamLength).manifestOffset
    }

    /// Whether so many bytes of the stream fit a container (WRITE-11).
    ///
    /// - Throws: `tooLarge`.
    package func check(streamLength: UInt64) throws(VaultError) {
        _ = try layout(streamLength)
    }

    private func layout(_ streamLength: UInt64) throws(VaultError) -> ContainerLayout {
        try ContainerLayout(capacity: capacity, chunkSize: preamble.chunkSize, streamLength: streamLength)
    }

    /// Everything behind the data records: manifest, zeros, tail and footer.
    ///
    /// - Parameter packed: what there is to say of the stream, where it is packed.
    /// - Throws: `tooLarge`.
    package consuming func finish(
        plaintextLength: UInt64, packed: Manifest.Packed?, digest: [UInt8]?
    ) throws(VaultError) -> (bytes: [UInt8], manifest: Manifest) {
        let manifest = Manifest(
            plaintextLength: plaintextLength, digest: digest, metadata: metadata, packed: packed)
        let layout = try layout(manifest.streamLength)
        precondition(next == layout.recordCount, "the records that were handed out are not those of the stream")
        let text = manifest.encoded(commitment: preamble.commitment)
        guard Manifest.isValidLength(text.count) else {
            throw VaultError(.tooLarge, "what describes the contents needs more than 2^20 bytes")
        }

        var bytes = [UInt8](repeating: 0, count: RecordHead.count)
        bytes += text
        bytes.pad(to: text.count + RecordHead.overhead)
        var record = bytes.mutableSpan
        let count = record.count
        RecordSeal(cipher, kind: .manifest, indices: next..<next + 1, chunkCount: text.count)
            .seal(&record, count: count)

        return (bytes + layout.end(header: header, manifestLength: text.count), manifest)
    }
}
