import SystemPackage
import Testing

@testable import VaultCommand

/// The keyring in the command. A key file unlocks it here; `KeyringPassphraseTests` use passphrases.
@Suite struct KeyringTests {
    private static let place = "VAULTFILE_KEYRING=ring.vault"
    private static let unlocked = [place, "VAULTFILE_UNLOCK=file:unlocker"]

    private func words(_ text: String...) -> [[UInt8]] { text.map { Array($0.utf8) } }

    /// A folder with a file to encrypt and a key file to unlock the keyring.
    private func prepared(keys: [String] = []) throws -> Sandbox {
        let box = try Sandbox()
        try box.makeKey("unlocker")
        try box.write("a", "contents")
        for name in keys {
            let made = try box.run("key", "generate", "--name", name, environment: Self.unlocked)
            #expect(made.ending == .status(0))
        }
        return box
    }

    /// The lines of `key list`: state and name.
    private func list(_ box: Sandbox) throws -> [String] {
        let listed = try box.run("key", "list", environment: Self.unlocked)
        #expect(listed.ending == .status(0), "\(listed.errors)")
        return listed.text.split(separator: "\n").map { line in
            line.split(separator: " ").dropFirst(2).joined(separator: " ")
        }
    }

    /// Makes a key in the keyring.
    private func generate(_ box: Sandbox, _ name: String? = nil) throws -> (name: String, id: String) {
        let naming = name.map { ["--name", $0] } ?? []
        let made = try box.run((["key", "generate"] + naming).map { Array($0.utf8) }, environment: Self.unlocked)
        #expect(made.ending == .status(0) && made.errors.isEmpty, "\(made.errors)")
        let id = try #require(made.text.split(separator: " ").last).trimmed
        return (try #require(made.text.split(separator: ":").first.map(String.init)), String(id))
    }

    @Test("the first key makes the keyring, readable only for its owner") func firstKey() throws {
        let box = try prepared()
        let none = try box.run("encrypt", "a", environment: Self.unlocked)
        #expect(none.ending == .status(78) && none.errors.contains("vaultfile key generate"))
        let first = try box.run("key", "generate", "--name", "first", environment: Self.unlocked)
        #expect(first.ending == .status(0) && first.text.hasPrefix("first: key ") && first.errors.isEmpty)
        #expect(try box.names() == ["a", "ring.vault", "ring.vault.key", "unlocker"])
        for name in ["ring.vault", "ring.vault.key"] { #expect(try box.mode(name) == 0o600) }
    }

    @Test("without options the current key encrypts, and a retired key still opens") func defaultKeys() throws {
        let box = try prepared(keys: ["first"])
        let environment = Self.unlocked
        #expect(try box.run("encrypt", "a", environment: environment).ending == .status(0))
        #expect(try box.run("decrypt", "-o", "-", "a.vault", environment: environment).text == "contents")
        #expect(try box.run("verify", "a.vault", environment: environment).text == "a.vault: intact\n")
        let name = try generate(box).name
        #expect(name.hasPrefix("key-20"), "a key without a name is named after the day")
        #expect(try list(box) == ["retired first", "current \(name)"])
        #expect(
            try box.run("decrypt", "-o", "-", "a.vault", environment: environment).text == "contents",
            "the retired key still opens")
    }

    @Test("a key is named by its name or its ID, and then no other key is tried") func namedKeys() throws {
        let box = try prepared()
        let environment = Self.unlocked
        let first = try generate(box, "first")
        #expect(try box.run("encrypt", "a", environment: environment).ending == .status(0))
        let current = try generate(box)
        #expect(
            try box.run("encrypt", "-k", current.id, "-o", "b.vault", "a", environment: environment).ending
                == .status(0))
        #expect(
            try box.run("encrypt", "-k", first.id, "-o", "c.vault", "a", environment: environment).ending
                == .status(64), "a retired key does not encrypt")
        let other = try box.run("decrypt", "-k", current.name, "-o", "-", "a.vault", environment: environment)
        #expect(other.ending == .status(77) && other.errors.contains("needs key 'first', which was not named"))
        let named = try box.run("decrypt", "-k", "first", "-o", "-", "a.vault", environment: environment)
        #expect(named.text == "contents")
        let shown = try box.run("key", "show", "-k", "first", environment: environment).text
        #expect(shown.hasPrefix("\(first.id)  20"))
        let shownByDefault = try box.run("key", "show", environment: environment).text
        #expect(shownByDefault.contains(" key '\(current.name)'\n"))
    }

    @Test("inspect shows the names of keys if the keyring opens without a question") func namesInInventory() throws {
        let box = try prepared()
        let environment = Self.unlocked
        let first = try generate(box, "first")
        #expect(try box.run("encrypt", "a", environment: environment).ending == .status(0))
        let inventory = try box.run(
            "inspect", "--summary", "--unlock", "file:unlocker", "a.vault", environment: environment)
        #expect(inventory.text.contains("\(first.id)  1 file,") && inventory.text.contains("; first\n"))
        #expect(try box.run("inspect", "--summary", "a.vault", environment: environment).text.contains("; first\n"))
        #expect(try !box.run("inspect", "--summary", "a.vault", environment: [Self.place]).text.contains("first"))
    }

    @Test("without a current key nothing is encrypted") func noCurrentKey() throws {
        let box = try prepared(keys: ["first", "second"])
        let environment = Self.unlocked
        #expect(try box.run("key", "use", "first", environment: environment).text == "first: is current\n")
        #expect(try box.run("key", "retire", "first", environment: environment).ending == .status(0))
        #expect(try list(box) == ["retired first", "retired second"])
        let noCurrent = try box.run("encrypt", "-o", "c.vault", "a", environment: environment)
        #expect(noCurrent.ending == .status(78) && noCurrent.errors.contains("current"))
    }

    @Test("an exported key opens without the keyring, and only the file holds it") func exportedKey() throws {
        let box = try prepared(keys: ["first"])
        #expect(try box.run("encrypt", "a", environment: Self.unlocked).ending == .status(0))
        let export = try box.run("key", "export", "first", "-o", "exported", environment: Self.unlocked)
        #expect(export.ending == .status(0) && !export.text.contains("VAULTFILE-KEY"))
        #expect(try box.mode("exported") == 0o600)
        #expect(try box.run("decrypt", "--key-file", "exported", "-o", "-", "a.vault").text == "contents")
    }

    @Test("a destroyed key opens nothing and does not come back") func destroyedKey() throws {
        let box = try prepared(keys: ["first"])
        let environment = Self.unlocked
        #expect(try box.run("encrypt", "a", environment: environment).ending == .status(0))
        #expect(try box.run("key", "export", "first", "-o", "exported", environment: environment).ending == .status(0))
        let name = try generate(box).name
        #expect(try box.run("encrypt", "-o", "b.vault", "a", environment: environment).ending == .status(0))
        let asked = try box.run("key", "destroy", "first", environment: environment)
        #expect(asked.ending == .status(78) && asked.errors.contains("--yes"), "nothing is destroyed unasked")
        #expect(try list(box) == ["retired first", "current \(name)"])
        let gone = try box.run("key", "destroy", "first", "--yes", "--scan", ".", environment: environment)
        #expect(gone.ending == .status(0))
        // The scan finds four containers: the two, the keyring and its `.key` file.
        #expect(gone.text.contains("first: 4 containers scanned: 1 open with this key, 1 with this key only"))
        #expect(try list(box) == ["destroyed first", "current \(name)"])
        let lost = try box.run("decrypt", "-o", "-", "a.vault", environment: environment)
        #expect(lost.ending == .status(77) && lost.errors.contains("needs key 'first', which is destroyed"))
        for arguments in [["use", "first"], ["retire", "first"], ["export", "first"], ["use", "nobody"]] {
            let outcome = try box.run((["key"] + arguments).map { Array($0.utf8) }, environment: environment)
            #expect(outcome.ending == .status(78), "\(arguments)")
        }
        #expect(
            try box.run("key", "import", "exported", environment: environment).ending == .status(73),
            "an imported copy must not bring the key back")
        #expect(try box.run("key", "destroy", "--all", "--yes", environment: environment).ending == .status(0))
        #expect(try list(box) == ["destroyed first", "destroyed \(name)"])
    }

    @Test func imports() throws {
        let box = try prepared(keys: ["first"])
        try box.makeKey("one")
        try box.makeKey("two")
        try box.run("encrypt", "--key-file", "one", "a")
        let imported = try box.run("key", "import", "one", environment: Self.unlocked)
        #expect(imported.ending == .status(0) && imported.text.hasPrefix("key-20"))
        #expect(try box.run("decrypt", "-o", "-", "a.vault", environment: Self.unlocked).text == "contents")
        let used = try box.run(
            "key", "import", "--use", "--name", "second", "--key-command", "cat two", environment: Self.unlocked)
        #expect(used.ending == .status(0))
        #expect(try list(box).map { $0.prefix(7) } == ["retired", "retired", "current"])
        #expect(try list(box).last == "current second")
        #expect(try box.run("key", "import", "one", environment: Self.unlocked).ending == .status(73))
        let usage = [["import"], ["import", "--use", "one", "two"], ["import", "--name", "file", "one"]]
        for arguments in usage {
            let outcome = try box.run((["key"] + arguments).map { Array($0.utf8) }, environment: Self.unlocked)
            #expect(outcome.ending == .status(64), "\(arguments)")
        }
        let piped = try box.run(words("key", "import", "-"), input: box.bytes("two"), environment: Self.unlocked)
        #expect(piped.ending == .status(73))
    }

    @Test("names that are taken, and words that are none") func names() throws {
        let box = try prepared(keys: ["first"])
        #expect(try box.run("key", "generate", "--name", "first", environment: Self.unlocked).ending == .status(73))
        for name in ["file", "others", "a b", "", "-", "\u{E4}", String(repeating: "0", count: 32)] {
            let outcome = try box.run("key", "generate", "--name", name, environment: Self.unlocked)
            #expect(outcome.ending == .status(64), "\(name)")
        }
        let mixed = [
            ["key", "generate", "-o", "k", "--name", "x"], ["key", "generate", "-o", "k", "--unprotected"],
            ["key", "generate", "--no-sync"], ["key", "destroy"], ["key", "destroy", "first", "--all", "--yes"],
            ["encrypt", "-k", "file:unlocker", "a"], ["encrypt", "-k", "passphrase", "a"],
            ["key", "use", "no:kind"], ["key", "list", "--unlock", "first"], ["key", "list", "--unlock", "no:kind"],
            ["key", "generate", "--unprotected"], ["key", "passphrase", "--renew", "--remove", "others"],
            ["key", "passphrase", "--remove", "first"],
        ]
        for arguments in mixed {
            let outcome = try box.run(arguments.map { Array($0.utf8) }, environment: Self.unlocked)
            #expect(outcome.ending == .status(64), "\(arguments): \(outcome.errors)")
        }
        // A word that is not a K may be a passphrase, so it is not repeated.
        let slip = try box.run("key", "list", "--unlock", "passphrase:tr0ub4dor", environment: [Self.place])
        #expect(slip.ending == .status(64) && !slip.errors.contains("tr0ub4dor"))
        #expect(try list(box) == ["current first"])
    }

    @Test("the keyring is in the user's data folder by default") func defaultPlace() throws {
        let box = try prepared()
        let unlock = "VAULTFILE_UNLOCK=file:unlocker"
        let home = box.folder.string
        let made = try box.run("key", "generate", environment: ["HOME=\(home)", unlock])
        #expect(made.ending == .status(0))
        #expect(box.bytes(".local/share/vaultfile/keyring.vault") != nil)
        #expect(try box.mode(".local/share/vaultfile") == 0o700)
        let data = ["HOME=\(home)", "XDG_DATA_HOME=\(home)/data", unlock]
        #expect(try box.run("key", "list", environment: data).ending == .status(78), "XDG_DATA_HOME goes before HOME")
        #expect(try box.run("key", "generate", environment: data).ending == .status(0))
        #expect(box.bytes("data/vaultfile/keyring.vault.key") != nil)
        let relative = ["HOME=\(home)", "XDG_DATA_HOME=data", unlock]
        let standard = try box.run("key", "list", environment: ["HOME=\(home)", unlock])
        #expect(
            try box.run("key", "list", environment: relative).text == standard.text,
            "a relative XDG_DATA_HOME is ignored")
        #expect(try box.run("key", "list", environment: [unlock]).ending == .status(78), "no folder is known")
    }

    @Test("the folder of a named keyring is not created; a slash at the end of its name does not count")
    func namedPlace() throws {
        let box = try prepared()
        let unlock = "VAULTFILE_UNLOCK=file:unlocker"
        let named = ["VAULTFILE_KEYRING=none/ring", unlock]
        #expect(try box.run("key", "generate", environment: named).ending == .status(73))
        try Host.makeFolder(box.path("slash"))
        let slash = ["VAULTFILE_KEYRING=slash/ring/", unlock]
        #expect(try box.run("key", "generate", environment: slash).ending == .status(0))
        #expect(try box.run("key", "list", environment: slash).ending == .status(0))
        #expect(box.bytes("slash/ring") != nil && box.bytes("slash/ring.key") != nil, "both files are in the folder")
    }

    @Test("VAULTFILE_KEY_FILE takes precedence over the keyring") func keyFileFirst() throws {
        let box = try prepared(keys: ["first"])
        try box.makeKey("key")
        try box.run("encrypt", "a", environment: Self.unlocked + ["VAULTFILE_KEY_FILE=key"])
        #expect(try box.run("verify", "--key-file", "key", "a.vault").ending == .status(0))
    }

    @Test func whatUnlocksIt() throws {
        let box = try prepared(keys: ["first"])
        let list = { (arguments: [String], environment: [String]) in
            try box.run((["key", "list"] + arguments).map { Array($0.utf8) }, environment: environment)
        }
        let place = [Self.place]
        #expect(try list(["--unlock", "file:unlocker"], place).ending == .status(0))
        #expect(try list(["--unlock", "command:cat unlocker"], place).ending == .status(0))
        #expect(try list([], place + ["VAULTFILE_UNLOCK=command:cat unlocker"]).ending == .status(0))
        try box.makeKey("other")
        let wrong = try list(["--unlock", "file:other"], place)
        #expect(wrong.ending == .status(77) && wrong.errors.hasPrefix("vaultfile: ring.vault.key: "))
        // The command line takes precedence over the environment.
        #expect(try list(["--unlock", "file:other"], Self.unlocked).ending == .status(77))
        #expect(try list(["--unlock", "file:other", "--unlock", "file:unlocker"], place).ending == .status(0))
        let nothing = try list([], place)
        #expect(nothing.ending == .status(78) && nothing.errors.contains("VAULTFILE_UNLOCK"))
        #expect(try list(["--unlock", "file:none"], place).ending == .status(78))
        let twice = try box.run(
            words("decrypt", "--unlock", "file:-"), input: box.bytes("unlocker"), environment: place)
        #expect(twice.ending == .status(64))
        // The keyring is unlocked only if a container needs it.
        try box.run("encrypt", "--key-file", "other", "a")
        #expect(try box.run("verify", "--key-file", "other", "a.vault", environment: place).ending == .status(0))
    }

    @Test func oneOfTheTwoFilesIsMissing() throws {
        let box = try prepared(keys: ["first"])
        let ring = try #require(box.bytes("ring.vault"))
        let key = try #require(box.bytes("ring.vault.key"))
        try Platform.remove(box.path("ring.vault.key"))
        for verb in ["list", "generate"] {
            let outcome = try box.run("key", verb, environment: Self.unlocked)
            #expect(outcome.ending == .status(78) && outcome.errors.contains("ring.vault.key"))
        }
        #expect(box.bytes("ring.vault") == ring && box.bytes("ring.vault.key") == nil)
        try Platform.remove(box.path("ring.vault"))
        try box.write(Array("ring.vault.key".utf8), key, mode: .ownerReadWrite)
        #expect(try box.run("key", "generate", "--name", "new", environment: Self.unlocked).ending == .status(78))
        #expect(box.bytes("ring.vault.key") == key && box.bytes("ring.vault") == nil)
    }

    @Test func addedAndRemoved() throws {
        let box = try prepared(keys: ["first"])
        try box.makeKey("other")
        let change = { (arguments: String...) in
            try box.run((["key", "passphrase"] + arguments).map { Array($0.utf8) }, environment: Self.unlocked)
        }
        #expect(try change("--add", "file:other").text.contains("unlocks it\n"))
        #expect(try box.run("key", "list", "--unlock", "file:other", environment: [Self.place]).ending == .status(0))
        #expect(try change("--add", "file:other").text.contains("is unchanged"))
        #expect(try change("--remove", "file:other").text.contains("no longer unlocks it"))
        #expect(try box.run("key", "list", "--unlock", "file:other", environment: [Self.place]).ending == .status(77))
        #expect(try change("--remove", "file:unlocker").ending == .status(64))
        #expect(try change("--add", "file:other", "--remove", "others").ending == .status(0))
        #expect(try box.run("key", "list", environment: Self.unlocked).ending == .status(77))
        let old = try #require(box.bytes("ring.vault.key"))
        let renewed = try box.run(
            "key", "passphrase", "--renew", "--add", "file:unlocker", "--unlock", "file:other",
            environment: [Self.place])
        #expect(renewed.ending == .status(0))
        #expect(try list(box) == ["current first"])
        // A copy of the old `.key` file is useless.
        try box.write(Array("ring.vault.key".utf8), old, mode: .ownerReadWrite)
        #expect(try box.run("key", "list", "--unlock", "file:other", environment: [Self.place]).ending == .status(77))
    }

    @Test("eight that generate at once all succeed") func concurrent() throws {
        let box = try prepared()
        let running = try (0..<8).map { number in
            try box.start(words("key", "generate", "--name", "key\(number)"), environment: Self.unlocked)
        }
        for run in running {
            let outcome = run.end()
            #expect(outcome.ending == .status(0), "\(outcome.errors)")
        }
        let keys = try list(box)
        #expect(Set(keys.compactMap { $0.split(separator: " ").last }) == Set((0..<8).map { "key\($0)" }))
        #expect(keys.count { $0.hasPrefix("current") } == 1)
        #expect(try box.names() == ["a", "ring.vault", "ring.vault.key", "unlocker"])
    }

    @Test("a signal leaves the old keyring or the new one, and nothing else") func signals() throws {
        let box = try prepared(keys: ["first"])
        for delay in 0..<12 {
            let running = try box.start(
                words("key", "generate", "--name", "late\(delay)"), environment: Self.unlocked)
            _ = try Sandbox.shell("sleep 0.0\(delay < 10 ? "0\(delay)" : "\(delay)")", [])
            running.child.send(Host.sigTerm)
            let ending = running.end().ending
            #expect(ending == .signal(Host.sigTerm) || ending == .status(0))
            let isThere = try list(box).contains("current late\(delay)")
            #expect(isThere || ending != .status(0))
        }
        #expect(try box.names() == ["a", "ring.vault", "ring.vault.key", "unlocker"])
    }

    @Test func json() throws {
        let box = try prepared()
        let schema = try JSONSchema()
        func member(_ arguments: [String]) throws -> [String: JSON] {
            let outcome = try box.run((arguments + ["--json"]).map { Array($0.utf8) }, environment: Self.unlocked)
            var members: [String: JSON] = [:]
            for line in (outcome.errors + outcome.text).split(separator: "\n") {
                let value = try JSON(parsing: String(line))
                #expect(schema.violations(of: value) == [], "\(line)")
                if case .object(let found) = value { members = found }
            }
            return members
        }
        let made = try member(["key", "generate", "--name", "first"])
        #expect(made["keyName"] == .string("first") && made["state"] == .string("current"))
        #expect(try member(["key", "list"])["keyID"] == made["keyID"])
        #expect(try member(["key", "retire", "first"])["state"] == .string("retired"))
        #expect(try member(["key", "use", "first"])["state"] == .string("current"))
        #expect(try member(["key", "export", "first", "-o", "file"])["output"] == .string("file"))
        #expect(try member(["key", "import", "unlocker"])["state"] == .string("retired"))
        #expect(try member(["key", "passphrase", "--add", "file:file"])["status"] == .string("ok"))
        _ = try member(["encrypt", "a"])
        let destroyed = try member(["key", "destroy", "--yes", "--scan", ".", "first"])
        guard case .object(let scanned) = destroyed["scanned"] else { throw Errno.invalidArgument }
        #expect(scanned["needing"] == .number(1) || scanned["needing"] == .number(2))
        #expect(destroyed["state"] == .string("destroyed"))
        #expect(try member(["key", "use", "nobody"])["exit"] == .number(78))
    }
}
