import SystemPackage
import Testing
import VaultFile

@testable import VaultCommand

/// Identities: where they come from, and what is said if none opens.
@Suite struct IdentityTests {
    private static let secret = "AGE-SECRET-KEY-1GFPYYSJZGFPYYSJZGFPYYSJZGFPYYSJZGFPYYSJZGFPYYSJZGFPQ4EGAEX"

    private func prepared() throws -> (box: Sandbox, alice: String) {
        let box = try Sandbox()
        try box.write("a", "contents")
        let alice = try box.makeIdentity("alice")
        #expect(try box.run("encrypt", "-r", alice, "a").ending == .status(0))
        return (box, alice)
    }

    @Test("a file of several identities, with comments") func several() throws {
        let (box, _) = try prepared()
        try box.write("all", "# one\n\(Self.secret)\n\n# two\n\(box.text("alice") ?? "")", mode: .ownerReadWrite)
        let outcome = try box.run("decrypt", "-i", "all", "-o", "-", "a.vault")
        #expect(outcome.ending == .status(0) && outcome.text == "contents" && outcome.errors == "")
        #expect(try box.run("inspect", "-i", "all", "a.vault").text.contains("opened by the identity in all (2)"))
        #expect(try box.run("decrypt", "-i", "-", "-o", "-", "a.vault", input: box.text("all")).text == "contents")
        #expect(try box.run("decrypt", "-i", "-", "-o", "-", "-", input: box.text("all")).ending == .status(64))
        try Host.changeMode(box.path("all"), to: [.ownerReadWrite, .groupRead, .otherRead])
        let open = try box.run("decrypt", "-i", "all", "-o", "-", "a.vault")
        #expect(open.ending == .status(0) && open.errors.contains("all: warning: others can read this identity"))
    }

    @Test("a long file of identities") func long() throws {
        let (box, _) = try prepared()
        let comment = "# " + String(repeating: "x", count: 200_000) + "\n"
        try box.write("all", comment + (box.text("alice") ?? ""), mode: .ownerReadWrite)
        #expect(try box.run("verify", "-i", "all", "a.vault").ending == .status(0))
        try box.write("all", String(repeating: comment, count: 11), mode: .ownerReadWrite)
        let tooLong = try box.run("verify", "-i", "all", "a.vault")
        #expect(tooLong.ending == .status(78) && tooLong.errors.contains("all: it is longer than "))
    }

    @Test("an identity in an argument is refused and not repeated") func argument() throws {
        let (box, _) = try prepared()
        for words in [
            ["encrypt", "-r", Self.secret, "-o", "x", "a"], ["encrypt", "-i", Self.secret, "-o", "x", "a"],
            ["rotate", "-i", "alice", "--add", Self.secret, "a.vault"],
            ["rotate", "-i", "alice", "--add", "recipient:" + Self.secret, "a.vault"],
            ["rotate", "-i", "alice", "--remove", "identity-file:" + Self.secret, "a.vault"],
            ["ls", "-i", Self.secret, "a.vault"],
        ] {
            let outcome = try box.run(words.map { Array($0.utf8) })
            #expect(outcome.ending == .status(64), "\(words)")
            #expect(outcome.errors.contains("is an identity") && !outcome.errors.contains(Self.secret.suffix(20)))
        }
    }

    @Test("an identity file that is a container opens with the keyring or a key file") func sealed() throws {
        let (box, _) = try prepared()
        let keyring = ["VAULTFILE_KEYRING=ring", "VAULTFILE_UNLOCK=unprotected"]
        #expect(try box.run("key", "generate", "--unprotected", environment: keyring).ending == .status(0))
        #expect(try box.run("encrypt", "-o", "sealed", "alice", environment: keyring).ending == .status(0))
        try Host.changeMode(box.path("sealed"), to: [.ownerReadWrite, .otherRead])
        let names = try box.names()
        let outcome = try box.run("decrypt", "-i", "sealed", "-o", "-", "a.vault", environment: keyring)
        #expect(outcome.ending == .status(0) && outcome.text == "contents" && outcome.errors == "")
        #expect(try box.names() == names)
        let piped = try box.run(
            ["decrypt", "-i", "-", "-o", "-", "a.vault"].map { Array($0.utf8) }, input: box.bytes("sealed"),
            piped: true,
            environment: keyring)
        #expect(piped.text == "contents")
        let without = try box.run("decrypt", "-i", "sealed", "-o", "-", "a.vault")
        #expect(without.ending == .status(78) && without.errors.contains("sealed: no key was given: it needs key "))
        try box.makeKey()
        #expect(try box.run("encrypt", "-f", "--key-file", "key", "-o", "sealed", "a").ending == .status(0))
        let other = try box.run("verify", "-i", "sealed", "a.vault", environment: ["VAULTFILE_KEY_FILE=key"])
        #expect(other.ending == .status(78) && other.errors.contains("sealed: line 1: it is not an identity"))
    }

    @Test("its passphrase is asked for once in a run, and again if it was mistyped") func sealedByPassphrase() throws {
        let (box, alice) = try prepared()
        try box.write("words", "secret\n", mode: .ownerReadWrite)
        #expect(
            try box.run("encrypt", "--passphrase-file", "words", "-o", "sealed", "alice").ending == .status(0))
        #expect(try box.run("encrypt", "-r", alice, "-o", "b.vault", "a").ending == .status(0))
        let terminal = try PseudoTerminal()
        let run = try box.start(
            ["verify", "-i", "sealed", "a.vault", "b.vault"].map { Array($0.utf8) }, terminal: terminal)
        _ = try terminal.expect("Passphrase for sealed: ")
        try terminal.type("wrong\n")
        _ = try terminal.expect("Wrong passphrase.")
        _ = try terminal.expect("Passphrase for sealed: ")
        try terminal.type("secret\n")
        let outcome = run.end()
        #expect(
            outcome.ending == .status(0) && outcome.text == "a.vault: intact\nb.vault: intact\n", "\(outcome.errors)")
    }

    @Test("a command that prints identities") func command() throws {
        let (box, _) = try prepared()
        #expect(try box.run("decrypt", "--identity-command", "cat alice", "-o", "-", "a.vault").text == "contents")
        let failing = try box.run("verify", "--identity-command", "exit 3", "a.vault")
        #expect(failing.ending == .status(78) && failing.errors.contains("the command failed with status 3"))
        let empty = try box.run("verify", "--identity-command", "true", "a.vault")
        #expect(empty.ending == .status(78) && empty.errors.contains("--identity-command: there is no identity in it"))
        let added = try box.run(
            "rotate", "-i", "alice", "--add", "identity-command:echo \(Self.secret)", "--remove", "identity-file:alice",
            "a.vault")
        #expect(added.ending == .status(0), "\(added.errors)")
        try box.write("other", Self.secret, mode: .ownerReadWrite)
        #expect(try box.run("verify", "-i", "other", "a.vault").ending == .status(0))
    }

    @Test(
        "what is no file of identities is refused, with the command that helps",
        arguments: [
            ("ssh under a passphrase", "ssh-keygen -p -N '' -f COPY takes the passphrase off"),
            (
                "-----BEGIN RSA PRIVATE KEY-----\nAAAA\n-----END RSA PRIVATE KEY-----\n",
                "ssh-keygen -p -N '' -f COPY converts"
            ),
            ("age-encryption.org/v1\n-> X25519 x\n\u{0}", "--identity-command 'age -d FILE'"),
            ("-----BEGIN AGE ENCRYPTED FILE-----\nAAAA\n", "--identity-command 'age -d FILE'"),
            ("AGE-PLUGIN-YUBIKEY-1QWT50D05NH5VUTPDZMLG5WN80XQ5NEGM4UJ9GHV0SNVDD3YYSF5YW3RHL3T\n", ""),
            ("VAULTFILE-KEY-1QQQSYQCYQ5RQWZQFPG9SCRGWPUGPZYSNZS23V9CCRYDPK8QARC0S67YV7J\n", "--key-file reads"),
            ("age10xnrrmk7r0uunrcjqvkdatwsu7s8jwv0c7rt3rxggmkgntu955dq25yyzj\n", "a public key opens nothing"),
            ("ssh-ed25519 AAAA me\n", "a public key opens nothing"), ("", ""), ("words\n", ""),
        ])
    func refused(_ text: String, _ hint: String) throws {
        let (box, _) = try prepared()
        var text = text
        if text == "ssh under a passphrase" {
            guard Sandbox.has("ssh-keygen") else { return }
            try box.shell("ssh-keygen -q -t ed25519 -N secret -f key")
            text = box.text("key") ?? ""
        }
        try box.write("file", text, mode: .ownerReadWrite)
        let outcome = try box.run("decrypt", "-i", "file", "-o", "-", "a.vault")
        #expect(outcome.ending == .status(78) && outcome.output.isEmpty, "\(outcome.errors)")
        #expect(hint == "" || outcome.errors.contains("hint: \(hint)"), "\(outcome.errors)")
    }

    @Test("what is missing is said: the kinds of identities, and that another context was used") func missing() throws {
        let (box, alice) = try prepared()
        try box.makeIdentity("bob")
        let none = try box.run("verify", "a.vault")
        #expect(none.ending == .status(78) && none.errors.contains("no key was given: it needs an X25519 identity"))
        #expect(none.errors.contains("hint: -i FILE gives the identity"))
        let other = try box.run("verify", "--json", "-i", "bob", "a.vault")
        #expect(other.ending == .status(77) && other.errors.contains("it needs another X25519 identity"))
        #expect(try JSON(parsing: other.text)["error"] == .string("wrongKey"))
        let piped = try box.run(
            ["decrypt", "-i", "bob"].map { Array($0.utf8) }, input: box.bytes("a.vault"), piped: true)
        #expect(piped.ending == .status(77) && piped.errors.contains("it needs another identity"))
        try box.makeKey()
        try box.run("encrypt", "-r", alice, "--key-file", "key", "--context", "x", "-o", "b.vault", "a")
        let both = try box.run("rotate", "-i", "bob", "--add", "file:alice", "b.vault")
        #expect(
            both.ending == .status(78)
                && both.errors.contains("hint: -i reads a file of identities; in K, identity-file"))
        let context = try box.run("decrypt", "-i", "alice", "-o", "x", "b.vault")
        #expect(context.ending == .status(77))
        #expect(context.errors.contains("it has a slot for the identity in alice, which does not open it"))
        #expect(context.errors.contains("--context"))
        let rotated = try box.run("rotate", "-i", "bob", "--add", "file:key", "a.vault")
        #expect(rotated.ending == .status(77))
        #expect(rotated.errors.contains("another X25519 identity"), "\(rotated.errors)")
    }

    @Test("edit, cat and recover take an identity; edit keeps its slot") func otherVerbs() throws {
        let (box, _) = try prepared()
        #expect(try box.run("cat", "-i", "alice", "a.vault").text == "contents")
        #expect(try box.run("recover", "-i", "alice", "-o", "left", "a.vault").ending == .status(0))
        #expect(box.text("left") == "contents")
        #expect(try box.run("repair", "-i", "alice", "a.vault").ending == .status(0))
        let edited = try box.run(
            "edit", "--allow-disk", "-i", "alice", "a.vault", environment: ["EDITOR=sed -i s/con/CON/", "TMPDIR=/tmp"])
        #expect(edited.ending == .status(0), "\(edited.errors)")
        #expect(try box.run("cat", "-i", "alice", "a.vault").text == "CONtents")
        #expect(try box.slots("a.vault").count == 1)
    }

    @Test("no run replaces or removes a file of identities") func holders() throws {
        let (box, alice) = try prepared()
        try Host.makeFolder(box.path("d"))
        try box.shell("cp alice d/alice; cp a d/a")
        let walk = try box.run("encrypt", "--recursive", "--remove-source", "-f", "-r", alice, "d")
        #expect(
            walk.ending == .status(0)
                && walk.errors.contains("d/alice: warning: is a file of identities, and was skipped"))
        #expect(box.bytes("d/alice") != nil && box.bytes("d/a") == nil)
        #expect(try box.run("decrypt", "-f", "-i", "alice", "-o", "d/alice", "a.vault").ending == .status(73))
        #expect(try box.run("encrypt", "--remove-source", "-i", "alice", "-o", "x", "alice").ending == .status(64))
        #expect(box.bytes("alice") != nil)
    }

    @Test(
        "a keyring is not unlocked by identities or public keys",
        arguments: ["identity-file:alice", "age1x", "recipient:x"])
    func noUnlocker(_ word: String) throws {
        let (box, _) = try prepared()
        let outcome = try box.run("key", "list", "--unlock", word, environment: ["VAULTFILE_KEYRING=ring"])
        #expect(outcome.ending == .status(64) && outcome.errors.contains("unlock no keyring"), "\(outcome.errors)")
    }
}
