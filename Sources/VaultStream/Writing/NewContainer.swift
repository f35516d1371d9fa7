import VaultCrypto
package import VaultFormat

/// A container before its header is fixed: its keys and its slots.
package struct NewContainer: ~Copyable {
    /// A header copy may be smaller than 4096 bytes if the plaintext is shorter than this (WRITE-7).
    package static let smallInput = 65_536
    /// From this length of the plaintext on, a header with a slot of X-Wing gets room for more of them (WRITE-7).
    private static let longInput: UInt64 = 1 << 20

    private let options: SealOptions
    private let schedule: KeySchedule
    package let preamble: Preamble
    private let slots: [Slot]
    /// The header file with the slots; nil if the container has them itself (DET-14).
    package let headerFile: HeaderFile?
    /// The process that draws the file key.
    private let owner = ProcessMark.current

    /// Draws a file key and a file ID, and wraps the key for each recipient.
    ///
    /// - Parameter isDetached: whether the slots go to a header file, which is stored before a byte of the container.
    /// - Throws: `lastSlot` for no recipients, `invalidArgument`, `doesNotFit`, `memoryUnavailable`, and what a private
    ///   slot's `wrap` throws.
    package init(
        for recipients: [Recipient], options: SealOptions, isDetached: Bool = false, randomness: Randomness
    ) throws {
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
        // Checked before any passphrase is stretched, and before a program gets the file key.
        let outlines = recipients.map { $0.maker.outline(under: preamble) }
        try SlotKinds.check(adding: outlines, to: outlines, mayMix: options.mayMixRecipients)
        _ = try HeaderCopy.capacity(for: outlines, withSpare: false)
        let slots = try recipients.map {
            try $0.maker.make(for: fileKey, preamble: preamble, randomness: randomness).slot
        }
        if isDetached {
            let needed = try HeaderCopy.capacity(for: slots, withSpare: options.headerCapacity == nil)
            let capacity = try Self.capacity(options.headerCapacity ?? needed, holding: needed)
            let body = HeaderCopy.body(preamble: preamble, capacity: capacity, generation: 1, slots: slots)
            headerFile = try HeaderFile(schedule.seal(headerBody: body))
            self.slots = [.mark]
        } else {
            headerFile = nil
            self.slots = slots
        }
        self.options = options
        self.schedule = schedule
        self.preamble = preamble
    }

    /// Fixes the header.
    ///
    /// - Parameter plaintextLength: the length of the plaintext; nil if it is not known yet. It is known if it is less
    ///   than `smallInput`.
    /// - Throws: `doesNotFit` if the slots do not fit the given capacity; `invalidArgument` if the capacity
    ///   is too small for the input.
    package consuming func start(plaintextLength: UInt64?) throws(VaultError) -> ContainerSealer {
        let isSmall = plaintextLength.map { $0 < UInt64(Self.smallInput) } ?? false
        // The room for slots that the caller wants is in the header file, if there is one.
        let given = headerFile == nil ? options.headerCapacity : nil
        let needed = try HeaderCopy.capacity(for: slots, withSpare: given == nil)
        // A fourth slot of X-Wing would not fit 4096 bytes, and to grow later means to copy the whole container.
        let isRoomy = slots.contains { $0.kind == .xWing } && (plaintextLength.map { $0 >= Self.longInput } ?? true)
        let usual = isSmall ? needed : max(needed, isRoomy ? .roomy : .separate)
        let capacity = try Self.capacity(given ?? usual, holding: needed)
        guard isSmall || capacity >= .separate else {
            throw VaultError(
                .invalidArgument, "a header of less than 4096 bytes is allowed only for less than 64 KiB of input")
        }
        let body = HeaderCopy.body(preamble: preamble, capacity: capacity, generation: 1, slots: slots)
        let cipher = try RecordCipher(schedule, preamble: preamble, capacity: capacity)
        return ContainerSealer(
            try ContainerAssembly(
                header: schedule.seal(headerBody: body), capacity: capacity, chunkSize: preamble.chunkSize),
            preamble: preamble, metadata: options.metadata, cipher: cipher, owner: owner)
    }

    private static func capacity(
        _ capacity: HeaderCapacity, holding needed: HeaderCapacity
    ) throws(VaultError) -> HeaderCapacity {
        guard capacity >= needed else {
            throw VaultError(
                .doesNotFit, "the slots need a header of \(needed.bytes) bytes, more than \(capacity.bytes)")
        }
        return capacity
    }
}
