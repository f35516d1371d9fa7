public import VaultFormat

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

    /// Changes who can open a detached container (DET-10). This is a pure function of the header file: the body is not
    /// needed.
    ///
    /// Replace the old header file as a whole with the result: in a file system by a rename (`Vault` in VaultFile does
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
