import VaultFile
import VaultFormat
import VaultStream

extension PublicKey {
    /// Its ID in cards and keybags: the beginning of its fingerprint, as in keyrings (KEYRING-16).
    var idInStore: KeyID { KeyID(unchecked: fingerprint.prefix(16)) }
}

/// A public key of the class `unlessOpen`, in a card (STORE-31).
struct ClassPublicKey: Sendable {
    private(set) var state: ClassKey.State
    let created: Timestamp
    let key: PublicKey
    /// The ID of the symmetric key of the class. A sealed program tells by it which items have the class.
    let slotKeyID: KeyID

    /// The lines of a card, which come before those of keys.
    static func lines(of lines: inout TextLines) throws -> [ClassPublicKey] {
        var keys: [ClassPublicKey] = []
        while lines.nextBegins(with: "public") {
            try lines.advance(words: 7)
            try lines.expect(1, ItemProtection.unlessOpen.rawValue)
            keys.append(
                ClassPublicKey(
                    state: try lines.classState(2), created: try lines.time(3),
                    key: try lines.publicKey(5, id: try lines.id(4)), slotKeyID: try lines.id(6)))
        }
        guard Set(keys.map(\.key)).count == keys.count else {
            throw StoreError.malformed("two of the card's public keys are the same")
        }
        guard keys.isEmpty || keys.count(where: { $0.state == .current }) == 1 else {
            throw StoreError.malformed("the card does not have one current public key")
        }
        return keys
    }

    /// The same, for items that are there already.
    var retired: ClassPublicKey {
        var copy = self
        copy.state = .retired
        return copy
    }

    func line() throws(VaultError) -> String {
        let head = "public \(ItemProtection.unlessOpen.rawValue) \(state.rawValue) \(try created.utcOfKey)"
        return "\(head) \(key.idInStore) \(key.text) \(slotKeyID)\n"
    }
}

/// The private key of such a public key, in a keybag (STORE-32).
struct ClassIdentity: Sendable {
    private(set) var state: ClassKey.State
    let created: Timestamp
    let identity: Identity

    var id: KeyID { identity.publicKey.idInStore }

    /// Reads the words of a line, which begins with `identity`.
    init(_ lines: borrowing TextLines) throws {
        try lines.expect(1, ItemProtection.unlessOpen.rawValue)
        state = try lines.classState(2)
        created = try lines.time(3)
        identity = try lines.identity(5, id: try lines.id(4))
    }

    private init(_ identity: Identity) {
        (self.identity, created, state) = (identity, .now, .current)
    }

    /// A new one, which is current.
    static func generate(_ kind: SlotDescription.Kind) throws(VaultError) -> ClassIdentity {
        ClassIdentity(try Identity.generate(kind))
    }

    /// The same, for items that are there already.
    var retired: ClassIdentity {
        var copy = self
        copy.state = .retired
        return copy
    }
}

extension TextLines {
    /// The state in a word.
    func classState(_ index: Int) throws(StoreError) -> ClassKey.State {
        guard let state = ClassKey.State(rawValue: word(index, atMost: 7)) else {
            throw malformed("has no state that it can have")
        }
        return state
    }
}

/// All that the class `unlessOpen` needs: the parts of the keybag, and from them that of the card.
struct UnlessOpenKeys: Sendable {
    let identity: ClassIdentity
    let key: ClassKey

    /// The kind of its public key. swift-crypto leaves copies of an X-Wing key in memory that it has freed, so a store with
    /// such a key breaks the promise of `lock` (STORE-17). It is not post-quantum: settling encrypts the items again with
    /// the symmetric key of the class.
    static let defaultKind = SlotDescription.Kind.x25519

    static func generate(_ kind: SlotDescription.Kind) throws(VaultError) -> UnlessOpenKeys {
        UnlessOpenKeys(identity: try .generate(kind), key: try .generate(.unlessOpen))
    }

    init(identity: ClassIdentity, key: ClassKey) {
        (self.identity, self.key) = (identity, key)
    }

    /// Those of a keybag that are current; nil if it has none.
    init?(in keybag: StoreKeybag) {
        guard let identity = keybag.identities.first(where: { $0.state == .current }),
            let key = keybag.keys.first(where: { $0.protection == .unlessOpen && $0.state == .current })
        else { return nil }
        self.init(identity: identity, key: key)
    }

    /// The part of the card.
    var publicPart: ClassPublicKey {
        ClassPublicKey(
            state: .current, created: identity.created, key: identity.identity.publicKey, slotKeyID: key.key.id)
    }
}
