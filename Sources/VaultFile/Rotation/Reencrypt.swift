import Synchronization
public import SystemPackage
import VaultCrypto
public import VaultFormat
public import VaultStream

/// Options of a re-encryption. The defaults refuse every loss of a slot that the caller does not name.
public struct ReencryptionOptions: Sendable {
    /// Recipients that get a slot only if they open the old container, and `dropping` names none of the slots that they
    /// open. For example, all keys of a keyring, if only some of them open the container.
    public var recipientsThatOpen: [Recipient] = []
    /// Called for each slot that a secret of the credentials opens and `dropping` does not name: whether that secret
    /// gets a slot of the same cost. By default none does.
    public var keepsSlot: @Sendable (SlotDescription) -> Bool = { _ in false }
    /// Called once, with all valid header copies of the old container: the recipients that get a slot as if they were
    /// named. For example, those of a keyring whose slots the copies have (REENC-7). By default there are none.
    public var recipientsOf: @Sendable ([HeaderSummary]) throws -> [Recipient] = { _ in [] }
    /// The slots whose loss the caller accepts by naming them (REENC-6). A recipient who is named for the new container
    /// gets a slot there even if their old slot is named here. `others` means the slots that open for none of these
    /// recipients.
    public var dropping = SlotSelection.none
    /// Whether to go on if other slots are lost too.
    public var mayLoseSlots = false
    /// Whether new contents may cost the container its signatures (SIG-9). If not, they are the error `consentNeeded`.
    public var mayLoseSignatures = false
    /// Whether to go on if the file has several names (hard links). The other names keep the old file.
    public var mayBreakLinks = false
    /// Whether the new header may have slots of post-quantum and of classical public keys. If not, they are the error
    /// `mixedRecipients` (MIX-2).
    public var mayMixRecipients = false
    /// The header that the container must have; nil for any. If it was changed since, the error is `inUse`.
    public var requiring: HeaderPin?
    /// The header file of a detached container. The new container gets one of its own in the same folder, whose name is
    /// that of the container with a part of the commitment, and this one is removed in the end (DET-13).
    public var headerFile: FilePlace?
    /// Whether to make all checks that come before the first byte is written, and to lock and write nothing.
    public var isDryRun = false
    /// The time that the metadata of new contents get; nil for the present time.
    public var modified: Timestamp?
    /// Called before anything is written, with the slots that would be lost and that `dropping` does not name. If it
    /// throws, the operation ends.
    public var onLoss: @Sendable ([SlotDescription]) throws -> Void = { _ in }
    /// Called before anything is written if none of the secrets at hand would open the new container. If it throws, the
    /// operation ends.
    public var onAccessLoss: @Sendable () throws -> Void = {}
    /// Called now and then with the count of re-encrypted bytes of plaintext.
    public var onProgress: @Sendable (UInt64) throws -> Void = { _ in }
    /// Called before the operation waits for a lock that another program holds, as in `RotationOptions`.
    public var onWaiting: @Sendable () -> Void = {}

    /// The defaults.
    public init() {}
}

/// The result of a re-encryption; after a dry run, what it would be.
public struct Reencryption: Hashable, Sendable {
    /// The container as it was before.
    public let old: OpenedContainer
    /// The slots of the old container that have no successor in the new one.
    public let lost: [SlotDescription]
    /// The header of the new container; after a dry run, that of the old one.
    public let header: HeaderSummary
    /// The header file of the new container; nil if it has its own slots, and after a dry run.
    public let headerFile: HeaderSummary?
    /// The path of this header file; its name, if the options named the old one in an open folder. Nil if there is none.
    public let headerFilePath: FilePath?
}

extension Reencryption {
    /// Re-encrypts one container.
    ///
    /// - Parameter contents: what the new container holds; nil for what the old one holds.
    static func run(
        at place: FilePlace, from contents: FileDescriptor? = nil, for recipients: [Recipient],
        with credentials: Credentials, options: ReencryptionOptions, jobs: ThreadCount, randomness: Randomness
    ) throws -> Reencryption {
        guard credentials.headerFile == nil else {
            throw VaultError(.invalidArgument, "the options of a re-encryption name the header file")
        }
        var trials = SlotTrials(
            credentials.with(recipients + options.recipientsThatOpen, removing: options.dropping))
        // The container is opened once without the lock: a person may be asked for a passphrase, and other programs
        // must not wait for that.
        trials.headerFile = options.headerFile.map { .file(at: $0) }
        let unlocked = try FileSource(at: place, onWaiting: options.onWaiting)
        let found = try SeekableOpening(unlocked, trials: &trials, limits: credentials.limits)
        try options.checkHeaderFile(of: found.opening)
        if options.isDryRun {
            let slots = try Slots(of: found.opening, for: recipients, options, &trials)
            if let count = try? FileSource(at: place).linkCount() {
                try LockedFile.refuseLinks(count, unless: options.mayBreakLinks)
            }
            guard !slots.recipients.isEmpty else { throw VaultError(.lastSlot, "nothing would open the container") }
            try Recipient.check(
                slots.recipients, under: found.opening.current.preamble, mayMix: options.mayMixRecipients)
            let header = HeaderSummary(found.opening.current)
            return Reencryption(
                old: OpenedContainer(
                    health: found.opening.health, manifest: found.manifest, header: header,
                    headerFile: found.opening.headerFile?.summary),
                lost: slots.lost, header: header, headerFile: nil, headerFilePath: nil)
        }
        // The locks are taken in one order everywhere, so that no two programs wait for each other (DET-8).
        let oldHeader = try LockedHeaderFile(at: options.headerFile, onWaiting: options.onWaiting)
        trials.headerFile = try oldHeader.bytes().map { .bytes($0) }
        let file = try LockedFile(at: place, onWaiting: options.onWaiting)
        // mutant: a new file takes the place, so what the disk has of the old one does not matter
        file.removeLeftover()
        // mutant: the same; ROT-2 asks for it
        try file.synchronizeAll()
        let source = FileSource(file.descriptor, locking: .heldByCaller)
        let ends = try SeekableOpening(source, trials: &trials, limits: credentials.limits)
        try options.checkHeaderFile(of: ends.opening)
        // Otherwise the change of another program would be lost.
        if let required = options.requiring, HeaderSummary(ends.opening.current).pin != required {
            throw VaultError(.inUse, "another program has changed it meanwhile")
        }
        let slots = try Slots(of: ends.opening, for: recipients, options, &trials)
        guard contents == nil || options.mayLoseSignatures || !ends.manifest.metadata.hasSignatures else {
            throw VaultError(.consentNeeded, "its signatures would be lost, because they are not of the new contents")
        }
        // mutant: the new file checks this too, when it takes the place; this check comes before it is made
        try file.refuseLinks(unless: options.mayBreakLinks)

        let output = try OutputFile.replacing(file)
        let reader = SeekableVaultReader(source, ends)
        let isDetached = ends.opening.current.isDetached
        let new: (length: UInt64, headerFile: HeaderFile?)
        if let contents {
            new = try reader.seal(
                contents, to: output.descriptor, for: slots.recipients, isDetached: isDetached,
                context: credentials.context, options: options, jobs: jobs, randomness: randomness)
        } else {
            new = try reader.reencrypt(
                to: PipelineOutput(new: output.descriptor), for: slots.recipients, isDetached: isDetached,
                context: credentials.context, options: options, jobs: jobs, randomness: randomness)
        }
        let header = try output.checkContainer(length: new.length)
        var newName: FilePath?
        if let headerFile = new.headerFile {
            // Durable before the body has its name: otherwise a crash could leave a body that nothing opens.
            guard let newHeader = try oldHeader.makeNext(headerFile, forBody: file.name) else {
                // mutant: this was checked before
                throw VaultError(.headerDetached, "the options name no header file")
            }
            newName = newHeader.name
            do {
                try output.take(placeOf: file, mayBreakLinks: options.mayBreakLinks)
            } catch {
                newHeader.remove(unlessReplaced: file)
                throw error
            }
        } else {
            try output.take(placeOf: file, mayBreakLinks: options.mayBreakLinks)
        }
        // It would open nothing any more.
        try oldHeader.remove()
        return Reencryption(
            old: reader.opened, lost: slots.lost, header: header, headerFile: new.headerFile?.summary,
            headerFilePath: newName.flatMap { options.headerFile?.besideIt($0) })
    }

    /// Who gets a slot, and which slots of the old container have no successor.
    private struct Slots {
        let recipients: [Recipient]
        let lost: [SlotDescription]

        /// - Throws: `consentNeeded` for slots that would be lost, and what `onLoss` throws.
        init(
            of opening: ContainerOpening, for named: [Recipient], _ options: ReencryptionOptions,
            _ trials: inout SlotTrials
        ) throws {
            // The header file counts as a valid copy, and the mark is no slot (DET-13).
            let headerFile = opening.headerFile?.copy
            let own = [opening.front, opening.tail].compactMap { $0 }.filter { !$0.isDetached }
            let copies = [headerFile].compactMap { $0 } + own
            let current = opening.current.isDetached ? headerFile ?? opening.current : opening.current
            let slots = trials.slots(of: copies)
            let named = try named + options.recipientsOf(copies.map { HeaderSummary($0) })
            var recipients =
                try options.recipientsThatOpen.filter { recipient in
                    try trials.opensAny(of: slots, by: recipient)
                        && !trials.opensAny(of: slots, by: recipient, among: options.dropping)
                } + named
            var dropping = options.dropping
            dropping.others = false
            // An older copy may have slots that were removed since.
            for slot in trials.slots(of: current) where options.keepsSlot(SlotDescription(slot.slot)) {
                guard try !trials.selects(slot, by: dropping, beside: []),
                    let recipient = try trials.recipient(of: slot)
                else { continue }
                recipients.append(recipient)
            }
            let lost = try slots.filter { [recipients] in try !trials.hasSuccessor($0, among: recipients) }
            // It is an error if the limits forbid the try that tells whether a slot is named, as in a rotation.
            let unmeant = try lost.filter { [recipients] in
                try !trials.selects($0, by: options.dropping, beside: recipients)
            }
            if !unmeant.isEmpty {
                try options.onLoss(unmeant.map { SlotDescription($0.slot) })
                guard options.mayLoseSlots else {
                    throw VaultError(
                        .consentNeeded, "\(unmeant.count) of its slots would be lost, and were not named for removal")
                }
            }
            if try !trials.keepAccess(to: slots, among: recipients, under: opening.current.preamble),
                !recipients.isEmpty
            {
                try options.onAccessLoss()
            }
            self.recipients = recipients
            self.lost = lost.map { SlotDescription($0.slot) }
        }
    }
}

extension ReencryptionOptions {
    /// Checks that they name the header file if the new container gets one. After a detach that was interrupted, an older
    /// copy may have opened the container by its own slots. Checked before the contents are read: those that come from a
    /// pipe are there only once.
    fileprivate func checkHeaderFile(of opening: ContainerOpening) throws(VaultError) {
        guard opening.current.isDetached, headerFile == nil else { return }
        throw VaultError(.headerDetached, "its keys are in a header file, which is not given")
    }
}

extension SeekableVaultReader {
    /// Writes a new container for other contents, with the chunk size, the compression and the metadata of this one.
    ///
    /// - Returns: the new container's length in bytes, and its header file if it is detached.
    fileprivate func seal(
        _ contents: FileDescriptor, to output: FileDescriptor, for recipients: [Recipient], isDetached: Bool,
        context: Context, options: ReencryptionOptions, jobs: ThreadCount, randomness: Randomness
    ) throws -> (length: UInt64, headerFile: HeaderFile?) {
        var sealing = sealOptions(context, options)
        sealing.metadata.modified = options.modified ?? .now
        // They are signatures over the old contents.
        sealing.metadata.removeSignatures()
        sealing.digest = opened.manifest.digest != nil
        // The index of the old contents leads nowhere in the new ones.
        sealing.tarIndex = opened.manifest.metadata.tarIndexValue != nil
        let promised = try PipelineInput(contents).places()?.count ?? 0
        var headerFile: HeaderFile?
        let whole = try Sealing(
            from: contents, to: output, for: recipients, options: sealing, randomness: randomness,
            storingHeaderFile: isDetached ? { headerFile = $0 } : nil)
        _ = try whole.run(jobs: jobs, onProgress: options.onProgress)
        // The old contents are about to be replaced, so an end that comes too early is not believed.
        guard whole.plaintext.withLock({ $0.length }) >= UInt64(promised) else { throw PipelineInput.becameShorter }
        do {
            return (try output.status().size, headerFile)
        } catch {
            throw VaultError(.outputFailed, "its status cannot be read: \(error)", systemError: error)
        }
    }

    /// The properties that a new container takes over.
    private func sealOptions(_ context: Context, _ options: ReencryptionOptions) -> SealOptions {
        var sealing = SealOptions()
        sealing.mayMixRecipients = options.mayMixRecipients
        sealing.chunkSize = opened.header.chunkSize
        sealing.context = context
        sealing.compression = packing == nil ? .none : .deflate
        sealing.metadata = opened.manifest.metadata
        return sealing
    }

    /// Writes the new container, and checks all of the old one.
    ///
    /// Chunks keep their size, so each record's text is sealed again in place. A compressed stream is inflated to be
    /// checked, and is written as it is.
    ///
    /// - Returns: the new container's length in bytes, and its header file if it is detached.
    fileprivate func reencrypt(
        to output: PipelineOutput, for recipients: [Recipient], isDetached: Bool, context: Context,
        options: ReencryptionOptions, jobs: ThreadCount, randomness: Randomness
    ) throws -> (length: UInt64, headerFile: HeaderFile?) {
        let new = try NewContainer(
            for: recipients, options: sealOptions(context, options), isDetached: isDetached, randomness: randomness)
        let headerFile = new.headerFile
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
            finishing: { try $0.reseal(to: output) }, onProgress: options.onProgress)
        try unpacker.take()?.finish().check(
            opened.manifest, streamLength: layout.streamLength, at: layout.manifestOffset)
        let sum = digest.take()?.finish()
        if let sum, let expected = opened.manifest.digest {
            try opened.manifest.check(digest: sum, is: expected, at: layout.manifestOffset)
        }
        let end = try container.finish(
            plaintextLength: length, packed: opened.manifest.packed, findings: .init(digest: sum, index: nil))
        try output.write(end.bytes.span, at: end.offset)
        return (end.offset + UInt64(end.bytes.count), headerFile)
    }
}
