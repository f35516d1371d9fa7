import SystemPackage
import Testing
import VaultFile
import VaultTestSupport

@testable import VaultStore

/// Each change of a store is stopped at each of its calls, with every state that a power failure can leave then. No
/// item may be lost or be under the name of another, and the change can be made again.
@Suite struct StoreCrashTests {
    enum Change: String, CaseIterable, Sendable {
        case write, replace, strengthen, stream, remove, batch, move, moveOver, protect, weaken, unlockers
        case rotateComplete, rotateAlways, rotateUnlessOpen, renew, renewCard

        var rotated: ItemProtection? {
            switch self {
            case .rotateComplete: .complete
            case .rotateAlways: .always
            case .rotateUnlessOpen: .unlessOpen
            default: nil
            }
        }

        /// The items before. A rotation of keys also changes an item in place.
        var before: [String: String] {
            rotated == nil ? Scene.items : Scene.items.merging(["in place": "three"]) { $1 }
        }

        /// The items afterwards, and the key that unlocks.
        var after: [String: String] {
            var items = before
            switch self {
            case .write: items["new"] = "new"
            case .replace: items["a"] = "changed"
            case .strengthen: items["a"] = "stronger (complete)"
            case .stream: items["b/c"] = String(repeating: "long ", count: 100)
            case .remove: items["a"] = nil
            case .batch:
                items["new 1"] = "1"
                items["new 2"] = "2"
                items["b/c"] = "in a batch"
            case .move:
                items["new"] = "one"
                items["a"] = nil
            case .moveOver:
                items["b/c"] = "one (always)"
                items["a"] = nil
            case .protect: items["a"] = "one (complete)"
            case .weaken: items["b/c"] = "two (always)"
            case .unlockers, .rotateComplete, .rotateAlways, .rotateUnlessOpen, .renew, .renewCard: break
            }
            return items
        }

        /// Whether something is lost, although each name has the old or the new content: a move may leave both names,
        /// and never none.
        func loses(_ found: [String: String]) -> Bool {
            switch self {
            case .move: found["a"] == nil && found["new"] == nil
            case .moveOver: found["a"] == nil && found["b/c"] != "one (always)"
            default: false
            }
        }

        func run() throws {
            if self == .unlockers {
                let change = KeyChange(adding: [.key(Scene.other)], removing: SlotSelection(ids: [ownerKey.id]))
                _ = try VaultStore.changeUnlockers(at: Scene.path, change, unlocking: Scene.anyOwner)
                return
            }
            if self == .renew {
                try VaultStore.renew(at: Scene.path, unlocking: Scene.anyOwner, with: [.key(Scene.other)])
                return
            }
            if self == .renewCard {
                try VaultStore.renewCard(at: Scene.path, device: deviceKey, with: deviceKey)
                return
            }
            let store = try Scene.open()
            switch self {
            case .write: try store.put("new", "new", .complete)
            case .replace: try store.put("a", "changed")
            case .strengthen: try store.put("a", "stronger", .complete, set: true)
            case .stream:
                _ = try store.withWriter("b/c") { writer in
                    for _ in 0..<100 { try writer.write(bytes("long ").span) }
                }
            case .remove:
                do {
                    try store.remove("a")
                } catch let error as StoreError {
                    // It is gone already if the change is made again.
                    guard error.code == .noSuchItem else { throw error }
                }
            case .batch:
                try store.batch { batch in
                    try batch.write("new 1", bytes("1").span, protection: .always)
                    try batch.write("b/c", bytes("in a batch").span)
                    try batch.write("new 2", bytes("2").span, protection: .complete)
                }
            case .move: try move(store, to: "new", if: .absent)
            case .moveOver: try move(store, to: "b/c", if: .any)
            case .protect: try store.setProtection(.complete, of: "a")
            case .weaken: try store.setProtection(.always, of: "b/c")
            case .rotateComplete: try rotate(store, .complete)
            case .rotateAlways: try rotate(store, .always)
            case .rotateUnlessOpen: try rotate(store, .unlessOpen)
            case .unlockers, .renew, .renewCard: break
            }
        }

        private func rotate(_ store: VaultStore, _ protection: ItemProtection) throws {
            let done = try store.rotateKey(of: protection, device: deviceKey, unlocking: Scene.anyOwner)
            // An item that could not be written keeps the old key.
            if done.left.isEmpty { #expect(done.traces != nil && store.unfinishedRotations.isEmpty) }
        }

        /// Made again, it finds that it is done, or both names.
        private func move(_ store: VaultStore, to name: String, if condition: WriteCondition) throws {
            do {
                try store.move("a", to: name, if: condition)
            } catch let error as StoreError {
                switch error.code {
                case .itemExists: try store.remove("a")
                case .noSuchItem: break
                default: throw error
                }
            }
        }
    }

    /// A store on a disk in memory.
    enum Scene {
        static let path: FilePath = "/s"
        static let other = testKey(0x34)
        static let anyOwner = KeySet(keys: [ownerKey, other])
        static let items = ["a": "one", "b/c": "two"]

        static func open() throws -> VaultStore {
            let store = try VaultStore.open(at: path, device: deviceKey)
            try store.unlock(with: anyOwner)
            return store
        }

        static func create() throws {
            _ = try VaultStore.create(at: path, device: deviceKey, unlockers: [.key(ownerKey)])
        }

        static func disk(for change: Change? = nil) throws -> DiskState {
            let disk = ModelDisk(DiskState())
            try disk.during {
                try create()
                let store = try open()
                try store.put("a", "one", .always)
                try store.put("b/c", "two", .complete)
                if let rotated = change?.rotated { try store.putInPlace("in place", "three", rotated) }
            }
            var state = disk.state
            state.synchronizeAll()
            return state
        }

        /// The classes of the items of the start.
        private static let classes = ["a": ItemProtection.always, "b/c": .complete]

        /// The items, with their classes if they have another one than at the start; an error if one is damaged or does not open.
        static func items(_ state: DiskState) throws -> [String: String] {
            let disk = ModelDisk(state)
            return try disk.during {
                let store = try open()
                let list = try store.list()
                if let damaged = list.damaged.first { throw damaged.error }
                return try Dictionary(
                    uniqueKeysWithValues: list.items.map { item in
                        let isSame = item.protection == classes[item.name] ?? item.protection
                        let text = try store.text(item.name)
                        return (item.name, isSame ? text : "\(text) (\(item.protection))")
                    })
            }
        }
    }

    /// The number of states, and what is wrong with them.
    ///
    /// - Parameter isBroken: Whether something is lost for certain. Then one loss is enough, and states that are too
    ///   many to try are left out. The last moments come first.
    private func states(
        _ change: Change, _ abilities: ModelDisk.Abilities = ModelDisk.Abilities(), isBroken: Bool = false
    ) throws -> (count: Int, lost: [String]) {
        let disk = ModelDisk(try Scene.disk(for: change), abilities: abilities)
        try disk.during { try change.run() }
        #expect(disk.openCount == 0 && disk.deadlocks == 0)
        var (count, lost): (Int, [String]) = (0, [])
        let (before, after) = (change.before, change.after)
        for (number, moment) in disk.moments.enumerated().reversed() where !isBroken || lost.isEmpty {
            let isLast = number == disk.moments.count - 1
            let kills = isLast ? [] : [moment.state.afterKill()]
            let failures = moment.state.afterPowerFailureOfAll()
            for state in try (isBroken ? failures ?? [] : #require(failures)) + kills where !isBroken || lost.isEmpty {
                count += 1
                let label = "\(change) at \(moment.call), \(number)"
                do {
                    let found = try Scene.items(state)
                    // A batch is not one transaction.
                    let isWhole = Set(found.keys).union(before.keys).union(after.keys).allSatisfy { name in
                        let values = isLast ? [after[name]] : [before[name], after[name]]
                        return values.contains(found[name])
                    }
                    if !isWhole || change.loses(found) { lost.append("\(label): \(found)") }
                    let again = ModelDisk(state)
                    try again.during { try change.run() }
                    if try Scene.items(again.state) != after { lost.append("\(label), again") }
                } catch {
                    lost.append("\(label): \(error)")
                }
            }
        }
        return (count, lost)
    }

    @Test(arguments: Change.allCases) func changes(_ change: Change) throws {
        let (count, lost) = try states(change)
        #expect(count > 3)
        #expect(lost.isEmpty, "\(lost.prefix(3))")
    }

    /// On systems where a file has a name from the beginning.
    @Test(arguments: [Change.write, .replace]) func namedFiles(_ change: Change) throws {
        var abilities = ModelDisk.Abilities()
        abilities.nameless = false
        abilities.exclusiveRename = false
        let (_, lost) = try states(change, abilities)
        #expect(lost.isEmpty, "\(lost.prefix(3))")
    }

    /// The counts are a promise, and without any one of these syncs something is lost.
    @Test(arguments: [
        (Change.write, 2), (.replace, 2), (.stream, 2), (.remove, 1), (.batch, 4), (.move, 3), (.protect, 2),
    ])
    func syncs(_ change: Change, _ count: Int) throws {
        let disk = ModelDisk(try Scene.disk())
        try disk.during { try change.run() }
        #expect(disk.syncCount == count)
        for number in 0..<count {
            var abilities = ModelDisk.Abilities()
            abilities.deafSyncs = [number]
            #expect(try !states(change, abilities, isBroken: true).lost.isEmpty, "\(number)")
        }
    }

    /// Reading, listing, unlocking and locking change nothing on the disk.
    @Test func readingWritesNothing() throws {
        let disk = ModelDisk(try Scene.disk())
        try disk.during {
            let store = try Scene.open()
            _ = try store.text("a")
            _ = try store.list()
            store.lock()
        }
        #expect(disk.changeCount == 0 && disk.openCount == 0)
    }

    /// Whatever call of a change fails, the item is as before or as after, and the change can be made again.
    @Test(arguments: Change.allCases, [Errno.noSpace, .ioError]) func failures(_ change: Change, _ error: Errno) throws
    {
        let whole = ModelDisk(try Scene.disk(for: change))
        try whole.during { try change.run() }
        let start = try Scene.disk(for: change)
        for number in 0..<whole.changeCount {
            var abilities = ModelDisk.Abilities()
            abilities.failure = { _, at in at == number ? error.rawValue : nil }
            let disk = ModelDisk(start, abilities: abilities)
            _ = Result { try disk.during { try change.run() } }
            #expect(disk.openCount == 0)
            let found = try Scene.items(disk.state)
            let (before, after) = (change.before, change.after)
            #expect(!change.loses(found))
            #expect(Set(found.keys).isSubset(of: Set(before.keys).union(after.keys)))
            for name in Set(before.keys).union(after.keys) {
                #expect([before[name], after[name]].contains(found[name]), "\(number): \(name)")
            }
            let again = ModelDisk(disk.state.afterKill())
            try again.during { try change.run() }
            #expect(try Scene.items(again.state) == after, "\(number)")
        }
    }

    // MARK: Making and ending

    /// Making a store can be stopped at any moment, and made again with the same keys.
    @Test func creating() throws {
        let disk = ModelDisk(DiskState())
        try disk.during { try Scene.create() }
        var finished = 0
        for moment in disk.moments {
            for state in try #require(moment.state.afterPowerFailureOfAll()) + [moment.state.afterKill()] {
                let next = ModelDisk(state)
                let made = Result { try next.during { try Scene.create() } }
                if case .failure(let error) = made {
                    #expect((error as? StoreError)?.code == .storeExists)
                    finished += 1
                }
                #expect(try Scene.items(next.state).isEmpty)
                try next.during { try Change.write.run() }
                #expect(try Scene.items(next.state) == ["new": "new"])
            }
        }
        #expect(finished > 0)
    }

    /// A store gets its keybag later. This can be stopped at any moment, and made again.
    @Test func addingAKeybag() throws {
        let before = ModelDisk(DiskState())
        try before.during {
            let store = try VaultStore.create(at: Scene.path, device: deviceKey)
            try store.put("a", "one", .always)
        }
        var start = before.state
        start.synchronizeAll()
        let disk = ModelDisk(start)
        try disk.during { try Scene.create() }
        #expect(disk.openCount == 0)
        var finished = 0
        for moment in disk.moments {
            for state in try #require(moment.state.afterPowerFailureOfAll()) + [moment.state.afterKill()] {
                let next = ModelDisk(state)
                try next.during {
                    #expect(try VaultStore.open(at: Scene.path, device: deviceKey).text("a") == "one")
                    do {
                        try Scene.create()
                    } catch let error as StoreError {
                        #expect(error.code == .storeExists)
                        finished += 1
                    }
                    try Change.write.run()
                    // A sealed program writes it, also after a crash between keybag and card.
                    let store = try VaultStore.open(at: Scene.path, device: deviceKey)
                    try store.put("recorded", "r", .unlessOpen)
                    try store.unlock(with: owner)
                    #expect(try store.text("recorded") == "r")
                    try store.remove("recorded")
                }
                #expect(try Scene.items(next.state) == ["a": "one", "new": "new"])
            }
        }
        #expect(finished > 0)
    }

    /// An unfinished store is finished only with its own keys.
    @Test func creatingWithOtherKeys() throws {
        let disk = ModelDisk(DiskState())
        try disk.during { try Scene.create() }
        let unfinished = disk.moments.map(\.state).filter { state in
            let other = ModelDisk(state)
            return other.during { (try? VaultStore.open(at: Scene.path, device: deviceKey)) == nil }
        }
        var refused = 0
        for state in unfinished {
            let next = ModelDisk(state)
            let made = Result {
                try next.during {
                    _ = try VaultStore.create(at: Scene.path, device: testKey(9), unlockers: [.key(testKey(8))])
                }
            }
            if case .failure(let error) = made {
                #expect((error as? VaultError)?.code == .wrongKey)
                refused += 1
            }
        }
        #expect(refused > 0)
    }

    /// From the moment at which the mark is durable, a wipe never comes undone, and it can be made again.
    @Test func wiping() throws {
        let disk = ModelDisk(try Scene.disk())
        try disk.during { try VaultStore.wipe(at: Scene.path) }
        var isMarked = false
        for (number, moment) in disk.moments.enumerated() {
            for state in try #require(moment.state.afterPowerFailureOfAll()) {
                let opened = Result { try Scene.items(state) }
                switch opened {
                case .success(let items): #expect(items == Scene.items && !isMarked, "\(number)")
                case .failure(let error): #expect((error as? StoreError)?.code == .gone, "\(number): \(error)")
                }
                let again = ModelDisk(state)
                try again.during { try VaultStore.wipe(at: Scene.path) }
                let left = again.state
                let named = left.nodes.keys.filter { left.linkCount(of: $0) > 0 }
                #expect(named.allSatisfy { left[file: $0]?.bytes.isEmpty ?? true })
            }
            if moment.call == .syncFolder { isMarked = true }
        }
        #expect(isMarked)
    }

    /// A full disk or quota does not keep a store from being wiped.
    @Test(arguments: [Errno.noSpace.rawValue, Errno.diskQuotaExceeded.rawValue]) func wipingAFullDisk(
        _ error: Int32
    ) throws {
        var abilities = ModelDisk.Abilities()
        abilities.failure = { call, number in call == .make && number == 0 ? error : nil }
        let disk = ModelDisk(try Scene.disk(), abilities: abilities)
        try disk.during { try VaultStore.wipe(at: Scene.path) }
        let again = Result { try Scene.items(disk.state) }
        #expect(throws: StoreError.gone) { try again.get() }
    }
}
