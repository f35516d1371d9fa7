public import SystemPackage
import VaultCrypto
import VaultFile
import VaultFormat
public import VaultStream
import VaultSystem

/// A folder with the stores of many accounts (Spec, E.10). Each account has a store of its own, whose device key is in the
/// group. ``erase(_:onUnreadable:)`` destroys that key, and so the account's items, whatever their number.
///
///     let group = try StoreGroup.open(at: folder, unlocking: KeySet(keys: [groupKey]))
///     let store = try group.createStore(of: "4711")
///     try store.write("scans/11.pdf", scan.span, protection: .always)
///
/// The device keys are in 256 keyrings, the *shards*. So the erasure of one account rewrites a small file, and a backup
/// of the shards, apart from that of the stores, can be kept for a shorter time than the stores. After an erasure nobody
/// opens the account's items from this folder, and those of the class `always` in backups no longer once the last copy
/// of its shard from before the erasure is gone. What unlocked the account's store still opens the other classes there.
///
/// The folder does not show the names of accounts. Several threads, tasks and processes may use one group at once.
public final class StoreGroup: Sendable {
    static let shardsFolder: FilePath = "shards"
    static let storesFolder: FilePath = "stores"
    static let shardCount = 256
    /// The name of the group key in the first shard.
    static let indexName = KeyName("index")
    /// The most accounts of one name that were erased before: more than this many lines fit in no group.
    static let mostTries: UInt32 = 1 << 12

    let path: FilePath
    /// What unlocks the shards.
    let keys: any KeyProvider
    /// The names of accounts depend on it.
    private let groupKey: SymmetricKey

    init(_ path: FilePath, _ keys: any KeyProvider, _ groupKey: SymmetricKey) {
        (self.path, self.keys, self.groupKey) = (path, keys, groupKey)
    }

    // MARK: Making and opening

    /// Makes a group, or finishes one whose making was interrupted.
    ///
    /// - Parameters:
    ///   - path: the folder, which is new, empty or holds an unfinished group. The folder around it exists.
    ///   - unlocker: the key that unlocks the shards. Keep it apart from the folder. With a single key, each erasure also
    ///     exchanges the unlock key of its shard.
    /// - Throws: ``StoreError`` with `storeExists` if there is a group or anything else; `VaultError` with `outputFailed`,
    ///   `wrongKey` if an unfinished group has another key, and what making a keyring throws.
    public static func create(at path: FilePath, unlocker: SymmetricKey) throws -> StoreGroup {
        let groupKey = try SymmetricKey.generate()
        return try create(at: path, unlocker: unlocker, groupKey: groupKey, shards: Array(0..<shardCount))
    }

    /// - Parameters:
    ///   - groupKey: the group key, if the first shard is not there yet.
    ///   - shards: the numbers of the shards to make. Without all others, some accounts cannot be made.
    static func create(
        at path: FilePath, unlocker: SymmetricKey, groupKey: SymmetricKey, shards: [Int]
    ) throws -> StoreGroup {
        let root = try FileDescriptor.madeFolder(path)
        defer { root.closeQuietly() }
        let own: Set = [Array(shardsFolder.string.utf8), Array(storesFolder.string.utf8)]
        guard try root.names({ !own.contains(Array($0)) }).isEmpty else {
            throw StoreError(.storeExists, "the folder is not empty")
        }
        try root.makeFolder(storesFolder, keepingOwner: true)
        try root.makeFolder(shardsFolder, keepingOwner: true)
        guard try !exists(shard(0, of: path)) else { throw StoreError(.storeExists, "there is a group already") }
        // An unfinished group has no accounts. This one has lost its first shard: a new one would have another group key,
        // and nobody would find the accounts any more.
        let stores = try FileDescriptor.folder(storesFolder, in: root)
        defer { stores.closeQuietly() }
        guard try stores.names({ _ in true }).isEmpty else {
            throw StoreError(
                .storeExists,
                "it has accounts, and its first shard is missing: put shards/00.vault and its key file back")
        }
        // With another key, some accounts would get lines that this key does not open.
        for number in 1..<shardCount {
            let shard = shard(number, of: path)
            if try exists(shard) { _ = try Keyring.open(at: shard, unlocking: KeySet(keys: [unlocker])) }
        }
        let folder = try FileDescriptor.folder(path.appending(shardsFolder.components))
        defer { folder.closeQuietly() }
        var missing: [FilePath] = []
        for number in shards where number != 0 {
            let shard = shard(number, of: path)
            guard try !exists(shard), let name = shard.lastComponent else { continue }
            if try exists(Keyring.unlockKeyPath(of: shard)) {
                // Its making stopped between the two files.
                try make(shard, in: folder, unlocker) { _ in }
            } else {
                missing.append(FilePath(root: nil, [name]))
            }
        }
        try Keyring.makeEmpty(missing, in: folder, for: unlocker)
        // The first shard comes last: it makes the group, so all others are durable by now.
        if shards.contains(0) {
            try make(shard(0, of: path), in: folder, unlocker) { change in
                guard let name = indexName else { return }
                try change.add(groupKey, named: name, created: .now, asCurrent: true)
            }
        }
        return try open(at: path, unlocking: KeySet(keys: [unlocker]))
    }

    private static func make(
        _ shard: FilePath, in folder: FileDescriptor, _ unlocker: SymmetricKey,
        _ body: (inout KeyringChange) throws -> Void
    ) throws {
        if try exists(Keyring.unlockKeyPath(of: shard)) {
            _ = try Keyring.change(at: shard, making: true, unlocking: KeySet(keys: [unlocker]), body)
        } else {
            try Keyring.create(at: shard, for: [.key(unlocker)], ownedAs: folder, body)
        }
    }

    /// Opens a group. Writes nothing.
    ///
    /// - Parameters:
    ///   - path: the folder.
    ///   - keys: what unlocks its shards. It is asked at each call, and kept as long as the group.
    /// - Throws: ``StoreError`` with `storeMalformed` if its first shard has no group key; what opening a keyring throws.
    public static func open(at path: FilePath, unlocking keys: any KeyProvider) throws -> StoreGroup {
        let keyring = try Keyring.open(at: shard(0, of: path), unlocking: keys)
        let entry = keyring.entries.first { $0.name == indexName && $0.isKey }
        guard let id = entry?.id else { throw StoreError.malformed("the first shard has no group key") }
        return StoreGroup(path, keys, try keyring.key(id))
    }

    static func shard(_ number: Int, of path: FilePath) -> FilePath {
        let digits = String(number, radix: 16)
        return path.appending(shardsFolder.components)
            .appending((digits.count == 1 ? "0" : "") + digits + ItemName.ending)
    }

    /// Whether there is a file or folder of this name in one of the folders of the group.
    static func exists(_ path: FilePath) throws -> Bool {
        guard let name = path.lastComponent else { return false }
        let folder = try FileDescriptor.folder(path.removingLastComponent())
        defer { folder.closeQuietly() }
        return try folder.status(of: FilePath(root: nil, [name])) != nil
    }

    // MARK: Lines

    /// The place of an account: the name of its line and of its store's folder.
    struct Place {
        let name: KeyName
        /// The path of the shard.
        let shard: FilePath
        /// The path of the store.
        let store: FilePath
    }

    /// The place of an account after `number` erasures (GROUP-3).
    func place(of account: [UInt8], _ number: UInt32) throws -> Place {
        guard (1...255).contains(account.count) else {
            throw StoreError(.invalidName, "the name of an account has 1 to 255 bytes")
        }
        let message = [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: number >> $0) } + account
        let digest = BLAKE2b.digest(
            count: 16, label: "vaultstore1acct_", key: groupKey.secret, message: message.span)
        guard let name = KeyName("a" + digest.hexadecimal), let first = digest.first else {
            throw StoreError(.invalidName, "the account has no place")
        }
        return Place(
            name: name, shard: Self.shard(Int(first), of: path),
            store: path.appending(Self.storesFolder.components).appending(name.description))
    }

    /// The places of an account up to the first one that is not destroyed.
    struct Lines {
        /// The places of erased stores of this account.
        var erased: [Place] = []
        /// The place of the account now, or of a new one.
        let now: Place
        /// The device key; nil if there is no such account now.
        let device: SymmetricKey?
    }

    /// Finds the line of an account.
    func lines(of account: String) throws -> Lines {
        var erased: [Place] = []
        for number in 0..<Self.mostTries {
            let place = try place(of: Array(account.utf8), number)
            let keyring = try Keyring.open(at: place.shard, unlocking: keys)
            guard let entry = keyring.entries.first(where: { $0.name == place.name }) else {
                return Lines(erased: erased, now: place, device: nil)
            }
            if entry.state == .destroyed {
                erased.append(place)
                continue
            }
            guard entry.isKey, let id = entry.id else {
                throw StoreError.malformed("a shard has something in the place of an account that is not a key")
            }
            return Lines(erased: erased, now: place, device: try keyring.key(id))
        }
        throw StoreError.malformed("the account was erased too often")
    }
}
