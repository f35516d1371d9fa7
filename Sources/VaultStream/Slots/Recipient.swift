import VaultFormat

/// Someone who can open a container. Each recipient gets a slot, and any one of them opens the container.
public struct Recipient: Sendable {
    let maker: any SlotMaker
}

extension Recipient {
    /// What to try on a slot to learn whether it is this recipient's: the secrets at hand if it has the recipient's ID;
    /// the recipient's own secret if their slots have random IDs. Nil if the slot is not theirs.
    func opener(of slot: HeaderSlot) -> SlotTrials.Opener? {
        guard let identity = maker.identity(under: slot.preamble) else { return maker.secret.map { .secret($0) } }
        return slot.slot.identity == identity ? .atHand : nil
    }

    /// A recipient that is named twice needs one slot. Readers refuse two slots with the same key (SLOT-4).
    static func distinct(_ recipients: [Recipient], under preamble: Preamble) -> [Recipient] {
        guard recipients.count > 1 else { return recipients }
        var seen: Set<ArraySlice<UInt8>> = []
        return recipients.filter {
            guard $0.maker.idNamesOne, let identity = $0.maker.identity(under: preamble) else { return true }
            return seen.insert(identity).inserted
        }
    }
}
