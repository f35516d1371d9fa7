import SystemPackage
import Testing
import VaultFile
import VaultTestSupport

@testable import VaultCommand

extension Sandbox {
    /// Makes a file of identities, as age-keygen does, and returns the public key.
    @discardableResult
    func makeIdentity(_ name: String, _ kind: SlotDescription.Kind = .x25519) throws -> String {
        let identity = try Identity.generate(kind)
        let text = try identity.withFile { [UInt8](copying: $0) }
        try write(Array(name.utf8), text, mode: .ownerReadWrite)
        return identity.publicKey.text
    }

    /// Whether a program is installed.
    static func has(_ program: String) -> Bool {
        (try? shell("command -v \"$1\"", [Array(program.utf8)])) != ""
    }

    /// Runs a shell command in the folder.
    @discardableResult
    func shell(_ script: String) throws -> String {
        try Self.shell("cd \"$1\" && \(script)", [Array(folder.string.utf8)])
    }

    /// The slots that `inspect` shows.
    func slots(_ name: String, _ more: String...) throws -> [JSON] {
        let outcome = try run((["inspect", "--json"] + more + [name]).map { Array($0.utf8) })
        guard case .array(let slots) = try JSON(parsing: outcome.text)["slots"] else { return [] }
        return slots
    }
}

/// Public keys: who gets a slot.
@Suite struct RecipientTests {
    private func prepared() throws -> (box: Sandbox, alice: String, bob: String) {
        let box = try Sandbox()
        try box.write("a", "contents")
        return (box, try box.makeIdentity("alice"), try box.makeIdentity("bob"))
    }

    private func decrypts(_ box: Sandbox, _ name: String, _ options: String...) throws -> Bool {
        let outcome = try box.run((["decrypt", "-o", "-"] + options + [name]).map { Array($0.utf8) })
        return outcome.ending == .status(0) && outcome.text == "contents"
    }

    @Test("the keys of age-keygen, both ways", .enabled(if: Sandbox.has("age-keygen"))) func age() throws {
        let box = try Sandbox()
        try box.write("a", "contents")
        let key = try box.shell("age-keygen -o key.txt 2>err; age-keygen -y key.txt").split(separator: "\n")[0]
        #expect(try box.run("encrypt", "-r", String(key), "a").ending == .status(0))
        #expect(try decrypts(box, "a.vault", "-i", "key.txt"))
        #expect(try box.run("verify", "-i", "key.txt", "a.vault").ending == .status(0))
    }

    @Test("the keys of ssh-keygen, both ways", .enabled(if: Sandbox.has("ssh-keygen"))) func ssh() throws {
        let box = try Sandbox()
        try box.write("a", "contents")
        try box.shell("ssh-keygen -q -t ed25519 -N '' -C 'me: at home' -f key; ssh-keygen -q -t rsa -N '' -f rsa")
        let line = try #require(box.text("key.pub")?.split(separator: "\n").first).description
        #expect(try box.run("encrypt", "-r", line, "-o", "1", "a").ending == .status(0))
        #expect(try decrypts(box, "1", "-i", "key"))
        let all = try box.run(
            "encrypt", "-R", "-", "-o", "2", "a", input: "# page\n\(box.text("rsa.pub") ?? "")\(line)\n")
        #expect(all.ending == .status(0))
        #expect(all.errors.contains("standard input: warning: line 2 is passed over: a key of type ssh-rsa"))
        #expect(try decrypts(box, "2", "-i", "key"))
        #expect(try box.run("rotate", "-i", "key", "--add", line, "2").text == "current\t2\n")
        let rsa = try box.run("encrypt", "-r", box.text("rsa.pub") ?? "", "-o", "3", "a")
        #expect(rsa.ending == .status(78) && rsa.errors.contains("hint: only ssh-ed25519 keys can decrypt"))
        let other = try box.run("decrypt", "-i", "rsa", "-o", "x", "1")
        #expect(other.errors.contains("hint: only ssh-ed25519 keys can decrypt"))
        let half = try box.run("decrypt", "-i", "key.pub", "-o", "x", "1")
        #expect(half.ending == .status(78) && half.errors.contains("hint: a public key opens nothing"))
    }

    @Test("to encrypt needs no keyring and no secret, even if the environment names some that cannot be read")
    func withoutSecrets() throws {
        let (box, alice, bob) = try prepared()
        let environment = [
            "VAULTFILE_KEYRING=nowhere/ring", "VAULTFILE_KEY_FILE=nowhere", "VAULTFILE_UNLOCK=file:none",
        ]
        let outcome = try box.run("encrypt", "-r", alice, "--recipient", bob, "a", environment: environment)
        #expect(outcome.ending == .status(0) && outcome.errors == "")
        for name in ["alice", "bob"] { #expect(try decrypts(box, "a.vault", "-i", name)) }
        // An identity encrypts for its public key.
        #expect(
            try box.run("encrypt", "-i", "bob", "-o", "b.vault", "a", environment: environment).ending == .status(0))
        #expect(try !decrypts(box, "b.vault", "-i", "alice"))
        #expect(try decrypts(box, "b.vault", "--identity-command", "cat bob"))
    }

    @Test(
        "what is no public key is refused, with a hint",
        arguments: [
            (["-r", "age1qqqq"], 78, ""), (["-r", "bob"], 78, "-R FILE reads"), (["-r", "nobody"], 78, ""),
            (["-r", "folder"], 78, "--recursive takes"),
            (["-r", "ssh-ed25519", "AAAA"], 64, "quote the whole line"),
            (["-R", "none"], 78, ""), (["-R", "bob"], 78, "print the public key"), (["-R", "a"], 78, ""),
            (["-r", "age1yubikey1qwt50d05nh5vutpdzmlg5wn80xq5negm4uj9ghv0snvdd3yysf5yw3rhl3t"], 78, ""),
            (["-R", "-", "-"], 64, ""), (["-k", "x", "--anonymous"], 78, ""), (["--key-file", "bob"], 78, "-i reads"),
            (["--key-file", "key", "--anonymous"], 64, ""),
        ] as [([String], Int32, String)])
    func refused(_ words: [String], _ status: Int32, _ hint: String) throws {
        let (box, _, _) = try prepared()
        try Host.makeFolder(box.path("folder"))
        try box.makeKey()
        let outcome = try box.run(
            (["encrypt", "-o", "out"] + words + (words.contains("-") ? [] : ["a"])).map { Array($0.utf8) })
        #expect(outcome.ending == .status(status), "\(outcome.errors)")
        #expect(hint == "" || outcome.errors.contains("hint: ") && outcome.errors.contains(hint), "\(outcome.errors)")
        #expect(box.bytes("out") == nil)
    }

    @Test("-r with a folder says that folders are --recursive; other verbs say what they take") func habits() throws {
        let (box, alice, _) = try prepared()
        try Host.makeFolder(box.path("folder"))
        let folder = try box.run("encrypt", "-r", "folder")
        #expect(folder.ending == .status(64) && folder.errors.contains("hint: --recursive takes the files in it"))
        for (verb, hint) in [("decrypt", "-i FILE"), ("ls", "-i FILE"), ("rotate", "--add and --remove")] {
            let outcome = try box.run(verb, "-r", alice, "a")
            #expect(outcome.ending == .status(64) && outcome.errors.contains("hint: \(hint)"), "\(outcome.errors)")
        }
    }

    @Test("a hidden slot shows nothing, and its owner opens it") func anonymous() throws {
        let (box, alice, bob) = try prepared()
        #expect(try box.run("encrypt", "--anonymous", "-r", alice, "-r", bob, "a").ending == .status(0))
        #expect(try box.slots("a.vault").allSatisfy { $0["hidden"] == .bool(true) && $0["kind"] == .string("x25519") })
        for name in ["alice", "bob"] { #expect(try decrypts(box, "a.vault", "-i", name)) }
        let text = try box.run("inspect", "-i", "bob", "a.vault").text
        #expect(text.contains("x25519, hidden, not opened") && text.contains("hidden, opened by the identity in bob"))
        let listed = try box.run("ls", "-i", "alice", "a.vault").text
        #expect(listed.contains("hidden x25519 (alice), hidden x25519 "))
        // A public key finds no hidden slot, and the run says so.
        let removed = try box.run("rotate", "-i", "bob", "--remove", alice, "a.vault")
        #expect(removed.text == "current\ta.vault\n" && removed.errors.contains("no slot is that of \(alice)"))
        #expect(removed.errors.contains("hidden"))
        #expect(try box.run("rotate", "-i", "bob", "--remove", "identity-file:alice", "a.vault").errors == "")
        #expect(try !decrypts(box, "a.vault", "-i", "alice"))
        // It stays hidden when all is encrypted again.
        #expect(try box.run("reencrypt", "-i", "bob", "a.vault").ending == .status(0))
        #expect(try box.slots("a.vault").map { $0["hidden"] } == [.bool(true)])
    }

    @Test("JSON names each slot, its kind, and the identity that it belongs to") func json() throws {
        let (box, alice, bob) = try prepared()
        try box.makeKey()
        #expect(try box.run("encrypt", "-r", alice, "-r", bob, "--key-file", "key", "a").ending == .status(0))
        let slots = try box.slots("a.vault", "-i", "bob")
        #expect(slots.map { $0["kind"] } == ["key", "x25519", "x25519"].map(JSON.string))
        #expect(slots.map { $0["opened"] } == [false, false, true].map(JSON.bool))
        #expect(slots[2]["identity"] == .string("bob") && slots[2]["recipient"] == .string(bob))
        #expect(slots[1]["identity"] == nil && slots[1]["hidden"] == nil)
        let inventory = try box.run("inspect", "--summary", "a.vault").text
        #expect(inventory.contains("x25519 recipients") && inventory.contains("1 file"))
    }

    @Test("a folder for a team, and back") func recursive() throws {
        let (box, alice, bob) = try prepared()
        for name in ["d", "d/e", "out"] { try Host.makeFolder(box.path(name)) }
        for name in ["d/1", "d/2", "d/e/3"] { try box.write(name, name) }
        try box.write("team", "# team\n\(alice)\n\n\(bob)\n\(alice)\n")
        #expect(try box.run("encrypt", "--recursive", "-R", "team", "d").ending == .status(0))
        #expect(try box.slots("d/e/3.vault").count == 2)
        let back = try box.run("decrypt", "--recursive", "-i", "bob", "-o", "out/", "d")
        #expect(back.ending == .status(0), "\(back.errors)")
        #expect(box.text("out/d/e/3") == "d/e/3")
    }

    @Test("a rotation by public keys is in place, and the slots of others stay byte for byte") func rotation() throws {
        let (box, alice, bob) = try prepared()
        let carol = try box.makeIdentity("carol")
        try box.makeKey()
        try box.run("encrypt", "-r", alice, "-r", bob, "--key-file", "key", "--header-capacity", "4K", "a")
        let before = try #require(box.bytes("a.vault"))
        let inode = try box.stat("a.vault").inode
        let ids = try box.slots("a.vault", "-i", "alice").map { slot -> [UInt8] in
            guard case .string(let id) = slot["id"] else { throw Errno.invalidArgument }
            return try #require([UInt8](hexDigits: id))
        }
        let done = try box.run("rotate", "-v", "-i", "alice", "--add", carol, "--remove", bob, "a.vault")
        #expect(done.ending == .status(0) && done.text == "rotated\ta.vault\n", "\(done.errors)")
        #expect(done.errors.contains("keeps its slot for x25519 recipient \(ids[1].hexDigits) (alice)"))
        let after = try #require(box.bytes("a.vault"))
        #expect(try box.stat("a.vault").inode == inode)
        for (index, length) in [(0, 92), (1, 124)] {
            let start = try #require(before.firstRange(of: ids[index])).lowerBound - 4
            let slot = Array(before[start..<start + length])
            #expect(after.firstRange(of: slot) != nil, "slot \(index) is the same")
        }
        #expect(after.firstRange(of: ids[2]) == nil)
        for (name, isIn) in [("alice", true), ("bob", false), ("carol", true)] {
            #expect(try decrypts(box, "a.vault", "-i", name) == isIn)
        }
        // Nothing that is given opens it afterwards.
        let out = try box.run("rotate", "-i", "carol", "--remove", carol, "--remove", "file:key", "a.vault")
        #expect(out.ending == .status(77) && out.errors.contains("--give-up-access"), "\(out.errors)")
        try box.write("new", "\(bob)\n")
        let all = try box.run(
            "rotate", "-i", "carol", "--give-up-access", "--add", "recipients-file:new", "--remove", "others", "a.vault"
        )
        #expect(all.ending == .status(0), "\(all.errors)")
        #expect(try decrypts(box, "a.vault", "-i", "bob") && !decrypts(box, "a.vault", "-i", "alice"))
    }

    @Test("post-quantum and classical keys do not mix without consent") func mixed() throws {
        let (box, alice, _) = try prepared()
        guard let strong = try? box.makeIdentity("strong", .xWing) else { return }
        let mixed = try box.run("encrypt", "-r", alice, "-r", strong, "a")
        #expect(mixed.ending == .status(64) && mixed.errors.contains("(mixedRecipients)"))
        #expect(mixed.errors.contains("hint: --allow-classical"))
        #expect(try box.run("encrypt", "-r", alice, "-r", strong, "--allow-classical", "a").ending == .status(0))
        #expect(try decrypts(box, "a.vault", "-i", "strong") && decrypts(box, "a.vault", "-i", "alice"))
        #expect(try box.run("encrypt", "-r", alice, "-o", "b.vault", "a").ending == .status(0))
        let added = try box.run("rotate", "-i", "alice", "--add", strong, "b.vault")
        #expect(added.ending == .status(64) && added.errors.contains("--allow-classical"))
        // The old header is in somebody's backup.
        let replaced = try box.run(
            "rotate", "-i", "alice", "--add", strong, "--remove", alice, "--give-up-access", "b.vault")
        #expect(replaced.ending == .status(0) && replaced.errors.contains("warning: a slot for a post-quantum key"))
        #expect(replaced.errors.contains("hint: vaultfile reencrypt"))
        let again = try box.run("rotate", "-i", "strong", "--add", "identity-file:strong", "b.vault")
        #expect(again.text == "current\tb.vault\n" && again.errors == "")
        let wrong = try box.run("decrypt", "-i", "alice", "-o", "x", "b.vault")
        #expect(wrong.ending == .status(77) && wrong.errors.contains("it needs an X-Wing identity"))
    }

    @Test("reencrypt keeps the identities that open, and lists the others") func reencrypt() throws {
        let (box, alice, bob) = try prepared()
        try box.run("encrypt", "-r", alice, "-r", bob, "a")
        let lost = try box.run("reencrypt", "-i", "alice", "a.vault")
        #expect(lost.ending == .status(77) && lost.errors.contains("slots would be lost: x25519 recipient "))
        #expect(try box.run("reencrypt", "-i", "alice", "-r", bob, "a.vault").ending == .status(0))
        for name in ["alice", "bob"] { #expect(try decrypts(box, "a.vault", "-i", name)) }
        #expect(try box.run("reencrypt", "-i", "alice", "--remove", bob, "a.vault").ending == .status(0))
        #expect(try box.slots("a.vault").count == 1)
        #expect(try box.run("reencrypt", "-i", "alice", "--anonymous", "a.vault").ending == .status(0))
        #expect(try box.slots("a.vault").map { $0["hidden"] } == [.bool(true)])
        #expect(try decrypts(box, "a.vault", "-i", "alice"))
    }

    @Test("--update needs something that opens, and keeps what others open") func update() throws {
        let (box, alice, bob) = try prepared()
        let refused = try box.run("encrypt", "--update", "-r", alice, "a")
        #expect(refused.ending == .status(64) && refused.errors.contains("hint: give -i"))
        func update(_ words: String...) throws -> Sandbox.Outcome {
            try box.run((["encrypt", "--update"] + words + ["a"]).map { Array($0.utf8) })
        }
        #expect(try update("-i", "alice", "-r", bob).ending == .status(0))
        let first = box.bytes("a.vault")
        #expect(try update("-i", "alice", "-r", bob).ending == .status(0))
        #expect(box.bytes("a.vault") == first)
        try box.shell("touch -d '+1 hour' a")
        let kept = try update("-i", "alice")
        #expect(kept.ending == .status(77) && kept.errors.contains("no longer open with x25519 recipient"))
        #expect(try update("-i", "alice", "-r", bob).ending == .status(0))
        #expect(box.bytes("a.vault") != first)
    }

    @Test("--remove-source needs no identity; a container from before is compared only if something opens it")
    func removeSource() throws {
        let (box, alice, bob) = try prepared()
        let copy = box.bytes("a")
        #expect(try box.run("encrypt", "-f", "--remove-source", "-r", alice, "-r", bob, "a").ending == .status(0))
        #expect(box.bytes("a") == nil)
        try box.write(Array("a".utf8), try #require(copy))
        let again = try box.run("encrypt", "--remove-source", "-r", alice, "a")
        #expect(again.ending == .status(73) && again.errors.contains("nothing that was given opens it"))
        #expect(again.errors.contains("hint: -i FILE compares the two"))
        #expect(box.bytes("a") == copy)
        // With the identity of one, and the public key of the other.
        #expect(try box.run("decrypt", "-f", "-i", "alice", "a.vault").ending == .status(0))
        for words in [["-i", "alice"], ["-i", "alice", "-i", "bob", "--digest"]] {
            let other = try box.run((["encrypt", "--remove-source"] + words + ["a"]).map { Array($0.utf8) })
            #expect(other.ending == .status(73), "it has other slots, or no digest")
        }
        let same = try box.run("encrypt", "-f", "--remove-source", "-i", "alice", "-r", bob, "a")
        #expect(same.ending == .status(0) && box.bytes("a") == nil)
    }
}
