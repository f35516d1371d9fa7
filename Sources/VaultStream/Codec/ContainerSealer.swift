import VaultCrypto
public import VaultFormat

/// How a container is made. The defaults are right for almost everybody.
public struct SealOptions: Sendable {
    /// What a full record holds: larger chunks cost less per byte and more per seek.
    public var chunkSize = ChunkSize.standard
    /// The size of a header copy. Nil takes the larger of 4096 and what the slots need with one more of the largest,
    /// and for less than 64 KiB of plaintext what they need alone. Less than 4096 is for less than 64 KiB only.
    public var headerCapacity: HeaderCapacity?
    /// What the container is bound to.
    public var context = Context.none
    /// Whether the manifest holds the SHA-256 of the plaintext.
    public var digest = false
    /// What the manifest says of the file.
    public var metadata = Metadata()

    /// The defaults.
    public init() {}
}

/// Everything of a container but its data records: keys and slots at the start, then manifest, zeros, tail and footer.
///
/// It knows no input and no output, and no order of the records between `start` and `finish`; the writer that pushes
/// bytes through is one caller of it.
package struct ContainerSealer: ~Copyable {
    /// Below this length of the plaintext a header copy may be smaller than 4096 bytes.
    package static let smallInput = 65_536

    private let options: SealOptions
    private let schedule: KeySchedule
    private let preamble: Preamble
    private let slots: [Slot]

    /// Draws a file key and a file ID, and wraps the key for every recipient.
    ///
    /// - Throws: `lastSlot` for no recipients, `invalidArgument`, `doesNotFit`, `memoryUnavailable`, and what a private slot's `wrap` throws.
    package init(for recipients: [Recipient], options: SealOptions, randomness: Randomness) throws {
        try options.metadata.validate()
        guard !recipients.isEmpty else {
            throw VaultError(.lastSlot, "a container needs at least one key or passphrase")
        }
        let fileKey = try randomness.fileKey()
        let blank = Preamble(
            chunkSize: options.chunkSize, compression: .none, fileID: randomness.bytes(16),
            commitment: [UInt8](repeating: 0, count: 32))
        let schedule = try KeySchedule(fileKey: fileKey, parameters: blank.parameters, context: options.context)
        let preamble = Preamble(
            chunkSize: blank.chunkSize, compression: blank.compression, fileID: blank.fileID,
            commitment: schedule.commitment)

        var slots: [Slot] = []
        var seen: Set<KeyID> = []
        for recipient in recipients {
            // A key that is named twice needs one slot; two would be refused by every reader.
            if case .key(let key) = recipient, !seen.insert(key.id).inserted { continue }
            slots.append(
                try SlotWrap.slot(for: recipient, fileKey: fileKey, preamble: preamble, randomness: randomness))
        }
        _ = try HeaderCopy.capacity(for: slots, withSpare: false)
        self.options = options
        self.schedule = schedule
        self.preamble = preamble
        self.slots = slots
    }

    /// A container whose length decides how large its header is.
    package struct Started: Sendable {
        package let header: [UInt8]
        package let capacity: HeaderCapacity
        package let cipher: RecordCipher
    }

    /// Fixes the header.
    ///
    /// - Parameter isSmall: whether the plaintext is known to be shorter than 64 KiB.
    /// - Throws: `doesNotFit` if the slots do not fit the capacity asked for; `invalidArgument` if it is too small for
    ///   the input.
    package func start(isSmall: Bool) throws(VaultError) -> Started {
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
        return Started(
            header: schedule.seal(headerBody: body), capacity: capacity,
            cipher: RecordCipher(schedule, preamble: preamble))
    }

    /// Everything behind the data records.
    ///
    /// - Throws: `tooLarge`.
    package consuming func finish(
        _ started: Started, plaintextLength: UInt64, digest: [UInt8]?
    ) throws(VaultError) -> (bytes: [UInt8], manifest: Manifest) {
        let manifest = Manifest(plaintextLength: plaintextLength, digest: digest, metadata: options.metadata)
        let layout = try ContainerLayout(
            capacity: started.capacity, chunkSize: preamble.chunkSize, streamLength: manifest.streamLength)
        let text = manifest.encoded(commitment: preamble.commitment)

        var bytes = [UInt8](repeating: 0, count: RecordHead.count)
        bytes += text
        bytes.pad(to: text.count + RecordHead.overhead)
        var record = bytes.mutableSpan
        started.cipher.seal(&record, kind: .manifest, index: layout.recordCount)

        let padding = layout.tailOffset(manifestLength: text.count) - layout.manifestEnd(manifestLength: text.count)
        bytes.pad(to: bytes.count + Int(padding))
        bytes += started.header
        bytes += layout.footer(manifestLength: text.count).bytes
        return (bytes, manifest)
    }
}
