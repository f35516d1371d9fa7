import SystemPackage
import Testing
import VaultFile
import VaultTestSupport

@testable import VaultCommand

/// The dialogue on a terminal. The tests run one at a time, because each passphrase takes 256 MiB.
@Suite(.serialized) struct TerminalTests {
    private func words(_ text: String...) -> [[UInt8]] { text.map { Array($0.utf8) } }

    /// A container of `contents` that the passphrase `wörd` opens.
    private func prepared() throws -> Sandbox {
        let box = try Sandbox()
        try box.write("a", "contents")
        try box.write("passphrase", "w\u{F6}rd\n")
        #expect(try box.run("encrypt", "--passphrase-file", "passphrase", "a").ending == .status(0))
        return box
    }

    @Test func aNewPassphraseIsAskedForTwiceAndNotShown() throws {
        let box = try Sandbox()
        try box.write("a", "contents")
        let terminal = try PseudoTerminal()
        let running = try box.start(words("encrypt", "-p", "a"), terminal: terminal)
        var seen = try terminal.expect("New passphrase: ")
        #expect(!terminal.echoes)
        try terminal.type("first\n")
        seen += try terminal.expect("Repeat it: ")
        try terminal.type("second\n")
        seen += try terminal.expect("The two differ.")
        seen += try terminal.expect("New passphrase: ")
        try terminal.type("w\u{F6}rd\n")
        seen += try terminal.expect("Repeat it: ")
        // Two encodings of the same word are the same passphrase.
        try terminal.type("wo\u{308}rd\n")
        #expect(running.end().ending == .status(0))
        #expect(!seen.contains("first") && !seen.contains("second") && !seen.contains("rd\n"))
        #expect(terminal.echoes)
        try box.write("passphrase", "w\u{F6}rd\n")
        #expect(try box.run("verify", "--passphrase-file", "passphrase", "a.vault").ending == .status(0))
    }

    @Test("an empty line does not repeat a new passphrase; it is asked for again") func emptyRepeat() throws {
        let box = try Sandbox()
        try box.write("a", "contents")
        let terminal = try PseudoTerminal()
        let running = try box.start(words("encrypt", "-p", "a"), terminal: terminal)
        for (question, answer) in [
            ("New passphrase: ", "first"), ("Repeat it: ", ""), ("The two differ.", nil),
            ("New passphrase: ", "second"), ("Repeat it: ", "second"),
        ] {
            _ = try terminal.expect(question)
            if let answer { try terminal.type(answer + "\n") }
        }
        #expect(running.end().ending == .status(0))
    }

    @Test("both lines of a new passphrase may come at once, and neither is shown") func pasted() throws {
        let box = try Sandbox()
        try box.write("a", "contents")
        let terminal = try PseudoTerminal()
        let running = try box.start(
            words("encrypt", "-p", "a"), command: "\"$@\"; status=$?; echo end >/dev/tty; exit $status",
            terminal: terminal)
        _ = try terminal.expect("New passphrase: ")
        try terminal.type("first word\nfirst word\n")
        let seen = try terminal.expect("end")
        #expect(running.end().ending == .status(0))
        #expect(!seen.contains("word"), "\(seen)")
    }

    @Test("an empty answer offers a passphrase, which the user types") func offered() throws {
        let box = try Sandbox()
        try box.write("a", "contents")
        let terminal = try PseudoTerminal()
        let running = try box.start(words("encrypt", "-p", "a"), terminal: terminal)
        _ = try terminal.expect("New passphrase: ")
        try terminal.type("\n")
        _ = try terminal.expect("write it down, then type it:\r\n")
        let offered = String(try terminal.expect("\r\n").dropLast())
        #expect(offered.split(separator: "-").map(\.count) == [4, 4, 4, 4, 4], "\(offered)")
        #expect(!terminal.echoes)
        // Before the next question is asked, perhaps.
        try terminal.type(offered + "\n")
        #expect(running.end().ending == .status(0))
        try box.write("passphrase", offered + "\n", mode: .ownerReadWrite)
        #expect(try box.run("verify", "--passphrase-file", "passphrase", "a.vault").ending == .status(0))
        // Another answer does not take it.
        let other = try box.start(words("encrypt", "-f", "-p", "a"), terminal: terminal)
        _ = try terminal.expect("New passphrase: ")
        try terminal.type("\n")
        _ = try terminal.expect("Repeat it: ")
        try terminal.type("my own\n")
        _ = try terminal.expect("The two differ.")
        _ = try terminal.expect("New passphrase: ")
        try terminal.type("\u{4}")
        #expect(other.end().ending == .status(78))
    }

    @Test(
        "three tries for a passphrase that opens a container",
        arguments: [
            ("verify", "Passphrase for a.vault: "), ("verify -p", "Passphrase: "), ("cat -p", "Passphrase: "),
            ("decrypt -p -o b", "Passphrase: "), ("rotate -p --add file:key", "Passphrase: "),
            ("rotate --add file:key --remove passphrase", "Passphrase for the slot to be removed: "),
            ("edit --add file:key --remove passphrase", "Passphrase for the slot to be removed: "),
            ("reencrypt -p", "Passphrase: "), ("recover -p -o b", "Passphrase: "),
        ])
    func tries(_ verb: String, _ question: String) throws {
        let box = try prepared()
        try box.makeKey()
        let terminal = try PseudoTerminal()
        let arguments = verb.split(separator: " ").map { Array($0.utf8) } + words("a.vault")
        let running = try box.start(arguments, environment: ["EDITOR=echo more >>"], terminal: terminal)
        for _ in 0..<2 {
            _ = try terminal.expect(question)
            try terminal.type("wrong\n")
            _ = try terminal.expect("Wrong passphrase.")
        }
        _ = try terminal.expect(question)
        try terminal.type("w\u{F6}rd\n")
        let outcome = running.end()
        #expect(outcome.ending == .status(0), "\(outcome.errors)")
        #expect(!outcome.errors.contains("hint"), "\(outcome.errors)")
        let opener = verb.contains("file:key") ? ["--key-file", "key"] : ["--passphrase-file", "passphrase"]
        let verified = try box.run((["verify"] + opener + ["a.vault"]).map { Array($0.utf8) })
        #expect(verified.ending == .status(0), "\(verified.errors)")
        // What opened one container is not asked for again for another.
        if verb == "verify -p" {
            try box.makeKey("k")
            try box.run("encrypt", "--key-file", "k", "-o", "b.vault", "a")
            let both = try box.start(arguments + words("b.vault"), terminal: terminal)
            _ = try terminal.expect(question)
            try terminal.type("w\u{F6}rd\n")
            #expect(both.end().ending == .status(77))
        }
    }

    @Test("reencrypt: a key opens the container, and the passphrase to be removed is mistyped: it is asked for again")
    func triesToRemove() throws {
        let box = try prepared()
        try box.makeKey()
        try box.run("rotate", "--passphrase-file", "passphrase", "--add", "file:key", "a.vault")
        let terminal = try PseudoTerminal()
        let line = words("reencrypt", "--key-file", "key", "--remove", "passphrase", "a.vault")
        let question = "Passphrase for the slot to be removed: "
        let running = try box.start(line, terminal: terminal)
        for _ in 0..<2 {
            _ = try terminal.expect(question)
            try terminal.type("wrong\n")
            _ = try terminal.expect("Wrong passphrase.")
        }
        _ = try terminal.expect(question)
        try terminal.type("w\u{F6}rd\n")
        let outcome = running.end()
        #expect(outcome.ending == .status(0), "\(outcome.errors)")
        #expect(try box.run("verify", "--key-file", "key", "a.vault").ending == .status(0))
        #expect(try box.run("verify", "--passphrase-file", "passphrase", "a.vault").ending == .status(77))
    }

    @Test("two passphrases, both mistyped: both are asked for again, three times at most")
    func triesOfTwo() throws {
        let box = try prepared()
        try box.makeKey()
        let terminal = try PseudoTerminal()
        let line = words("rotate", "-p", "--add", "file:key", "--remove", "passphrase", "a.vault")
        let running = try box.start(line, terminal: terminal)
        let (opening, removing) = ("Passphrase: ", "Passphrase for the slot to be removed: ")
        for question in [opening, removing, removing, opening, removing, opening] {
            _ = try terminal.expect(question)
            try terminal.type("wrong\n")
        }
        #expect(running.end().ending == .status(77))
        #expect(try box.run("verify", "--passphrase-file", "passphrase", "a.vault").ending == .status(0))
    }

    @Test("an offered passphrase has five groups of four characters, and no two are the same") func generated() throws {
        let offered = try (0..<20).map { _ in
            try GeneratedPassphrase().withBytes { bytes in
                String(decoding: [UInt8](copying: bytes), as: UTF8.self)
            }
        }
        #expect(Set(offered).count == 20)
        for word in offered {
            #expect(word.split(separator: "-").map(\.count) == [4, 4, 4, 4, 4])
            #expect(word.allSatisfy { $0 == "-" || "0123456789abcdefghjkmnpqrstvwxyz".contains($0) }, "\(word)")
        }
    }

    @Test func itIsAskedForOnceARunAndOnlyWhereItCanOpen() throws {
        let box = try prepared()
        try box.run("encrypt", "--passphrase-file", "passphrase", "-o", "b.vault", "a")
        let terminal = try PseudoTerminal()
        let running = try box.start(words("verify", "a.vault", "b.vault"), terminal: terminal)
        _ = try terminal.expect("Passphrase for a.vault: ")
        try terminal.type("w\u{F6}rd\n")
        let outcome = running.end()
        #expect(outcome.ending == .status(0))
        #expect(outcome.text == "a.vault: intact\nb.vault: intact\n")
        // This container has no slot for a passphrase, so none is asked for.
        try box.makeKey()
        try box.run("encrypt", "--key-file", "key", "-o", "c.vault", "a")
        let keyed = try box.start(words("verify", "c.vault"), terminal: terminal).end()
        #expect(keyed.ending == .status(78) && keyed.errors.contains("hint: "))
        // A key that fits makes the question unnecessary.
        try box.run("encrypt", "--key-file", "key", "--passphrase-file", "passphrase", "-o", "d.vault", "a")
        let both = try box.start(
            words("verify", "d.vault"), environment: ["VAULTFILE_KEY_FILE=key"], terminal: terminal)
        #expect(both.end().ending == .status(0))
    }

    @Test func aWrongPassphraseAndNone() throws {
        let box = try prepared()
        let terminal = try PseudoTerminal()
        let wrong = try box.start(words("decrypt", "-p", "-o", "b", "a.vault"), terminal: terminal)
        for _ in 0..<3 {
            _ = try terminal.expect("Passphrase: ")
            try terminal.type("wrong\n")
        }
        let refused = wrong.end()
        #expect(refused.ending == .status(77))
        #expect(refused.errors.hasPrefix("vaultfile: a.vault: the passphrase does not open it: "), "\(refused.errors)")
        for nothing in ["\n", "\u{4}"] {
            let running = try box.start(words("decrypt", "-p", "-o", "b", "a.vault"), terminal: terminal)
            _ = try terminal.expect("Passphrase: ")
            try terminal.type(nothing)
            #expect(running.end().ending == .status(78))
        }
        #expect(box.bytes("b") == nil)
    }

    @Test(
        "the terminal is as it was after any signal", arguments: [Host.sigInt, Host.sigTerm, Host.sigHup, Host.sigQuit])
    func signals(_ number: Int32) throws {
        let box = try prepared()
        let terminal = try PseudoTerminal()
        let running = try box.start(
            words("decrypt", "-p", "-o", "b", "a.vault"), prelude: "ulimit -c 0", terminal: terminal)
        _ = try terminal.expect("Passphrase: ")
        #expect(!terminal.echoes)
        if number == Host.sigInt {
            try terminal.type("\u{3}")
            // The next output of the shell begins on a new line.
            _ = try terminal.expect("\r\n")
        } else {
            running.child.send(number)
        }
        #expect(running.end().ending == .signal(number))
        #expect(terminal.echoes)
        #expect(try box.names() == ["a", "a.vault", "passphrase"])
    }

    @Test("stopped at the question and continued") func stopped() throws {
        let box = try prepared()
        let terminal = try PseudoTerminal()
        let running = try box.start(
            words("decrypt", "-p", "-o", "b", "a.vault"),
            command: "set -m; \"$@\"; stty -a </dev/tty >settings; fg >/dev/null", terminal: terminal)
        _ = try terminal.expect("Passphrase: ")
        try terminal.type("\u{1A}")
        _ = try terminal.expect("Passphrase: ")
        #expect(!terminal.echoes)
        #expect(box.text("settings")?.contains(" echo ") == true)
        try terminal.type("w\u{F6}rd\n")
        #expect(running.end().ending == .status(0))
        #expect(box.text("b") == "contents")
        #expect(terminal.echoes)
    }

    @Test("Ctrl-Z where nothing can continue the program: the echo stays off") func notStopped() throws {
        let box = try prepared()
        let terminal = try PseudoTerminal()
        let running = try box.start(
            words("decrypt", "-p", "-o", "b", "a.vault"), command: "exec \"$@\"", terminal: terminal)
        _ = try terminal.expect("Passphrase: ")
        try terminal.type("\u{1A}")
        _ = try terminal.expect("Passphrase: ")
        #expect(!terminal.echoes)
        try terminal.type("w\u{F6}rd\n")
        #expect(running.end().ending == .status(0))
        #expect(box.text("b") == "contents")
        #expect(terminal.echoes)
    }

    @Test("nothing goes to a terminal without -o -") func terminalOutput() throws {
        let box = try prepared()
        try box.makeKey()
        let terminal = try PseudoTerminal()
        let prelude = "exec >/dev/tty"
        let arguments = [
            words("encrypt", "--key-file", "key"), words("decrypt", "--key-file", "key"),
            words("encrypt", "--key-file", "key", "-o", "/dev/tty", "a"),
        ]
        for words in arguments {
            let outcome = try box.start(words, prelude: prelude, terminal: terminal).end()
            #expect(outcome.ending == .status(64))
            #expect(outcome.errors.contains("terminal") && outcome.errors.contains("-o -"))
        }
        let asked = try box.start(words("key", "generate", "-o", "-"), prelude: prelude, terminal: terminal)
        _ = try terminal.expect("VAULTFILE-KEY-1")
        #expect(asked.end().ending == .status(0))
    }

    @Test("progress: on a terminal, after a second, one line that is taken away") func progress() throws {
        let box = try Sandbox()
        try box.makeKey()
        let terminal = try PseudoTerminal()
        let feed = "(while :; do head -c 100000 /dev/zero || exit; sleep 0.1; done) | head -c 4000000"
        let running = try box.start(
            words("encrypt", "--key-file", "key", "-o", "big.vault"), command: "\(feed) | \"$@\"", terminal: terminal,
            errorsToTerminal: true)
        let seen = try terminal.expect("KiB/s")
        #expect(seen.contains("standard input: "))
        _ = try terminal.expect("\r\u{1B}[K")
        #expect(running.end().ending == .status(0))
        // The line about the output is written only if standard error is a terminal.
        let told = try box.start(
            words("encrypt", "--key-file", "key", "key"), command: "\"$@\"; echo end >&2", terminal: terminal,
            errorsToTerminal: true)
        #expect(try terminal.expect("end").contains("key -> key.vault\r\n"))
        #expect(told.end().ending == .status(0))
        let quiet = try box.start(
            words("encrypt", "-q", "-f", "--key-file", "key", "-o", "big.vault"),
            command: "\(feed) | \"$@\"; echo end >&2",
            terminal: terminal, errorsToTerminal: true)
        let silence = try terminal.expect("end")
        #expect(!silence.contains("KiB") && !silence.contains("->"))
        _ = quiet.end()
    }

    #if os(Linux)
    @Test("progress where a change of keys or a repair has to read all of a container", arguments: [true, false])
    func progressInPlace(isRepair: Bool) throws {
        let box = try Sandbox()
        try box.makeKey()
        let size = 96 << 20
        _ = try Sandbox.shell("head -c \(size) /dev/zero >\"$1\"", [Array(box.path("a").string.utf8)])
        let made = try box.run("encrypt", "--key-file", "key", "--no-sync", "a")
        #expect(made.ending == .status(0))
        if isRepair {
            _ = try Sandbox.shell("truncate -s -1 \"$1\"", [Array(box.path("a.vault").string.utf8)])
        }
        var arguments = words("repair", "--key-file", "key", "b.vault")
        if !isRepair {
            // More slots than the header has room for, so that the container is written to a new file.
            arguments = words("rotate", "--key-file", "key", "b.vault")
            for number in 0..<50 {
                try SymmetricKey.generate().write(to: box.path("key\(number)"))
                arguments += words("--add", "file:key\(number)")
            }
        }
        var seen: String?
        // The run is stopped for longer than a second. If it finished before that, the test tries again.
        for _ in 0..<20 where seen == nil {
            _ = try Sandbox.shell(
                "cp \"$1\" \"$2\"", [box.path("a.vault"), box.path("b.vault")].map { Array($0.string.utf8) })
            let terminal = try PseudoTerminal()
            let running = try box.start(
                arguments, command: "\"$@\"; status=$?; echo end >&2; exit $status", terminal: terminal,
                errorsToTerminal: true)
            _ = try Sandbox.shell(
                """
                while p=$(cat /proc/$1/task/$1/children) && [ -z "$p" ]; do :; done
                while n=$(sed -n 's/^rchar: //p' /proc/${p% }/io) && [ "$n" -lt 8000000 ]; do :; done
                kill -STOP $p && sleep 1.2; kill -CONT $p
                """, [Array("\(running.child.process)".utf8)])
            let text = try terminal.expect("end")
            #expect(running.end().ending == .status(0))
            if text.contains(" of 96.") { seen = text }
        }
        let text = try #require(seen)
        #expect(text.contains("b.vault: ") && text.contains("left"), "\(text)")
        // A rotation lists the slots that it keeps, where the line of progress was.
        let next = isRepair ? "end" : "b.vault: keeps its slot for key "
        #expect(text.contains("\r\u{1B}[K" + next), "\(text)")
    }
    #endif
}
