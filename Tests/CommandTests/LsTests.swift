import SystemPackage
import Testing

@testable import VaultCommand

/// `vaultfile ls`, and the names of keys in `inspect`.
@Suite struct LsTests {
    /// A keyring with the key `work` that the key file `lock` unlocks, and containers of that key and of `key`.
    private func prepared() throws -> Sandbox {
        let box = try Sandbox()
        for name in ["key", "lock"] { try box.makeKey(name) }
        let made = try box.run(
            "key", "generate", "--name", "work", "--unlock", "file:lock", environment: ["VAULTFILE_KEYRING=ring"])
        #expect(made.ending == .status(0))
        try Host.makeFolder(box.path("data"))
        try Host.makeFolder(box.path("data/deep"))
        for name in ["data/a", "data/b", "data/deep/c"] { try box.write(name, String(repeating: "x", count: 5000)) }
        let unlocked = ["VAULTFILE_KEYRING=ring", "VAULTFILE_UNLOCK=file:lock"]
        #expect(try box.run("encrypt", "data/a", "data/deep/c", environment: unlocked).ending == .status(0))
        #expect(
            try box.run("encrypt", "-k", "work", "--key-file", "key", "data/b", environment: unlocked).ending
                == .status(0))
        return box
    }

    private func id(_ box: Sandbox) throws -> String {
        String(try #require(try box.run("key", "show", "--key-file", "key").text.split(separator: " ").first))
    }

    @Test("a folder, all below it, and the working folder; keys by name if nothing is asked for") func lists() throws {
        let box = try prepared()
        let key = try id(box)
        let ring = ["VAULTFILE_KEYRING=ring"]
        let unlocked = ring + ["VAULTFILE_UNLOCK=file:lock"]
        let named = try box.run("ls", "data", environment: unlocked)
        #expect(named.ending == .status(0) && named.errors == "")
        let lines = named.text.split(separator: "\n")
        #expect(lines.count == 2)
        #expect(lines[0].split(separator: " ") == ["4.9", "KiB", "work", "data/a.vault"])
        #expect(lines[1].hasSuffix("data/b.vault") && lines[1].contains("  key \(key.prefix(8)), work  "))
        for arguments in [["ls", "data"], ["ls", "--unlock", "file:lock", "data"]] {
            let outcome = try box.run(arguments.map { Array($0.utf8) }, environment: ring)
            #expect(outcome.ending == .status(0) && outcome.errors == "")
            #expect(outcome.text.contains("work") == (arguments.count > 2))
        }
        let wrong = try box.run("ls", "--unlock", "file:key", "data", environment: ring)
        #expect(wrong.ending == .status(77) && wrong.output == [])
        #expect(try box.run("ls", "data", environment: ring + ["VAULTFILE_UNLOCK=file:key"]).ending == .status(0))
        let deep = try box.run("ls", "--recursive", "data", environment: unlocked)
        #expect(deep.text.contains("  data/deep/c.vault\n") && deep.errors.contains("ls: 3 listed, 3 passed over"))
        let here = try box.start(["ls"].map { Array($0.utf8) }, prelude: "cd data", environment: []).end()
        #expect(here.text.contains("  a.vault\n") && !here.text.contains("./") && !here.text.contains("deep"))
        let long = try box.run("ls", "-l", "data/b.vault", environment: unlocked)
        #expect(long.text.hasPrefix("          5000  key \(key), work ("))
    }

    @Test("what is no container, and what is damaged") func failures() throws {
        let box = try prepared()
        #expect(try box.run("ls", "data/a").ending == .status(65))
        #expect(try box.run("ls", "none").ending == .status(66))
        var bytes = try #require(box.bytes("data/a.vault"))
        bytes.removeLast(10)
        try box.write(Array("data/a.vault".utf8), bytes)
        let outcome = try box.run("ls", "data")
        #expect(outcome.ending == .status(65))
        #expect(outcome.text.contains("  damaged ") && outcome.text.contains("data/b.vault"))
    }

    @Test("JSON has the slots in one place, with the names of keys") func json() throws {
        let box = try prepared()
        let schema = try JSONSchema()
        let unlocked = ["VAULTFILE_KEYRING=ring", "VAULTFILE_UNLOCK=file:lock"]
        for verb in ["ls", "inspect"] {
            let outcome = try box.run(verb, "--json", "data/b.vault", environment: unlocked)
            let object = try JSON(parsing: outcome.text)
            #expect(schema.violations(of: object) == [])
            guard case .array(let slots) = object["slots"] else { throw Errno.invalidArgument }
            #expect(slots.count == 2 && slots.contains { $0["keyName"] == .string("work") })
            #expect(object["container"]?["front"]?["slots"] == .array(slots))
        }
    }

    @Test("inspect names the keys of slots, and says which one opened") func inspect() throws {
        let box = try prepared()
        let unlocked = ["VAULTFILE_KEYRING=ring", "VAULTFILE_UNLOCK=file:lock"]
        let seen = try box.run("inspect", "--key-file", "key", "data/b.vault", environment: unlocked)
        let slots = seen.text.split(separator: "\n").filter { $0.contains("    slot ") }
        #expect(slots.count == 2 && slots.contains { $0.hasSuffix("  key work, not opened") })
        let key = try id(box)
        #expect(slots.contains { $0.hasSuffix("\(key)  key, opened") })
        #expect(try !box.run("inspect", "data/b.vault", environment: ["VAULTFILE_KEYRING=ring"]).text.contains("work"))
    }
}
