import SystemPackage
import Testing
import VaultFile

@testable import VaultCommand

/// The command never helps to lose keys.
@Suite struct KeyLossTests {
    private static let place = ["VAULTFILE_KEYRING=ring.vault"]
    private static let unlocked = place + ["VAULTFILE_UNLOCK=file:unlocker"]
    private static let unprotected = place + ["VAULTFILE_UNLOCK=unprotected"]
    private static let files = ["ring.vault", "ring.vault.key"]

    private func words(_ text: [String]) -> [[UInt8]] { text.map { Array($0.utf8) } }

    /// A folder with a file to encrypt, the key file `unlocker`, and a keyring with these keys.
    private func prepared(keys: [String] = ["first"], environment: [String] = unlocked) throws -> Sandbox {
        let box = try Sandbox()
        try box.makeKey("unlocker")
        try box.write("a", "contents")
        let option = environment == Self.unprotected ? ["--unprotected"] : []
        for name in keys {
            let made = try box.run(
                words(["key", "generate", "--name", name] + option), environment: environment)
            #expect(made.ending == .status(0), "\(made.errors)")
        }
        return box
    }

    /// Runs the command with standard error on a terminal, and returns what it writes there.
    private func onTerminal(_ box: Sandbox, _ arguments: [String], environment: [String] = []) throws -> String {
        let terminal = try PseudoTerminal()
        let running = try box.start(
            words(arguments), command: "\"$@\"; status=$?; echo end >&2; exit $status", environment: environment,
            terminal: terminal, errorsToTerminal: true)
        let text = try terminal.expect("end")
        #expect(running.end().ending == .status(0), "\(text)")
        return text
    }

    // MARK: Outputs

    @Test(
        "-f replaces no file with keys, whether this run uses it or not", arguments: ["encrypt", "decrypt", "recover"])
    func replacedByForce(_ verb: String) throws {
        let box = try prepared()
        try box.makeKey("mine")
        try box.makeKey("other")
        // A key file with a mistake can be mended. A replaced one cannot.
        let other = try #require(box.text("other"))
        try box.write("windows", "\u{FEFF}# mine\r\n\r\n\(other.split(separator: "\n").last ?? "")\r\n")
        try box.write("lower", other.lowercased())
        #expect(try box.run("encrypt", "--key-file", "mine", "-o", "a.vault", "a").ending == .status(0))
        for name in Self.files { try box.write(Array("elsewhere-\(name)".utf8), try #require(box.bytes(name))) }
        let unprotected = ["VAULTFILE_KEYRING=bare", "VAULTFILE_UNLOCK=unprotected"]
        #expect(try box.run("key", "generate", "--unprotected", environment: unprotected).ending == .status(0))
        try box.write(Array("lone.vault.key".utf8), try #require(box.bytes("ring.vault.key")))
        let input = verb == "encrypt" ? "a" : "a.vault"
        let names = ["other", "windows", "lower", "elsewhere-ring.vault", "elsewhere-ring.vault.key"]
        for name in names + ["bare", "bare.key", "lone.vault.key"] + Self.files {
            let before = try #require(box.bytes(name))
            let refused = try box.run(
                words([verb, "-f", "--key-file", "mine", "-o", name, input]), environment: Self.place)
            #expect(refused.ending == .status(73), "\(name): \(refused.errors)")
            #expect(refused.errors.contains("-f replaces no keys"), "\(name): \(refused.errors)")
            #expect(box.bytes(name) == before)
        }
        // What only looks a little like one is replaced.
        try box.write("notes.key", "notes")
        try box.write(Array("data.vault".utf8), try #require(box.bytes("a.vault")))
        try box.write(Array("data.vault.key".utf8), try #require(box.bytes("mine")))
        for name in ["notes.key", "data.vault", "a.vault"] where name != input {
            let made = try box.run(words([verb, "-f", "--key-file", "mine", "-o", name, input]))
            #expect(made.ending == .status(0), "\(name): \(made.errors)")
        }
    }

    @Test("a keyring is not replaced, although it cannot be read and another one is in use", .enabled(if: !Host.isRoot))
    func unreadable() throws {
        let box = try prepared()
        try Host.changeMode(box.path("ring.vault"), to: [])
        let refused = try box.run(
            "encrypt", "-f", "--key-file", "unlocker", "-o", "ring.vault", "a", environment: Self.place)
        #expect(refused.ending == .status(73) && refused.errors.contains("belongs to a keyring"), "\(refused.errors)")
    }

    @Test("a stored name replaces no key") func storedName() throws {
        let box = try prepared()
        try box.makeKey("key")
        let key = try #require(box.bytes("key"))
        try Host.makeFolder(box.path("d"))
        try box.write("d/key", "contents")
        #expect(try box.run("encrypt", "--key-file", "unlocker", "-o", "k.vault", "d/key").ending == .status(0))
        let refused = try box.run("decrypt", "-f", "--restore-name", "--key-file", "unlocker", "k.vault")
        #expect(refused.ending == .status(73) && refused.errors.contains("is a key file"), "\(refused.errors)")
        #expect(box.bytes("key") == key)
    }

    // MARK: Removed inputs

    @Test("a walk that removes its inputs leaves keys where they are, and says so", arguments: [true, false])
    func walks(_ isProtected: Bool) throws {
        let box = try prepared(environment: isProtected ? Self.unlocked : Self.unprotected)
        try Host.makeFolder(box.path("d"))
        try box.write("d/a", "contents")
        for (from, to) in zip(Self.files + ["unlocker"], Self.files + ["key.txt"]) {
            try box.write(Array("d/\(to)".utf8), try #require(box.bytes(from)))
        }
        let done = try box.run("encrypt", "--recursive", "--remove-source", "--key-file", "unlocker", "d")
        #expect(done.ending == .status(0), "\(done.errors)")
        #expect(try box.names().contains("d"))
        for name in ["ring.vault", "ring.vault.key", "key.txt"] {
            #expect(box.bytes("d/\(name)") != nil && box.bytes("d/\(name).vault") == nil, "\(name)")
            #expect(done.errors.contains("vaultfile: d/\(name): warning: "), "\(done.errors)")
        }
        #expect(done.errors.contains("d/key.txt: warning: is a key file, and was skipped"))
        #expect(done.errors.hasSuffix("vaultfile: encrypt: 1 encrypted, 3 passed over, 8 bytes\n"), "\(done.errors)")
        #expect(box.bytes("d/a") == nil && box.bytes("d/a.vault") != nil)
        // Without --remove-source nothing can be lost, and a key file is a file.
        let kept = try box.run("encrypt", "--recursive", "--key-file", "unlocker", "d")
        #expect(kept.ending == .status(0) && !kept.errors.contains("warning"), "\(kept.errors)")
        #expect(box.bytes("d/key.txt.vault") != nil && box.bytes("d/key.txt") != nil)
        // A list of paths names no file by hand either.
        let listed = try box.run(
            words(["encrypt", "-f", "--files-from", "-", "--remove-source", "--key-file", "unlocker"]),
            input: Array("d/key.txt\n".utf8))
        #expect(listed.ending == .status(0) && listed.errors.contains("d/key.txt: warning: "), "\(listed.errors)")
        #expect(box.bytes("d/key.txt") != nil)
    }

    @Test("--remove-source removes no file of the user's keyring") func namedKeyring() throws {
        let box = try prepared(environment: Self.unprotected)
        let refused = try box.run(
            "encrypt", "--remove-source", "--key-file", "unlocker", "ring.vault.key", environment: Self.place)
        #expect(refused.ending == .status(64) && refused.errors.contains("belongs to a keyring"), "\(refused.errors)")
        #expect(box.bytes("ring.vault.key") != nil)
    }

    // MARK: Half a keyring

    @Test("half a keyring is not an empty one", arguments: [unlocked, unprotected])
    func half(_ environment: [String]) throws {
        let box = try prepared(environment: environment)
        let keyring = try #require(box.bytes("ring.vault"))
        let unlockKey = box.bytes("ring.vault.key")
        try Platform.remove(box.path("ring.vault"))
        let option = environment == Self.unprotected ? [["--unprotected"]] : []
        for words in [[], ["--name", "x"]] + option {
            for verb in [["key", "generate"], ["key", "import", "unlocker"]] {
                let refused = try box.run(self.words(verb + words), environment: environment)
                #expect(refused.ending == .status(78), "\(verb): \(refused.errors)")
                #expect(refused.errors.contains("ring.vault: is missing"), "\(refused.errors)")
                #expect(refused.errors.contains("restore both files from a backup"), "\(refused.errors)")
                #expect(refused.errors.contains("remove ring.vault.key and make a keyring"), "\(refused.errors)")
            }
        }
        #expect(try box.names() == ["a", "ring.vault.key", "unlocker"] && box.bytes("ring.vault.key") == unlockKey)
        try box.write(Array("ring.vault".utf8), keyring, mode: .ownerReadWrite)
        #expect(try box.run("key", "list", environment: environment).text.contains("first"))
    }

    @Test("a keyring that is being made is waited for") func waiting() throws {
        let box = try prepared()
        let other = "{ mv ring.vault moved; touch ring.vault.key; (sleep 0.5; mv moved ring.vault) & }"
        let made = try box.run("key", "generate", "--name", "late", prelude: other, environment: Self.unlocked)
        #expect(made.ending == .status(0), "\(made.errors)")
        #expect(try box.run("key", "list", environment: Self.unlocked).text.contains("first"))
    }

    // MARK: What to keep

    @Test("a new key is the only copy, and that is said on a terminal") func newKeys() throws {
        let box = try Sandbox()
        let made = try onTerminal(box, ["key", "generate", "-o", "unlocker"])
        #expect(made.contains("vaultfile: unlocker is the only copy of this key: keep another"), "\(made)")
        let first = try onTerminal(box, ["key", "generate"], environment: Self.unlocked)
        #expect(first.contains("the keyring is ring.vault, and ring.vault.key unlocks it"), "\(first)")
        #expect(first.contains("vaultfile key backup FOLDER"), "\(first)")
        let next = try onTerminal(box, ["key", "generate"], environment: Self.unlocked)
        #expect(!next.contains("backup"), "only the first key makes the keyring")
        let imported = try onTerminal(
            box, ["key", "import", "unlocker"],
            environment: ["VAULTFILE_KEYRING=second", "VAULTFILE_UNLOCK=file:unlocker"])
        #expect(imported.contains("the keyring is second"), "\(imported)")
        for quiet in [["-q"], ["--json"]] {
            let text = try onTerminal(box, ["key", "generate", "-o", "k\(quiet[0])"] + quiet)
            #expect(!text.contains("only copy"), "\(text)")
        }
    }

    @Test("on a terminal, a destruction and a removal say what they cannot do") func limits() throws {
        let box = try prepared(keys: ["first", "second"])
        let destroyed = try onTerminal(box, ["key", "destroy", "--yes", "first"], environment: Self.unlocked)
        #expect(destroyed.contains("old copies of both files of the keyring, still hold what was destroyed"))
        #expect(destroyed.contains("vaultfile key backup FOLDER"), "\(destroyed)")
        try box.makeKey("new")
        #expect(try box.run("encrypt", "--key-file", "unlocker", "--key-file", "new", "a").ending == .status(0))
        let kept = try onTerminal(
            box, ["rotate", "--key-file", "unlocker", "--add", "second", "a.vault"], environment: Self.unlocked)
        #expect(!kept.contains("reencrypt"), "\(kept)")
        for dry in [["--dry-run"], []] {
            let rotated = try onTerminal(
                box, ["rotate", "--key-file", "unlocker", "--remove", "file:new", "a.vault"] + dry)
            #expect(rotated.contains("still opens older copies of these containers") == dry.isEmpty, "\(rotated)")
            #expect(rotated.contains("vaultfile reencrypt") == dry.isEmpty)
        }
    }

    // MARK: Repair

    @Test("repair never calls damaged contents intact, and says what it looked at") func repair() throws {
        let box = try Sandbox()
        try box.makeKey()
        try box.write("a", String(repeating: "x", count: 100_000))
        #expect(try box.run("encrypt", "--key-file", "key", "a").ending == .status(0))
        var bytes = try #require(box.bytes("a.vault"))
        bytes[50_000] ^= 1
        try box.write(Array("a.vault".utf8), bytes)
        let schema = try JSONSchema()
        for isFrontDamaged in [false, true] {
            var damaged = bytes
            if isFrontDamaged { damaged[100] ^= 1 }
            for json in [[], ["--json"], ["--json", "--recursive"]] {
                try box.write(Array("a.vault".utf8), damaged)
                let done = try box.run(words(["repair", "--key-file", "key", "a.vault"] + json))
                #expect(done.ending == .status(0), "\(done.errors)")
                let text = done.text + done.errors
                #expect(!text.contains("\"intact\"") && !text.hasPrefix("intact"), "\(text)")
                if json.isEmpty {
                    let word = isFrontDamaged ? "repaired" : "unchanged"
                    #expect(text == "\(word)\ta.vault\theaders and ends only; verify checks the contents\n")
                } else {
                    #expect(text.contains("\"extent\":\"headersAndEnds\""), "\(text)")
                    #expect(text.contains(isFrontDamaged ? "\"repaired\"" : "\"unchanged\""), "\(text)")
                    for line in text.split(separator: "\n") {
                        #expect(schema.violations(of: try JSON(parsing: String(line))) == [], "\(line)")
                    }
                }
            }
        }
    }
}
