public import VaultFormat

/// Which slots of a header are meant: by their IDs, by what opens them, or all that are not meant to stay.
public struct SlotSelection: Sendable {
    /// Slots with these key IDs, whatever opens them: no secret is needed.
    public var ids: Set<KeyID>
    /// Slots that one of these secrets opens. Each kind has a property for its own.
    var secrets: [any SlotSecret]
    /// Every slot that opens with none of the secrets to be added.
    public var others: Bool

    /// The slots with these IDs, those that these passphrases open, and all others if `others` says so.
    public init(ids: Set<KeyID> = [], passphrases: [Passphrase] = [], others: Bool = false) {
        self.ids = ids
        secrets = passphrases
        self.others = others
    }

    /// No slot.
    public static let none = SlotSelection()
}
