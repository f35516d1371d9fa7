import Synchronization
import VaultFormat
import VaultStream

/// The keys of the classes that are available, and what is known of the others.
struct AvailableKeys: Sendable {
    var state = StoreState.sealed
    /// The classes of all keys whose IDs are known, also of keys that are not available. IDs are no secrets.
    var classes: [KeyID: ItemProtection] = [:]
    var current: [ItemProtection: SymmetricKey] = [:]
    var all: [KeyID: SymmetricKey] = [:]
    /// The private keys of the class `unlessOpen`, while it is available.
    private(set) var openers: [Identity] = []
    /// The public keys of that class. They are no secrets, and tell which items have it.
    private(set) var publics: Set<PublicKey> = []
    /// The one for which an item of that class is encrypted while its symmetric key is not available.
    private(set) var currentPublic: PublicKey?

    mutating func add(_ keybag: StoreKeybag) {
        add(keybag.keys)
        for one in keybag.identities {
            publics.insert(one.identity.publicKey)
            // The store may be unlocked twice.
            if !openers.contains(where: { $0.publicKey == one.identity.publicKey }) { openers.append(one.identity) }
        }
    }

    mutating func add(_ card: StoreCard) {
        add(card.keys)
        for one in card.publics {
            publics.insert(one.key)
            classes[one.slotKeyID] = .unlessOpen
            if one.state == .current { currentPublic = one.key }
        }
    }

    private mutating func add(_ keys: [ClassKey]) {
        for key in keys {
            classes[key.key.id] = key.protection
            all[key.key.id] = key.key
            if key.state == .current { current[key.protection] = key.key }
        }
    }

    /// Drops the keys of a class. Their IDs stay known, so that errors can name the class.
    mutating func remove(_ protection: ItemProtection) {
        current[protection] = nil
        all = all.filter { classes[$0.key] != protection }
        if protection == .unlessOpen { openers = [] }
    }

    /// What an item of a class is encrypted for; nil if nothing is available.
    func recipient(for protection: ItemProtection) -> Recipient? {
        if let key = current[protection] { return .key(key) }
        guard protection == .unlessOpen, let currentPublic else { return nil }
        return .publicKey(currentPublic)
    }

    /// Whether a slot is for a public key of the class `unlessOpen` (SLOT-25). A hidden one does not tell.
    func isOfPublicKey(_ slot: Slot, under preamble: Preamble) -> Bool {
        publics.contains { $0.kind == slot.kind && $0.id(under: preamble) == slot.keyID }
    }

    /// The class of an item with this header, of those whose IDs are known: the weakest, because its holders can open
    /// the item (STORE-13).
    func protection(of header: HeaderCopy) -> ItemProtection? {
        header.slots.compactMap { slot in
            if slot.kind == .symmetric { return classes[slot.keyID] }
            return isOfPublicKey(slot, under: header.preamble) ? .unlessOpen : nil
        }.min()
    }
}

extension AvailableKeys: KeyProvider {
    func symmetricKeys(for ids: [KeyID]) -> [SymmetricKey] { ids.compactMap { all[$0] } }

    func identities() -> [Identity] { openers }
}

/// Lends the keys of the classes, for one computation at a time, so that none is in use when `replace` returns.
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
