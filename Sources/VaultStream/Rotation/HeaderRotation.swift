package import VaultFormat

/// Makes the next header copy from the current one (Spec 13.1, step 4). It reads and writes no file. Every check of
/// this step is made here, before anything is written (ROT-8).
package struct HeaderRotation {
    /// The new copy, and how it differs from the current one.
    package struct Plan: Sendable {
        /// The whole copy, sealed and read back. If nothing changes, the current copy.
        package let copy: HeaderCopy
        package let added: [Slot]
        package let removed: [Slot]
        /// The slots that are in both copies.
        package var kept: [Slot] { copy.slots.filter { !added.contains($0) } }
        /// Whether `copy` is the current copy, byte for byte.
        package let isUnchanged: Bool
        /// Whether the slots need a larger capacity than the container has (ROT-16).
        package let grows: Bool

        fileprivate init(copy: HeaderCopy, added: [Slot], removed: [Slot], grows: Bool) {
            self.copy = copy
            self.added = added
            self.removed = removed
            self.grows = grows
            isUnchanged = false
        }

        /// A plan that changes nothing.
        package init(unchanged current: HeaderCopy) {
            copy = current
            added = []
            removed = []
            isUnchanged = true
            grows = false
        }
    }

    private let fileKey: FileKey
    private let schedule: KeySchedule
    /// One above it is the new copy's generation.
    private let highestGeneration: UInt32
    private let current: HeaderCopy
    private let randomness: Randomness
    /// With the results of all tries so far.
    package private(set) var trials: SlotTrials
    /// The recipient of each new slot, and what opens it.
    private var made: [Slot: (recipient: Recipient, opener: (any SlotSecret)?)] = [:]

    /// - Parameters:
    ///   - current: the copy whose slots are changed: one of the valid copies of the opening, or a header file.
    ///   - trials: the trials with the secrets at hand, including those of the recipients to add.
    package init(
        of current: HeaderCopy, fileKey: FileKey, schedule: KeySchedule, highestGeneration: UInt32, trials: SlotTrials,
        randomness: Randomness
    ) {
        self.fileKey = fileKey
        self.schedule = schedule
        self.highestGeneration = highestGeneration
        self.current = current
        self.trials = trials
        self.randomness = randomness
    }

    /// For a copy of a container that was opened.
    package init(
        _ opening: ContainerOpening, current: HeaderCopy, trials: SlotTrials, randomness: Randomness
    ) {
        self.init(
            of: current, fileKey: opening.fileKey, schedule: opening.schedule,
            highestGeneration: opening.highestGeneration, trials: trials, randomness: randomness)
    }

    /// Plans a change of the slots.
    ///
    /// - Parameters:
    ///   - isNamed: whether the caller chose the copy to keep. If so, a new copy is made even if no slot changes.
    ///   - mayLoseAccess: whether the caller allows a header that none of their secrets opens.
    ///   - mayMix: whether the caller allows post-quantum and classical recipients in one header.
    /// - Throws: `lastSlot`, `consentNeeded`, `mixedRecipients`, `doesNotFit`, `generationExhausted`, `limitExceeded`,
    ///   `invalidArgument`, `badKey`, `memoryUnavailable`; what the key provider or a private slot's `wrap` throws.
    package mutating func plan(
        _ change: KeyChange, isNamed: Bool, mayLoseAccess: Bool, mayMix: Bool
    ) throws -> Plan {
        let recipients = Recipient.distinct(change.adding, under: current.preamble)
        for recipient in recipients { try recipient.maker.check() }
        var entries = try slotsThatStay(change.removing, beside: recipients)
        try replaceDeadSlots(&entries)
        try add(recipients, to: &entries)
        let outlines = entries.map(outline)
        if outlines == current.slots, entries.allSatisfy(\.isOld), !isNamed {
            return Plan(unchanged: current)
        }
        let generation = try nextGeneration()
        guard !entries.isEmpty else {
            throw VaultError(.lastSlot, "no slot would be left, and no one could open the container any more")
        }
        if !mayLoseAccess, try !opensAny(of: entries) {
            throw VaultError(
                .consentNeeded, "none of the given keys and passphrases would open the container any more")
        }
        let new = entries.filter { !$0.isOld }.map(outline)
        try SlotKinds.check(adding: new, to: outlines, mayMix: mayMix)
        let needed = try HeaderCopy.capacity(for: outlines, withSpare: false)
        let grows = needed > current.capacity
        let capacity = grows ? try HeaderCopy.capacity(for: outlines, withSpare: true) : current.capacity
        // Making a slot can stretch a passphrase, so every check comes first.
        let slots = try entries.map { entry in
            switch entry {
            case .old(let slot): slot.slot
            case .new(let recipient): try make(for: recipient)
            }
        }
        let left = Set(slots)
        let (copy, failure) = try seal(slots, capacity: capacity, generation: generation)
        try checkSlots(of: copy, else: failure)
        return Plan(
            copy: copy, added: slots.filter { made[$0] != nil },
            removed: current.slots.filter { !left.contains($0) }, grows: grows)
    }

    /// Plans a copy with the same slots and the next generation (REP-3).
    ///
    /// - Throws: `generationExhausted`.
    package mutating func renewal() throws -> Plan {
        let (copy, _) = try seal(current.slots, capacity: current.capacity, generation: nextGeneration())
        return Plan(copy: copy, added: [], removed: [], grows: false)
    }

    /// Plans a copy with slots of which none is new: the mark alone, or those of a header file (DET-8, DET-9).
    ///
    /// - Throws: `generationExhausted`, `doesNotFit`.
    package mutating func exchange(for slots: [Slot], isNamed: Bool) throws(VaultError) -> Plan {
        if slots == current.slots, !isNamed { return Plan(unchanged: current) }
        let generation = try nextGeneration()
        let needed = try HeaderCopy.capacity(for: slots, withSpare: false)
        let grows = needed > current.capacity
        let capacity = grows ? try HeaderCopy.capacity(for: slots, withSpare: true) : current.capacity
        let (copy, _) = try seal(slots, capacity: capacity, generation: generation)
        let (old, new) = (Set(current.slots), Set(slots))
        return Plan(
            copy: copy, added: slots.filter { !old.contains($0) }, removed: current.slots.filter { !new.contains($0) },
            grows: grows)
    }

    /// A header file with the slots of the current copy (DET-8, step 5).
    ///
    /// - Parameters:
    ///   - capacity: nil for the smallest with room for one more slot.
    ///   - generation: one above that of the header file that it replaces.
    /// - Throws: `doesNotFit`.
    package mutating func headerFile(
        capacity: HeaderCapacity?, generation: UInt32
    ) throws(VaultError) -> HeaderFile {
        let needed = try HeaderCopy.capacity(for: current.slots, withSpare: capacity == nil)
        let capacity = capacity ?? needed
        guard capacity >= needed else {
            throw VaultError(
                .doesNotFit, "the slots need a header of \(needed.bytes) bytes, more than \(capacity.bytes)")
        }
        return HeaderFile(try seal(current.slots, capacity: capacity, generation: generation).0)
    }

    // MARK: Removing

    /// A slot of the new copy: an old one that stays, or a new one for a recipient.
    private enum Entry {
        case old(HeaderSlot)
        case new(Recipient)

        var isOld: Bool { oldSlot != nil }

        var oldSlot: HeaderSlot? {
            if case .old(let slot) = self { slot } else { nil }
        }

        var recipient: Recipient? {
            if case .new(let recipient) = self { recipient } else { nil }
        }
    }

    private func outline(_ entry: Entry) -> Slot {
        switch entry {
        case .old(let slot): slot.slot
        case .new(let recipient): recipient.maker.outline(under: current.preamble)
        }
    }

    private mutating func slotsThatStay(_ removing: SlotSelection, beside recipients: [Recipient]) throws -> [Entry] {
        try trials.slots(of: current)
            .filter { try !trials.selects($0, by: removing, beside: recipients) }
            .map(Entry.old)
    }

    // MARK: Adding

    private mutating func replaceDeadSlots(_ entries: inout [Entry]) throws {
        for (index, entry) in entries.enumerated() {
            guard let slot = entry.oldSlot, let owner = try trials.ownerOfDeadSlot(slot) else { continue }
            entries[index] = .new(owner)
        }
    }

    private mutating func add(_ recipients: [Recipient], to entries: inout [Entry]) throws {
        var places: [ArraySlice<UInt8>: [Int]] = [:]
        for (place, entry) in entries.enumerated() {
            guard let identity = identity(entry) else { continue }
            places[identity, default: []].append(place)
        }
        var superfluous: Set<Int> = []
        for recipient in recipients {
            guard let identity = recipient.maker.identity(under: current.preamble) else {
                if try !isPresent(recipient, in: entries) { entries.append(.new(recipient)) }
                continue
            }
            var theirs = places[identity] ?? []
            guard let first = theirs.first else {
                places[identity] = [entries.count]
                entries.append(.new(recipient))
                continue
            }
            if !recipient.maker.idNamesOne { theirs = [first] }
            if theirs.contains(where: { !entries[$0].isOld }) { continue }
            if try trials.opensAny(of: theirs.compactMap { entries[$0].oldSlot }, by: recipient) { continue }
            // The slots have the recipient's ID and do not open: they would keep the recipient out. Nobody but the
            // recipient could tell a dead slot from a good one, so each slot that stays under the ID is judged.
            entries[first] = .new(recipient)
            superfluous.formUnion(theirs.dropFirst())
        }
        entries = entries.indices.filter { !superfluous.contains($0) }.map { [entries] in entries[$0] }
    }

    private func identity(_ entry: Entry) -> ArraySlice<UInt8>? {
        switch entry {
        case .old(let slot): slot.slot.identity
        case .new(let recipient): recipient.maker.identity(under: current.preamble)
        }
    }

    /// Whether a recipient whose slots have random IDs has a slot that opens. The recipients are distinct, so none has
    /// a new slot yet.
    private mutating func isPresent(_ recipient: Recipient, in entries: [Entry]) throws -> Bool {
        guard let secret = recipient.maker.secret else { return false }
        return try trials.opensAny(of: entries.compactMap(\.oldSlot), by: .secret(secret))
    }

    private mutating func make(for recipient: Recipient) throws -> Slot {
        let new = try recipient.maker.make(
            for: fileKey, preamble: current.preamble, randomness: randomness)
        made[new.slot] = (recipient, new.opener)
        return new.slot
    }

    // MARK: The new copy

    /// Whether a secret at hand opens one of the slots (ROT-15).
    private mutating func opensAny(of entries: [Entry]) throws -> Bool {
        if entries.contains(where: { $0.recipient?.maker.secret != nil }) { return true }
        // A plugin counts only for a slot that it has opened before: another touch would prove no more.
        if try trials.opensAny(of: entries.compactMap(\.oldSlot), mayBegin: false) { return true }
        return try trials.wouldOpen(aSlotFor: entries.compactMap(\.recipient), under: current.preamble)
    }

    /// One above the highest generation of the valid copies. If an attacker puts a discarded copy back, it is older
    /// (ROT-11).
    private func nextGeneration() throws(VaultError) -> UInt32 {
        guard highestGeneration < .max else {
            throw VaultError(.generationExhausted, "its keys cannot be changed any more; re-encrypt it")
        }
        return highestGeneration + 1
    }

    /// The sealed copy, read back, and the error to throw if a later check finds a fault in it.
    private mutating func seal(
        _ slots: [Slot], capacity: HeaderCapacity, generation: UInt32
    ) throws(VaultError) -> (HeaderCopy, VaultError) {
        let body = HeaderCopy.body(
            preamble: current.preamble, capacity: capacity, generation: generation, slots: slots)
        let bytes = schedule.seal(headerBody: body)
        // The last check before anything is written. If this machine's memory is faulty, a broken copy could become the
        // only way into the container (ROT-18).
        let failure = VaultError(.headerMalformed, "the new header does not read back; nothing was written")
        // mutant: only such a fault would show that it is missing
        guard KeySchedule.isIntact(bytes), let copy = try? HeaderCopy(parsing: bytes), schedule.isValid(copy)
        else { throw failure }
        return (copy, failure)
    }

    private mutating func checkSlots(of copy: HeaderCopy, else failure: VaultError) throws {
        for slot in copy.slots {
            // mutant: only faulty memory would show that it is missing
            guard try isAsMeant(HeaderSlot(slot, copy.preamble)) else { throw failure }
        }
    }

    /// Whether a slot of the new copy opens, as far as the secrets at hand can tell. Of the old slots, only one that
    /// should have been replaced is refused.
    private mutating func isAsMeant(_ slot: HeaderSlot) throws -> Bool {
        guard let new = made[slot.slot] else { return try trials.ownerOfDeadSlot(slot) == nil }
        let atHand = try trials.secretsAtHand(of: new.recipient.maker, for: slot)
        let openers = [new.opener].compactMap { $0 } + atHand
        guard !openers.isEmpty else {
            if case .refused = try trials.attempt(slot) { return false }
            return true
        }
        for opener in openers {
            guard try opens(slot, by: opener) else { return false }
        }
        return true
    }

    private func opens(_ slot: HeaderSlot, by secret: any SlotSecret) throws -> Bool {
        // No limits: they guard against slots that others have made.
        switch try secret.attempt(slot, context: trials.context) {
        case .opened: return true
        case .leftOut(let reason): throw reason.error
        case .refused, .noSecret: return false
        }
    }
}
