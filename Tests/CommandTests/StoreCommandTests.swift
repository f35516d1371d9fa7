import SystemPackage
import Testing
import VaultFile

@testable import VaultCommand

/// A folder with the store `s`, which the key file `me` unlocks and the key file `dev` opens.
struct StoreBox {
    let box: Sandbox
    static let environment = ["VAULTFILE_STORE=s"]

    init(unlocker: String? = "file:me") throws {
        box = try Sandbox()
        for name in ["dev", "me"] { try box.makeKey(name) }
        try box.write("a", "contents")
        let made = try run("create", unlocker.map { ["--unlock", $0] } ?? [])
        #expect(made.ending == .status(0), "\(made.errors)")
    }

    @discardableResult
    func run(_ verb: String, _ words: [String] = [], input: String? = nil) throws -> Sandbox.Outcome {
        try box.run(arguments(verb, words), input: input.map { Array($0.utf8) }, environment: Self.environment)
    }

    func arguments(_ verb: String, _ words: [String]) -> [[UInt8]] {
        let device = verb == "passphrase" ? [] : ["--device-key", "file:dev"]
        return (["store", verb] + device + words).map { Array($0.utf8) }
    }

    func put(_ name: String, _ itemClass: String, _ text: String = "contents") throws {
        let done = try run("put", ["--unlock", "file:me", "--class", itemClass, "--as", name], input: text)
        #expect(done.ending == .status(0), "\(done.errors)")
    }

    /// One item of each class, named after it.
    func putAll() throws {
        for name in ["always", "after-first-unlock", "complete"] { try put(name, name) }
    }

    /// The files of the items.
    func files() throws -> [String] {
        try Sandbox.shell("ls -A \"$1\"/items", [Array(box.path("s").string.utf8)])
            .split(separator: "\n").map(String.init).sorted()
    }
}

@Suite struct StoreCommandTests {
    @Test("a wipe follows no link, and says what it could not remove") func wipes() throws {
        let store = try StoreBox()
        try store.put("a", "complete")
        _ = try Sandbox.shell("ln -s s \"$1\"/link", [Array(store.box.folder.string.utf8)])
        let refused = try store.box.run("store", "wipe", "-S", "link", "--yes")
        #expect(refused.ending == .status(66) && refused.errors.contains("link: it is a link"), "\(refused.errors)")
        #expect(try store.run("get", ["--unlock", "file:me", "a"]).text == "contents")
        #expect(try store.box.run("store", "wipe", "-S", "./s/", "--yes").ending == .status(0))
        #expect(try store.run("list").ending == .status(80))
        let linked = try store.box.run("store", "list", "-S", "link", "--device-key", "file:dev")
        #expect(linked.ending == .status(80), "\(linked.errors)")
    }

    @Test("what put stores, get writes; an unlocked store gives all classes") func roundTrip() throws {
        let store = try StoreBox()
        try store.putAll()
        for name in ["always", "after-first-unlock", "complete"] {
            let got = try store.run("get", ["--unlock", "file:me", name])
            #expect(got.ending == .status(0) && got.text == "contents", "\(got.errors)")
        }
        let file = try store.run("put", ["--class", "always", "a"])
        #expect(file.text == "a: 8 bytes, always\n")
        #expect(try store.run("get", ["-o", "out", "a"]).ending == .status(0))
        #expect(store.box.text("out") == "contents")
        #expect(try store.box.mode("out") == 0o600)
        #expect(try store.run("get", ["-o", "out", "a"]).ending == .status(73))
        #expect(try store.run("get", ["-f", "-o", "out", "always"]).ending == .status(0))
        let empty = try store.run("put", ["--class", "always", "--as", "none"], input: "")
        #expect(empty.ending == .status(0))
        #expect(try store.run("get", ["none"]).output.isEmpty)
    }

    @Test("get replaces no key of the run, and writes no part of a damaged item to a file") func outputs() throws {
        let store = try StoreBox()
        try store.run("put", ["--class", "always", "a"])
        let key = store.box.bytes("dev")
        for name in ["dev", "me"] {
            let refused = try store.run("get", ["-f", "-o", name, "--unlock", "file:me", "a"])
            #expect(refused.ending == .status(73), "\(refused.errors)")
        }
        #expect(store.box.bytes("dev") == key)
        let file = try #require(try store.files().first)
        var bytes = try #require(store.box.bytes("s/items/\(file)"))
        bytes[600] ^= 1
        try store.box.write(Array("s/items/\(file)".utf8), bytes)
        let damaged = try store.run("get", ["-o", "out", "a"])
        #expect(damaged.ending == .status(65) && store.box.bytes("out") == nil, "\(damaged.errors)")
        #expect(try store.box.names() == ["a", "dev", "me", "s"])
        let found = try store.run("check", ["--repair"])
        #expect(found.ending == .status(65) && found.errors.contains("s/items/\(file): record 1 is damaged"))
        #expect(try store.files() == [file], "an item that is damaged stays")
    }

    @Test(
        "a sealed store refuses with 79 and says which class",
        arguments: ["after-first-unlock", "complete"])
    func locked(_ name: String) throws {
        let store = try StoreBox()
        try store.putAll()
        let got = try store.run("get", [name])
        #expect(got.ending == .status(79) && got.errors.contains("hint: --unlock K"))
        #expect(got.errors.contains("\(name): its class (after-first-unlock or complete) is locked (locked)"))
        let put = try store.run("put", ["--class", name, "--as", "new"], input: "x")
        #expect(put.ending == .status(79) && put.errors.contains("the class \(name) is locked (locked)"))
        #expect(try store.files().count == 3)
        #expect(try store.run("remove", [name]).ending == .status(0), "removing needs no key of the class")
        #expect(try store.files().count == 2)
    }

    @Test("a message names what was typed") func names() throws {
        let store = try StoreBox()
        for words in [["get", "secret-name"], ["remove", "secret-name"]] {
            let refused = try store.run(words[0], [words[1]])
            #expect(refused.ending == .status(66) && refused.errors.contains("(noSuchItem)"), "\(refused.errors)")
            #expect(refused.errors.hasPrefix("vaultfile: secret-name: there is no such item "))
        }
        for name in ["", "/x", "x//y", "..", String(repeating: "n", count: 256)] {
            let refused = try store.run("put", ["--class", "always", "--as", name], input: "x")
            #expect(refused.ending == .status(64) && refused.errors.contains("(invalidName)"), "\(name)")
        }
        #expect(try store.files().isEmpty)
        let bytes = try store.box.run(
            store.arguments("get", []) + [[0xFF]], environment: StoreBox.environment)
        #expect(bytes.ending == .status(64) && bytes.errors.contains("is not UTF-8"))
    }

    @Test("the class and the conditions of a write") func conditions() throws {
        let store = try StoreBox()
        let unnamed = try store.run("put", ["a"])
        #expect(unnamed.ending == .status(64) && unnamed.errors.contains("(protectionNeeded)"))
        try store.put("x", "complete")
        let other = try store.run("put", ["--unlock", "file:me", "--class", "always", "--as", "x", "a"])
        #expect(other.ending == .status(73) && other.errors.contains("(itemExists)"))
        #expect(other.errors.contains("hint: vaultfile store protect --class always x changes the class"))
        #expect(try store.run("put", ["--unlock", "file:me", "--as", "x", "a"]).text.hasSuffix(", complete\n"))
        let absent = try store.run("put", ["--unlock", "file:me", "--if-absent", "--as", "x", "a"])
        #expect(absent.ending == .status(73) && !absent.errors.contains("hint"))
        #expect(try store.run("put", ["--if-absent", "--class", "always", "a"]).ending == .status(0))

        let listed = try store.run("list", ["-l"]).text
        let version = try #require(listed.split(separator: " ").map(String.init).first { $0.count == 64 })
        let wrong = String(repeating: "0", count: 64)
        for (verb, more) in [("put", ["--as", "a", "a"]), ("remove", ["a"])] {
            let changed = try store.run(verb, ["--if", wrong] + more)
            #expect(changed.ending == .status(73) && changed.errors.contains("(itemChanged)"), "\(changed.errors)")
        }
        #expect(try store.run("put", ["--if", version, "--as", "a", "a"]).ending == .status(0))
        #expect(try store.run("remove", ["--if", version, "a"]).ending == .status(73), "each write makes a version")
        #expect(try store.run("put", ["--if", version, "--if-absent", "a"]).ending == .status(64))
        #expect(try store.run("put", ["--if", "12", "a"]).ending == .status(64))
        #expect(try store.run("put", ["--class", "unlessOpen", "a"]).ending == .status(64))
    }

    @Test("a recorder writes what it cannot read, and repair settles it") func recorder() throws {
        let store = try StoreBox()
        let put = try store.run("put", ["--class", "unless-open", "--as", "call"], input: "recorded")
        #expect(put.ending == .status(0) && put.text == "call: 8 bytes, unless-open\n", "\(put.errors)")
        let refused = try store.run("get", ["call"])
        #expect(refused.ending == .status(79) && refused.errors.contains("the class unless-open is locked (locked)"))
        #expect(try store.run("get", ["--unlock", "file:me", "call"]).text == "recorded")
        #expect(try store.run("put", ["--as", "call"], input: "x").ending == .status(64), "the class has to be named")
        #expect(try store.run("put", ["--class", "always", "--as", "call"], input: "x").ending == .status(79))
        #expect(try store.run("put", ["--class", "unless-open", "--as", "call"], input: "again").ending == .status(0))
        #expect(try !store.run("check", ["--repair"]).errors.contains("settled"), "a sealed run cannot")
        let repair = ["--repair", "-v", "--unlock", "file:me"]
        #expect(try store.run("check", repair).errors.contains("1 item of the class unless-open settled"))
        #expect(try !store.run("check", repair).errors.contains("settled"))
        #expect(try store.run("get", ["--unlock", "file:me", "call"]).text == "again")
        let listed = try store.run("list", ["--unlock", "file:me", "--json"])
        #expect(listed.text.contains("\"class\":\"unless-open\""), "\(listed.text)")
    }

    @Test("list shows what can be read and counts the rest") func list() throws {
        let store = try StoreBox()
        try store.putAll()
        let sealed = try store.run("list")
        #expect(sealed.ending == .status(0) && sealed.text == "always\n")
        #expect(sealed.errors == "vaultfile: s: 1 listed, 2 locked\n")
        let whole = try store.run("list", ["--unlock", "file:me"])
        #expect(whole.text == "after-first-unlock\nalways\ncomplete\n" && whole.errors.isEmpty)
        #expect(try store.run("list", ["--unlock", "file:me", "a"]).text == "after-first-unlock\nalways\n")
        let long = try store.run("list", ["--unlock", "file:me", "-l", "c"]).text
        #expect(long.hasPrefix("complete                       8  ") && long.hasSuffix("  complete\n"))
        try store.put("n\u{1B}[2J", "always")
        #expect(try !store.run("list").text.contains("\u{1B}"))
    }

    @Test("wrong and missing keys") func keys() throws {
        let store = try StoreBox()
        let wrong = try store.box.run("store", "list", "-S", "s", "--device-key", "file:me")
        #expect(wrong.ending == .status(77) && wrong.errors.contains("does not open the store (wrongKey)"))
        let missing = try store.box.run("store", "list", "-S", "s")
        #expect(missing.ending == .status(64) && missing.errors.contains("--device-key: is missing"))
        for word in ["passphrase", "recipient:x", "others", "passphrase-file:a"] {
            let refused = try store.box.run("store", "list", "-S", "s", "--device-key", word)
            #expect(refused.ending == .status(64), "\(word)")
        }
        #expect(try store.box.run("store", "list", "-S", "s", "--device-key", "file:none").ending == .status(78))
        #expect(try store.box.run("store", "list", "--device-key", "file:dev").errors.contains("--store: is missing"))
        #expect(try store.box.run("store", "list", "-S", "none", "--device-key", "file:dev").ending == .status(66))
        let unlocker = try store.run("list", ["--unlock", "file:dev"])
        #expect(unlocker.ending == .status(77))
        #expect(unlocker.errors.contains("what --unlock names does not unlock the store"))
        #expect(try store.run("list", ["--unlock", "others"]).ending == .status(64))
        let data = try store.run("put", ["--unlock", "file:-", "--class", "always", "--as", "x", "-"], input: "x")
        #expect(data.ending == .status(64) && data.errors.contains("can have one use"))
    }

    @Test("keys of the keyring, by name") func keyring() throws {
        let box = try Sandbox()
        try box.makeKey("unlocker")
        let environment = ["VAULTFILE_STORE=s", "VAULTFILE_KEYRING=ring.vault", "VAULTFILE_UNLOCK=file:unlocker"]
        func run(_ words: String...) throws -> Sandbox.Outcome {
            try box.run(words.map { Array($0.utf8) }, input: Array("text".utf8), environment: environment)
        }
        for name in ["me", "dev"] { #expect(try run("key", "generate", "--name", name).ending == .status(0)) }
        // A retired key opens, and gets no new slot.
        let retired = try run("store", "create", "--device-key", "dev", "--unlock", "me")
        #expect(retired.ending == .status(64) && retired.errors.contains("is retired"))
        #expect(try run("key", "use", "me").ending == .status(0))
        #expect(try run("store", "create", "--device-key", "dev", "--unlock", "me").ending == .status(0))
        let put = try run("store", "put", "--device-key", "dev", "--unlock", "me", "--class", "complete", "--as", "x")
        #expect(put.ending == .status(0), "\(put.errors)")
        #expect(try run("store", "get", "--device-key", "dev", "--unlock", "me", "x").text == "text")
    }

    @Test("a store that nothing unlocks has one class") func cardOnly() throws {
        let store = try StoreBox(unlocker: nil)
        #expect(try store.run("put", ["--class", "always", "a"]).ending == .status(0))
        for (verb, words) in [
            ("put", ["--class", "complete", "--as", "x", "a"]), ("list", ["--unlock", "file:me"]),
            ("unlock", ["--unlock", "file:me"]), ("passphrase", ["--unlock", "file:me", "--add", "file:me"]),
        ] {
            let refused = try store.run(verb, words)
            #expect(refused.ending == .status(64), "\(verb): \(refused.errors)")
            #expect(refused.errors.contains("(noKeybag)"))
        }
        #expect(try store.run("create").ending == .status(73))
    }

    @Test("status shows the context that plain verbs take, and the table") func status() throws {
        let store = try StoreBox()
        try store.putAll()
        let shown = try store.run("status").text.split(separator: "\n").map(String.init)
        #expect(shown[0] == "s: is sealed, 3 items")
        #expect(shown[1].hasPrefix("context  vaultfile store item "))
        #expect(
            shown.suffix(4) == [
                "always                yes   yes    yes", "after-first-unlock    no    no     yes",
                "unless-open           no    yes    yes", "complete              no    no     yes",
            ])
        try store.box.write(Array("s/dev".utf8), try #require(store.box.bytes("dev")), mode: .ownerReadWrite)
        let beside = try store.box.run(
            "store", "status", "-S", "s", "--device-key", "file:s/dev")
        #expect(beside.errors.contains("class always protects nothing"))
        #expect(try !store.run("status").errors.contains("protects nothing"))
    }

    @Test("check counts, repair moves an item that is under the name of another") func check() throws {
        let store = try StoreBox()
        for name in ["x", "y"] { try store.put(name, "always", name) }
        try store.put("z", "complete")
        let whole = try store.run("check")
        #expect(whole.ending == .status(0) && whole.text == "s: 2 items intact, 1 locked\n")
        #expect(whole.errors.isEmpty, "the sum is said once: \(whole.errors)")
        let all = try store.files()
        #expect(all.count == 3)
        // The file of x under the name of y.
        try Sandbox.shell(
            "cd \"$1\"/items && for f in *; do cp $f ../saved.$f; done", [Array(store.box.path("s").string.utf8)])
        #expect(try store.run("remove", ["x"]).ending == .status(0))
        let left = try Set(store.files())
        let ofX = try #require(all.first { !left.contains($0) })
        #expect(try store.run("remove", ["y"]).ending == .status(0))
        let after = try Set(store.files())
        let ofY = try #require(left.first { !after.contains($0) })
        try Sandbox.shell(
            "cd \"$1\" && cp saved.\(ofX) items/\(ofY)", [Array(store.box.path("s").string.utf8)])
        let found = try store.run("check")
        #expect(found.ending == .status(65) && found.errors.contains("(storeForged)"), "\(found.errors)")
        #expect(try store.run("get", ["y"]).ending == .status(65))
        let repaired = try store.run("check", ["--repair"])
        #expect(repaired.ending == .status(0) && repaired.errors.contains("s/lost/\(ofY): warning: "))
        #expect(try store.run("get", ["y"]).ending == .status(66))
        #expect(store.box.bytes("s/lost/\(ofY)") != nil)
        #expect(try store.run("check").ending == .status(0))
    }

    @Test("wipe asks, destroys everything, and leaves 80") func wipe() throws {
        let store = try StoreBox()
        try store.putAll()
        let asked = try store.box.run("store", "wipe", "-S", "s")
        #expect(asked.ending == .status(78) && asked.errors.contains("--yes does it without asking"))
        #expect(try store.run("get", ["always"]).ending == .status(0))
        #expect(try store.box.run("store", "wipe", "-S", "a", "--yes").ending != .status(0))
        #expect(try store.box.run("store", "wipe", "-S", "s", "--yes").ending == .status(0))
        #expect(try Sandbox.shell("ls -A \"$1\"", [Array(store.box.path("s").string.utf8)]) == "gone\nitems\nlock\n")
        for (verb, words) in [
            ("list", []), ("get", ["always"]), ("put", ["--class", "always", "a"]), ("remove", ["always"]),
            ("status", []), ("check", []), ("unlock", ["--unlock", "file:me"]), ("lock", []),
            ("passphrase", ["--unlock", "file:me", "--add", "file:me"]), ("create", []),
        ] {
            let gone = try store.run(verb, words)
            #expect(gone.ending == .status(80) && gone.errors.contains("(gone)"), "\(verb): \(gone.errors)")
        }
        #expect(try store.run("wipe", ["--yes"]).ending == .status(0))
    }

    @Test("a verb that finds a wipe that was interrupted finishes it") func interruptedWipe() throws {
        let store = try StoreBox()
        try store.putAll()
        try store.box.write("s/gone", "")
        #expect(try store.run("list").ending == .status(80))
        #expect(try store.files().isEmpty && store.box.bytes("s/store.vault") == nil)
    }

    @Test("on a terminal, wipe does nothing unless the answer is yes") func confirmation() throws {
        let store = try StoreBox()
        for (answer, status) in [("no", Int32(64)), ("yes", 0)] {
            let terminal = try PseudoTerminal()
            let running = try store.box.start(
                ["store", "wipe", "-S", "s"].map { Array($0.utf8) }, terminal: terminal)
            _ = try terminal.expect("for ever?")
            try terminal.type("\(answer)\n")
            #expect(running.end().ending == .status(status))
            #expect((store.box.bytes("s/gone") == nil) == (answer == "no"))
        }
    }

    @Test("every line of --json follows the schema") func json() throws {
        let store = try StoreBox()
        try store.putAll()
        let schema = try JSONSchema()
        func objects(_ text: String) throws -> [[String: JSON]] {
            try text.split(separator: "\n").map { line in
                let value = try JSON(parsing: String(line))
                #expect(schema.violations(of: value) == [], "\(line)")
                guard case .object(let members) = value else { throw Errno.invalidArgument }
                return members
            }
        }
        for (verb, words) in [
            ("status", []), ("put", ["--class", "always", "a"]), ("get", ["-o", "out", "a"]), ("list", []),
            ("check", ["--unlock", "file:me"]), ("lock", []), ("remove", ["a", "none"]), ("get", ["complete"]),
            ("move", ["--unlock", "file:me", "complete", "b"]), ("move", ["none", "b"]),
            ("protect", ["--unlock", "file:me", "--class", "always", "b", "none"]),
            ("rotate", ["--class", "always"]), ("rotate", ["--unlock", "file:me", "--class", "complete"]),
            ("passphrase", ["--unlock", "file:me", "--add", "file:dev"]), ("create", []), ("wipe", ["--yes"]),
            ("list", []),
        ] where verb != "lock" || Host.keepsKeys {
            let outcome = try store.run(verb, ["--json"] + words)
            let all = try objects(outcome.text) + objects(outcome.errors)
            #expect(!all.isEmpty && all.allSatisfy { $0["verb"] == .string("store \(verb)") }, "\(verb)")
        }
        let gone = try #require(try objects(store.run("list", ["--json"]).errors).first)
        #expect(gone["error"] == .string("gone") && gone["exit"] == .number(80))
    }

    @Test("a put that a signal ends changes nothing") func interrupted() throws {
        let store = try StoreBox()
        try store.put("x", "always", "before")
        try Host.makePipe(store.box.path("pipe"))
        for signal in [Host.sigTerm, Host.sigInt] {
            let running = try store.box.start(
                store.arguments("put", ["--as", "x"]), command: "exec \"$@\" <pipe",
                environment: StoreBox.environment)
            let writer = try FileDescriptor.open(store.box.path("pipe"), .writeOnly, options: .closeOnExec)
            // This is more than a pipe holds, so the program has begun to read when this returns.
            _ = try writer.writeAll([UInt8](repeating: 9, count: 1_000_000))
            running.child.send(signal)
            #expect(running.end().ending == .signal(signal))
            try writer.close()
        }
        #expect(try store.run("get", ["x"]).text == "before")
        #expect(try store.files().count == 1, "nothing unfinished is left")
    }

    @Test("commands at once: each new item has one winner, and nothing is lost") func concurrency() throws {
        let store = try StoreBox()
        var running: [Sandbox.Running] = []
        for number in 0..<6 {
            let file = "n\(number)"
            try store.box.write(file, file)
            for words in [["--class", "always", file], ["--if-absent", "--class", "always", "--as", "one", file]] {
                running.append(
                    try store.box.start(store.arguments("put", words), environment: StoreBox.environment))
            }
        }
        let endings = running.map { $0.end().ending }
        #expect(endings.count { $0 == .status(0) } == 7 && endings.count { $0 == .status(73) } == 5)
        #expect(try store.run("list").text == "n0\nn1\nn2\nn3\nn4\nn5\none\n")
        for number in 0..<6 { #expect(try store.run("get", ["n\(number)"]).text == "n\(number)") }
        #expect(try store.run("check").ending == .status(0))
    }
}
