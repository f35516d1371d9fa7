import SystemPackage
import VaultCrypto
public import VaultFormat
public import VaultStream

/// How a re-encryption is done. The defaults refuse whatever could take something from somebody.
public struct ReencryptionOptions: Sendable {
    /// Recipients that get a slot if they open the old container by a slot that is not meant to be lost, and else none:
    /// the keys at hand, of which some may fit.
    public var recipientsThatOpen: [Recipient] = []
    /// Slots that are meant to be lost (REENC-5).
    public var dropping = SlotSelection.none
    /// Whether to go on where other slots are lost as well.
    public var mayLoseSlots = false
    /// Whether to go on where the file has other names, which go on to mean the old one.
    public var mayBreakLinks = false
    /// What opening may cost.
    public var limits = OpenLimits.standard
    /// Called with the slots that would be lost and are not meant to be, before anything is written. What it throws
    /// ends the operation.
    public var onLoss: @Sendable ([SlotDescription]) throws -> Void = { _ in }
    /// Called now and then with the bytes of plaintext that have been re-encrypted.
    public var onProgress: @Sendable (UInt64) throws -> Void = { _ in }

    /// The defaults.
    public init() {}
}

/// What a re-encryption has done.
public struct Reencryption: Hashable, Sendable {
    /// The container as it was.
    public let old: OpenedContainer
    /// The slots of the old container for which the new one has none.
    public let lost: [SlotDescription]
    /// The header of the new container.
    public let header: HeaderSummary
}

extension Reencryption {
    /// Re-encrypts one container.
    static func run(
        at place: FilePlace, for recipients: [Recipient], keys: any KeyProvider, context: Context,
        options: ReencryptionOptions, jobs: Int, randomness: Randomness
    ) throws -> Reencryption {
        var trials = SlotTrials(
            keys: SecretsAtHand(
                keys, adding: recipients + options.recipientsThatOpen, removing: options.dropping),
            context: context, limits: options.limits)
        // As in a rotation: whoever has to be asked is asked before others have to wait.
        _ = try OpenedEnds(FileSource(at: place), trials: &trials, limits: options.limits)
        let file = try LockedFile(at: place)
        try file.synchronizeAll()
        let source = FileSource(file.descriptor, locking: .heldByCaller)
        let ends = try OpenedEnds(source, trials: &trials, limits: options.limits)
        let slots = trials.slots(of: [ends.opening.front, ends.opening.tail].compactMap { $0 })
        let recipients =
            try options.recipientsThatOpen.filter { recipient in
                try trials.opensAny(of: slots, by: recipient)
                    && !trials.opensAny(of: slots, by: recipient, among: options.dropping)
            } + recipients
        let lost = try slots.filter { try !trials.hasSuccessor($0, among: recipients) }
        let unmeant = try lost.filter { try !trials.selects($0, by: options.dropping, beside: recipients) }
        if !unmeant.isEmpty {
            try options.onLoss(unmeant.map { SlotDescription($0.slot) })
            guard options.mayLoseSlots else {
                throw VaultError(
                    .consentNeeded, "\(unmeant.count) of its slots would be lost, and were not named to be removed")
            }
        }
        // mutant: the new file is refused its place; this is before it is made
        try file.refuseLinks(unless: options.mayBreakLinks)

        let output = try OutputFile.replacing(file)
        let reader = SeekableVaultReader(source, ends)
        let length = try reader.reencrypt(
            to: PipelineOutput(new: output.descriptor), for: recipients, context: context, options: options, jobs: jobs,
            randomness: randomness)
        let header = try output.checkContainer(length: length)
        try output.take(placeOf: file, mayBreakLinks: options.mayBreakLinks)
        return Reencryption(old: reader.opened, lost: lost.map { SlotDescription($0.slot) }, header: header)
    }
}

extension SeekableVaultReader {
    /// Writes the new container, and checks all of the old one.
    ///
    /// Chunks keep their size, and so each record's text is sealed again where it was opened; what is compressed is
    /// inflated to be checked, and stays as it is.
    ///
    /// - Returns: the new container's length.
    fileprivate func reencrypt(
        to output: PipelineOutput, for recipients: [Recipient], context: Context, options: ReencryptionOptions,
        jobs: Int,
        randomness: Randomness
    ) throws -> UInt64 {
        var sealing = SealOptions()
        sealing.chunkSize = opened.header.chunkSize
        sealing.context = context
        sealing.compression = packing == nil ? .none : .deflate
        sealing.metadata = opened.manifest.metadata
        let new = try NewContainer(for: recipients, options: sealing, randomness: randomness)
        var container = try new.start(plaintextLength: length)
        try output.write(container.header.span, at: 0)
        var digest = opened.manifest.digest == nil ? nil : Optional(records.opener.newDigest())
        var unpacker = try packing.map { try StreamUnpacker($0.stream) }
        try PlacedRecords(records, covering: 0..<layout.streamLength).open(
            jobs: jobs,
            pass: { piece in
                try piece.forEachText(in: 0..<layout.streamLength) { text, _ in
                    if unpacker == nil {
                        digest?.update(text)
                    } else {
                        try unpacker?.take(text) { block, _ in digest?.update(block) }
                    }
                }
                piece.seal = try container.nextRecords(of: piece.textCount)
            },
            finishing: { piece in
                let (place, count) = piece.reseal()
                let bytes = piece.bytes
                try output.write(bytes.span.extracting(0..<count), at: place)
            }, onProgress: options.onProgress)
        try unpacker.take()?.finish().check(
            opened.manifest, streamLength: layout.streamLength, at: layout.manifestOffset)
        let sum = digest.take()?.finish()
        if let sum, let expected = opened.manifest.digest {
            try opened.manifest.check(digest: sum, is: expected, at: layout.manifestOffset)
        }
        let end = try container.finish(plaintextLength: length, packed: opened.manifest.packed, digest: sum)
        try output.write(end.bytes.span, at: end.offset)
        return end.offset + UInt64(end.bytes.count)
    }
}
