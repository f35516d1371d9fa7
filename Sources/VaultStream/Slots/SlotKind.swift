import VaultFormat

/// One kind of slot in one opening: the secrets of this kind, and which slots they may be tried on.
///
/// Everything that depends on the kind of a slot is in the file of that kind: this type, its secret, its recipient, and
/// its part of the key providers. VaultFormat has the slot's type and the rules for parsing.
protocol SlotKind: Sendable {
    /// Which slots are of this kind.
    static var kind: SlotDescription.Kind { get }

    /// Whether a slot with the ID of a secret at hand has to open with it. If it does not, rotation replaces it
    /// (ROT-11) and checks it in the new copy (ROT-16).
    static var replacesDeadSlots: Bool { get }

    init(_ limits: TrialLimits)

    /// Takes note of all slots of this kind in one header copy, before any of them is tried.
    mutating func note(_ slots: [HeaderSlot])

    /// Asks the caller for the secrets that the noted slots need. It asks for each once.
    mutating func ask(_ keys: any KeyProvider) throws

    /// The secrets from the caller that are tried on a slot if they may open it.
    func secrets(for slot: HeaderSlot) -> [any SlotSecret]

    /// Whether the limits allow a secret to be tried on a slot; if so, its cost counts from now on (SLOT-17, RECOV-4).
    mutating func mayTry(_ slot: HeaderSlot) -> Bool
}

extension SlotKind {
    static var replacesDeadSlots: Bool { false }

    mutating func mayTry(_ slot: HeaderSlot) -> Bool { true }
}

/// The kinds of slots that this library opens, in the order in which they are tried: by what a try costs (SLOT-15).
enum SlotKinds {
    static let all: [any SlotKind.Type] = [SymmetricSlots.self, PrivateSlots.self, PassphraseSlots.self]

    static func turn(of slot: Slot) -> Int? {
        let kind = slot.kind
        return all.firstIndex { $0.kind == kind }
    }
}

/// What trying slots may cost.
struct TrialLimits: Sendable {
    /// The caller's limits for each header copy by itself (SLOT-17).
    let ofCopy: OpenLimits
    /// The limit for the sum of passes × memory over all slots that are stretched, in KiB (RECOV-4).
    let stretchingKiB: UInt64
}

/// What opens slots of one kind: a key, a passphrase, a program.
///
/// It is a class, so that trials can tell secrets apart by their identity. No secret is hashed or compared for that.
protocol SlotSecret: AnyObject, Sendable {
    /// Whether this secret can open a slot, by the slot's kind and ID. Such a slot counts as left out if the limits
    /// forbid the try. All other slots are ignored.
    func mayOpen(_ slot: HeaderSlot) -> Bool

    /// Tries this secret on a slot that it may open. Checks no limits (SLOT-11).
    func attempt(_ slot: HeaderSlot, context: Context) throws -> SlotTrials.Verdict

    /// A recipient with this secret, for a new slot that costs as much to open as this one; nil if only the caller's
    /// program can make such a slot.
    func recipient(like slot: Slot) -> Recipient?

    /// Whether it is the same secret as another.
    func isSame(as other: any SlotSecret) -> Bool
}

extension SlotSecret {
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

    /// Type and ID of its slots; nil if the ID is random and only a try tells which slots are the recipient's.
    func identity(under preamble: Preamble) -> ArraySlice<UInt8>?

    /// A slot with the length and cost of the slot to come, so that the header's size is known before a slot is made.
    func outline(under preamble: Preamble) -> Slot

    /// Wraps the file key.
    func slot(for fileKey: FileKey, preamble: Preamble, randomness: Randomness) throws -> Slot
}

extension SlotMaker {
    var idNamesOne: Bool { true }

    func check() throws(VaultError) {}

    func identity(under preamble: Preamble) -> ArraySlice<UInt8>? { outline(under: preamble).identity }
}
