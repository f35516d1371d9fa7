import VaultCrypto
package import VaultFormat

/// Makes the next header copy out of the current one (Spec 13.1, step 4), on bytes alone. Everything that this step
/// refuses it refuses here, before anything is written (ROT-8).
package struct HeaderRotation {
    /// The new copy and how it came about.
    package struct Plan: Sendable {
        /// Whole and read back; the current one where nothing changes.
        package let copy: HeaderCopy
        package let added: [Slot]
        package let removed: [Slot]
        /// Whether it is the current copy, byte for byte.
        package let isUnchanged: Bool
        /// Whether the slots need a larger capacity than the container has (ROT-14).
        package let grows: Bool

        fileprivate init(copy: HeaderCopy, added: [Slot], removed: [Slot], grows: Bool) {
            self.copy = copy
            self.added = added
            self.removed = removed
            self.grows = grows
            isUnchanged = false
        }

        /// The current copy as it is.
        package init(unchanged current: HeaderCopy) {
            copy = current
            added = []
            removed = []
            isUnchanged = true
            grows = false
        }
    }

    private let opening: ContainerOpening
    private let current: HeaderCopy
    private let context: Context
    private let randomness: Randomness
    /// With what was found out meanwhile.
    package private(set) var trials: SlotTrials
    /// For whom each new slot is.
    private var made: [Slot: Recipient] = [:]

    /// - Parameters:
    ///   - current: the copy whose slots are changed, one of the opening's valid ones.
    ///   - trials: with the secrets at hand, those that are added included.
    package init(
        _ opening: ContainerOpening, current: HeaderCopy, context: Context, trials: SlotTrials, randomness: Randomness
    ) {
        self.opening = opening
        self.current = current
        self.context = context
        self.trials = trials
        self.randomness = randomness
    }

    /// - Parameters:
    ///   - isNamed: whether the caller has named the copy to keep: then a new copy is made whatever its slots are.
    ///   - mayLoseAccess: whether the caller consents to a header that none of his secrets opens.
    /// - Throws: `lastSlot`, `consentNeeded`, `doesNotFit`, `generationExhausted`, `limitExceeded`, `invalidArgument`,
    ///   `memoryUnavailable`; what the key provider or a private slot's `wrap` throws.
    package mutating func plan(_ change: KeyChange, isNamed: Bool, mayLoseAccess: Bool) throws -> Plan {
        let recipients = ContainerSealer.distinct(change.adding)
        try ContainerSealer.checkCosts(recipients.map(\.blankSlot))
        var entries = try slotsThatStay(change.removing, beside: recipients)
        try replaceDeadSlots(&entries)
        try add(recipients, to: &entries)
        let outlines = entries.map(\.slot)
        if outlines == current.slots, entries.allSatisfy({ $0.recipient == nil }), !isNamed {
            return Plan(unchanged: current)
        }
        let generation = try nextGeneration()
        guard !entries.isEmpty else {
            throw VaultError(.lastSlot, "no slot would be left, and nobody could open the container any more")
        }
        if !mayLoseAccess, try !opensAny(of: entries) {
            throw VaultError(
                .consentNeeded, "none of the keys and passphrases at hand would open the container any more")
        }
        let needed = try HeaderCopy.capacity(for: outlines, withSpare: false)
        let grows = needed > current.capacity
        let capacity = grows ? try HeaderCopy.capacity(for: outlines, withSpare: true) : current.capacity
        // Not before all that can be refused has been: this is what stretches.
        let slots = try entries.map { entry in try entry.recipient.map { try make(for: $0) } ?? entry.slot }
        let left = Set(slots)
        let (copy, failure) = try seal(slots, capacity: capacity, generation: generation)
        try checkSlots(of: copy, else: failure)
        return Plan(
            copy: copy, added: slots.filter { made[$0] != nil },
            removed: current.slots.filter { !left.contains($0) }, grows: grows)
    }

    /// The current copy's slots as they are, in a copy of a new generation (REP-2).
    ///
    /// - Throws: `generationExhausted`.
    package mutating func renewal() throws -> Plan {
        let (copy, _) = try seal(current.slots, capacity: current.capacity, generation: nextGeneration())
        return Plan(copy: copy, added: [], removed: [], grows: false)
    }

    // MARK: Removing

    /// A slot of the new copy: one that stays, or the outline of one that is to be made for somebody.
    private struct Entry {
        let slot: Slot
        let recipient: Recipient?

        init(_ slot: Slot) {
            self.slot = slot
            recipient = nil
        }

        init(for recipient: Recipient) {
            slot = recipient.blankSlot
            self.recipient = recipient
        }
    }

    private mutating func slotsThatStay(_ removing: SlotSelection, beside recipients: [Recipient]) throws -> [Entry] {
        var entries: [Entry] = []
        for slot in current.slots
        where try !trials.selects(slot, of: current, by: removing, beside: recipients) { entries.append(Entry(slot)) }
        return entries
    }

    // MARK: Adding

    /// A slot that bears a key's ID and does not open with it keeps the key's holder out for ever, since his key counts
    /// as present; whoever has any other key could have put it there.
    private mutating func replaceDeadSlots(_ entries: inout [Entry]) throws {
        for (index, entry) in entries.enumerated() where entry.slot.kind == .symmetric {
            guard let key = try trials.symmetricKey(entry.slot.keyID), try !trials.opens(entry.slot, of: current) else {
                continue
            }
            entries[index] = Entry(for: .key(key))
        }
    }

    private mutating func add(_ recipients: [Recipient], to entries: inout [Entry]) throws {
        var places = Dictionary(
            entries.enumerated().map { ($1.slot.identity, $0) }, uniquingKeysWith: { first, _ in first })
        for recipient in recipients {
            if case .passphrase(let passphrase, _) = recipient.kind {
                if entries.contains(where: { $0.recipient?.isFor(passphrase) == true }) { continue }
                let old = entries.filter { $0.recipient == nil }.map(\.slot)
                if try trials.opensAny(of: old, with: passphrase, of: current) { continue }
                entries.append(Entry(for: recipient))
            } else if let place = places[recipient.blankSlot.identity] {
                // One of a program's own, dead like those above.
                if try entries[place].recipient == nil && !trials.opens(entries[place].slot, of: current) {
                    entries[place] = Entry(for: recipient)
                }
            } else {
                places[recipient.blankSlot.identity] = entries.count
                entries.append(Entry(for: recipient))
            }
        }
    }

    private mutating func make(for recipient: Recipient) throws -> Slot {
        let slot = try SlotWrap.slot(
            for: recipient, fileKey: opening.fileKey, preamble: current.preamble, randomness: randomness)
        made[slot] = recipient
        return slot
    }

    // MARK: The new copy

    /// Whether a secret at hand opens one of the slots (ROT-13).
    private mutating func opensAny(of entries: [Entry]) throws -> Bool {
        if entries.contains(where: { $0.recipient != nil && $0.slot.kind != nil }) { return true }
        return try trials.opens(current, only: entries.filter { $0.recipient == nil }.map(\.slot))
    }

    /// One above every copy that was valid: a discarded one that is pasted back must be seen to be older (ROT-10).
    private func nextGeneration() throws(VaultError) -> UInt32 {
        let highest = max(opening.front?.generation ?? 0, opening.tail?.generation ?? 0)
        guard highest < .max else {
            throw VaultError(.generationExhausted, "its keys cannot be changed any more; re-encrypt it")
        }
        return highest + 1
    }

    /// The sealed copy, read back; and what to throw if more of it turns out not to be as it was meant.
    private mutating func seal(
        _ slots: [Slot], capacity: HeaderCapacity, generation: UInt32
    ) throws(VaultError) -> (HeaderCopy, VaultError) {
        let body = HeaderCopy.body(
            preamble: current.preamble, capacity: capacity, generation: generation, slots: slots)
        let bytes = opening.schedule.seal(headerBody: body)
        // The last look before anything is written: a fault of this machine's memory must not become the only way into
        // the container (ROT-16).
        let failure = VaultError(.headerMalformed, "the new header does not read back; nothing was written")
        // mutant: only such a fault shows it
        guard KeySchedule.isIntact(bytes), let copy = try? HeaderCopy(parsing: bytes), opening.schedule.isValid(copy)
        else { throw failure }
        return (copy, failure)
    }

    private mutating func checkSlots(of copy: HeaderCopy, else failure: VaultError) throws {
        for slot in copy.slots {
            if let recipient = made[slot],
                let opens = try SlotWrap.opens(slot, for: recipient, preamble: copy.preamble, context: context)
            {
                // The caller's limits are for what others have made.
                // mutant: only a fault of the memory shows it
                guard opens else { throw failure }
            } else if try slot.kind == .symmetric && trials.symmetricKey(slot.keyID) != nil
                || made[slot] != nil && trials.hasPrivateSlot(slot)
            {
                guard try trials.opens(slot, of: copy) else { throw failure }
            }
        }
    }
}

extension Recipient {
    /// Whether it is somebody who knows this passphrase.
    fileprivate func isFor(_ passphrase: Passphrase) -> Bool {
        guard case .passphrase(let own, _) = kind else { return false }
        return own.secret.withBytes { left in passphrase.secret.withBytes { right in constantTimeEqual(left, right) } }
    }
}
