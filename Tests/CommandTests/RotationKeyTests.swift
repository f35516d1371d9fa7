import SystemPackage
import Testing

@testable import VaultCommand

/// Which keys `rotate` and `reencrypt` try, which keys get a slot, and what they report about the rest.
@Suite struct RotationKeyTests {
    private static let place = "VAULTFILE_KEYRING=ring"
    private static let unlocked = [place, "VAULTFILE_UNLOCK=file:unlocker"]

    /// A keyring with these keys, the last of which is current, beside the key files `unlocker`, `leaked` and `new`.
    private func prepared(keys: String...) throws -> Sandbox {
        let box = try Sandbox()
        for name in ["unlocker", "leaked", "new"] { try box.makeKey(name) }
        try box.write("a", "contents")
        for name in keys { try run(box, "key", "generate", "--name", name, expecting: 0) }
        return box
    }

    @discardableResult
    private func run(
        _ box: Sandbox, _ words: String..., expecting status: Int32? = nil, environment: [String] = unlocked
    ) throws -> Sandbox.Outcome {
        let outcome = try box.run(words.map { Array($0.utf8) }, environment: environment)
        if let status { #expect(outcome.ending == .status(status), "\(words): \(outcome.errors)") }
        return outcome
    }

    @Test("a key that is removed by its file leaves the keyring's keys at hand") func defaultsBesideNamedKeys() throws {
        let box = try prepared(keys: "first")
        try run(box, "encrypt", "-k", "first", "--key-file", "leaked", "a", expecting: 0)
        let before = try #require(box.bytes("a.vault"))
        // A user who cannot unlock the keyring is not told to give up their access.
        let locked = try run(box, "rotate", "--remove", "file:leaked", "a.vault", environment: [Self.place])
        #expect(locked.ending == .status(78) && locked.errors.contains("--unlock"), "\(locked.errors)")
        #expect(!locked.errors.contains("--give-up-access") && box.bytes("a.vault") == before)
        let done = try run(box, "rotate", "--remove", "file:leaked", "a.vault")
        #expect(done.ending == .status(0) && done.text == "rotated\ta.vault\n", "\(done.errors)")
        try run(box, "verify", "a.vault", expecting: 0)
        try run(box, "verify", "--key-file", "leaked", "a.vault", expecting: 77)
        // If the named keys are enough, a locked keyring is no obstacle.
        try run(box, "encrypt", "-f", "-k", "first", "--key-file", "leaked", "a", expecting: 0)
        let words = ["rotate", "--add", "file:new", "--remove", "file:leaked", "a.vault"].map { Array($0.utf8) }
        for word in ["rotated", "current"] {
            let enough = try box.run(words, environment: [Self.place])
            #expect(enough.ending == .status(0) && enough.text == "\(word)\ta.vault\n", "\(enough.errors)")
        }
        try run(box, "verify", "--key-file", "new", "a.vault", expecting: 0)
    }

    @Test("to the current key, by the older ones, whatever the environment names") func keyFileOfTheEnvironment() throws
    {
        let box = try prepared(keys: "first")
        try run(box, "encrypt", "a", expecting: 0)
        try run(box, "encrypt", "--key-file", "new", "-k", "first", "-o", "b.vault", "a", expecting: 0)
        try run(box, "key", "generate", "--name", "second", expecting: 0)
        let environment = Self.unlocked + ["VAULTFILE_KEY_FILE=new"]
        let done = try run(box, "rotate", "a.vault", "b.vault", environment: environment)
        #expect(done.ending == .status(0) && done.text == "rotated\ta.vault\nrotated\tb.vault\n", "\(done.errors)")
        for name in ["a.vault", "b.vault"] {
            try run(box, "verify", "-k", "second", name, expecting: 0)
            try run(box, "verify", "-k", "first", name, expecting: 77)
        }
        try run(box, "verify", "--key-file", "new", "b.vault", expecting: 0)
    }

    @Test("what is skipped is named, and counted apart") func skipped() throws {
        let box = try prepared(keys: "first")
        try Host.makeFolder(box.path("d"))
        try run(box, "encrypt", "-o", "d/1.vault", "a", expecting: 0)
        try run(box, "encrypt", "--key-file", "leaked", "-o", "d/2.vault", "a", expecting: 0)
        let passphrase = try box.run(
            ["encrypt", "--passphrase-fd", "0", "-o", "d/3.vault", "a"].map { Array($0.utf8) },
            input: Array("secret\n".utf8))
        #expect(passphrase.ending == .status(0))
        let all = try run(box, "rotate", "--recursive", "d", expecting: 0)
        #expect(all.text == "current\td/1.vault\nskipped\td/2.vault\nskipped\td/3.vault\n")
        let why = "warning: skipped: its header, which is not authenticated, has no slot for a key of the keyring"
        #expect(
            all.errors == """
                vaultfile: d/2.vault: \(why)
                vaultfile: d/3.vault: \(why)
                vaultfile: rotate: 1 current, 2 skipped

                """)
        let quiet = try run(box, "rotate", "-q", "--recursive", "d", expecting: 0)
        #expect(quiet.errors == "" && quiet.text == "")
        let json = try run(box, "rotate", "--json", "--recursive", "d", expecting: 0).errors.split(separator: "\n")
            .map { try JSON(parsing: String($0)) }
        #expect(json.map { $0["kind"] } == ["message", "message", "summary"].map { .string($0) })
        #expect(json.first?["status"] == .string("warning"))
        #expect(json.last?["outcomes"] == .object(["current": .number(1), "skipped": .number(2)]))
    }

    @Test("a retired key gets no new slot from a file either, where the keyring is open") func retiredKeyInAFile()
        throws
    {
        let box = try prepared(keys: "first")
        try run(box, "encrypt", "-o", "old.vault", "a", expecting: 0)
        try run(box, "key", "export", "first", "-o", "exported", expecting: 0)
        try run(box, "key", "generate", "--name", "second", expecting: 0)
        try run(box, "encrypt", "a", expecting: 0)
        let before = try #require(box.bytes("a.vault"))
        for words in [
            ["rotate", "--add", "file:exported", "a.vault"], ["reencrypt", "--add", "file:exported", "a.vault"],
            ["rotate", "-k", "second", "--add", "file:exported", "a.vault"],
            ["encrypt", "-k", "second", "--key-file", "exported", "-o", "b.vault", "a"],
            ["encrypt", "-k", "second", "--key-command", "cat exported", "-o", "b.vault", "a"],
        ] {
            let refused = try box.run(words.map { Array($0.utf8) }, environment: Self.unlocked)
            #expect(refused.ending == .status(64), "\(words): \(refused.errors)")
            #expect(refused.errors.contains("is retired") && refused.errors.contains("key use first"))
            #expect(box.bytes("a.vault") == before && box.bytes("b.vault") == nil)
        }
        // Named by name, the key does not keep its slot; nor as a file beside an unlocked keyring.
        try run(box, "reencrypt", "-k", "second", "--key-file", "exported", "old.vault", expecting: 77)
        // A run that needs no keyring does not unlock one.
        let locked = [Self.place]
        try run(box, "encrypt", "--key-file", "exported", "-o", "b.vault", "a", expecting: 0, environment: locked)
        try run(
            box, "rotate", "--key-file", "new", "--add", "file:exported", "a.vault", expecting: 77, environment: locked)
        try run(box, "key", "destroy", "--yes", "first", expecting: 0)
        let destroyed = try run(box, "encrypt", "-k", "second", "--key-file", "exported", "-o", "c.vault", "a")
        #expect(destroyed.ending == .status(64) && destroyed.errors.contains("was destroyed"))
    }

    @Test("a copy that was made whole is said") func repairedWhileCurrent() throws {
        let box = try prepared()
        try run(box, "encrypt", "--key-file", "new", "--header-capacity", "4096", "a", expecting: 0)
        let whole = try #require(box.bytes("a.vault"))
        var damaged = whole
        damaged[100] ^= 1
        let schema = try JSONSchema()
        for (bytes, isRepaired) in [(damaged, true), (whole, false)] {
            for isDryRun in [true, false] {
                try box.write(Array("a.vault".utf8), bytes)
                let words =
                    ["rotate", "--key-file", "new", "--add", "file:new", "a.vault"] + (isDryRun ? ["--dry-run"] : [])
                let said = try box.run((words + ["-v"]).map { Array($0.utf8) })
                #expect(said.ending == .status(0) && said.text == "current\ta.vault\n")
                #expect(
                    said.errors.contains("header copies \(isDryRun ? "are to be" : "were") repaired") == isRepaired)
                try box.write(Array("a.vault".utf8), bytes)
                let told = try JSON(parsing: box.run((words + ["--json"]).map { Array($0.utf8) }).text)
                #expect(schema.violations(of: told) == [] && told["outcome"] == .string("current"))
                #expect(told["rotation"]?["repaired"] == .bool(isRepaired))
                #expect(box.bytes("a.vault") == (isDryRun ? bytes : whole))
            }
        }
    }

    @Test("a source that is named twice is read once") func readOnce() throws {
        let box = try prepared()
        try run(box, "encrypt", "--key-file", "leaked", "a", expecting: 0)
        try Host.makePipe(box.path("pipe"))
        let feeding = "{ cat leaked >pipe & } && exec timeout 60 \"$@\""
        let named = try box.start(
            ["rotate", "--key-file", "pipe", "--add", "file:new", "--remove", "file:pipe", "a.vault"].map {
                Array($0.utf8)
            },
            command: feeding
        ).end()
        #expect(named.ending == .status(0) && named.text == "rotated\ta.vault\n", "\(named.errors)")
        try run(box, "encrypt", "-f", "--key-file", "leaked", "a", expecting: 0)
        let standard = try box.start(
            ["reencrypt", "a.vault"].map { Array($0.utf8) }, command: feeding, environment: ["VAULTFILE_KEY_FILE=pipe"]
        ).end()
        #expect(standard.ending == .status(0), "\(standard.errors)")
    }
}

/// The same with passphrases. One at a time, because each takes 256 MiB.
@Suite(.serialized) struct RotationPassphraseTests {
    @Test("a file with a passphrase that is named twice is read once") func readOnce() throws {
        let box = try Sandbox()
        try box.makeKey()
        try box.write("a", "contents")
        try box.write("text", "secret\n", mode: .ownerReadWrite)
        #expect(try box.run("encrypt", "--passphrase-file", "text", "a").ending == .status(0))
        try Host.makePipe(box.path("pipe"))
        let words = [
            "rotate", "--passphrase-file", "pipe", "--add", "file:key", "--add", "passphrase-file:pipe", "a.vault",
        ]
        let done = try box.start(
            words.map { Array($0.utf8) }, command: "{ cat text >pipe & } && exec timeout 60 \"$@\""
        ).end()
        #expect(done.ending == .status(0) && done.text == "rotated\ta.vault\n", "\(done.errors)")
        // The key already had its slot.
        #expect(try box.run("inspect", "a.vault").text.components(of: " passes over ") == 1)
        #expect(try box.run("verify", "--passphrase-file", "text", "a.vault").ending == .status(0))
    }

    @Test("a descriptor that is named twice gives a line each time") func lines() throws {
        let box = try Sandbox()
        try box.write("a", "contents")
        try box.write("text", "one\ntwo\n", mode: .ownerReadWrite)
        let made = try box.run(
            "encrypt", "--passphrase-fd", "0", "--passphrase-fd", "0", "a", prelude: "exec <text")
        #expect(made.ending == .status(0), "\(made.errors)")
        for passphrase in ["one", "two"] {
            let opened = try box.run(
                ["verify", "--passphrase-fd", "0", "a.vault"].map { Array($0.utf8) }, input: Array(passphrase.utf8))
            #expect(opened.ending == .status(0))
        }
    }

    @Test("of one descriptor what opens has the first line, then what is removed, then what is added") func order()
        throws
    {
        let box = try Sandbox()
        try box.makeKey()
        try box.write("a", "contents")
        try box.write("text", "one\ntwo\n", mode: .ownerReadWrite)
        func opens(_ passphrase: String) throws -> Bool {
            try box.write("typed", passphrase, mode: .ownerReadWrite)
            return try box.run("verify", "--passphrase-file", "typed", "a.vault").ending == .status(0)
        }
        func run(_ words: String...) throws {
            let done = try box.run(words.map { Array($0.utf8) }, prelude: "exec 5<text")
            #expect(done.ending == .status(0), "\(words): \(done.errors)")
        }
        try run("encrypt", "--passphrase-fd", "5", "a")
        try run("rotate", "--add", "passphrase-fd:5", "--passphrase-fd", "5", "a.vault")
        #expect(try opens("one") && opens("two"))
        try run("encrypt", "-f", "--passphrase-fd", "5", "a")
        try run("rotate", "--add", "passphrase-fd:5", "--remove", "passphrase-fd:5", "a.vault")
        #expect(try !opens("one") && opens("two"))
        // The line of the keyring comes before the line of a slot.
        let keyring = ["VAULTFILE_KEYRING=ring"]
        try box.write("one", "one\n", mode: .ownerReadWrite)
        #expect(
            try box.run("key", "generate", "--unlock", "passphrase-file:one", environment: keyring).ending == .status(0)
        )
        #expect(
            try box.run("encrypt", "-f", "--unlock", "passphrase-file:one", "a", environment: keyring).ending
                == .status(0))
        let locked = try box.run(
            ["rotate", "--add", "passphrase-fd:5", "--unlock", "passphrase-fd:5", "a.vault"].map { Array($0.utf8) },
            prelude: "exec 5<text", environment: keyring)
        #expect(locked.ending == .status(0), "\(locked.errors)")
        #expect(try opens("two"))
        let changed = try box.run(
            ["key", "passphrase", "--add", "passphrase-fd:5", "--remove", "passphrase-fd:5"].map { Array($0.utf8) },
            prelude: "exec 5<text", environment: keyring)
        #expect(changed.ending == .status(0), "\(changed.errors)")
        try box.write("two", "two\n", mode: .ownerReadWrite)
        #expect(
            try box.run("key", "list", "--unlock", "passphrase-file:two", environment: keyring).ending == .status(0))
    }

    @Test("what unlocks the keyring by a variable takes no line where the keyring stays shut") func unneededLine()
        throws
    {
        let box = try Sandbox()
        try box.makeKey()
        try box.write("a", "contents")
        try box.write("one", "one\n", mode: .ownerReadWrite)
        try box.write("two", "two\n", mode: .ownerReadWrite)
        let ring = "VAULTFILE_KEYRING=ring"
        let environment = [ring, "VAULTFILE_UNLOCK=passphrase-fd:0"]
        func rotate(_ words: String..., lines: String) throws {
            let done = try box.run(
                (["rotate"] + words + ["a.vault"]).map { Array($0.utf8) }, input: Array(lines.utf8),
                environment: environment)
            #expect(done.ending == .status(0) && done.text == "rotated\ta.vault\n", "\(words): \(done.errors)")
        }
        func slots() throws -> [String] {
            try ["one", "two"].filter {
                try box.run("verify", "--passphrase-file", $0, "a.vault").ending == .status(0)
            }
        }
        func encrypt() throws {
            #expect(try box.run("encrypt", "-f", "--key-file", "key", "a").ending == .status(0))
        }
        try encrypt()
        try rotate("--key-file", "key", "--add", "passphrase-fd:0", lines: "one\n")
        #expect(try slots() == ["one"])
        let made = try box.run("key", "generate", "--unlock", "passphrase-file:one", environment: [ring])
        #expect(made.ending == .status(0), "\(made.errors)")
        // There is a keyring, and it is not needed.
        try encrypt()
        try rotate("--key-file", "key", "--add", "passphrase-fd:0", lines: "two\none\n")
        #expect(try slots() == ["two"])
        // Here it is needed: K names its key, and nothing else opens the container.
        try encrypt()
        let id = try #require(
            try box.run("key", "list", "--json", "--unlock", "passphrase-file:one", environment: [ring]).text.keyID)
        try rotate("--key-file", "key", "--add", id, "--add", "passphrase-fd:0", lines: "one\ntwo\n")
        #expect(try slots() == ["two"])
        try encrypt()
        try rotate("--add", "passphrase-fd:0", "--remove", "file:key", lines: "one\ntwo\n")
        #expect(try slots() == ["two"])
    }

    @Test("a passphrase that was tried is not said to be missing") func tried() throws {
        let box = try Sandbox()
        try box.makeKey()
        try box.write("a", "contents")
        try box.write("text", "right\n", mode: .ownerReadWrite)
        try box.write("other", "wrong\n", mode: .ownerReadWrite)
        #expect(try box.run("encrypt", "--passphrase-file", "text", "a").ending == .status(0))
        let wrong = try box.run("rotate", "--add", "file:key", "--remove", "passphrase-file:other", "a.vault")
        #expect(wrong.ending == .status(77) && wrong.errors.contains("(wrongKey)"), "\(wrong.errors)")
        #expect(!wrong.errors.contains("no key was given"))
    }
}

extension String {
    fileprivate func components(of part: String) -> Int { ranges(of: part).count }

    /// The first ID in a line of `--json`.
    fileprivate var keyID: String? {
        firstRange(of: "\"keyID\":\"").map { String(self[$0.upperBound...].prefix { $0 != "\"" }) }
    }
}
