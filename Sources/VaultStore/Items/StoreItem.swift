import VaultFormat

/// An item of a store, as it was when it was read or written.
public struct StoreItem: Sendable, Hashable {
    /// Tells one content of an item from every other, of this or another item: the commitment of its container (Spec,
    /// KEY-4). Each write makes another one.
    public struct Version: Sendable, Hashable, CustomStringConvertible {
        let commitment: [UInt8]

        init(_ preamble: Preamble) { commitment = preamble.commitment }

        /// Reads ``description``; nil for any other text.
        public init?(_ text: String) {
            guard let bytes = [UInt8](hexadecimal: text), bytes.count == 32 else { return nil }
            commitment = bytes
        }

        /// 64 hexadecimal digits.
        public var description: String { commitment.hexadecimal }
    }

    /// Its name.
    public let name: String
    /// Its class. Look at it in each read if it matters: a person with the device key can put an item of the class
    /// `always` in the place of another.
    public let protection: ItemProtection
    /// The length of its content in bytes.
    public let length: UInt64
    /// Its version.
    public let version: Version
}

/// When a write or a removal is done, judged while no other program changes the store.
public enum WriteCondition: Sendable, Hashable {
    /// In any case. Of several writers, the last one wins.
    case any
    /// Only if there is no item of this name (`itemExists`).
    case absent
    /// Only if the item has this version (`itemChanged`).
    case version(StoreItem.Version)

    /// Judges the condition.
    ///
    /// - Parameters:
    ///   - isThere: whether something has the name.
    ///   - version: gives the version of the item; nil if there is none.
    /// - Throws: `itemExists`, `itemChanged`; what `version` throws.
    func check(isThere: Bool, _ version: () throws -> StoreItem.Version?) throws {
        switch self {
        case .any: return
        case .absent:
            guard !isThere else { throw StoreError(.itemExists, "there is an item of this name") }
        case .version(let wanted):
            guard try version() == wanted else {
                throw StoreError(.itemChanged, "the item is not the version that was named")
            }
        }
    }
}
