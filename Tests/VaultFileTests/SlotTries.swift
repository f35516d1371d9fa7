import Synchronization
import SystemPackage
import Testing
import VaultFile
import VaultTestSupport

/// Every call tries each slot once, however often it reads the header (SLOT-18). Trying a passphrase slot takes as long
/// as the maker of the container wants, and a private slot may ask a key service or a person.
@Suite struct SlotTries {
    private static let text = randomBytes(700, seed: 730)
    private static let prefix = [UInt8](repeating: 7, count: 8)

    /// A program whose slots hold the file key as it is. It counts how often it is asked for each slot.
    private final class Program: KeyProvider {
        let family: PrivateSlotFamily
        private let asked = Mutex<[PrivateSlot: Int]>([:])

        init() throws {
            family = try #require(PrivateSlotFamily(type: 0x8123, idPrefix: prefix))
        }

        var counts: [Int] { asked.withLock { Array($0.values) } }

        func symmetricKeys(for ids: [KeyID]) -> [SymmetricKey] { [] }
        var privateSlots: [PrivateSlotFamily] { [family] }

        func fileKey(for slot: PrivateSlot) throws -> FileKey? {
            asked.withLock { $0[slot, default: 0] += 1 }
            // The first slot does not open, so that the second one is tried too.
            return slot.keyID.bytes.last == 1 ? nil : try FileKey(bytes: slot.body.span)
        }

        func recipient(_ number: UInt8) throws -> Recipient {
            try .privateSlot(family, idSuffix: [UInt8](repeating: 0, count: 7) + [number], bodyCount: 32) { key, _ in
                key.withBytes { [UInt8](copying: $0) }
            }
        }
    }

    private static func openers() throws -> [Recipient] {
        let program = try Program()
        return [try program.recipient(1), try program.recipient(2), .key(testKey(1))]
    }

    /// The container as it is, with each copy damaged, and without its footer.
    private static func states(_ capacity: Int) throws -> [[UInt8]] {
        let whole = try sealed(
            text, for: openers(), options: SealOptions(chunk: .minimum, capacity: .capacity(capacity)))
        var (front, tail, footer) = (whole, whole, whole)
        front[100] ^= 1
        tail[whole.count - 32 - capacity + 100] ^= 1
        footer[whole.count - 20] ^= 1
        return [whole, front, tail, footer]
    }

    private static let calls: [(name: String, body: @Sendable (TemporaryFolder, Credentials) throws -> Void)] = [
        ("rotate", { try Vault.rotate(at: $0["c"], KeyChange(adding: [.key(testKey(2))]), with: $1) }),
        (
            "rotate others",
            {
                let change = KeyChange(
                    adding: [.key(testKey(2))], removing: SlotSelection(ids: [testKey(1).id]))
                try Vault.rotate(at: $0["c"], change, with: $1)
            }
        ),
        ("repair", { try Vault.repair(at: $0["c"], with: $1) }),
        (
            "reencrypt",
            {
                var options = ReencryptionOptions()
                options.dropping = SlotSelection(others: true)
                try Vault.reencrypt(at: $0["c"], for: [.key(testKey(2))], with: $1, options: options)
            }
        ),
        ("decrypt", { try Vault.decryptFile(at: $0["c"], to: $0["out"], with: $1) }),
        ("verify", { try SeekableVaultReader(FileSource(at: $0["c"]), with: $1).verify { throw $0.error } }),
        (
            "pipe",
            { folder, credentials in
                _ = try feeding(folder.read("c")) { try PipedContainer(from: $0, with: credentials).decrypt(to: nil) }
            }
        ),
        ("recover", { _ = try Recovery(FileSource(at: $0["c"]), with: $1).read { _ in } }),
    ]

    @Test(arguments: 0..<calls.count, [512, 4096]) func once(_ call: Int, _ capacity: Int) throws {
        let (name, body) = Self.calls[call]
        var opened = 0
        for (number, bytes) in try Self.states(capacity).enumerated() {
            let folder = try TemporaryFolder()
            try folder.write(bytes, to: "c")
            let program = try Program()
            let code = try StoredContainer.code { try body(folder, Credentials(program)) }
            #expect(program.counts.allSatisfy { $0 == 1 }, "\(name), state \(number): \(program.counts)")
            if code == nil { opened += 1 }
        }
        #expect(opened >= 2, "\(name)")
    }
}
