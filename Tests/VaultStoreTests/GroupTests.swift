import Foundation
import Synchronization
import SystemPackage
import Testing
import VaultFile
import VaultStream
import VaultSystem
import VaultTestSupport

@testable import VaultStore

/// Groups of stores: accounts are made, found and erased.
@Suite struct GroupTests {
    private static let unlocker = testKey(0x35)
    private static let keys = KeySet(keys: [unlocker])
    private static let path: FilePath = "/g"

    private static let groupKey = testKey((0..<32).map { UInt8($0) })

    /// A disk with a group. It has the shards of the accounts `4711` to `4713`: with all 256, copies of this disk would
    /// take long.
    private static let made: DiskState? = {
        let disk = ModelDisk(DiskState())
        guard (try? disk.during { try create() }) != nil else { return nil }
        var state = disk.state
        state.synchronizeAll()
        return state
    }()

    @discardableResult
    private static func create(at path: FilePath = path) throws -> StoreGroup {
        let accounts = StoreGroup(path, keys, groupKey)
        let places = try ["4711", "4712", "4713"].flatMap { account in
            try (0..<3).map { try accounts.place(of: Array(account.utf8), $0).shard }
        }
        let shards = (0..<StoreGroup.shardCount).filter { $0 == 0 || places.contains(StoreGroup.shard($0, of: path)) }
        return try StoreGroup.create(at: path, unlocker: unlocker, groupKey: groupKey, shards: shards)
    }

    private func disk() throws -> ModelDisk { ModelDisk(try #require(Self.made)) }

    private func open() throws -> StoreGroup { try StoreGroup.open(at: Self.path, unlocking: Self.keys) }

    /// The text of the item `a` of an account; nil if there is no such account, or no such store.
    private func item(_ account: String) throws -> String? {
        do {
            return try open().openStore(of: account).text("a")
        } catch let error as StoreError {
            guard [.noSuchAccount, .gone, .noSuchItem].contains(error.code) else { throw error }
            return nil
        } catch let error as VaultError {
            // The line is there, and the store is not finished.
            guard error.systemError == .noSuchFileOrDirectory else { throw error }
            return nil
        }
    }

    private func add(_ account: String, _ text: String) throws {
        try open().createStore(of: account).put("a", text, .always)
    }

    @Test("the line of an account is that of the Spec") func places() throws {
        let disk = try disk()
        try disk.during {
            let shard = StoreGroup.shard(0, of: Self.path)
            let index = try #require(StoreGroup.indexName)
            _ = try Keyring.change(at: shard, unlocking: Self.keys) { try $0.destroy(index) }
            // A group whose key is destroyed does not open.
            #expect(code { _ = try open() } == .storeMalformed)
        }
        let known = StoreGroup(Self.path, Self.keys, Self.groupKey)
        let first = try known.place(of: Array("4711".utf8), 0)
        #expect(first.name.description == "a146f7591ede5d462b6b1c55a47d750c4" && first.shard == "/g/shards/14.vault")
        #expect(first.store == "/g/stores/a146f7591ede5d462b6b1c55a47d750c4")
        let second = try known.place(of: Array("4711".utf8), 1)
        #expect(second.name.description == "ab203280493cb7aa4f717db80e37e7ac7" && second.shard == "/g/shards/b2.vault")
        for account in ["", String(repeating: "x", count: 256)] {
            #expect(code { _ = try known.place(of: Array(account.utf8), 0) } == .invalidName)
        }
    }

    @Test("accounts have stores of their own, until they are erased, and may come back") func accounts() throws {
        let disk = try disk()
        try disk.during {
            try add("4711", "one")
            try add("4712", "two")
            let group = try open()
            #expect(code { _ = try group.createStore(of: "4711") } == .storeExists)
            #expect(code { _ = try group.openStore(of: "4713") } == .noSuchAccount)
            #expect(code { try group.erase("4713") } == .noSuchAccount)
            let held = try group.openStore(of: "4711")
            let traces = try group.erase("4711")
            #expect(traces?.exchange == .done && traces?.keyring == .overwritten)
            #expect(code { _ = try held.text("a") } != nil)
            #expect(try item("4711") == nil && item("4712") == "two")
            #expect(code { _ = try group.openStore(of: "4711") } == .noSuchAccount)
            // Nothing is left to do.
            #expect(try group.erase("4711") == nil)
            try add("4711", "again")
            #expect(try item("4711") == "again" && item("4712") == "two")
            try group.erase("4711")
            try add("4711", "third")
            #expect(try item("4711") == "third")
        }
        #expect(disk.openCount == 0 && disk.deadlocks == 0)
    }

    @Test("a group that is not finished is finished with its own key alone") func anotherKey() throws {
        let disk = ModelDisk(DiskState())
        disk.during {
            // It stopped before the first shard, which is made last.
            #expect(throws: VaultError.self) {
                try StoreGroup.create(
                    at: Self.path, unlocker: testKey(0x37), groupKey: Self.groupKey, shards: [0x14, 0xFF])
            }
            #expect(throws: VaultError(.wrongKey, "")) { try Self.create() }
        }
        let isMade = try disk.during { try StoreGroup.exists(StoreGroup.shard(0, of: Self.path)) }
        #expect(!isMade && disk.openCount == 0)
    }

    @Test("an account that is erased while its store is made has no store afterwards") func erasedMeanwhile() throws {
        let disk = try disk()
        try disk.during { try eraseWhileTheStoreIsMade() }
    }

    private func eraseWhileTheStoreIsMade() throws {
        let group = try open()
        let place = try group.lines(of: "4711").now
        let system = SystemCalls.current
        var calls = system
        let isErased = Mutex(false)
        // The line is there, and the folder of the store is not.
        calls.makeFolderAt = { folder, path, mode in
            let isFirst = isErased.withLock { exchange(&$0, with: true) == false }
            if isFirst {
                SystemCalls.$current.withValue(system) { _ = try? group.erase("4711") }
            }
            return system.makeFolderAt(folder, path, mode)
        }
        let made = Result { try SystemCalls.$current.withValue(calls) { try group.createStore(of: "4711") } }
        #expect(throws: StoreError.noSuchAccount) { try made.get() }
        #expect(code { _ = try StoreFolder(at: place.store) } == .gone)
        try add("4711", "again")
        #expect(try item("4711") == "again")
    }

    @Test("a copy of the stores is useless after an erasure; a copy of the shard too is not") func backups() throws {
        let folder = try TemporaryFolder()
        let group = try Self.create(at: folder["g"])
        try group.createStore(of: "4711").put("a", "one", .always)
        let place = try group.lines(of: "4711").now
        let device = try #require(try group.lines(of: "4711").device)
        let (stores, shards) = (folder["old-stores"], folder["old-shards"])
        try FileManager.default.copyItem(atPath: place.store.string, toPath: stores.string)
        try FileManager.default.copyItem(atPath: folder["g/shards"].string, toPath: shards.string)
        try group.erase("4711")
        // The stores of the backup, with the shards of today.
        try FileManager.default.removeItem(atPath: place.store.string)
        try FileManager.default.copyItem(atPath: stores.string, toPath: place.store.string)
        #expect(code { _ = try group.openStore(of: "4711") } == .noSuchAccount)
        // With the shards of the backup and their unlock files the key is there again.
        try FileManager.default.removeItem(atPath: folder["g/shards"].string)
        try FileManager.default.copyItem(atPath: shards.string, toPath: folder["g/shards"].string)
        let back = try StoreGroup.open(at: folder["g"], unlocking: Self.keys)
        #expect(try back.lines(of: "4711").device?.id == device.id)
        #expect(try back.openStore(of: "4711").text("a") == "one")
    }

    @Test("after an erasure, what unlocked the store opens all classes but always in a backup") func otherClasses()
        throws
    {
        let folder = try TemporaryFolder()
        let group = try Self.create(at: folder["g"])
        let store = try group.createStore(of: "4711", unlockers: [.key(testKey(0x32))])
        try store.unlock(with: KeySet(keys: [testKey(0x32)]))
        for protection in ItemProtection.allCases { try store.put(protection.rawValue, "x", protection) }
        let (place, context) = (try group.lines(of: "4711").now, store.itemContext)
        let files = try ItemProtection.allCases.map { ($0, try store.fileName(of: $0.rawValue)) }
        let old = folder["old"]
        try FileManager.default.copyItem(atPath: place.store.string, toPath: old.string)
        try group.erase("4711")
        // By hand, without the device key.
        let (keybag, _) = try VaultStore.openKeybag(StoreFolder(at: old), KeySet(keys: [testKey(0x32)]))
        let keys = KeySet(keys: keybag.keys.map(\.key))
        for (protection, file) in files {
            let opened = Result {
                try SeekableVaultReader(
                    FileSource(at: old.appending("items").appending(file)),
                    with: Credentials(keys, context: context)
                ).length
            }
            if protection == .always {
                #expect(throws: VaultError(.wrongKey, "")) { try opened.get() }
            } else {
                #expect(try opened.get() == 1, "\(protection)")
            }
        }
        for keys in [KeySet(), KeySet(keys: [Self.unlocker, testKey(0x32)])] {
            #expect(throws: VaultError(.wrongKey, "")) {
                try VaultStore.cardPair.open(at: old.appending("store.vault"), unlocking: keys) { _, _ in }
            }
        }
    }

    @Test("renew exchanges the unlock keys of shards with erasures alone") func renewing() throws {
        let folder = try TemporaryFolder()
        let group = try Self.create(at: folder["g"])
        try group.createStore(of: "4711").put("a", "one", .always)
        try group.createStore(of: "4712").put("a", "two", .always)
        let other = testKey(0x36)
        // With two keys that unlock, an erasure cannot exchange the unlock key.
        let shard = try group.lines(of: "4711").now.shard
        _ = try Keyring.changeUnlockers(
            at: shard, KeyChange(adding: [.key(other)], removing: .none), unlocking: Self.keys)
        #expect(try group.erase("4711")?.exchange == .othersUnlockIt)
        #expect(try group.renew(with: [Self.unlocker, other]) == 1)
        #expect(try group.openStore(of: "4712").text("a") == "two")
    }

    @Test("another key does not open a group, and what unlocks it can be changed") func unlockers() throws {
        let folder = try TemporaryFolder()
        let path = folder["g"]
        let group = try Self.create(at: path)
        try group.createStore(of: "4711").put("a", "one", .always)
        let other = testKey(0x36)
        let others = KeySet(keys: [other])
        #expect(throws: VaultError.self) { try StoreGroup.open(at: path, unlocking: others) }
        try group.changeUnlockers(adding: [other], removing: [Self.unlocker.id])
        #expect(throws: VaultError.self) { try StoreGroup.open(at: path, unlocking: Self.keys) }
        #expect(try StoreGroup.open(at: path, unlocking: others).openStore(of: "4711").text("a") == "one")
    }

    @Test("a folder with anything else becomes no group") func foreign() throws {
        let folder = try TemporaryFolder()
        try folder.write([1], to: "file")
        #expect(code { _ = try StoreGroup.create(at: folder.path, unlocker: Self.unlocker) } == .storeExists)
        #expect(try folder.read("file") == [1])
        let disk = try disk()
        disk.during {
            #expect(code { _ = try StoreGroup.create(at: Self.path, unlocker: Self.unlocker) } == .storeExists)
        }
    }

    // MARK: Crashes

    enum Change: String, CaseIterable, Sendable { case create, erase, comeBack }

    private func run(_ change: Change) throws {
        let group = try open()
        switch change {
        case .create:
            if try item("4713") == nil {
                do {
                    try add("4713", "new")
                } catch let error as StoreError {
                    guard error.code == .storeExists else { throw error }
                    try group.openStore(of: "4713").put("a", "new", .always)
                }
            }
        case .erase: try group.erase("4711")
        case .comeBack:
            _ = try group.erase("4711")
            try add("4711", "back")
        }
    }

    /// Each change is stopped at each of its calls. The other account keeps its item, an erased one never comes back, and
    /// the change can be made again.
    @Test(arguments: Change.allCases) func crashes(_ change: Change) throws {
        let start = try disk()
        try start.during {
            try add("4711", "one")
            try add("4712", "two")
        }
        var state = start.state
        state.synchronizeAll()
        let disk = ModelDisk(state)
        try disk.during { try run(change) }
        var count = 0
        var isOver = false
        for moment in disk.moments {
            for state in try #require(moment.state.afterPowerFailureOfAll()) + [moment.state.afterKill()] {
                count += 1
                let next = ModelDisk(state)
                try next.during {
                    #expect(try item("4712") == "two", "\(moment.call)")
                    let found = try item("4711")
                    #expect([nil, "one", "back"].contains(found))
                    if change == .create {
                        #expect(found == "one")
                        #expect([nil, "new"].contains(try item("4713")))
                    }
                    try run(change)
                    #expect(try item("4712") == "two")
                    #expect(try item("4711") == ["create": "one", "comeBack": "back"][change.rawValue])
                    if change == .create { #expect(try item("4713") == "new") }
                }
                if disk.moments.last?.call == moment.call { isOver = true }
            }
        }
        #expect(count > 10 && isOver)
    }

    @Test("making a group syncs the folder twice for the shards but the first one, which comes last")
    func crashesWhileMaking() throws {
        let make = {
            _ = try StoreGroup.create(
                at: Self.path, unlocker: Self.unlocker, groupKey: Self.groupKey, shards: [0, 1, 2])
        }
        let disk = ModelDisk(DiskState())
        try disk.during { try make() }
        // The folders, two files for each shard, the two syncs, and those of the first shard after its files.
        #expect(disk.syncCount == 3 + 2 * 3 + 2 + 2)
        var (count, foundGroups) = (0, 0)
        for moment in disk.moments {
            for state in try #require(moment.state.afterPowerFailureOfAll()) + [moment.state.afterKill()] {
                count += 1
                try ModelDisk(state).during {
                    do {
                        try make()
                    } catch let error as StoreError {
                        // A group that is there has all its shards.
                        #expect(error.code == .storeExists)
                        foundGroups += 1
                    }
                    _ = try open()
                    for number in [0, 1, 2] {
                        _ = try Keyring.open(at: StoreGroup.shard(number, of: Self.path), unlocking: Self.keys)
                    }
                }
            }
        }
        #expect(count > 100 && foundGroups > 1)
    }

    @Test("a group whose making was stopped is finished") func making() throws {
        // The last shards are missing.
        let disk = try disk()
        try disk.during {
            let shards = try FileDescriptor.folder("/g/shards")
            defer { shards.closeQuietly() }
            for name: FilePath in ["00.vault", "00.vault.key", "14.vault"] { try shards.remove(name) }
            try shards.synchronizeFolder()
        }
        let last = disk.moments.count
        #expect(throws: VaultError.self) { try disk.during { try open() } }
        try disk.during { _ = try Self.create() }
        #expect(disk.moments.count > last + 10)
        for moment in disk.moments[last...] {
            for state in try #require(moment.state.afterPowerFailureOfAll()) + [moment.state.afterKill()] {
                try ModelDisk(state).during {
                    do {
                        try Self.create()
                    } catch let error as StoreError {
                        #expect(error.code == .storeExists)
                    }
                    try add("4711", "one")
                    #expect(try item("4711") == "one")
                }
            }
        }
    }
}
