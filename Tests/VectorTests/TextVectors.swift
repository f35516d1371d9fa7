import Testing
import VaultCrypto
import VaultTestSupport

@testable import VaultFile

/// Every vector for texts of recipients and identities (Spec, appendix C).
@Suite struct TextVectors {
    @Test func thereAreVectors() {
        #expect(Vector.texts.count > 100)
    }

    @Test(arguments: Vector.texts) func reading(_ vector: Vector) throws {
        var entries: [String] = []
        var skipped = 0
        let code = try StoredContainer.code { (entries, skipped) = try Self.read(vector) }
        guard vector.value("result") == "done" else {
            #expect(code?.name == vector.value("result"))
            return
        }
        #expect(code == nil)
        #expect(vector.value("entries") == String(entries.count))
        #expect((entries.count < 100 ? entries : []) == vector.values("entry"))
        #expect(vector.value("skipped") ?? "0" == String(skipped))
    }

    private static func read(_ vector: Vector) throws -> ([String], Int) {
        let text = vector.container.span
        switch vector.value("operation") {
        case "recipient":
            return ([line(try RecipientFile.Entry(String(decoding: vector.container, as: UTF8.self)))], 0)
        case "recipients-file":
            let file = try RecipientFile(text)
            return (file.entries.map(line), file.skipped.count)
        default:
            return (try IdentityFile(text).entries.map(line), 0)
        }
    }

    private static func line(_ entry: RecipientFile.Entry) -> String {
        switch entry {
        case .publicKey(let key): "\(key.kind == .xWing ? 4 : 3) \(key.fingerprint.hexDigits)"
        case .plugin(let recipient): "5 \(recipient.plugin) \(recipient.fingerprint.hexDigits)"
        }
    }

    private static func line(_ entry: IdentityFile.Entry) -> String {
        switch entry {
        case .identity(let identity):
            let secret = identity.secret.withBytes { [UInt8](copying: $0) }
            return "\(identity.publicKey.kind == .xWing ? 4 : 3) \(secret.hexDigits)"
        case .plugin(let identity):
            return (["5", identity.plugin] + identity.knownRecipients.map(\.fingerprint.hexDigits))
                .joined(separator: " ")
        }
    }
}
