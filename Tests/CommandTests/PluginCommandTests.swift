import Testing
import VaultFile
import VaultTestSupport

@testable import VaultCommand

/// Age plugins through the command, with a stand-in that works under age too.
@Suite struct PluginCommandTests {
    @Test("one session for all files of a walk, to encrypt, to open and to rotate") func walk() throws {
        let scene = try PluginScene()
        let box = scene.box
        try box.shell("mkdir d && for i in 1 2 3 4 5; do echo \"file $i\" > d/$i; done")
        #expect(try scene.run("encrypt", "--recursive", "-r", scene.recipient, "d").ending == .status(0))
        #expect(try scene.sessions() == ["wrap 5"])
        #expect(try scene.run("verify", "--recursive", "-i", "token", "d").ending == .status(0))
        #expect(try scene.sessions() == ["unwrap 5"])
        try box.makeIdentity("other")
        let rotated = try scene.run(
            "rotate", "--recursive", "-i", "token", "--add", "identity-file:other", "--remove", scene.recipient, "d")
        #expect(rotated.ending == .status(0), "\(rotated.errors)")
        #expect(try scene.sessions() == ["unwrap 5"])
        // The other identity opens them, and nothing starts the plugin for that.
        let both = try scene.run("verify", "--recursive", "-i", "token", "-i", "other", "d")
        #expect(both.ending == .status(0), "\(both.errors)")
        #expect(try scene.sessions() == [])
        let back = try scene.run("rotate", "--recursive", "-i", "other", "--add", scene.recipient, "d")
        #expect(back.ending == .status(0), "\(back.errors)")
        // The plaintext files beside the containers are counted too: nothing is known of them before the walk.
        #expect(try scene.sessions() == ["wrap 10"])
    }

    @Test("an identity in the keyring, and its recipient by name; one session for all files") func keyring() throws {
        let scene = try PluginScene()
        let box = scene.box
        try box.makeKey("unlocker")
        try box.shell("mkdir d && for i in 1 2 3; do echo \"file $i\" > d/$i; done")
        func run(_ words: String...) throws -> Sandbox.Outcome { try scene.runWithKeyring(words) }
        #expect(try run("key", "generate", "--name", "work").ending == .status(0))
        #expect(try run("key", "import", "--name", "token", "token").ending == .status(0))
        let made = try run("encrypt", "--recursive", "-r", "token", "d")
        #expect(made.ending == .status(0), "\(made.errors)")
        let verified = try run("verify", "--recursive", "d")
        #expect(verified.ending == .status(0), "\(verified.errors)")
        #expect(try scene.sessions() == ["wrap 3", "unwrap 3"])
        // What the keyring's keys open needs no plugin.
        #expect(try run("rotate", "--recursive", "--add", "work", "d").ending == .status(0))
        _ = try scene.sessions()
        #expect(try run("verify", "--recursive", "d").ending == .status(0))
        #expect(try scene.sessions() == [])
    }

    @Test("a plugin that is missing or fails has status 78, and its name") func failures() throws {
        let scene = try PluginScene()
        try scene.box.write("a", "contents")
        let missing = try scene.box.run("encrypt", "-r", scene.recipient, "a", environment: ["PATH=/usr/bin:/bin"])
        #expect(missing.ending == .status(78))
        #expect(missing.errors.contains("age-plugin-stand: there is no such program in the folders of PATH"))
        #expect(scene.box.bytes("a.vault") == nil)
        #expect(try scene.run("encrypt", "-r", scene.recipient, "a").ending == .status(0))
        let locked = try scene.run("verify", "-i", "token", "a.vault", mode: "error")
        #expect(locked.ending == .status(78) && locked.errors.contains("age-plugin-stand: the token is locked"))
        let asked = try scene.run("verify", "-i", "token", "a.vault", mode: "pin")
        #expect(asked.ending == .status(78) && asked.errors.contains("wrong PIN"))
        let other = try scene.run("encrypt", "-r", scene.recipient, "-o", "b", "a", mode: "label-x")
        #expect(other.ending == .status(64) && other.errors.contains("mixedRecipients"))
    }

    @Test("one container for six kinds of recipients: each opens it, and each rotates it") func six() throws {
        let scene = try PluginScene()
        let box = scene.box
        try box.write("a", "contents")
        try box.write("p", "correct horse\n")
        _ = try box.makeKey("k")
        try box.shell("chmod 600 k p")
        let classical = try box.makeIdentity("x25519")
        let strong = try box.makeIdentity("xwing", .xWing)
        try box.shell("ssh-keygen -q -t ed25519 -N '' -C me -f ssh")
        let made = try scene.run(
            "encrypt", "--allow-classical", "-r", classical, "-r", strong, "-R", "ssh.pub", "-r", scene.recipient,
            "--key-file", "k", "--passphrase-file", "p", "a")
        #expect(made.ending == .status(0), "\(made.errors)")
        let openers = [
            ["--passphrase-file", "p"], ["--key-file", "k"], ["-i", "x25519"], ["-i", "xwing"], ["-i", "ssh"],
            ["-i", "token"],
        ]
        for opener in openers {
            func run(_ words: [String]) throws -> Sandbox.Outcome {
                try box.run((words + opener).map { Array($0.utf8) }, environment: scene.environment)
            }
            let decrypted = try run(["decrypt", "-o", "-", "a.vault"])
            #expect(decrypted.text == "contents", "\(opener): \(decrypted.errors)")
            let name = "new\(opener[1])"
            let recipient = try box.makeIdentity(name)
            let before = try box.slots("a.vault").count
            #expect(try run(["rotate", "--allow-classical", "--add", recipient, "a.vault"]).ending == .status(0))
            #expect(try box.slots("a.vault").count == before + 1)
            #expect(try run(["rotate", "--remove", recipient, "a.vault"]).ending == .status(0))
        }
        let kinds = try box.slots("a.vault").map { $0["kind"] }
        for kind in ["passphrase", "key", "x25519", "x-wing", "stanzas"] { #expect(kinds.contains(.string(kind))) }
    }
}
