import VaultFormat

extension SlotTrials {
    /// The most containers that are found. If there are two or more, the caller has to choose, and wants to see all of
    /// them.
    package static let maximumFound = 64

    /// Tries the slots of all candidates, one kind of slot after the other. The cheapest kind comes first (RECOV-3 to
    /// RECOV-5).
    ///
    /// - Returns: the first copy that counts of each container, in the order of the candidates; at least one.
    /// - Throws: `headerDamaged`, `unexpectedState`, `headerForged`, `wrongKey`, `limitExceeded`, and what the provider throws.
    package mutating func openAll(_ candidates: HeaderCandidates) throws -> [FoundHeader] {
        guard let first = candidates.groups.first?.copies.first?.copy else {
            throw VaultError(.headerDamaged, "there is no intact header copy")
        }
        var groups = candidates.groups.map { CandidateGroup($0.copies) }
        // All are noted before the first is tried: the caller is asked once for all of them, and a slot that is within
        // the limits in one copy may be tried in all.
        for group in groups {
            for (_, copy) in group.copies { _ = slots(of: copy) }
        }
        var failures = Failures()
        var found: [(place: Int, header: FoundHeader)] = []
        for turn in SlotKinds.all.indices {
            for place in groups.indices where !groups[place].counts && found.count < Self.maximumFound {
                guard let header = try firstThatCounts(in: &groups[place], turn, &failures) else { continue }
                found.append((place, header))
            }
        }
        guard found.isEmpty else { return found.sorted { $0.place < $1.place }.map(\.header) }
        if let expecting, let copy = groups.lazy.compactMap(\.unexpected).first { throw expecting.mismatch(copy) }
        guard groups.allSatisfy({ $0.schedule == nil }) else {
            throw VaultError(
                .headerForged, "a key fits, but no header copy was made by a holder of the file key")
        }
        throw try failures.error(preamble: first.preamble, context: context)
    }

    /// Tries the slots of one kind in the copies of one container, until a slot of a copy with a right MAC opens. The
    /// first slot that opens gives the file key, whichever copy it is in. The file key then tells which copies have a
    /// right MAC.
    private mutating func firstThatCounts(
        in group: inout CandidateGroup, _ turn: Int, _ failures: inout Failures
    ) throws -> FoundHeader? {
        while let (slot, fileKey) = try firstThatOpens(in: group, turn, &failures) {
            if group.schedule == nil, let preamble = group.copies.first?.copy.preamble {
                let schedule = try KeySchedule(
                    fileKey: fileKey, parameters: preamble.parameters, context: context)
                group.schedule = schedule
                group.copies.removeAll { !schedule.isValid($0.copy) }
                let made = group.copies
                group.copies.removeAll { !expecting.isMet(by: $0.copy) }
                if group.copies.isEmpty { group.unexpected = made.first?.copy }
            }
            guard let schedule = group.schedule,
                let (offset, copy) = group.copies.first(where: { $0.copy.slots.contains(slot.slot) })
            else { continue }
            group.counts = true
            return FoundHeader(
                offset: offset, copy: copy,
                opener: try RecordOpener(schedule, copy))
        }
        return nil
    }

    private mutating func firstThatOpens(
        in group: CandidateGroup, _ turn: Int, _ failures: inout Failures
    ) throws -> (slot: HeaderSlot, fileKey: FileKey)? {
        // One copy at a time: a file can be full of them.
        for (_, copy) in group.copies {
            if let opened = try firstThatOpens(slots(of: copy), turns: turn..<turn + 1, &failures) { return opened }
        }
        return nil
    }
}

/// The candidates of one container, until one of them counts.
private struct CandidateGroup {
    /// Once a slot has opened, only the copies with a right MAC.
    var copies: [(offset: UInt64, copy: HeaderCopy)]
    var schedule: KeySchedule?
    /// A copy with a right MAC, if the caller accepts the state of none.
    var unexpected: HeaderCopy?
    var counts = false

    init(_ copies: [(offset: UInt64, copy: HeaderCopy)]) {
        self.copies = copies
    }
}
