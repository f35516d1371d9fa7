internal import CPlatform
import Foundation
import SystemPackage
import Testing
import VaultFile
import VaultTestSupport

@testable import VaultStore

/// What root writes in the store of another user belongs to that user. Otherwise they could not read their own items.
@Suite(.enabled(if: SystemCalls().userID() == 0, "only root can give files away")) struct StoreOwnerTests {
    private static let user: UInt32 = 4711
    private static let group: UInt32 = 4712

    private static func paths(_ folder: FilePath) throws -> [FilePath] {
        let names = FileManager.default.enumerator(atPath: folder.string)?.compactMap { $0 as? String } ?? []
        return [folder] + names.map { folder.appending($0) }
    }

    private static func give(_ folder: FilePath) throws {
        for path in try paths(folder) {
            let file = try FileDescriptor.open(path, .readOnly)
            defer { try? file.close() }
            try #require(SystemCalls().setOwner(file.rawValue, user, group) == 0)
        }
    }

    /// The files and folders that do not belong to the user.
    private static func foreign(_ folder: FilePath) throws -> [String] {
        try paths(folder).filter { path in
            let status = try Stat(path)
            return status.userID.rawValue != user || status.groupID.rawValue != group
        }.map(\.string)
    }

    @Test("items, keys, the lock and the folders that root makes") func writes() throws {
        let made = try TestStore()
        defer { made.keep() }
        let store = try made.open(unlocked: true)
        try store.put("a", "one", .always)
        try Self.give(made.path)
        try store.put("a", "two")
        try store.put("new", "x", .complete)
        try store.batch { try $0.write("in a batch", bytes("x").span, protection: .always) }
        try store.setProtection(.complete, of: "a")
        try store.move("new", to: "moved")
        #expect(try Self.foreign(made.path) == [])
        try store.rotateKey(of: .complete, device: deviceKey, unlocking: owner)
        try store.rotateKey(of: .always, device: deviceKey)
        _ = try VaultStore.changeUnlockers(
            at: made.path, KeyChange(adding: [.key(testKey(0x33))]), unlocking: owner)
        try VaultStore.renew(at: made.path, unlocking: owner, with: [.key(ownerKey)])
        #expect(try Self.foreign(made.path) == [])
        // A restored store may lack the lock.
        try made.folder.remove("s/lock")
        let again = try made.open(unlocked: true)
        try again.put("b", "x", .always)
        #expect(try FileDescriptor.folder(made.path).status(of: "lock") != nil)
        // A repair makes the folder for lost items.
        let item = try made.folder.read("s/items/\(again.fileName(of: "b"))")
        let wrong = "s/items/\(String(repeating: "0", count: 32)).vault"
        try made.folder.write(item, to: wrong)
        try Self.give(made.path)
        #expect(try again.repair().moved.count == 1)
        #expect(try Self.foreign(made.path) == [])
        try VaultStore.wipe(at: made.path)
        #expect(try Self.foreign(made.path) == [])
    }

    @Test("a new store in a folder of the user, and what unlocks it later") func creates() throws {
        let folder = try TemporaryFolder()
        try folder.makeFolder("s")
        try Self.give(folder["s"])
        _ = try VaultStore.create(at: folder["s"], device: deviceKey)
        #expect(try Self.foreign(folder["s"]) == [])
        _ = try VaultStore.create(at: folder["s"], device: deviceKey, unlockers: [.key(ownerKey)])
        #expect(try Self.foreign(folder["s"]) == [])
        withExtendedLifetime(folder) {}
    }

    @Test("the shards and the stores of a group") func groups() throws {
        let folder = try TemporaryFolder()
        try folder.makeFolder("g")
        try Self.give(folder["g"])
        let groupKey = testKey((0..<32).map { UInt8($0) })
        let group = try StoreGroup.create(
            at: folder["g"], unlocker: ownerKey, groupKey: groupKey, shards: [0, 0x14, 0xB2])
        try group.createStore(of: "4711", unlockers: [.key(ownerKey)]).put("a", "x", .always)
        #expect(try Self.foreign(folder["g"]) == [])
        try group.erase("4711")
        _ = try group.createStore(of: "4711")
        #expect(try Self.foreign(folder["g"]) == [])
        withExtendedLifetime(folder) {}
    }
}
