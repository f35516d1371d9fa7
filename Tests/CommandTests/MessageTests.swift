import SystemPackage
import Testing

@testable import VaultCommand

/// Each common mistake gets a helpful message.
@Suite struct MessageTests {
    @Test("an unknown command is a usage error, also behind help") func helpTopics() throws {
        let box = try Sandbox()
        for arguments in [["foo"], ["help", "foo"], ["help", "key", "foo"]] {
            let outcome = try box.run(arguments.map { Array($0.utf8) })
            #expect(outcome.ending == .status(64))
            #expect(outcome.errors.hasPrefix("vaultfile: unknown command 'foo'\n"))
            #expect(outcome.output == [])
        }
        for arguments in [["help"], ["help", "key", "show"], ["help", "encrypt"], ["key", "--help"]] {
            #expect(try box.run(arguments.map { Array($0.utf8) }).ending == .status(0))
        }
    }

    @Test("words and options of the system's mount, and of other programs, get a hint that can be followed")
    func otherPrograms() throws {
        let box = try Sandbox()
        for (words, hint) in [
            (["umount", "a view"], "fusermount3 -u 'a view' unmounts it"),
            (["unmount"], "fusermount3 -u MOUNTPOINT unmounts it"),
            (["mount", "-u", "view"], "fusermount3 -u view unmounts it"),
            (["mount", "-o", "ro", "src", "view"], "a mount is always read-only, and only for the user who mounts"),
            (["mount", "--read-only", "src", "view"], "a mount is always read-only"),
            (["restore", "x.tar.vault"], "did you mean vaultfile extract?"),
        ] {
            let outcome = try box.run(words.map { Array($0.utf8) })
            #expect(outcome.ending == .status(64) && outcome.output == [])
            #expect(outcome.errors.contains("vaultfile: hint: \(hint)"), "\(words): \(outcome.errors)")
        }
    }

    @Test(
        "the long help says what a user would else learn by a loss",
        arguments: [
            ("encrypt", "containers, links, devices and empty folders are passed over"),
            ("encrypt", "stays if it changed meanwhile"), ("encrypt", "converted to NFC"),
            ("decrypt", "to a terminal only with -o -"),
            ("decrypt", "powers of 1024"), ("recover", "COMPLETE ONLY IF THE STATUS IS 0"),
            ("key passphrase", "If it has several, name one with --remove"), ("", "lost without consent"),
        ])
    func helpTexts(_ verb: String, _ words: String) throws {
        let topic = ["help", "--long"] + verb.split(separator: " ").map(String.init)
        let help = try Sandbox().run(topic.map { Array($0.utf8) }).text
        #expect(help.split(whereSeparator: \.isWhitespace).joined(separator: " ").contains(words))
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
        // The name of a key file in place of that of a key.
        try box.makeKey("k1")
        let shown = try box.run("key", "show", "k1", environment: ["VAULTFILE_KEYRING=ring.vault"])
        #expect(shown.ending == .status(78) && shown.errors.contains("hint: for a key file write --key-file k1"))
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
            let lines = outcome.errors.split(separator: "\n").filter { !$0.contains("hint: -i reads") }
            #expect(lines.count == 1 && !outcome.errors.contains("QQQ"))
        }
    }

    @Test(
        "what is no key file is told by its beginning, and by no less than all of it",
        arguments: [
            ([0x89, 0x56, 0x4C, 0x54, 0x0D, 0x0A, 0x1A, 0x0A], "a container"), ([0xEF, 0xBB, 0xBF], "byte order mark"),
            ([0xFE, 0xFF], "UTF-16"), ([0x23, 0], "UTF-16"), ([0, 0x56], "UTF-16"), ([0x1F, 0x8B], "a gzip file"),
            (Array("-----BEGIN AGE ENCRYPTED FILE-----".utf8), "an age file"), (Array("Salted__".utf8), "openssl"),
            (Array("# x\n\nAGE-SECRET-KEY-".utf8), "an age identity"), (Array("#\nage1".utf8), "an age recipient"),
            (Array("ssh-".utf8), "an OpenSSH public key"), (Array("#\n ".utf8), "a blank"),
        ] as [([UInt8], String)])
    func beginnings(_ begin: [UInt8], _ words: String) throws {
        func trouble(_ text: [UInt8]) -> String? { KnownFormats.trouble(ofKeyFile: text.span) }
        for rest in [0, 1, 100] {
            let said = try #require(trouble(begin + [UInt8](repeating: 0x71, count: rest)))
            #expect(said.contains(words))
        }
        for count in begin.indices { #expect(trouble(Array(begin.prefix(count)))?.contains(words) != true) }
        #expect(trouble(Array("# x\nVAULTFILE-KEY-1".utf8)) == nil)
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
        let plain = try box.run("decrypt", "--key-file", "key", "plain")
        #expect(plain.ending == .status(64), "\(plain.errors)")
        let words = "it neither begins nor ends like a vaultfile\nvaultfile: hint: it is not encrypted by vaultfile\n"
        #expect(plain.errors.hasSuffix(words), "\(plain.errors)")
        try box.run("encrypt", "--key-file", "key", "-o", "container", "plain")
        let container = try box.run("decrypt", "--key-file", "key", "container")
        #expect(container.ending == .status(64) && container.errors.hasSuffix("hint: name the output with -o\n"))
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

    /// A container `a.vault` of five records of 4096 bytes, with headers of 4096 bytes.
    private func container() throws -> (Sandbox, [UInt8]) {
        let box = try Sandbox()
        try box.makeKey()
        try box.write("a", String(repeating: "x", count: 20_000))
        let made = try box.run(
            "encrypt", "--key-file", "key", "--chunk-size", "4K", "--header-capacity", "4096", "a")
        #expect(made.ending == .status(0))
        return (box, try #require(box.bytes("a.vault")))
    }

    /// Runs a verb on these bytes.
    private func run(_ verb: String, on bytes: [UInt8], in box: Sandbox) throws -> Sandbox.Outcome {
        try box.write(Array("a.vault".utf8), bytes)
        let output = verb == "decrypt" || verb == "recover" ? ["-f", "-o", "out"] : []
        let outcome = try box.run(([verb, "--key-file", "key"] + output + ["a.vault"]).map { Array($0.utf8) })
        #expect(outcome.ending == .status(verb == "repair" && bytes.count > 20_000 ? 0 : 65), "\(outcome.errors)")
        return outcome
    }

    @Test("if only the end is damaged, the hint is repair") func repairHint() throws {
        let (box, whole) = try container()
        // The tail and the footer are missing, or other bytes follow the footer.
        for bytes in [Array(whole.dropLast(4200)), whole + [1, 2, 3]] {
            let verified = try run("verify", on: bytes, in: box)
            #expect(verified.errors.contains("hint: no byte of the contents is lost; vaultfile repair mends the end"))
            let decrypted = try run("decrypt", on: bytes, in: box)
            #expect(decrypted.errors.contains("hint: vaultfile repair mends the end if"))
            #expect(try run("repair", on: bytes, in: box).text.hasPrefix("repaired\ta.vault\t"))
            #expect(box.bytes("a.vault") == whole, "the repaired container is the original one")
        }
    }

    @Test("if contents are lost, the hint is recover, except for recover itself") func recoverHint() throws {
        let (box, whole) = try container()
        // A part of the contents is missing with the end, and an earlier record of 4096 bytes is damaged.
        var cut = Array(whole.prefix(4096 + 3 * 4116 + 100))
        cut[4096 + 4116 + 50] ^= 1
        let verified = try run("verify", on: cut, in: box)
        #expect(verified.errors.contains("bytes 4096..<8192 of the contents are lost"))
        #expect(verified.errors.contains("nothing is left after byte 12288 of the contents"))
        #expect(verified.errors.hasSuffix("hint: vaultfile recover saves the parts that are left and intact\n"))
        let refused = try run("repair", on: cut, in: box)
        #expect(refused.errors.hasSuffix("hint: vaultfile recover saves the parts that are left and intact\n"))
        #expect(!(try run("recover", on: cut, in: box).errors.contains("vaultfile recover")))
    }

    @Test("the hint comes once, however much is damaged") func oneHint() throws {
        let (box, whole) = try container()
        var damaged = whole
        for record in [0, 2] { damaged[4096 + record * 4116 + 50] ^= 1 }
        let verified = try run("verify", on: damaged, in: box)
        let hints = verified.errors.split(separator: "\n").filter { $0.contains("hint: ") }
        #expect(hints == ["vaultfile: hint: vaultfile recover saves the parts that are intact"])
        #expect(try run("decrypt", on: damaged, in: box).errors.contains("vaultfile recover"))
    }

    @Test("a key that was tried is not said to be unnamed; it is the context") func contexts() throws {
        let box = try Sandbox()
        try box.makeKey()
        try box.write("a", "contents")
        let keyring = ["VAULTFILE_KEYRING=ring"]
        let made = try box.run("key", "generate", "--unlock", "file:key", "--name", "first", environment: keyring)
        #expect(made.ending == .status(0))
        let unlocked = keyring + ["VAULTFILE_UNLOCK=file:key"]
        #expect(try box.run("encrypt", "--context", "x", "a", environment: unlocked).ending == .status(0))
        for words in [["verify"], ["rotate", "--dry-run"], ["verify", "--context", "y"], ["verify", "-k", "first"]] {
            let outcome = try box.run((words + ["a.vault"]).map { Array($0.utf8) }, environment: unlocked)
            #expect(
                outcome.ending == .status(77) && outcome.errors.contains("slot for key 'first', which does not open"))
            #expect(outcome.errors.contains("(wrongKey)") && outcome.errors.contains("another --context"))
        }
        #expect(try box.run("verify", "--context", "x", "a.vault", environment: unlocked).ending == .status(0))
        let other = try box.run("verify", "--key-file", "key", "--unlock", "file:key", "a.vault", environment: keyring)
        #expect(other.ending == .status(77) && !other.errors.contains("--context"))
    }

    @Test("what no key opens names the keys that it needs, and the variable that hides the keyring")
    func neededKeys() throws {
        let box = try Sandbox()
        let ids = try ["one", "two", "ring.unlock"].map { name in
            try #require(try box.makeKey(name).text.split { " \n".contains($0) }.last)
        }
        try box.write("a", "contents")
        try box.run("encrypt", "--key-file", "one", "a")
        let refused = try box.run("verify", "--key-file", "two", "--key-file", "ring.unlock", "a.vault")
        #expect(refused.ending == .status(77))
        #expect(
            refused.errors
                == "vaultfile: a.vault: none of the 2 keys opens it: it needs key \(ids[0]) (wrongKey)\n")
        let without = try box.run("verify", "a.vault")
        #expect(without.ending == .status(78) && without.errors.contains("no key was given: it needs key \(ids[0])"))
        #expect(!without.errors.contains("key generate"), "a new key opens no old container")
        let keyring = ["VAULTFILE_KEYRING=ring", "VAULTFILE_UNLOCK=file:ring.unlock"]
        #expect(try box.run("key", "import", "one", environment: keyring).ending == .status(0))
        let hidden = try box.run("verify", "a.vault", environment: keyring + ["VAULTFILE_KEY_FILE=two"])
        #expect(
            hidden.errors
                == """
                vaultfile: a.vault: the key in two, which VAULTFILE_KEY_FILE names, does not open it: it needs key \
                \(ids[0]) (wrongKey)
                vaultfile: hint: VAULTFILE_KEY_FILE is set, so the keyring was not tried: unset it, or name a key of the \
                keyring with -k

                """)
        #expect(hidden.ending == .status(77))
        try box.run("encrypt", "--key-file", "two", "-o", "b.vault", "a")
        for (words, source) in [
            (["--key-file", "one"], "the key in one does not open it: it needs key \(ids[1])"),
            (["--key-command", "cat one"], "the key from --key-command does not open it: it needs key \(ids[1])"),
            ([], "the key of the keyring does not open it: it needs key \(ids[1])"),
        ] {
            let refused = try box.run((["verify", "b.vault"] + words).map { Array($0.utf8) }, environment: keyring)
            #expect(refused.errors.hasPrefix("vaultfile: b.vault: \(source) (wrongKey)\n"), "\(refused.errors)")
            #expect(refused.errors.contains("hint: give the key that it was") == words.isEmpty)
        }
    }

    @Test("a hint names only what the verb has and what helps") func fitting() throws {
        let box = try Sandbox()
        for name in ["key", "other"] { try box.makeKey(name) }
        try box.write("a", "contents")
        try box.write("p", "word\n", mode: .ownerReadWrite)
        try Host.makeFolder(box.path("d"))
        try box.run("encrypt", "--key-file", "key", "a")
        try box.run("encrypt", "--passphrase-file", "p", "-o", "p.vault", "a")
        try box.run("encrypt", "--key-file", "key", "d")
        let keyring = ["VAULTFILE_KEYRING=ring.vault"]
        let made = try box.run(
            "key", "generate", "--unlock", "passphrase-file:p", "--name", "one", environment: keyring)
        #expect(made.ending == .status(0))
        let readPassphrase = "--passphrase-file and --passphrase-fd read it"
        let table: [(words: String, hint: String?)] = [
            // A folder.
            ("verify --key-file key d", "--recursive takes the containers in it"),
            ("rotate --key-file key --add file:other d", "--recursive takes the containers in it"),
            ("cat --key-file key d", "name the files; - is standard input"),
            ("recover --key-file key -o x d", "name the file"), ("edit --key-file key d", "name the file"),
            // A pattern.
            ("cat --key-file key d.tar.vault d/*", "vaultfile ls shows the paths of the members"),
            ("extract --key-file key d.tar.vault d/*", "patterns do not work here: name the folder"),
            // Nothing is named.
            ("verify --key-file key", "name the files; - is standard input"),
            ("rotate --key-file key", "name the file"),
            ("recover --key-file key", "name the file"), ("edit --key-file key", "name the file"),
            // No terminal.
            ("verify p.vault", readPassphrase), ("verify -p p.vault", readPassphrase),
            ("encrypt -p -f a", readPassphrase),
            ("verify --key-file key p.vault", "-p asks for the passphrase; \(readPassphrase)"),
            // What opens is missing.
            ("verify a.vault", "give the key that it was encrypted with"),
            ("rotate --add file:other a.vault", "give the key that it was encrypted with"),
            ("verify --key-file other a.vault", nil),
            // Standard input.
            ("decrypt --key-file key", "repair and recover need a file"),
            ("verify --key-file key -", "repair and recover need a file"),
        ]
        for (words, hint) in table {
            let arguments = words.split(separator: " ").map { Array($0.utf8) }
            let errors = try box.run(arguments, input: []).errors
            #expect(errors.contains("hint: ") == (hint != nil), "\(words): \(errors)")
            #expect(errors.contains(hint ?? ""), "\(words): \(errors)")
        }
        let unlock = "--unlock and VAULTFILE_UNLOCK name what unlocks the keyring"
        let ofKeyring: [(words: String, hint: String)] = [
            ("key list", "\(unlock); vaultfile key unlock, on a terminal, unlocks it for a time"),
            ("encrypt -f a", "\(unlock); vaultfile key unlock, on a terminal, unlocks it for a time"),
            ("key destroy --yes one", unlock), ("key export one -o x", unlock), ("key backup d", unlock),
            ("key unlock", unlock), ("key passphrase", unlock),
            ("key passphrase --unlock passphrase-file:p", "--add names what will unlock it"),
        ]
        for (words, hint) in ofKeyring {
            let errors = try box.run(words.split(separator: " ").map { Array($0.utf8) }, environment: keyring).errors
            #expect(errors.hasSuffix("hint: \(hint)\n"), "\(words): \(errors)")
        }
        let none = ["VAULTFILE_KEYRING=none/ring"]
        let generate = try box.run("key", "generate", environment: ["VAULTFILE_KEYRING=ring2"])
        #expect(generate.errors.contains("hint: --unlock names what will unlock the new keyring"))
        let list = try box.run("key", "list", environment: none)
        #expect(list.errors.contains("vaultfile key restore FOLDER brings one back"))
        #expect(try box.run("key", "lock", environment: none).errors == "vaultfile: none/ring: there is no keyring\n")
    }

    @Test("the name of a file where a key is named says how a key file is named") func filesAsKeys() throws {
        let box = try Sandbox()
        for name in ["k2", "unlocker", "k 3"] { try box.makeKey(name) }
        try box.write("a", "contents")
        try box.run("encrypt", "--key-file", "k2", "a")
        let keyring = ["VAULTFILE_KEYRING=ring", "VAULTFILE_UNLOCK=file:unlocker"]
        let places: [(words: [String], hint: String)] = [
            (["rotate", "--add", "k2", "a.vault"], "file:k2"), (["rotate", "--remove", "k2", "a.vault"], "file:k2"),
            (["rotate", "--add", "k 3", "a.vault"], "file:PATH"), (["edit", "--add", "k2", "a.vault"], "file:k2"),
            (["verify", "--key", "k2", "a.vault"], "--key-file k2"),
            (["encrypt", "-k", "k2", "-o", "b", "a"], "--key-file k2"),
        ]
        for hasKeyring in [false, true] {
            if hasKeyring { #expect(try box.run("key", "generate", environment: keyring).ending == .status(0)) }
            for place in places {
                let refused = try box.run(place.words.map { Array($0.utf8) }, environment: keyring)
                #expect(refused.ending == .status(place.hint.hasSuffix("PATH") ? 64 : 78), "\(place)")
                let hint = "hint: for a key file write \(place.hint)\n"
                #expect(refused.errors.hasSuffix(hint), "\(place): \(refused.errors)")
            }
            let other = try box.run("rotate", "--add", "none", "a.vault", environment: keyring)
            #expect(!other.errors.contains("for a key file"))
        }
        for word in ["k2", "k 3"] {
            let unlocking = try box.run("key", "list", "--unlock", word, environment: keyring)
            #expect(unlocking.errors.contains("hint: for a key file write file:"), "\(unlocking.errors)")
            #expect(word == "k2" || !unlocking.errors.contains(word), "it may be a passphrase")
        }
    }

    @Test("a header copy is called unlike the other only where that one is whole") func headerCopies() throws {
        let box = try Sandbox()
        try box.makeKey()
        try box.makeKey("other")
        try box.write("a", "contents")
        let made = try box.run("encrypt", "--key-file", "key", "--header-capacity", "4096", "a")
        #expect(made.ending == .status(0))
        let before = try #require(box.bytes("a.vault"))
        let rotated = try box.run("rotate", "--key-file", "key", "--add", "file:other", "a.vault")
        #expect(rotated.ending == .status(0))
        let after = try #require(box.bytes("a.vault"))
        try box.write(Array("a.vault".utf8), Array(before.prefix(4096) + after.dropFirst(4096)))
        let unlike = try box.run("inspect", "a.vault").text
        #expect(unlike.split(separator: "intact, but not the same as the other\n").count == 3)
        try box.write(Array("a.vault".utf8), [UInt8](repeating: 0, count: 100) + after.dropFirst(100))
        let damaged = try box.run("inspect", "a.vault").text
        #expect(damaged.contains("front header  damaged\n") && damaged.contains("tail header   intact\n"))
    }

    @Test("a folder is named as one, with what takes the files in it", arguments: ["rotate", "repair", "reencrypt"])
    func folders(_ verb: String) throws {
        let box = try Sandbox()
        try box.makeKey()
        for folder in [".", "./"] {
            let words = [verb, "--key-file", "key"] + (verb == "rotate" ? ["--add", "file:key"] : []) + [folder]
            let outcome = try box.run(words.map { Array($0.utf8) })
            #expect(outcome.ending == .status(66) && outcome.text == "failed\t\(folder)\n")
            #expect(outcome.errors.contains("is a folder") && outcome.errors.contains("hint: --recursive"))
        }
    }

    @Test("a command that fails is named by the option that gives it") func commands() throws {
        let box = try Sandbox()
        try box.makeKey()
        try box.write("a", "contents")
        #expect(try box.run("encrypt", "--key-file", "key", "a").ending == .status(0))
        for (words, option) in [
            (["rotate", "--add", "command:false"], "--add"), (["rotate", "--remove", "command:false"], "--remove"),
            (["verify", "--key-command", "false"], "--key-command"),
        ] {
            let outcome = try box.run((words + ["a.vault"]).map { Array($0.utf8) })
            #expect(
                outcome.ending == .status(78) && outcome.errors.hasPrefix("vaultfile: \(option): the command failed"))
        }
        let ring = "VAULTFILE_KEYRING=ring"
        #expect(try box.run("key", "generate", "--unlock", "file:key", environment: [ring]).ending == .status(0))
        let unlocked = try box.run("key", "list", "--unlock", "command:false", environment: [ring])
        #expect(unlocked.ending == .status(78) && unlocked.errors.hasPrefix("vaultfile: --unlock: the command failed"))
        let variable = try box.run("key", "list", environment: [ring, "VAULTFILE_UNLOCK=command:false"])
        #expect(variable.ending == .status(78))
        #expect(variable.errors.hasPrefix("vaultfile: VAULTFILE_UNLOCK: the command failed"))
    }

    @Test("where no file can be made is seen before keys are asked for") func looksFirst() throws {
        let box = try Sandbox()
        try box.write("a", "contents")
        let outcome = try box.run("encrypt", "--key-file", "none", "-o", "none/x", "a")
        #expect(outcome.ending == .status(73))
    }
}
