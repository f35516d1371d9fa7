internal import CPlatform
import Foundation
import Synchronization
import SystemPackage
import Testing
import VaultFile
import VaultTestSupport

@testable import VaultStore

/// What must not keep a store from being wiped, and what a wipe must not touch.
@Suite struct WipeTests {
    private static let keys = ["store.vault", "store.vault.key", "keys.vault", "keys.vault.key"]

    /// A store with an item, and other names of the files of its keys.
    private func scene() throws -> TestStore {
        let box = try TestStore()
        try box.open(unlocked: true).put("a", "one", .complete)
        for file in Self.keys { try box.folder.link("s/\(file)", to: file) }
        return box
    }

    private func names(_ box: TestStore) throws -> Set<String> {
        Set(try FileDescriptor.folder(box.path).names { _ in true }.map(\.string))
    }

    private func expectZeros(_ box: TestStore) throws {
        for file in Self.keys {
            let left = try box.folder.read(file)
            #expect(!left.isEmpty && left.allSatisfy { $0 == 0 }, "\(file)")
        }
        #expect(try names(box).isDisjoint(with: Self.keys))
    }

    @Test(arguments: ["backup.key", ".vaultfile-folder", "items/folder"]) func foldersStay(_ name: String) throws {
        let box = try scene()
        defer { box.keep() }
        try box.folder.makeFolder("s/\(name)")
        try VaultStore.wipe(at: box.path)
        try expectZeros(box)
        #expect(try FileDescriptor.folder(box.items).names { !$0.starts(with: Array("folder".utf8)) }.isEmpty)
        #expect(code { _ = try box.open() } == .gone)
    }

    @Test(arguments: ["lock", "lost", "items"]) func linksGo(_ name: String) throws {
        let box = try scene()
        defer { box.keep() }
        try box.folder.makeFolder("elsewhere")
        try box.folder.write([7], to: "elsewhere/file")
        if name == "lock" { try box.folder.remove("s/lock") }
        if name == "items" {
            try FileManager.default.moveItem(atPath: box.items.string, toPath: box.folder["moved"].string)
        }
        try box.folder.makeLink("s/\(name)", to: box.folder["elsewhere"].string)
        try VaultStore.wipe(at: box.path)
        try expectZeros(box)
        #expect(try !names(box).contains(name))
        #expect(try box.folder.read("elsewhere/file") == [7])
    }

    /// The rest is done, and the error is given at the end.
    @Test(arguments: keys) func aFileThatCannotBeOpened(_ file: String) throws {
        let box = try scene()
        defer { box.keep() }
        var calls = SystemCalls()
        let open = calls.openAt
        calls.openAt = { folder, path, flags, mode in
            guard path.string == file else { return open(folder, path, flags, mode) }
            vaultfile_set_error_number(Errno.permissionDenied.rawValue)
            return -1
        }
        let wiped = Result { try SystemCalls.$current.withValue(calls) { try VaultStore.wipe(at: box.path) } }
        let failure = #expect(throws: VaultError(.inputFailed, "")) { try wiped.get() }
        #expect(failure?.message.hasPrefix("its keys are not all destroyed: ") == true)
        #expect(try names(box) == ["gone", "items", "lock"])
        #expect(try FileDescriptor.folder(box.items).names { _ in true }.isEmpty)
        for other in Self.keys where other != file {
            #expect(try box.folder.read(other).allSatisfy { $0 == 0 })
        }
        try VaultStore.wipe(at: box.path)
    }

    /// A change that holds the lock could give a name after the wipe.
    @Test func theLockIsHeld() throws {
        let box = try scene()
        defer { box.keep() }
        let root = try FileDescriptor.folder(box.path)
        defer { try? root.close() }
        let held = try StoreFolder.lockFile(in: root)
        var calls = SystemCalls()
        calls.pause = { _ in 0 }
        let wiped = Result { try SystemCalls.$current.withValue(calls) { try VaultStore.wipe(at: box.path) } }
        #expect(throws: VaultError(.inUse, "")) { try wiped.get() }
        try expectZeros(box)
        try held.close()
        try VaultStore.wipe(at: box.path)
    }

    @Test("a store that was restored without its empty file lock is wiped, and a folder with items alone is not")
    func withoutLock() throws {
        let box = try scene()
        defer { box.keep() }
        let root = try FileDescriptor.folder(box.path)
        defer { try? root.close() }
        try root.remove(StoreFolder.lock)
        try VaultStore.wipe(at: box.path)
        try expectZeros(box)
        #expect(try FileDescriptor.folder(box.items).names { _ in true }.isEmpty)
        let folder = try TemporaryFolder()
        try folder.makeFolder("f")
        try folder.makeFolder("f/items")
        #expect(throws: VaultError(.inputFailed, "")) { try VaultStore.wipe(at: folder["f"]) }
    }

    /// Other programs have files `lock`, and keys with names that end in `.key`.
    @Test(arguments: ["content", "no items", "items"]) func foreignFolders(_ kind: String) throws {
        let folder = try TemporaryFolder()
        try folder.makeFolder("f")
        try folder.write(kind == "content" ? [1] : [], to: "f/lock")
        try folder.write([2, 3], to: "f/tls.key")
        if kind != "no items" { try folder.makeFolder("f/items") }
        if kind == "items" {
            // It cannot be told from a store. Its key stays all the same.
            try VaultStore.wipe(at: folder["f"])
        } else {
            #expect(throws: VaultError(.inputFailed, "")) { try VaultStore.wipe(at: folder["f"]) }
        }
        #expect(try folder.read("f/tls.key") == [2, 3])
    }

    @Test("a link in the place of the folder is refused: it could lead to another store") func linkToTheStore() throws {
        let box = try scene()
        defer { box.keep() }
        try box.folder.makeLink("link", to: box.path.string)
        #expect(throws: VaultError(.inputFailed, "")) { try VaultStore.wipe(at: box.folder["link"]) }
        #expect(try box.open(unlocked: true).text("a") == "one")
    }

    @Test("if the mark cannot be made, the keys are destroyed all the same") func noMark() throws {
        for error in [Errno.permissionDenied, .noSpace, .ioError] {
            let box = try scene()
            defer { box.keep() }
            var calls = SystemCalls()
            let open = calls.openAt
            calls.openAt = { folder, path, flags, mode in
                // New files alone.
                guard mode != 0 else { return open(folder, path, flags, mode) }
                vaultfile_set_error_number(error.rawValue)
                return -1
            }
            let wiped = Result { try SystemCalls.$current.withValue(calls) { try VaultStore.wipe(at: box.path) } }
            let failure = #expect(throws: VaultError(.outputFailed, "")) { try wiped.get() }
            #expect(failure?.message.hasPrefix("its keys are destroyed, but ") == true)
            try expectZeros(box)
            #expect(try FileDescriptor.folder(box.items).names { _ in true }.isEmpty)
            try VaultStore.wipe(at: box.path)
            #expect(code { _ = try box.open() } == .gone)
        }
    }

    @Test("if items cannot be removed, the error says that the keys are destroyed") func itemsStay() throws {
        let box = try scene()
        defer { box.keep() }
        var calls = SystemCalls()
        let remove = calls.unlinkAt
        calls.unlinkAt = { folder, path in
            guard path.string.hasSuffix(".vault"), !Self.keys.contains(path.string) else { return remove(folder, path) }
            vaultfile_set_error_number(Errno.permissionDenied.rawValue)
            return -1
        }
        let wiped = Result { try SystemCalls.$current.withValue(calls) { try VaultStore.wipe(at: box.path) } }
        let failure = #expect(throws: VaultError(.outputFailed, "")) { try wiped.get() }
        #expect(failure?.message.hasPrefix("its keys are destroyed, but its file items/") == true)
        try expectZeros(box)
        try VaultStore.wipe(at: box.path)
    }

    @Test("if the names of the keys cannot be removed, they are zeros, and the error says so") func namesStay() throws {
        let box = try scene()
        defer { box.keep() }
        var calls = SystemCalls()
        calls.unlinkAt = { _, _ in
            vaultfile_set_error_number(Errno.permissionDenied.rawValue)
            return -1
        }
        let wiped = Result { try SystemCalls.$current.withValue(calls) { try VaultStore.wipe(at: box.path) } }
        let failure = #expect(throws: VaultError(.outputFailed, "")) { try wiped.get() }
        #expect(failure?.message.hasPrefix("its keys are destroyed, but its file store.vault.key stays") == true)
        for file in Self.keys { #expect(try box.folder.read(file).allSatisfy { $0 == 0 }) }
        try VaultStore.wipe(at: box.path)
        try expectZeros(box)
    }

    @Test("a pipe as the mark hangs nothing") func pipeAsMark() throws {
        let box = try scene()
        defer { box.keep() }
        #expect(unsafe mkfifo(box.folder["s/gone"].string, 0o600) == 0)
        #expect(code { _ = try box.open() } == .gone)
        try VaultStore.wipe(at: box.path)
        try expectZeros(box)
    }
}
