import Synchronization
import SystemPackage
import Testing
import VaultFile
import VaultStream
import VaultTestSupport

@testable import VaultStore

/// Two programs change one store. The second makes its whole change before any one of the first's calls. The result is
/// that of one after the other, or the one that failed has changed nothing.
@Suite struct InterleavingTests {
    enum Change: String, CaseIterable, Sendable {
        case put, replace, replaceFirst, batch, remove, move, moveOver, protect, weaken, repair, rotate, wipe
        case rotateComplete, rotateAlways, renew, unlockers

        /// If the first program holds the lock, the wipe stops there. But the store has ended already.
        private func wipe() throws {
            do {
                try VaultStore.wipe(at: StoreCrashTests.Scene.path)
            } catch let error as VaultError {
                guard error.code == .inUse else { throw error }
            }
        }

        func run() throws {
            guard self != .wipe else { return try wipe() }
            if self == .renew { return try StoreCrashTests.Change.renew.run() }
            if self == .unlockers { return try StoreCrashTests.Change.unlockers.run() }
            let store = try StoreCrashTests.Scene.open()
            switch self {
            case .put: try store.put("new", "put", .complete)
            case .replace: try store.put("a", "replaced")
            case .replaceFirst: try store.put("a", "first", if: .version(store.item("a").version))
            case .batch:
                try store.batch { batch in
                    try batch.write("a", bytes("in a batch").span)
                    try batch.write("new", bytes("new in a batch").span, protection: .complete)
                }
            case .remove: try store.remove("a")
            case .move: try store.move("a", to: "new")
            case .moveOver: try store.move("b/c", to: "a", if: .any)
            case .protect: try store.setProtection(.complete, of: "a")
            case .weaken: try store.setProtection(.always, of: "b/c")
            case .repair: _ = try store.repair()
            case .rotate:
                // A plain rotation, which does not know the store.
                let key = store.gate.withKeys { $0.current[.always] }
                guard let key else { return }
                try Vault.rotate(
                    at: .path(file("a", of: store)),
                    KeyChange(adding: [.key(testKey(0x77))]), with: .key(key, context: store.itemContext))
            case .rotateComplete:
                try store.rotateKey(of: .complete, device: deviceKey, unlocking: StoreCrashTests.Scene.anyOwner)
            case .rotateAlways: _ = try store.rotateKey(of: .always, device: deviceKey)
            case .wipe, .renew, .unlockers: break
            }
        }

        var rotatesKey: Bool { self == .rotateComplete || self == .rotateAlways }
    }

    /// The items with their classes; `gone` after a wipe.
    static func items(_ state: DiskState) throws -> [String: String] {
        do {
            return try ModelDisk(state).during {
                let store = try StoreCrashTests.Scene.open()
                let list = try store.list()
                if let damaged = list.damaged.first { throw damaged.error }
                return try Dictionary(
                    uniqueKeysWithValues: list.items.map { ($0.name, "\($0.protection): \(try store.text($0.name))") })
            }
        } catch let error as StoreError where error.code == .gone {
            return ["": "gone"]
        }
    }

    /// What both changes have left, and whether they were done.
    private struct Outcome: Equatable {
        var items: [String: String]
        let firstIsDone: Bool
        let secondIsDone: Bool

        /// What may be there if a change has failed: its part of it is missing. A batch is not one transaction.
        func afterFailure(of change: Change) -> [Outcome] {
            var part = self
            part.items["new"] = "complete: new in a batch"
            var other = self
            other.items["a"] = "always: in a batch"
            return change == .batch ? [self, part, other] : [self]
        }
    }

    static func isDone(_ change: Change) -> Bool {
        (try? change.run()) != nil
    }

    /// One change after the other.
    private static func outcome(_ start: DiskState, _ first: Change?, _ second: Change?, reversed: Bool = false) throws
        -> Outcome
    {
        let disk = ModelDisk(start)
        var (firstIsDone, secondIsDone) = (false, false)
        disk.during {
            if reversed { secondIsDone = second.map(isDone) ?? false }
            firstIsDone = first.map(isDone) ?? false
            if !reversed { secondIsDone = second.map(isDone) ?? false }
        }
        return Outcome(items: try items(disk.state), firstIsDone: firstIsDone, secondIsDone: secondIsDone)
    }

    /// A store with an item that has lost its label, so that a repair has something to do.
    static func start() throws -> DiskState {
        let disk = ModelDisk(try StoreCrashTests.Scene.disk())
        try disk.during {
            let store = try StoreCrashTests.Scene.open()
            guard let key = store.gate.withKeys({ $0.current[.always] }) else { return }
            try Vault.rotate(
                at: .path(file("a", of: store)),
                KeyChange(adding: [.key(key)], removing: SlotSelection(others: true)),
                with: .key(key, context: store.itemContext))
        }
        var state = disk.state
        state.synchronizeAll()
        return state
    }

    private static func file(_ name: String, of store: VaultStore) throws -> FilePath {
        try store.folder.place("items").appending(ItemName(name).file(store.card.index).components)
    }

    /// A plain rotation is not made beside writers (it would take no lock of the store), so it is only the second one.
    @Test(arguments: Change.allCases.filter { $0 != .rotate }, Change.allCases)
    func pairs(_ first: Change, _ second: Change) throws {
        let start = try Self.start()
        var allowed = [
            try Self.outcome(start, first, second), try Self.outcome(start, first, second, reversed: true),
        ]
        allowed += try Self.outcome(start, nil, second).afterFailure(of: first)
        allowed += try Self.outcome(start, first, nil).afterFailure(of: second)
        let counted = ModelDisk(start)
        counted.during { _ = Self.isDone(first) }
        #expect(counted.interludeCount > 2)
        var wrong: [String] = []
        // A rotation of keys makes many calls: every ninth of them, other ones for each second change.
        let step = first.rotatesKey || second.rotatesKey ? 9 : 1
        let offset = Change.allCases.firstIndex(of: second) ?? 0
        for number in stride(from: offset % step, to: counted.interludeCount, by: step) {
            let secondIsDone = Mutex(false)
            var abilities = ModelDisk.Abilities()
            abilities.interlude = { now in
                guard now == number else { return }
                let isDone = Self.isDone(second)
                secondIsDone.withLock { $0 = isDone }
            }
            let disk = ModelDisk(start, abilities: abilities)
            let firstIsDone = disk.during { Self.isDone(first) }
            let found = Outcome(
                items: try Self.items(disk.state), firstIsDone: firstIsDone,
                secondIsDone: secondIsDone.withLock { $0 })
            if !allowed.contains(found) { wrong.append("\(number): \(found)") }
            if disk.openCount != 0 { wrong.append("\(number): \(disk.openCount) files are open") }
            // A rotation of keys that has stopped can be finished.
            guard first.rotatesKey, !firstIsDone, found.items[""] == nil else { continue }
            let again = ModelDisk(disk.state.afterKill())
            let isFinished = again.during {
                Self.isDone(.rotateComplete) && Self.isDone(.rotateAlways)
                    && (try? StoreCrashTests.Scene.open().unfinishedRotations) == []
            }
            if try !isFinished || Self.items(again.state) != found.items { wrong.append("\(number), again") }
        }
        #expect(wrong.isEmpty, "\(wrong.prefix(2)); allowed: \(allowed)")
    }
}
