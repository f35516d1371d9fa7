import SystemPackage
import Testing
import VaultTestSupport

@testable import VaultFile

/// New contents under a new file key, by the rules of re-encryption (Spec 14).
@Suite struct RewriteTests {
    private static let text = randomBytes(3 * 4096 + 5, seed: 430)
    private static let changed = mixedBytes(2 * 4096 + 3, seed: 431)
    private let key = testKey(1)
    private let other = testKey(2)

    private func container(
        _ recipients: [Recipient], compression: Compression = .none, digest: Bool = true
    ) throws -> StoredContainer {
        var options = SealOptions(
            chunk: .minimum, capacity: .capacity(4096), digest: digest, compression: compression)
        options.metadata.name = "name"
        options.metadata.modified = Timestamp(seconds: 5, nanoseconds: 6)
        options.metadata.permissions = 0o640
        return try StoredContainer(sealed(Self.text, for: recipients, options: options))
    }

    private func rewrite(
        _ container: StoredContainer, _ credentials: Credentials,
        _ change: (inout ReencryptionOptions) -> Void = { _ in }
    ) throws -> Reencryption {
        let folder = try TemporaryFolder()
        let file = try FileDescriptor.open(try folder.write(Self.changed, to: "text"), .readOnly)
        defer { try? file.close() }
        var options = ReencryptionOptions()
        options.keepsSlot = { _ in true }
        change(&options)
        return try Vault.rewrite(at: container.path, from: file, with: credentials, options: options)
    }

    @Test(arguments: [Compression.none, .deflate], [true, false])
    func everythingButContentsAndFileKeyStays(_ compression: Compression, _ digest: Bool) throws {
        let container = try container([.key(key), .key(other)], compression: compression, digest: digest)
        let both = KeySet(keys: [key, other])
        let before = try container.reading(both)
        let done = try rewrite(container, Credentials(both)) { $0.modified = Timestamp(seconds: 7, nanoseconds: 8) }
        #expect(done.lost.isEmpty && Set(done.header.slots.map(\.keyID)) == [key.id, other.id])
        for one in [key, other] {
            let after = try container.reading(KeySet(keys: [one]))
            #expect(after.plaintext == Self.changed && after.health == .intact && after.opened?.header == done.header)
            var metadata = try #require(before.opened?.manifest.metadata)
            metadata.modified = Timestamp(seconds: 7, nanoseconds: 8)
            #expect(after.opened?.manifest.metadata == metadata)
            #expect((after.opened?.manifest.digest != nil) == digest)
        }
        #expect(done.header.chunkSize == .minimum && done.header.compression == compression)
        #expect(done.header.commitment != done.old.header.commitment && done.header.fileID != done.old.header.fileID)
    }

    @Test("signatures are those of the old contents: they go with consent, or nothing changes (SIG-9)")
    func signatures() throws {
        var options = SealOptions(chunk: .minimum, capacity: .capacity(4096))
        options.metadata.setMember(0x8010, to: [1, 2, 3])
        options.metadata.setMember(0x8011, to: [4])
        let container = try StoredContainer(sealed(Self.text, for: [.key(key)], options: options))
        let before = try container.bytes
        #expect(try StoredContainer.code { _ = try rewrite(container, .key(key)) } == .consentNeeded)
        #expect(try container.bytes == before)
        _ = try rewrite(container, .key(key)) { $0.mayLoseSignatures = true }
        let after = try container.reading(KeySet(keys: [key]))
        let metadata = try #require(after.opened?.manifest.metadata)
        #expect(after.plaintext == Self.changed && !metadata.hasSignatures && metadata.member(0x8011) == [4])
    }

    @Test("contents that end before their size says so do not replace anything", arguments: [0, 100, 8192])
    func contentsThatEndEarly(_ end: Int) throws {
        let container = try container([.key(key)])
        let before = try container.bytes
        let folder = try TemporaryFolder()
        let file = try FileDescriptor.open(try folder.write(Self.changed, to: "text"), .readOnly)
        defer { try? file.close() }
        let real = SystemCalls()
        var calls = SystemCalls.withoutWaiting
        unsafe calls.read = { descriptor, buffer in
            guard descriptor == file.rawValue else { return unsafe real.read(descriptor, buffer) }
            let left = max(0, end - Int(real.seek(descriptor, 0, 1)))
            return unsafe real.read(descriptor, UnsafeMutableRawBufferPointer(rebasing: buffer.prefix(left)))
        }
        var options = ReencryptionOptions()
        options.keepsSlot = { _ in true }
        let thrown = SystemCalls.$current.withValue(calls) {
            #expect(throws: VaultError.self) {
                try Vault.rewrite(at: container.path, from: file, with: .key(key), options: options)
            }
        }
        #expect(thrown?.code == .inputFailed && thrown?.message == "it became shorter while it was read")
        #expect(try container.bytes == before && container.folder.names == ["c"])
    }

    @Test func slotsThatAreNotKeptNeedConsent() throws {
        let container = try container([.key(key), .key(other)])
        let bytes = try container.bytes
        func code(_ credentials: Credentials, _ change: (inout ReencryptionOptions) -> Void = { _ in }) throws
            -> VaultError.Code?
        {
            try StoredContainer.code { _ = try rewrite(container, credentials, change) }
        }
        #expect(try code(.key(key)) == .consentNeeded)
        let both = Credentials(KeySet(keys: [key, other]))
        let own = key.id
        #expect(try code(both) { $0.keepsSlot = { $0.keyID == own } } == .consentNeeded)
        #expect(try code(both) { $0.keepsSlot = { _ in false } } == .consentNeeded)
        #expect(try code(both) { $0.dropping = SlotSelection(ids: [own, other.id]) } == .lastSlot)
        #expect(try container.bytes == bytes)
        #expect(try code(both) { $0.dropping = SlotSelection(ids: [own]) } == nil)
        #expect(try container.reading(KeySet(keys: [key])).code == .wrongKey)
        #expect(try container.reading(KeySet(keys: [other])).plaintext == Self.changed)
        // All others: those that open for nobody who is named here.
        let third = try self.container([.key(key), .key(other)])
        #expect(
            try rewrite(third, .key(key)) { $0.dropping = SlotSelection(others: true) }.lost.map(\.keyID) == [other.id])
    }

    @Test func aHeaderThatChangedMeanwhileStays() throws {
        let container = try container([.key(key)])
        let pin = try #require(try container.reading(KeySet(keys: [key])).opened?.header.pin)
        try Vault.rotate(at: container.path, KeyChange(adding: [.key(other)]), with: .key(key))
        let bytes = try container.bytes
        let both = Credentials(KeySet(keys: [key, other]))
        #expect(try StoredContainer.code { _ = try rewrite(container, both) { $0.requiring = pin } } == .inUse)
        #expect(try container.bytes == bytes && container.folder.names == ["c"])
        let present = try #require(try container.reading(KeySet(keys: [key])).opened?.header.pin)
        #expect(try StoredContainer.code { _ = try rewrite(container, both) { $0.requiring = present } } == nil)
    }

    @Test func aDryRunMakesTheSameChecksAndWritesNothing() throws {
        let container = try container([.key(key), .key(other)])
        let bytes = try container.bytes
        func code(_ keys: [SymmetricKey], _ change: (inout ReencryptionOptions) -> Void = { _ in }) throws
            -> VaultError.Code?
        {
            var options = ReencryptionOptions()
            options.keepsSlot = { _ in true }
            options.isDryRun = true
            change(&options)
            return try StoredContainer.code {
                try Vault.reencrypt(
                    at: container.path, for: [], with: Credentials(KeySet(keys: keys)), options: options)
            }
        }
        #expect(try code([key, other]) == nil)
        #expect(try code([key]) == .consentNeeded)
        #expect(try code([key, other]) { $0.dropping = SlotSelection(ids: [key.id, other.id]) } == .lastSlot)
        #expect(try code([testKey(3)]) == .wrongKey)
        #expect(SystemCalls.current.linkAt(-100, container.path, -100, container.folder["d"], 0) == 0)
        #expect(try code([key, other]) == .hardLinks)
        #expect(try code([key, other]) { $0.mayBreakLinks = true } == nil)
        #expect(try container.bytes == bytes)
    }
}
