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
}
