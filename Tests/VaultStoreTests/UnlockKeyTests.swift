import Synchronization
import SystemPackage
import Testing
import VaultFile
import VaultFormat
import VaultStream
import VaultTestSupport

@testable import VaultStore

/// The unlock keys of card and keybag, and a keybag that is added later.
extension KeyRotationTests {
    /// With several unlockers the key is destroyed, and the unlock key stays until it is renewed for all of them.
    @Test func severalUnlockers() throws {
        let other = testKey(0x34)
        let (box, store) = try filled(unlockers: [.key(ownerKey), .key(other)])
        defer { box.keep() }
        let unlockFile = box.path.appending("keys.vault.key")
        let old = try bytes(at: unlockFile)
        let done = try store.rotateKey(of: .complete, device: deviceKey, unlocking: owner)
        #expect(done.left.isEmpty && done.traces?.exchange == .othersUnlockIt && store.unfinishedRotations.isEmpty)
        #expect(try bytes(at: unlockFile) == old)
        let traces = try VaultStore.renew(at: box.path, unlocking: owner, with: [.key(ownerKey), .key(other)])
        #expect(traces.exchange == .done && traces.reason == .asked)
        for key in [ownerKey, other] {
            let next = try box.open()
            try next.unlock(with: KeySet(keys: [key]))
            try checkContents(next)
        }
        // What unlocked it before is worthless.
        try write(old, to: unlockFile, box)
        #expect(throws: VaultError(.keyringMismatch, "")) { try box.open().unlock(with: owner) }
    }

    /// After a passphrase has leaked: the old one, with the old unlock file, opens nothing.
    @Test func renewing() throws {
        let (box, store) = try filled()
        defer { box.keep() }
        let other = testKey(0x34)
        try VaultStore.renew(at: box.path, unlocking: owner, with: [.key(other)])
        #expect(throws: VaultError.self) { try box.open().unlock(with: owner) }
        let next = try box.open()
        try next.unlock(with: KeySet(keys: [other]))
        try checkContents(next)
        // Items that are there are read on, and a write says what to do.
        try checkContents(store)
        #expect(code { try store.put("new", "x", .complete) } == .keysChanged)
        try store.unlock(with: KeySet(keys: [other]))
        try store.put("small complete", "text")
    }

    @Test func renewingTheCard() throws {
        let (box, store) = try filled()
        defer { box.keep() }
        let other = testKey(0x35)
        let old = try bytes(at: box.path.appending("store.vault.key"))
        let traces = try VaultStore.renewCard(at: box.path, device: deviceKey, with: other)
        #expect(traces.exchange == .done)
        #expect(throws: VaultError.self) { try box.open() }
        let next = try VaultStore.open(at: box.path, device: other)
        try next.unlock(with: owner)
        try checkContents(next)
        try checkContents(store)
        #expect(code { try store.put("new", "x", .always) } == .keysChanged)
        try store.put("small complete", "text")
        try write(old, to: box.path.appending("store.vault.key"), box)
        #expect(throws: VaultError(.keyringMismatch, "")) { try box.open() }
    }

    // MARK: The keybag, later

    @Test func addingAKeybag() throws {
        let box = try TestStore(unlockers: [])
        defer { box.keep() }
        let before = try box.open()
        try before.put("a", "one", .always)
        #expect(throws: VaultError(.wrongKey, "")) {
            try VaultStore.create(at: box.path, device: testKey(9), unlockers: [.key(ownerKey)])
        }
        #expect(code { _ = try VaultStore.create(at: box.path, device: deviceKey) } == .storeExists)
        let store = try VaultStore.create(at: box.path, device: deviceKey, unlockers: [.key(ownerKey)])
        #expect(store.state == .sealed && store.id == before.id)
        try store.unlock(with: owner)
        try store.put("b", "two", .complete)
        #expect(try store.text("a") == "one" && store.text("b") == "two")
        // The card has the public key of unlessOpen now. Who had the store open has to open it again to write.
        #expect(code { try before.put("a", "changed") } == .keysChanged)
        try box.open().put("c", "recorded", .unlessOpen)
        try before.unlock(with: owner)
        #expect(try before.text("c") == "recorded")
        #expect(try before.text("b") == "two")
        #expect(
            code { _ = try VaultStore.create(at: box.path, device: deviceKey, unlockers: [.key(ownerKey)]) }
                == .storeExists)
    }

    /// A keybag that was lost is not made anew: items of its classes would look as if they were of no class.
    @Test func aLostKeybag() throws {
        let box = try TestStore(unlessOpen: nil)
        defer { box.keep() }
        let store = try box.open(unlocked: true)
        try store.put("a", "one", .always)
        try store.put("b", "two", .complete)
        let create = {
            _ = try VaultStore.create(at: box.path, device: deviceKey, unlockers: [.key(ownerKey)])
        }
        for name in ["keys.vault", "keys.vault.key"] {
            try box.folder.remove("s/\(name)")
            #expect(code(create) == .storeExists)
        }
        // Nothing is written under a key that is on no disk.
        #expect(code { try store.put("c", "x", .complete) } == .keysChanged)
        try box.folder.makeFolder("s/lost")
        let path = try file("b", of: store, in: box)
        try box.folder.write(bytes(at: path), to: "s/lost/b")
        try store.remove("b")
        #expect(code(create) == .storeExists)
        // Nobody can say whose key a damaged one had.
        try box.folder.write([1, 2, 3], to: "s/lost/b")
        #expect(code(create) == .storeExists)
        try box.folder.remove("s/lost/b")
        try create()
        let next = try box.open(unlocked: true)
        try next.put("c", "x", .complete)
        #expect(try next.text("c") == "x" && next.canWrite(.unlessOpen))
    }

    /// The card has the public key of a private key that is gone.
    @Test func aLostKeybagWithUnlessOpen() throws {
        let box = try TestStore()
        defer { box.keep() }
        for name in ["keys.vault", "keys.vault.key"] { try box.folder.remove("s/\(name)") }
        let card = try bytes(at: box.path.appending("store.vault"))
        let create = code { _ = try VaultStore.create(at: box.path, device: deviceKey, unlockers: [.key(ownerKey)]) }
        #expect(create == .storeExists)
        #expect(try bytes(at: box.path.appending("store.vault")) == card)
        let store = try box.open()
        #expect(try store.folder.root.status(of: StoreFolder.keybag) == nil)
    }
}
