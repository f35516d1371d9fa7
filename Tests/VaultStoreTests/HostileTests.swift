import SystemPackage
import Testing
import VaultFile
import VaultTestSupport

@testable import VaultStore

/// What an attacker can do who can write the folder, and perhaps has the device key.
@Suite struct HostileTests {
    private func file(_ name: String, of store: VaultStore) throws -> String {
        try "s/items/" + ItemName(name).file(store.card.index).string
    }

    @Test func swappedItems() throws {
        let box = try TestStore()
        defer { box.keep() }
        let store = try box.open(unlocked: true)
        try store.put("a", "one", .complete)
        try store.put("b", "two", .complete)
        let (a, b) = (try file("a", of: store), try file("b", of: store))
        let one = try box.folder.read(a)
        try box.folder.write(try box.folder.read(b), to: a)
        try box.folder.write(one, to: b)
        #expect(code { _ = try store.text("a") } == .storeForged)
        #expect(code { _ = try store.text("b") } == .storeForged)
        let list = try store.list()
        #expect(list.items.isEmpty && list.damaged.count == 2)
        // A write by mistake does not hide it.
        #expect(code { try store.put("a", "x") } == .storeForged)
        #expect(code { try store.put("a", "x", .complete) } == .storeForged)
        #expect(try store.put("a", "x", .complete, set: true).name == "a")
    }

    @Test func itemsOfAnotherStore() throws {
        let (box, other) = (try TestStore(), try TestStore())
        defer {
            box.keep()
            other.keep()
        }
        let (store, stranger) = (try box.open(unlocked: true), try other.open(unlocked: true))
        try stranger.put("a", "theirs", .always)
        let bytes = try other.folder.read(try file("a", of: stranger))
        try box.folder.write(bytes, to: try file("a", of: store))
        #expect(throws: VaultError(.wrongKey, "")) { try store.text("a") }
        #expect(try store.list().damaged.count == 1)
        // A sealed process cannot tell it from an item that it cannot open.
        #expect(throws: StoreError.locked(.afterFirstUnlock)) { try box.open().text("a") }
    }

    @Test func damagedItems() throws {
        let box = try TestStore()
        defer { box.keep() }
        let store = try box.open(unlocked: true)
        try store.put("a", "one", .complete)
        let path = try file("a", of: store)
        let intact = try box.folder.read(path)
        // Each byte of the item is under some check, or in the copy of the header that is not needed.
        for index in intact.indices {
            var changed = intact
            changed[index] ^= 1
            try box.folder.write(changed, to: path)
            let read = Result { try store.text("a") }
            if case .success(let text) = read { #expect(text == "one", "\(index)") }
            _ = try store.list()
        }
        for count in [0, 1, 63, 64, 511, 512, intact.count - 1] {
            try box.folder.write(Array(intact.prefix(count)), to: path)
            #expect(throws: (any Error).self) { try store.text("a") }
            #expect(try store.list().damaged.count == 1)
        }
        // What is damaged stays, unless the caller says otherwise.
        #expect(throws: (any Error).self) { try store.put("a", "x") }
        #expect(throws: (any Error).self) { try store.put("a", "x", .complete) }
        try store.put("a", "x", .always, set: true)
        #expect(try store.text("a") == "x")
    }

    @Test func linksAndFolders() throws {
        let box = try TestStore()
        defer { box.keep() }
        let store = try box.open(unlocked: true)
        try store.put("a", "one", .complete)
        let path = try file("a", of: store)
        let bytes = try box.folder.read(path)
        try box.folder.write(bytes, to: "elsewhere")
        try box.folder.remove(path)
        try box.folder.makeLink(path, to: box.folder["elsewhere"].string)
        #expect(throws: (any Error).self) { try store.text("a") }
        #expect(throws: (any Error).self) { try store.put("a", "x", .complete, set: true) }
        #expect(try box.folder.read("elsewhere") == bytes)
        try box.folder.remove(path)
        try box.folder.makeFolder(path)
        #expect(throws: (any Error).self) { try store.text("a") }
        #expect(throws: (any Error).self) { try store.put("a", "x", .complete, set: true) }
        #expect(try store.list().damaged.count == 1)
    }

    /// Somebody with the device key makes an item of the class `always` in the place of another. It is read, and its
    /// class shows it. The Spec promises no more.
    @Test func anItemOfAWeakerClass() throws {
        let box = try TestStore()
        defer { box.keep() }
        let store = try box.open(unlocked: true)
        try store.put("a", "one", .complete)
        try store.remove("a")
        try box.open().put("a", "theirs", .always)
        #expect(try store.item("a").protection == .always)
        #expect(code { try store.put("a", "mine", .complete) } == .itemExists)
    }

    @Test func aKeybagOfAnotherStore() throws {
        let (box, other) = (try TestStore(), try TestStore())
        defer {
            box.keep()
            other.keep()
        }
        for name in ["keys.vault", "keys.vault.key"] {
            try box.folder.write(try other.folder.read("s/\(name)"), to: "s/\(name)")
        }
        let store = try box.open()
        #expect(code { try store.unlock(with: owner) } == .storeForged)
        #expect(store.state == .sealed)
    }

    /// An unlock file that nothing protects would let an attacker without a secret replace the keys.
    @Test func unlockFilesThatAreNoContainers() throws {
        let box = try TestStore()
        defer { box.keep() }
        for name in ["store.vault.key", "keys.vault.key"] {
            let bytes = try box.folder.read("s/\(name)")
            try deviceKey.withKeyFile { text in
                _ = try box.folder.write([UInt8](copying: text), to: "s/\(name)")
            }
            #expect(throws: VaultError(.keyringUnprotected, "")) {
                try box.open(unlocked: true)
            }
            try box.folder.write(bytes, to: "s/\(name)")
        }
        // Card and keybag are not exchanged.
        let card = ["store.vault", "store.vault.key"].map { try? box.folder.read("s/\($0)") }
        try box.folder.write(try #require(card[0]), to: "s/keys.vault")
        try box.folder.write(try #require(card[1]), to: "s/keys.vault.key")
        let store = try box.open()
        #expect(throws: VaultError(.wrongKey, "")) { try store.unlock(with: KeySet(keys: [deviceKey])) }
    }

    // MARK: Plain containers

    /// `vaultfile` alone reads an item, with the key of its class and the context that the store shows.
    @Test func itemsAreContainers() throws {
        let box = try TestStore()
        defer { box.keep() }
        let store = try box.open(unlocked: true)
        try store.put("folder/a", "one", .complete)
        let key = try #require(store.gate.withKeys { $0.current[.complete] })
        let item = try SeekableVaultReader(
            MemorySource(try box.folder.read(try file("folder/a", of: store))),
            with: .key(key, context: store.itemContext))
        #expect(try item.bytes(0..<3) == bytes("one"))
        #expect(item.opened.manifest.metadata.itemPath == bytes("folder/a"))
    }

    /// What other programs do with an item: its name survives, in the label or in the path.
    @Test(arguments: [true, false]) func itemsThatOtherProgramsChange(_ dropsLabel: Bool) throws {
        let box = try TestStore()
        defer { box.keep() }
        let store = try box.open(unlocked: true)
        try store.put("a", "one", .complete)
        let path = box.folder[try file("a", of: store)]
        let key = try #require(store.gate.withKeys { $0.current[.complete] })
        let credentials = Credentials.key(key, context: store.itemContext)
        if dropsLabel {
            _ = try Vault.rotate(
                at: path, KeyChange(adding: [.key(key)], removing: SlotSelection(others: true)), with: credentials)
        } else {
            _ = try Vault.rotate(at: path, KeyChange(adding: [.key(testKey(5))]), with: credentials)
        }
        #expect(try store.text("a") == "one")
        let listed = try store.list().items
        #expect(listed == [try store.item("a")] && listed[0].protection == .complete)
        try store.put("a", "two")
        #expect(try store.text("a") == "two")
        store.lock()
        #expect(throws: StoreError.locked(.complete)) { try store.text("a") }
    }
}
