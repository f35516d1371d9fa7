package import VaultFormat

/// One kind of slot in one opening: the secrets of this kind, and which slots they may be tried on.
///
/// Everything that depends on the kind of a slot is in the file of that kind: this type, its secret, its recipient, and
/// its part of the key providers. VaultFormat has the slot's type and the rules for parsing.
protocol SlotKind: Sendable {
    /// Whether a slot is of this kind, and usable. Other slots are kept and never tried (SLOT-12).
    static func includes(_ slot: Slot) -> Bool

    /// Whether a slot with the ID of a secret at hand has to open with it. If it does not, rotation replaces it
    /// (ROT-12) and checks it in the new copy (ROT-18).
    static var replacesDeadSlots: Bool { get }

    /// Whether the limits count only slots for which the caller has a secret. Then they are asked before one is tried.
    static var limitsNeedSecrets: Bool { get }

    /// What a slot of this kind says about quantum computers; nil for nothing (MIX-1).
    static func strength(of slot: Slot) -> SlotStrength?

    /// Checks new slots against the limits for writers, together with all slots of the new header (WRITE-5).
    ///
    /// - Throws: `doesNotFit`.
    static func check(adding new: [Slot], to all: [Slot]) throws(VaultError)

    init(_ limits: TrialLimits)

    /// Takes note of all slots of this kind in one header copy, before any of them is tried.
    mutating func note(_ slots: [HeaderSlot])

    /// Asks the caller for the secrets that the noted slots need. It asks for each once.
    mutating func ask(_ keys: any KeyProvider) throws

    /// The secrets from the caller that are tried on a slot if they may open it.
    func secrets(for slot: HeaderSlot) -> [any SlotSecret]

    /// How many times the slots are tried, each time with other secrets, until one opens.
    var roundCount: Int { get }

    /// Finds the secrets of a round, by work that is done only if no slot has opened in the rounds before.
    ///
    /// - Parameter slots: those of this kind that are tried, in their order.
    mutating func begin(_ round: Int, _ slots: [HeaderSlot]) throws

    /// The secrets from the caller that are tried on a slot in a round.
    func secrets(for slot: HeaderSlot, in round: Int) -> [any SlotSecret]

    /// What is tried on a slot to learn whether a secret opens it that the caller has named.
    mutating func openers(of secret: any SlotSecret, for slot: HeaderSlot) throws -> [any SlotSecret]

    /// Why there are no secrets for a slot, if that is not the caller's choice.
    func reasonWithoutSecret(_ slot: HeaderSlot) -> SlotTrials.Reason?

    /// Whether the limits allow a secret to be tried on a slot; if so, its cost counts from now on (SLOT-20, RECOV-4).
    mutating func mayTry(_ slot: HeaderSlot) -> Bool
}

extension SlotKind {
    static var replacesDeadSlots: Bool { false }

    static var limitsNeedSecrets: Bool { false }

    static func strength(of slot: Slot) -> SlotStrength? { nil }

    static func check(adding new: [Slot], to all: [Slot]) throws(VaultError) {}

    var roundCount: Int { 1 }

    mutating func begin(_ round: Int, _ slots: [HeaderSlot]) throws {}

    func secrets(for slot: HeaderSlot, in round: Int) -> [any SlotSecret] { secrets(for: slot) }

    mutating func openers(of secret: any SlotSecret, for slot: HeaderSlot) throws -> [any SlotSecret] { [secret] }

    func reasonWithoutSecret(_ slot: HeaderSlot) -> SlotTrials.Reason? { nil }

    mutating func mayTry(_ slot: HeaderSlot) -> Bool { true }
}

/// The kinds of slots that this library opens, in the order in which they are tried: by what a try costs (SLOT-18).
enum SlotKinds {
    static let all: [any SlotKind.Type] = [
        SymmetricSlots.self, PublicKeySlots.self, PrivateSlots.self, StanzaSlots.self, PassphraseSlots.self,
    ]

    static func turn(of slot: Slot) -> Int? { all.firstIndex { $0.includes(slot) } }

    /// Checks the slots of a header in which some are new (MIX-2, WRITE-5).
    ///
    /// - Parameter mayMix: whether the caller allows post-quantum and classical recipients in one header. A container is
    ///   only as confidential as its weakest slot.
    /// - Throws: `mixedRecipients`, `doesNotFit`.
    static func check(adding new: [Slot], to slots: [Slot], mayMix: Bool) throws(VaultError) {
        func strengths(_ slots: [Slot]) -> Set<SlotStrength> {
            Set(slots.compactMap { slot in all.lazy.compactMap { $0.strength(of: slot) }.first })
        }
        if !mayMix, !strengths(new).isEmpty, strengths(slots).count > 1 {
            throw VaultError(
                .mixedRecipients,
                "some of its public keys withstand a quantum computer and others do not; the weakest decides")
        }
        for kind in all { try kind.check(adding: new, to: slots) }
    }
}

extension Recipient {
    /// Checks all recipients of a new header together (MIX-2, WRITE-5).
    ///
    /// - Throws: `mixedRecipients`, `doesNotFit`.
    package static func check(_ recipients: [Recipient], under preamble: Preamble, mayMix: Bool) throws(VaultError) {
        let slots = distinct(recipients, under: preamble).map { $0.maker.outline(under: preamble) }
        try SlotKinds.check(adding: slots, to: slots, mayMix: mayMix)
    }
}

/// What a slot of a public key says about quantum computers (MIX-1).
enum SlotStrength {
    case strong
    case classical
}

/// What trying slots may cost.
struct TrialLimits: Sendable {
    /// The caller's limits for each header copy by itself (SLOT-20).
    let ofCopy: OpenLimits
    /// Whether the limits for the number of slots of public keys are for all copies together, as in a recovery (RECOV-3).
    let areOfAllCopies: Bool
    /// The limit for the sum of passes × memory over all slots that are stretched, in KiB (RECOV-4).
    let stretchingKiB: UInt64
}

/// Names slots that are to be removed, without opening them (ROT-13).
protocol SlotName: Sendable {
    func names(_ slot: HeaderSlot) -> Bool
}

/// What opens slots of one kind: a key, a passphrase, a program.
///
/// It is a class, so that trials can tell secrets apart by their identity. No secret is hashed or compared for that.
protocol SlotSecret: SlotName, AnyObject {
    /// Whether this secret can open a slot, by the slot's kind and ID. Such a slot counts as left out if the limits
    /// forbid the try. All other slots are ignored.
    func mayOpen(_ slot: HeaderSlot) -> Bool

    /// Tries this secret on a slot that it may open. Checks no limits (SLOT-14).
    func attempt(_ slot: HeaderSlot, context: Context) throws -> SlotTrials.Verdict

    /// A recipient with this secret, for a new slot that costs as much to open as this one; nil if only the caller's
    /// program can make such a slot.
    func recipient(like slot: Slot) -> Recipient?

    /// Whether it is the same secret as another.
    func isSame(as other: any SlotSecret) -> Bool
}

extension SlotSecret {
    func names(_ slot: HeaderSlot) -> Bool { false }

    func isSame(as other: any SlotSecret) -> Bool { self === other }
}

/// What makes the slots of one recipient.
protocol SlotMaker: Sendable {
    /// The secret that opens these slots, if the maker has it.
    var secret: (any SlotSecret)? { get }

    /// Whether all slots with this ID belong to this one recipient. If so, one of them is enough, and re-encryption
    /// counts the new slot as the successor of the old one (REENC-5).
    var idNamesOne: Bool { get }

    /// Checks the recipient against the limits for writers, before anything is written (WRITE-8).
    ///
    /// - Throws: `invalidArgument`.
    func check() throws(VaultError)

    /// Whether a secret at hand opens this recipient's slots.
    func isOpened(by secret: any SlotSecret) -> Bool

    /// What to try on a slot to learn whether it is this recipient's; nil if it is not, or if nothing at hand can tell.
    func opener(of slot: HeaderSlot) -> SlotTrials.Opener?

    /// The same for a slot that the recipient's slot in a new container takes the place of (REENC-5).
    func predecessorOpener(of slot: HeaderSlot) -> SlotTrials.Opener?

    /// Type and ID of its slots; nil if the ID is random and only a try tells which slots are the recipient's.
    func identity(under preamble: Preamble) -> ArraySlice<UInt8>?

    /// A slot with the length and cost of the slot to come, so that the header's size is known before a slot is made.
    func outline(under preamble: Preamble) -> Slot

    /// Wraps the file key.
    func make(for fileKey: FileKey, preamble: Preamble, randomness: Randomness) throws -> MadeSlot
}

/// A new slot.
struct MadeSlot {
    let slot: Slot
    /// What opens the slot if nobody at hand has the recipient's secret (ROT-18).
    let opener: (any SlotSecret)?
}

extension SlotMaker {
    var idNamesOne: Bool { true }

    func check() throws(VaultError) {}

    func isOpened(by secret: any SlotSecret) -> Bool { false }

    /// The secrets at hand if the slot has the recipient's ID; the recipient's own secret if their slots have random IDs.
    func opener(of slot: HeaderSlot) -> SlotTrials.Opener? {
        guard let identity = identity(under: slot.preamble) else { return secret.map { .secret($0) } }
        return slot.slot.identity == identity ? .atHand : nil
    }

    func predecessorOpener(of slot: HeaderSlot) -> SlotTrials.Opener? { opener(of: slot) }

    func identity(under preamble: Preamble) -> ArraySlice<UInt8>? { outline(under: preamble).identity }
}
