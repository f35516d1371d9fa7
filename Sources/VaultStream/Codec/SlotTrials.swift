package import VaultFormat

/// Which slots are tried with which secrets, in which order, at what cost (Spec, Which slots).
///
/// One value serves one opening, also where a header is read twice: the caller is asked for passphrases once at most,
/// and no slot is tried twice.
package struct SlotTrials {
    private let keys: any KeyProvider
    package let context: Context
    package let limits: OpenLimits
    private var passphrases: [Passphrase]?

    package init(keys: any KeyProvider, context: Context, limits: OpenLimits) {
        self.keys = keys
        self.context = context
        self.limits = limits
    }

    /// What opening found out.
    package struct Opened: Sendable {
        package let schedule: KeySchedule
        /// By copy as they were given: whether the MAC is right.
        package let isValid: [Bool]
        /// The slot that opened and stands in a valid copy.
        package let slot: Slot
    }

    /// Opens copies of one container, whose bytes up to the capacity are the same: steps 4 and 5 of the Spec's opening.
    ///
    /// - Parameter copies: the copies that are not damaged, the one to be tried first first.
    /// - Throws: `wrongKey`, `limitExceeded`, `headerForged`, `memoryUnavailable`, and what the provider throws.
    package mutating func open(_ copies: [HeaderCopy]) throws -> Opened {
        guard let preamble = copies.first?.preamble else {
            throw VaultError(.headerDamaged, "no header copy is intact")
        }
        var attempt = self.candidates(of: copies, preamble: preamble)
        guard let first = try open(&attempt) else {
            if attempt.wasLimited {
                throw VaultError(.limitExceeded, "opening by passphrase would cost more than the limits allow")
            }
            if !attempt.matchedAny { try SlotWrap.openNothing(preamble: preamble, context: context) }
            throw VaultError(.wrongKey, "no key, passphrase or context given opens this container")
        }
        let schedule = try KeySchedule(fileKey: first.fileKey, parameters: preamble.parameters, context: context)
        let isValid = copies.map { schedule.isValid($0) }
        let valid = zip(copies, isValid).filter(\.1).map(\.0)
        if valid.contains(where: { $0.slots.contains(first.slot) }) {
            return Opened(schedule: schedule, isValid: isValid, slot: first.slot)
        }
        // The slot that opened stands in no copy that a holder of the file key made: somebody put an old one there.
        // Whoever holds the key that was removed and the one that took its place must still get in by the latter.
        let tried = Set(attempt.candidates.prefix(attempt.next).map(\.slot))
        var rest = candidates(of: valid, preamble: preamble, without: tried)
        guard let other = try open(&rest) else {
            throw VaultError(.headerForged, "a key fits, but the header was not made by a holder of the file key")
        }
        return Opened(schedule: schedule, isValid: isValid, slot: other.slot)
    }

    /// The IDs of all slots of a copy that the caller's secrets open.
    package mutating func openedSlots(of copy: HeaderCopy) throws -> [KeyID] {
        var attempt = candidates(of: [copy], preamble: copy.preamble)
        var found: [KeyID] = []
        while let opened = try open(&attempt) { found.append(opened.slot.keyID) }
        return found
    }

    // MARK: One attempt

    private struct Candidate {
        let slot: Slot
        let isWithinLimits: Bool
    }

    /// Slots in the order in which they are tried, and what came of those that were.
    private struct Attempt {
        let preamble: Preamble
        let candidates: [Candidate]
        var next = 0
        var matchedAny = false
        var wasLimited = false
    }

    /// The slots of all copies, those that are byte-identical once: symmetric ones first, then private ones, then those
    /// of passphrases, which cost the most. The limits hold for each copy by itself: over both together, an interrupted
    /// change of one of four passphrases would lock out every key.
    private func candidates(
        of copies: [HeaderCopy], preamble: Preamble, without tried: Set<Slot> = []
    ) -> Attempt {
        var isWithin: [Slot: Bool] = [:]
        var order: [Slot] = []
        for copy in copies {
            let stretchable = limits.stretchable(copy.slots)
            for (index, slot) in copy.slots.enumerated() where !tried.contains(slot) {
                if isWithin[slot] == nil { order.append(slot) }
                isWithin[slot] = isWithin[slot, default: false] || stretchable.contains(index)
            }
        }
        let sorted =
            order.filter { $0.kind == .symmetric } + order.filter(\.isPrivate) + order.filter { $0.kind == .passphrase }
        let candidates = sorted.map { Candidate(slot: $0, isWithinLimits: isWithin[$0] ?? false) }
        return Attempt(preamble: preamble, candidates: candidates)
    }

    /// The next slot that opens.
    private mutating func open(_ attempt: inout Attempt) throws -> (slot: Slot, fileKey: FileKey)? {
        while attempt.next < attempt.candidates.count {
            let candidate = attempt.candidates[attempt.next]
            attempt.next += 1
            if let fileKey = try open(candidate, &attempt) { return (candidate.slot, fileKey) }
        }
        return nil
    }

    private mutating func open(_ candidate: Candidate, _ attempt: inout Attempt) throws -> FileKey? {
        let slot = candidate.slot
        let preamble = attempt.preamble
        if slot.kind == .symmetric {
            guard let key = try keys.symmetricKey(for: slot.keyID) else { return nil }
            attempt.matchedAny = true
            return try SlotWrap.open(slot, with: key, preamble: preamble, context: context)
        }
        guard let cost = slot.argon2 else {
            guard let fileKey = try keys.fileKey(for: PrivateSlot(slot, preamble: preamble)) else { return nil }
            attempt.matchedAny = true
            let fits = KeySchedule.fits(fileKey.secret, preamble: preamble, context: context)
            return fits ? fileKey : nil
        }
        let given = try askedPassphrases()
        guard candidate.isWithinLimits || given.isEmpty else {
            attempt.wasLimited = true
            return nil
        }
        for passphrase in given {
            attempt.matchedAny = true
            do {
                let opened = try SlotWrap.open(
                    slot, with: passphrase, cost: cost, preamble: preamble, context: context)
                if let opened { return opened }
            } catch {
                guard error.code == .limitExceeded else { throw error }
                attempt.wasLimited = true
            }
        }
        return nil
    }

    private mutating func askedPassphrases() throws -> [Passphrase] {
        if let passphrases { return passphrases }
        let given = try keys.passphrases()
        passphrases = given
        return given
    }
}
