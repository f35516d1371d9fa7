import Synchronization
import SystemPackage
import Testing
import VaultCrypto
import VaultFile
import VaultFormat
import VaultStream
import VaultTestSupport

@testable import VaultStore

/// New keys for the class `unlessOpen`: the symmetric one, and the public key in the card with its private key.
@Suite struct UnlessOpenRotationTests {
    private static let kinds: [SlotDescription.Kind] = Identity.hasXWing ? [.x25519, .xWing] : [.x25519]
    private static let large = [UInt8](repeating: 7, count: 300_000)

    private func file(_ name: String, of store: VaultStore) throws -> String {
        try "s/items/" + ItemName(name).file(store.card.index).string
    }

    /// The kinds of the slots of an item.
    private func slots(_ name: String, of store: VaultStore, in box: TestStore) throws -> Set<SlotDescription.Kind> {
        let source = MemorySource(try box.folder.read(file(name, of: store)))
        return try Set(#require(try Inspection(source).front.summary).slots.map(\.kind))
    }

    private func isSettled(_ name: String, of store: VaultStore) throws -> Bool {
        let found = try store.found(name)
        defer { found.end() }
        return !found.isUnsettled
    }

    private func rotate(_ store: VaultStore) throws -> VaultStore.KeyRotation {
        try store.rotateKey(of: .unlessOpen, device: deviceKey, unlocking: owner)
    }

    /// A store with items that sealed and unlocked programs have written.
    private func filled(_ kind: SlotDescription.Kind) throws -> (TestStore, VaultStore) {
        let box = try TestStore(unlessOpen: kind)
        let recorder = try box.open()
        try recorder.put("recorded", "one", .unlessOpen)
        try recorder.write("recorded large", Self.large.span, protection: .unlessOpen)
        let store = try box.open(unlocked: true)
        try store.put("own", "two", .unlessOpen)
        try store.put("other", "three", .complete)
        return (box, store)
    }

    private func check(_ store: VaultStore) throws {
        #expect(try store.text("recorded") == "one" && store.text("own") == "two" && store.text("other") == "three")
        let large = try store.read("recorded large", atMost: 1 << 20)
        #expect(large.withBytes { [UInt8](copying: $0) } == Self.large)
        #expect(try store.check().intact == 4)
    }

    /// Both keys are new, in card and keybag. What was recorded is for the new public key, and still has to be settled.
    @Test(arguments: kinds) func rotates(_ kind: SlotDescription.Kind) throws {
        let (box, store) = try filled(kind)
        defer { box.keep() }
        let before = try #require(UnlessOpenKeys(in: VaultStore.openKeybag(store.folder, owner).0))
        let versions = try store.list().items.map(\.version)
        let done = try rotate(store)
        #expect(done.changed == 3 && done.left.isEmpty && done.traces?.exchange == .done)
        let keybag = try VaultStore.openKeybag(store.folder, owner).0
        let after = try #require(UnlessOpenKeys(in: keybag))
        #expect(keybag.identities.count == 1 && keybag.publicIDs == [after.identity.id])
        #expect(keybag.keys.count == 3)
        #expect(after.key.key.id != before.key.key.id && after.identity.id != before.identity.id)
        #expect(after.identity.identity.publicKey.kind == kind)
        for one in [store, try box.open()] {
            #expect(one.card.publics.map(\.key) == [after.identity.identity.publicKey])
            #expect(one.card.publics.map(\.slotKeyID) == [after.key.key.id])
            #expect(one.unfinishedRotations.isEmpty)
        }
        try check(store)
        let opened = try box.open(unlocked: true)
        try check(opened)
        #expect(try opened.list().items.map(\.version) == versions)
        for name in ["recorded", "recorded large"] {
            #expect(try slots(name, of: store, in: box) == [kind, .init(type: 0x8056)])
            #expect(try !isSettled(name, of: opened))
            let source = MemorySource(try box.folder.read(file(name, of: store)))
            #expect(throws: VaultError(.wrongKey, "")) {
                try SeekableVaultReader(
                    source, with: .identity(before.identity.identity, context: store.itemContext))
            }
        }
        #expect(try slots("own", of: store, in: box) == [.symmetric, .init(type: 0x8056)])
        // A sealed program tells the class of each.
        let sealed = try box.open()
        for name in ["recorded", "recorded large", "own"] {
            #expect(throws: StoreError.locked(.unlessOpen)) { try sealed.text(name) }
        }
        try sealed.put("recorded", "new", .unlessOpen)
        try sealed.put("recorded", "one", .unlessOpen)
        #expect(try opened.settle().settled == ["recorded", "recorded large"])
        try check(opened)
    }

    /// A program that records knows the old public key. It does not write for it any more.
    @Test func recorders() throws {
        let (box, store) = try filled(.x25519)
        defer { box.keep() }
        let recorder = try box.open()
        #expect(throws: StoreError.keysChanged) {
            _ = try recorder.withWriter("new", protection: .unlessOpen) { writer in
                try writer.write(Self.large.span)
                _ = try rotate(store)
            }
        }
        #expect(throws: StoreError.keysChanged) { try recorder.put("new", "x", .unlessOpen) }
        #expect(try !store.contains("new"))
        try box.open().put("new", "x", .unlessOpen)
        #expect(try store.text("new") == "x")
        try store.remove("new")
        try check(store)
    }

    /// A change of the unlock key of the keybag does not concern who records.
    @Test(arguments: kinds) func renewing(_ kind: SlotDescription.Kind) throws {
        let (box, _) = try filled(kind)
        defer { box.keep() }
        let recorder = try box.open()
        try VaultStore.renew(at: box.path, unlocking: owner, with: [.key(testKey(0x34))])
        try recorder.put("recorded", "one", .unlessOpen)
        let store = try box.open()
        try store.unlock(with: KeySet(keys: [testKey(0x34)]))
        try check(store)
        #expect(try store.settle().settled == ["recorded", "recorded large"])
        // That of the card does.
        try VaultStore.renewCard(at: box.path, device: deviceKey, with: deviceKey)
        #expect(throws: StoreError.keysChanged) { try recorder.put("recorded", "two", .unlessOpen) }
        try check(box.open(with: KeySet(keys: [testKey(0x34)])))
    }

    /// An item that was recorded is moved, protected or settled while its class gets new keys.
    @Test(arguments: ["move", "protect", "settle"]) func meanwhile(_ operation: String) throws {
        let (box, store) = try filled(.x25519)
        defer { box.keep() }
        let other = try box.open(unlocked: true)
        var calls = SystemCalls.current
        let sync = calls.sync
        let isDone = Mutex(false)
        calls.sync = { file in
            if !isDone.withLock({ exchange(&$0, with: true) }) {
                SystemCalls.$current.withValue(SystemCalls()) { _ = try? rotate(other) }
            }
            return sync(file)
        }
        let found = code {
            try SystemCalls.$current.withValue(calls) {
                switch operation {
                case "move": try store.move("recorded", to: "new")
                case "protect": try store.setProtection(.complete, of: "recorded")
                default: try store.settle()
                }
            }
        }
        // A move looks first whether the old name still means the file that was read.
        #expect(found == (operation == "move" ? .itemChanged : .keysChanged))
        #expect(isDone.withLock { $0 } && other.unfinishedRotations.isEmpty)
        #expect(try !other.contains("new") && other.item("recorded").protection == .unlessOpen)
        try check(other)
        #expect(throws: StoreError.keysChanged) { try store.move("recorded", to: "new") }
        #expect(throws: StoreError.keysChanged) { try store.setProtection(.complete, of: "recorded") }
        let next = try box.open(unlocked: true)
        try next.move("recorded", to: "new")
        #expect(try isSettled("new", of: next) && next.setProtection(.complete, of: "new").protection == .complete)
    }

    @Test func refusals() throws {
        let (box, store) = try filled(.x25519)
        defer { box.keep() }
        let names = ["s/store.vault", "s/keys.vault"]
        let before = try names.map { try box.folder.read($0) }
        // A wrong key changes nothing.
        #expect(throws: VaultError(.wrongKey, "")) {
            try store.rotateKey(of: .unlessOpen, device: testKey(9), unlocking: owner)
        }
        #expect(throws: VaultError(.wrongKey, "")) {
            try store.rotateKey(of: .unlessOpen, device: deviceKey, unlocking: KeySet(keys: [testKey(9)]))
        }
        for state in [StoreState.sealed, .locked] {
            #expect(throws: StoreError.locked(.unlessOpen)) { try rotate(box.open(state)) }
        }
        #expect(try names.map { try box.folder.read($0) } == before)
        let older = try TestStore(unlessOpen: nil)
        defer { older.keep() }
        #expect(throws: StoreError.noPublicKey) { try rotate(older.open(unlocked: true)) }
        #expect(throws: StoreError.locked(.unlessOpen)) { try rotate(older.open()) }
    }

    /// Someone has put a public key of theirs into the card after it was read. Nobody is led to it.
    @Test func aForgedPublicKey() throws {
        let (box, store) = try filled(.x25519)
        defer { box.keep() }
        let theirs = try UnlessOpenKeys.generate(.x25519).publicPart
        _ = try store.folder.change(
            VaultStore.cardPair, StoreFolder.card, unlocking: KeySet(keys: [deviceKey])
        ) { text, new in
            var card = try StoreCard(parsing: text)
            let isChanged = card.makeCurrent(theirs)
            #expect(isChanged)
            new.text = try card.encoded()
        }
        #expect(code { _ = try rotate(store) } == .storeForged)
        #expect(code { _ = try box.open(unlocked: true) } == .storeForged)
    }

    /// Another program rotates, whole, while this one opens the keybag: each leaves what is right.
    @Test(arguments: [1, 2, 3, 4]) func twoRotations(_ call: Int) throws {
        final class Provider: KeyProvider {
            let count: Mutex<Int>
            let run: @Sendable () throws -> Void
            init(_ call: Int, _ run: @escaping @Sendable () throws -> Void) {
                count = Mutex(call)
                self.run = run
            }
            func symmetricKeys(for ids: [KeyID]) throws -> [SymmetricKey] {
                let isNow = count.withLock { count in
                    count -= 1
                    return count == 0
                }
                if isNow { try run() }
                return [ownerKey]
            }
        }
        let (box, store) = try filled(.x25519)
        defer { box.keep() }
        let other = try box.open(unlocked: true)
        let provider = Provider(call) {
            _ = try other.rotateKey(of: .unlessOpen, device: deviceKey, unlocking: owner)
        }
        _ = Result { try store.rotateKey(of: .unlessOpen, device: deviceKey, unlocking: provider) }
        let next = try box.open(unlocked: true)
        try check(next)
        _ = try rotate(next)
        #expect(next.unfinishedRotations.isEmpty && next.card.publics.count == 1)
        try check(box.open(unlocked: true))
    }

    // MARK: Crashes

    /// A rotation is stopped at each of its calls. The store opens and unlocks, what was recorded opens, a sealed
    /// program records, and the rotation is finished.
    @Test func crashes() throws {
        let prepared = ModelDisk(try StoreCrashTests.Scene.disk())
        try prepared.during {
            let path = StoreCrashTests.Scene.path
            try VaultStore.open(at: path, device: deviceKey).put("rec", "recorded", .unlessOpen)
            try StoreCrashTests.Scene.open().put("own", "mine", .unlessOpen)
        }
        var start = prepared.state
        start.synchronizeAll()
        let disk = ModelDisk(start)
        #expect(try disk.during { try rotate(StoreCrashTests.Scene.open()).changed } == 2)
        #expect(disk.openCount == 0 && disk.deadlocks == 0)
        var items = StoreCrashTests.Scene.items
        items["rec"] = "recorded"
        items["own"] = "mine"
        var seen: Set<[Int]> = []
        func check(_ state: DiskState, _ label: String) throws {
            let next = ModelDisk(state)
            try next.during {
                let path = StoreCrashTests.Scene.path
                let sealed = try VaultStore.open(at: path, device: deviceKey)
                let store = try StoreCrashTests.Scene.open()
                let keybag = try VaultStore.openKeybag(store.folder, owner).0
                seen.insert([sealed.card.publics.count, keybag.identities.count])
                try sealed.put("new", "new", .unlessOpen)
                #expect(try store.text("new") == "new", "\(label)")
                let done = try rotate(store)
                #expect(done.left.isEmpty && store.unfinishedRotations.isEmpty, "\(label)")
                #expect(store.card.publics.count == 1 && store.gate.withKeys { $0.openers.count } == 1, "\(label)")
                #expect(try !isSettled("rec", of: store) && isSettled("own", of: store))
                #expect(try store.settle().settled == ["new", "rec"], "\(label)")
                try store.remove("new")
            }
            #expect(try StoreCrashTests.Scene.items(next.state) == items, "\(label)")
        }
        for moment in disk.moments {
            for state in try #require(moment.state.afterPowerFailureOfAll()) + [moment.state.afterKill()] {
                #expect(try StoreCrashTests.Scene.items(state) == items, "\(moment.call)")
                try check(state, "\(moment.call)")
            }
        }
        // Before, after the keybag, after the card, and the same backwards.
        #expect(seen == [[1, 1], [1, 2], [2, 2]])
    }

    // MARK: What other programs may have left

    /// The keybag of a store, with its text changed by hand.
    private func replaceKeybag(of box: TestStore, _ change: (String) throws -> String) throws {
        let folder = try StoreFolder(at: box.path)
        _ = try folder.change(VaultStore.keybagPair, StoreFolder.keybag, unlocking: owner) { text, new in
            let old = text.withBytes { String(decoding: [UInt8](copying: $0), as: UTF8.self) }
            let changed = Array(try change(old).utf8)
            var buffer = try SecretBuffer(count: changed.count)
            buffer.withMutableBytes { $0.replace(at: 0, with: changed.span) }
            new.text = consume buffer
        }
    }

    private func text(_ count: Int, _ write: (inout MutableSpan<UInt8>) -> Void) throws -> String {
        var buffer = try SecretBuffer(count: count)
        buffer.withMutableBytes { write(&$0) }
        return buffer.withBytes { String(decoding: [UInt8](copying: $0), as: UTF8.self) }
    }

    /// Only the symmetric key was exchanged: the card names the old one until the rotation is finished.
    @Test func anOldSymmetricKeyAlone() throws {
        let (box, _) = try filled(.x25519)
        defer { box.keep() }
        let made = try ClassKey.generate(.unlessOpen)
        try replaceKeybag(of: box) { text in
            let line = try #require(text.split(separator: "\n").first { $0.hasPrefix("key unlessOpen current") })
            let words = line.split(separator: " ")
            let secret = try self.text(SymmetricKey.keyLineCount) { made.key.encodeKeyLine(into: &$0, at: 0) }
            let key = "key unlessOpen current \(words[3]) \(made.key.id) \(secret)\n"
            return text.replacing("key unlessOpen current", with: "key unlessOpen retired") + key
        }
        let store = try box.open(unlocked: true)
        let publicKey = store.card.publics.map(\.key)
        try check(store)
        #expect(store.unfinishedRotations == [.unlessOpen] && store.card.publics.map(\.slotKeyID) != [made.key.id])
        #expect(try rotate(store).changed == 1)
        #expect(store.card.publics.map(\.slotKeyID) == [made.key.id] && store.card.publics.map(\.key) == publicKey)
        #expect(store.unfinishedRotations.isEmpty)
        try check(box.open(unlocked: true))
    }

    /// Only the public key was exchanged, in both files.
    @Test func anOldPublicKeyAlone() throws {
        let (box, before) = try filled(.x25519)
        defer { box.keep() }
        let key = try #require(UnlessOpenKeys(in: VaultStore.openKeybag(before.folder, owner).0)).key
        let next = UnlessOpenKeys(identity: try .generate(.x25519), key: key)
        try replaceKeybag(of: box) { text in
            let line = try #require(text.split(separator: "\n").first { $0.hasPrefix("identity ") })
            let time = line.split(separator: " ")[3]
            let own = next.identity.identity
            let word = try self.text(own.textCount) { own.encodeText(into: &$0, at: 0) }
            let identity = "identity unlessOpen current \(time) \(next.identity.id) \(word)\n"
            return text.replacing("identity unlessOpen current", with: "identity unlessOpen retired")
                .replacing(/public [0-9a-f]+\n/) { "\(text[$0.range])public \(next.identity.id)\n" } + identity
        }
        // The class is complete with this, too: the first step of the rotation finishes the card.
        let store = try box.open(unlocked: true)
        try check(store)
        #expect(store.unfinishedRotations == [.unlessOpen] && store.card.publics.count == 1)
        let done = try rotate(store)
        #expect(done.changed == 2 && done.left.isEmpty)
        #expect(store.card.publics.map(\.key) == [next.identity.identity.publicKey])
        #expect(store.gate.withKeys { $0.current[.unlessOpen]?.id } == key.key.id && store.unfinishedRotations.isEmpty)
        try check(box.open(unlocked: true))
    }

    /// The current copy of a header has no slot of the class, and an older one has. The item does not become weaker.
    @Test func anOlderCopyOfAWeakerClass() throws {
        let (box, store) = try filled(.x25519)
        defer { box.keep() }
        try store.putInPlace("strong", "text", .unlessOpen)
        let path = box.path.appending(String(try file("strong", of: store).dropFirst(2)))
        let (weak, strong) = store.gate.withKeys { ($0.current[.unlessOpen], $0.current[.complete]) }
        let (weakKey, strongKey) = (try #require(weak), try #require(strong))
        let before = try box.folder.read(file("strong", of: store))
        let change = KeyChange(adding: [.key(strongKey)], removing: SlotSelection(ids: [weakKey.id]))
        try Vault.rotate(at: .path(path), change, with: .key(weakKey, context: store.itemContext))
        var mixed = try box.folder.read(file("strong", of: store))
        mixed.replaceSubrange(0..<4096, with: before[0..<4096])
        try box.folder.write(mixed, to: file("strong", of: store))
        #expect(try store.item("strong").protection == .complete)
        #expect(try rotate(store).left.isEmpty)
        #expect(try store.item("strong").protection == .complete)
        let ends = try ContainerEnds(reading: FileSource(at: path))
        #expect(ItemSlots.ids(ends) == [strongKey.id])
    }
}

extension TestStore {
    fileprivate func open(with keys: KeySet) throws -> VaultStore {
        let store = try open()
        try store.unlock(with: keys)
        return store
    }
}
