package import VaultFormat

/// Which slots are meant, and for whom they are.
extension SlotTrials {
    /// Whether a selection means this slot of a copy (ROT-27).
    ///
    /// - Parameter recipients: the slots that open for them are not among the others.
    /// - Throws: `limitExceeded` where it takes a passphrase to tell and to try it would cost more than the limits
    ///   allow.
    package mutating func selects(
        _ slot: Slot, of copy: HeaderCopy, by selection: SlotSelection, beside recipients: [Recipient]
    ) throws -> Bool {
        if selection.ids.contains(slot.keyID) { return true }
        for passphrase in selection.passphrases where try opensAny(of: [slot], with: passphrase, of: copy) {
            return true
        }
        guard selection.others else { return false }
        for recipient in recipients {
            if case .passphrase(let passphrase, _) = recipient.kind {
                if try opensAny(of: [slot], with: passphrase, of: copy) { return false }
            } else if slot.identity == recipient.blankSlot.identity, try opens(slot, of: copy) {
                return false
            }
        }
        return true
    }

    /// Whether one of the slots opens with a passphrase.
    ///
    /// - Throws: `limitExceeded` if none does and one was left out, which might.
    mutating func opensAny(of slots: [Slot], with passphrase: Passphrase, of copy: HeaderCopy) throws -> Bool {
        var wasLeftOut = false
        for slot in slots {
            switch try opens(slot, with: passphrase, of: copy) {
            case true?: return true
            case false?: continue
            case nil: wasLeftOut = true
            }
        }
        guard !wasLeftOut else {
            throw VaultError(
                .limitExceeded, "to try a passphrase on one of the slots would cost more than the limits allow")
        }
        return false
    }

    /// Whether a recipient opens a slot of a copy. One that may not be tried does not count.
    ///
    /// - Parameter selection: the only slots that count, those that it names by ID or passphrase; nil for all.
    package mutating func opensAny(
        of copy: HeaderCopy, by recipient: Recipient, among selection: SlotSelection? = nil
    ) throws -> Bool {
        for slot in copy.slots {
            if var selection {
                selection.others = false
                guard try selects(slot, of: copy, by: selection, beside: []) else { continue }
            }
            if case .passphrase(let passphrase, _) = recipient.kind {
                if try opens(slot, with: passphrase, of: copy) == true { return true }
            } else if slot.identity == recipient.blankSlot.identity, try opens(slot, of: copy) {
                return true
            }
        }
        return false
    }

    /// Whether re-encryption for these recipients makes a slot that takes this one's place (REENC-5).
    package mutating func hasSuccessor(_ slot: Slot, of copy: HeaderCopy, among recipients: [Recipient]) throws -> Bool
    {
        guard slot.kind != nil else { return false }
        for recipient in recipients {
            if case .passphrase(let passphrase, _) = recipient.kind {
                if try opens(slot, with: passphrase, of: copy) == true { return true }
            } else if slot.identity == recipient.blankSlot.identity {
                return true
            }
        }
        return false
    }
}
