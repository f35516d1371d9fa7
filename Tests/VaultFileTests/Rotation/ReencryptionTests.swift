import Synchronization
import SystemPackage
import Testing
import VaultFile
import VaultTestSupport

/// A new file key, the same contents (Spec 14).
@Suite struct ReencryptionTests {
    private static let text = randomBytes(3 * 4096, seed: 420) + mixedBytes(2 * 4096 + 3, seed: 421)
    private let old = testKey(1)
    private let new = testKey(2)

    private func container(
        _ recipients: [Recipient], compression: Compression = .none
    ) throws -> StoredContainer {
        var options = SealOptions(
            chunk: .minimum, capacity: .capacity(4096), digest: true, compression: compression)
        options.metadata.name = "name"
        options.metadata.modified = Timestamp(seconds: 5, nanoseconds: 6)
        options.metadata.permissions = 0o600
        options.metadata.contentType = "text/plain"
        return try StoredContainer(sealed(Self.text, for: recipients, options: options))
    }

    @Test(arguments: [Compression.none, .deflate]) func everythingButTheKeysStays(_ compression: Compression) throws {
        let container = try container([.key(old)], compression: compression)
        let before = try container.reading(KeySet(keys: [old]))
        let bytes = try container.bytes
        var options = ReencryptionOptions()
        options.dropping = SlotSelection(others: true)
        let done = try Vault.reencrypt(
            at: container.path, for: [.key(new)], with: .key(old), options: options)
        #expect(done.lost.map(\.keyID) == [old.id])
        let after = try container.reading(KeySet(keys: [new]))
        #expect(after.plaintext == Self.text && after.health == .intact)
        #expect(after.opened?.manifest == before.opened?.manifest)
        #expect(after.opened?.header == done.header && done.header.chunkSize == .minimum)
        #expect(done.header.compression == compression)
        #expect(done.header.generation == 1 && done.header.commitment != before.opened?.header.commitment)
        #expect(done.header.fileID != before.opened?.header.fileID)
        #expect(try container.reading(KeySet(keys: [old])).code == .wrongKey)
        let (first, second) = (try container.bytes, bytes)
        #expect(first[4096..<4096 + 4116] != second[4096..<4096 + 4116])
        #expect(try container.folder.names == ["c"])
    }

    /// Only the program can tell whether its new slot opens for the same people as the old one (REENC-5).
    @Test func privateSlotsHaveNoSuccessor() throws {
        let family = try #require(PrivateSlotFamily(type: 0x8123, idPrefix: [UInt8](repeating: 1, count: 8)))
        let own = try Recipient.privateSlot(
            family, idSuffix: [UInt8](repeating: 2, count: 8), bodyCount: 48
        ) { _, _ in [UInt8](repeating: 3, count: 48) }
        let container = try container([.key(old), own])
        let before = try container.bytes
        let code = try StoredContainer.code {
            try Vault.reencrypt(at: container.path, for: [.key(old), own], with: .key(old))
        }
        #expect(code == .consentNeeded)
        #expect(try container.bytes == before)
        var options = ReencryptionOptions()
        options.dropping = SlotSelection(others: true)
        let done = try Vault.reencrypt(
            at: container.path, for: [.key(old), own], with: .key(old), options: options)
        #expect(done.lost.map(\.type) == [0x8123])
    }

    /// A packed stream that a complete read refuses is not sealed again.
    @Test func malformedStreamsStay() throws {
        let forge = try Forge(seed: 422, capacity: .capacity(4096), compression: .deflate)
        let front = forge.header([try forge.slot(old)])
        var items = try PackedItems(Self.text, chunk: 4096)
        // A length moved from one block to another: only by their heads can the blocks still be found.
        items.items[items.items.count - 1].body[2] ^= 1
        let bytes = forge.container(
            packed: items.bytes, plaintextLength: UInt64(Self.text.count), indexOffsets: items.indexOffsets,
            front: front)
        let container = try StoredContainer(bytes)
        let code = try StoredContainer.code {
            try Vault.reencrypt(at: container.path, for: [.key(new), .key(old)], with: .key(old))
        }
        #expect(try code == .packingMalformed && container.bytes == bytes && container.folder.names == ["c"])
    }

    @Test func slotsAreLostWithConsentOnly() throws {
        let passphrase = testPassphrase("p")
        let cheap = Argon2Parameters(passes: 2, memoryKiB: 19 << 10)
        let container = try container([.key(old), .key(testKey(3)), .passphrase(passphrase, cheap)])
        let before = try container.bytes
        let listed = Listed()
        var options = ReencryptionOptions()
        options.onLoss = { listed.add($0) }
        func attempt(_ recipients: [Recipient]) throws -> VaultError.Code? {
            try StoredContainer.code {
                try Vault.reencrypt(
                    at: container.path, for: recipients, with: .key(old), options: options)
            }
        }
        #expect(try attempt([]) == .consentNeeded)
        #expect(listed.take().count == 3)
        #expect(try attempt([.key(new), .key(old), .passphrase(passphrase, cheap)]) == .consentNeeded)
        #expect(listed.take() == [testKey(3).id])
        options.dropping = SlotSelection(ids: [testKey(3).id])
        #expect(try attempt([.key(new), .key(old)]) == .consentNeeded)
        #expect(listed.take().count == 1)
        options.dropping = SlotSelection(others: true)
        #expect(try attempt([]) == .lastSlot)
        #expect(try container.bytes == before)
        #expect(try container.folder.names == ["c"])
        options.dropping = SlotSelection(ids: [testKey(3).id], passphrases: [passphrase])
        #expect(try attempt([.key(new), .key(old)]) == nil)
        #expect(listed.take().isEmpty)
        #expect(try container.reading(KeySet(keys: [new])).plaintext == Self.text)
        #expect(try container.reading(KeySet(keys: [testKey(3)])).code == .wrongKey)
    }

    @Test func keysThatOpenGetASlot() throws {
        let passphrase = testPassphrase("p")
        let cheap = Argon2Parameters(passes: 2, memoryKiB: 19 << 10)
        let container = try container([.key(old), .passphrase(passphrase, cheap)])
        var options = ReencryptionOptions()
        options.recipientsThatOpen = [
            .key(new), .key(old), .passphrase(testPassphrase("q"), cheap), .passphrase(passphrase, cheap),
        ]
        let done = try Vault.reencrypt(at: container.path, for: [], with: .key(old), options: options)
        #expect(done.lost.isEmpty && done.header.slots.map(\.kind) == [.symmetric, .passphrase])
        #expect(done.header.slots[0].keyID == old.id)
        #expect(try container.reading(KeySet(passphrases: [passphrase])).plaintext == Self.text)
    }

    @Test func whoIsMeantToBeLostGetsNoSlot() throws {
        let passphrase = testPassphrase("p")
        let cheap = Argon2Parameters(passes: 2, memoryKiB: 19 << 10)
        let container = try container([.key(old), .key(new), .passphrase(passphrase, cheap)])
        var options = ReencryptionOptions()
        options.recipientsThatOpen = [.key(old), .key(new), .passphrase(passphrase, cheap)]
        options.dropping = SlotSelection(ids: [old.id], passphrases: [passphrase])
        let done = try Vault.reencrypt(at: container.path, for: [], with: .key(old), options: options)
        #expect(done.header.slots.map(\.keyID) == [new.id] && done.lost.count == 2)
        #expect(try container.reading(KeySet(keys: [old], passphrases: [passphrase])).code == .wrongKey)
    }

    @Test func whatChangesMeanwhileCounts() throws {
        let container = try container([.key(old)])
        var options = ReencryptionOptions()
        let (path, other) = (container.path, container.folder["other"])
        options.onProgress = { _ in
            _ = SystemCalls.current.linkAt(-100, path, -100, other, 0)
        }
        #expect(
            try StoredContainer.code {
                try Vault.reencrypt(at: path, for: [.key(old)], with: .key(old), options: options)
            } == .hardLinks)
        #expect(try container.folder.names == ["c", "other"])
    }

    @Test("a file that was removed or replaced meanwhile is not made or changed", arguments: [true, false])
    func nameMeanwhile(_ isGone: Bool) throws {
        let container = try container([.key(old)])
        let (path, other) = (container.path, container.folder["other"])
        _ = try container.folder.write([UInt8](repeating: 7, count: 9), to: "other")
        var options = ReencryptionOptions()
        options.onProgress = { _ in
            _ =
                isGone
                ? SystemCalls.current.unlinkAt(-100, path) : SystemCalls.current.renameAt(-100, other, path)
        }
        let error = #expect(throws: VaultError.self) {
            try Vault.reencrypt(at: path, for: [.key(old)], with: .key(old), options: options)
        }
        #expect(error?.code == .inUse)
        #expect(error?.description.contains("it was removed meanwhile") == isGone)
        #expect(error?.description.contains("another file has its name by now") == !isGone)
        #expect(try container.folder.names == [isGone ? "other" : "c"])
    }

    @Test("a slot that a holder of the file key has added is not copied") func plantedSlot() throws {
        let forge = try Forge(seed: 421, capacity: .capacity(4096))
        let header = forge.header([try forge.slot(old), try forge.slot(testKey(9))], generation: 4)
        let container = try StoredContainer(forge.container(Self.text, front: header))
        var options = ReencryptionOptions()
        options.mayLoseSlots = true
        let done = try Vault.reencrypt(
            at: container.path, for: [.key(old)], with: Credentials(KeySet(keys: [old, testKey(9)])), options: options)
        #expect(done.lost.map(\.keyID) == [testKey(9).id] && done.header.slots.map(\.keyID) == [old.id])
        #expect(try container.reading(KeySet(keys: [testKey(9)])).code == .wrongKey)
        #expect(try container.reading(KeySet(keys: [old])).plaintext == Self.text)
    }

    @Test func damagedContentsAreNotTakenOver() throws {
        let container = try container([.key(old)])
        var bytes = try container.bytes
        bytes[4096 + 4116 * 3 + 50] ^= 1
        try container.folder.write(bytes, to: "c")
        #expect(
            try StoredContainer.code {
                try Vault.reencrypt(at: container.path, for: [.key(old)], with: .key(old))
            } == .recordDamaged)
        #expect(try container.bytes == bytes)
        #expect(try container.folder.names == ["c"])
    }

    @Test func unknownMembersAreCarriedOver() throws {
        let forge = try Forge(seed: 422, capacity: .capacity(4096))
        var members: [UInt8] = []
        func member(_ tag: UInt16, _ value: [UInt8]) {
            members += [UInt8(tag >> 8), UInt8(tag & 255), 0, 0, 0, UInt8(value.count)] + value
        }
        member(1, forge.preamble.commitment)
        member(2, [0, 0, 0, 0, 0, 0, 0, 3])
        member(0x8000, [])
        member(0x8002, [UInt8]("n".utf8))
        member(0x8007, [1, 2, 3])
        member(0xFFFF, [9])
        members += [UInt8](repeating: 0, count: 512 - members.count)
        let header = forge.header([try forge.slot(old)])
        let record = forge.record(members, kind: .manifest, index: 1)
        let container = try StoredContainer(forge.assemble(forge.records([1, 2, 3]), record, front: header))
        let before = try container.reading(KeySet(keys: [old])).opened?.manifest
        try Vault.reencrypt(at: container.path, for: [.key(old)], with: .key(old))
        let after = try container.reading(KeySet(keys: [old]))
        #expect(after.opened?.manifest == before && after.plaintext == [1, 2, 3])
        #expect(before?.metadata.unknown.all.map(\.tag) == [0x8000, 0x8007, 0xFFFF])
    }
}

/// The slots that were listed.
private final class Listed: Sendable {
    private let ids = Mutex<[KeyID]>([])

    func add(_ slots: [SlotDescription]) { ids.withLock { $0 += slots.map(\.keyID) } }
    func take() -> [KeyID] {
        ids.withLock { ids in
            defer { ids = [] }
            return ids
        }
    }
}
