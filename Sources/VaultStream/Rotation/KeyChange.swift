/// What a rotation does to the slots: first some are removed, then some are added (ROT-12).
public struct KeyChange: Sendable {
    /// The recipients who get a slot. A recipient who already has a slot that opens gets no second one. Their secrets
    /// also count as secrets at hand.
    public var adding: [Recipient]
    /// The slots to remove. It is no error if the header has none of them.
    public var removing: SlotSelection

    /// A change that removes the slots in `removing` and adds slots for `adding`.
    public init(adding: [Recipient] = [], removing: SlotSelection = .none) {
        self.adding = adding
        self.removing = removing
    }
}

/// The place of one of the two header copies.
public enum HeaderPlace: String, Hashable, Sendable {
    /// At the beginning of the container.
    case front
    /// Before its footer.
    case tail
}
