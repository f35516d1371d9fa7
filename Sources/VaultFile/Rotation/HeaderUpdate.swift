import SystemPackage
import VaultFormat
package import VaultStream

/// Rotation and repair of one container (Spec 13.1, 13.2). They are one operation, because a rotation repairs before it
/// changes anything.
package struct HeaderUpdate {
    /// The change of the slots; nil for a repair.
    let change: KeyChange?
    let credentials: Credentials
    var options: RotationOptions
    let randomness: Randomness

    /// What to do with a container that was opened. It has no key, so it may be kept while the disk is written.
    package struct Decision: Sendable {
        /// The state in which the copies were found.
        let health: Health
        let tailOffset: UInt64
        /// The container with the new header, if a new file is made.
        let container: ContainerCopy
        /// The copy that counts, and whether it is the front.
        let current: HeaderCopy
        let isFront: Bool
        let plan: HeaderRotation.Plan
        /// Whether a new file replaces this one.
        let makesFile: Bool

        /// Whether the caller has chosen the copy that counts.
        let isNamed: Bool

        /// Whether the other copy is made equal to the current one first (ROT-9).
        // mutant: the file ends up the same; only a count of the writes would tell
        var repairs: Bool { !isNamed && health != .intact }
    }

    /// - Parameter naming: runs the rename, if a new file is made.
    func run(at place: FilePlace, naming: OutputFile.Naming = OutputFile.directly) throws -> Rotation {
        var trials = SlotTrials(credentials.with(change?.adding ?? [], removing: change?.removing ?? .none))
        let seen = Result {
            let source = try FileSource(at: place, onWaiting: options.onWaiting)
            return try SeekableOpening(source, trials: &trials, limits: credentials.limits).opening
        }
        if options.isDryRun {
            let opening = try seen.get()
            let decision = try decide(opening, &trials)
            if decision.makesFile, let count = try? FileSource(at: place).linkCount() {
                try LockedFile.refuseLinks(count, unless: options.mayBreakLinks)
            }
            return decision.outcome(found: opening.health)
        }
        // No lock was held so far: a person may have been asked for a passphrase, and other programs must not wait for
        // that. Only what is read under the lock counts.
        if case .failure(let error) = seen, !(error is VaultError) { throw error }
        let file = try LockedFile(at: place, onWaiting: options.onWaiting)
        file.removeLeftover()
        try file.synchronizeAll()
        let source = FileSource(file.descriptor, locking: .heldByCaller)
        let opening: ContainerOpening
        do {
            opening = try SeekableOpening(source, trials: &trials, limits: credentials.limits).opening
        } catch let error as VaultError {
            guard change == nil else { throw error }
            return try repairEnd(of: file, source, &trials, after: error)
        }
        return try update(file, source, decide(opening, &trials), found: opening.health, naming: naming)
    }

    // MARK: Deciding (steps 2 and 4)

    /// Finds the current copy, and makes all checks before anything is written (ROT-4 to ROT-8).
    func decide(_ opening: ContainerOpening, _ trials: inout SlotTrials) throws -> Decision {
        try decide(opening, current: judge(opening, &trials), &trials)
    }

    /// Finds the current copy (ROT-4 to ROT-7).
    func judge(_ opening: ContainerOpening, _ trials: inout SlotTrials) throws -> HeaderCopy {
        if let front = opening.front, let tail = opening.tail, front.bytes != tail.bytes {
            try options.onDifference(CopyDifference(front: front, tail: tail))
        }
        let current = try current(of: opening)
        if options.keeping == nil, opening.health == .copiesConflict {
            throw VaultError(
                .copiesConflict, "its two header copies contradict each other, and the copy to keep was not named")
        }
        if try !opens(current, opening, &trials) {
            guard options.keeping != nil else {
                // The older key alone would overwrite the newer copy, which may be the only one with the slot of a new
                // key.
                throw VaultError(
                    .rotationUnfinished, "a change of its keys was interrupted, and only a newer key can complete it")
            }
            guard options.mayLoseAccess else {
                throw VaultError(.consentNeeded, "none of the given keys and passphrases opens the copy to keep")
            }
        }
        return current
    }

    /// Plans the new copy of the current one.
    ///
    /// - Parameter slots: what takes the place of all slots, if none is new; nil for the change of this update.
    func decide(
        _ opening: ContainerOpening, current: HeaderCopy, exchangingFor slots: [Slot]? = nil,
        _ trials: inout SlotTrials
    ) throws -> Decision {
        let isNamed = options.keeping != nil
        guard change == nil || !current.isDetached else {
            // The change would leave the slots of the older copy as they are, that of a removed key among them.
            if !isNamed, [opening.front, opening.tail].contains(where: { $0?.isDetached == false }) {
                throw VaultError(
                    .rotationUnfinished, "a detach was interrupted: complete it before you change its keys")
            }
            throw VaultError(
                .headerDetached, "its keys are in a header file: change them there, and not in the container")
        }
        let plan: HeaderRotation.Plan
        var rotation = HeaderRotation(
            opening, current: current, trials: trials, randomness: randomness)
        if let slots {
            plan = try rotation.exchange(for: slots, isNamed: isNamed)
        } else if let change {
            plan = try rotation.plan(
                change, isNamed: isNamed, mayLoseAccess: options.mayLoseAccess, mayMix: options.mayMixRecipients)
        } else {
            plan = isNamed ? try rotation.renewal() : HeaderRotation.Plan(unchanged: current)
        }
        trials = rotation.trials
        let isSmall = current.capacity < .separate
        let changesAnything = !plan.isUnchanged || opening.health != .intact
        return Decision(
            health: opening.health, tailOffset: opening.footer.tailOffset,
            container: ContainerCopy(
                opening.layout, manifestLength: opening.footer.manifestLength, header: plan.copy),
            current: current, isFront: current == opening.front, plan: plan,
            makesFile: plan.grows || isSmall && changesAnything, isNamed: isNamed)
    }

    /// Whether the secrets at hand open a copy. A detached one opens if the header file opened the container (DET-8).
    private func opens(
        _ copy: HeaderCopy, _ opening: ContainerOpening, _ trials: inout SlotTrials
    ) throws -> Bool {
        copy.isDetached ? opening.headerFile != nil : try trials.opensAny(of: trials.slots(of: copy))
    }

    private func current(of opening: ContainerOpening) throws(VaultError) -> HeaderCopy {
        guard let keeping = options.keeping else { return opening.current }
        guard let named = keeping == .front ? opening.front : opening.tail else {
            throw VaultError(.headerDamaged, "the header copy to keep, \(keeping.rawValue), is not valid")
        }
        return named
    }

    // MARK: Writing (steps 3 and 5 to 7)

    func update(
        _ file: borrowing LockedFile, _ source: FileSource, _ decision: Decision, found: Health?,
        naming: OutputFile.Naming = OutputFile.directly
    ) throws -> Rotation {
        if decision.makesFile {
            // mutant: the new file checks this too, when it takes the place; this check comes before it is made
            try file.refuseLinks(unless: options.mayBreakLinks)
            try decision.container.replace(file, source: source, options: options, naming: naming)
            return decision.outcome(found: found)
        }
        try write(decision, to: file, source)
        return decision.outcome(found: found)
    }

    /// Writes the copies in place.
    private func write(_ decision: Decision, to file: borrowing LockedFile, _ source: FileSource) throws {
        func offset(of place: HeaderPlace) -> UInt64 { place == .front ? 0 : decision.tailOffset }
        // The copy to keep, or the newer one, is written last: until then it stays intact.
        let last: HeaderPlace = options.keeping ?? .front
        let first: HeaderPlace = last == .front ? .tail : .front
        // mutant: on an undamaged file it would write the same bytes again
        if decision.repairs {
            let other: HeaderPlace = decision.isFront ? .tail : .front
            try file.write(decision.current.bytes, at: offset(of: other))
        }
        // mutant: it would write the same bytes again
        if !decision.plan.isUnchanged {
            let bytes = decision.plan.copy.bytes
            for place in [first, last] { try file.write(bytes, at: offset(of: place)) }
            // mutant: they may be read in any order
            for place in [first, last] {
                guard try source.bytes(at: offset(of: place), count: bytes.count) == bytes else {
                    throw VaultError(
                        .outputFailed, "the header does not read back as it was written", offset: offset(of: place))
                }
            }
        }
    }

    // MARK: With keys that are lent

    /// Decides how the slots of a container change, with keys that are at hand only while this runs.
    ///
    /// - Parameters:
    ///   - ends: what was read of the container, under its lock.
    ///   - change: of the slots.
    ///   - credentials: what opens it.
    /// - Throws: as a rotation, before it writes.
    package static func decide(
        _ ends: ContainerEnds, _ change: KeyChange?, with credentials: Credentials
    ) throws -> Decision {
        let update = HeaderUpdate(
            change: change, credentials: credentials, options: RotationOptions(), randomness: .system)
        var trials = SlotTrials(credentials.with(change?.adding ?? [], removing: change?.removing ?? .none))
        return try update.decide(ContainerOpening(ends, trials: &trials), &trials)
    }

    /// Changes the slots of one of many containers. Keys are needed only in `prepare`, and nothing is read or written
    /// while `decide` runs there. So they need not be in memory while the disk is waited for.
    ///
    /// A container that is written in place is changed as by a rotation. Any other is copied, and so is one that has
    /// other names: what those lead to stays as it is. The caller syncs the folder after the last of them.
    ///
    /// - Parameters:
    ///   - place: the place of the container.
    ///   - naming: runs the rename, if a new file is made.
    ///   - prepare: gets the two ends of the container, and the file, and returns the decision; nil to change nothing.
    /// - Returns: whether anything was changed.
    /// - Throws: as a rotation; what `prepare` throws.
    package static func run(
        at place: FilePlace, naming: OutputFile.Naming,
        _ prepare: (ContainerEnds, any ByteSource) throws -> Decision?
    ) throws -> Bool {
        let file = try LockedFile(at: place)
        file.removeLeftover()
        let source = FileSource(file.descriptor, locking: .heldByCaller)
        var ends = try ContainerEnds(reading: source)
        let isSeparate = max(ends.front.count, ends.tail.count) >= HeaderCapacity.separate.bytes
        let isInPlace = try isSeparate && file.status().linkCount == 1
        if isInPlace {
            // ROT-2. A new file is synced as a whole instead.
            try file.synchronizeAll()
            ends = try ContainerEnds(reading: source)
        }
        guard let decision = try prepare(ends, source) else { return false }
        guard decision.makesFile || !decision.plan.isUnchanged || decision.repairs else { return false }
        var options = RotationOptions()
        options.mayBreakLinks = true
        if decision.makesFile || !isInPlace {
            try decision.container.replace(
                file, source: source, options: options, naming: naming, synchronizingFolder: false)
        } else {
            let update = HeaderUpdate(
                change: nil, credentials: Credentials(KeySet()), options: options, randomness: .system)
            try update.write(decision, to: file, source)
        }
        return true
    }
}

extension HeaderUpdate.Decision {
    func outcome(found: Health?, isNewFile: Bool? = nil) -> Rotation {
        Rotation(
            found: found, added: plan.added.map(SlotDescription.init), removed: plan.removed.map(SlotDescription.init),
            kept: plan.kept.map(SlotDescription.init), isNewHeader: !plan.isUnchanged, isRepaired: found != .intact,
            isNewFile: isNewFile ?? makesFile, header: HeaderSummary(plan.copy))
    }
}
