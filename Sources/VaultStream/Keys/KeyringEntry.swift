public import VaultFormat

/// One line of a keyring: a symmetric key, a recipient, an identity or a group of recipients. It has the name, the time
/// of creation and the state, but no secret.
public struct KeyringEntry: Hashable, Sendable {
    /// What a line of a keyring is (KEYRING-6, KEYRING-16, KEYRING-19). The set is open: a later version of the library
    /// can add states.
    public struct State: Hashable, Sendable, CustomStringConvertible {
        private enum Value: String {
            case current, retired, destroyed, recipient, former, identity, group
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
        /// The secret of a key or an identity is gone, and what only it opened is lost. The entry tells which key an old
        /// container would need.
        public static let destroyed = State(.destroyed)
        /// Someone to encrypt to.
        public static let recipient = State(.recipient)
        /// Someone who has left. Nothing is encrypted to them by default.
        public static let former = State(.former)
        /// A private key, which opens what is encrypted to its recipient.
        public static let identity = State(.identity)
        /// Recipients under one name.
        public static let group = State(.group)

        /// The word for it in the keyring, such as `current` or `recipient`.
        public var name: String { value.rawValue }

        /// The same as ``name``.
        public var description: String { name }
    }

    /// The ID of a symmetric key, as headers have it; of a recipient or an identity, the first half of the recipient's
    /// fingerprint, which no header shows. Nil for a group, and for the identity of a plugin if its recipient is not
    /// known.
    public let id: KeyID?
    /// The name, for people.
    public let name: KeyName
    /// When it was made or added, to the second.
    public let created: Timestamp
    /// What the line is.
    public let state: State
    /// The names of the members of a group; empty for all others.
    public let members: [KeyName]
    /// The recipient itself, and the one that belongs to an identity. Nil for keys and groups, for the identity of a
    /// plugin if its recipient is not known, and for a post-quantum identity on a system without X-Wing.
    public let recipient: RecipientFile.Entry?

    package init(id: KeyID?, name: KeyName, created: Timestamp, state: State) {
        self.init(id: id, name: name, created: created, state: state, recipient: nil)
    }

    package init(
        id: KeyID?, name: KeyName, created: Timestamp, state: State, recipient: RecipientFile.Entry?,
        members: [KeyName] = []
    ) {
        self.id = id
        self.name = name
        self.created = created
        self.state = state
        self.recipient = recipient
        self.members = members
    }

    /// The public key in ``recipient``; nil for a plugin's.
    public var publicKey: PublicKey? {
        if case .publicKey(let key) = recipient { key } else { nil }
    }

    /// The text of ``recipient``: `age1…`.
    public var recipientText: String? { recipient?.text }

    /// Whether it is a symmetric key that is not destroyed.
    public var isKey: Bool { state == .current || state == .retired }

    /// Whether it has a secret: a key that is not destroyed, or an identity.
    public var hasSecret: Bool { isKey || state == .identity }

    /// Whether it can be a member of a group (KEYRING-19).
    package var canBeMember: Bool { [.recipient, .former, .identity].contains(state) }

    /// The same line in another state.
    package func inState(_ state: State) -> KeyringEntry {
        KeyringEntry(
            id: id, name: name, created: created, state: state, recipient: state == .destroyed ? nil : recipient,
            members: members)
    }

    /// The same line with other members.
    package func with(members: [KeyName]) -> KeyringEntry {
        KeyringEntry(id: id, name: name, created: created, state: state, recipient: recipient, members: members)
    }
}

extension RecipientFile.Entry {
    /// The recipient's text: `age1…`.
    var text: String {
        switch self {
        case .publicKey(let key): key.text
        case .plugin(let recipient): recipient.text
        }
    }

    /// Its ID in a keyring (KEYRING-16).
    package var keyringID: KeyID {
        let fingerprint =
            switch self {
            case .publicKey(let key): key.fingerprint
            case .plugin(let recipient): recipient.fingerprint
            }
        return KeyID(unchecked: fingerprint.prefix(KeyringText.idCount))
    }
}

/// A name in a keyring (KEYRING-9): 1 to 64 ASCII letters, digits and `.` `_` `-` `+` `@`. The first is a letter or a
/// digit. A name is not 32 hexadecimal digits, which would be an ID, and not in `reserved`. It does not begin like a
/// recipient or an identity: `age1`, `age-`, in any case.
public struct KeyName: Hashable, Sendable, CustomStringConvertible {
    /// The most characters in a name.
    public static let longest = 64
    /// Words that are not names, because they have another meaning where a command line names a key.
    public static let reserved: Set<String> = [
        "all", "command", "file", "former", "header-file", "identity", "identity-command", "identity-file", "others",
        "passphrase", "passphrase-fd", "passphrase-file", "recipient", "recipient-file", "recipients-file",
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
        guard KeyID(hex: text) == nil, !Self.reserved.contains(text),
            !["age1", "age-"].contains(where: { KeyText.begins(bytes.span, with: $0) })
        else { return nil }
        description = text
    }

    private static func isAlphanumeric(_ byte: UInt8) -> Bool {
        (0x30...0x39).contains(byte) || (0x41...0x5A).contains(byte) || (0x61...0x7A).contains(byte)
    }
}
