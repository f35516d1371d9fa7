import SystemPackage
import Testing

@testable import VaultCommand

/// The sources of keys and passphrases. The tests run one at a time, because each passphrase takes 256 MiB.
@Suite(.serialized) struct KeyTests {
    @Test("with --json, what a key command writes to standard error is in objects too") func commandErrors() throws {
        let box = try Sandbox()
        try box.makeKey()
        try box.write("a", "contents")
        let schema = try JSONSchema()
        let long = "head -c 300000 /dev/zero | tr '\\0' x >&2"
        let command = "echo 'one \"two\"' >&2; cat key; \(long); exec 2>&-; sleep 0.2"
        let done = try box.run("encrypt", "--json", "--key-command", command, "a")
        #expect(done.ending == .status(0), "\(done.errors.prefix(500))")
        for line in done.errors.split(separator: "\n") {
            #expect(schema.violations(of: try JSON(parsing: String(line))) == [], "\(line.prefix(200))")
        }
        #expect(done.errors.contains(#"--key-command: one \"two\""#), "\(done.errors.prefix(500))")
        let failed = try box.run("encrypt", "--json", "-f", "--key-command", "echo why >&2; exit 3", "a")
        #expect(failed.ending == .status(78) && failed.errors.contains("--key-command: why"), "\(failed.errors)")
        #expect(failed.errors.contains("failed with status 3"))
        let plain = try box.run("encrypt", "-f", "--key-command", "echo why >&2; cat key", "a")
        #expect(plain.ending == .status(0) && plain.errors == "why\n")
    }

    private func words(_ text: String...) -> [[UInt8]] { text.map { Array($0.utf8) } }

    @Test("a key file is made once: a text with one secret line, never replaced") func keyFilesAreMadeOnce() throws {
        let box = try Sandbox()
        let made = try box.makeKey()
        #expect(made.text.hasPrefix("key: key "))
        let id = try #require(made.text.split(separator: " ").last).trimmed
        let text = try #require(box.text("key"))
        #expect(text.hasPrefix("# created: 20") && text.contains("# key ID: \(id)\n"))
        #expect(text.contains("\nVAULTFILE-KEY-1"))
        #expect(try box.run("key", "generate", "-o", "key").ending == .status(73))
        #expect(box.text("key") == text, "an existing key file stays")
        #expect(try box.run("key", "generate", "-o", "none/key").ending == .status(73))
        #expect(try box.run("key", "generate", "-o", "folder/").ending == .status(73))
    }

    @Test("key show shows IDs from every source, never a key") func keysAreShown() throws {
        let box = try Sandbox()
        let id = try #require(box.makeKey().text.split(separator: " ").last).trimmed
        let shown = try box.run("key", "show", "--key-file", "key", "--key-command", "cat key")
        #expect(shown.ending == .status(0))
        #expect(shown.text.split(separator: "\n").count == 2 && shown.text.contains(id))
        #expect(!shown.text.contains("VAULTFILE-KEY-1"))
        #expect(try box.run("key", "show", environment: ["VAULTFILE_KEY_FILE=key"]).text.contains(id))
        #expect(try box.run("key", "show").ending == .status(78), "there is no key to show")
    }

    @Test("a key on standard output is not repeated in messages") func printedKey() throws {
        let printed = try Sandbox().run("key", "generate", "-o", "-")
        #expect(printed.text.contains("\nVAULTFILE-KEY-1") && printed.errors.contains("key "))
        #expect(!printed.errors.contains("VAULTFILE-KEY-1"))
    }

    @Test func anyOfTheKeysOpens() throws {
        let box = try Sandbox()
        for name in ["one", "two", "three"] { try box.makeKey(name) }
        try box.write("a", "contents")
        let encrypted = try box.run(
            "encrypt", "--key-file", "one", "--key-command", "cat two", "a", environment: ["VAULTFILE_KEY_FILE=three"])
        #expect(encrypted.ending == .status(0))
        for name in ["one", "two"] {
            #expect(try box.run("decrypt", "-o", "-", "--key-file", name, "a.vault").text == "contents")
        }
        // A named key replaces the default.
        #expect(try box.run("decrypt", "-o", "-", "--key-file", "three", "a.vault").ending == .status(77))
        let open = try box.run("decrypt", "-o", "-", "a.vault", environment: ["VAULTFILE_KEY_FILE=two"])
        #expect(open.text == "contents")
        let fromInput = try box.run(
            words("decrypt", "-o", "-", "--key-file", "-", "a.vault"), input: box.bytes("one"), piped: true)
        #expect(fromInput.text == "contents")
        let slots = try box.run("inspect", "--key-file", "one", "a.vault").text
        #expect(slots.contains("key, opened") && slots.contains("key, not opened"))
    }

    @Test func malformedKeyFilesAreNamed() throws {
        let box = try Sandbox()
        try box.makeKey()
        try box.write("a", "contents")
        let text = try #require(box.text("key"))
        try box.write("mistyped", String(text.dropLast(3)) + "QQ\n", mode: .ownerReadWrite)
        try box.write("empty", "", mode: .ownerReadWrite)
        try box.write("long", String(repeating: "#", count: 70_000), mode: .ownerReadWrite)
        for name in ["mistyped", "empty", "long", "/"] {
            let outcome = try box.run("encrypt", "--key-file", name, "a")
            #expect(outcome.ending == .status(78))
            #expect(outcome.errors.hasPrefix("vaultfile: \(name): "))
            #expect(!outcome.errors.contains("VAULTFILE-KEY-17"))
        }
    }

    @Test func aKeyThatOthersCanReadWorksWithAWarning() throws {
        let box = try Sandbox()
        try box.makeKey()
        try Host.changeMode(box.path("key"), to: [.ownerReadWrite, .groupRead])
        try box.write("a", "contents")
        let outcome = try box.run("encrypt", "--key-file", "key", "a")
        #expect(outcome.ending == .status(0))
        #expect(outcome.errors.hasPrefix("vaultfile: key: warning: others can read"))
    }

    @Test func keyCommands() throws {
        let box = try Sandbox()
        try box.makeKey()
        try box.write("a", "contents")
        let failures = [
            ("exit 3", "status 3"), ("kill -9 $$", "signal 9"), ("true", "no key"), ("cat key; exit 1", "status 1"),
            ("yes", "16384"),
        ]
        for (command, reason) in failures {
            let outcome = try box.run("encrypt", "--key-command", command, "a")
            #expect(outcome.ending == .status(78))
            #expect(outcome.errors.contains(reason), "\(outcome.errors)")
        }
        // The command has an empty standard input, and default signals and descriptors.
        let closed = try box.run(
            words("encrypt", "--key-command", "[ -z \"$(cat)\" ] && cat key", "-o", "b"), input: Array("data".utf8),
            piped: true)
        #expect(closed.ending == .status(0))
        #expect(try box.run("decrypt", "--key-file", "key", "-o", "-", "b").text == "data")
        let pipe = "yes | head -n 1 >/dev/null; cat key"
        #expect(try box.run("encrypt", "-f", "--key-command", pipe, "a").ending == .status(0))
        let blocked = "grep -q '^SigBlk:\t0*$' /proc/self/status && cat key"
        #if os(Linux)
        #expect(try box.run("encrypt", "-f", "--key-command", blocked, "a").ending == .status(0))
        #endif
    }

    @Test(
        "nobody waits for a program that a key command leaves in the background",
        arguments: [
            ("sleep 600 & echo $! >left; cat key", nil), ("sleep 600 & echo $! >left; sleep 0.2; cat key", nil),
            ("{ trap 'kill $!; exit' TERM; sleep 600 & wait; cat key; } & echo $! >left", "no key"),
            ("sleep 600 & echo $! >left; exit 3", "status 3"),
        ] as [(String, String?)])
    func backgroundPrograms(_ command: String, _ reason: String?) throws {
        let box = try Sandbox()
        try box.makeKey()
        try box.write("a", "contents")
        let running = try box.start(
            words("encrypt", "--key-command", command, "a"), command: "exec timeout 60 \"$@\"")
        let outcome = running.end()
        _ = try Sandbox.shell("kill \"$(cat \"$1\")\"", [Array(box.path("left").string.utf8)])
        #expect(outcome.ending == .status(reason == nil ? 0 : 78), "\(outcome.errors)")
        if let reason { #expect(outcome.errors.contains(reason), "\(outcome.errors)") }
    }

    @Test("passphrases from files and descriptors: one line, NFC whatever the source") func passphrases() throws {
        let box = try Sandbox()
        try box.write("a", "contents")
        try box.write("composed", "p\u{E4}ssw\u{F6}rd \u{1E69}\n")
        try box.write("decomposed", "pa\u{308}sswo\u{308}rd s\u{307}\u{323}\r\n")
        try box.write("third", "pa\u{308}ssw\u{F6}rd \u{1E63}\u{307}")
        #expect(try box.run("encrypt", "--passphrase-file", "composed", "a").ending == .status(0))
        for name in ["composed", "decomposed", "third"] {
            let outcome = try box.run("decrypt", "-o", "-", "--passphrase-file", name, "a.vault")
            #expect(outcome.text == "contents", "\(name): \(outcome.errors)")
        }
        let readable = try box.run("verify", "--passphrase-file", "third", "a.vault")
        #expect(readable.errors.hasPrefix("vaultfile: third: warning: others can read this passphrase"))
        try box.makeKey()
        // A key that does not fit; a passphrase would.
        let hint = try box.run("verify", "--key-file", "key", "a.vault")
        #expect(hint.ending == .status(77) && hint.errors.contains("hint: -p asks for the passphrase"))
        let descriptor = try box.run(
            "decrypt", "-o", "-", "--passphrase-fd", "5", "a.vault", prelude: "exec 5<decomposed")
        #expect(descriptor.text == "contents")
        #expect(try box.run("decrypt", "-o", "-", "--passphrase-file", "a", "a.vault").ending == .status(77))
        #expect(try box.run("inspect", "a.vault").text.contains("passphrase, 3 passes over 262144 KiB"))
    }

    @Test(
        "not one line of UTF-8",
        arguments: [
            Array("".utf8), Array("\n".utf8), Array("\r\n".utf8), Array("two\nlines\n".utf8), Array("two\n\n".utf8),
            [0x66, 0xFF, 0x0A], [0xED, 0xA0, 0x80], [0xEF, 0xBB, 0xBF, 0x61, 0x0A], [0x61, 0, 0x62],
            Array("a\rb\n".utf8), Array("a\r".utf8), [0xFF, 0xFE, 0x61, 0],
        ])
    func refusedPassphrases(_ text: [UInt8]) throws {
        try refuse(text)
    }

    @Test(arguments: [1025, 9000]) func passphrasesThatAreTooLong(_ count: Int) throws {
        try refuse([UInt8](repeating: 0x61, count: count))
    }

    private func refuse(_ text: [UInt8]) throws {
        let box = try Sandbox()
        try box.write("a", "contents")
        try box.write(Array("passphrase".utf8), text, mode: .ownerReadWrite)
        let outcome = try box.run("encrypt", "--passphrase-file", "passphrase", "a")
        #expect(outcome.ending == .status(78))
        #expect(outcome.errors.hasPrefix("vaultfile: passphrase: "))
        #expect(!outcome.errors.contains("warning"))
        #expect(try box.names() == ["a", "passphrase"])
    }

    @Test("--passphrase-fd reads to the end of the line and no further") func descriptorLeavesTheRest() throws {
        let box = try Sandbox()
        try box.write("a", "contents")
        try box.write("lines", "one\ntwo\nthree\n")
        let first = try box.run(
            "encrypt", "--passphrase-fd", "5", "a", prelude: "exec 5<lines",
            environment: [])
        #expect(first.ending == .status(0))
        // The next reader of the descriptor continues where the program stopped, from a pipe too.
        let running = try box.start(
            words("decrypt", "-o", "b", "--passphrase-fd", "0", "a.vault"),
            command: "cat lines | { \"$@\"; cat >rest; }")
        #expect(running.end().ending == .status(0))
        #expect(box.text("b") == "contents")
        #expect(box.text("rest") == "two\nthree\n")
        let two = try box.run(
            "encrypt", "-f", "--passphrase-fd", "5", "--passphrase-fd", "5", "a", prelude: "exec 5<lines")
        #expect(two.ending == .status(0))
        try box.write("second", "two")
        #expect(try box.run("verify", "--passphrase-file", "second", "a.vault").ending == .status(0))
    }
}

extension Substring {
    var trimmed: String { String(filter { !$0.isWhitespace }) }
}
