/// The states of an open store.
public enum StoreState: String, Sendable, Hashable, CaseIterable {
    /// Not unlocked since it was opened.
    case sealed
    /// Unlocked.
    case unlocked
    /// Unlocked until a deadline that was announced.
    case closing
    /// Locked again.
    case locked
}

/// What the table of classes is about (Spec, STORE-12). Each operation is possible in some states and not in others.
public enum ItemOperation: String, Sendable, Hashable, CaseIterable {
    /// Open an item, read it, and learn its name from a list.
    case open
    /// Read on with a reader that was open before the state changed.
    case readOn
    /// Write a new item, or replace one of the same class.
    case write
    /// Finish a writer that was open before the state changed.
    case finish
    /// Give an item another name.
    case move
    /// Give an item of this class another class. It also needs `protectTo` of that class.
    case protectFrom
    /// Give an item this class.
    case protectTo
    /// Remove an item, ask whether it is there, how large it is, and count items.
    case remove
}

extension ItemProtection {
    /// The states in which an operation on an item of this class is possible. Tests and the manual's table are made
    /// from this.
    public func states(for operation: ItemOperation) -> Set<StoreState> {
        switch (operation, self) {
        case (.remove, _), (_, .always): Set(StoreState.allCases)
        // Its public key writes; what was open goes on.
        case (.readOn, .unlessOpen), (.write, .unlessOpen), (.finish, .unlessOpen), (.protectTo, .unlessOpen):
            Set(StoreState.allCases)
        case (_, .afterFirstUnlock): [.unlocked, .closing, .locked]
        case (_, .unlessOpen), (_, .complete): [.unlocked, .closing]
        }
    }
}
