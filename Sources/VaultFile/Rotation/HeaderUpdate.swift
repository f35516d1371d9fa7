import SystemPackage
import VaultFormat
import VaultStream

/// Rotation and repair of one container (Spec 13.1, 13.2). They are one operation, because a rotation repairs before it
/// changes anything.
struct HeaderUpdate {
    /// The change of the slots; nil for a repair.
    let change: KeyChange?
    let credentials: Credentials
    var options: RotationOptions
    let randomness: Randomness

    /// What to do with a container that was opened.
    struct Decision {
        let opening: ContainerOpening
        /// The copy that counts.
        let current: HeaderCopy
        let plan: HeaderRotation.Plan
        /// Whether a new file replaces this one.
        let makesFile: Bool

        /// Whether the caller has chosen the copy that counts.
        let isNamed: Bool

        /// Whether the other copy is made equal to the current one first (ROT-9).
        // mutant: the file ends up the same; only a count of the writes would tell
        var repairs: Bool { !isNamed && opening.health != .intact }
    }

    func run(at place: FilePlace) throws -> Rotation {
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
        return try update(file, source, decide(opening, &trials), found: opening.health)
    }

    // MARK: Deciding (steps 2 and 4)

    /// Finds the current copy, and makes all checks before anything is written (ROT-4 to ROT-8).
    func decide(_ opening: ContainerOpening, _ trials: inout SlotTrials) throws -> Decision {
        if let front = opening.front, let tail = opening.tail, front.bytes != tail.bytes {
            try options.onDifference(CopyDifference(front: front, tail: tail))
        }
        let current = try current(of: opening)
        if options.keeping == nil, opening.health == .copiesConflict {
            throw VaultError(
                .copiesConflict, "its two header copies contradict each other, and the copy to keep was not named")
        }
        if try !trials.opensAny(of: trials.slots(of: current)) {
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
        let isNamed = options.keeping != nil
        let plan: HeaderRotation.Plan
        var rotation = HeaderRotation(
            opening, current: current, context: credentials.context, trials: trials, randomness: randomness)
        if let change {
            plan = try rotation.plan(
                change, isNamed: isNamed, mayLoseAccess: options.mayLoseAccess, mayMix: options.mayMixRecipients)
        } else {
            plan = isNamed ? try rotation.renewal() : HeaderRotation.Plan(unchanged: current)
        }
        trials = rotation.trials
        let isSmall = current.capacity < .separate
        let changesAnything = !plan.isUnchanged || opening.health != .intact
        return Decision(
            opening: opening, current: current, plan: plan,
            makesFile: plan.grows || isSmall && changesAnything, isNamed: isNamed)
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
        _ file: borrowing LockedFile, _ source: FileSource, _ decision: Decision, found: Health?
    ) throws -> Rotation {
        if decision.makesFile {
            // mutant: the new file checks this too, when it takes the place; this check comes before it is made
            try file.refuseLinks(unless: options.mayBreakLinks)
            try ContainerCopy(decision.opening, header: decision.plan.copy)
                .replace(file, source: source, options: options)
            return decision.outcome(found: found)
        }
        let opening = decision.opening
        func offset(of place: HeaderPlace) -> UInt64 { place == .front ? 0 : opening.footer.tailOffset }
        // The copy to keep, or the newer one, is written last: until then it stays intact.
        let last: HeaderPlace = options.keeping ?? .front
        let first: HeaderPlace = last == .front ? .tail : .front
        // mutant: on an undamaged file it would write the same bytes again
        if decision.repairs {
            let other: HeaderPlace = decision.current == opening.front ? .tail : .front
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
        return decision.outcome(found: found)
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
