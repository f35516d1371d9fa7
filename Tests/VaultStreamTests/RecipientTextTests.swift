import FoundationEssentials
import Testing
import VaultCrypto
import VaultFormat
import VaultTestSupport

@testable import VaultStream

/// The texts of public keys and identities that tests share: those of the Spec's chapter 17.
enum KeyTexts {
    static let identity = "AGE-SECRET-KEY-1GPQ5YS6YG4RYWJZFFF95CN2WFAG9Z5JN2324V46CT9D9KHZATE0S5FAZ64"
    static let recipient = "age10xnrrmk7r0uunrcjqvkdatwsu7s8jwv0c7rt3rxggmkgntu955dq25yyzj"
    static let postQuantumIdentity = "AGE-SECRET-KEY-PQ-107WZHF8G37P86CTQG4G8VPV98MTNHQYN7MHMEZ8TRFH2E7NXAUNQSTZN4F"
    static let sshLine = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIAOhB7/zzhC+HXDdGOdLwJln5NYwm6UNXx3chmQSVTG4"
    static let sshRecipient = "age1guqappygg504gkjqn76c4cl9skqu5s9v8al3z35ce4caatrnegqsayk6a2"

    /// Bech32 of any bytes, by the library's own code, which known answers test.
    static func text(_ prefix: String, _ bytes: [UInt8], isUpper: Bool = false) -> String {
        String(decoding: Bech32(prefix: prefix).text(of: bytes, isUpper: isUpper), as: UTF8.self)
    }

    static let rsaLine: String = {
        let blob =
            sshString([UInt8]("ssh-rsa".utf8)) + sshString([1, 0, 1]) + sshString([UInt8](repeating: 9, count: 64))
        return "ssh-rsa " + Data(blob).base64EncodedString()
    }()

    static func sshString(_ bytes: [UInt8]) -> [UInt8] {
        var string: [UInt8] = []
        string.append(bigEndian: UInt32(bytes.count))
        return string + bytes
    }

    static func sshLine(_ name: String, inner: String? = nil, point: [UInt8], behind: [UInt8] = []) -> String {
        let blob = sshString([UInt8]((inner ?? name).utf8)) + sshString(point) + behind
        return name + " " + Data(blob).base64EncodedString()
    }
}

/// The message of the `badKey` that a body throws; nil if it throws none.
func badKey<R: ~Copyable>(_ body: () throws -> R) -> String? {
    do {
        _ = try body()
        return nil
    } catch let error as VaultError {
        return error.code == .badKey ? error.message : "\(error)"
    } catch {
        return "\(error)"
    }
}

@Suite struct RecipientTextTests {
    @Test func knownAnswers() throws {
        let key = try PublicKey(KeyTexts.recipient)
        #expect(key.kind == .x25519)
        #expect(key.bytes.hexDigits == "79a631eede1bf9c98f12032cdeadd0e7a079398fc786b88cc846ec89af85a51a")
        #expect(key.fingerprint.hexDigits == "8d740b10496464522582b00022722bbab0990cd1d7adf8b4e4e2b5bde12d45a2")
        #expect(key.text == KeyTexts.recipient)
        #expect("\(key)" == KeyTexts.recipient)
    }

    #if PublicKeys
    @Test func postQuantumKnownAnswers() throws {
        let key = try Identity(text: [UInt8](KeyTexts.postQuantumIdentity.utf8).span).publicKey
        #expect(key.kind == .xWing)
        #expect(key.text.utf8.count == 1959 && key.text.hasPrefix("age1pq1ug3kkddgcf9nnvg25"))
        #expect(
            sha256([UInt8](key.text.utf8)).hexDigits
                == "90fd79447d43e911f77df85d3ef9fe8977011f2ed521791cc8dfa98a883729a1")
        #expect(key.fingerprint.hexDigits == "eb7d1a0d75ee294b0b9f64e2c24ef12528aaad63a8ccc26041d6d2ac15abff4d")
        #expect(try PublicKey(key.text) == key)
    }
    #endif

    @Test func sshLine() throws {
        for comment in ["", " ", " me@host", " two  spaces", " a\ttab", " Grüße"] {
            #expect(try PublicKey(KeyTexts.sshLine + comment).text == KeyTexts.sshRecipient)
        }
    }

    /// M1 to M3.
    @Test func faults() throws {
        let right = KeyTexts.recipient
        let bytes = try PublicKey(right).bytes
        for text in [
            right.uppercased(), "A" + right.dropFirst(), String(right.dropLast()) + "q", right + " ", " " + right,
            KeyTexts.text("age", bytes.dropLast()), KeyTexts.text("age", bytes + [0]), KeyTexts.text("agf", bytes),
            KeyTexts.text("age", []), "", "age1", "1", "age", "age1qqqqqq", "\u{0}",
            "age1" + String(repeating: "q", count: 17_000),
        ] {
            #expect(badKey { try PublicKey(text) } != nil, "\(text)")
        }
        #expect(badKey { try PublicKey(KeyTexts.identity) }?.contains("identity") == true)
        #expect(badKey { try PublicKey(KeyTexts.text("age1tag", [2, 1])) }?.contains("plugin") == true)
        // A text of 33 bytes is never a plugin's, and one bit after the last byte must be zero.
        #expect(badKey { try PublicKey(KeyTexts.text("age1pq", bytes + [0])) }?.contains("1216") == true)
        #expect(badKey { try PublicKey(KeyTexts.text("age1yubikey", [UInt8](repeating: 1, count: 10_240))) } != nil)
    }

    /// M5: every encoding of low order, and numbers that are not reduced.
    @Test(arguments: [
        "0000000000000000000000000000000000000000000000000000000000000000",
        "0100000000000000000000000000000000000000000000000000000000000000",
        "e0eb7a7c3b41b8ae1656e3faf19fc46ada098deb9c32b1fd866205165f49b800",
        "5f9c95bca3508c24b1d0b1559c83ef5b04445cc4581c8e86d8224eddd09f1157",
        "ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
        "edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
        "eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
        "f6ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
        "0900000000000000000000000000000000000000000000000000000000000080",
    ]) func refusedPoints(_ hexadecimal: String) throws {
        let point = try #require([UInt8](hexDigits: hexadecimal))
        #expect(badKey { try PublicKey(KeyTexts.text("age", point)) }?.contains("X25519") == true)
        let half = [UInt8](repeating: 0, count: 1184)
        #expect(badKey { try PublicKey(KeyTexts.text("age1pq", half + point)) }?.contains("X25519") == true)
    }

    /// p − 2 and 9 are accepted.
    @Test(arguments: [
        "ebffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
        "edfffffffffffffffffffffffffffffffffffffffffffffffffffffffffffe7f",
        "edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7e",
        "0900000000000000000000000000000000000000000000000000000000000000",
    ]) func acceptedPoints(_ hexadecimal: String) throws {
        let point = try #require([UInt8](hexDigits: hexadecimal))
        #expect(try PublicKey(KeyTexts.text("age", point)).bytes == point)
        let half = [UInt8](repeating: 0, count: 1184)
        #expect(try PublicKey(KeyTexts.text("age1pq", half + point)).kind == .xWing)
    }

    /// M7: 3329 in an even and an odd place, first and last.
    @Test func coefficients() throws {
        let point = try PublicKey(KeyTexts.recipient).bytes
        for (place, first, second, third) in [
            (0, UInt8(0x01), UInt8(0x0D), UInt8(0)), (0, 0, 0x10, 0xD0), (1149, 0x01, 0x0D, 0), (1149, 0, 0x10, 0xD0),
        ] {
            var key = [UInt8](repeating: 0, count: 1184) + point
            key[place] = first
            key[place + 1] = second
            key[place + 2] = third
            #expect(badKey { try PublicKey(.xWing, bytes: key) }?.contains("coefficient") == true)
            if second == 0x0D { key[place] = 0 } else { key[place + 1] = 0 }
            #expect(try PublicKey(.xWing, bytes: key).bytes == key)
        }
    }

    /// M9.
    @Test func sshFaults() throws {
        let point = try #require([UInt8](hexDigits: "03a107bff3ce10be1d70dd18e74bc09967e4d6309ba50d5f1ddc8664125531b8"))
        let right = KeyTexts.sshLine
        #expect(KeyTexts.sshLine("ssh-ed25519", point: point) == right)
        var mixed = point
        mixed[31] ^= 0x80
        for text in [
            KeyTexts.rsaLine, KeyTexts.sshLine("ecdsa-sha2-nistp256", point: point),
            KeyTexts.sshLine("sk-ssh-ed25519@openssh.com", point: point),
            KeyTexts.sshLine("ssh-ed25519", inner: "sk-ssh-ed25519@openssh.com", point: point),
            KeyTexts.sshLine("ssh-ed25519", point: point, behind: [0]), "no-pty " + right, "from=\"a b\" " + right,
            right.replacing("ssh-ed25519 ", with: "ssh-ed25519  "), String(right.dropLast()), right + "=",
            "ssh-ed25519", "ssh-ed25519 ", KeyTexts.sshLine("ssh-ed25519", point: [UInt8](point.dropLast())),
            KeyTexts.sshLine("ssh-ed25519", point: [1] + [UInt8](repeating: 0, count: 31)),
            KeyTexts.sshLine("ssh-ed25519", point: [0xEC] + [UInt8](repeating: 0xFF, count: 30) + [0x7F]),
            KeyTexts.sshLine("ssh-ed25519", point: [2] + [UInt8](repeating: 0, count: 31)),
        ] {
            #expect(badKey { try PublicKey(text) } != nil, "\(text)")
        }
        #expect(badKey { try PublicKey(KeyTexts.rsaLine) }?.contains("ssh-rsa") == true)
        #expect(badKey { try PublicKey("no-pty " + right) }?.contains("options") == true)
    }
}

@Suite struct RecipientFileTests {
    private func file(_ text: String) throws -> RecipientFile { try RecipientFile([UInt8](text.utf8).span) }

    /// M4 and M10.
    @Test func files() throws {
        let one = try PublicKey(KeyTexts.recipient)
        let ssh = try PublicKey(KeyTexts.sshRecipient)
        #expect(try file("# a comment\r\n\r\n\(one)\r\n\(one)\n\n\(KeyTexts.sshLine) me").publicKeys == [one, ssh])
        #expect(try file("\(KeyTexts.sshLine)\n\(ssh)\n").publicKeys == [ssh])
        let mixed = try file("\(KeyTexts.rsaLine) x\n\(KeyTexts.sshLine)\nno-pty \(KeyTexts.sshLine)\n")
        #expect(mixed.publicKeys == [ssh])
        #expect(mixed.skipped.map(\.number) == [1, 3])
        #expect(mixed.skipped[0].reason.contains("ssh-rsa") && mixed.skipped[1].reason.contains("options"))
    }

    @Test func faultsNameTheLine() {
        let right = KeyTexts.recipient
        for (text, line) in [
            ("\(right)\n# x\nage1x\n", 3), ("\(right)\n \(right)\n", 2), ("\(right)\n\(right) \n", 2),
            ("\(KeyTexts.identity)\n", 1), ("\(right)\n\n\(KeyTexts.sshLine.dropLast())\n", 3), ("\(right)\rx", 1),
        ] {
            #expect(badKey { try file(text) }?.hasPrefix("line \(line): ") == true, "\(text)")
        }
        for text in ["", "# \(right)\n", "\(KeyTexts.rsaLine)\n", "\n\n"] {
            #expect(badKey { try file(text) }?.contains("no recipient") == true)
        }
        let long = [UInt8]("\(right)\n#".utf8)
        let most = long + [UInt8](repeating: 0x61, count: (1 << 20) - long.count)
        #expect(badKey { try RecipientFile(most.span) } == nil)
        #expect(badKey { try RecipientFile((most + [0x61]).span) }?.contains("1048576") == true)
        #expect(badKey { try RecipientFile((long + [0xFF]).span) }?.contains("UTF-8") == true)
    }
}
