import Synchronization
import Testing
import VaultFile
import VaultSystem
import VaultTestSupport

@testable import VaultCommand

/// Several files, identities and threads in one run with plugins.
@Suite struct PluginRunTests {
    private func words(_ text: String...) -> [[UInt8]] { text.map { Array($0.utf8) } }

    @Test("--remove of one identity leaves the hidden slots that another one opens") func removal() throws {
        let scene = try PluginScene()
        let box = scene.box
        try scene.makeBareIdentity("one")
        try scene.makeBareIdentity("two")
        try box.shell("mkdir d && for i in 1 2; do echo $i > d/$i; done")
        #expect(try scene.run("encrypt", "--recursive", "-i", "one", "-i", "two", "d").ending == .status(0))
        let rotated = try scene.run("rotate", "--recursive", "-i", "one", "--remove", "identity-file:two", "d")
        #expect(rotated.ending == .status(0), "\(rotated.errors)")
        for file in ["d/1.vault", "d/2.vault"] {
            #expect(try scene.run("verify", "-i", "one", file).ending == .status(0))
            #expect(try scene.run("verify", "-i", "two", file).ending != .status(0))
        }
    }

    @Test("--remove of a recipient whose slot is hidden, or not there, is said") func hiddenStays() throws {
        let scene = try PluginScene()
        let box = scene.box
        try box.makeKey()
        for name in ["a", "b", "c"] { try box.write(name, "contents") }
        let key = ["--key-file", "key"]
        func run(_ words: String...) throws -> Sandbox.Outcome {
            try box.run(words.map { Array($0.utf8) }, environment: scene.environment)
        }
        #expect(try run("encrypt", "--key-file", "key", "-r", scene.recipient, "--anonymous", "a").ending == .status(0))
        #expect(try run("encrypt", "--key-file", "key", "-r", scene.recipient, "b").ending == .status(0))
        #expect(try run("encrypt", "--key-file", "key", "c").ending == .status(0))
        let removed = try run(
            "rotate", key[0], key[1], "--remove", scene.recipient, "a.vault", "b.vault", "c.vault")
        #expect(removed.ending == .status(0))
        let warnings = removed.errors.split(separator: "\n").filter { $0.contains("a hidden slot stays") }
        #expect(warnings.count == 1 && warnings[0].contains("a.vault"), "\(removed.errors)")
        #expect(!removed.errors.contains("nothing was removed"))
        let none = try run("rotate", key[0], key[1], "--remove", scene.recipient, "c.vault")
        #expect(none.errors.contains("no slot is that of \(scene.recipient), so nothing was removed"), "\(none.errors)")
        // The identity finds the hidden slot.
        let found = try run("rotate", key[0], key[1], "--remove", "identity-file:token", "a.vault")
        #expect(found.ending == .status(0) && !found.errors.contains("hidden"), "\(found.errors)")
        #expect(try box.slots("a.vault").count == 1)
    }

    @Test("a signal ends a plugin that waits, too, and nothing is left", arguments: [Host.sigTerm, Host.sigHup])
    func interruption(_ number: Int32) throws {
        let scene = try PluginScene()
        let box = scene.box
        try box.write("a", "contents")
        #expect(try scene.run("encrypt", "-r", scene.recipient, "a").ending == .status(0))
        try box.shell("mkdir tmp")
        let running = try box.start(
            words("verify", "-i", "token", "a.vault"), command: "exec \"$@\"",
            environment: scene.environment + [
                "STAND_MODE=silent", "STAND_PID=\(box.path("pid"))", "TMPDIR=\(box.path("tmp"))",
            ])
        while box.text("pid")?.hasSuffix("\n") != true { Host.pause(milliseconds: 5) }
        running.child.send(number)
        #expect(running.end().ending == .signal(number))
        let process = (box.text("pid") ?? "").dropLast()
        // Whoever adopts it may not have waited for it yet.
        let state = try box.shell("sleep 0.2; ps -o stat= -p \(process) || true")
        #expect(state.isEmpty || state.hasPrefix("Z"), "\(state)")
        #expect(try box.shell("ls -A tmp") == "")
    }

    @Test("the identity of a plugin has one line in the keyring, and can be exported") func oneLine() throws {
        let scene = try PluginScene()
        let box = scene.box
        try box.makeKey("unlocker")
        func run(_ words: String...) throws -> Sandbox.Outcome { try scene.runWithKeyring(words) }
        #expect(try run("key", "generate", "--name", "work").ending == .status(0))
        #expect(try run("key", "import", "--name", "card", "token").ending == .status(0))
        try box.shell("sed /recipient/d token > bare; chmod 600 bare")
        let again = try run("key", "import", "--name", "again", "bare")
        #expect(again.ending == .status(73) && again.errors.contains("has this identity already, as card"))
        #expect(try run("key", "export", "-o", "out", "card").ending == .status(0))
        let lines = (box.text("out") ?? "").split(separator: "\n").filter { !$0.hasPrefix("# created: ") }
        #expect(lines.map(String.init) == (box.text("token") ?? "").split(separator: "\n").map(String.init))
        // The other way round.
        #expect(try run("key", "destroy", "--yes", "card").ending == .status(0))
        try scene.makeBareIdentity("other")
        #expect(try run("key", "import", "--name", "bare", "other").text.hasPrefix("bare: identity\n"))
        #expect(try run("key", "import", "other").ending == .status(73))
    }

    @Test("a name of the keyring whose recipient only its plugin knows gets a hidden slot") func unknownRecipient()
        throws
    {
        let scene = try PluginScene()
        let box = scene.box
        try box.makeKey("unlocker")
        try scene.makeBareIdentity("bare")
        try box.write("a", "contents")
        func run(_ words: String...) throws -> Sandbox.Outcome { try scene.runWithKeyring(words) }
        #expect(try run("key", "generate", "--name", "work").ending == .status(0))
        #expect(try run("key", "import", "--name", "card", "bare").ending == .status(0))
        #expect(try run("key", "group", "team", "card").ending == .status(0))
        let made = try run("encrypt", "-r", "team", "a")
        #expect(made.ending == .status(0), "\(made.errors)")
        let slots = try box.slots("a.vault")
        #expect(slots.count == 1 && slots[0]["kind"] == .string("stanzas") && slots[0]["hidden"] == .bool(true))
        #expect(try run("verify", "a.vault").ending == .status(0))
        // The same name finds the slot again.
        let removed = try run("rotate", "--add", "work", "--remove", "card", "a.vault")
        #expect(removed.ending == .status(0), "\(removed.errors)")
        #expect(try box.slots("a.vault").map { $0["kind"] } == [.string("key")])
    }

    @Test("--update wraps only for the files that it encrypts") func update() throws {
        let scene = try PluginScene()
        let box = scene.box
        try box.shell("mkdir d && for i in 1 2 3 4 5; do echo $i > d/$i; done; mkdir out")
        let update = ["encrypt", "--recursive", "--update", "-i", "token", "-o", "out/", "d"]
        func run() throws -> Sandbox.Outcome {
            try box.run(update.map { Array($0.utf8) }, environment: scene.environment)
        }
        #expect(try run().ending == .status(0))
        #expect(try scene.sessions() == ["wrap 1", "wrap 2", "wrap 4"])
        #expect(try run().ending == .status(0))
        #expect(try !scene.sessions().contains { $0.hasPrefix("wrap") })
    }

    @Test("a session wraps for 1024 containers at most") func ahead() throws {
        let standIn = try StandIn()
        let loaded = LoadedPlugin(standIn.recipient, name: "me", standIn.plugins())
        loaded.expect(1100)
        for _ in 0..<1024 { _ = try loaded.next() }
        #expect(standIn.sessions == ["wrap 1024"])
        _ = try loaded.next()
        #expect(standIn.sessions == ["wrap 1024", "wrap 76"])
    }

    @Test("reencrypt --same-recipients wraps once for all copies of a container, and ahead") func sameRecipients()
        throws
    {
        let scene = try PluginScene()
        let box = scene.box
        try box.makeKey("unlocker")
        try box.shell("mkdir d && for i in 1 2 3; do echo $i > d/$i; done")
        func run(_ words: String...) throws -> Sandbox.Outcome { try scene.runWithKeyring(words) }
        #expect(try run("key", "generate", "--name", "work").ending == .status(0))
        #expect(try run("key", "import", "--name", "token", "token").ending == .status(0))
        #expect(try run("encrypt", "--recursive", "-r", "token", "d").ending == .status(0))
        _ = try scene.sessions()
        let done = try run("reencrypt", "--recursive", "--same-recipients", "d")
        #expect(done.ending == .status(0), "\(done.errors)")
        #expect(try scene.sessions() == ["unwrap 3", "wrap 1", "wrap 2"])
    }

    @Test("what a plugin says is escaped in messages") func escaped() throws {
        let scene = try PluginScene()
        try scene.box.write("a", "contents")
        let failed = try scene.run("encrypt", "-r", scene.recipient, "a", mode: "long-error")
        #expect(failed.ending == .status(78))
        #expect(failed.errors.contains("age-plugin-stand: one two [31m \\u{202e}xxx"), "\(failed.errors)")
        #expect(failed.errors.split(separator: "\n").count { !$0.hasPrefix("vaultfile: hint: ") } == 1)
    }

    @Test("the end of input is no answer, and the other files are not asked about") func givenUp() throws {
        let scene = try PluginScene()
        let box = scene.box
        for name in ["a", "b"] { try box.write(name, "contents") }
        #expect(try scene.run("encrypt", "-r", scene.recipient, "a", "b").ending == .status(0))
        for (mode, question) in [("confirm-one", "(Enter: go on) "), ("pin", "PIN: ")] {
            let terminal = try PseudoTerminal()
            let running = try box.start(
                words("verify", "-i", "token", "a.vault", "b.vault"),
                command: "\"$@\"; status=$?; echo end >/dev/tty; exit $status",
                environment: scene.environment + ["STAND_MODE=\(mode)"], terminal: terminal)
            _ = try terminal.expect(question)
            try terminal.type("\u{04}")
            let rest = try terminal.expect("end")
            #expect(!rest.contains(question), "\(rest)")
            let outcome = running.end()
            #expect(outcome.ending != .status(0))
            #expect(
                outcome.errors.split(separator: "\n").count { $0.contains("was not answered") } == 2,
                "\(outcome.errors)")
        }
    }

    @Test("a plugin and a passphrase are asked for one after the other") func oneAfterTheOther() throws {
        let scene = try PluginScene()
        let box = scene.box
        try box.makeKey("unlocker")
        for name in ["a", "b"] { try box.write(name, "contents") }
        try box.write("p", "correct horse\n")
        #expect(try scene.runWithKeyring(["key", "import", "--name", "token", "token"]).ending == .status(0))
        #expect(try scene.run("encrypt", "-r", scene.recipient, "a").ending == .status(0))
        #expect(try box.run("encrypt", "--passphrase-file", "p", "b").ending == .status(0))
        let terminal = try PseudoTerminal()
        let running = try box.start(
            words("verify", "--jobs", "2", "a.vault", "b.vault"),
            environment: scene.keyringEnvironment + ["STAND_MODE=pin"], terminal: terminal)
        var answers = ["PIN: ": "1234", "b.vault: ": "correct horse"]
        while !answers.isEmpty {
            var seen = try terminal.expect(": ")
            while !answers.keys.contains(where: seen.hasSuffix) { seen += try terminal.expect(": ") }
            let question = try #require(answers.keys.first(where: seen.hasSuffix))
            #expect(!terminal.echoes)
            // No second question comes before the answer.
            try terminal.type((answers.removeValue(forKey: question) ?? "") + "\n")
        }
        #expect(running.end().ending == .status(0))
    }

    @Test("one thread at a time has the terminal") func turns() throws {
        let inside = Mutex((now: 0, most: 0, done: 0))
        let ended = Monitor(0)
        for _ in 0..<4 {
            try Thread.start {
                for _ in 0..<50 {
                    Terminal.use { _ in
                        inside.withLock { inside in
                            inside.now += 1
                            inside.most = max(inside.most, inside.now)
                        }
                        _ = SystemCalls().pause(1)
                        inside.withLock { $0.now -= 1 }
                    }
                }
                ended.withLock { $0 += 1 }
            }
        }
        ended.wait { $0 == 4 ? () : nil }
        #expect(inside.withLock { $0.most } == 1)
    }

    @Test("a thread that waits for a plugin lets others stretch") func stretching() {
        let (one, other) = (Stretching(), Stretching())
        one.begin()
        one.pause {
            // Without the pause this would wait for ever.
            other.begin()
            other.end()
        }
        #expect(one.end())
        #expect(!other.end())
    }
}
