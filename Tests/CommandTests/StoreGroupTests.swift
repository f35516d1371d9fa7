import SystemPackage
import Testing
import VaultFile

@testable import VaultCommand

/// The verbs of a group of stores, and stores that `--account` names.
@Suite struct StoreGroupTests {
    /// A folder with the group `up`, which the key file `k` opens.
    final class Scene {
        let box: Sandbox

        init() throws {
            // Making 256 shards waits a thousand times until a disk has written something. In memory that takes no time.
            box = try Sandbox(in: (try? FilePath("/dev/shm").stat())?.type == .directory ? "/dev/shm" : nil)
            for name in ["k", "new"] { try box.makeKey(name) }
            let made = try box.run("store", "group", "create", "-S", "up", "--device-key", "file:k")
            #expect(made.ending == .status(0) && made.text == "up: is a group of stores\n", "\(made.errors)")
        }

        @discardableResult
        func run(
            _ verb: String, _ account: String?, _ words: [String] = [], key: String = "k", input: String? = nil
        ) throws -> Sandbox.Outcome {
            let named = account.map { ["--account", $0] } ?? []
            let verbs = verb.split(separator: " ").map(String.init)
            return try box.run(
                (["store"] + verbs + ["-S", "up", "--device-key", "file:\(key)"] + named + words).map {
                    Array($0.utf8)
                }, input: input.map { Array($0.utf8) })
        }

        func add(_ account: String, _ text: String = "text") throws {
            let made = try run("create", account)
            #expect(made.ending == .status(0), "\(made.errors)")
            try put(account, text)
        }

        func put(_ account: String, _ text: String) throws {
            let put = try run("put", account, ["--class", "always", "--as", "a"], input: text)
            #expect(put.ending == .status(0), "\(put.errors)")
        }

        func shell(_ script: String) throws -> String {
            try Sandbox.shell("cd \"$1\" && \(script)", [Array(box.folder.string.utf8)])
        }

        /// The folder of the store of an account.
        func store(_ account: String) throws -> String {
            let status = try run("status", account)
            return String(status.text.prefix { $0 != ":" })
        }
    }

    @Test("a group that lost its first shard gets no other group key") func lostFirstShard() throws {
        let scene = try Scene()
        try scene.add("4711", "one")
        _ = try scene.shell("mkdir kept && mv up/shards/00.* kept")
        let refused = try scene.run("group create", nil)
        #expect(refused.ending == .status(73) && refused.errors.contains("shards/00.vault"), "\(refused.errors)")
        _ = try scene.shell("mv kept/00.* up/shards")
        #expect(try scene.run("get", "4711", ["a"]).text == "one")
    }

    @Test("accounts have stores of their own; verbs find them by --account") func accounts() throws {
        let scene = try Scene()
        try scene.add("4711", "one")
        try scene.add("4712", "two")
        #expect(try scene.run("get", "4711", ["a"]).text == "one")
        #expect(try scene.run("get", "4712", ["a"]).text == "two")
        #expect(try scene.run("create", "4711").ending == .status(73))
        let store = try scene.store("4711")
        #expect(store.hasPrefix("up/stores/a") && store.utf8.count == 43, "\(store)")
        #expect(try !scene.shell("find up").contains("4711"))
        for (verb, words) in [
            ("list", []), ("list", ["-l"]), ("check", []), ("check", ["--repair"]), ("status", []),
            ("move", ["a", "b"]), ("protect", ["--class", "always", "b"]), ("rotate", ["--class", "always"]),
            ("get", ["b"]), ("remove", ["b"]),
        ] {
            let done = try scene.run(verb, "4711", words)
            #expect(done.ending == .status(0), "\(verb): \(done.errors)")
        }
        #expect(try scene.run("list", "4711").text.isEmpty && scene.run("list", "4712").text == "a\n")
        // A store of a group is unlocked as any other.
        try scene.box.makeKey("me")
        #expect(try scene.run("create", "4713", ["--unlock", "file:me"]).ending == .status(0))
        let put = try scene.run("put", "4713", ["--unlock", "file:me", "--class", "complete", "--as", "x"], input: "y")
        #expect(put.ending == .status(0), "\(put.errors)")
        #expect(try scene.run("get", "4713", ["x"]).ending == .status(79))
        #expect(try scene.run("get", "4713", ["--unlock", "file:me", "x"]).text == "y")
        try refusals(scene)
        try interruption(scene)
        try json(scene)
        try wiped(scene)
    }

    /// What a message says about one account must not lead to the end of all.
    private func wiped(_ scene: Scene) throws {
        try scene.add("8000")
        let store = try scene.store("8000")
        _ = try scene.box.run("store", "wipe", "-S", store, "--yes")
        for verb in ["list", "create"] {
            let gone = try scene.run(verb, "8000")
            #expect(gone.ending == .status(80), "\(gone.errors)")
            #expect(gone.errors.hasPrefix("vaultfile: up: the store of the account 8000 was wiped (gone)\n"))
            #expect(gone.errors.contains("hint: vaultfile store group erase"))
            #expect(!gone.errors.contains("remove the folder"))
        }
        #expect(try scene.run("group erase", "8000", ["--yes"]).ending == .status(0))
        try scene.add("8000", "new")
        #expect(try scene.run("get", "8000", ["a"]).text == "new")
        // A shard is lost.
        _ = try scene.shell("mv up/shards/fe.vault kept")
        let lacking = try scene.run("group renew", nil)
        #expect(lacking.ending == .status(66) && lacking.errors.contains("up/shards/fe.vault: is missing\n"))
        try olderShard(scene)
        _ = try scene.shell("mv kept up/shards/fe.vault")
    }

    /// A shard from before its store gets no line: an erasure would then wipe a store that the newer shard opens.
    private func olderShard(_ scene: Scene) throws {
        _ = try scene.shell("cp -a up/shards old")
        try scene.add("9000", "nine")
        _ = try scene.shell("mv up/shards newer && mv old up/shards")
        let refused = try scene.run("create", "9000")
        #expect(
            refused.ending == .status(73) && refused.errors.contains("put the newer shard back"), "\(refused.errors)")
        #expect(try scene.run("group erase", "9000", ["--yes"]).ending == .status(66))
        _ = try scene.shell("rm -r up/shards && mv newer up/shards")
        #expect(try scene.run("get", "9000", ["a"]).text == "nine")
    }

    @Test("a missing shard is named") func missingShard() throws {
        let scene = try Scene()
        try scene.add("4711")
        let shard = try scene.shell("cd up/shards && ls -t *.vault | head -n 1").dropLast()
        for file in ["\(shard)", "\(shard).key"] {
            _ = try scene.shell("mv up/shards/\(file) kept")
            for verb in ["list", "create", "group erase"] {
                let lacking = try scene.run(verb, "4711", verb == "group erase" ? ["--yes"] : [])
                #expect(
                    lacking.errors.hasPrefix("vaultfile: up/shards/\(file): is missing\nvaultfile: hint: restore it"),
                    "\(lacking.errors)")
            }
            _ = try scene.shell("mv kept up/shards/\(file)")
        }
        _ = try scene.shell("mv up/shards/00.vault kept")
        #expect(
            try scene.run("list", "4711").errors.contains(
                "up/shards/00.vault: is missing\nvaultfile: hint: if store group create"))
    }

    private func refusals(_ scene: Scene) throws {
        let none = try scene.run("list", "none")
        #expect(none.ending == .status(66) && none.errors.contains("(noSuchAccount)"), "\(none.errors)")
        #expect(none.errors.contains("up: there is no account none (noSuchAccount)"), "\(none.errors)")
        #expect(try scene.run("group erase", "none", ["--yes"]).ending == .status(66))
        #expect(try scene.run("group erase", nil, ["--yes"]).ending == .status(64))
        #expect(try scene.run("list", "").errors.contains("(invalidName)"))
        let wrong = try scene.run("list", "4712", key: "new")
        #expect(wrong.ending == .status(77) && wrong.errors.contains("does not open the group (wrongKey)"))
        #expect(try scene.run("group create", nil).ending == .status(73))
        #expect(try scene.run("wipe", "4712", ["--yes"]).ending == .status(64), "wipe leaves the key of the account")
        #expect(try scene.run("wipe", nil, ["--yes"]).ending == .status(66), "a group is no store")
        #expect(try scene.run("create", nil).ending == .status(73))
        let exchange = try scene.run("rotate", "4712", ["--new-device-key", "file:new"])
        #expect(exchange.ending == .status(64) && exchange.errors.contains("store group renew"))
        let asked = try scene.run("group erase", "4712")
        #expect(asked.ending == .status(78) && asked.errors.contains("--yes does it without asking"))
        #expect(try scene.run("get", "4712", ["a"]).text == "two")
        let bytes = try scene.box.run(
            ["store", "list", "-S", "up", "--device-key", "file:k", "--account"].map { Array($0.utf8) } + [[0xFF]])
        #expect(bytes.ending == .status(64) && bytes.errors.contains("is not UTF-8"))
    }

    /// The key is destroyed, and the run ends before the store is wiped. The same command finishes it.
    private func interruption(_ scene: Scene) throws {
        try scene.add("5000")
        let store = try scene.store("5000")
        _ = try scene.shell("cp -r \(store) saved")
        let done = try scene.run("group erase", "5000", ["--yes"])
        #expect(done.ending == .status(0) && done.text == "up: the account 5000 is erased\n", "\(done.errors)")
        #expect(done.errors.isEmpty, "a single key unlocks the group, so nothing is left to renew")
        _ = try scene.shell("rm -r \(store) && cp -r saved \(store)")
        #expect(try scene.run("get", "5000", ["a"]).ending == .status(66))
        let again = try scene.run("group erase", "5000", ["--yes"])
        #expect(again.ending == .status(0), "\(again.errors)")
        #expect(again.text == "up: the account 5000 was erased before\n")
        #expect(try scene.shell("ls -A \(store)") == "gone\nitems\nlock\n")
        // An account that comes back finishes an erasure too.
        _ = try scene.shell("rm -r \(store) && cp -r saved \(store)")
        try scene.add("5000", "new")
        #expect(try scene.shell("ls -A \(store)") == "gone\nitems\nlock\n")
        #expect(try scene.run("get", "5000", ["a"]).text == "new" && scene.store("5000") != store)
    }

    @Test("an old backup of a shard opens backups of the store; renew ends that for the shard alone") func backup()
        throws
    {
        let scene = try Scene()
        try scene.add("4711", "one")
        let store = try scene.store("4711")
        _ = try scene.shell("mkdir old && cp -r up/shards \(store) old")
        #expect(try scene.run("group erase", "4711", ["--yes"]).ending == .status(0))
        let kept = try scene.shell("rm -r \(store) && cp -r old/a* up/stores && ls up/stores")
        #expect(try scene.run("get", "4711", ["a"]).ending == .status(66), "the shards of today: \(kept)")
        // Without their unlock files, old shards are worth nothing.
        let changed = try scene.shell(
            "for f in old/shards/*.vault; do cmp -s $f up/shards/${f##*/} || echo ${f##*/}; done")
        #expect(changed.split(separator: "\n").count == 1)
        let shard = changed.split(separator: "\n")[0]
        _ = try scene.shell("cp up/shards/\(shard) now && cp old/shards/\(shard) up/shards/")
        let mixed = try scene.run("get", "4711", ["a"])
        #expect(mixed.ending == .status(77) && mixed.errors.contains("(keyringMismatch)"), "\(mixed.errors)")
        _ = try scene.shell("cp up/shards/\(shard).key key && cp old/shards/\(shard).key up/shards/")
        #expect(try scene.run("get", "4711", ["a"]).text == "one", "with both files the account is there again")
        _ = try scene.shell("cp now up/shards/\(shard) && cp key up/shards/\(shard).key")
        #expect(try scene.run("get", "4711", ["a"]).ending == .status(66))

        let renewed = try scene.run("group renew", nil)
        #expect(renewed.text == "up: 1 shard has a new unlock key\n", "\(renewed.errors)")
        let exchanged = try scene.run("group renew", nil, ["--new-device-key", "file:new"])
        #expect(exchanged.text == "up: has another key; 256 shards have new unlock keys\n", "\(exchanged.errors)")
        #expect(try scene.run("list", "4711").ending == .status(77))
        // As after an interruption: the last shard still has the old key.
        _ = try scene.shell("cp old/shards/ff.* up/shards")
        let again = try scene.run("group renew", nil, ["--new-device-key", "file:new"])
        #expect(again.ending == .status(0), "\(again.errors)")
        #expect(try scene.run("create", "4712", key: "new").ending == .status(0))
        #expect(try scene.run("group renew", nil, key: "new").text == "up: 1 shard has a new unlock key\n")
    }

    private func json(_ scene: Scene) throws {
        let schema = try JSONSchema()
        for (verb, account, words) in [
            ("create", "6000", []), ("status", "6000", []), ("list", "6000", []), ("list", "none", []),
            ("group erase", "6000", ["--yes"]), ("group erase", "6000", ["--yes"]), ("group erase", "none", ["--yes"]),
            ("group create", nil, []), ("group renew", nil, []),
        ] {
            let outcome = try scene.run(verb, account, words + ["--json"])
            let lines = (outcome.text + outcome.errors).split(separator: "\n")
            #expect(!lines.isEmpty)
            for line in lines {
                let value = try JSON(parsing: String(line))
                #expect(schema.violations(of: value) == [], "\(line)")
                #expect(value["verb"] == .string("store \(verb)"))
            }
        }
    }

    @Test("on a terminal, erase does nothing unless the answer is yes; a key in the folder is warned of") func asks()
        throws
    {
        let scene = try Scene()
        try scene.add("4711")
        for (answer, status) in [("no", Int32(64)), ("yes", 0)] {
            let terminal = try PseudoTerminal()
            let running = try scene.box.start(
                ["store", "group", "erase", "-S", "up", "--device-key", "file:k", "--account", "4711"]
                    .map { Array($0.utf8) }, terminal: terminal)
            _ = try terminal.expect("for ever?")
            try terminal.type("\(answer)\n")
            #expect(running.end().ending == .status(status))
            #expect(try scene.run("get", "4711", ["a"]).ending == .status(answer == "no" ? 0 : 66))
        }
        _ = try scene.shell("cp -p k up/stores/k")
        let made = try scene.run("create", "4712", key: "up/stores/k")
        #expect(made.errors.contains("is in the folder of the group"), "\(made.errors)")
    }
}
