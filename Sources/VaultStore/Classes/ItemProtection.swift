/// When an item can be read and written: its class. There is no default, so every new item is given one by name.
///
/// A class is as strong as what keeps its key. The order is from weak to strong.
public enum ItemProtection: String, Sendable, Hashable, CaseIterable, Comparable {
    /// Whenever the store is open. The key of this class is in the card, which the device key opens.
    case always
    /// Once the store has been unlocked, until it is closed.
    case afterFirstUnlock
    /// Written at any time, and opened only while the store is unlocked: a program that is sealed or locked encrypts for
    /// the public key of the class. Readers and writers that are open when the store is locked go on until they end.
    case unlessOpen
    /// Only while the store is unlocked. When ``VaultStore/lock()`` returns, the process has no key of this class.
    case complete

    /// Whether `one` is weaker than `other`.
    public static func < (one: ItemProtection, other: ItemProtection) -> Bool {
        one.rank < other.rank
    }

    private var rank: Int {
        switch self {
        case .always: 0
        case .afterFirstUnlock: 1
        case .unlessOpen: 2
        case .complete: 3
        }
    }
}
