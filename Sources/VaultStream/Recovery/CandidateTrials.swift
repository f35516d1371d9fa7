import VaultFormat

extension SlotTrials {
    /// The most containers that are found. If there are two or more, the caller has to choose, and wants to see all of
    /// them.
    package static let maximumFound = 64

    /// Tries the slots of all candidates, one kind of slot after the other. The cheapest kind comes first (RECOV-3 to
    /// RECOV-5).
    ///
    /// - Parameter headerFile: one more candidate, before all others (DET-6).
    /// - Returns: the first copy that counts of each container, in the order of the candidates; at least one. If the
    ///   header file counts, and no copy of its body, the header file.
    /// - Throws: `headerDamaged`, `unexpectedState`, `headerForged`, `wrongKey`, `limitExceeded`, and what the provider throws.
    package mutating func openAll(
        _ candidates: HeaderCandidates, with headerFile: HeaderFile? = nil
    ) throws -> [FoundHeader] {
        guard let first = headerFile?.copy ?? candidates.groups.first?.copies.first?.copy else {
            throw VaultError(.headerDamaged, "there is no intact header copy")
        }
        let visible = candidates.groups.map { CandidateGroup($0.copies.map { ($0.offset, $0.copy) }, expecting) }
        var groups = (headerFile.map { [CandidateGroup([(nil, $0.copy)], expectingHeaderFile)] } ?? []) + visible
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
        guard found.isEmpty else {
            let headers = found.sorted { $0.place < $1.place }.map(\.header)
            guard headerFile != nil, let schedule = groups.first?.schedule, let file = headers.first,
                file.offset == nil
            else { return headers }
            return try Self.headers(openedBy: file, schedule, among: visible, [FoundHeader](headers.dropFirst()))
        }
        for group in groups {
            if let copy = group.unexpected, let expecting = group.expecting { throw expecting.mismatch(copy) }
        }
        guard groups.allSatisfy({ $0.schedule == nil }) else {
            throw VaultError(
                .headerForged, "a key fits, but no header copy was made by a holder of the file key")
        }
        throw try failures.error(
            preamble: first.preamble, context: context,
            lacksHeaderFile: headerFile == nil && groups.contains { $0.copies.contains { $0.copy.isDetached } })
    }

    /// The headers that count where a header file counts: with it, the detached copies of its body do (DET-6).
    ///
    /// - Parameters:
    ///   - file: the header file.
    ///   - others: the copies that count by their own slots.
    private static func headers(
        openedBy file: FoundHeader, _ schedule: KeySchedule, among groups: [CandidateGroup], _ others: [FoundHeader]
    ) throws -> [FoundHeader] {
        var headers: [FoundHeader] = []
        for group in groups {
            var own = others.filter { other in group.copies.contains { $0.offset == other.offset } }
            for (offset, copy) in group.copies
            where copy.isDetached && copy.preamble == file.copy.preamble && schedule.isValid(copy)
                && group.expecting.isMet(by: copy)
            {
                own.append(FoundHeader(offset: offset, copy: copy, opener: try RecordOpener(schedule, copy)))
            }
            if let first = own.min(by: { $0.offset ?? 0 < $1.offset ?? 0 }) { headers.append(first) }
        }
        // The header file is a container of its own if the copies that count are those of others.
        let isAlone = !headers.contains { $0.copy.preamble == file.copy.preamble }
        return isAlone ? [file] + headers : headers
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
                let expecting = group.expecting
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
    var copies: [(offset: UInt64?, copy: HeaderCopy)]
    /// The state that the caller requires of them.
    let expecting: HeaderPin?
    var schedule: KeySchedule?
    /// A copy with a right MAC, if the caller accepts the state of none.
    var unexpected: HeaderCopy?
    var counts = false

    init(_ copies: [(offset: UInt64?, copy: HeaderCopy)], _ expecting: HeaderPin?) {
        self.copies = copies
        self.expecting = expecting
    }
}
