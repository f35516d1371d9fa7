import VaultFormat

extension SlotTrials {
    /// How many containers are told apart. Two are enough for the caller to have to choose, but he wants to see which.
    package static let maximumFound = 64

    /// Tries the slots of all candidates: the symmetric ones of all of them first, then the private ones, then those of
    /// passphrases (RECOV-3 to RECOV-5).
    ///
    /// - Parameter maximumStretchingKiB: the most that passes × memory may sum up to over all slots that are stretched.
    /// - Returns: of each container the first copy that counts, in the order of the candidates; one at least.
    /// - Throws: `headerDamaged`, `headerForged`, `wrongKey`, `limitExceeded`, and what the provider throws.
    package mutating func openAll(
        _ candidates: HeaderCandidates, maximumStretchingKiB: UInt64
    ) throws -> [FoundHeader] {
        guard let first = candidates.groups.first?.copies.first?.copy else {
            throw VaultError(.headerDamaged, "there is no intact header copy")
        }
        var groups = candidates.groups.map { CandidateGroup($0.copies) }
        let slots = groups.flatMap { group in group.copies.flatMap(\.copy.slots) }
        try askForKeys(slots)
        for group in groups { judge(group.copies.map(\.copy)) }
        // A slot is within the caller's limits by its own copy; the sum is over all that are stretched.
        var left = maximumStretchingKiB
        var found: [(place: Int, header: FoundHeader)] = []
        for isOfClass in [{ $0.kind == .symmetric }, \.isPrivate, { $0.kind == .passphrase }] as [(Slot) -> Bool] {
            for place in groups.indices where !groups[place].counts && found.count < Self.maximumFound {
                guard let header = try firstThatCounts(in: &groups[place], where: isOfClass, &left) else { continue }
                found.append((place, header))
            }
        }
        guard found.isEmpty else { return found.sorted { $0.place < $1.place }.map(\.header) }
        guard groups.allSatisfy({ $0.schedule == nil }) else {
            throw VaultError(
                .headerForged, "a key fits, but no header copy was made by a holder of the file key")
        }
        let trials = groups.flatMap { group in
            group.copies.flatMap { entry in entry.copy.slots.map { Trial(slot: $0, preamble: entry.copy.preamble) } }
        }
        throw try refusal(of: trials, preamble: first.preamble)
    }

    /// Tries the slots of one class in the copies of one container, until one opens that stands in a copy with a right
    /// MAC. The first that opens gives the file key, whatever copy it stands in, and with it which copies have one.
    private mutating func firstThatCounts(
        in group: inout CandidateGroup, where isOfClass: (Slot) -> Bool, _ left: inout UInt64
    ) throws -> FoundHeader? {
        while let (slot, fileKey) = try firstThatOpens(in: group, where: isOfClass, &left) {
            if group.schedule == nil, let preamble = group.copies.first?.copy.preamble {
                let schedule = try KeySchedule(
                    fileKey: fileKey, parameters: preamble.parameters, context: context)
                group.schedule = schedule
                group.copies.removeAll { !schedule.isValid($0.copy) }
            }
            guard let schedule = group.schedule,
                let (offset, copy) = group.copies.first(where: { $0.copy.slots.contains(slot) })
            else { continue }
            group.counts = true
            return FoundHeader(
                offset: offset, copy: copy,
                cipher: try RecordCipher(schedule, preamble: copy.preamble, capacity: copy.capacity))
        }
        return nil
    }

    private mutating func firstThatOpens(
        in group: CandidateGroup, where isOfClass: (Slot) -> Bool, _ left: inout UInt64
    ) throws -> (slot: Slot, fileKey: FileKey)? {
        for (_, copy) in group.copies {
            for slot in copy.slots where isOfClass(slot) {
                let result = try open(slot, preamble: copy.preamble) { cost in
                    guard cost.stretchingKiB <= left else { return false }
                    left -= cost.stretchingKiB
                    return true
                }
                if case .opened(let fileKey) = result { return (slot, fileKey) }
            }
        }
        return nil
    }
}

/// The candidates of one container, on the way to the one that counts.
private struct CandidateGroup {
    /// Once a slot has opened, those alone whose MAC is right.
    var copies: [(offset: UInt64, copy: HeaderCopy)]
    var schedule: KeySchedule?
    var counts = false

    init(_ copies: [(offset: UInt64, copy: HeaderCopy)]) {
        self.copies = copies
    }
}
