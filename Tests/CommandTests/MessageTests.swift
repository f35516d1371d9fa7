import SystemPackage
import Testing

@testable import VaultCommand

/// Slips that are named, each with what helps.
@Suite struct MessageTests {
    @Test("help for what is no command is a usage error") func helpTopics() throws {
        let box = try Sandbox()
        for arguments in [["help", "foo"], ["help", "key", "foo"]] {
            let outcome = try box.run(arguments.map { Array($0.utf8) })
            #expect(outcome.ending == .status(64))
            #expect(outcome.errors.hasPrefix("vaultfile: foo: is no command"))
            #expect(outcome.output == [])
        }
        for arguments in [["help"], ["help", "key", "show"], ["help", "encrypt"], ["key", "--help"]] {
            #expect(try box.run(arguments.map { Array($0.utf8) }).ending == .status(0))
        }
    }

    @Test("a secret in an argument is not repeated") func secretsInArguments() throws {
        let box = try Sandbox()
        for argument in ["-psecret", "-fpsecret", "--passphrase=secret"] {
            let outcome = try box.run("encrypt", argument, "a")
            #expect(outcome.ending == .status(64))
            #expect(outcome.errors.contains("no passphrase is read from an argument"))
            #expect(!outcome.errors.contains("secret"))
        }
    }

    @Test func joinedOptionsAndOperands() throws {
        let box = try Sandbox()
        for argument in ["-foF", "-qfoF"] {
            let outcome = try box.run("encrypt", argument, "a")
            #expect(outcome.ending == .status(64))
            #expect(outcome.errors.contains("hint: write the other options apart, as in -f -oFILE"))
        }
        let shown = try box.run("key", "show", "k1")
        #expect(shown.ending == .status(64) && shown.errors.contains("hint: --key-file FILE"))
    }

    @Test("key files of others, and of programs that add to a text") func keyFiles() throws {
        let box = try Sandbox()
        try box.makeKey()
        try box.write("a", "contents")
        try box.run("encrypt", "--key-file", "key", "-o", "container", "a")
        let text = try #require(box.text("key"))
        let key = Array(text.utf8)
        let samples: [([UInt8], String)] = [
            ([0xEF, 0xBB, 0xBF] + key, "byte order mark"), ([0xFF, 0xFE] + key.flatMap { [$0, 0] }, "UTF-16"),
            (key.flatMap { [0, $0] }, "UTF-16"),
            (Array(text.split(separator: "\n").map { "  \($0)\n" }.joined().utf8), "blank"),
            (Array("# created: 2026\n# public key: age1x\nAGE-SECRET-KEY-1QQQ\n".utf8), "age identity"),
            (Array("age-encryption.org/v1\n".utf8), "age file"), (try #require(box.bytes("container")), "container"),
            (Array("-----BEGIN OPENSSH PRIVATE KEY-----\n".utf8), "OpenSSH"),
        ]
        for (bytes, reason) in samples {
            try box.write(Array("k".utf8), bytes, mode: .ownerReadWrite)
            let outcome = try box.run("encrypt", "-f", "--key-file", "k", "a")
            #expect(outcome.ending == .status(78))
            #expect(outcome.errors.hasPrefix("vaultfile: k: ") && outcome.errors.contains(reason), "\(outcome.errors)")
            #expect(outcome.errors.split(separator: "\n").count == 1 && !outcome.errors.contains("QQQ"))
        }
    }

    @Test("another tool's file is named before its name is") func otherTools() throws {
        let box = try Sandbox()
        try box.makeKey()
        try box.write("f.age", "age-encryption.org/v1\n")
        let outcome = try box.run("decrypt", "--key-file", "key", "f.age")
        #expect(outcome.ending == .status(65) && outcome.errors.contains("is an age file"))
        let key = try box.run("decrypt", "--key-file", "key", "key")
        #expect(key.ending == .status(65) && key.errors.contains("is a vaultfile key file"))
        let verified = try box.run("verify", "--key-file", "key", "key")
        #expect(verified.ending == .status(65) && verified.errors.contains("is a vaultfile key file"))
        try box.write("plain", "text")
        #expect(try box.run("decrypt", "--key-file", "key", "plain").ending == .status(64))
    }

    @Test("what shows nothing of itself is escaped, in text and in JSON") func hidden() throws {
        let hidden = [
            "\u{AD}", "\u{200B}", "\u{200D}", "\u{FEFF}", "\u{E0041}", "\u{85}", "\u{7F}", "\u{202E}", "\u{2060}",
        ]
        for text in hidden {
            let line = Escaping.line("a\(text)b")
            #expect(line.utf8.allSatisfy { (0x20..<0x7F).contains($0) }, "\(line)")
            #expect(Escaping.json("\"a\(text)b\"").utf8.allSatisfy { (0x20..<0x7F).contains($0) })
        }
        #expect(Escaping.json("\u{E0041}grün") == "\\udb40\\udc41grün")
        let box = try Sandbox()
        try box.makeKey()
        let name = hidden.joined()
        try box.write(name, "x")
        let outcome = try box.run("encrypt", "--json", "-v", "--key-file", "key", "--", name)
        #expect(outcome.ending == .status(0))
        #expect((outcome.text + outcome.errors).utf8.allSatisfy { $0 == 0x0A || (0x20..<0x7F).contains($0) })
        #expect(try JSON(parsing: outcome.text)["path"] == .string(name))
    }

    @Test("an input that grows meanwhile: a warning") func resized() throws {
        let box = try Sandbox()
        try box.makeKey()
        try box.write(Array("big".utf8), [UInt8](repeating: 1, count: 32 << 20))
        let running = try box.start(
            ["encrypt", "--key-file", "key", "big"].map { Array($0.utf8) },
            prelude: "{ (i=0; while [ ! -e big.vault ] && [ $((i += 1)) -lt 100000 ]; do printf x >>big; done) & }")
        let outcome = running.end()
        #expect(outcome.ending == .status(0))
        #expect(outcome.errors.contains("big: warning: its size changed while it was read"))
        #expect(try box.run("encrypt", "--key-file", "key", "key").errors == "")
    }

    @Test("where no file can be made is seen before keys are asked for") func looksFirst() throws {
        let box = try Sandbox()
        try box.write("a", "contents")
        let outcome = try box.run("encrypt", "--key-file", "none", "-o", "none/x", "a")
        #expect(outcome.ending == .status(73))
    }
}
