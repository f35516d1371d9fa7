/// What a rotation does to the slots: first some are removed, then some are added (ROT-11).
public struct KeyChange: Sendable {
    /// Who is to be able to open the container. A recipient who has a slot that opens gets no other. The secrets of
    /// these recipients also count as secrets at hand.
    public var adding: [Recipient]
    /// Which slots are removed. It is no error if there is none of them.
    public var removing: SlotSelection

    /// Adds and removes.
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
