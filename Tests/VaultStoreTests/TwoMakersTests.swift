import Synchronization
import SystemPackage
import Testing
import VaultFile
import VaultStream
import VaultTestSupport

@testable import VaultStore

/// Two programs make the same part of a store. The second makes its whole change before any one of the first's calls.
@Suite struct TwoMakersTests {
    /// Runs `second` before each call of `first`, and `check` after both.
    ///
    /// - Returns: the errors of the first program.
    private func interleave(
        _ start: DiskState, _ first: () throws -> Void, _ second: @escaping @Sendable () throws -> Void,
        check: (_ state: DiskState, _ first: (any Error)?, _ second: (any Error)?) throws -> Void
    ) throws -> [any Error] {
        func error(_ body: () throws -> Void) -> (any Error)? {
            do {
                try body()
                return nil
            } catch {
                return error
            }
        }
        let counted = ModelDisk(start)
        #expect(counted.during { error(first) == nil })
        #expect(counted.interludeCount > 5)
        var errors: [any Error] = []
        for number in 0..<counted.interludeCount {
            let ofSecond = Mutex<(any Error)?>(nil)
            var abilities = ModelDisk.Abilities()
            abilities.interlude = { now in
                guard now == number else { return }
                do { try second() } catch { ofSecond.withLock { $0 = error } }
            }
            let disk = ModelDisk(start, abilities: abilities)
            let ofFirst = disk.during { error(first) }
            if let ofFirst { errors.append(ofFirst) }
            try check(disk.state, ofFirst, ofSecond.withLock { $0 })
            #expect(disk.openCount == 0, "\(number)")
        }
        return errors
    }

    /// A store without a keybag, with an item.
    private func start() throws -> DiskState {
        let disk = ModelDisk(DiskState())
        try disk.during {
            let store = try VaultStore.create(at: StoreCrashTests.Scene.path, device: deviceKey)
            try store.put("a", "one", .always)
        }
        var state = disk.state
        state.synchronizeAll()
        return state
    }

    private func add(_ key: SymmetricKey) throws {
        _ = try VaultStore.create(at: StoreCrashTests.Scene.path, device: deviceKey, unlockers: [.key(key)])
    }

    @Test("a keybag is not added beside a card that has changed since its items were looked at") func cards() throws {
        let rotate = { @Sendable in
            let store = try VaultStore.open(at: StoreCrashTests.Scene.path, device: deviceKey)
            _ = try store.rotateKey(of: .always, device: deviceKey)
        }
        let errors = try interleave(start(), { try add(ownerKey) }, rotate) { state, first, _ in
            try ModelDisk(state).during {
                // What was stopped is finished by the same call.
                if first != nil { try? add(ownerKey) }
                let store = try VaultStore.open(at: StoreCrashTests.Scene.path, device: deviceKey)
                try store.unlock(with: owner)
                #expect(try store.text("a") == "one")
            }
        }
        #expect(errors.allSatisfy { ($0 as? StoreError)?.code == .keysChanged })
        #expect(!errors.isEmpty)
    }

    /// Whether the second program gave up because the first one, which was stopped, has the lock.
    private func isWaiting(_ error: (any Error)?) -> Bool { (error as? VaultError)?.code == .inUse }

    @Test("of two programs that make the lock of a restored store again, both write") func lock() throws {
        let disk = ModelDisk(try StoreCrashTests.Scene.disk())
        try disk.during {
            let root = try FileDescriptor.folder(StoreCrashTests.Scene.path)
            defer { root.closeQuietly() }
            try root.remove(StoreFolder.lock)
            try root.synchronizeFolder()
        }
        let put = { @Sendable (name: String) in
            _ = try StoreCrashTests.Scene.open().put(name, name, .always)
        }
        var writes = 0
        let errors = try interleave(disk.state, { try put("first") }, { try put("second") }) { state, _, second in
            #expect(second == nil || isWaiting(second))
            writes += second == nil ? 1 : 0
            try ModelDisk(state).during {
                let store = try StoreCrashTests.Scene.open()
                #expect(try store.text("first") == "first")
                #expect((try? store.text("second")) == (second == nil ? "second" : nil))
                let own: Set = ["lock", "items", "store.vault", "store.vault.key", "keys.vault", "keys.vault.key"]
                #expect(Set(try store.folder.root.names { _ in true }.map(\.string)) == own)
            }
        }
        #expect(errors.isEmpty)
        #expect(writes > 5)
    }

    @Test("of two programs that add the keybag, one does, and the other says so when it is called again") func keybags()
        throws
    {
        let errors = try interleave(
            start(), { try add(ownerKey) }, { [self] in try add(StoreCrashTests.Scene.other) }
        ) { state, first, second in
            #expect((first == nil) != (second == nil))
            let codes: [StoreError.Code] = [.storeExists, .keysChanged]
            #expect(first == nil || (first as? StoreError).map { codes.contains($0.code) } == true)
            try ModelDisk(state).during {
                let store = try VaultStore.open(at: StoreCrashTests.Scene.path, device: deviceKey)
                // The same call again says what is there.
                if first != nil { #expect(code { try add(ownerKey) } == .storeExists) }
                let key = first == nil ? ownerKey : StoreCrashTests.Scene.other
                try store.unlock(with: KeySet(keys: [key]))
                #expect(try store.text("a") == "one")
                try store.put("b", "two", .unlessOpen)
                #expect(try store.text("b") == "two")
            }
        }
        #expect(!errors.isEmpty)
    }
}
