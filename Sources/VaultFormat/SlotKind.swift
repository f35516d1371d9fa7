extension SlotDescription {
    /// What opens a slot. The set is open: a later version of the library can add kinds.
    public struct Kind: Hashable, Sendable, CustomStringConvertible {
        private let types: ClosedRange<UInt16>
        /// One word for it, as in "a symmetric slot".
        public let name: String
        /// The length that every reader demands of the body (SLOT-5, SLOT-6). Nil for a kind whose slots are skipped
        /// where they cannot be used (SLOT-12).
        let enforcedBodyCount: Int?

        private init(_ name: String, _ types: ClosedRange<UInt16>, bodyCount: Int? = nil) {
            self.types = types
            self.name = name
            enforcedBodyCount = bodyCount
        }

        /// The same as ``name``.
        public var description: String { name }

        /// A symmetric key with this slot's ID.
        public static let symmetric = Kind("symmetric", 1...1, bodyCount: 72)
        /// A passphrase.
        public static let passphrase = Kind("passphrase", 2...2, bodyCount: 84)
        /// An X25519 identity.
        public static let x25519 = Kind("x25519", 3...3)
        /// An X-Wing identity, which a quantum computer does not break.
        public static let xWing = Kind("x-wing", 4...4)
        /// The identity of an age plugin, which opens age stanzas.
        public static let stanzas = Kind("stanzas", 5...5)
        /// No slot, but the mark of a container whose slots are in a header file (Spec, chapter 23). It never opens.
        public static let mark = Kind("mark", 6...6)
        /// A type that programs may define for themselves (0x8000 and above).
        public static let privateType = Kind("private", 0x8000...0xFFFF)
        /// A type that this library does not know.
        public static let unknown = Kind("unknown", 0...0)

        private static let known = [symmetric, passphrase, x25519, xWing, stanzas, mark, privateType]

        package init(type: UInt16) {
            self = Self.known.first { $0.types.contains(type) } ?? .unknown
        }

        /// The type, or the lowest of several.
        package var type: UInt16 { types.lowerBound }

        /// Whether every reader refuses two slots of this kind with one key ID (SLOT-7).
        var refusesRepeatedIDs: Bool { enforcedBodyCount != nil }
    }
}
