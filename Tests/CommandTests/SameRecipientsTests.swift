import SystemPackage
import Testing
import VaultFile

@testable import VaultCommand

/// Names of the keyring stand for recipients in every verb.
@Suite struct SameRecipientsTests {
    private let box: Sandbox

    /// A keyring with a key, an identity `me`, and the recipients `alice` and `bob`, whose identities are in files.
    init() throws {
        box = try Sandbox()
        try box.makeKey("unlocker")
        try box.write("a", "contents")
        try done("key", "generate", "--name", "work")
        try done("key", "generate", "--recipient", "--x25519", "--name", "me")
        for name in ["alice", "bob"] {
            try done("key", "import", "--name", name, "-r", box.makeIdentity("\(name).txt"))
        }
    }

    private func run(_ words: String...) throws -> Sandbox.Outcome {
        try box.run(
            words.map { Array($0.utf8) },
            environment: ["VAULTFILE_KEYRING=ring.vault", "VAULTFILE_UNLOCK=file:unlocker"])
    }

    @discardableResult
    private func done(_ words: String...) throws -> String {
        let outcome = try box.run(
            words.map { Array($0.utf8) },
            environment: ["VAULTFILE_KEYRING=ring.vault", "VAULTFILE_UNLOCK=file:unlocker"])
        #expect(outcome.ending == .status(0), "\(words): \(outcome.errors)")
        return outcome.text
    }

    private func opens(_ name: String, _ container: String) throws -> Bool {
        try box.run("verify", "-i", "\(name).txt", container).ending == .status(0)
    }

    @Test("encrypt to names and to a group; the identity in the keyring opens") func names() throws {
        try done("key", "group", "team", "alice", "bob")
        try done("encrypt", "-r", "team", "-r", "me", "a")
        for name in ["alice", "bob"] { #expect(try opens(name, "a.vault")) }
        #expect(try done("verify", "a.vault") == "a.vault: intact\n")
        try done("key", "retire", "bob")
        try done("encrypt", "-r", "team", "-o", "b.vault", "a")
        #expect(try opens("alice", "b.vault") && !opens("bob", "b.vault"))
        let none = try run("encrypt", "-r", "bob", "-o", "c.vault", "a")
        #expect(none.ending != .status(0) && box.bytes("c.vault") == nil)
    }

    @Test("rotate adds and removes names, former ones too") func rotate() throws {
        try done("encrypt", "-r", "me", "a")
        try done("rotate", "--add", "alice", "--add", "bob", "a.vault")
        #expect(try opens("alice", "a.vault") && opens("bob", "a.vault"))
        try done("key", "retire", "bob")
        try done("rotate", "--remove", "bob", "a.vault")
        #expect(try opens("alice", "a.vault") && !opens("bob", "a.vault"))
        #expect(try run("rotate", "--add", "bob", "a.vault").ending != .status(0))
    }

    @Test("reencrypt --same-recipients keeps those whom the keyring knows, and asks about the rest") func same() throws
    {
        let carol = try box.makeIdentity("carol.txt")
        try done("encrypt", "-r", "me", "-r", "alice", "-r", "bob", "-r", carol, "a")
        try done("key", "retire", "bob")
        let before = box.bytes("a.vault")
        let asked = try run("reencrypt", "--same-recipients", "a.vault")
        #expect(asked.ending == .status(77) && asked.errors.contains("slots would be lost"), "\(asked.errors)")
        #expect(box.bytes("a.vault") == before)
        let kept = try run("reencrypt", "--same-recipients", "--remove", "others", "a.vault")
        #expect(kept.ending == .status(0), "\(kept.errors)")
        #expect(kept.errors.contains("a slot for") && kept.errors.contains("alice") && !kept.errors.contains("bob"))
        #expect(try opens("alice", "a.vault") && !opens("bob", "a.vault") && !opens("carol", "a.vault"))
        #expect(try done("verify", "a.vault") == "a.vault: intact\n")
    }
}
