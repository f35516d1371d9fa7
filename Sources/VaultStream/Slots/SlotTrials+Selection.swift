import VaultFormat

/// Which slots a selection chooses, and which slots are a recipient's.
extension SlotTrials {
    /// Whether one of the slots opens.
    ///
    /// - Throws: `limitExceeded` if none opens, and `opener` is one secret that might open a slot that the limits leave
    ///   out. For the secrets at hand, a slot that is left out counts as one that does not open.
    mutating func opensAny(of slots: [HeaderSlot], by opener: Opener) throws -> Bool {
        var leftOut: Reason?
        for slot in slots {
            switch try attempt(slot, by: opener) {
            case .opened: return true
            case .refused, .noSecret: continue
            case .leftOut(let reason): leftOut = reason
            }
        }
        if let leftOut, case .secret = opener { throw leftOut.error }
        return false
    }

    /// Whether a selection chooses this slot (ROT-13).
    ///
    /// - Parameter recipients: slots that open for them do not count as others.
    /// - Throws: `limitExceeded` if only a try can tell and it would cost more than the limits allow.
    package mutating func selects(
        _ slot: HeaderSlot, by selection: SlotSelection, beside recipients: [Recipient]
    ) throws -> Bool {
        if selection.ids.contains(slot.slot.keyID) { return true }
        if selection.names.contains(where: { $0.names(slot) }) { return true }
        if selection.secrets.contains(where: { $0.names(slot) }) { return true }
        for secret in selection.secrets where try opensAny(of: [slot], by: .secret(secret)) { return true }
        guard selection.others else { return false }
        for recipient in recipients {
            if let opener = recipient.maker.opener(of: slot), try opensAny(of: [slot], by: opener) { return false }
        }
        return true
    }

    /// Whether a recipient opens one of the slots. A slot that is left out does not count.
    ///
    /// - Parameter selection: counts only slots that it names by ID or secret; nil counts all.
    package mutating func opensAny(
        of slots: [HeaderSlot], by recipient: Recipient, among selection: SlotSelection? = nil
    ) throws -> Bool {
        for slot in slots {
            if var selection {
                selection.others = false
                guard try selects(slot, by: selection, beside: []) else { continue }
            }
            if let opener = recipient.maker.opener(of: slot), case .opened = try attempt(slot, by: opener) {
                return true
            }
        }
        return false
    }

    /// Whether a secret at hand, or of one of these recipients, would open a slot that is made for one of them.
    package mutating func wouldOpen(aSlotFor recipients: [Recipient], under preamble: Preamble) throws -> Bool {
        for recipient in recipients {
            if recipient.maker.secret != nil { return true }
            let slot = HeaderSlot(recipient.maker.outline(under: preamble), preamble)
            if try !secretsAtHand(of: recipient.maker, for: slot).isEmpty { return true }
        }
        return false
    }

    /// Whether re-encryption for these recipients makes a slot that a secret at hand opens, as far as that is known: the
    /// successor of a slot that has opened counts, because a plugin would have to be asked again.
    package mutating func keepAccess(
        to slots: [HeaderSlot], among recipients: [Recipient], under preamble: Preamble
    ) throws -> Bool {
        if try wouldOpen(aSlotFor: recipients, under: preamble) { return true }
        for slot in slots where try opensAny(of: [slot], mayBegin: false) {
            if try hasSuccessor(slot, among: recipients) { return true }
        }
        return false
    }

    /// Whether re-encryption for these recipients makes a slot that takes this one's place (REENC-5).
    package mutating func hasSuccessor(_ slot: HeaderSlot, among recipients: [Recipient]) throws -> Bool {
        for recipient in recipients {
            switch recipient.maker.predecessorOpener(of: slot) {
            case .atHand?:
                if recipient.maker.idNamesOne { return true }
            case let secret?:
                if case .opened = try attempt(slot, by: secret) { return true }
            case nil: continue
            }
        }
        return false
    }
}
