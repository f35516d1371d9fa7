import SystemPackage
import Testing
import VaultFile
import VaultStream
import VaultTestSupport

@testable import VaultCommand

/// `key destroy --scan` and the inventory of `inspect` use the same rule for what opens a container.
@Suite struct OpenersTests {
    /// A slot with this ID, of a type that this program cannot use.
    private func privateSlot(_ id: KeyID) throws -> Recipient {
        let family = try #require(PrivateSlotFamily(type: 0x8001, idPrefix: Array(id.bytes.prefix(8))))
        return try .privateSlot(family, idSuffix: Array(id.bytes.dropFirst(8)), bodyCount: 4) { _, _ in [1, 2, 3, 4] }
    }

    @Test("slots of other types are no other way in, and no slots of a key with their ID") func otherTypes() throws {
        let box = try Sandbox()
        let (one, two, stranger) = (testKey(1), testKey(2), testKey(3))
        let cheap = Argon2Parameters(passes: 2, memoryKiB: 19 << 10)
        let containers: [[Recipient]] = [
            [.key(one)], [.key(one), try privateSlot(stranger.id)], [.key(two), try privateSlot(one.id)],
            [.key(one), .passphrase(testPassphrase("x"), cheap)], [.key(one), .key(two)],
            [try privateSlot(one.id)],
        ]
        let inventory = KeyInventory()
        for (index, recipients) in containers.enumerated() {
            let container = try sealed([1, 2, 3], for: recipients)
            try box.write(Array("\(index).vault".utf8), container)
            inventory.add(try Inspection(MemorySource(container)))
        }
        func report(_ id: KeyID, destroying ids: [KeyID]) throws -> [Int?] {
            var scan = KeyScan(for: ids)
            try scan.add([PathArgument(bytes: Array(box.folder.string.utf8))], on: Console())
            let report = scan.reports[id]
            return [report?.containers, report?.needing, report?.needingOnly, report?.unreadable]
        }
        #expect(try report(one.id, destroying: [one.id]) == [6, 4, 2, 0])
        #expect(try report(one.id, destroying: [one.id, two.id]) == [6, 4, 3, 0])
        #expect(try report(two.id, destroying: [one.id, two.id]) == [6, 2, 2, 0])
        let uses = Dictionary(inventory.sorted.map { ($0.opener, [$0.use.files, $0.use.filesWithoutOther]) }) { $1 }
        #expect(
            uses == [
                .key(one.id): [4, 2], .key(two.id): [2, 1], .kind(.passphrase): [1, 0], .kind(.unknown): [3, 1],
            ])
    }
}
