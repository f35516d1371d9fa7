internal import CPlatform
import Foundation
import Synchronization
import SystemPackage
import Testing
import VaultFile
import VaultTestSupport

@testable import VaultStore

/// Writes that must not weaken an item, and what is durable when they return.
@Suite struct WriteGuardTests {
    /// A program that was unlocked before the rotation of a key cannot read the item, and must not weaken it.
    @Test func keysOfYesterday() throws {
        let box = try TestStore()
        defer { box.keep() }
        let store = try box.open(unlocked: true)
        try store.put("a", "one", .complete)
        let stale = try box.open(unlocked: true)
        try store.rotateKey(of: .complete, device: deviceKey, unlocking: owner)
        #expect(code { try stale.put("a", "weak", .always, set: true) } == .keysChanged)
        #expect(try store.text("a") == "one" && store.item("a").protection == .complete)
    }

    /// No key opens it here, and elsewhere one may.
    @Test func anItemOfOtherKeys() throws {
        let box = try TestStore()
        defer { box.keep() }
        let store = try box.open(unlocked: true)
        let file = "s/items/\(try ItemName("a").file(store.card.index).string)"
        let foreign = try sealed(bytes("foreign"), for: [.key(testKey(7))])
        try box.folder.write(foreign, to: file)
        #expect(throws: VaultError(.wrongKey, "")) { try store.put("a", "x", .always, set: true) }
        #expect(try box.folder.read(file) == foreign)
    }

    /// A sealed program does not know the class `complete`, so it does not say that the item has another one.
    @Test func theClassOfALockedItem() throws {
        let box = try TestStore()
        defer { box.keep() }
        try box.open(unlocked: true).put("a", "one", .complete)
        for state in [StoreState.sealed, .locked] {
            for asked in ItemProtection.allCases {
                #expect(code { try box.open(state).put("a", "x", asked) } == .locked, "\(state) \(asked)")
            }
        }
    }

    /// The keys of the locked classes have IDs too, and a rotation by this program learns the new ones.
    @Test func theIDsOfLockedClasses() throws {
        let box = try TestStore()
        defer { box.keep() }
        let other = try box.open(unlocked: true)
        for protection in [ItemProtection.complete, .unlessOpen] { try other.put("\(protection)", "one", protection) }
        let store = try box.open(.locked)
        try other.rotateKey(of: .complete, device: deviceKey, unlocking: owner)
        try store.rotateKey(of: .afterFirstUnlock, device: deviceKey, unlocking: owner)
        for protection in [ItemProtection.complete, .unlessOpen] {
            #expect(throws: StoreError.locked(protection)) { try store.text("\(protection)") }
        }
        #expect(try store.list().damaged.isEmpty)
    }

    /// A lock ends a write, also if the store is unlocked again before the item has its name.
    @Test func lockAndUnlockBeforeTheName() throws {
        let box = try TestStore()
        defer { box.keep() }
        let store = try box.open(unlocked: true)
        var calls = SystemCalls()
        let sync = calls.sync
        calls.sync = { file in
            store.lock()
            try? store.unlock(with: owner)
            return sync(file)
        }
        let written = Result { try SystemCalls.$current.withValue(calls) { try store.put("a", "x", .complete) } }
        #expect(throws: StoreError.locked(.complete)) { try written.get() }
        #expect(try !store.contains("a") && store.state == .unlocked)
        // The other classes are not concerned.
        _ = try SystemCalls.$current.withValue(calls) { try store.put("b", "x", .afterFirstUnlock) }
        #expect(try store.text("b") == "x")
    }

    @Test(arguments: ItemProtection.allCases) func aWriterThatHasEnded(_ protection: ItemProtection) throws {
        let box = try TestStore()
        defer { box.keep() }
        let store = try box.open(unlocked: true)
        var kept: ItemWriter?
        _ = try store.withWriter("a", protection: protection) { kept = $0 }
        let writer = try #require(kept)
        #expect(throws: VaultError(.invalidArgument, "")) { try writer.write(bytes("x").span) }
        #expect(try store.text("a") == "")
    }

    /// The second call must not say that the item is gone while a power failure can bring it back.
    @Test func aRemovalThatWasNotDurable() throws {
        let box = try TestStore()
        defer { box.keep() }
        let store = try box.open(unlocked: true)
        try store.put("a", "one", .always)
        let isFailing = Mutex(true)
        let count = Mutex(0)
        var calls = SystemCalls()
        let sync = calls.sync
        calls.sync = { file in
            count.withLock { $0 += 1 }
            guard isFailing.withLock({ $0 }) else { return sync(file) }
            vaultfile_set_error_number(Errno.ioError.rawValue)
            return -1
        }
        SystemCalls.$current.withValue(calls) {
            #expect(throws: VaultError(.outputFailed, "")) { try store.remove("a") }
            #expect(throws: VaultError(.outputFailed, "")) { try store.remove("a") }
            isFailing.withLock { $0 = false }
            #expect(code { try store.remove("a") } == .noSuchItem)
        }
        #expect(count.withLock { $0 } == 3)
    }

    /// Many systems allow a program 1024 open files.
    @Test func theOpenFilesOfABatch() throws {
        let box = try TestStore()
        defer { box.keep() }
        let store = try box.open(unlocked: true)
        try store.batch { batch in
            for number in 0..<600 { try batch.write("\(number)", bytes("x").span, protection: .always) }
        }
        let open = Mutex((now: 0, most: 0))
        var calls = SystemCalls()
        let (openAt, close) = (calls.openAt, calls.close)
        calls.openAt = { folder, path, flags, mode in
            let file = openAt(folder, path, flags, mode)
            if file >= 0 { open.withLock { $0 = ($0.now + 1, max($0.most, $0.now + 1)) } }
            return file
        }
        calls.close = { file in
            open.withLock { $0.now -= 1 }
            return close(file)
        }
        try SystemCalls.$current.withValue(calls) {
            try store.batch { batch in
                for number in 0..<600 { try batch.write("\(number)", bytes("y").span) }
            }
        }
        #expect(open.withLock { $0.most } < 300 && open.withLock { $0.now } == 0)
        #expect(try store.text("599") == "y")
    }

    /// A lock on a file that has lost its name keeps nobody out.
    @Test func aLockThatIsReplaced() throws {
        let box = try TestStore()
        defer { box.keep() }
        let root = try FileDescriptor.folder(box.path)
        defer { try? root.close() }
        let folder = box.folder
        let isFirst = Mutex(true)
        var calls = SystemCalls()
        let openAt = calls.openAt
        calls.openAt = { place, path, flags, mode in
            let file = openAt(place, path, flags, mode)
            if path == StoreFolder.lock, isFirst.withLock({ exchange(&$0, with: false) }) {
                try? folder.remove("s/lock")
                _ = try? folder.write([], to: "s/lock")
            }
            return file
        }
        let locked = try SystemCalls.$current.withValue(calls) { try StoreFolder.lockFile(in: root) }
        defer { try? locked.close() }
        #expect(try locked.identity() == root.status(of: StoreFolder.lock)?.identity)
    }

    /// A folder that is there may not be durable yet: the program that made it may have been killed.
    @Test func aFolderThatIsThere() throws {
        let folder = try TemporaryFolder()
        let root = try FileDescriptor.folder(folder.path)
        defer { try? root.close() }
        let count = Mutex(0)
        var calls = SystemCalls()
        let sync = calls.sync
        calls.sync = { file in
            count.withLock { $0 += 1 }
            return sync(file)
        }
        let made = try SystemCalls.$current.withValue(calls) {
            try (0..<2).map { _ in try root.makeFolder("x", keepingOwner: true) }
        }
        #expect(made == [true, false])
        #expect(count.withLock { $0 } == 2)
    }

    /// Such a store would open, and then say for ever that its keys have changed.
    @Test(arguments: ["store.vault", "store.vault.key", "keys.vault", "keys.vault.key"]) func links(
        _ name: String
    ) throws {
        let box = try TestStore()
        defer { box.keep() }
        try FileManager.default.moveItem(atPath: box.folder["s/\(name)"].string, toPath: box.folder["moved"].string)
        try box.folder.makeLink("s/\(name)", to: box.folder["moved"].string)
        #expect(throws: VaultError(.inputFailed, "")) { try box.open(unlocked: true) }
    }
}
