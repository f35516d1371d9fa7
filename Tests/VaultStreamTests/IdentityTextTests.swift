import FoundationEssentials
import Testing
import VaultCrypto
import VaultFormat
import VaultStream
import VaultTestSupport

/// An OpenSSH private key file, whose every part a test decides.
private struct OpenSSHFile {
    static let seed = Array(UInt8(0)..<32)
    static let point =
        [UInt8](
            hexDigits: "03a107bff3ce10be1d70dd18e74bc09967e4d6309ba50d5f1ddc8664125531b8") ?? []

    var magic = "openssh-key-v1\0"
    var cipher = "none"
    var derivation = "none"
    var options: [UInt8] = []
    var keyCount: UInt32 = 1
    var name = "ssh-ed25519"
    var privateName: String?
    var comment: [UInt8]? = [UInt8]("me".utf8)
    var behindPublicKey: [UInt8] = []
    var points = [point, point, point]
    var checks: [UInt32] = [7, 7]
    var padding: [UInt8]?
    var behind: [UInt8] = []
    var label = "OPENSSH PRIVATE KEY"
    var lineEnd = "\n"

    func text(width: Int = 70) -> String {
        let blob = KeyTexts.sshString([UInt8](name.utf8)) + KeyTexts.sshString(points[0]) + behindPublicKey
        var part: [UInt8] = []
        for check in checks { part.append(bigEndian: check) }
        part += KeyTexts.sshString([UInt8]((privateName ?? name).utf8)) + KeyTexts.sshString(points[1])
        part += KeyTexts.sshString(Self.seed + points[2]) + (comment.map(KeyTexts.sshString) ?? [])
        part += padding ?? (1...8).prefix((8 - part.count % 8) % 8).map { UInt8($0) }
        var file = [UInt8](magic.utf8) + KeyTexts.sshString([UInt8](cipher.utf8))
        file += KeyTexts.sshString([UInt8](derivation.utf8)) + KeyTexts.sshString(options)
        file.append(bigEndian: keyCount)
        file += KeyTexts.sshString(blob) + KeyTexts.sshString(part) + behind
        var letters = [Character](Data(file).base64EncodedString())[...]
        var lines = ["-----BEGIN \(label)-----"]
        while !letters.isEmpty {
            lines.append(String(letters.prefix(width)))
            letters = letters.dropFirst(width)
        }
        return (lines + ["-----END \(label)-----", ""]).joined(separator: lineEnd)
    }
}

@Suite struct IdentityTextTests {
    private func identity(_ text: String) throws -> Identity { try Identity(text: [UInt8](text.utf8).span) }
    private func file(_ text: String) throws -> [Identity] { try IdentityFile([UInt8](text.utf8).span).identities }
    private func secret(_ identity: Identity) -> [UInt8] { identity.secret.withBytes { [UInt8](copying: $0) } }

    @Test func knownAnswers() throws {
        let identity = try identity(KeyTexts.identity)
        #expect(secret(identity) == Array(0x40...0x5F))
        #expect(identity.publicKey.text == KeyTexts.recipient)
        #expect("\(identity)" == "Identity(\(KeyTexts.recipient))")
        let text = try identity.withFile { String(decoding: [UInt8](copying: $0), as: UTF8.self) }
        #expect(text == "# public key: \(KeyTexts.recipient)\n\(KeyTexts.identity)\n")
        let time = try #require(Timestamp(seconds: 1_767_323_045, nanoseconds: 999_999_999))
        let dated = try identity.withFile(created: time) { String(decoding: [UInt8](copying: $0), as: UTF8.self) }
        #expect(dated == "# created: 2026-01-02T03:04:05Z\n" + text)
    }

    @Test func generated() throws {
        let identity = try Identity.generate(.x25519)
        let again = try identity.withFile { try IdentityFile($0).identities }
        #expect(again.map(\.publicKey) == [identity.publicKey] && secret(again[0]) == secret(identity))
        #expect(try Identity.generate(.x25519).publicKey != identity.publicKey)
        #expect(badKey { try Identity.generate(.symmetric) } != nil)
    }

    #if PublicKeys
    @Test func postQuantum() throws {
        let known = try identity(KeyTexts.postQuantumIdentity)
        #expect(secret(known).hexDigits == XWingVector.all[0].seed)
        let text = try known.withFile { String(decoding: [UInt8](copying: $0), as: UTF8.self) }
        #expect(text == "# public key: \(known.publicKey)\n\(KeyTexts.postQuantumIdentity)\n")
        let identity = try Identity.generate()
        #expect(identity.publicKey.kind == .xWing)
        #expect(try identity.withFile { try IdentityFile($0).identities }.map(\.publicKey) == [identity.publicKey])
    }
    #else
    @Test func postQuantumNeedsTheTrait() {
        #expect(badKey { try Identity.generate() }?.contains("PublicKeys") == true)
        #expect(badKey { try identity(KeyTexts.postQuantumIdentity) }?.contains("PublicKeys") == true)
    }
    #endif

    @Test func faults() {
        let right = KeyTexts.identity
        let bytes = [UInt8](repeating: 5, count: 32)
        for text in [
            right.lowercased(), "a" + right.dropFirst(), String(right.dropLast()) + "Q", right + " ", " " + right, "",
            KeyTexts.text("age-secret-key-", bytes.dropLast(), isUpper: true),
            KeyTexts.text("age-secret-key-", bytes + [0], isUpper: true),
            // M8
            KeyTexts.text("age-secret-key-pq-", bytes + bytes, isUpper: true),
            KeyTexts.text("age-secret-key-x-", bytes, isUpper: true), KeyTexts.recipient, KeyTexts.sshLine,
        ] {
            #expect(badKey { try identity(text) } != nil, "\(text)")
        }
        #expect(badKey { try identity(KeyTexts.recipient) }?.contains("recipient") == true)
        #expect(
            badKey { try identity(KeyTexts.text("age-plugin-x-", [1], isUpper: true)) }?.contains("plugin") == true)
    }

    @Test func files() throws {
        let one = KeyTexts.identity
        let other = KeyTexts.text("age-secret-key-", [UInt8](repeating: 5, count: 32), isUpper: true)
        let found = try file("# created: x\r\n# public key: y\r\n\(one)\r\n\n\(other)\n\(one)")
        #expect(try found.map(\.publicKey) == [identity(one), identity(other)].map(\.publicKey))
        for (text, line) in [("\(one)\n\(KeyTexts.recipient)\n", 2), ("# x\n\(one) \n", 2), ("\(one)\nx", 2)] {
            #expect(badKey { try file(text) }?.hasPrefix("line \(line): ") == true)
        }
        #expect(badKey { try file("# \(one)\n") }?.contains("no identity") == true)
        // M12
        for text in ["age-encryption.org/v1\n-> x\n", "-----BEGIN AGE ENCRYPTED FILE-----\nYWdl\n"] {
            #expect(badKey { try file(text) }?.contains("age -d") == true)
        }
    }

    @Test func openSSH() throws {
        for lineEnd in ["\n", "\r\n"] {
            var built = OpenSSHFile()
            built.lineEnd = lineEnd
            let identities = try file(built.text())
            #expect(identities.map(\.publicKey.text) == [KeyTexts.sshRecipient])
            #expect(
                secret(identities[0]).hexDigits == "3d94eea49c580aef816935762be049559d6d1440dede12e6a125f1841fff8e6f")
            #expect(try file(String(built.text().dropLast(lineEnd.count))).count == 1)
        }
    }

    /// M11.
    @Test func openSSHFaults() {
        func message(_ change: (inout OpenSSHFile) -> Void) -> String? {
            var built = OpenSSHFile()
            change(&built)
            return badKey { try file(built.text()) }
        }
        var other = OpenSSHFile.point
        other[0] ^= 1
        #expect(message { $0.magic = "openssh-key-v2\0" }?.contains("damaged") == true)
        #expect(message { $0.cipher = "aes256-ctr" }?.contains("passphrase") == true)
        #expect(message { $0.derivation = "bcrypt" }?.contains("passphrase") == true)
        #expect(message { $0.options = [1] }?.contains("passphrase") == true)
        #expect(message { $0.keyCount = 2 }?.contains("damaged") == true)
        #expect(message { $0.name = "ssh-rsa" }?.contains("another type") == true)
        #expect(message { $0.checks = [7, 8] }?.contains("damaged") == true)
        for place in 0..<3 {
            #expect(message { $0.points[place] = other }?.contains("not that of its private key") == true)
        }
        for place in 0..<3 {
            #expect(message { $0.points[place] = OpenSSHFile.point + [0] }?.contains("damaged") == true)
        }
        #expect(message { $0.behindPublicKey = [0] }?.contains("damaged") == true)
        for name in ["ssh", "ssh-ed25519-x"] {
            #expect(message { $0.name = name }?.contains("another type") == true)
            #expect(message { $0.privateName = name }?.contains("damaged") == true)
        }
        // Without a comment, and with one that reaches past the end.
        #expect(message { $0.comment = nil }?.contains("damaged") == true)
        #expect(message { ($0.comment, $0.padding) = (nil, [0, 0, 1, 0, 0x6D]) }?.contains("damaged") == true)
        #expect(message { $0.padding = [1, 3] }?.contains("damaged") == true)
        #expect(message { $0.padding = [1, 2, 3, 4, 5, 6, 7, 8] }?.contains("damaged") == true)
        #expect(message { $0.behind = [0] }?.contains("damaged") == true)
        #expect(message { $0.label = "RSA PRIVATE KEY" }?.contains("ssh-keygen") == true)
        let right = OpenSSHFile().text()
        for text in [
            right + "x", right + right, String(right.dropLast(40)), right.replacing("A", with: "*", maxReplacements: 1),
            right + String(repeating: "\n", count: 16_384), right.replacing("KEY-----\n", with: "KEY-----x\n"),
            "-----BEGIN OPENSSH PRIVATE KEY-----\n-----END OPENSSH PRIVATE KEY-----\n",
        ] {
            #expect(badKey { try file(text) } != nil)
        }
    }
}
