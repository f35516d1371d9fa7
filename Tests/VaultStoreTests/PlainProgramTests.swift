import Foundation
import Synchronization
import SystemPackage
import Testing
import VaultFile
import VaultStream
import VaultTestSupport

@testable import VaultStore

/// Programs that change the container of an item and know nothing of the store.
@Suite struct PlainProgramTests {
    private func file(_ name: String, of store: VaultStore) throws -> String {
        "s/items/\(try ItemName(name).file(store.card.index).string)"
    }

    private func key(_ protection: ItemProtection, of store: VaultStore) throws -> SymmetricKey {
        try #require(store.gate.withKeys { $0.current[protection] })
    }

    /// Runs `body`, and `meanwhile` before its sync of this number.
    private func run<R>(
        _ number: Int, _ meanwhile: @escaping @Sendable () -> Void, _ body: () throws -> R
    ) rethrows -> R {
        let count = Mutex(0)
        var calls = SystemCalls()
        let sync = calls.sync
        calls.sync = { file in
            let isTime = count.withLock {
                $0 += 1
                return $0 == number
            }
            if isTime {
                var others = SystemCalls()
                others.pause = { _ in 0 }
                SystemCalls.$current.withValue(others, operation: meanwhile)
            }
            return sync(file)
        }
        return try SystemCalls.$current.withValue(calls, operation: body)
    }

    // MARK: While a name is removed

    /// The change must fail, or stay: it must not be reported to be done and then be removed with the old name.
    @Test func aRotationWhileAnItemMoves() throws {
        let box = try TestStore()
        defer { box.keep() }
        let store = try box.open(unlocked: true)
        try store.put("a", "one", .always)
        let (path, key) = (box.folder[try file("a", of: store)], try key(.always, of: store))
        let changed = Mutex<Result<Void, any Error>?>(nil)
        // The first sync is that of the new file, the second that of the folder, before the old name goes.
        _ = try run(2) {
            let done = Result {
                _ = try Vault.rotate(
                    at: .path(path), KeyChange(adding: [.key(testKey(9))]),
                    with: .key(key, context: store.itemContext))
            }
            changed.withLock { $0 = done }
        } _: {
            try store.move("a", to: "b")
        }
        let done = try #require(changed.withLock { $0 })
        #expect(throws: VaultError(.inUse, "")) { try done.get() }
        #expect(try !store.contains("a") && store.text("b") == "one")
    }

    /// A program that takes no lock puts another file there.
    @Test func anotherFileWhileAnItemMoves() throws {
        let box = try TestStore()
        defer { box.keep() }
        let store = try box.open(unlocked: true)
        try store.put("a", "one", .always)
        let name = try file("a", of: store)
        try store.put("a", "two", .always)
        let newer = try box.folder.read(name)
        let folder = box.folder
        let moved = Result {
            try run(2) {
                try? folder.remove(name)
                _ = try? folder.write(newer, to: name)
            } _: {
                try store.move("a", to: "b")
            }
        }
        #expect(throws: StoreError(.itemChanged, "")) { try moved.get() }
        #expect(try box.folder.read(name) == newer && store.text("b") == "two")
    }

    @Test func anotherFileWhileAnItemIsMovedToLost() throws {
        let box = try TestStore()
        defer { box.keep() }
        let store = try box.open(unlocked: true)
        try store.put("a", "one", .always)
        let (right, wrong) = (try file("a", of: store), try file("b", of: store))
        let bytes = try box.folder.read(right)
        try box.folder.write(bytes, to: wrong)
        let folder = box.folder
        // The first sync is that of the store's folder with the new folder `lost`, the second that of `lost`.
        let findings = try run(2) {
            try? folder.remove(wrong)
            _ = try? folder.write(bytes + [0], to: wrong)
        } _: {
            try store.repair()
        }
        #expect(findings.moved.isEmpty)
        #expect(try box.folder.read(wrong) == bytes + [0])
    }

    // MARK: Repair

    /// A rotation that was interrupted: the new tail has no slot of a class, and the old front has. The item is under its
    /// own name, and a repair leaves it there.
    @Test func anInterruptedRotationToOtherKeys() throws {
        let box = try TestStore()
        defer { box.keep() }
        let store = try box.open(unlocked: true)
        try store.putInPlace("a", "one", .always)
        let (name, key) = (try file("a", of: store), try key(.always, of: store))
        let before = try box.folder.read(name)
        try Vault.rotate(
            at: .path(box.folder[name]), KeyChange(adding: [.key(testKey(9))], removing: SlotSelection(ids: [key.id])),
            with: .key(key, context: store.itemContext))
        var mixed = try box.folder.read(name)
        mixed.replaceSubrange(0..<4096, with: before[0..<4096])
        try box.folder.write(mixed, to: name)
        #expect(throws: VaultError(.wrongKey, "")) { try store.text("a") }
        let findings = try store.repair()
        #expect(findings.moved.isEmpty && findings.damaged.count == 1)
        #expect(try box.folder.read(name) == mixed)
        // The rotation is finished by its own key, and then the item is nobody else's.
        #expect(throws: VaultError(.wrongKey, "")) { try store.put("a", "x", .always, set: true) }
    }

    /// Whom others have given access keeps it.
    @Test func foreignSlots() throws {
        let box = try TestStore()
        defer { box.keep() }
        let store = try box.open(unlocked: true)
        try store.put("a", "one", .always)
        let (name, key, foreign) = (try file("a", of: store), try key(.always, of: store), testKey(9))
        try Vault.rotate(
            at: .path(box.folder[name]),
            KeyChange(adding: [.key(key), .key(foreign)], removing: SlotSelection(others: true)),
            with: .key(key, context: store.itemContext))
        let before = try box.folder.read(name)
        let findings = try store.repair()
        #expect(findings.unlabelled == ["a"] && findings.foreign == ["a"] && findings.labelled.isEmpty)
        #expect(try box.folder.read(name) == before && store.text("a") == "one")
        // A check finds the same, and an item with a label is no concern of it.
        try store.put("b", "two", .always)
        try Vault.rotate(
            at: .path(box.folder[try file("b", of: store)]), KeyChange(adding: [.key(foreign)]),
            with: .key(key, context: store.itemContext))
        #expect(try store.check().foreign == ["a"])
    }

    @Test func foreignSlotsAreNotSettled() throws {
        let box = try TestStore(unlessOpen: .x25519)
        defer { box.keep() }
        try box.open().put("a", "one", .unlessOpen)
        let store = try box.open(unlocked: true)
        let (name, foreign) = (try file("a", of: store), try Identity.generate(.x25519).publicKey)
        try store.gate.withKeys { keys in
            _ = try Vault.rotate(
                at: .path(box.folder[name]), KeyChange(adding: [.publicKey(foreign)]),
                with: Credentials(keys, context: store.itemContext))
        }
        let before = try box.folder.read(name)
        let done = try store.settle()
        #expect(done.settled.isEmpty && done.foreign == ["a"] && done.damaged.isEmpty)
        #expect(try box.folder.read(name) == before)
        #expect(try store.repair().settled.isEmpty)
        #expect(try box.folder.read(name) == before)
    }

    /// What killed programs have left in all three folders, also under the names that are reserved for one file.
    @Test func leftovers() throws {
        let box = try TestStore()
        defer { box.keep() }
        let store = try box.open(unlocked: true)
        try store.put("a", "one", .always)
        let name = try ItemName("a").file(store.card.index)
        let copy = try box.folder.read(try file("a", of: store))
        try box.folder.makeFolder("s/lost")
        let plain = OutputFile.temporaryPrefix + "0011223344556677"
        let reserved = OutputFile.reservedName(for: name).string
        let paths = ["\(plain)", "items/\(plain)", "items/\(reserved)", "lost/\(plain)", "lost/\(reserved)"]
        for path in paths { try box.folder.write(copy, to: "s/\(path)") }
        #expect(Set(try store.repair().removed) == Set(paths))
        #expect(try store.text("a") == "one" && store.repair().removed.isEmpty)
    }
}
