internal import CPlatform
import Synchronization
import SystemPackage
import Testing
import VaultFile
import VaultTestSupport

@testable import VaultStore

/// Checks of whole stores, and their repair.
@Suite struct CheckTests {
    private func file(_ name: String, of store: VaultStore) throws -> String {
        try ItemName(name).file(store.card.index).string
    }

    /// A store with an item under a name that is not its own, a damaged item, one that no key opens, one that is locked
    /// for a sealed program, and an unfinished file.
    private func scene() throws -> (box: TestStore, store: VaultStore) {
        let box = try TestStore()
        let store = try box.open(unlocked: true)
        for name in ["good", "moved", "damaged"] { try store.put(name, name, .always) }
        try store.put("locked", "locked", .complete)
        let moved = try box.folder.read("s/items/\(file("moved", of: store))")
        try box.folder.write(moved, to: "s/items/\(file("other", of: store))")
        var damaged = try box.folder.read("s/items/\(file("damaged", of: store))")
        damaged[600] ^= 1
        try box.folder.write(damaged, to: "s/items/\(file("damaged", of: store))")
        let foreign = try sealed(bytes("foreign"), for: [.key(testKey(7))])
        try box.folder.write(foreign, to: "s/items/\(String(repeating: "0", count: 32)).vault")
        try box.folder.write([1], to: "s/items/.vaultfile-0011223344556677")
        return (box, store)
    }

    @Test func checkingChangesNothing() throws {
        let (box, store) = try scene()
        defer { box.keep() }
        let before = try FileDescriptor.folder(box.items).names { _ in true }.map(\.string).sorted()
        let findings = try store.check()
        #expect(findings.intact == 3 && findings.lockedCount == 0)
        #expect(findings.damaged.count == 3)
        #expect(findings.moved.isEmpty && findings.removed.isEmpty)
        let sealed = try box.open().check()
        #expect(sealed.intact == 2 && sealed.lockedCount == 2 && sealed.damaged.count == 2)
        #expect(try FileDescriptor.folder(box.items).names { _ in true }.map(\.string).sorted() == before)
    }

    @Test func repairing() throws {
        let (box, store) = try scene()
        defer { box.keep() }
        let other = try file("other", of: store)
        let content = try box.folder.read("s/items/\(other)")
        let findings = try store.repair()
        #expect(findings.moved.map(\.file) == [other] && findings.moved.map(\.place) == [other])
        #expect(findings.removed == ["items/.vaultfile-0011223344556677"])
        #expect(try box.folder.read("s/lost/\(other)") == content)
        #expect(try !store.contains("other"))
        // Nothing else has changed: what no key opens and what is damaged stays.
        let again = try store.repair()
        #expect(again.intact == 3 && again.damaged.count == 2 && again.moved.isEmpty && again.removed.isEmpty)
        #expect(try store.text("good") == "good" && store.text("locked") == "locked")
        // The next one gets a number.
        try box.folder.write(content, to: "s/items/\(other)")
        #expect(try store.repair().moved.map(\.place) == ["\(other).1"])
        #expect(try box.folder.read("s/lost/\(other)") == content)
    }

    /// An item that a plain rotation has taken the label from.
    private func putUnlabelled(_ name: String, in store: VaultStore) throws {
        try store.put(name, name, .always)
        let key = try #require(store.gate.withKeys { $0.current[.always] })
        try Vault.rotate(
            at: .path(store.folder.place("items").appending(file(name, of: store))),
            KeyChange(adding: [.key(key)], removing: SlotSelection(others: true)),
            with: .key(key, context: store.itemContext))
    }

    @Test("an item that cannot be repaired keeps no other from its repair") func oneFails() throws {
        let box = try TestStore()
        defer { box.keep() }
        let store = try box.open(unlocked: true)
        for name in ["a", "b", "c"] { try putUnlabelled(name, in: store) }
        let renames = Mutex(0)
        let faults = Faults { call in
            guard call.name == "renameAt" else { return nil }
            let number = renames.withLock { count in
                count += 1
                return count
            }
            return number == 1 ? Errno.ioError.rawValue : nil
        }
        let findings = try faults.during { try store.repair() }
        #expect(findings.labelled == ["b", "c"])
        #expect(try findings.failed.map(\.file) == [file("a", of: store)])
        #expect(findings.failed.first?.error as? VaultError == VaultError(.outputFailed, ""))
        #expect(findings.intact == 3 && findings.damaged.isEmpty)
        let again = try store.repair()
        #expect(again.labelled == ["a"] && again.failed.isEmpty)
    }

    @Test("an item that gets a label again has whole header copies, too") func labelAndCopies() throws {
        let box = try TestStore()
        defer { box.keep() }
        let store = try box.open(unlocked: true)
        try putUnlabelled("a", in: store)
        let path = "s/items/\(try file("a", of: store))"
        var damaged = try box.folder.read(path)
        damaged[80] ^= 1
        try box.folder.write(damaged, to: path)
        let findings = try store.repair()
        #expect(findings.labelled == ["a"] && findings.unhealthy.count == 1)
        #expect(try findings.mended == [file("a", of: store)])
        let again = try store.check()
        #expect(again.unhealthy.isEmpty && again.unlabelled.isEmpty && again.intact == 1)
    }

    @Test("a damaged header copy is found, and a repair mends it", arguments: [10, 70_000], [true, false])
    func headerCopies(_ length: Int, _ isFront: Bool) throws {
        let box = try TestStore()
        defer { box.keep() }
        let store = try box.open(unlocked: true)
        try store.put("a", String(repeating: "x", count: length), .complete)
        let path = "s/items/\(try file("a", of: store))"
        let whole = try box.folder.read(path)
        var damaged = whole
        // The last 100 bytes of a container are those of its tail copy and its footer.
        damaged[isFront ? 80 : whole.count - 100] ^= 1
        try box.folder.write(damaged, to: path)
        let found = try store.check()
        #expect(found.intact == 1 && found.damaged.isEmpty && found.mended.isEmpty)
        #expect(found.unhealthy.map(\.health) == [isFront ? .frontDamaged : .tailDamaged])
        #expect(try box.folder.read(path) == damaged, "a check writes nothing")
        #expect(try box.open().repair().mended.isEmpty, "its class is not available")
        let repaired = try store.repair()
        #expect(repaired.mended == found.unhealthy.map(\.file))
        #expect(try box.folder.read(path) == whole)
        #expect(try store.check().unhealthy.isEmpty)
    }

    /// Another program writes the item anew, after it was found to be wrong and before it is moved.
    @Test func anItemThatIsMendedMeanwhile() throws {
        let (box, store) = try scene()
        defer { box.keep() }
        let other = try file("other", of: store)
        let opened = Mutex(0)
        var calls = SystemCalls()
        let open = calls.openAt
        calls.openAt = { folder, path, flags, mode in
            // The first time it is checked, the second time it is judged once more.
            if path.string == other,
                opened.withLock({
                    $0 += 1; return $0 == 2
                })
            {
                SystemCalls.$current.withValue(SystemCalls()) {
                    _ = try? store.put("other", "mended", .always, set: true)
                }
            }
            return open(folder, path, flags, mode)
        }
        let findings = try SystemCalls.$current.withValue(calls) { try store.repair() }
        #expect(opened.withLock { $0 } >= 2 && findings.moved.isEmpty)
        #expect(try store.text("other") == "mended")
    }

    /// An unfinished file of a program that still runs stays.
    @Test func aRunningWriter() throws {
        var calls = SystemCalls()
        // Without files that have no name, an unfinished file has a temporary one.
        let open = calls.openAt
        calls.openAt = { folder, path, flags, mode in
            guard flags & 0o20000000 == 0 else {
                vaultfile_set_error_number(Errno.notSupported.rawValue)
                return -1
            }
            return open(folder, path, flags, mode)
        }
        let box = try TestStore()
        defer { box.keep() }
        let store = try box.open(unlocked: true)
        _ = try SystemCalls.$current.withValue(calls) {
            try store.withWriter("a", protection: .always) { writer in
                try writer.write(bytes("x").span)
                #expect(try store.repair().removed.isEmpty)
            }
        }
        #expect(try store.text("a") == "x")
    }

    /// At every moment of a repair, each item has a name.
    @Test func crashes() throws {
        let disk = ModelDisk(try StoreCrashTests.Scene.disk())
        var wrong: FilePath = ""
        try disk.during {
            let store = try StoreCrashTests.Scene.open()
            wrong = FilePath(try file("wrong", of: store))
            let right = try file("b/c", of: store)
            let isLinked = try store.folder.items.link(FilePath(right), as: wrong, in: store.folder.items)
            #expect(isLinked)
        }
        var state = disk.state
        state.synchronizeAll()
        let repair = ModelDisk(state)
        let findings = try repair.during { try StoreCrashTests.Scene.open().repair() }
        #expect(findings.moved.count == 1)
        for moment in repair.moments {
            for state in try #require(moment.state.afterPowerFailureOfAll()) {
                let next = ModelDisk(state)
                try next.during {
                    let store = try StoreCrashTests.Scene.open()
                    let inItems = try store.folder.items.status(of: wrong) != nil
                    let lost = try store.folder.root.status(of: StoreFolder.lostFolder) == nil ? nil : "lost"
                    let inLost = try lost.map {
                        try FileDescriptor.folder(FilePath($0), in: store.folder.root).status(of: wrong) != nil
                    }
                    #expect(inItems || inLost == true)
                    _ = try store.repair()
                }
                #expect(try StoreCrashTests.Scene.items(next.state) == StoreCrashTests.Scene.items)
            }
        }
    }
}
