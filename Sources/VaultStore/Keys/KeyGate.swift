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

    mutating func add(_ keys: [ClassKey]) {
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
    }
}

extension AvailableKeys: KeyProvider {
    func symmetricKeys(for ids: [KeyID]) -> [SymmetricKey] { ids.compactMap { all[$0] } }
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
