import VaultCrypto
package import VaultFormat

/// A slot in a header: its bytes, and the preamble that it is bound to. A slot that is in both copies is one slot: it
/// is tried once, and the result holds for both (SLOT-18).
///
/// `SlotTrials.slots(of:)` makes the slots of a copy. A slot made otherwise counts as beyond the limits.
package struct HeaderSlot: Hashable, Sendable {
    package let slot: Slot
    package let preamble: Preamble
    /// The place of its kind in `SlotKinds.all`; nil for a kind that this library does not open.
    let turn: Int?

    init(_ slot: Slot, _ preamble: Preamble) {
        self.slot = slot
        self.preamble = preamble
        turn = SlotKinds.turn(of: slot)
    }

    package func hash(into hasher: inout Hasher) {
        hasher.combine(bytes: slot.bytes.span)
        hasher.combine(bytes: preamble.commitment.span)
    }
}
