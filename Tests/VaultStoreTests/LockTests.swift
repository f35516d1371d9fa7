import Testing
import VaultFile
import VaultTestSupport

@testable import VaultStore

/// What is possible in which state (the table of classes), and what a lock does to what is open.
@Suite struct LockTests {
    @Test("a backup without the empty file lock is a store: a change makes the file, a wiped store does not get it")
    func restored() throws {
        let box = try TestStore()
        defer { box.keep() }
        let store = try box.open(unlocked: true)
        try box.folder.remove("s/lock")
        try store.put("a", "one", .always)
        #expect(try box.folder.read("s/lock") == [] && store.text("a") == "one")
        try box.folder.remove("s/lock")
        try box.folder.write([], to: "s/gone")
        #expect(throws: (any Error).self) { try store.folder.withLock {} }
        #expect(throws: VaultError.self) { try StoreFolder.lockFile(in: store.folder.root) }
        try box.folder.remove("s/gone")
        try box.folder.write([], to: "s/lock")
    }

    @Test(arguments: StoreState.allCases, ItemProtection.allCases) func openAndWrite(
        _ state: StoreState, _ protection: ItemProtection
    ) throws {
        let box = try TestStore()
        defer { box.keep() }
        let before = try box.open(unlocked: true)
        try before.put("a", "one", protection)
        let store = try box.open(state)
        #expect(store.state == state)
        let named = state.named(protection)
        #expect(store.canRead(protection) == protection.states(for: .open).contains(state))
        if store.canRead(protection) {
            #expect(try store.text("a") == "one")
            #expect(try store.list().items.map(\.name) == ["a"])
        } else {
            #expect(throws: StoreError.locked(named)) { try store.text("a") }
            #expect(try store.list().lockedCount == 1)
        }
        #expect(store.canWrite(protection) == protection.states(for: .write).contains(state))
        if store.canWrite(protection) {
            try store.put("b", "two", protection)
            if store.canRead(protection) {
                try store.put("a", "three")
            } else {
                #expect(code { try store.put("a", "three") } == .protectionNeeded)
                try store.put("a", "three", protection)
            }
            #expect(try before.text("a") == "three" && before.text("b") == "two")
        } else {
            #expect(throws: StoreError.locked(protection)) { try store.put("b", "two", protection) }
            #expect(throws: StoreError.locked(named)) { try store.put("a", "three") }
            #expect(throws: (any Error).self) { try store.put("a", "three", protection) }
            #expect(try before.text("a") == "one")
        }
        #expect(try store.contains("a") && store.size("a") != nil)
        try store.remove("a")
        #expect(try !before.contains("a"))
    }

    /// The table of the Spec is that of the code.
    @Test func theTableOfTheSpec() throws {
        let spec = String(decoding: try Repository.contents(Repository.path("Spec/STORE.md")), as: UTF8.self)
        let rows: [(String, ItemOperation)] = [
            ("open and read an item, and learn its name from a list", .open),
            ("read on with a reader that was open before", .readOn),
            ("write a new item, or replace one", .write), ("finish a writer that was open before", .finish),
            ("move an item", .move), ("change the class of an item that has this class", .protectFrom),
            ("give an item this class", .protectTo),
            ("remove an item, ask whether it is there and how long its file is, count items", .remove),
        ]
        #expect(Set(rows.map(\.1)) == Set(ItemOperation.allCases))
        for (text, operation) in rows {
            let cells = ItemProtection.allCases.map { protection in
                let states = protection.states(for: operation)
                #expect(states.contains(.unlocked) == states.contains(.closing))
                return states == Set(StoreState.allCases)
                    ? "in every state" : states.contains(.locked) ? "unlocked, locked" : "unlocked"
            }
            let row = "  | \(([text] + cells).joined(separator: " | ")) |\n"
            #expect(spec.contains(row), "\(row)")
        }
    }

    /// A caller who cannot read an item cannot put a weaker one in its place by mistake.
    @Test(arguments: [StoreState.sealed, .locked]) func noWeakerItemByMistake(_ state: StoreState) throws {
        let box = try TestStore()
        defer { box.keep() }
        try box.open(unlocked: true).put("a", "one", .complete)
        let store = try box.open(state)
        #expect(code { try store.put("a", "x", .always) } == .locked)
        #expect(code { try store.put("a", "x", .always, set: true) } == .locked)
        #expect(code { try store.put("a", "x", .always, if: .absent) } == .itemExists)
        #expect(try box.open(unlocked: true).text("a") == "one")
    }

    @Test(arguments: ItemProtection.allCases) func openReaders(_ protection: ItemProtection) throws {
        let box = try TestStore()
        defer { box.keep() }
        let store = try box.open(unlocked: true)
        let content = [UInt8](repeating: 7, count: 3_000_000)
        try store.write("a", content.span, protection: protection)
        let readsOn = protection.states(for: .readOn).contains(.locked)
        try store.withReader("a") { reader in
            try reader.read(0..<10) { _ in }
            // In the middle of a read, from its own sink.
            var pieces = 0
            let read = Result {
                try reader.readAll { _ in
                    pieces += 1
                    if pieces == 2 { store.lock() }
                }
            }
            #expect(((try? read.get()) != nil) == readsOn)
            #expect(readsOn || pieces == 2)
            if readsOn {
                try reader.read(0..<10) { _ in }
            } else {
                #expect(throws: StoreError.locked(protection)) { try reader.read(0..<10) { _ in } }
                #expect(throws: StoreError.locked(protection)) { try reader.read(0..<0) { _ in } }
                // A new unlock does not bring it back.
                try store.unlock(with: owner)
                #expect(throws: StoreError.locked(protection)) { try reader.read(0..<10) { _ in } }
            }
        }
    }

    @Test(arguments: ItemProtection.allCases, [10, 300_000]) func openWriters(
        _ protection: ItemProtection, _ count: Int
    ) throws {
        let box = try TestStore()
        defer { box.keep() }
        let store = try box.open(unlocked: true)
        let finishes = protection.states(for: .finish).contains(.locked)
        let written = Result {
            try store.withWriter("a", protection: protection) { writer in
                try writer.write([UInt8](repeating: 1, count: count).span)
                store.lock()
                // The caller may ignore the error.
                try? writer.write([UInt8](repeating: 2, count: count).span)
            }
        }
        #expect(((try? written.get()) != nil) == finishes)
        if !finishes { #expect(throws: StoreError.locked(protection)) { try written.get() } }
        #expect(try store.contains("a") == finishes)
    }

    /// A lock that comes after all bytes are written, and before the item has its name.
    @Test func lockBeforeTheName() throws {
        let box = try TestStore()
        defer { box.keep() }
        let store = try box.open(unlocked: true)
        var calls = SystemCalls()
        let original = calls.sync
        calls.sync = { file in
            store.lock()
            return original(file)
        }
        let written = Result {
            try SystemCalls.$current.withValue(calls) {
                try store.withWriter("a", protection: .complete) { try $0.write(bytes("x").span) }
            }
        }
        #expect(throws: StoreError.locked(.complete)) { try written.get() }
        #expect(try !store.contains("a"))
        try store.unlock(with: owner)
        let single = Result { try SystemCalls.$current.withValue(calls) { try store.put("b", "x", .complete) } }
        #expect(throws: StoreError.locked(.complete)) { try single.get() }
        try store.unlock(with: owner)
        #expect(try !store.contains("b"))
        #expect(throws: StoreError.locked(.complete)) {
            try SystemCalls.$current.withValue(calls) {
                try store.batch { try $0.write("c", bytes("x").span, protection: .complete) }
            }
        }
        #expect(try !store.contains("c"))
    }

    /// A lock that comes while an unlock is under way wins.
    @Test func lockDuringUnlock() throws {
        struct Slow: KeyProvider {
            let store: VaultStore
            func symmetricKeys(for ids: [KeyID]) -> [SymmetricKey] {
                store.lock()
                return [ownerKey]
            }
        }
        let box = try TestStore()
        defer { box.keep() }
        let store = try box.open()
        #expect(code { try store.unlock(with: Slow(store: store)) } == .locked)
        #expect(store.state == .sealed && !store.canRead(.complete))
        try store.unlock(with: owner)
        #expect(store.state == .unlocked)
    }

    @Test func lockIsIdempotent() throws {
        let box = try TestStore()
        defer { box.keep() }
        let store = try box.open()
        store.lock()
        #expect(store.state == .sealed)
        try store.unlock(with: owner)
        try store.unlock(with: owner)
        store.lock()
        store.lock()
        #expect(store.state == .locked)
        #expect(store.canRead(.afterFirstUnlock))
    }
}
