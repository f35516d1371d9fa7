public import VaultFormat

/// Which slots of a header are meant: by their IDs, by what opens them, or all that are not meant to stay.
public struct SlotSelection: Sendable {
    /// Slots with these key IDs, whatever opens them: no secret is needed.
    public var ids: Set<KeyID>
    /// Slots that one of these passphrases opens; the ID of such a slot is a random salt.
    public var passphrases: [Passphrase]
    /// Every slot that opens with none of the secrets to be added.
    public var others: Bool

    /// The slots with these IDs, those that these passphrases open, and all others if `others` says so.
    public init(ids: Set<KeyID> = [], passphrases: [Passphrase] = [], others: Bool = false) {
        self.ids = ids
        self.passphrases = passphrases
        self.others = others
    }

    /// No slot.
    public static let none = SlotSelection()

    /// The secrets whose slots are meant.
    var secrets: [any SlotSecret] { passphrases }
}
