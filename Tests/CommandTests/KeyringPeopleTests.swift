import SystemPackage
import Testing
import VaultFile

@testable import VaultCommand

/// Recipients, identities and groups in the keyring of the command.
@Suite struct KeyringPeopleTests {
    private static let unlocked = ["VAULTFILE_KEYRING=ring.vault", "VAULTFILE_UNLOCK=file:unlocker"]
    private static let alice = "age1guqappygg504gkjqn76c4cl9skqu5s9v8al3z35ce4caatrnegqsayk6a2"
    private static let aliceSSH = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIAOhB7/zzhC+HXDdGOdLwJln5NYwm6UNXx3chmQSVTG4 a@b"
    private static let bob = "age10xnrrmk7r0uunrcjqvkdatwsu7s8jwv0c7rt3rxggmkgntu955dq25yyzj"
    private static let bobSecret = "AGE-SECRET-KEY-1GPQ5YS6YG4RYWJZFFF95CN2WFAG9Z5JN2324V46CT9D9KHZATE0S5FAZ64"
    private static let bobID = "8d740b10496464522582b00022722bba"

    private let box: Sandbox

    init() throws {
        box = try Sandbox()
        try box.makeKey("unlocker")
        try done("key", "generate", "--name", "work")
    }

    private func run(_ words: String...) throws -> Sandbox.Outcome {
        try box.run(words.map { Array($0.utf8) }, environment: Self.unlocked)
    }

    /// What a command that succeeds prints.
    @discardableResult
    private func done(_ words: String...) throws -> String {
        let outcome = try box.run(words.map { Array($0.utf8) }, environment: Self.unlocked)
        #expect(outcome.ending == .status(0) && outcome.errors.isEmpty, "\(words): \(outcome.errors)")
        return outcome.text
    }

    /// The lines of `key list`: state, name, members.
    private func list() throws -> [String] {
        try done("key", "list").split(separator: "\n").map { line in
            line.split(separator: " ").dropFirst(2).joined(separator: " ")
        }
    }

    /// `alice` and `bob` as recipients, `me` as an identity.
    private func prepare() throws {
        try done("key", "import", "--name", "alice", "-r", Self.alice)
        try done("key", "import", "--name", "bob", "--recipient", Self.bob)
        try done("key", "generate", "--recipient", "--x25519", "--name", "me")
    }

    @Test("key generate --recipient makes an identity and shows its recipient") func generate() throws {
        #if PublicKeys
        let made = try done("key", "generate", "--recipient", "--name", "me").split(separator: "\n")
        #expect(made.count == 2 && made[0].hasPrefix("me: identity ") && made[1].hasPrefix("age1pq1"))
        #expect(try done("key", "show", "me") == "\(made[1])\n")
        #expect(try list() == ["current work", "identity me"])
        #endif
        let classical = try done("key", "generate", "--recipient", "--x25519").split(separator: "\n")
        #expect(classical.count == 2 && classical[0].hasPrefix("identity-20") && classical[1].hasPrefix("age1"))
        #expect(try run("key", "generate", "--x25519", "--name", "n").ending == .status(64))
    }

    @Test("key generate --recipient -o writes a file as age-keygen does") func generateFile() throws {
        let made = try box.run("key", "generate", "--recipient", "--x25519", "-o", "id.txt")
        #expect(made.ending == .status(0) && made.errors.isEmpty, "\(made.errors)")
        let lines = made.text.split(separator: "\n")
        #expect(lines.count == 2 && lines[0] == "id.txt: identity of" && lines[1].hasPrefix("age1"))
        let text = try #require(box.text("id.txt"))
        #expect(text.contains("# public key: \(lines[1])\nAGE-SECRET-KEY-1") && text.hasPrefix("# created: 20"))
        #expect(try box.mode("id.txt") == 0o600)
        #expect(try box.run("key", "generate", "--recipient", "--x25519", "-o", "id.txt").ending == .status(73))
        #expect(try done("key", "import", "--name", "me", "id.txt").hasPrefix("me: identity "))
        #expect(try done("key", "show", "me") == "\(lines[1])\n")
    }

    @Test("recipients and identities are imported and shown") func importing() throws {
        #expect(try done("key", "import", "--name", "bob", "-r", Self.bob) == "bob: recipient \(Self.bobID)\n")
        #expect(try done("key", "show", "bob") == Self.bob + "\n")
        #expect(try done("key", "import", "--name", "alice", "-r", Self.aliceSSH).hasPrefix("alice: recipient "))
        #expect(try done("key", "show", "alice") == Self.alice + "\n")
        let twice = try run("key", "import", "--name", "again", "-r", Self.alice)
        #expect(twice.errors.contains("has this key already, recipient, as alice"))
        // The identity of a recipient takes its place.
        try box.write("bob.txt", "# created: 2020-01-02T03:04:05Z\n\(Self.bobSecret)\n", mode: .ownerReadWrite)
        #expect(try done("key", "import", "bob.txt") == "bob: identity \(Self.bobID)\n")
        #expect(try list() == ["current work", "identity bob", "recipient alice"])
        #expect(try done("key", "export", "-o", "out.txt", "bob") == "out.txt: identity \(Self.bobID)\n")
        #expect(box.text("out.txt")?.hasSuffix("# public key: \(Self.bob)\n\(Self.bobSecret)\n") == true)
        for (words, reason) in [
            (["-r", Self.bobSecret], "it is an identity"), (["-r", "age1x"], "recipient"),
            (["--use", "-r", Self.bob], "--use"),
            (["--name", "x", "-r", Self.bob, "-r", Self.alice], "--name: is for one"), ([], "no key was given"),
        ] {
            let refused = try box.run((["key", "import"] + words).map { Array($0.utf8) }, environment: Self.unlocked)
            #expect(refused.ending != .status(0) && refused.errors.contains(reason), "\(refused.errors)")
            #expect(!refused.errors.contains("AGE-SECRET"))
        }
        try box.write("bad.txt", "\(Self.bobSecret.dropLast())Q\n", mode: .ownerReadWrite)
        let mistyped = try run("key", "import", "bad.txt")
        #expect(mistyped.ending == .status(78) && mistyped.errors.contains("line 1: the identity was mistyped"))
    }

    @Test("a file of recipients is imported, each with a name of its own") func importingFile() throws {
        try box.write("people", "# two\n\(Self.alice)\n\(Self.bob)\nssh-rsa AAAAB3NzaC1yc2E= x\n")
        let done = try run("key", "import", "-R", "people")
        #expect(done.ending == .status(0) && done.errors.contains("line 4 is passed over"), "\(done.errors)")
        #expect(try list().map { $0.split(separator: " ")[0] } == ["current", "recipient", "recipient"])
        #expect(done.text.hasPrefix("recipient-20"))
        try box.write("secret", "\(Self.bobSecret)\n", mode: .ownerReadWrite)
        let refused = try run("key", "import", "-R", "secret")
        #expect(refused.ending != .status(0) && refused.errors.contains("identity") && !refused.errors.contains("AGE-"))
    }

    @Test("of a list, those that are known are passed over, and the others are imported") func importingKnown() throws {
        try done("key", "import", "--name", "alice", "-r", Self.alice)
        try box.write("people", "\(Self.alice)\n\(Self.bob)\n")
        let some = try run("key", "import", "-R", "people")
        #expect(some.ending == .status(0) && some.text.hasSuffix("recipient \(Self.bobID)\n"), "\(some.errors)")
        #expect(some.errors.contains("people: warning: one is passed over: the keyring has this key already"))
        #expect(try list().map { $0.split(separator: " ")[0] } == ["current", "recipient", "recipient"])
        #expect(try run("key", "import", "-R", "people").ending == .status(73))
        #expect(try run("key", "import", "-R", "missing").ending == .status(78))
    }

    @Test("-r takes the ID of a recipient in the keyring") func recipientByID() throws {
        try prepare()
        try box.write("a", "contents")
        try done("encrypt", "-r", Self.bobID, "a")
        #expect(try box.slots("a.vault").map { $0["kind"] } == [.string("x25519")])
        try box.write("b", "contents")
        let unknown = try run("encrypt", "-r", String(repeating: "0", count: 32), "b")
        #expect(unknown.ending == .status(78) && unknown.errors.contains("no recipient and no identity with this ID"))
        try done("key", "group", "team", "bob")
        try done("key", "retire", "bob")
        let former = try run("encrypt", "-r", "team", "b")
        #expect(former.ending == .status(64) && former.errors.contains("all members of 'team' are former"))
    }

    @Test("inspect and ls name recipients of an unlocked keyring") func slotNames() throws {
        try prepare()
        try box.write("a", "contents")
        try done("encrypt", "-k", "work", "-r", "bob", "a")
        let shown = try run("inspect", "--unlock", "file:unlocker", "a.vault")
        #expect(shown.text.contains(" x25519 bob\n"), "\(shown.text)")
        #expect(try run("ls", "--unlock", "file:unlocker", "a.vault").text.contains("work, bob"))
        #expect(try box.run("inspect", "a.vault").text.contains(" x25519\n"))
    }

    @Test("what has no secret is not exported") func exportingPeople() throws {
        try prepare()
        try done("key", "group", "team", "bob")
        for name in ["bob", "team"] {
            let refused = try run("key", "export", "-o", "out", name)
            #expect(refused.ending == .status(64) && refused.errors.contains("has no secret to export"))
        }
        #expect(box.bytes("out") == nil)
    }

    @Test("reencrypt gives up one's own access only with consent") func accessLoss() throws {
        try prepare()
        try box.write("a", "contents")
        try done("encrypt", "-r", "me", "-r", "bob", "a")
        let before = box.bytes("a.vault")
        let refused = try run("reencrypt", "--remove", "others", "-r", "bob", "a.vault")
        #expect(refused.ending == .status(77), "\(refused.errors)")
        #expect(refused.errors.contains("nothing that was given here would open the new container"))
        #expect(box.bytes("a.vault") == before)
        // Access that stays needs no consent.
        try done("reencrypt", "--remove", "others", "-r", "me", "-r", "bob", "a.vault")
        try done("reencrypt", "--give-up-access", "--remove", "others", "-r", "bob", "a.vault")
        #expect(try run("verify", "a.vault").ending != .status(0))
    }

    @Test("reencrypt names those whose slots would be lost, also former ones") func lossByName() throws {
        try prepare()
        try box.write("a", "contents")
        try done("encrypt", "-k", "work", "-r", "bob", "a")
        try done("key", "retire", "bob")
        let refused = try run("reencrypt", "--same-recipients", "-k", "work", "a.vault")
        #expect(refused.ending == .status(77) && refused.errors.contains(" (bob)"), "\(refused.errors)")
    }

    @Test("one's own hidden slot is removed by its name") func removingOwn() throws {
        try prepare()
        try box.write("a", "contents")
        try done("encrypt", "-k", "work", "-r", "me", "--anonymous", "a")
        let removed = try run("rotate", "-k", "work", "--remove", "me", "a.vault")
        #expect(removed.ending == .status(0) && !removed.errors.contains("hidden"), "\(removed.errors)")
        #expect(try box.slots("a.vault").map { $0["kind"] } == [.string("key")])
    }

    @Test("a hidden slot that stays is named for each container, and one's own is not") func hiddenStays() throws {
        try prepare()
        for name in ["a", "b", "c"] { try box.write(name, "contents") }
        try done("encrypt", "-k", "work", "-r", "bob", "--anonymous", "a")
        try done("encrypt", "-k", "work", "-r", "bob", "b")
        try done("encrypt", "-k", "work", "-r", "me", "--anonymous", "c")
        let removed = try run("rotate", "--remove", "bob", "a.vault", "b.vault", "c.vault")
        #expect(removed.ending == .status(0))
        let warnings = removed.errors.split(separator: "\n").filter { $0.contains("a hidden slot stays") }
        #expect(warnings.count == 1 && warnings[0].contains("a.vault"), "\(removed.errors)")
    }

    @Test("retire makes a recipient former, and use brings it back") func states() throws {
        try prepare()
        try done("key", "group", "team", "alice", "me")
        #expect(try done("key", "retire", "alice") == "alice: is former\n")
        #expect(
            try list() == [
                "current work", "former alice", "recipient bob", "identity me", "group team: alice (former), me",
            ])
        #expect(try done("key", "show", "team") == done("key", "show", "me"))
        #expect(try done("key", "use", "alice") == "alice: is a recipient\n")
        #expect(try done("key", "show", "team").split(separator: "\n").count == 2)
        for words in [["retire", "me"], ["use", "me"], ["use", "team"], ["retire", "team"]] {
            #expect(try run("key", words[0], words[1]).ending == .status(64))
        }
        #expect(try list()[0] == "current work")
    }

    @Test("groups are made, changed and deleted") func groups() throws {
        try prepare()
        #expect(try done("key", "group", "team", "alice", "bob") == "team: group of alice, bob\n")
        #expect(try done("key", "group", "team", "bob", "me", "--remove", "alice") == "team: group of bob, me\n")
        #expect(try done("key", "show", "team") == "\(Self.bob)\n" + done("key", "show", "me"))
        #expect(try done("key", "group", "team", "alice") == "team: group of bob, me, alice\n")
        // Several members after --remove leave; none of them is added.
        #expect(try done("key", "group", "team", "--remove", "bob", "alice") == "team: group of me\n")
        try done("key", "group", "team", "bob", "--remove", "me")
        try done("key", "group", "team", "me")
        for (words, reason) in [
            ("team", "names no member"), ("team nobody", "is not in the keyring"), ("team work", "no recipient"),
            ("team --remove alice", "not a member"), ("team --remove bob --remove me", "no member would be left"),
            ("alice bob", "is no group"), ("team alice --delete", "--delete"), ("file alice", "valid name"),
            ("new --delete", "is not in the keyring"), ("teams team", "no recipient"),
        ] {
            let refused = try box.run(
                (["key", "group"] + words.split(separator: " ").map(String.init)).map { Array($0.utf8) },
                environment: Self.unlocked)
            #expect(refused.ending != .status(0) && refused.errors.contains(reason), "\(words): \(refused.errors)")
        }
        #expect(try list().last == "group team: bob, me")
        #expect(try done("key", "group", "team", "--delete") == "team: group is removed\n")
        #expect(try list() == ["current work", "recipient alice", "recipient bob", "identity me"])
    }

    @Test("a destroyed identity leaves its groups, and a recipient cannot be destroyed") func destroying() throws {
        try prepare()
        try done("key", "group", "team", "alice", "me")
        try done("key", "group", "mine", "me")
        let refused = try run("key", "destroy", "--yes", "alice")
        #expect(
            refused.ending == .status(64) && refused.errors.contains("no secret")
                && refused.errors.contains("key retire"))
        #expect(try run("key", "destroy", "--yes", "team").errors.contains("key group NAME --delete"))
        let destroyed = try run("key", "destroy", "--yes", "me", "--scan", ".")
        #expect(destroyed.ending == .status(0) && destroyed.text.hasPrefix("me: identity "), "\(destroyed.errors)")
        #expect(
            destroyed.text.hasSuffix(" is destroyed\n")
                && destroyed.errors.contains("group 'mine': warning: had no other member"))
        #expect(destroyed.errors.contains("identity 'me': warning: is not counted"))
        #expect(
            try list() == ["current work", "recipient alice", "recipient bob", "destroyed me", "group team: alice"])
        #expect(try run("key", "show", "me").errors.contains("destroyed"))
        #expect(try run("key", "destroy", "--yes", "--all").ending == .status(0))
        #expect(
            try list() == ["destroyed work", "recipient alice", "recipient bob", "destroyed me", "group team: alice"])
    }

    @Test("a name of a recipient is no key") func noKey() throws {
        try prepare()
        try box.write("a", "contents")
        for name in ["alice", "me"] {
            let refused = try run("encrypt", "-k", name, "a")
            #expect(refused.ending == .status(64) && refused.errors.contains("-r \(name) encrypts to it"))
        }
        #expect(try run("encrypt", "a").ending == .status(0))
        #expect(try run("rotate", "a.vault").text == "current\ta.vault\n")
    }

    @Test("JSON has the recipient and the members") func json() throws {
        try prepare()
        try done("key", "group", "team", "alice", "bob")
        let lines = try done("key", "list", "--json").split(separator: "\n")
        #expect(lines.count == 5)
        #expect(lines[1].contains(#""recipient":"\#(Self.alice)""#) && lines[1].contains(#""state":"recipient""#))
        #expect(lines[4].contains(#""members":["alice","bob"]"#) && !lines[4].contains("keyID"))
        #expect(lines[3].contains(#""state":"identity""#) && !lines[3].contains("SECRET"))
    }

    @Test("a backup counts keys and identities, and keeps the only identity") func backup() throws {
        try prepare()
        try Host.makeFolder(box.path("bk"))
        #expect(try done("key", "backup", "bk") == "bk/keyring.vault: 2 keys\n")
        try done("key", "generate", "--recipient", "--x25519", "--name", "new")
        let refused = try run("key", "restore", "bk")
        #expect(refused.ending != .status(0) && refused.errors.contains("would be lost: identity 'new'"))
        try done("key", "backup", "bk")
        try done("key", "group", "team", "alice")
        #expect(try done("key", "restore", "bk") == "ring.vault: 3 keys\n")
    }
}
