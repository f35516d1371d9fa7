import Foundation
import SystemPackage
import Testing
import VaultFile
import VaultStream
import VaultSystem
import VaultTestSupport

@testable import VaultStore

/// Another key for a group, and erasures that find something strange.
@Suite struct GroupRenewalTests {
    private static let (old, new) = (testKey(0x35), testKey(0x36))
    private static let groupKey = testKey((0..<32).map { UInt8($0) })
    private static let shards = [0, 0x14, 0xB2]

    private static func create(at path: FilePath) throws -> StoreGroup {
        try StoreGroup.create(at: path, unlocker: old, groupKey: groupKey, shards: shards)
    }

    /// As `vaultfile store group renew --new-device-key` does it.
    private func renew() throws {
        let group = try StoreGroup.open(at: "/g", unlocking: KeySet(keys: [Self.old, Self.new]))
        try group.renew(with: [Self.new], all: true)
    }

    @Test("a change of the group's key that was interrupted is finished by the same call") func renewing() throws {
        let start = ModelDisk(DiskState())
        _ = try start.during { try Self.create(at: "/g").createStore(of: "4711").put("a", "one", .always) }
        var state = start.state
        state.synchronizeAll()
        let disk = ModelDisk(state)
        try disk.during { try renew() }
        var count = 0
        for moment in disk.moments {
            for state in try #require(moment.state.afterPowerFailureOfAll()) + [moment.state.afterKill()] {
                count += 1
                try ModelDisk(state).during {
                    try renew()
                    let group = try StoreGroup.open(at: "/g", unlocking: KeySet(keys: [Self.new]))
                    #expect(try group.openStore(of: "4711").text("a") == "one", "\(moment.call)")
                    for number in Self.shards {
                        #expect(throws: VaultError(.wrongKey, "")) {
                            _ = try Keyring.open(
                                at: StoreGroup.shard(number, of: "/g"), unlocking: KeySet(keys: [Self.old]))
                        }
                    }
                }
            }
        }
        #expect(count > 50)
    }

    @Test("an erasure says that it leaves keys in a folder that is no store") func strangeStores() throws {
        let folder = try TemporaryFolder()
        let group = try Self.create(at: folder["g"])
        let store = try group.createStore(of: "4711", unlockers: [.key(ownerKey)]).folder.path
        try FileManager.default.removeItem(atPath: store.appending("items").string)
        for _ in 0..<2 {
            #expect(throws: VaultError(.inputFailed, "")) { try group.erase("4711") }
        }
        #expect(try FileDescriptor.folder(store).status(of: "keys.vault.key") != nil)
        // The key of the account is destroyed all the same.
        #expect(code { _ = try group.find("4711") } == .noSuchAccount)
        try FileManager.default.removeItem(atPath: store.string)
        try group.erase("4711")
        withExtendedLifetime(folder) {}
    }
}
