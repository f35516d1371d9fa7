import SystemPackage
import Testing

@testable import VaultCommand

/// `vaultfile cat`.
@Suite struct CatTests {
    private let key = ["VAULTFILE_KEY_FILE=key"]

    /// The containers `a.vault` of a text and `b.vault` of other bytes.
    private func prepared() throws -> Sandbox {
        let box = try Sandbox()
        try box.makeKey()
        try box.write("a", "first line\nzwölf 文\n")
        try box.write(Array("b".utf8), [0, 1, 2, 0x1B, 0x5B, 0x48])
        #expect(try box.run("encrypt", "a", "b", environment: key).ending == .status(0))
        return box
    }

    @Test("several containers, in order, as bytes; a range of each") func pipe() throws {
        let box = try prepared()
        let both = try box.run("cat", "a.vault", "b.vault", "a.vault", environment: key)
        let (a, b) = (try #require(box.bytes("a")), try #require(box.bytes("b")))
        #expect(both.ending == .status(0) && both.output == a + b + a && both.errors == "")
        let part = try box.run("cat", "--offset", "6", "--length", "4", "a.vault", environment: key)
        #expect(part.ending == .status(0) && part.text == "line")
        let rest = try box.run("cat", "--offset", "2", "b.vault", environment: key)
        #expect(rest.output == Array(b.dropFirst(2)))
        let stream = try box.run(
            [Array("cat".utf8)], input: box.bytes("a.vault"), piped: true, environment: key)
        #expect(stream.ending == .status(0) && stream.output == a)
        #expect(try box.names() == ["a", "a.vault", "b", "b.vault", "key"])
    }

    @Test("what fails does not stop the others, and JSON goes to standard error") func failures() throws {
        let box = try prepared()
        var damaged = try #require(box.bytes("b.vault"))
        damaged[600] ^= 1
        try box.write(Array("b.vault".utf8), damaged)
        let outcome = try box.run("cat", "--json", "b.vault", "none", "a.vault", environment: key)
        #expect(outcome.ending == .status(65) && outcome.output == box.bytes("a"))
        let objects = try outcome.errors.split(separator: "\n").map { try JSON(parsing: String($0)) }
        #expect(objects.contains { $0["status"] == .string("ok") && $0["path"] == .string("a.vault") })
        #expect(objects.allSatisfy { $0["verb"] == .string("cat") })
        #expect(try box.run("cat", "--offset", "9", "b.vault", environment: key).ending != .status(0))
        #expect(try box.run("cat", "--recursive", ".", environment: key).ending == .status(64))
        let itself = try box.start(
            ["cat", "a.vault"].map { Array($0.utf8) }, command: "exec \"$@\" >>a.vault", environment: key
        ).end()
        #expect(itself.ending == .status(73) && itself.errors.contains("is an input of this run"))
    }

    @Test("a terminal gets text, and other bytes only with --force") func terminal() throws {
        let box = try prepared()
        let terminal = try PseudoTerminal()
        let run = { (words: [String]) in
            try box.start(
                (["cat"] + words).map { Array($0.utf8) }, prelude: "exec >/dev/tty", environment: key,
                terminal: terminal)
        }
        let shown = try run(["a.vault"])
        #expect(try terminal.expect("文\r\n") == "first line\r\nzwölf 文\r\n")
        #expect(shown.end().ending == .status(0))
        let refused = try run(["b.vault"]).end()
        #expect(refused.ending == .status(64) && refused.errors.contains("is not text"))
        #expect(refused.errors.contains("hint: --force shows it anyway"))
        let forced = try run(["-f", "b.vault"])
        _ = try terminal.expect("\u{1B}[H")
        #expect(forced.end().ending == .status(0))
        // A part may begin and end inside a character.
        let part = try run(["--offset", "13", "--length", "7", "a.vault"])
        _ = try terminal.expect("lf")
        #expect(part.end().ending == .status(0))
    }

    @Test("without an input a terminal is not read: the name was forgotten", arguments: ["encrypt", "decrypt", "cat"])
    func forgottenName(_ verb: String) throws {
        let box = try prepared()
        let terminal = try PseudoTerminal()
        let run = try box.start(
            [Array(verb.utf8)], prelude: "exec </dev/tty >/dev/tty", environment: key, terminal: terminal)
        let refused = run.end()
        #expect(refused.ending == .status(64))
        #expect(
            refused.errors == "vaultfile: INPUT: is missing\nvaultfile: hint: name the files; - is standard input\n")
    }

    @Test("the hint for parts of several inputs on a terminal can be followed") func severalParts() throws {
        let box = try prepared()
        let terminal = try PseudoTerminal()
        let words = ["decrypt", "--length", "3", "a.vault", "b.vault"]
        let refused = try box.start(
            words.map { Array($0.utf8) }, prelude: "exec >/dev/tty", environment: key, terminal: terminal
        ).end()
        #expect(refused.ending == .status(64) && refused.errors.contains("hint: -o FOLDER/ takes them all"))
    }

    @Test func textCheck() {
        func check(_ pieces: [[UInt8]], isPart: Bool = false) -> Bool {
            var check = TextCheck(isPart: isPart)
            return pieces.allSatisfy { check.take($0) } && check.isComplete
        }
        let text = Array("zwölf 文 🙂\r\n\t".utf8)
        for cut in text.indices { #expect(check([Array(text[..<cut]), Array(text[cut...])])) }
        #expect(check(text.map { [$0] }) && check([]) && check([[]]))
        for scalar in ["\u{0}", "\u{7}", "\u{1B}", "\u{7F}", "\u{9B}"] { #expect(!check([Array("a\(scalar)".utf8)])) }
        for bytes in [[0xFF], [0xC3], [0xC3, 0x28], [0x80], [0xE6, 0x96], [0xC0, 0x80]] as [[UInt8]] {
            #expect(!check([bytes]), "\(bytes)")
        }
        #expect(check([[0x96, 0x87, 0x61]], isPart: true) && check([[0x61, 0xE6, 0x96]], isPart: true))
        #expect(!check([[0x80, 0x80, 0x80, 0x80]], isPart: true) && !check([[0x61], [0x80]], isPart: true))
    }
}
