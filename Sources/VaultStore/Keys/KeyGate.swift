import Synchronization
import VaultFile
import VaultFormat
import VaultStream

/// The keys of the classes that are available, and what is known of the others.
struct AvailableKeys: Sendable {
    var state = StoreState.sealed
    /// The classes of all keys whose IDs are known, also of keys that are not available. IDs are no secrets.
    private(set) var classes: [KeyID: ItemProtection] = [:]
    private(set) var current: [ItemProtection: SymmetricKey] = [:]
    private(set) var all: [KeyID: SymmetricKey] = [:]
    /// The private keys of the class `unlessOpen`, while it is available.
    private(set) var openers: [Identity] = []
    /// The public keys of that class. They are no secrets, and tell which items have it.
    private(set) var publics: Set<PublicKey> = []
    private(set) var cardFile: KeyFile?
    private(set) var keybagFile: KeyFile?
    /// The public keys as in the card. An item of that class is encrypted for the current one while the symmetric key of
    /// the class is not available.
    private var cardPublics: [ClassPublicKey] = []
    private var keybagPublics: Set<PublicKey> = []

    /// Takes what a card holds in the place of what was there from another.
    mutating func replace(with card: StoreCard, of file: FileSource) {
        for one in cardPublics where all[one.slotKeyID] == nil { classes[one.slotKeyID] = nil }
        take(card.keys)
        cardPublics = card.publics
        cardFile = KeyFile(name: StoreFolder.card, source: file)
        addPublics()
    }

    /// Takes what a keybag holds in the place of what was there for the same classes.
    ///
    /// - Parameter protections: the classes whose keys are taken.
    mutating func replace(
        with keybag: StoreKeybag, of file: FileSource, only protections: [ItemProtection] = ItemProtection.allCases
    ) {
        let keys = keybag.keys.filter { protections.contains($0.protection) }
        take(keys)
        // The IDs of all keys: an item with a new key must not look damaged because its class is locked.
        let others = keybag.keys.filter { !protections.contains($0.protection) }
        let named = Set(others.map(\.protection))
        classes = classes.filter { !named.contains($0.value) || all[$0.key] != nil }
        for key in others { classes[key.key.id] = key.protection }
        if named.contains(.unlessOpen) { keybagPublics = Set(keybag.identities.map(\.identity.publicKey)) }
        if keys.contains(where: { $0.protection == .unlessOpen }) {
            openers = keybag.identities.map(\.identity)
            keybagPublics = Set(openers.map(\.publicKey))
        }
        keybagFile = KeyFile(name: StoreFolder.keybag, source: file)
        addPublics()
    }

    private mutating func take(_ keys: [ClassKey]) {
        for protection in Set(keys.map(\.protection)) {
            remove(protection)
            classes = classes.filter { $0.value != protection }
        }
        for key in keys {
            classes[key.key.id] = key.protection
            all[key.key.id] = key.key
            if key.state == .current { current[key.protection] = key.key }
        }
    }

    private mutating func addPublics() {
        for one in cardPublics { classes[one.slotKeyID] = .unlessOpen }
        publics = keybagPublics.union(cardPublics.map(\.key))
    }

    /// Drops the keys of a class. Their IDs stay known, so that errors can name the class.
    mutating func remove(_ protection: ItemProtection) {
        current[protection] = nil
        all = all.filter { classes[$0.key] != protection }
        if protection == .unlessOpen { openers = [] }
    }

    /// What an item of a class is encrypted for, and the file that this was read from; nil if nothing is available.
    func recipient(for protection: ItemProtection) -> (Recipient, KeyFile?)? {
        if let key = current[protection] { return (.key(key), file(of: protection)) }
        guard protection == .unlessOpen, let currentPublic else { return nil }
        return (.publicKey(currentPublic), cardFile)
    }

    /// The file that the symmetric keys of a class were read from.
    func file(of protection: ItemProtection) -> KeyFile? { protection == .always ? cardFile : keybagFile }

    private var currentPublic: PublicKey? { cardPublics.first { $0.state == .current }?.key }

    /// What takes the place of the slots of old keys of a class in a header: a slot of the current symmetric key or of
    /// the current public key, as the header has it. So an item that is not settled stays so.
    ///
    /// - Throws: `locked` if the class is not available.
    func successors(of header: HeaderCopy, in protection: ItemProtection) throws(StoreError) -> [Recipient] {
        guard let key = current[protection] else { throw StoreError.locked(protection) }
        var recipients: [Recipient] = []
        if header.slots.contains(where: { $0.kind == .symmetric && classes[$0.keyID] == protection }) {
            recipients.append(.key(key))
        }
        guard protection == .unlessOpen, header.slots.contains(where: { publics.have($0, under: header.preamble) })
        else { return recipients }
        guard let currentPublic else { throw StoreError.keysChanged }
        return recipients + [.publicKey(currentPublic)]
    }

    /// The classes of which more than one key is known: the rotation of their keys is not finished.
    var unfinishedRotations: Set<ItemProtection> {
        Set(
            ItemProtection.allCases.filter { one in
                classes.values.count(where: { $0 == one }) > 1 || one == .unlessOpen && publics.count > 1
            })
    }

    /// The class of an item with this header, of those whose IDs are known: the weakest, because its holders can open
    /// the item (STORE-13).
    func protection(of header: HeaderCopy) -> ItemProtection? {
        header.slots.compactMap { protection(of: $0, under: header.preamble) }.min()
    }

    /// The class that a slot gives an item; nil if it is of no key whose ID is known.
    func protection(of slot: Slot, under preamble: Preamble) -> ItemProtection? {
        if slot.kind == .symmetric { return classes[slot.keyID] }
        return publics.have(slot, under: preamble) ? .unlessOpen : nil
    }
}

extension AvailableKeys: KeyProvider {
    func symmetricKeys(for ids: [KeyID]) -> [SymmetricKey] { ids.compactMap { all[$0] } }

    func identities() -> [Identity] { openers }
}

/// Lends the keys of the classes, for one computation at a time, so that none is in use when `change` returns.
///
/// A key that a thread holds cannot be wiped. So keys are used only inside `withKeys`, and no disk is read or written
/// there: a disk that hangs must not delay the lock of a store. There is one copy of the table for each processor, so
/// that threads do not wait for each other.
final class KeyGate: Sendable {
    private final class Shard: Sendable {
        let keys = Mutex(AvailableKeys())
    }

    private let shards: [Shard]
    private let turn = Atomic(0)
    /// Orders the changes.
    private let changing = Mutex(AvailableKeys())

    init(_ keys: AvailableKeys, shardCount: Int) {
        shards = (0..<max(1, shardCount)).map { _ in Shard() }
        change { $0 = keys }
    }

    /// Changes the keys. When this returns, no thread uses the keys from before.
    func change(_ body: (inout AvailableKeys) throws -> Void) rethrows {
        try changing.withLock { keys in
            try body(&keys)
            for shard in shards { shard.keys.withLock { [keys] in $0 = keys } }
        }
    }

    /// Lends the keys. `body` must not wait for anything, and must not keep a key.
    func withKeys<R>(_ body: (borrowing AvailableKeys) throws -> R) rethrows -> R {
        let turn = turn.wrappingAdd(1, ordering: .relaxed).oldValue
        let shard = shards[Int(UInt(bitPattern: turn) % UInt(shards.count))]
        return try shard.keys.withLock { keys in try body(keys) }
    }

    var state: StoreState { withKeys { $0.state } }
}
