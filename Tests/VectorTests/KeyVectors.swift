import Testing
import VaultCrypto
import VaultTestSupport

@testable import VaultFile

/// Every vector for key files and keyrings (Spec, appendices A and B).
@Suite struct KeyVectors {
    @Test func thereAreVectors() {
        #expect(Vector.keys.count > 100)
    }

    /// What a file holds.
    private struct Found {
        var keyID: String?
        var entries: [String]?

        init(_ key: SymmetricKey) {
            keyID = "\(key.id)"
        }

        init(_ entries: [KeyringEntry]) {
            self.entries = entries.map { "\($0.state) \($0.created.utc ?? "") \($0.id?.description ?? "-") \($0.name)" }
        }
    }

    @Test(arguments: Vector.keys) func reading(_ vector: Vector) throws {
        var found: Found?
        let code = try StoredContainer.code { found = try Self.read(vector) }
        guard vector.value("result") == "done" else {
            #expect(code?.name == vector.value("result"))
            return
        }
        #expect(code == nil)
        #expect(found?.keyID == vector.value("key-id"))
        #expect(found?.entries.map { String($0.count) } == vector.value("entries"))
        let isListed = found?.entries.map { $0.count < 100 } ?? true
        #expect((isListed ? found?.entries ?? [] : []) == vector.values("entry"))
    }

    private static func read(_ vector: Vector) throws -> Found {
        let bytes = vector.container
        switch vector.value("operation") {
        case "key-file":
            return Found(try SymmetricKey(keyFile: bytes.span))
        case "keyring-text":
            var text = try SecretBuffer(count: bytes.count)
            text.withMutableBytes { $0.replace(at: 0, with: bytes.span) }
            return Found(try KeyringText.parse(text).entries)
        case "unlock-file":
            let keys = try vector.keys()
            let folder = try TemporaryFolder()
            let path = try folder.write(bytes, to: "keyring.key")
            let hasNone = (vector.values("key") + vector.values("passphrase")).isEmpty
            return Found(try UnlockKey(at: path, keys: keys, allowsUnprotected: hasNone).key)
        default:
            let key = try #require(try vector.secrets().0.first)
            return Found(try KeyringText.read(KeyringText.reader(of: MemorySource(bytes), key)).entries)
        }
    }
}
