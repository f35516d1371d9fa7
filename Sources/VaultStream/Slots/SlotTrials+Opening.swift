package import VaultFormat

/// Opening a header with the secrets at hand.
extension SlotTrials {
    /// The result of opening.
    package struct Opened: Sendable {
        package let schedule: KeySchedule
        /// For new slots. A caller that makes none drops it at once.
        package let fileKey: FileKey
        /// The copies with a right MAC, in the given order; at least one.
        package let valid: [HeaderCopy]
        /// A copy with a right MAC that is not of the expected state, and so is not in `valid`.
        package let unexpected: HeaderCopy?
    }

    /// Opens copies of one container, whose bytes up to the capacity are the same (SEEK-13 to SEEK-16; STR-7, STR-8).
    ///
    /// - Parameters:
    ///   - copies: the copies that are not damaged, in the order in which they are tried.
    ///   - headerFile: the header file that the caller gives: its slots are tried, and no others (DET-3).
    /// - Throws: `copiesDisagree`, `notDetached`, `wrongKey`, `limitExceeded`, `headerDetached`, `unexpectedState`,
    ///   `headerForged`, `memoryUnavailable`, and what the provider throws.
    package mutating func open(_ copies: [HeaderCopy], with headerFile: HeaderFile? = nil) throws -> Opened {
        guard let preamble = copies.first?.preamble else {
            // Callers without an intact copy have thrown by now.
            throw VaultError(.headerDamaged, "no header copy is intact")
        }
        try headerFile?.check(belongsTo: copies)
        var failures = Failures()
        guard let first = try firstThatOpens(slots(of: headerFile.map { [$0.copy] } ?? copies), &failures) else {
            throw try failures.error(
                preamble: preamble, context: context,
                lacksHeaderFile: headerFile == nil && copies.contains(where: \.isDetached))
        }
        let schedule = try KeySchedule(fileKey: first.fileKey, parameters: preamble.parameters, context: context)
        if let headerFile { try check(headerFile, schedule) }
        let made = copies.filter { schedule.isValid($0) }
        // An older header may have slots of keys that were removed since. Opened, it would show old keys as current;
        // rotated, it would become the newest header.
        let valid = made.filter { expecting.isMet(by: $0) }
        if valid.isEmpty, let copy = made.first, let expecting { throw expecting.mismatch(copy) }
        if headerFile != nil {
            // The slot that opened is in the header file, which a holder of the file key made.
            guard !valid.isEmpty else { throw Self.forged }
        } else if !valid.contains(where: { $0.slots.contains(first.slot.slot) }) {
            // No copy with a right MAC has the slot that opened: an attacker put an old slot there. A caller who has
            // both the removed key and its replacement must still get in with the replacement (SEEK-16).
            guard try opensAny(of: slots(of: valid)) else { throw Self.forged }
        }
        return Opened(
            schedule: schedule, fileKey: first.fileKey, valid: valid,
            unexpected: made.first { !expecting.isMet(by: $0) })
    }

    /// Opens a header file by itself, without its body (DET-10).
    ///
    /// - Throws: as for copies.
    mutating func open(_ headerFile: HeaderFile) throws -> (schedule: KeySchedule, fileKey: FileKey) {
        var failures = Failures()
        let preamble = headerFile.copy.preamble
        guard let first = try firstThatOpens(slots(of: headerFile.copy), &failures) else {
            throw try failures.error(preamble: preamble, context: context)
        }
        let schedule = try KeySchedule(fileKey: first.fileKey, parameters: preamble.parameters, context: context)
        try check(headerFile, schedule)
        return (schedule, first.fileKey)
    }

    private static let forged = VaultError(
        .headerForged, "a key fits, but the header was not made by a holder of the file key")

    /// Checks a header file of which a slot has opened (DET-3, step 6). Without the MAC, an attacker could put a slot of
    /// a removed key into it.
    func check(_ headerFile: HeaderFile, _ schedule: KeySchedule) throws(VaultError) {
        guard schedule.isValid(headerFile.copy) else { throw Self.forged.ofHeaderFile }
        if let expectingHeaderFile, !expectingHeaderFile.isMet(by: headerFile.copy) {
            throw expectingHeaderFile.mismatch(headerFile.copy).ofHeaderFile
        }
    }

    /// Whether a secret at hand opens one of the slots.
    ///
    /// - Parameter mayBegin: whether plugins get slots that they did not get before.
    package mutating func opensAny(of slots: [HeaderSlot], mayBegin: Bool = true) throws -> Bool {
        var failures = Failures()
        return try firstThatOpens(slots, mayBegin: mayBegin, &failures) != nil
    }

    /// The result for every slot of a copy, in their order.
    package mutating func openEvery(_ copy: HeaderCopy) throws -> [SlotOutcome] {
        let slots = slots(of: copy)
        try doAllRounds(slots)
        return try slots.map { slot in
            switch try attempt(slot) {
            case .opened: .opened
            case .refused: .refused
            case .leftOut, .noSecret: .notTried
            }
        }
    }

    /// The recipient whose secret at hand opens this slot, for a new slot of the same cost; nil if there is none.
    package mutating func recipient(of slot: HeaderSlot) throws -> Recipient? {
        guard case .opened(_, let secret) = try attempt(slot) else { return nil }
        return secret.recipient(like: slot.slot)
    }
}
