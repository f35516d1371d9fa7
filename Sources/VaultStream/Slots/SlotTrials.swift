package import VaultFormat

/// Which slots are tried with which secrets, in which order, at what cost (Spec 4.4).
///
/// One value serves one opening, also where a header has to be read several times: the caller is asked once for each
/// key and once for passphrases, and no slot is tried twice. It holds secrets, so it goes as soon as the header is
/// open.
package struct SlotTrials {
    struct Trial: Hashable {
        let slot: Slot
        let preamble: Preamble
    }

    private struct PassphraseTrial: Hashable {
        let trial: Trial
        /// Which it is, not its bytes, so that no secret is hashed or compared.
        let passphrase: ObjectIdentifier
    }

    enum Result {
        case opened(FileKey)
        case refused
        case beyondLimits
        /// There was no memory for Argon2id; there is no second try (SLOT-18).
        case withoutMemory
        /// No secret for it.
        case notTried

        /// Whether another try could not come to anything else.
        var isFinal: Bool {
            switch self {
            case .opened, .refused, .withoutMemory: true
            case .beyondLimits, .notTried: false
            }
        }

        var wasLeftOut: Bool {
            switch self {
            case .beyondLimits, .withoutMemory: true
            case .opened, .refused, .notTried: false
            }
        }

        var wasRefused: Bool {
            if case .refused = self { true } else { false }
        }
    }

    private let keys: any KeyProvider
    let context: Context
    let limits: OpenLimits
    private var symmetricKeys: [KeyID: SymmetricKey?] = [:]
    private var passphrases: [Passphrase]?
    private(set) var results: [Trial: Result] = [:]
    /// The passphrase slots that may be stretched, in whichever intact copy they were found to be within the limits.
    private var within: Set<Trial> = []
    /// What came of stretching: nothing is stretched twice, whatever it is tried for.
    private var stretched: [PassphraseTrial: (passphrase: Passphrase, fileKey: FileKey?)] = [:]

    package init(keys: any KeyProvider, context: Context, limits: OpenLimits) {
        self.keys = keys
        self.context = context
        self.limits = limits
    }

    /// What opening found out.
    package struct Opened: Sendable {
        package let schedule: KeySchedule
        /// For new slots; whoever does not make any lets go of it at once.
        package let fileKey: FileKey
        /// Those of the copies whose MAC is right, in the order in which they were given; one at least.
        package let valid: [HeaderCopy]
    }

    /// Opens copies of one container, whose bytes up to the capacity are the same (SEEK-13 to SEEK-16; STR-7, STR-8).
    ///
    /// - Parameter copies: the copies that are not damaged, the one to be tried first first.
    /// - Throws: `wrongKey`, `limitExceeded`, `headerForged`, `memoryUnavailable`, and what the provider throws.
    package mutating func open(_ copies: [HeaderCopy]) throws -> Opened {
        guard let preamble = copies.first?.preamble else {
            // Nobody comes here: whoever has no intact copy has said why by then.
            throw VaultError(.headerDamaged, "no header copy is intact")
        }
        let candidates = order(copies)
        judge(copies)
        try askForKeys(candidates)
        guard let first = try firstThatOpens(candidates, preamble: preamble) else {
            throw try refusal(of: candidates.map { Trial(slot: $0, preamble: preamble) }, preamble: preamble)
        }
        let schedule = try KeySchedule(fileKey: first.fileKey, parameters: preamble.parameters, context: context)
        let valid = copies.filter { schedule.isValid($0) }
        if !valid.contains(where: { $0.slots.contains(first.slot) }) {
            // The slot that opened stands in no copy that a holder of the file key made: somebody put an old one there.
            // Whoever holds the key that was removed and the one that took its place must still get in by the latter
            // (SEEK-16).
            guard try firstThatOpens(order(valid), preamble: preamble) != nil else {
                throw VaultError(.headerForged, "a key fits, but the header was not made by a holder of the file key")
            }
        }
        return Opened(schedule: schedule, fileKey: first.fileKey, valid: valid)
    }

    /// What came of every slot of a copy, in their order.
    package mutating func openEvery(_ copy: HeaderCopy) throws -> [SlotOutcome] {
        try askForKeys(copy.slots)
        judge([copy])
        return try copy.slots.map { slot in
            switch try open(slot, preamble: copy.preamble) {
            case .opened: .opened
            case .refused: .refused
            case .beyondLimits, .withoutMemory, .notTried: .notTried
            }
        }
    }

    /// What there is to say where none of these slots opened (SLOT-16, SLOT-19).
    ///
    /// - Parameter preamble: one of theirs, for the work of a failed try.
    func refusal(of trials: [Trial], preamble: Preamble) throws -> VaultError {
        let outcomes = trials.map { results[$0] ?? .notTried }
        // Whoever matches no slot is to look like one whom a slot refused.
        if !outcomes.contains(where: \.wasRefused) {
            try SlotWrap.openNothing(preamble: preamble, context: context)
        }
        if outcomes.contains(where: \.wasLeftOut) {
            return VaultError(.limitExceeded, "opening by passphrase would cost more than the limits allow")
        }
        return VaultError(.wrongKey, "no key, passphrase or context given opens this container")
    }

    // MARK: Single slots, for who changes them

    /// Whether a secret at hand opens a slot of this copy.
    ///
    /// - Parameter slots: the only ones to be tried; nil for all of them.
    package mutating func opens(_ copy: HeaderCopy, only slots: [Slot]? = nil) throws -> Bool {
        try askForKeys(copy.slots)
        let chosen = slots.map(Set.init) ?? Set(copy.slots)
        judge([copy])
        return try firstThatOpens(order([copy]).filter(chosen.contains), preamble: copy.preamble) != nil
    }

    /// Whether this passphrase, which may be none of the provider's, opens a slot of this copy; nil for a slot that is
    /// left out, because to find out would cost more than the caller's limits allow or than there is memory.
    package mutating func opens(_ slot: Slot, with passphrase: Passphrase, of copy: HeaderCopy) throws -> Bool? {
        guard let cost = slot.argon2 else { return false }
        judge([copy])
        let trial = Trial(slot: slot, preamble: copy.preamble)
        guard within.contains(trial) else { return nil }
        // mutant: it takes a process without memory, which is a test of the command
        if case .withoutMemory? = results[trial] { return nil }
        do {
            return try fileKey(in: trial, with: passphrase, cost: cost) != nil
        } catch {
            // mutant: it takes a process without memory, which is a test of the command
            guard error.code == .limitExceeded else { throw error }
            if results[trial]?.isFinal != true { results[trial] = .withoutMemory }
            return nil
        }
    }

    /// Whether a slot is of the provider's own kind.
    package func hasPrivateSlot(_ slot: Slot) -> Bool {
        keys.privateSlots.contains { $0.includes(slot) }
    }

    /// The key with this ID, if the provider has it.
    package mutating func symmetricKey(_ id: KeyID) throws -> SymmetricKey? {
        try askForKeys([id])
        return symmetricKeys[id] ?? nil
    }

    /// Whether a secret at hand opens this slot.
    package mutating func opens(_ slot: Slot, of copy: HeaderCopy) throws -> Bool {
        if slot.kind == .symmetric { try askForKeys([slot.keyID]) } else { judge([copy]) }
        if case .opened = try open(slot, preamble: copy.preamble) { return true }
        return false
    }

    /// The secret at hand that opens this slot, for a new slot that takes as much to open; nil if none does.
    package mutating func recipient(of slot: Slot, in copy: HeaderCopy) throws -> Recipient? {
        guard try opens(slot, of: copy) else { return nil }
        if slot.kind == .symmetric { return try symmetricKey(slot.keyID).map { .key($0) } }
        guard let cost = slot.argon2 else { return nil }
        // Each was stretched for the slot when it was opened.
        let passphrase = try askForPassphrases().first { try opens(slot, with: $0, of: copy) == true }
        return passphrase.map { .passphrase($0, cost) }
    }

    // MARK: Order and limits

    /// The slots of all copies, those that are byte-identical once: symmetric ones first, then private ones, then those
    /// of passphrases, which cost the most (SLOT-15).
    private func order(_ copies: [HeaderCopy]) -> [Slot] {
        var seen: Set<Slot> = []
        let distinct = copies.flatMap(\.slots).filter { seen.insert($0).inserted }
        return distinct.filter { $0.kind == .symmetric } + distinct.filter(\.isPrivate)
            + distinct.filter { $0.kind == .passphrase }
    }

    /// Finds the slots that are within the caller's limits, of each copy by itself: over both together, an interrupted
    /// change of one of four passphrases would lock out every key. What is within them in one copy may be tried in all,
    /// whoever asks later (SLOT-17).
    mutating func judge(_ copies: [HeaderCopy]) {
        for copy in copies {
            for index in limits.slotsWithin(copy.slots) {
                within.insert(Trial(slot: copy.slots[index], preamble: copy.preamble))
            }
        }
    }

    private mutating func firstThatOpens(
        _ candidates: [Slot], preamble: Preamble
    ) throws -> (slot: Slot, fileKey: FileKey)? {
        for slot in candidates {
            if case .opened(let fileKey) = try open(slot, preamble: preamble) { return (slot, fileKey) }
        }
        return nil
    }

    // MARK: One slot

    /// - Parameter mayStretch: asked where the slot is a passphrase's, is within the limits and has not been tried.
    mutating func open(
        _ slot: Slot, preamble: Preamble, mayStretch: (Argon2Parameters) -> Bool = { _ in true }
    ) throws -> Result {
        let trial = Trial(slot: slot, preamble: preamble)
        if let known = results[trial], known.isFinal { return known }
        let result = try attempt(trial, mayStretch: mayStretch)
        results[trial] = result
        return result
    }

    private mutating func attempt(_ trial: Trial, mayStretch: (Argon2Parameters) -> Bool) throws -> Result {
        let (slot, preamble) = (trial.slot, trial.preamble)
        if slot.kind == .symmetric {
            guard let key = symmetricKeys[slot.keyID] ?? nil else { return .notTried }
            let fileKey = try SlotWrap.open(slot, with: key, preamble: preamble, context: context)
            return fileKey.map(Result.opened) ?? .refused
        }
        if slot.isPrivate {
            guard hasPrivateSlot(slot) else { return .notTried }
            guard let fileKey = try keys.fileKey(for: PrivateSlot(slot, preamble: preamble)) else { return .refused }
            let fits = KeySchedule.fits(fileKey.secret, preamble: preamble, context: context)
            return fits ? .opened(fileKey) : .refused
        }
        guard let cost = slot.argon2 else { return .notTried }
        let given = try askForPassphrases()
        guard !given.isEmpty else { return .notTried }
        guard within.contains(trial), mayStretch(cost) else { return .beyondLimits }
        do {
            for passphrase in given {
                if let fileKey = try fileKey(in: trial, with: passphrase, cost: cost) { return .opened(fileKey) }
            }
            return .refused
        } catch {
            // mutant: it takes a process without memory, which is a test of the command
            guard error.code == .limitExceeded else { throw error }
            return .withoutMemory
        }
    }

    private mutating func fileKey(
        in trial: Trial, with passphrase: Passphrase, cost: Argon2Parameters
    ) throws(VaultError) -> FileKey? {
        let stretching = PassphraseTrial(trial: trial, passphrase: ObjectIdentifier(passphrase))
        if let known = stretched[stretching] { return known.fileKey }
        let found = try SlotWrap.open(
            trial.slot, with: passphrase, cost: cost, preamble: trial.preamble, context: context)
        stretched[stretching] = (passphrase, found)
        return found
    }

    // MARK: Asking the caller

    /// Asks once for all keys that the header names: untrusted bytes do not decide how often a key service is called.
    mutating func askForKeys(_ slots: [Slot]) throws {
        try askForKeys(slots.filter { $0.kind == .symmetric }.map(\.keyID))
    }

    private mutating func askForKeys(_ ids: [KeyID]) throws {
        var seen: Set<KeyID> = []
        let wanted = ids.filter { symmetricKeys[$0] == nil && seen.insert($0).inserted }
        guard !wanted.isEmpty else { return }
        let given = try keys.symmetricKeys(for: wanted)
        for id in wanted { symmetricKeys[id] = .some(nil) }
        // A key counts for the slots with its own ID alone, whatever it was given for (SLOT-13).
        for key in given where seen.contains(key.id) { symmetricKeys[key.id] = key }
    }

    private mutating func askForPassphrases() throws -> [Passphrase] {
        if let passphrases { return passphrases }
        let given = try keys.passphrases()
        passphrases = given
        return given
    }
}
