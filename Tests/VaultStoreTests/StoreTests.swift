import SystemPackage
import Testing
import VaultFile
import VaultTestSupport

@testable import VaultStore

@Suite struct StoreTests {
    @Test func aStoreKeepsItems() throws {
        let box = try TestStore()
        defer { box.keep() }
        let store = try box.open(unlocked: true)
        try store.put("a", "one", .always)
        try store.put("folder/b", "two", .complete)
        try store.put("empty", "", .afterFirstUnlock)
        let again = try box.open(unlocked: true)
        #expect(try again.text("a") == "one")
        #expect(try again.text("folder/b") == "two")
        #expect(try again.text("empty") == "")
        #expect(try again.count() == 3)
        let list = try again.list()
        #expect(list.items.map(\.name) == ["a", "empty", "folder/b"])
        #expect(list.items.map(\.length) == [3, 0, 3])
        #expect(list.items.map(\.protection) == [.always, .afterFirstUnlock, .complete])
        #expect(list.lockedCount == 0 && list.damaged.isEmpty)
        #expect(try again.list(prefix: "folder/").items.map(\.name) == ["folder/b"])
        #expect(try again.item("a") == list.items[0])
        #expect(try again.contains("a") && !again.contains("A"))
        #expect(try again.size("a") == 2080)
        #expect(try again.size("b") == nil)
    }

    @Test func aReplacedItemKeepsItsClass() throws {
        let box = try TestStore()
        defer { box.keep() }
        let store = try box.open(unlocked: true)
        let first = try store.put("a", "one", .complete)
        let second = try store.put("a", "two")
        #expect(second.protection == .complete && second.version != first.version)
        #expect(code { try store.put("a", "three", .always) } == .itemExists)
        #expect(try store.text("a") == "two")
        #expect(try store.put("a", "three", .always, set: true).protection == .always)
        #expect(code { try store.put("new", "x") } == .protectionNeeded)
    }

    @Test func conditions() throws {
        let box = try TestStore()
        defer { box.keep() }
        let store = try box.open(unlocked: true)
        let first = try store.put("a", "one", .always, if: .absent)
        #expect(code { try store.put("a", "two", if: .absent) } == .itemExists)
        let second = try store.put("a", "two", if: .version(first.version))
        #expect(code { try store.put("a", "three", if: .version(first.version)) } == .itemChanged)
        #expect(code { try store.put("b", "x", .always, if: .version(first.version)) } == .itemChanged)
        #expect(code { try store.remove("a", if: .version(first.version)) } == .itemChanged)
        #expect(code { try store.remove("a", if: .absent) } == .itemExists)
        #expect(StoreItem.Version("\(second.version)") == second.version)
        try store.remove("a", if: .version(second.version))
        #expect(code { try store.remove("a") } == .noSuchItem)
        #expect(code { _ = try store.text("a") } == .noSuchItem)
        #expect(StoreItem.Version("00") == nil && StoreItem.Version(String(repeating: "g", count: 64)) == nil)
    }

    /// The condition is judged when the writer has finished, not only when it began.
    @Test func anotherWriterComesBetween() throws {
        let box = try TestStore()
        defer { box.keep() }
        let store = try box.open(unlocked: true)
        #expect(
            code {
                _ = try store.withWriter("a", protection: .always, if: .absent) { writer in
                    try store.put("a", "mine", .always)
                    try writer.write(bytes("other").span)
                }
            } == .itemExists)
        #expect(try store.text("a") == "mine")
        // Without a condition, the last one wins, if the class is the same.
        _ = try store.withWriter("a") { writer in
            try store.put("a", "between")
            try writer.write(bytes("last").span)
        }
        #expect(try store.text("a") == "last")
        #expect(
            code {
                _ = try store.withWriter("a") { writer in
                    try store.put("a", "stronger", .complete, set: true)
                    try writer.write(bytes("weaker").span)
                }
            } == .itemChanged)
        #expect(try store.text("a") == "stronger")
        #expect(try store.count() == 1)
    }

    @Test(arguments: [0, 1, 65_535, 65_536, 65_537, 600_000, 2_000_000]) func lengths(_ count: Int) throws {
        let box = try TestStore()
        defer { box.keep() }
        let store = try box.open(unlocked: true)
        let content = (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 7 &+ $0 >> 8) }
        let written = try store.write("a", content.span, protection: .complete)
        #expect(written == (try store.item("a")))
        let streamed = try store.withWriter("b", protection: .complete) { writer in
            for start in stride(from: 0, to: count, by: 100_000) {
                try writer.write(content.span.extracting(start..<min(start + 100_000, count)))
            }
        }
        #expect(streamed == (try store.item("b")) && streamed.length == UInt64(count))
        for name in ["a", "b"] {
            #expect(try store.read(name, atMost: count).withBytes { [UInt8](copying: $0) } == content)
            try store.withReader(name) { reader in
                var all: [UInt8] = []
                try reader.readAll { all.append(copying: $0) }
                #expect(all == content)
                let range = count / 3..<count - count / 4
                var part: [UInt8] = []
                try reader.read(UInt64(range.lowerBound)..<UInt64(range.upperBound)) { part.append(copying: $0) }
                #expect(part == Array(content[range]))
                #expect(throws: VaultError(.rangeInvalid, "")) { try reader.read(0..<UInt64(count) + 1) { _ in } }
            }
        }
        if count > 0 {
            #expect(throws: VaultError(.limitExceeded, "")) { try store.read("a", atMost: count - 1) }
        }
    }

    @Test func aWriterThatFailsLeavesNothing() throws {
        struct Failure: Error {}
        let box = try TestStore()
        defer { box.keep() }
        let store = try box.open(unlocked: true)
        #expect(throws: Failure.self) {
            try store.withWriter("a", protection: .always) { writer in
                try writer.write(bytes("part").span)
                throw Failure()
            }
        }
        #expect(try box.open().count() == 0)
        #expect(try FileDescriptor.folder(box.items).names { _ in true }.isEmpty)
    }

    /// Handles are not valid longer than the closures that get them.
    @Test func handlesEnd() throws {
        let box = try TestStore()
        defer { box.keep() }
        let store = try box.open(unlocked: true)
        var kept: ItemWriter?
        _ = try store.withWriter("a", protection: .always) { kept = $0 }
        #expect(throws: (any Error).self) { try kept?.write(bytes("x").span) }
        let reader = try store.withReader("a") { $0 }
        #expect(throws: (any Error).self) { try reader.read(0..<0) { _ in } }
        #expect(try store.text("a") == "")
    }

    @Test(
        arguments: ["", ".", "..", "a//b", "/a", "a/", "a/./b", "a/../b", String(repeating: "x", count: 256)])
    func badNames(_ name: String) throws {
        let box = try TestStore()
        defer { box.keep() }
        let store = try box.open(unlocked: true)
        #expect(code { try store.put(name, "x", .always) } == .invalidName)
        #expect(code { _ = try store.text(name) } == .invalidName)
        #expect(code { try store.remove(name) } == .invalidName)
        #expect(code { _ = try store.contains(name) } == .invalidName)
    }

    @Test(arguments: [1, 62, 63, 64, 126, 127, 128, 254, 255]) func longNames(_ count: Int) throws {
        let box = try TestStore()
        defer { box.keep() }
        let store = try box.open(unlocked: true)
        let name = String(repeating: "n", count: count)
        try store.put(name, "x", .complete)
        #expect(try store.list().items.map(\.name) == [name])
        // A short name costs no more than a header of 512 bytes.
        #expect(try store.size(name) ?? 0 < 2 * 512 + (count < 64 ? 1100 : 2500))
    }

    @Test func strangeNames() throws {
        let box = try TestStore()
        defer { box.keep() }
        let store = try box.open(unlocked: true)
        let names = ["\u{1}\n", "a\\b", "e\u{301}", "\u{e9}", "日本/語", " "]
        for name in names { try store.put(name, name, .always) }
        #expect(Set(try store.list().items.map { Array($0.name.utf8) }) == Set(names.map { Array($0.utf8) }))
        for name in names { #expect(try store.text(name) == name) }
    }

    @Test func batches() throws {
        let box = try TestStore()
        defer { box.keep() }
        let store = try box.open(unlocked: true)
        try store.put("item 7", "old", .complete)
        try store.batch { batch in
            for number in 0..<1100 {
                let item = try batch.write(
                    "item \(number)", bytes("\(number)").span, protection: number == 7 ? nil : .always)
                #expect(item.protection == (number == 7 ? .complete : .always))
            }
            // Once more in the same batch.
            try batch.write("item 1099", bytes("last").span)
        }
        #expect(try box.open().count() == 1100)
        #expect(try store.text("item 7") == "7")
        #expect(try store.text("item 1098") == "1098")
        #expect(try store.text("item 1099") == "last")
        #expect(code { try store.batch { try $0.write("new", bytes("x").span) } } == .protectionNeeded)
        // An item of the same name may come from elsewhere while the batch is open.
        try store.batch { batch in
            try batch.write("between", bytes("batch").span, protection: .always)
            try store.put("between", "single", .always)
        }
        #expect(try store.text("between") == "batch")
    }

    // MARK: Making

    @Test func creatingTwice() throws {
        let box = try TestStore()
        defer { box.keep() }
        #expect(code { _ = try VaultStore.create(at: box.path, device: deviceKey) } == .storeExists)
        try box.folder.makeFolder("full")
        try box.folder.write([1], to: "full/a")
        #expect(code { _ = try VaultStore.create(at: box.folder["full"], device: deviceKey) } == .storeExists)
        try box.folder.makeFolder("empty")
        _ = try VaultStore.create(at: box.folder["empty"], device: deviceKey)
        #expect(throws: VaultError(.wrongKey, "")) { try VaultStore.open(at: box.path, device: testKey(9)) }
    }

    @Test func aStoreThatNothingUnlocks() throws {
        let box = try TestStore(unlockers: [])
        defer { box.keep() }
        let store = try box.open()
        try store.put("a", "one", .always)
        #expect(code { try store.put("b", "x", .complete) } == .noKeybag)
        #expect(code { try store.unlock(with: owner) } == .noKeybag)
        #expect(store.canRead(.always) && store.canWrite(.always) && !store.canRead(.complete))
    }

    @Test func otherUnlockers() throws {
        let box = try TestStore()
        defer { box.keep() }
        try box.open(unlocked: true).put("a", "one", .complete)
        let other = testKey(0x33)
        let change = KeyChange(adding: [.key(other)], removing: SlotSelection(ids: [ownerKey.id]))
        _ = try VaultStore.changeUnlockers(at: box.path, change, unlocking: owner)
        let store = try box.open()
        #expect(throws: VaultError(.wrongKey, "")) { try store.unlock(with: owner) }
        #expect(store.state == .sealed)
        try store.unlock(with: KeySet(keys: [other]))
        #expect(try store.text("a") == "one")
    }

    // MARK: Ending

    @Test func wiping() throws {
        let box = try TestStore()
        defer { box.keep() }
        let store = try box.open(unlocked: true)
        try store.put("a", "one", .complete)
        try VaultStore.wipe(at: box.path)
        #expect(code { _ = try store.text("a") } == .gone)
        #expect(code { try store.put("a", "x", .always) } == .gone)
        #expect(code { try store.remove("a") } == .gone)
        #expect(code { _ = try store.list() } == .gone)
        #expect(code { try store.unlock(with: owner) } == .gone)
        #expect(code { _ = try box.open() } == .gone)
        #expect(code { _ = try VaultStore.create(at: box.path, device: deviceKey) } == .gone)
        #expect(try FileDescriptor.folder(box.items).names { _ in true }.isEmpty)
        let names = try FileDescriptor.folder(box.path).names { _ in true }.map(\.string).sorted()
        #expect(names == ["gone", "items", "lock"])
        try VaultStore.wipe(at: box.path)
        #expect(throws: VaultError(.inputFailed, "")) { try VaultStore.wipe(at: box.folder.path) }
    }

    /// Another name of a key file leads to zeros afterwards.
    @Test func wipingOverwritesKeys() throws {
        let box = try TestStore()
        defer { box.keep() }
        let files = ["store.vault", "store.vault.key", "keys.vault", "keys.vault.key"]
        for file in files { try box.folder.link("s/\(file)", to: file) }
        try VaultStore.wipe(at: box.path)
        for file in files {
            let left = try box.folder.read(file)
            #expect(!left.isEmpty && left.allSatisfy { $0 == 0 })
        }
    }
}
