package import VaultFormat

/// Which slots are tried with which secrets, in which order, at what cost (Spec 4.4).
///
/// One value serves one opening, even if a header has to be read several times: the caller is asked once for each key
/// and once for passphrases, and no secret is tried twice on a slot. It holds secrets, so drop it as soon as the header
/// is open.
package struct SlotTrials {
    /// What is tried on a slot.
    enum Opener {
        /// The secrets of the caller, who is asked for them.
        case atHand
        /// Only this secret. It may not be one of the caller's.
        case secret(any SlotSecret)
        /// Those secrets of the caller that belong to this recipient.
        case ofRecipient(any SlotMaker)
    }

    /// The result of trying a slot.
    enum Verdict {
        case opened(FileKey, by: any SlotSecret)
        case refused
        /// There is a secret for it, but it is not tried.
        case leftOut(Reason)
        /// There is no secret for it.
        case noSecret
    }

    /// Why a slot for which there is a secret is not tried.
    enum Reason {
        /// A plugin that was to unwrap it is missing or failed (SLOT-34).
        case plugin(VaultError)
        /// The limits do not allow it (SLOT-20, SLOT-33, RECOV-4).
        case limits
        /// There is not enough memory (SLOT-21).
        case memory

        /// Which of several reasons is the error's.
        fileprivate var weight: Int {
            switch self {
            case .plugin: 0
            case .limits: 1
            case .memory: 2
            }
        }

        /// The error if nothing else opens (SLOT-22). The system's error tells a lack of memory from a limit: only then
        /// the same call may succeed later.
        var error: VaultError {
            switch self {
            case .plugin(let error): error
            case .limits: VaultError(.limitExceeded, "trying all given secrets would cost more than the limits allow")
            case .memory:
                VaultError(
                    .limitExceeded, "there is not enough memory to try a passphrase", errorNumber: VaultError.noMemory)
            }
        }
    }

    private struct Try: Hashable {
        let slot: HeaderSlot
        /// The identity of the secret, so that no secret is hashed or compared.
        let secret: ObjectIdentifier
    }

    let context: Context
    /// The state of the header that the caller requires (ARG-6).
    let expecting: HeaderPin?
    /// The header file that the caller gives, and the state that they require of it (DET-3, DET-5).
    package var headerFile: HeaderFileSource?
    let expectingHeaderFile: HeaderPin?
    private let keys: any KeyProvider
    private var kinds: [any SlotKind]
    /// The results so far: nothing is tried or stretched twice. The secrets stay here so that no other object can get
    /// the identity of one.
    private var verdicts: [Try: (verdict: Verdict, secret: any SlotSecret)] = [:]
    /// Slots that there was no memory for. They are not tried again (SLOT-21).
    private var withoutMemory: Set<HeaderSlot> = []

    /// - Parameters:
    ///   - credentials: the caller's. The limits count for each header copy by itself.
    ///   - maximumStretchingKiB: the most that passes × memory may sum up to over all slots that are stretched.
    ///   - limitsAreOfAllCopies: whether the slots of public keys that may be tried are counted over all copies.
    package init(
        _ credentials: Credentials, maximumStretchingKiB: UInt64 = .max, limitsAreOfAllCopies: Bool = false
    ) {
        keys = credentials.keys
        context = credentials.context
        expecting = credentials.expecting
        headerFile = credentials.headerFile
        expectingHeaderFile = credentials.expectingHeaderFile
        let limits = TrialLimits(
            ofCopy: credentials.limits, areOfAllCopies: limitsAreOfAllCopies, stretchingKiB: maximumStretchingKiB)
        kinds = SlotKinds.all.map { $0.init(limits) }
    }

    // MARK: Slots

    /// The slots of a copy in their order, noted so that they can be tried.
    package mutating func slots(of copy: HeaderCopy) -> [HeaderSlot] {
        let slots = copy.slots.map { HeaderSlot($0, copy.preamble) }
        for turn in kinds.indices { kinds[turn].note(slots.filter { $0.turn == turn }) }
        return slots
    }

    /// The slots of several copies, each slot once.
    package mutating func slots(of copies: [HeaderCopy]) -> [HeaderSlot] {
        var seen: Set<HeaderSlot> = []
        return copies.flatMap { slots(of: $0) }.filter { seen.insert($0).inserted }
    }

    // MARK: Trying

    /// Tries a slot within the limits.
    ///
    /// - Parameter round: the round of the trials, if only the secrets of one round are tried.
    /// - Throws: what the key provider throws; `memoryUnavailable`.
    mutating func attempt(
        _ slot: HeaderSlot, by opener: Opener = .atHand, in round: Int? = nil
    ) throws -> Verdict {
        guard let turn = slot.turn else { return .noSecret }
        if type(of: kinds[turn]).limitsNeedSecrets { try kinds[turn].ask(keys) }
        var secrets: [any SlotSecret]
        switch opener {
        case .atHand:
            try kinds[turn].ask(keys)
            let kind = kinds[turn]
            secrets = round.map { kind.secrets(for: slot, in: $0) } ?? kind.secrets(for: slot)
        case .secret(let secret):
            secrets = secret.mayOpen(slot) ? try kinds[turn].openers(of: secret, for: slot) : []
        case .ofRecipient(let maker):
            secrets = try secretsAtHand(of: maker, for: slot)
        }
        secrets.removeAll { !$0.mayOpen(slot) }
        guard !secrets.isEmpty else { return kinds[turn].reasonWithoutSecret(slot).map(Verdict.leftOut) ?? .noSecret }
        var result = Verdict.refused
        for secret in secrets {
            let verdict = try attempt(slot, with: secret, turn: turn)
            if case .opened = verdict { return verdict }
            if case .leftOut = verdict { result = verdict }
        }
        return result
    }

    /// The secrets at hand that belong to a recipient, for one of their slots.
    mutating func secretsAtHand(of maker: any SlotMaker, for slot: HeaderSlot) throws -> [any SlotSecret] {
        if let secret = maker.secret { return [secret] }
        guard let turn = slot.turn else { return [] }
        try kinds[turn].ask(keys)
        return kinds[turn].secrets(for: slot).filter { maker.isOpened(by: $0) }
    }

    private mutating func attempt(_ slot: HeaderSlot, with secret: any SlotSecret, turn: Int) throws -> Verdict {
        let place = Try(slot: slot, secret: ObjectIdentifier(secret))
        if let known = verdicts[place] { return known.verdict }
        // mutant: only a process without memory gets here; a test of the command does that
        guard !withoutMemory.contains(slot) else { return .leftOut(.memory) }
        guard kinds[turn].mayTry(slot) else { return .leftOut(.limits) }
        let verdict = try secret.attempt(slot, context: context)
        if case .leftOut = verdict { withoutMemory.insert(slot) } else { verdicts[place] = (verdict, secret) }
        return verdict
    }

    /// The first slot that a secret at hand opens, in the order of SLOT-18.
    ///
    /// - Parameters:
    ///   - turns: the kinds to try, by their places in `SlotKinds.all`.
    ///   - mayBegin: whether work is done to find further secrets: whether plugins get slots.
    ///   - failures: collects the results of the slots that did not open.
    mutating func firstThatOpens(
        _ slots: [HeaderSlot], turns: Range<Int> = SlotKinds.all.indices, mayBegin: Bool = true,
        _ failures: inout Failures
    ) throws -> (slot: HeaderSlot, fileKey: FileKey)? {
        for turn in turns {
            let slots = slots.filter { $0.turn == turn }
            guard !slots.isEmpty else { continue }
            try kinds[turn].ask(keys)
            for round in 0..<(mayBegin ? kinds[turn].roundCount : 1) {
                if mayBegin { try kinds[turn].begin(round, slots) }
                for slot in slots {
                    let verdict = try attempt(slot, in: mayBegin ? round : nil)
                    if case .opened(let fileKey, _) = verdict { return (slot, fileKey) }
                    failures.count(verdict)
                }
            }
        }
        return nil
    }

    /// Does all rounds for the slots of a copy, whatever opens. The results are those of `attempt` afterwards.
    mutating func doAllRounds(_ slots: [HeaderSlot]) throws {
        for turn in kinds.indices {
            let slots = slots.filter { $0.turn == turn }
            guard !slots.isEmpty else { continue }
            try kinds[turn].ask(keys)
            for round in 0..<kinds[turn].roundCount { try kinds[turn].begin(round, slots) }
        }
    }

    /// The results of slots that did not open.
    struct Failures {
        private var wereRefused = false
        private var leftOut: Reason?

        mutating func count(_ verdict: Verdict) {
            switch verdict {
            case .refused: wereRefused = true
            case .leftOut(let reason): if reason.weight >= leftOut?.weight ?? 0 { leftOut = reason }
            case .opened, .noSecret: break
            }
        }

        /// The error if none of the slots opened (SLOT-19, SLOT-22).
        ///
        /// - Parameters:
        ///   - preamble: that of one of the slots, for the work of a failed try.
        ///   - lacksHeaderFile: whether the slots are in a header file that was not given.
        func error(preamble: Preamble, context: Context, lacksHeaderFile: Bool = false) throws -> VaultError {
            // A caller who has no secret for any slot must take as long as one whose secret was refused.
            if !wereRefused { try SymmetricSlots.openNothing(preamble: preamble, context: context) }
            if let leftOut { return leftOut.error }
            if lacksHeaderFile {
                return VaultError(.headerDetached, "its keys are in a header file, which was not given")
            }
            return VaultError(.wrongKey, "no key, passphrase or context given opens this container")
        }
    }

    // MARK: For rotation

    /// The recipient who needs a new slot in place of this one, because it has the ID of their secret and does not open
    /// with it (ROT-12). Nil if the slot may stay.
    mutating func ownerOfDeadSlot(_ slot: HeaderSlot) throws -> Recipient? {
        guard let turn = slot.turn, type(of: kinds[turn]).replacesDeadSlots, case .refused = try attempt(slot) else {
            return nil
        }
        return kinds[turn].secrets(for: slot).lazy.compactMap { $0.recipient(like: slot.slot) }.first
    }
}
