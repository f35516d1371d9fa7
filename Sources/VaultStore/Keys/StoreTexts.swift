import VaultCrypto
import VaultFile
import VaultFormat
package import VaultStream

/// The key of a class, in a card or a keybag.
struct ClassKey: Sendable {
    enum State: String { case current, retired }

    let protection: ItemProtection
    var state: State
    let created: Timestamp
    let key: SymmetricKey

    /// A new key that is current.
    static func generate(_ protection: ItemProtection) throws(VaultError) -> ClassKey {
        ClassKey(protection: protection, state: .current, created: .now, key: try SymmetricKey.generate())
    }

    /// Reads the words of a line, which begins with `key`.
    fileprivate init(_ lines: borrowing TextLines, of classes: [ItemProtection]) throws {
        guard let protection = ItemProtection(rawValue: lines.word(1, atMost: 16)), classes.contains(protection),
            let state = State(rawValue: lines.word(2, atMost: 7))
        else { throw lines.malformed("has no class and state that it can have") }
        self.protection = protection
        self.state = state
        created = try lines.time(3)
        key = try lines.key(5, id: try lines.id(4))
    }

    private init(protection: ItemProtection, state: State, created: Timestamp, key: SymmetricKey) {
        self.protection = protection
        self.state = state
        self.created = created
        self.key = key
    }
}

/// The device tier of a store: what the card holds (STORE-6).
package struct StoreCard: Sendable {
    static let classes = [ItemProtection.always]
    static let title = "vaultfile store card"

    /// 16 bytes that tell stores apart.
    let storeID: KeyID
    /// Makes file names out of names.
    let index: SymmetricKey
    /// The public keys of the class `unlessOpen`; empty in a store without this class.
    private(set) var publics: [ClassPublicKey]
    private(set) var keys: [ClassKey]

    /// - Parameter unlessOpen: the keys of the class `unlessOpen`; nil for none.
    static func generate(_ unlessOpen: UnlessOpenKeys?) throws(VaultError) -> StoreCard {
        StoreCard(
            storeID: KeyID(unchecked: Randomness.system.bytes(16)[...]), index: try SymmetricKey.generate(),
            publics: unlessOpen.map { [$0.publicPart] } ?? [],
            keys: try classes.map { protection throws(VaultError) in try ClassKey.generate(protection) })
    }

    private init(storeID: KeyID, index: SymmetricKey, publics: [ClassPublicKey], keys: [ClassKey]) {
        self.storeID = storeID
        self.index = index
        self.publics = publics
        self.keys = keys
    }

    /// Reads a text.
    ///
    /// - Throws: `storeMalformed`; `VaultError` with `unsupportedVersion`, `memoryUnavailable`.
    package init(parsing text: consuming SecretBuffer) throws {
        var lines = try TextLines(text, noun: "the card")
        storeID = try StoreText.storeID(&lines, Self.title)
        try lines.advance(words: 3)
        try lines.expect(0, "index")
        index = try lines.key(2, id: try lines.id(1))
        publics = try ClassPublicKey.lines(of: &lines)
        keys = try StoreText.keys(&lines, of: Self.classes, besides: index.id).keys
        guard Set(publics.map(\.slotKeyID)).isDisjoint(with: [index.id] + keys.map(\.key.id)) else {
            throw StoreError.malformed("a key of the card is named as that of the class unlessOpen")
        }
    }

    // MARK: New keys (STORE-36)

    /// The keys that a new one is to replace.
    var oldKeys: OldKeys { OldKeys(ids: keys.retiredIDs(of: .always), publics: []) }

    mutating func renewKey() throws(VaultError) { try keys.renew(.always) }

    /// Makes a public key the current one, unless it is that already.
    ///
    /// - Returns: whether the card has changed.
    mutating func makeCurrent(_ one: ClassPublicKey) -> Bool {
        guard !publics.contains(where: { $0.key == one.key && $0.state == .current }) else { return false }
        publics = publics.filter { $0.key != one.key }.map(\.retired) + [one]
        return true
    }

    /// Removes old keys. A public key that names an old key of its class as the slot key names the current one.
    ///
    /// - Parameter current: the current public key; nil if the class is not `unlessOpen`.
    /// - Returns: whether the card has changed.
    mutating func drop(_ old: OldKeys, current: ClassPublicKey?) -> Bool {
        let before = (keys.count, publics.map(\.slotKeyID))
        keys.drop(old.ids, of: .always)
        publics = publics.filter { !old.publics.contains($0.key) }.map { one in
            guard let current, one.key == current.key, old.ids.contains(one.slotKeyID) else { return one }
            return current
        }
        return before != (keys.count, publics.map(\.slotKeyID))
    }

    /// The text, in guarded memory.
    package func encoded() throws -> SecretBuffer {
        try StoreText.encoded(
            [.text("\(Self.title) 1\nstore \(storeID)\nindex \(index.id) "), .key(index), .text("\n")]
                + publics.map { one throws(VaultError) in StoreText.Part.text(try one.line()) }
                + StoreText.parts(of: keys))
    }
}

/// The person's tier of a store: what the keybag holds (STORE-7).
package struct StoreKeybag: Sendable {
    package static let classes = [ItemProtection.afterFirstUnlock, .unlessOpen, .complete]
    static let title = "vaultfile store keys"

    let storeID: KeyID
    /// The ID of the card's index key.
    let indexID: KeyID
    /// The IDs of the public keys of the class `unlessOpen`; empty in a store without this class.
    private(set) var publicIDs: [KeyID]
    /// Those of the IDs, or none in a text of other classes.
    private(set) var identities: [ClassIdentity]
    private(set) var keys: [ClassKey]

    /// A keybag for this card.
    ///
    /// - Parameter unlessOpen: the keys of the class `unlessOpen`; nil for none.
    static func generate(for card: StoreCard, _ unlessOpen: UnlessOpenKeys?) throws(VaultError) -> StoreKeybag {
        let keybag = StoreKeybag(
            storeID: card.storeID, indexID: card.index.id, publicIDs: [], identities: [],
            keys: try [.afterFirstUnlock, .complete].map { protection throws(VaultError) in
                try ClassKey.generate(protection)
            })
        return unlessOpen.map(keybag.adding) ?? keybag
    }

    /// The same keybag with the class `unlessOpen`, which it does not have.
    func adding(_ unlessOpen: UnlessOpenKeys) -> StoreKeybag {
        StoreKeybag(
            storeID: storeID, indexID: indexID, publicIDs: [unlessOpen.identity.id], identities: [unlessOpen.identity],
            keys: keys + [unlessOpen.key])
    }

    private init(
        storeID: KeyID, indexID: KeyID, publicIDs: [KeyID], identities: [ClassIdentity], keys: [ClassKey]
    ) {
        self.storeID = storeID
        self.indexID = indexID
        self.publicIDs = publicIDs
        self.identities = identities
        self.keys = keys
    }

    /// - Parameter classes: those whose keys the text holds. A text that the system keeps holds those of one class.
    package init(parsing text: consuming SecretBuffer, of classes: [ItemProtection] = Self.classes) throws {
        var lines = try TextLines(text, noun: "the keybag")
        storeID = try StoreText.storeID(&lines, Self.title)
        try lines.advance(words: 2)
        try lines.expect(0, "index-id")
        indexID = try lines.id(1)
        var publicIDs: [KeyID] = []
        while lines.nextBegins(with: "public") {
            try lines.advance(words: 2)
            publicIDs.append(try lines.id(1))
        }
        self.publicIDs = publicIDs
        guard Set(publicIDs).count == publicIDs.count else {
            throw StoreError.malformed("two of the keybag's public keys have one ID")
        }
        // A store that is older than this class has no public key.
        (keys, identities) = try StoreText.keys(
            &lines, of: publicIDs.isEmpty ? classes.filter { $0 != .unlessOpen } : classes, besides: indexID)
        let hasClass = classes.contains(.unlessOpen) && !publicIDs.isEmpty
        guard identities.map(\.id).sorted(by: Self.order) == (hasClass ? publicIDs : []).sorted(by: Self.order),
            identities.count(where: { $0.state == .current }) == (hasClass ? 1 : 0)
        else { throw StoreError.malformed("the identities of the keybag are not those of its public keys") }
    }

    private static func order(_ one: KeyID, _ other: KeyID) -> Bool {
        one.bytes.lexicographicallyPrecedes(other.bytes)
    }

    // MARK: New keys (STORE-36)

    /// The keys of a class that a new one is to replace.
    func oldKeys(of protection: ItemProtection) -> OldKeys {
        let retired = protection == .unlessOpen ? identities.filter { $0.state == .retired } : []
        return OldKeys(ids: keys.retiredIDs(of: protection), publics: Set(retired.map(\.identity.publicKey)))
    }

    /// Gives a class a new key. That of `unlessOpen` has an identity, too: of the same kind, so that each program that
    /// unlocks the store now still does.
    mutating func renewKey(of protection: ItemProtection) throws(VaultError) {
        try keys.renew(protection)
        guard protection == .unlessOpen, let current = identities.first(where: { $0.state == .current }) else { return }
        identities = identities.map(\.retired) + [try .generate(current.identity.publicKey.kind)]
        publicIDs = identities.map(\.id)
    }

    /// - Returns: whether the keybag has changed.
    mutating func drop(_ old: OldKeys, of protection: ItemProtection) -> Bool {
        let before = (keys.count, identities.count)
        keys.drop(old.ids, of: protection)
        identities.removeAll { $0.state == .retired && old.publics.contains($0.identity.publicKey) }
        publicIDs = identities.map(\.id)
        return before != (keys.count, identities.count)
    }

    /// The text, in guarded memory.
    ///
    /// - Parameter classes: those whose keys it gets.
    package func encoded(of classes: [ItemProtection] = Self.classes) throws -> SecretBuffer {
        try StoreText.encoded(
            [.text("\(Self.title) 1\nstore \(storeID)\nindex-id \(indexID)\n")]
                + publicIDs.map { .text("public \($0)\n") }
                + StoreText.parts(of: classes.contains(.unlessOpen) ? identities : [])
                + StoreText.parts(of: keys.filter { classes.contains($0.protection) }))
    }

    /// Checks that it belongs to a card (STORE-8). Otherwise an attacker with the device key could make a person
    /// unlock the attacker's keybag, or that of another store, or go on to encrypt for the attacker's public key.
    func check(_ card: StoreCard) throws(StoreError) {
        guard storeID == card.storeID, indexID == card.index.id,
            Set(keys.map(\.key.id)).isDisjoint(with: card.keys.map(\.key.id)),
            // It may list more: a change of both files begins with the keybag.
            Set(card.publics.map(\.key.idInStore)).isSubset(of: publicIDs),
            // A text of one class that the system keeps may have no key of this one.
            identities.isEmpty || Set(card.publics.map(\.slotKeyID)).isSubset(of: ids(of: .unlessOpen))
        else { throw StoreError(.storeForged, "the card and the keybag do not belong together") }
    }
}

extension StoreKeybag {
    private func ids(of protection: ItemProtection) -> [KeyID] {
        keys.filter { $0.protection == protection }.map(\.key.id)
    }
}

/// What the texts of card and keybag have in common.
private enum StoreText {
    enum Part {
        case text(String)
        case key(SymmetricKey)
        case identity(Identity)

        var count: Int {
            switch self {
            case .text(let text): text.utf8.count
            case .key: SymmetricKey.keyLineCount
            case .identity(let identity): identity.textCount
            }
        }
    }

    /// The first two lines.
    static func storeID(_ lines: inout TextLines, _ title: String) throws -> KeyID {
        try lines.advance(words: 4)
        let words = title.split(separator: " ").map(String.init)
        for (index, word) in words.enumerated() { try lines.expect(index, word) }
        let version = lines.word(3, atMost: 20)
        guard !version.isEmpty, version.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else {
            throw lines.malformed("has no version")
        }
        guard version == "1" else {
            throw VaultError(.unsupportedVersion, "it is a store of version \(version); this program knows version 1")
        }
        try lines.advance(words: 2)
        try lines.expect(0, "store")
        return try lines.id(1)
    }

    /// The lines of keys and identities, to the end of the text.
    ///
    /// - Parameter indexID: the ID of the index key, which no other key has.
    static func keys(
        _ lines: inout TextLines, of classes: [ItemProtection], besides indexID: KeyID
    ) throws -> (keys: [ClassKey], identities: [ClassIdentity]) {
        var (keys, identities): ([ClassKey], [ClassIdentity]) = ([], [])
        while !lines.isAtEnd {
            let isIdentity = lines.nextBegins(with: "identity")
            try lines.advance(words: 6)
            if isIdentity, classes.contains(.unlessOpen) {
                identities.append(try ClassIdentity(lines))
                continue
            }
            try lines.expect(0, "key")
            keys.append(try ClassKey(lines, of: classes))
        }
        for protection in classes {
            guard keys.count(where: { $0.protection == protection && $0.state == .current }) == 1 else {
                throw StoreError.malformed("the class \(protection.rawValue) does not have one current key")
            }
        }
        let ids = [indexID] + keys.map(\.key.id)
        guard Set(ids).count == ids.count else { throw StoreError.malformed("two of its keys have one ID") }
        return (keys, identities)
    }

    static func parts(of keys: [ClassKey]) throws(VaultError) -> [Part] {
        var parts: [Part] = []
        for key in keys {
            let time = try key.created.utcOfKey
            parts += [
                .text("key \(key.protection.rawValue) \(key.state.rawValue) \(time) \(key.key.id) "), .key(key.key),
                .text("\n"),
            ]
        }
        return parts
    }

    static func parts(of identities: [ClassIdentity]) throws(VaultError) -> [Part] {
        var parts: [Part] = []
        for one in identities {
            let head = "identity \(ItemProtection.unlessOpen.rawValue) \(one.state.rawValue)"
            parts += [
                .text("\(head) \(try one.created.utcOfKey) \(one.id) "), .identity(one.identity), .text("\n"),
            ]
        }
        return parts
    }

    static func encoded(_ parts: [Part]) throws -> SecretBuffer {
        var buffer = try SecretBuffer(count: parts.reduce(0) { $0 + $1.count })
        buffer.withMutableBytes { bytes in
            var start = 0
            for part in parts {
                switch part {
                case .text(let text): bytes.replace(at: start, with: Array(text.utf8).span)
                case .key(let key): key.encodeKeyLine(into: &bytes, at: start)
                case .identity(let identity): identity.encodeText(into: &bytes, at: start)
                }
                start += part.count
            }
        }
        return buffer
    }
}
