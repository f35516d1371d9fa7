import SystemPackage
import Testing
import VaultFile
import VaultStream
import VaultTestSupport

@testable import VaultStore

/// Changes that encrypt an item again: another name, another class, a new label.
@Suite struct CopyingTests {
    // MARK: The table of classes

    @Test(arguments: StoreState.allCases, ItemProtection.allCases) func moveInEachState(
        _ state: StoreState, _ protection: ItemProtection
    ) throws {
        let box = try TestStore()
        defer { box.keep() }
        let before = try box.open(unlocked: true)
        let old = try before.put("a", "one", protection)
        let store = try box.open(state)
        if protection.states(for: .move).contains(state) {
            let item = try store.move("a", to: "b")
            #expect(item.name == "b" && item.protection == protection && item.length == 3)
            #expect(item.version != old.version)
            #expect(try before.list().items == [item] && before.text("b") == "one")
        } else {
            #expect(throws: StoreError.locked(state.named(protection))) { try store.move("a", to: "b") }
            #expect(try before.list().items == [old])
        }
    }

    @Test(arguments: StoreState.allCases, ItemProtection.allCases) func protectInEachState(
        _ state: StoreState, _ old: ItemProtection
    ) throws {
        for new in ItemProtection.allCases {
            let box = try TestStore()
            defer { box.keep() }
            let before = try box.open(unlocked: true)
            let written = try before.put("a", "one", old)
            let store = try box.open(state)
            let mayOpen = old.states(for: .protectFrom).contains(state)
            guard mayOpen, new == old || new.states(for: .protectTo).contains(state) else {
                let named = mayOpen ? new : state.named(old)
                #expect(throws: StoreError.locked(named)) { try store.setProtection(new, of: "a") }
                #expect(try before.list().items == [written])
                continue
            }
            let item = try store.setProtection(new, of: "a")
            #expect(item.name == "a" && item.protection == new && item.length == 3)
            #expect((item.version == written.version) == (new == old))
            #expect(try before.list().items == [item] && before.text("a") == "one")
        }
    }

    /// The new container has the slot of its class, and no other.
    @Test func noSlotOfTheOldClass() throws {
        let box = try TestStore()
        defer { box.keep() }
        let store = try box.open(unlocked: true)
        try store.put("a", "one", .always)
        try store.setProtection(.complete, of: "a")
        let sealed = try box.open()
        #expect(throws: StoreError.locked(.afterFirstUnlock)) { try sealed.text("a") }
        let header = try #require(try Inspection(FileSource(at: file("a", of: store, in: box))).front.summary)
        let key = try #require(store.gate.withKeys { $0.current[.complete]?.id })
        #expect(header.slots.filter { $0.kind == .symmetric }.map(\.keyID) == [key])
    }

    // MARK: Refusals

    @Test func whatAMoveRefuses() throws {
        let box = try TestStore()
        defer { box.keep() }
        let store = try box.open(unlocked: true)
        let a = try store.put("a", "one", .always)
        let b = try store.put("b", "two", .complete)
        #expect(code { try store.move("a", to: "a", if: .any) } == .itemExists)
        #expect(code { try store.move("a", to: "b") } == .itemExists)
        #expect(code { try store.move("a", to: "b", if: .version(a.version)) } == .itemChanged)
        #expect(code { try store.move("none", to: "b", if: .any) } == .noSuchItem)
        #expect(code { try store.move("a", to: "/") } == .invalidName)
        #expect(try store.list().items == [a, b])
        // What was replaced does not lend its class.
        let moved = try store.move("a", to: "b", if: .version(b.version))
        #expect(moved.protection == .always)
        #expect(try store.list().items == [moved] && store.text("b") == "one")
    }

    @Test func whatAChangeOfClassRefuses() throws {
        let box = try TestStore(unlockers: [])
        defer { box.keep() }
        let store = try box.open()
        let a = try store.put("a", "one", .always)
        #expect(code { try store.setProtection(.complete, of: "a") } == .noKeybag)
        #expect(code { try store.setProtection(.always, of: "none") } == .noSuchItem)
        #expect(code { try store.setProtection(.always, of: "a", if: .absent) } == .itemExists)
        let other = try store.put("b", "two", .always).version
        #expect(code { try store.setProtection(.always, of: "a", if: .version(other)) } == .itemChanged)
        #expect(try store.item("a") == a)
    }

    /// A lock while the content is copied, and one after that: nothing of the item may appear under a weaker class.
    @Test(arguments: [1, 2]) func lockMeanwhile(_ moment: Int) throws {
        let box = try TestStore()
        defer { box.keep() }
        let store = try box.open(unlocked: true)
        let content = [UInt8](repeating: 7, count: 1_500_000)
        let item = try store.write("a", content.span, protection: .complete)
        for change in ["move", "protect"] {
            try store.unlock(with: owner)
            var calls = SystemCalls.current
            let (write, sync) = (unsafe calls.write, calls.sync)
            if moment == 1 {
                unsafe calls.write = { file, bytes in
                    store.lock()
                    return unsafe write(file, bytes)
                }
            } else {
                calls.sync = { file in
                    store.lock()
                    return sync(file)
                }
            }
            let run = Result {
                try SystemCalls.$current.withValue(calls) {
                    if change == "move" {
                        try store.move("a", to: "b")
                    } else {
                        try store.setProtection(.always, of: "a")
                    }
                }
            }
            #expect(throws: StoreError.locked(.complete)) { try run.get() }
            try store.unlock(with: owner)
            #expect(try store.list().items == [item])
        }
    }

    // MARK: Labels

    private func file(_ name: String, of store: VaultStore, in box: TestStore) throws -> FilePath {
        try box.items.appending(ItemName(name).file(store.card.index).components)
    }

    /// A plain rotation that drops the label.
    @Test(arguments: ItemProtection.allCases) func aLostLabel(_ protection: ItemProtection) throws {
        let box = try TestStore()
        defer { box.keep() }
        let store = try box.open(unlocked: true)
        try store.put("a", "one", protection)
        try store.put("b", "two", protection)
        let key = try #require(store.gate.withKeys { $0.current[protection] })
        try Vault.rotate(
            at: file("a", of: store, in: box),
            KeyChange(adding: [.key(key)], removing: SlotSelection(others: true)),
            with: .key(key, context: store.itemContext))
        var found = try store.check()
        #expect(found.intact == 2 && found.unlabelled == ["a"] && found.labelled.isEmpty && found.damaged.isEmpty)
        let version = try store.item("a").version
        found = try store.repair()
        #expect(found.unlabelled == ["a"] && found.labelled == ["a"] && found.moved.isEmpty)
        #expect(try store.item("a").version != version && store.item("a").protection == protection)
        #expect(try store.text("a") == "one" && store.text("b") == "two")
        #expect(try store.check().unlabelled.isEmpty && store.repair().labelled.isEmpty)
    }
}
