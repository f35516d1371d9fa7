public import VaultFormat

/// The header file of a detached container: one header copy, which has the slots that its body does not have (Spec,
/// chapter 23).
///
/// It is a value of a few KiB. A change of its slots needs no file and no body: it takes bytes and gives bytes, which
/// then replace the old ones as a whole, by a rename or by a conditional write to an object store (DET-10).
public struct HeaderFile: Hashable, Sendable {
    /// The greatest length of a header file in bytes.
    public static let maximumLength = 1 << 20

    package let copy: HeaderCopy

    /// Its bytes, as a file or an object holds them.
    public var bytes: [UInt8] { copy.bytes }

    /// What it shows to everybody. Only that of an opened container is authenticated.
    public var summary: HeaderSummary { HeaderSummary(copy) }

    /// Checks everything that needs no key (DET-2).
    ///
    /// - Parameter bytes: all bytes of the header file.
    /// - Throws: `VaultError` with `notVaultfile`, `truncated`, `trailingData` if more follows, `headerDamaged`,
    ///   `headerMalformed`, and the codes for what this version does not support.
    public init(_ bytes: [UInt8]) throws(VaultError) {
        do throws(VaultError) {
            copy = try Self.parse(bytes)
        } catch {
            throw error.ofHeaderFile
        }
    }

    package init(_ copy: HeaderCopy) {
        self.copy = copy
    }

    private static func parse(_ bytes: [UInt8]) throws(VaultError) -> HeaderCopy {
        guard Preamble.magic.starts(with: bytes.prefix(Preamble.magic.count)) else {
            throw VaultError(.notVaultfile, "it does not begin like a vaultfile", offset: 0)
        }
        guard bytes.count >= HeaderCopy.prefixCount else {
            throw VaultError(.truncated, "it has \(bytes.count) bytes, fewer than any header", offset: 0)
        }
        guard let capacity = HeaderCopy.claimedCapacity(bytes[...]) else {
            throw VaultError(.headerDamaged, "its capacity is not a power of two from 2^9 to 2^20", offset: 0)
        }
        guard bytes.count >= capacity.bytes else {
            throw VaultError(.truncated, "it has fewer than its \(capacity.bytes) bytes", offset: 0)
        }
        // A container begins with a header copy too, and is longer than that.
        guard bytes.count == capacity.bytes else {
            throw VaultError(
                .trailingData, "something follows its \(capacity.bytes) bytes", offset: UInt64(capacity.bytes))
        }
        guard KeySchedule.isIntact(bytes) else { throw VaultError(.headerDamaged, "it is damaged", offset: 0) }
        return try HeaderCopy(parsing: bytes)
    }

    /// Checks a body's intact copies, before a slot is tried (DET-3, steps 3 and 4).
    ///
    /// - Throws: `copiesDisagree`, `notDetached`.
    func check(belongsTo copies: [HeaderCopy]) throws(VaultError) {
        // Without this, an attacker could give the body of one container to the header file of another one, and a slot
        // would open whose file key is not the body's.
        guard copies.allSatisfy({ $0.preamble == copy.preamble }) else {
            throw VaultError(.copiesDisagree, "the header file is that of another container")
        }
        guard copies.contains(where: \.isDetached) else {
            throw VaultError(.notDetached, "the container has its own slots, and a header file was given")
        }
    }

    /// Whether this is a body's header file: its preamble is that of each intact copy, and a holder of the file key has
    /// made it (DET-2).
    package func isOfBody(_ opening: ContainerOpening) -> Bool {
        opening.intactPreambles.allSatisfy { $0 == copy.preamble } && opening.schedule.isValid(copy)
    }

    /// The file name that a program looks for beside a body: the body's name, the beginning of the commitment, and
    /// `.hdr` (DET-4).
    ///
    /// - Parameters:
    ///   - body: the name of the body, the last component of its path, after links are resolved.
    ///   - commitment: that of the body.
    public static func name(forBody body: String, commitment: [UInt8]) -> String {
        body + nameEnding(commitment)
    }

    /// What the name of a header file has behind that of its body.
    package static func nameEnding(_ commitment: [UInt8]) -> String {
        ".\([UInt8](commitment.prefix(8)).hexadecimal).hdr"
    }
}

extension HeaderFile {
    /// A new header file, and how its slots differ from those of the old one.
    public struct Rotated: Hashable, Sendable {
        /// The new header file, which replaces the old one. If nothing changes, the old one.
        public let file: HeaderFile
        /// Whether there is something to replace.
        public let isChanged: Bool
        /// The slots that were added.
        public let added: [SlotDescription]
        /// The slots that were removed.
        public let removed: [SlotDescription]
        /// The slots that the new header file took over. Show them to a person: if someone has put an old header file
        /// back, slots that were removed before are among them.
        public let kept: [SlotDescription]
    }

    /// Opens it by itself, without its body, and checks its MAC and its state.
    ///
    /// - Parameter credentials: as for ``rotated(_:with:mayLoseAccess:mayMixRecipients:)``.
    /// - Returns: the same as ``summary``, which is authenticated then.
    /// - Throws: `VaultError` with `wrongKey`, `limitExceeded`, `pluginFailed`, `headerForged`, `unexpectedState`,
    ///   `memoryUnavailable`; and what the key provider throws.
    public func opened(with credentials: Credentials) throws -> HeaderSummary {
        var trials = SlotTrials(credentials)
        try open(&trials)
        return summary
    }

    /// The same with trials whose results are used again.
    package func open(_ trials: inout SlotTrials) throws {
        _ = try trials.open(self)
    }

    /// Changes who can open a detached container (DET-10). This is a pure function of the header file: the body is not
    /// needed.
    ///
    /// Replace the old header file as a whole with the result: in a file system by a rename (``Vault`` in VaultFile does
    /// that under a lock), in an object store by a write that is made only if the object is still the one that was read.
    /// If it is not, read the new object and begin again. Store an added key durably before that. Older versions of the
    /// object still open the body with their keys, until they are destroyed.
    ///
    /// - Parameters:
    ///   - change: the slots to remove and to add.
    ///   - credentials: the keys that open the header file, limits, and in `expectingHeaderFile` the state that the
    ///     caller remembers. `expecting` and `headerFile` are not used.
    ///   - mayLoseAccess: whether to go on if no given secret opens the result (ROT-15).
    ///   - mayMixRecipients: whether post-quantum and classical public keys may be together in it (MIX-2).
    /// - Returns: the new header file, one generation higher; the old one if there is nothing to change.
    /// - Throws: `VaultError` with `wrongKey`, `limitExceeded`, `headerForged`, `unexpectedState`,
    ///   `generationExhausted`, `lastSlot`, `consentNeeded`, `mixedRecipients`, `doesNotFit`, `badKey`,
    ///   `memoryUnavailable`; and what the key provider throws.
    public func rotated(
        _ change: KeyChange, with credentials: Credentials, mayLoseAccess: Bool = false,
        mayMixRecipients: Bool = false
    ) throws -> Rotated {
        let credentials = credentials.with(change.adding, removing: change.removing)
        var trials = SlotTrials(credentials)
        return try rotated(
            change, &trials, mayLoseAccess: mayLoseAccess, mayMixRecipients: mayMixRecipients, randomness: .system)
    }

    /// The same, with trials that may have results of an earlier reading.
    package func rotated(
        _ change: KeyChange, _ trials: inout SlotTrials, mayLoseAccess: Bool, mayMixRecipients: Bool,
        randomness: Randomness
    ) throws -> Rotated {
        let (schedule, fileKey) = try trials.open(self)
        var rotation = HeaderRotation(
            of: copy, fileKey: fileKey, schedule: schedule, highestGeneration: copy.generation, trials: trials,
            randomness: randomness)
        let plan = try rotation.plan(
            change, isNamed: false, mayLoseAccess: mayLoseAccess, mayMix: mayMixRecipients)
        trials = rotation.trials
        return Rotated(
            file: HeaderFile(plan.copy), isChanged: !plan.isUnchanged, added: plan.added.map(SlotDescription.init),
            removed: plan.removed.map(SlotDescription.init), kept: plan.kept.map(SlotDescription.init))
    }
}
