import Synchronization
import SystemPackage
import Testing
import VaultFile
import VaultFormat
import VaultStream
import VaultTestSupport

@testable import VaultStore

/// New keys for a class, and a new unlock key.
@Suite struct KeyRotationTests {
    static let large = [UInt8](repeating: 7, count: 300_000)

    func file(_ name: String, of store: VaultStore, in box: TestStore) throws -> FilePath {
        try box.items.appending(ItemName(name).file(store.card.index).components)
    }

    func slotIDs(_ path: FilePath) throws -> Set<KeyID> {
        try #require(ItemSlots.ids(ContainerEnds(reading: FileSource(at: path))))
    }

    func keys(_ store: VaultStore) -> [ItemProtection: KeyID] {
        store.gate.withKeys { $0.current.mapValues(\.id) }
    }

    func write(_ bytes: [UInt8], to path: FilePath, _ box: TestStore) throws {
        try box.folder.write(bytes, to: name(path, in: box))
    }

    func name(_ path: FilePath, in box: TestStore) -> String {
        String(path.string.dropFirst(box.folder.path.string.count + 1))
    }

    func bytes(at path: FilePath) throws -> [UInt8] {
        let source = try FileSource(at: path)
        return try source.bytes(at: 0, count: Int(source.size()))
    }

    /// A store with a small and a large item of each class.
    func filled(unlockers: [Recipient] = [.key(ownerKey)]) throws -> (TestStore, VaultStore) {
        let box = try TestStore(unlockers: unlockers)
        let store = try box.open(unlocked: true)
        for protection in ItemProtection.allCases {
            try store.put("small \(protection)", "text", protection)
            try store.write("large \(protection)", Self.large.span, protection: protection)
        }
        return (box, store)
    }

    func checkContents(_ store: VaultStore) throws {
        let found = try store.check()
        #expect(found.intact == 8 && found.damaged.isEmpty && found.unlabelled.isEmpty && found.lockedCount == 0)
        for protection in ItemProtection.allCases {
            #expect(try store.item("small \(protection)").protection == protection)
            #expect(try store.text("small \(protection)") == "text")
            let large = try store.read("large \(protection)", atMost: 1 << 20)
            #expect(large.withBytes { [UInt8](copying: $0) } == Self.large)
        }
    }

    @Test(arguments: ItemProtection.allCases) func rotates(_ protection: ItemProtection) throws {
        let (box, store) = try filled()
        defer { box.keep() }
        let (before, listed) = (keys(store), try store.list().items)
        let smallFile = try file("small \(protection)", of: store, in: box)
        let largeFile = try file("large \(protection)", of: store, in: box)
        let identity = try FileSource(at: largeFile).identity()
        let text = protection == .always ? StoreFolder.card : StoreFolder.keybag
        // Both stay open, to see what becomes of their bytes.
        let old = try FileSource(at: box.path.appending(text.components))
        let oldUnlockFile = try FileSource(at: box.path.appending("\(text).key"))
        let done = try store.rotateKey(of: protection, device: deviceKey, unlocking: owner)
        #expect(done.changed == 2 && done.left.isEmpty)
        #expect(done.traces?.reason == .destroyedKey && done.traces?.exchange == .done)
        #expect(done.traces?.keyring == .overwritten && done.traces?.unlockKey == .overwritten)
        for source in [old, oldUnlockFile] {
            let bytes = try source.bytes(at: 0, count: Int(source.size()))
            #expect(!bytes.isEmpty && bytes.allSatisfy { $0 == 0 })
        }
        // The names, versions and classes stay; a large item is changed in place.
        #expect(try store.list().items == listed)
        #expect(try FileSource(at: largeFile).identity() == identity)
        let after = keys(store)
        for one in ItemProtection.allCases { #expect((after[one] == before[one]) == (one != protection)) }
        for path in [smallFile, largeFile] { #expect(try slotIDs(path) == [try #require(after[protection])]) }
        try checkContents(store)
        try store.put("new", "text", protection)
        // A program that opens the store now has the new key alone.
        let other = try box.open(unlocked: true)
        #expect(keys(other) == after && other.gate.withKeys { $0.all.count } == 4)
        #expect(other.unfinishedRotations.isEmpty && store.unfinishedRotations.isEmpty)
        #expect(try other.text("new") == "text")
        try other.remove("new")
        try checkContents(other)
    }

    /// Keys of a class are at hand in the states in which its items are opened.
    @Test(arguments: StoreState.allCases, ItemProtection.allCases) func inEachState(
        _ state: StoreState, _ protection: ItemProtection
    ) throws {
        let (box, _) = try filled()
        defer { box.keep() }
        let store = try box.open(state)
        guard protection.states(for: .open).contains(state) else {
            #expect(throws: StoreError.locked(protection)) {
                try store.rotateKey(of: protection, device: deviceKey, unlocking: owner)
            }
            #expect(try box.open(unlocked: true).unfinishedRotations.isEmpty)
            return
        }
        let done = try store.rotateKey(of: protection, device: deviceKey, unlocking: owner)
        #expect(done.changed == 2 && done.left.isEmpty)
        // No class becomes available by it.
        #expect(store.state == state && store.canRead(.complete) == [.unlocked, .closing].contains(state))
        try checkContents(box.open(unlocked: true))
    }

    @Test func refusals() throws {
        let box = try TestStore(unlockers: [])
        defer { box.keep() }
        let store = try box.open()
        #expect(code { try store.rotateKey(of: .complete, device: deviceKey, unlocking: owner) } == .noKeybag)
        #expect(throws: VaultError.self) { try store.rotateKey(of: .always, device: ownerKey) }
        #expect(try store.rotateKey(of: .always, device: deviceKey).changed == 0)
        #expect(code { try VaultStore.renew(at: box.path, unlocking: owner, with: [.key(ownerKey)]) } == .noKeybag)
        try VaultStore.wipe(at: box.path)
        #expect(code { try store.rotateKey(of: .always, device: deviceKey) } == .gone)
        #expect(code { try VaultStore.renewCard(at: box.path, device: deviceKey, with: deviceKey) } == .gone)
    }

    // MARK: Other programs

    /// A program that has the old keys reads nothing wrong, and writes nothing under a key that is gone.
    @Test(arguments: ItemProtection.allCases) func staleKeys(_ protection: ItemProtection) throws {
        let (box, store) = try filled()
        defer { box.keep() }
        let stale = try box.open(unlocked: true)
        let sealed = try box.open()
        let locked = try box.open(.locked)
        try store.rotateKey(of: protection, device: deviceKey, unlocking: owner)
        for name in ["small", "large"] {
            #expect(throws: StoreError.keysChanged) { try stale.item("\(name) \(protection)") }
        }
        #expect(code { _ = try stale.list() } == .keysChanged && code { _ = try stale.check() } == .keysChanged)
        #expect(code { _ = try stale.repair() } == .keysChanged)
        #expect(code { try stale.put("new", "x", protection) } == .keysChanged)
        #expect(code { try stale.move("small \(protection)", to: "new") } == .keysChanged)
        for one in ItemProtection.allCases where (one == .always) != (protection == .always) {
            guard protection != .unlessOpen else {
                // The card has changed, too.
                #expect(code { try stale.put("small \(one)", "text") } == .keysChanged)
                continue
            }
            try stale.put("small \(one)", "text")
        }
        if protection == .unlessOpen {
            for other in [sealed, locked] {
                #expect(throws: StoreError.keysChanged) { try other.item("small unlessOpen") }
                #expect(code { try other.put("new", "x", .unlessOpen) } == .keysChanged)
            }
            // It knows the public key of the card from before.
            for other in [stale, sealed] { #expect(code { try other.unlock(with: owner) } == .keysChanged) }
            #expect(sealed.state == .sealed)
            try checkContents(box.open(unlocked: true))
        } else if protection == .always {
            // A sealed store cannot know whether an item is of a class of the keybag, unless its card has changed.
            #expect(throws: StoreError.keysChanged) { try sealed.item("small always") }
            #expect(throws: StoreError.keysChanged) { try locked.item("small always") }
            try checkContents(box.open(unlocked: true))
        } else {
            #expect(throws: StoreError.locked(.afterFirstUnlock)) { try sealed.item("small \(protection)") }
            #expect(throws: StoreError.keysChanged) { try locked.item("small \(protection)") }
            try stale.unlock(with: owner)
            #expect(stale.gate.withKeys { $0.all.count } == 4)
            try checkContents(stale)
        }
        #expect(try !store.contains("new"))
    }

    /// An item that is being written while its class gets a new key does not appear, in the program that rotates too.
    @Test func duringAWrite() throws {
        let (box, store) = try filled()
        defer { box.keep() }
        let other = try box.open(unlocked: true)
        for writer in [store, other] {
            #expect(throws: StoreError.keysChanged) {
                _ = try writer.withWriter("new", protection: .complete) {
                    try $0.write(Self.large.span)
                    try store.rotateKey(of: .complete, device: deviceKey, unlocking: owner)
                }
            }
        }
        #expect(throws: StoreError.keysChanged) {
            try store.batch { batch in
                try batch.write("new", Self.large.span, protection: .complete)
                try store.rotateKey(of: .complete, device: deviceKey, unlocking: owner)
            }
        }
        #expect(throws: StoreError.keysChanged) {
            _ = try store.withWriter("new", protection: .complete) { _ in
                try VaultStore.renew(at: box.path, unlocking: owner, with: [.key(ownerKey)])
            }
        }
        try checkContents(store)
        // One of another key file is not concerned.
        _ = try store.withWriter("small always") { writer in
            try store.rotateKey(of: .afterFirstUnlock, device: deviceKey, unlocking: owner)
            try writer.write([0x74, 0x65, 0x78, 0x74].span)
        }
        try checkContents(store)
    }

    /// Keys that the system keeps are of the keybag from before, and are not used.
    @Test(arguments: [ItemProtection.complete, .unlessOpen]) func keptKeys(_ protection: ItemProtection) throws {
        let (box, store) = try filled()
        defer { box.keep() }
        let system = ModelKeys()
        try system.run {
            try store.unlock(with: owner, keepingFor: .seconds(900))
            try store.rotateKey(of: protection, device: deviceKey, unlocking: owner)
            #expect(try box.open().unlockKept() == [])
            try store.unlock(with: owner, keepingFor: .seconds(900))
            let next = try box.open()
            #expect(try next.unlockKept() == [.afterFirstUnlock, .unlessOpen, .complete])
            try next.put("new", "x", protection)
            try next.remove("new")
            try checkContents(next)
        }
    }

    // MARK: What keeps an old key

    /// A damaged item may be recovered with the old key, so that stays.
    @Test(arguments: ["items", "lost"]) func damagedItems(_ folder: String) throws {
        let (box, store) = try filled()
        defer { box.keep() }
        var path = try file("small complete", of: store, in: box)
        if folder == "lost" {
            let lost = box.path.appending("lost")
            try box.folder.makeFolder("s/lost")
            let there = lost.appending("x")
            try write(bytes(at: path), to: there, box)
            try store.remove("small complete")
            path = there
        }
        let content = try bytes(at: path)
        // Without its end, and with no header.
        for left in [Array(content.dropLast(40)), [UInt8](repeating: 0, count: 700)] {
            try write(left, to: path, box)
            for _ in 1...2 {
                let done = try store.rotateKey(of: .complete, device: deviceKey, unlocking: owner)
                let name = try #require(path.lastComponent?.string)
                #expect(done.left.map(\.file) == ["\(folder)/\(name)"] && done.traces == nil)
                #expect(store.unfinishedRotations == [.complete])
                let next = try box.open(unlocked: true)
                #expect(next.unfinishedRotations == [.complete] && next.gate.withKeys { $0.all.count } == 5)
                #expect(try next.item("large complete").protection == .complete)
            }
        }
        try write(content, to: path, box)
        let done = try store.rotateKey(of: .complete, device: deviceKey, unlocking: owner)
        #expect(done.changed == 1 && done.left.isEmpty && done.traces?.exchange == .done)
        #expect(store.unfinishedRotations.isEmpty)
        let key = try #require(keys(store)[.complete])
        #expect(try slotIDs(path) == [key])
    }

    /// A backup by hard links has the old keybag and items for the old key, and stays whole.
    @Test func hardLinks() throws {
        let (box, store) = try filled()
        defer { box.keep() }
        let backup = box.folder["backup"]
        try box.folder.makeFolder("backup")
        try box.folder.makeFolder("backup/items")
        let names = ["store.vault", "store.vault.key", "keys.vault", "keys.vault.key", "lock"]
        for name in names { try box.folder.link("s/\(name)", to: "backup/\(name)") }
        for name in try store.folder.items.names({ _ in true }) {
            try box.folder.link("s/items/\(name)", to: "backup/items/\(name)")
        }
        for protection in ItemProtection.allCases {
            let done = try store.rotateKey(of: protection, device: deviceKey, unlocking: owner)
            #expect(done.changed == 2 && done.left.isEmpty && done.traces?.exchange == .done)
            // The second change of the keybag replaces a file that has no other name.
            let isFirst = [.always, .afterFirstUnlock].contains(protection)
            #expect(done.traces?.unlockKey == (isFirst ? .linkedElsewhere : .overwritten))
        }
        try checkContents(store)
        let old = try VaultStore.open(at: backup, device: deviceKey)
        try old.unlock(with: owner)
        try checkContents(old)
        #expect(Set(keys(old).values).isDisjoint(with: keys(store).values))
    }

    /// A lock while keys change: no key stays, nothing is lost, and the rotation can be finished.
    @Test(arguments: [ItemProtection.complete, .unlessOpen]) func lockMeanwhile(_ protection: ItemProtection) throws {
        for moment in 0..<100 {
            let (box, store) = try filled()
            defer { box.keep() }
            var calls = SystemCalls.current
            let sync = calls.sync
            let count = Mutex(0)
            calls.sync = { file in
                let number = count.withLock { count in
                    count += 1
                    return count - 1
                }
                if number == moment { store.lock() }
                return sync(file)
            }
            let run = Result {
                try SystemCalls.$current.withValue(calls) {
                    try store.rotateKey(of: protection, device: deviceKey, unlocking: owner)
                }
            }
            let total = count.withLock { $0 }
            if case .failure(let error) = run { #expect(error as? StoreError == .locked(protection)) }
            if total > moment {
                #expect(store.state == .locked)
                let held = store.gate.withKeys { keys in
                    keys.all.keys.filter { [.complete, .unlessOpen].contains(keys.classes[$0]) }
                }
                #expect(held.isEmpty && store.gate.withKeys { $0.openers.isEmpty })
            }
            let next = try box.open(unlocked: true)
            try checkContents(next)
            try next.rotateKey(of: protection, device: deviceKey, unlocking: owner)
            try checkContents(next)
            if total <= moment { break }
            #expect(moment < 99)
        }
    }

    /// Each item more costs this many syncs: a small one is copied, a large one is changed in place as by any rotation.
    @Test func syncs() throws {
        func count(_ small: Int, _ inPlace: Int) throws -> Int {
            let disk = ModelDisk(try StoreCrashTests.Scene.disk())
            return try disk.during {
                let store = try StoreCrashTests.Scene.open()
                for number in 0..<small { try store.put("small \(number)", "x", .complete) }
                for number in 0..<inPlace { try store.putInPlace("in place \(number)", "x", .complete) }
                let before = disk.syncCount
                let done = try store.rotateKey(of: .complete, device: deviceKey, unlocking: owner)
                #expect(done.changed == 1 + small + inPlace)
                return disk.syncCount - before
            }
        }
        let none = try count(0, 0)
        #expect(try count(3, 0) == none + 3)
        #expect(try count(0, 3) == none + 12)
    }
}
