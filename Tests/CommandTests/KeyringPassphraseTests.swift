import SystemPackage
import Testing

/// The keyring with passphrases. The tests run one at a time, because each passphrase takes 256 MiB.
@Suite(.serialized) struct KeyringPassphraseTests {
    private func words(_ text: String...) -> [[UInt8]] { text.map { Array($0.utf8) } }

    private let place = ["VAULTFILE_KEYRING=ring.vault"]

    /// Types wrong passphrases; after each but the third, the command asks again.
    private func typeWrong(_ count: Int, on terminal: PseudoTerminal) throws {
        for number in 1...count {
            _ = try terminal.expect("Passphrase for the keyring: ")
            try terminal.type("no passphrase\n")
            if number < 3 { _ = try terminal.expect("Wrong passphrase.") }
        }
    }

    @Test("a passphrase to be removed is asked for again if it was mistyped") func removal() throws {
        let box = try Sandbox()
        try box.makeKey()
        try box.write("passphrase", "secret\n", mode: .ownerReadWrite)
        let making = words("key", "generate", "--unlock", "passphrase-file:passphrase")
        #expect(try box.run(making, environment: place).ending == .status(0))
        let terminal = try PseudoTerminal()
        let line = words("key", "passphrase", "--add", "file:key", "--remove", "passphrase")
        for (wrong, status) in [(3, Int32(77)), (2, 0)] {
            let run = try box.start(line, environment: place, terminal: terminal)
            try typeWrong(wrong, on: terminal)
            if wrong < 3 {
                _ = try terminal.expect("Passphrase for the keyring: ")
                try terminal.type("secret\n")
            }
            let outcome = run.end()
            #expect(outcome.ending == .status(status), "\(outcome.errors)")
            #expect(outcome.text.contains("no longer unlocks it") == (status == 0))
        }
    }

    @Test func theFirstKeyAsksForThePassphraseOfTheKeyring() throws {
        let box = try Sandbox()
        try box.write("a", "contents")
        let terminal = try PseudoTerminal()
        let made = try box.start(words("key", "generate", "--name", "first"), environment: place, terminal: terminal)
        _ = try terminal.expect("New passphrase for the keyring: ")
        #expect(!terminal.echoes)
        try terminal.type("secret\n")
        _ = try terminal.expect("Repeat it: ")
        try terminal.type("secret\n")
        #expect(made.end().ending == .status(0))
        #expect(try box.run("encrypt", "a", environment: place).ending == .status(78))
        try box.write("passphrase", "secret\n", mode: .ownerReadWrite)
        let unlock = ["VAULTFILE_UNLOCK=passphrase-file:passphrase"]
        #expect(try box.run("encrypt", "a", environment: place + unlock).ending == .status(0))

        // The passphrase is asked for once per run, and only if it is needed.
        try box.run("encrypt", "-o", "b.vault", "a", environment: place + unlock)
        let verified = try box.start(words("verify", "a.vault", "b.vault"), environment: place, terminal: terminal)
        _ = try terminal.expect("Passphrase for the keyring: ")
        try terminal.type("secret\n")
        #expect(verified.end().text == "a.vault: intact\nb.vault: intact\n")
        let wrong = try box.start(words("verify", "a.vault"), environment: place, terminal: terminal)
        try typeWrong(3, on: terminal)
        let refused = wrong.end()
        #expect(refused.ending == .status(77), "\(refused.errors)")
        #expect(refused.errors == "vaultfile: ring.vault.key: wrong passphrase\n", "\(refused.errors)")
        for verb in [["verify", "a.vault"], ["key", "use", "first"]] {
            let mistyped = try box.start(verb.map { Array($0.utf8) }, environment: place, terminal: terminal)
            try typeWrong(2, on: terminal)
            _ = try terminal.expect("Passphrase for the keyring: ")
            try terminal.type("secret\n")
            let outcome = mistyped.end()
            #expect(outcome.ending == .status(0) && outcome.errors.isEmpty, "\(outcome.errors)")
        }

        // The command asks before it destroys a key, and only `yes` confirms.
        for (answer, status) in [("y\n", Int32(64)), ("yes\n", 0)] {
            let destroyed = try box.start(
                words("key", "destroy", "first"), environment: place + unlock, terminal: terminal)
            _ = try terminal.expect("Type yes to do it: ")
            #expect(terminal.echoes)
            try terminal.type(answer)
            #expect(destroyed.end().ending == .status(status))
        }
        #expect(try box.run("verify", "a.vault", environment: place + unlock).ending == .status(77))
    }

    @Test func aNewPassphraseTakesThePlaceOfTheOldOne() throws {
        let box = try Sandbox()
        try box.makeKey("other")
        for name in ["old", "new"] { try box.write(name, "\(name) passphrase\n", mode: .ownerReadWrite) }
        let made = try box.run("key", "generate", "--unlock", "passphrase-file:old", environment: place)
        #expect(made.ending == .status(0))
        let keyring = try #require(box.bytes("ring.vault"))
        let added = try box.run(
            "key", "passphrase", "--add", "file:other", "--unlock", "passphrase-fd:5", prelude: "exec 5<old",
            environment: place)
        #expect(added.ending == .status(0), "\(added.errors)")
        let terminal = try PseudoTerminal()
        // A new passphrase is asked for only after the old one was right.
        for arguments in [[], ["--renew"], ["--add", "passphrase", "--remove", "others"]] {
            let wrong = try box.start(
                words("key", "passphrase") + arguments.map { Array($0.utf8) }, command: "exec timeout 60 \"$@\"",
                environment: place, terminal: terminal)
            try typeWrong(3, on: terminal)
            #expect(wrong.end().ending == .status(77))
        }
        // A passphrase that --unlock names is typed too.
        let named = try box.start(
            words("key", "list", "--unlock", "passphrase"), environment: place, terminal: terminal)
        try typeWrong(2, on: terminal)
        _ = try terminal.expect("Passphrase for the keyring: ")
        try terminal.type("old passphrase\n")
        #expect(named.end().ending == .status(0))
        let changed = try box.start(words("key", "passphrase"), environment: place, terminal: terminal)
        _ = try terminal.expect("Passphrase for the keyring: ")
        try terminal.type("old passphrase\n")
        _ = try terminal.expect("New passphrase for the keyring: ")
        try terminal.type("new passphrase\n")
        _ = try terminal.expect("Repeat it: ")
        try terminal.type("new passphrase\n")
        #expect(changed.end().ending == .status(0))
        let list = { (unlocker: String) in
            try box.run("key", "list", "--unlock", unlocker, environment: place).ending
        }
        #expect(try list("passphrase-file:old") == .status(77))
        #expect(try list("passphrase-file:new") == .status(0))
        #expect(try list("file:other") == .status(0))
        #expect(box.bytes("ring.vault") == keyring)
    }
}
