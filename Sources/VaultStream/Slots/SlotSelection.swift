public import VaultFormat

/// Chooses slots of a header: by their IDs, by the secrets that open them, or all others.
public struct SlotSelection: Sendable {
    /// Slots with these key IDs, whatever opens them: no secret is needed.
    public var ids: Set<KeyID>
    /// Slots that one of these secrets opens. Each kind of slot adds a property for its own secrets.
    var secrets: [any SlotSecret]
    /// What names slots without opening them. A kind of slot can add a property for its own names.
    var names: [any SlotName] = []
    /// Every slot that opens with none of the secrets to be added.
    public var others: Bool

    /// The slots with these IDs, the slots that these passphrases open, and all others if `others` is true.
    public init(ids: Set<KeyID> = [], passphrases: [Passphrase] = [], others: Bool = false) {
        self.ids = ids
        secrets = passphrases
        self.others = others
    }

    /// No slot.
    public static let none = SlotSelection()
}
