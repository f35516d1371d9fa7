import SystemPackage
import Testing

@testable import VaultCommand

/// Paths are bytes.
@Suite struct NameTests {
    private static let odd: [[UInt8]] = [
        Array("new\nline".utf8), [0x66, 0xFF, 0xFE], Array("-dash".utf8), Array("--key-file=x".utf8), [0xCC, 0x81],
        Array("=equals".utf8), Array("e\u{301}".utf8), Array("\u{E9}".utf8), Array("tab\tand space ".utf8),
        Array("\u{202E}txt.exe".utf8), Array("\u{F741}\u{F6FF}".utf8), Array("\u{1B}[31mred".utf8), [0x80],
        Array("back\\slash".utf8), Array("help".utf8), Array("--".utf8),
    ]

    @Test(arguments: odd) func everyNameWorks(_ name: [UInt8]) throws {
        let box = try Sandbox()
        try box.makeKey()
        try box.write(name, Array("contents".utf8))
        let words = { (verb: String) in [verb, "--key-file", "key"].map { Array($0.utf8) } }
        let end = [Array("--".utf8)]
        let encrypted = try box.run(words("encrypt") + end + [name])
        #expect(encrypted.ending == .status(0), "\(encrypted.errors)")
        let container = name + Array(".vault".utf8)
        #expect(box.bytes(container) != nil)
        let verified = try box.run(words("verify") + end + [container])
        #expect(verified.text == Escaping.line(container) + ": intact\n")
        #expect(verified.output.allSatisfy { $0 == 0x0A || $0 >= 0x20 })
        let out = [UInt8(ascii: "o")] + name
        let joined = try box.run(words("decrypt") + [Array("--output=".utf8) + out] + end + [container])
        #expect(joined.ending == .status(0))
        #expect(box.bytes(out) == Array("contents".utf8))
        let short = try box.run(words("decrypt") + [Array("-f".utf8), Array("-o".utf8) + out] + end + [container])
        #expect(short.ending == .status(0))
        #expect(try box.names().count >= 4)
    }

    @Test("a name that the format cannot hold is left out") func unstorable() throws {
        let box = try Sandbox()
        try box.makeKey()
        for name in [[0x66, 0xFF], Array("new\nline".utf8), Array("back\\slash".utf8)] as [[UInt8]] {
            try box.write(name, [1])
            let words = ["encrypt", "-f", "-o", "c", "--key-file", "key"].map { Array($0.utf8) }
            #expect(try box.run(words + [name]).ending == .status(0))
            #expect(try box.run("decrypt", "--restore-name", "--key-file", "key", "c").ending == .status(73))
        }
    }

    @Test func messagesStayOnOneLine() throws {
        let box = try Sandbox()
        try box.makeKey()
        let name = Array("a\nvaultfile: b: intact\u{1B}[2K\u{202E}".utf8) + [0xFF]
        let outcome = try box.run(["verify", "--key-file", "key"].map { Array($0.utf8) } + [name])
        #expect(outcome.ending == .status(66))
        #expect(
            outcome.errors
                == "vaultfile: a\\nvaultfile: b: intact\\x1b[2K\\u{202e}\\xff: no such file or directory\n")
    }

    @Test(arguments: odd + [[], Array("-o".utf8), Array("--x=".utf8), Array("--x=y=z".utf8), Array("-x=".utf8)])
    func argumentsSurviveTheParser(_ argument: [UInt8]) {
        for text in ArgumentText.encode([argument]) + ArgumentText.encode([Array("--".utf8), argument]).dropFirst() {
            #expect(ArgumentText.decode(text) == argument)
            #expect(text.unicodeScalars.count == text.count)
        }
    }

    @Test("many operands, more than the parser could take one by one") func manyOperands() throws {
        let box = try Sandbox()
        try box.makeKey()
        let names = (1...300).map { "f\($0)" } + ["with space", "-"]
        try Sandbox.shell("cd \"$1\" && seq -f f%.0f 1 300 | xargs touch 'with space'", [Array(box.folder.string.utf8)])
        let outcome = try box.run(
            (["encrypt"] + names + ["--key-file", "key", "--", "--", "-x"]).map { Array($0.utf8) }, input: [])
        #expect(outcome.ending == .status(66))
        #expect(outcome.errors.split(separator: "\n").count == 2)
        #expect(box.bytes("f300.vault") != nil && box.bytes("with space.vault") != nil)
        #expect(outcome.output.count == 2080)
        let texts = ArgumentText.encode(names.map { Array($0.utf8) })
        #expect(texts.count < 20)
        #expect(texts.flatMap(ArgumentText.split) == names.map { Array($0.utf8) })
    }

    @Test func escapingIsInjective() {
        let texts = Self.odd + [Array("\\n".utf8), Array("\n".utf8), Array("\\x80".utf8), Array("\u{80}".utf8)]
        #expect(Set(texts.map { Array(Escaping.line($0).utf8) }).count == Set(texts).count)
        #expect(Escaping.line(Array("grün 文 🦊".utf8)) == "grün 文 🦊")
        #expect(Escaping.line("a\u{85}b\u{2028}c\u{200F}") == "a\\u{85}b\\u{2028}c\\u{200f}")
        #expect(Escaping.line([0xE2, 0x82]) == "\\xe2\\x82")
    }

    @Test func sizes() {
        #expect(ByteCount(argument: "64K")?.value == 65_536)
        #expect(ByteCount(argument: "64KiB")?.value == 65_536)
        #expect(ByteCount(argument: "3T")?.value == 3 << 40)
        #expect(ByteCount(argument: "0")?.value == 0)
        for text in ["", "K", "64k", "64KB", "-1", "1.5M", " 1", "9999999T", "18446744073709551616"] {
            #expect(ByteCount(argument: text) == nil, "\(text)")
        }
    }

    @Test func otherToolsFilesAreNamed() throws {
        let box = try Sandbox()
        try box.makeKey()
        let samples: [(String, [UInt8])] = [
            ("age", Array("age-encryption.org/v1\n-> X25519 x\n".utf8)),
            ("age", Array("-----BEGIN AGE ENCRYPTED FILE-----\n".utf8)),
            ("OpenPGP", Array("-----BEGIN PGP MESSAGE-----\n".utf8)),
            ("OpenPGP", [0x85, 0x01, 0x0C, 0x03, 0x12, 0x34]), ("OpenPGP", [0x8C, 0x0D, 0x04, 0x09, 0x03]),
            ("OpenPGP", [0xC1, 0x5E, 0x03, 0x12, 0x34]), ("Ansible", Array("$ANSIBLE_VAULT;1.1;AES256\n".utf8)),
            ("zip", [0x50, 0x4B, 0x03, 0x04, 0x14]), ("LUKS", [0x4C, 0x55, 0x4B, 0x53, 0xBA, 0xBE, 0, 2]),
            ("openssl", Array("Salted__12345678".utf8)),
        ]
        for (name, bytes) in samples {
            try box.write(Array("f".utf8), bytes + [UInt8](repeating: 0, count: 3000))
            for arguments in [["verify", "--key-file", "key", "f"], ["inspect", "f"]] {
                let outcome = try box.run(arguments.map { Array($0.utf8) })
                #expect(outcome.ending == .status(65))
                #expect(outcome.errors.contains(name), "\(outcome.errors)")
            }
            let piped = try box.run(
                ["decrypt", "--key-file", "key"].map { Array($0.utf8) }, input: bytes, piped: true)
            #expect(piped.ending == .status(65) && piped.errors.contains(name), "\(piped.errors)")
        }
    }
}
