import Synchronization
import SystemPackage
import Testing
import VaultFile
import VaultTestSupport

@testable import VaultStore

/// What the system keeps for the commands of a user, with a model of the kernel's keys.
@Suite struct KeepingTests {
    /// A store with one item of each class, named after it.
    private func prepared() throws -> TestStore {
        let made = try TestStore()
        let store = try made.open(unlocked: true)
        for protection in ItemProtection.allCases { try store.put(protection.rawValue, "x", protection) }
        return made
    }

    private func readable(_ store: VaultStore) -> [ItemProtection] {
        ItemProtection.allCases.filter { (try? store.text($0.rawValue)) == "x" }
    }

    @Test("another program reads all classes until the lock, and afterFirstUnlock until it is sealed") func keys()
        throws
    {
        let made = try prepared()
        let system = ModelKeys()
        try system.run {
            let store = try made.open()
            #expect(try store.unlockKept() == [])
            try store.unlock(with: owner, keepingFor: .seconds(900))
            #expect(store.state == .unlocked)
            let names = system.kept.map(\.name).sorted()
            #expect(names == ["vaultfile:\(store.id):complete", "vaultfile:\(store.id):first"])
            #expect(system.kept.first { $0.name.hasSuffix("complete") }?.seconds == 900)
            #expect(system.kept.first { $0.name.hasSuffix("first") }.map { $0.seconds == nil } == true)

            let second = try made.open()
            #expect(try second.unlockKept() == [.afterFirstUnlock, .unlessOpen, .complete])
            #expect(second.state == .unlocked && readable(second) == ItemProtection.allCases)

            #expect(try store.lockKept())
            #expect(try !store.lockKept())
            let third = try made.open()
            #expect(try third.unlockKept() == [.afterFirstUnlock])
            #expect(third.state == .locked && readable(third) == [.always, .afterFirstUnlock])
            // It does not know the IDs of the class `complete`.
            #expect(throws: StoreError.locked(.complete)) { try third.text("complete") }
            #expect(throws: StoreError.locked(.unlessOpen)) { try third.text("unlessOpen") }
            #expect(try third.list().lockedCount == 2)
            try third.put("recorded", "y", .unlessOpen)
            #expect(try second.text("recorded") == "y")
            #expect(throws: StoreError.locked(.complete)) { try third.put("new", "x", .complete) }

            #expect(try store.lockKept(sealing: true))
            #expect(try !store.lockKept(sealing: true) && system.kept.isEmpty)
            let fourth = try made.open()
            #expect(try fourth.unlockKept() == [] && fourth.state == .sealed)
        }
        made.keep()
    }

    @Test("a text for one class has no key of another") func oneClass() throws {
        let made = try prepared()
        let system = ModelKeys()
        try system.run { try made.open().unlock(with: owner, keepingFor: .seconds(1)) }
        for key in system.kept {
            let text = String(decoding: key.bytes.dropFirst(64), as: UTF8.self)
            let isFirst = key.name.hasSuffix("first")
            #expect(text.hasPrefix("vaultfile store keys 1\n"))
            let kinds = text.split(separator: "\n").dropFirst(3).map { $0.split(separator: " ").prefix(2) }
            let found = kinds.map { $0[0] == "public" ? "public" : $0.joined(separator: " ") }
            #expect(
                found.sorted()
                    == (isFirst
                        ? ["key afterFirstUnlock", "public"]
                        : ["identity unlessOpen", "key complete", "key unlessOpen", "public"]))
        }
        made.keep()
    }

    @Test("after a change of what unlocks the store, nothing kept is used") func changed() throws {
        let made = try prepared()
        let system = ModelKeys()
        try system.run {
            try made.open().unlock(with: owner, keepingFor: .seconds(900))
            _ = try VaultStore.changeUnlockers(
                at: made.path, KeyChange(adding: [.key(testKey(0x33))]), unlocking: owner)
            let store = try made.open()
            #expect(try store.unlockKept() == [] && store.state == .sealed)
            #expect(system.kept.isEmpty, "it is dropped")
        }
        made.keep()
    }

    @Test("a wipe ends what is kept without a key, and nothing of another store") func wiped() throws {
        let (made, other) = (try prepared(), try TestStore())
        let system = ModelKeys()
        try system.run {
            try made.open().unlock(with: owner, keepingFor: .seconds(900))
            let store = try other.open()
            try store.unlock(with: owner, keepingFor: .seconds(900))
            try VaultStore.wipe(at: made.path)
            let names = system.kept.map(\.name).sorted()
            #expect(names == ["vaultfile:\(store.id):complete", "vaultfile:\(store.id):first"])
            _ = try VaultStore.changeUnlockers(
                at: other.path, KeyChange(adding: [.key(testKey(0x33))]), unlocking: owner)
            #expect(system.kept.isEmpty, "a change of what unlocks the store drops it at once")
        }
        other.keep()
    }

    @Test("a wipe that cannot end what is kept does the rest and says so each time, and a later one ends it")
    func wipedInVain() throws {
        for (call, expected) in [("listKeys", VaultError.Code.inputFailed), ("unlinkKey", .outputFailed)] {
            let made = try prepared()
            let failures = call == "listKeys" ? [call: Errno.ioError] : [call: .ioError, "invalidateKey": .ioError]
            let system = ModelKeys(failing: failures)
            try system.run {
                try made.open().unlock(with: owner, keepingFor: .seconds(900))
                #expect(throws: VaultError(expected, "")) { try VaultStore.wipe(at: made.path) }
                #expect(code { _ = try made.open() } == .gone)
                #expect(throws: VaultError(expected, ""), "the keybag is gone, and the key is not") {
                    try VaultStore.wipe(at: made.path)
                }
            }
            #expect(system.kept.count == 2)
            let healthy = ModelKeys()
            system.keys.withLock { keys in healthy.keys.withLock { $0 = keys } }
            try healthy.run { try VaultStore.wipe(at: made.path) }
            #expect(healthy.kept.isEmpty)
            #expect(try made.folder.read("s/gone").isEmpty)
        }
    }

    @Test("where the system hides its keys, a wipe says so, and a later one outside ends them")
    func wipedInside() throws {
        for error in [Errno.notPermitted, .permissionDenied] {
            let made = try prepared()
            let system = ModelKeys()
            try system.run { try made.open().unlock(with: owner, keepingFor: .seconds(900)) }
            var said: [VaultError.Code] = []
            try ModelKeys(failing: ["listKeys": error]).run {
                for _ in 0..<2 {
                    try VaultStore.wipe(at: made.path) { error, isNoted in
                        said.append(error.code)
                        #expect(isNoted)
                    }
                }
            }
            #expect(said == [.keyStoreUnavailable, .keyStoreUnavailable])
            #expect(try made.folder.read("s/gone").count == 64)
            try system.run { try VaultStore.wipe(at: made.path) { error, _ in said.append(error.code) } }
            #expect(system.kept.isEmpty && said.count == 2)
            #expect(try made.folder.read("s/gone").isEmpty)
        }
        // A kernel without keyrings keeps nothing.
        let made = try prepared()
        var said: [VaultError.Code] = []
        try ModelKeys(failing: ["listKeys": .noFunction]).run {
            try VaultStore.wipe(at: made.path) { error, _ in said.append(error.code) }
        }
        #expect(said.isEmpty)
        #expect(try made.folder.read("s/gone").isEmpty)
        // A mark with a second name is not written to, so a later wipe finds nothing.
        let linked = try prepared()
        try linked.folder.write([], to: "s/gone")
        try linked.folder.link("s/gone", to: "other")
        var noted: [Bool] = []
        try ModelKeys(failing: ["listKeys": .notPermitted]).run {
            try VaultStore.wipe(at: linked.path) { noted.append($1) }
        }
        #expect(noted == [false])
        #expect(try linked.folder.read("other").isEmpty)
    }

    @Test("an unlock that fails leaves what an earlier one has kept", arguments: ["linkKey", "expireKey", "addKey"])
    func failsAgain(_ failing: String) throws {
        let made = try prepared()
        let system = ModelKeys()
        try system.run { try made.open().unlock(with: owner, keepingFor: .seconds(900)) }
        let full = ModelKeys(failing: [failing: .init(rawValue: 122)])
        system.keys.withLock { keys in full.keys.withLock { $0 = keys } }
        try full.run {
            #expect(throws: VaultError.self) {
                try made.open().unlock(with: owner, keepingFor: .seconds(80_000))
            }
            // Only the class `complete` has a time, so `expireKey` fails at the second key.
            #expect(full.kept.first { $0.name.hasSuffix("complete") }?.seconds == 900)
            let store = try made.open()
            #expect(try store.unlockKept() == [.afterFirstUnlock, .unlessOpen, .complete])
        }
        made.keep()
    }

    @Test("a key that cannot be dropped does not save the others") func wipedInPart() throws {
        let made = try prepared()
        let system = ModelKeys(failing: ["unlinkKey": .ioError, "invalidateKey": .ioError], of: 1)
        try system.run {
            try made.open().unlock(with: owner, keepingFor: .seconds(900))
            #expect(throws: VaultError(.outputFailed, "")) { try VaultStore.wipe(at: made.path) }
        }
        #expect(system.keys.withLock { Set($0.filter(\.value.isLinked).keys) } == [1])
    }

    @Test("an unlock that is kept sees a wipe that began meanwhile") func wipedMeanwhile() throws {
        let made = try prepared()
        let path = made.path
        let isFirst = Mutex(true)
        let system = ModelKeys(beforeAdding: {
            let isNow = isFirst.withLock { isFirst in
                defer { isFirst = false }
                return isFirst
            }
            guard isNow else { return }
            try? VaultStore.wipe(at: path)
        })
        try system.run {
            let store = try made.open()
            #expect(code { try store.unlock(with: owner, keepingFor: .seconds(900)) } == .gone)
            #expect(store.state == .sealed)
        }
        #expect(system.kept.isEmpty)
        made.keep()
    }

    @Test("a kept text of another store is refused") func forged() throws {
        let (made, other) = (try prepared(), try TestStore())
        let system = ModelKeys()
        try system.run {
            let store = try made.open()
            try store.unlock(with: owner, keepingFor: .seconds(900))
            try other.open().unlock(with: owner, keepingFor: .seconds(900))
            let name = "vaultfile:\(store.id):complete"
            let theirs = try #require(
                system.kept.first { $0.name.hasSuffix("complete") && $0.name != name }
            ).bytes.dropFirst(64)
            system.keys.withLock { keys in
                for (number, key) in keys where key.name == name {
                    keys[number]?.bytes = Array(key.bytes.prefix(64)) + theirs
                }
            }
            let second = try made.open()
            #expect(code { try second.unlockKept() } == .storeForged)
            #expect(second.state == .sealed && readable(second) == [.always])
        }
        made.keep()
        other.keep()
    }

    @Test("if the system has room for one class only, nothing is kept", arguments: ["linkKey", "expireKey", "addKey"])
    func failures(_ failing: String) throws {
        let made = try prepared()
        let system = ModelKeys(failing: [failing: .init(rawValue: 122)])
        try system.run {
            let store = try made.open()
            #expect(throws: VaultError.self) { try store.unlock(with: owner, keepingFor: .seconds(900)) }
            #expect(system.kept.isEmpty)
            // After an error the state is what it was.
            #expect(store.state == .sealed && readable(store) == [.always])
        }
        made.keep()
    }

    @Test("a wrong key and a wrong time keep nothing") func refused() throws {
        let made = try prepared()
        let system = ModelKeys()
        try system.run {
            let store = try made.open()
            #expect(throws: VaultError.self) {
                try store.unlock(with: KeySet(keys: [testKey(0x39)]), keepingFor: .seconds(9))
            }
            for time in [Duration.zero, VaultStore.longestKeeping + .seconds(1)] {
                #expect(throws: VaultError.self) { try store.unlock(with: owner, keepingFor: time) }
            }
            #expect(system.kept.isEmpty && store.state == .sealed)
        }
        made.keep()
    }

    @Test("where the system keeps nothing, the store stays sealed, and unlock says so") func unavailable() throws {
        let made = try prepared()
        try ModelKeys(failing: ["findKey": .notPermitted, "addKey": .notPermitted]).run {
            let store = try made.open()
            #expect(try store.unlockKept() == [])
            let error = #expect(throws: VaultError.self) { try store.unlock(with: owner, keepingFor: .seconds(9)) }
            #expect(error?.code == .keyStoreUnavailable && store.state == .sealed)
        }
        try ModelKeys(failing: ["findKey": .ioError]).run {
            var said: [VaultError.Code] = []
            let kept = try made.open().unlockKept { said.append($0.code) }
            #expect(kept == [])
            #expect(said == [.inputFailed, .inputFailed])
        }
        made.keep()
    }
}
