package import VaultFormat

/// Which slots are meant, and for whom they are.
extension SlotTrials {
    /// Whether a selection means this slot of a copy (ROT-11, REENC-5).
    ///
    /// - Parameter recipients: whose slots are not among the others.
    package mutating func selects(
        _ slot: Slot, of copy: HeaderCopy, by selection: SlotSelection, beside recipients: [Recipient]
    ) throws -> Bool {
        if selection.ids.contains(slot.keyID) { return true }
        for passphrase in selection.passphrases where try opens(slot, with: passphrase, of: copy) { return true }
        return try selection.others && !isForOneOf(recipients, slot, of: copy)
    }

    /// Whether a slot is for one of the recipients: it bears what his own would bear, type and key ID; that of a passphrase
    /// can be told only by opening it.
    package mutating func isForOneOf(_ recipients: [Recipient], _ slot: Slot, of copy: HeaderCopy) throws -> Bool {
        for recipient in recipients {
            if case .passphrase(let passphrase, _) = recipient.kind {
                if try opens(slot, with: passphrase, of: copy) { return true }
            } else if slot.identity == recipient.blankSlot.identity {
                return true
            }
        }
        return false
    }
}
