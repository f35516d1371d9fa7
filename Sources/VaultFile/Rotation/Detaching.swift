public import SystemPackage
public import VaultFormat
import VaultStream

/// The result of a detach; after a dry run, what would be done.
public struct Detachment: Hashable, Sendable {
    /// The path of the header file.
    public let headerFile: FilePath
    /// The header file; nil if the container was detached already and opened without it.
    public let header: HeaderSummary?
    /// What became of the body.
    public let rotation: Rotation
}

/// Moves the slots of a container to a header file (DET-8).
struct Detaching {
    let path: FilePath
    /// Where the header file goes; nil for the name that programs look for.
    let headerFile: FilePath?
    let capacity: HeaderCapacity?
    let mayLoseSlots: Bool
    /// Without a change of its own.
    let update: HeaderUpdate

    private var options: RotationOptions { update.options }

    /// A header file that is there, or the place for one, locked.
    private enum Held: ~Copyable {
        case there(LockedFile)
        case new(OutputFile)
    }

    func run() throws -> Detachment {
        var trials = SlotTrials(update.credentials)
        // As in a rotation, it is first opened without the locks.
        let seen = Result {
            let source = try FileSource(at: path, onWaiting: options.onWaiting)
            let place = try self.place(source)
            let bytes = try (place?.isThere() ?? false) ? place.map { try HeaderFileSource.file(at: $0).read() } : nil
            return (try open(source, bytes, &trials), place, bytes)
        }
        if options.isDryRun {
            let (opening, place, bytes) = try seen.get()
            guard let place else { throw Self.isChanging }
            let current = try update.judge(opening, &trials)
            let plan = try plan(opening, current, bytes, &trials)
            if plan.decision.makesFile, let count = try? FileSource(at: path).linkCount() {
                try LockedFile.refuseLinks(count, unless: options.mayBreakLinks)
            }
            return Detachment(
                headerFile: place, header: (plan.file ?? opening.headerFile)?.summary,
                rotation: plan.decision.outcome(found: opening.health))
        }
        if case .failure(let error) = seen, !(error is VaultError) { throw error }
        for _ in 0..<LockPatience.attempts {
            if let done = try attempt(&trials) { return done }
        }
        throw Self.isChanging
    }

    private static let isChanging = VaultError(.inUse, "another program keeps changing it or its header file")

    /// Nil if no intact copy tells the commitment, and with it the name.
    private func place(_ source: FileSource) throws -> FilePath? {
        if let headerFile { return headerFile }
        guard let commitment = try ContainerEnds(reading: source).commitment else { return nil }
        return try path.headerFile(commitment)
    }

    /// Opens the body, with the header file that is there if an intact copy is detached.
    private func open(
        _ source: FileSource, _ headerFile: [UInt8]?, _ trials: inout SlotTrials
    ) throws -> ContainerOpening {
        let isMarked = try ContainerEnds(reading: source).showsMark
        trials.headerFile = isMarked ? headerFile.map { .bytes($0) } : nil
        return try SeekableOpening(source, trials: &trials, limits: update.credentials.limits).opening
    }

    /// Takes the locks and does everything; nil if everything has to begin again, because a file has changed meanwhile.
    private func attempt(_ trials: inout SlotTrials) throws -> Detachment? {
        let unlocked = try FileSource(at: path, onWaiting: options.onWaiting)
        guard let place = try place(unlocked) else {
            // No copy is intact: this gives the error.
            _ = try open(unlocked, nil, &trials)
            throw Self.isChanging
        }
        let status = try path.status()
        if let there = try? place.status(), there.identity == status.identity {
            throw VaultError(.invalidArgument, "the header file is the container")
        }
        let held = try hold(place, status)
        let file = try LockedFile(at: .path(path), onWaiting: options.onWaiting)
        file.removeLeftover()
        try file.synchronizeAll()
        let source = FileSource(file.descriptor, locking: .heldByCaller)
        // The name of the header file has the commitment, which a re-encryption changes.
        guard try self.place(source) == place else { return nil }
        let bytes: [UInt8]?
        switch held {
        case .there(let there): bytes = try there.headerFileBytes()
        case .new: bytes = nil
        }
        let opening = try open(source, bytes, &trials)
        let plan = try plan(opening, update.judge(opening, &trials), bytes, &trials)
        guard let new = plan.file else {
            let rotation = try update.update(file, source, plan.decision, found: opening.health)
            return Detachment(headerFile: place, header: opening.headerFile?.summary, rotation: rotation)
        }
        if plan.decision.makesFile { try file.refuseLinks(unless: options.mayBreakLinks) }
        // Durable before the body loses its slots: otherwise a crash could leave a body that nothing opens. The lock on
        // it is held until the body is done.
        guard let header = try store(new, held, permissions: file.status().permissions) else { return nil }
        let rotation = try update.update(file, source, plan.decision, found: opening.health)
        header.unlock()
        return Detachment(headerFile: place, header: new.summary, rotation: rotation)
    }

    private func hold(_ place: FilePath, _ status: FileStatus) throws(VaultError) -> Held {
        do throws(VaultError) {
            guard try place.isThere() else { return .new(try OutputFile.locked(at: .path(place), withOwnerOf: status)) }
            let file = try LockedFile(at: .path(place), onWaiting: options.onWaiting)
            file.removeLeftover()
            return .there(file)
        } catch {
            throw error.ofHeaderFile
        }
    }

    /// - Returns: the locked header file; nil if another program has made a file of this name meanwhile.
    private func store(
        _ new: HeaderFile, _ held: consuming Held, permissions: FilePermissions
    ) throws(VaultError) -> LockedFile? {
        do throws(VaultError) {
            switch consume held {
            case .there(let old): return try old.replaceHeaderFile(with: new, mayBreakLinks: options.mayBreakLinks)
            case .new(let output): return try output.commitHeaderFile(new, permissions: permissions)
            }
        } catch {
            guard error.code != .outputExists else { return nil }
            throw error.ofHeaderFile
        }
    }

    /// What is written: the header file, or nil if the container is detached already; and the body.
    private func plan(
        _ opening: ContainerOpening, _ current: HeaderCopy, _ bytes: [UInt8]?, _ trials: inout SlotTrials
    ) throws -> (file: HeaderFile?, decision: HeaderUpdate.Decision) {
        guard !current.isDetached else { return (nil, try update.decide(opening, current: current, &trials)) }
        var generation: UInt32 = 1
        if let bytes {
            // Otherwise the only header file of another container would be lost.
            guard let old = try? HeaderFile(bytes), old.isOfBody(opening) else {
                throw VaultError(.copiesDisagree, "the header file that is there is not that of this container")
            }
            let lost = old.copy.slots.filter { !current.slots.contains($0) }
            guard lost.isEmpty || mayLoseSlots else {
                throw VaultError(
                    .consentNeeded, "\(lost.count) slots of the header file that is there would be lost")
            }
            guard old.copy.generation < .max else {
                throw VaultError(.generationExhausted, "the header file that is there cannot be replaced any more")
            }
            generation = old.copy.generation + 1
        }
        let decision = try update.decide(opening, current: current, exchangingFor: [.mark], &trials)
        var rotation = HeaderRotation(opening, current: current, trials: trials, randomness: update.randomness)
        return (try rotation.headerFile(capacity: capacity, generation: generation), decision)
    }
}

/// Moves the slots of a header file back to its body (DET-9).
struct Attaching {
    let path: FilePath
    let headerFile: FilePath
    /// Without a change of its own.
    let update: HeaderUpdate

    private var options: RotationOptions { update.options }

    func run() throws -> Rotation {
        var trials = SlotTrials(update.credentials)
        if options.isDryRun {
            let decision = try decide(
                FileSource(at: path, onWaiting: options.onWaiting), HeaderFileSource.file(at: headerFile).read(),
                &trials)
            if decision.makesFile, let count = try? FileSource(at: path).linkCount() {
                try LockedFile.refuseLinks(count, unless: options.mayBreakLinks)
            }
            return decision.outcome(found: decision.health)
        }
        // As in a rotation, it is first opened without the locks.
        let seen = Result {
            let source = try FileSource(at: path, onWaiting: options.onWaiting)
            _ = try open(source, HeaderFileSource.file(at: headerFile).read(), &trials)
        }
        if case .failure(let error) = seen, !(error is VaultError) { throw error }
        if let one = try? path.status(), let other = try? headerFile.status(), one.identity == other.identity {
            throw VaultError(.invalidArgument, "the header file is the container")
        }
        let header = try LockedHeaderFile(at: .path(headerFile), onWaiting: options.onWaiting)
        let file = try LockedFile(at: .path(path), onWaiting: options.onWaiting)
        file.removeLeftover()
        try file.synchronizeAll()
        let source = FileSource(file.descriptor, locking: .heldByCaller)
        let decision = try decide(source, header.bytes() ?? [], &trials)
        let rotation = try update.update(file, source, decision, found: decision.health)
        // Only now: until the body has the slots, this file is the only way into it.
        try header.remove()
        return rotation
    }

    /// Opens the body, with the header file only if an intact copy is detached.
    private func open(
        _ source: FileSource, _ bytes: [UInt8], _ trials: inout SlotTrials
    ) throws -> ContainerOpening {
        trials.headerFile = try ContainerEnds(reading: source).showsMark ? .bytes(bytes) : nil
        return try SeekableOpening(source, trials: &trials, limits: update.credentials.limits).opening
    }

    private func decide(
        _ source: FileSource, _ bytes: [UInt8], _ trials: inout SlotTrials
    ) throws -> HeaderUpdate.Decision {
        let opening = try open(source, bytes, &trials)
        let current = try update.judge(opening, &trials)
        if [opening.front, opening.tail].contains(where: { $0?.isDetached == true }), let file = opening.headerFile {
            return try update.decide(opening, current: current, exchangingFor: file.copy.slots, &trials)
        }
        // An attach that was interrupted before it removed the file, or a file that has nothing to do with the container.
        guard let left = try? HeaderFile(bytes), left.isOfBody(opening),
            left.copy.slots.allSatisfy(current.slots.contains)
        else {
            throw VaultError(
                .notDetached, "it has its own slots, and not all that is in the header file, which stays")
        }
        return try update.decide(opening, current: current, &trials)
    }
}
