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
    private var trials: SlotTrials
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
        var slots = try slotsThatStay(change.removing, beside: recipients)
        try replaceDeadSlots(&slots)
        try add(recipients, to: &slots)
        guard !slots.isEmpty else {
            throw VaultError(.lastSlot, "no slot would be left, and nobody could open the container any more")
        }
        let needed = try HeaderCopy.capacity(for: slots, withSpare: false)
        if !mayLoseAccess, try !opensAny(of: slots) {
            throw VaultError(
                .consentNeeded, "none of the keys and passphrases at hand would open the container any more")
        }
        if slots == current.slots, !isNamed {
            return Plan(unchanged: current)
        }
        let grows = needed > current.capacity
        let capacity = grows ? try HeaderCopy.capacity(for: slots, withSpare: true) : current.capacity
        let left = Set(slots)
        let (copy, failure) = try seal(slots, capacity: capacity)
        try checkSlots(of: copy, else: failure)
        return Plan(
            copy: copy, added: slots.filter { made[$0] != nil },
            removed: current.slots.filter { !left.contains($0) }, grows: grows)
    }

    /// The current copy's slots as they are, in a copy of a new generation (REP-2).
    ///
    /// - Throws: `generationExhausted`.
    package mutating func renewal() throws -> Plan {
        let (copy, _) = try seal(current.slots, capacity: current.capacity)
        return Plan(copy: copy, added: [], removed: [], grows: false)
    }

    // MARK: Removing

    private mutating func slotsThatStay(_ removing: SlotSelection, beside recipients: [Recipient]) throws -> [Slot] {
        var slots: [Slot] = []
        for slot in current.slots
        where try !trials.selects(slot, of: current, by: removing, beside: recipients) { slots.append(slot) }
        return slots
    }

    // MARK: Adding

    /// A slot that bears a key's ID and does not open with it keeps the key's holder out for ever, since his key counts
    /// as present; whoever has any other key could have put it there.
    private mutating func replaceDeadSlots(_ slots: inout [Slot]) throws {
        for (index, slot) in slots.enumerated() where slot.kind == .symmetric {
            guard let key = try trials.symmetricKey(slot.keyID), try !trials.opens(slot, of: current) else { continue }
            slots[index] = try make(for: .key(key))
        }
    }

    private mutating func add(_ recipients: [Recipient], to slots: inout [Slot]) throws {
        var places = Dictionary(slots.enumerated().map { ($1.identity, $0) }, uniquingKeysWith: { first, _ in first })
        for recipient in recipients {
            if case .passphrase(let passphrase, _) = recipient.kind {
                let old = slots.filter { made[$0] == nil }
                if try !trials.opensAny(of: old, with: passphrase, of: current) {
                    slots.append(try make(for: recipient))
                }
            } else if let place = places[recipient.blankSlot.identity] {
                // One of a program's own, dead like those above.
                if try made[slots[place]] == nil && !trials.opens(slots[place], of: current) {
                    slots[place] = try make(for: recipient)
                }
            } else {
                places[recipient.blankSlot.identity] = slots.count
                slots.append(try make(for: recipient))
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
    private mutating func opensAny(of slots: [Slot]) throws -> Bool {
        if made.keys.contains(where: { $0.kind != nil }) { return true }
        return try trials.opens(current, only: slots.filter { made[$0] == nil })
    }

    /// The sealed copy, read back; and what to throw if more of it turns out not to be as it was meant.
    private mutating func seal(
        _ slots: [Slot], capacity: HeaderCapacity
    ) throws(VaultError) -> (HeaderCopy, VaultError) {
        // Above every copy that was valid: a discarded one that is pasted back must be seen to be older (ROT-10).
        let highest = max(opening.front?.generation ?? 0, opening.tail?.generation ?? 0)
        guard highest < .max else {
            throw VaultError(.generationExhausted, "its keys cannot be changed any more; re-encrypt it")
        }
        let body = HeaderCopy.body(
            preamble: current.preamble, capacity: capacity, generation: highest + 1, slots: slots)
        let bytes = opening.schedule.seal(headerBody: body)
        // The last look before anything is written: a fault of this machine's memory must not become the only way into the
        // container (ROT-16).
        let failure = VaultError(.headerMalformed, "the new header does not read back; nothing was written")
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
                guard opens else { throw failure }
            } else if try slot.kind == .symmetric && trials.symmetricKey(slot.keyID) != nil
                || made[slot] != nil && trials.hasPrivateSlot(slot)
            {
                guard try trials.opens(slot, of: copy) else { throw failure }
            }
        }
    }
}
