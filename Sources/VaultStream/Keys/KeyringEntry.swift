public import VaultFormat

/// One key of a keyring: its ID, name, time of creation and state, but not the key itself.
public struct KeyringEntry: Hashable, Sendable {
    /// What a key of a keyring is for (KEYRING-6). The set is open: a later version of the library can add states.
    public struct State: Hashable, Sendable, CustomStringConvertible {
        private enum Value: String {
            case current, retired, destroyed
        }

        private let value: Value

        private init(_ value: Value) {
            self.value = value
        }

        package init?(name: String) {
            guard let value = Value(rawValue: name) else { return nil }
            self.value = value
        }

        /// The key encrypts and opens.
        public static let current = State(.current)
        /// The key opens, and encrypts nothing new.
        public static let retired = State(.retired)
        /// The secret is gone, and what only this key opened is lost. The entry tells which key an old container would
        /// need.
        public static let destroyed = State(.destroyed)

        /// The word for it in the keyring: `current`, `retired`, `destroyed`.
        public var name: String { value.rawValue }

        /// The same as ``name``.
        public var description: String { name }
    }

    /// The key's ID, as headers have it.
    public let id: KeyID
    /// The key's name, for people.
    public let name: KeyName
    /// When it was made, to the second.
    public let created: Timestamp
    /// The key's state.
    public let state: State

    package init(id: KeyID, name: KeyName, created: Timestamp, state: State) {
        self.id = id
        self.name = name
        self.created = created
        self.state = state
    }
}

/// A name of a key (KEYRING-9): 1 to 64 ASCII letters, digits and `.` `_` `-` `+` `@`. The first is a letter or a
/// digit. A name is not 32 hexadecimal digits, which would be an ID, and not in `reserved`.
public struct KeyName: Hashable, Sendable, CustomStringConvertible {
    /// The most characters in a name.
    public static let longest = 64
    /// Words that are not names, because they have another meaning where a command line names a key.
    public static let reserved: Set<String> = [
        "all", "command", "file", "others", "passphrase", "passphrase-fd", "passphrase-file", "recipient",
    ]
    private static let marks = Set(".-_+@".utf8)

    /// The name.
    public let description: String

    /// Nil if the text is not a valid name.
    public init?(_ text: String) {
        self.init(bytes: Array(text.utf8))
    }

    /// Nil if the bytes are not a valid name.
    public init?(bytes: [UInt8]) {
        guard (1...Self.longest).contains(bytes.count), let first = bytes.first, Self.isAlphanumeric(first),
            bytes.allSatisfy({ Self.isAlphanumeric($0) || Self.marks.contains($0) })
        else { return nil }
        let text = String(decoding: bytes, as: UTF8.self)
        guard KeyID(hex: text) == nil, !Self.reserved.contains(text) else { return nil }
        description = text
    }

    private static func isAlphanumeric(_ byte: UInt8) -> Bool {
        (0x30...0x39).contains(byte) || (0x41...0x5A).contains(byte) || (0x61...0x7A).contains(byte)
    }
}
