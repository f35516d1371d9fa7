import Foundation
import SystemPackage
import Testing
import VaultFile
import VaultTestSupport

@testable import VaultCommand

/// Verbs that move items and exchange keys of a store.
@Suite struct StoreKeyTests {
    @Test("move gives an item another name, and replaces another one only if it may") func move() throws {
        let store = try StoreBox()
        try store.put("a", "complete", "one")
        try store.put("b", "always", "two")
        let locked = try store.run("move", ["a", "c"])
        #expect(locked.ending == .status(79) && locked.errors.contains("(locked)"))
        let taken = try store.run("move", ["--unlock", "file:me", "a", "b"])
        #expect(taken.ending == .status(73) && taken.errors.contains("hint: --force"), "\(taken.errors)")
        #expect(try store.run("move", ["none", "c"]).ending == .status(66))
        let same = try store.run("move", ["b", "b"])
        #expect(same.ending == .status(64) && !same.errors.contains("--force"), "\(same.errors)")
        for name in ["store.vault.key", "items"] {
            _ = try Sandbox.shell("mv \"$1\"/\(name) \"$1\"/../saved", [Array(store.box.path("s").string.utf8)])
            let lacking = try store.run("list")
            #expect(lacking.ending == .status(66), "\(lacking.errors)")
            #expect(lacking.errors.hasPrefix("vaultfile: s/\(name): is missing\nvaultfile: hint: restore "))
            _ = try Sandbox.shell("mv \"$1\"/../saved \"$1\"/\(name)", [Array(store.box.path("s").string.utf8)])
        }
        let moved = try store.run("move", ["--unlock", "file:me", "a", "c d"])
        #expect(moved.ending == .status(0) && moved.text == "a: is c d\n", "\(moved.errors)")
        #expect(try store.run("move", ["--unlock", "file:me", "--force", "c d", "b"]).ending == .status(0))
        let listed = try store.run("list", ["--unlock", "file:me", "-l"])
        #expect(listed.text.hasPrefix("complete ") && listed.text.hasSuffix("  b\n"))
        #expect(try store.run("get", ["--unlock", "file:me", "b"]).text == "one")
    }

    @Test("the device key does not unlock the store, and --renew names what it drops") func unlockers() throws {
        let store = try StoreBox()
        let own = try store.run("passphrase", ["--unlock", "file:me", "--add", "file:dev"])
        #expect(own.ending == .status(64), "\(own.errors)")
        #expect(own.errors.contains("this is the device key of the store"), "\(own.errors)")
        try store.box.makeKey("new")
        let renewed = try store.run("passphrase", ["--unlock", "file:me", "--renew", "--add", "file:new"])
        #expect(renewed.ending == .status(0), "\(renewed.errors)")
        #expect(renewed.text.contains(" no longer unlocks it\n"), "\(renewed.text)")
        let none = try store.run("get", ["nix"])
        #expect(none.ending == .status(66) && none.errors.contains("nix: there is no such item"), "\(none.errors)")
        let again = try store.run("create", ["--unlock", "passphrase"])
        #expect(again.ending == .status(73) && again.errors.contains("there is a store already"), "\(again.errors)")
    }

    @Test("protect gives items another class") func protect() throws {
        let store = try StoreBox()
        try store.putAll()
        let locked = try store.run("protect", ["--class", "complete", "always"])
        #expect(locked.ending == .status(79) && locked.errors.contains("the class complete is locked"))
        let done = try store.run("protect", ["--unlock", "file:me", "--class", "always", "complete", "none", "always"])
        #expect(done.ending == .status(66) && done.text == "complete: always\nalways: always\n", "\(done.errors)")
        #expect(try store.run("get", ["complete"]).text == "contents")
        let version = try store.run("list", ["-l", "always"]).text.split(separator: " ").map(String.init)
        let wrong = try store.run(
            "protect", ["--unlock", "file:me", "--class", "complete", "--if", version[2], "complete"])
        #expect(wrong.ending == .status(73) && wrong.errors.contains("(itemChanged)"), "\(wrong.errors)")
        #expect(try store.run("protect", ["--class", "always", "--if", version[2], "a", "b"]).ending == .status(64))
        #expect(try store.run("protect", ["complete"]).ending == .status(64))
    }

    @Test("rotate gives each class a new key; all items open, and old files of the keys do not") func rotate() throws {
        let store = try StoreBox()
        try store.putAll()
        try store.put("unless-open", "unless-open")
        let names = ["store.vault", "store.vault.key", "keys.vault", "keys.vault.key"]
        let old = names.map { store.box.bytes("s/\($0)") }
        for name in ["always", "after-first-unlock", "unless-open", "complete"] {
            let words = name == "always" ? [] : ["--unlock", "file:me"]
            let done = try store.run("rotate", ["--class", name] + words)
            #expect(done.ending == .status(0) && done.text == "s: the class \(name) has a new key\n", "\(done.errors)")
            #expect(done.errors.isEmpty)
        }
        for (name, bytes) in zip(names, old) { #expect(store.box.bytes("s/\(name)") != bytes) }
        for name in ["always", "after-first-unlock", "unless-open", "complete"] {
            #expect(try store.run("get", ["--unlock", "file:me", name]).text == "contents")
        }
        let status = try store.run("status")
        #expect(status.ending == .status(0) && !status.errors.contains("interrupted"))
        try store.box.write(Array("s/keys.vault.key".utf8), try #require(old[3]))
        let mixed = try store.run("get", ["--unlock", "file:me", "complete"])
        #expect(mixed.ending != .status(0) && mixed.errors.contains("(keyringMismatch)"), "\(mixed.errors)")
    }

    @Test("rotate adds the class unless-open to a store of an older program") func addsUnlessOpen() throws {
        let box = try Sandbox()
        let vector = try Repository.text("Spec/vectors/stores/T2-lengths.vector")
        for name in ["s", "s/items"] { try Host.makeFolder(box.path(name)) }
        for line in vector.split(separator: "\n") {
            let words = line.split(separator: " ").map(String.init)
            switch words.first {
            case "device-key:", "unlock-key:": try box.writeKey(words[0] == "device-key:" ? "dev" : "me", words[1])
            case "file:":
                let bytes = try #require(Data(base64Encoded: words.count > 2 ? words[2] : ""))
                try box.write(Array("s/\(words[1])".utf8), Array(bytes), mode: .ownerReadWrite)
            default: break
            }
        }
        func run(_ verb: String, _ words: [String]) throws -> Sandbox.Outcome {
            let line = ["store", verb, "-S", "s", "--device-key", "file:dev"] + words
            return try box.run(line.map { Array($0.utf8) }, input: Array("text".utf8))
        }
        let put = ["--class", "unless-open", "--as", "call"]
        let refused = try run("put", put)
        #expect(refused.ending == .status(64) && refused.errors.contains("(noPublicKey)"), "\(refused.errors)")
        #expect(refused.errors.contains("hint: vaultfile store rotate --class unless-open adds the class"))
        #expect(try run("rotate", ["--class", "unless-open"]).ending == .status(78))
        #expect(try run("rotate", ["--class", "unless-open", "--unlock", "file:dev"]).ending == .status(77))
        let added = try run("rotate", ["--class", "unless-open", "--unlock", "file:me"])
        #expect(added.ending == .status(0), "\(added.errors)")
        #expect(added.text == "s: has the class unless-open now, with its first key\n")
        #expect(try run("put", put).ending == .status(0))
        #expect(try run("get", ["call"]).ending == .status(79))
        #expect(try run("get", ["--unlock", "file:me", "call"]).text == "text")
        #expect(try run("check", ["--unlock", "file:me"]).text == "s: 6 items intact\n")
        let rotated = try run("rotate", ["--class", "unless-open", "--unlock", "file:me"])
        #expect(rotated.text == "s: the class unless-open has a new key\n", "\(rotated.errors)")
        #expect(try run("get", ["--unlock", "file:me", "call"]).text == "text")
    }

    @Test("rotate says what it needs, and which items keep the old key") func refusals() throws {
        let store = try StoreBox()
        try store.putAll()
        #expect(try store.run("rotate").ending == .status(64))
        #expect(try store.run("rotate", ["--class", "always", "--new-device-key", "file:me"]).ending == .status(64))
        let unnamed = try store.run("rotate", ["--class", "complete"])
        #expect(unnamed.ending == .status(78) && unnamed.errors.contains("hint: rotate needs --unlock K"))
        let wrong = try store.run("rotate", ["--class", "complete", "--unlock", "file:dev"])
        #expect(wrong.ending == .status(77))
        let file = try #require(try store.files().first)
        let content = try #require(store.box.bytes("s/items/\(file)"))
        try store.box.write(Array("s/items/\(file)".utf8), Array(content.dropLast(40)))
        for name in ["always", "after-first-unlock", "unless-open", "complete"] {
            _ = try store.run("rotate", ["--unlock", "file:me", "--class", name])
        }
        let classes = try ["always", "after-first-unlock", "complete"].filter { name in
            let again = try store.run("rotate", ["--unlock", "file:me", "--class", name])
            guard again.ending != .status(0) else { return false }
            #expect(again.ending == .status(65) && again.errors.contains("s/items/\(file)"), "\(again.errors)")
            #expect(again.errors.contains("the old key of the class \(name) stays"))
            return true
        }
        #expect(classes.count == 1)
        let name = try #require(classes.first)
        if name == "always" {
            #expect(try store.run("status").errors.contains("a rotation of the class always was interrupted"))
        }
        try store.box.write(Array("s/items/\(file)".utf8), content)
        let done = try store.run("rotate", ["--unlock", "file:me", "--class", name])
        #expect(done.ending == .status(0) && done.errors.isEmpty, "\(done.errors)")
        #expect(try store.run("get", ["--unlock", "file:me", name]).text == "contents")
    }

    @Test("the device key is exchanged") func device() throws {
        let store = try StoreBox()
        try store.putAll()
        try store.box.makeKey("other")
        let old = try #require(store.box.bytes("s/store.vault.key"))
        let done = try store.run("rotate", ["--new-device-key", "file:other"])
        #expect(done.ending == .status(0) && done.text == "s: has another device key\n", "\(done.errors)")
        #expect(try store.run("get", ["always"]).ending == .status(77))
        let got = try store.box.run(
            ["store", "get", "--device-key", "file:other", "always"].map { Array($0.utf8) },
            environment: StoreBox.environment)
        #expect(got.text == "contents", "\(got.errors)")
        try store.box.write(Array("s/store.vault.key".utf8), old)
        #expect(try store.run("get", ["always"]).errors.contains("(keyringMismatch)"))
    }

    @Test("a key that unlocks the store does not become its device key") func unlockerAsDevice() throws {
        let store = try StoreBox()
        let refused = try store.run("rotate", ["--new-device-key", "file:me"])
        #expect(
            refused.ending == .status(64) && refused.errors.contains("this key unlocks the store"), "\(refused.errors)")
        #expect(try store.run("list").ending == .status(0))
        // A store without other classes has nothing that it could unlock.
        let plain = try StoreBox(unlocker: nil)
        #expect(try plain.run("rotate", ["--new-device-key", "file:me"]).ending == .status(0))
    }

    @Test("with few open files, a rotation says so, and the same command finishes it") func fewFiles() throws {
        let store = try StoreBox()
        try store.putAll()
        let words = store.arguments("rotate", ["--unlock", "file:me", "--class", "complete"])
        var failures = 0
        for limit in 12...22 {
            let done = try store.box.run(words, prelude: "ulimit -n \(limit)", environment: StoreBox.environment)
            failures += done.ending == .status(0) ? 0 : 1
            #expect(
                done.ending == .status(0) || done.errors.lowercased().contains("too many open files"), "\(done.errors)")
            #expect(!done.errors.contains("keysChanged"), "\(limit): \(done.errors)")
        }
        #expect(failures > 0)
        #expect(try store.run("rotate", ["--unlock", "file:me", "--class", "complete"]).ending == .status(0))
        #expect(try store.run("get", ["--unlock", "file:me", "complete"]).text == "contents")
    }

    @Test("a card from another backup than the keybag is named as such") func otherBackup() throws {
        let store = try StoreBox()
        try store.putAll()
        func shell(_ script: String) throws -> String {
            try Sandbox.shell("cd \"$1\" && \(script)", [Array(store.box.folder.string.utf8)])
        }
        _ = try shell("mkdir old && cp s/store.vault* old")
        #expect(try store.run("rotate", ["--unlock", "file:me", "--class", "unless-open"]).ending == .status(0))
        _ = try shell("mkdir new && mv s/store.vault* new && cp old/* s")
        let refused = try store.run("list", ["--unlock", "file:me"])
        #expect(refused.errors.contains("store.vault, keys.vault and their .key files"), "\(refused.errors)")
        #expect(!refused.errors.contains("--repair"))
        _ = try shell("cp new/* s")
        #expect(try store.run("get", ["always"]).text == "contents")
    }

    @Test("passphrase --renew leaves only what it names") func renew() throws {
        let store = try StoreBox()
        try store.put("x", "complete", "text")
        for name in ["second", "third"] { try store.box.makeKey(name) }
        try store.run("passphrase", ["--unlock", "file:me", "--add", "file:second"])
        let old = try #require(store.box.bytes("s/keys.vault.key"))
        let refused = try store.run("passphrase", ["--renew", "--unlock", "file:me", "--remove", "others"])
        #expect(refused.ending == .status(64))
        let told = try store.run("rotate", ["--class", "complete", "--unlock", "file:me"])
        #expect(told.ending == .status(0) && told.errors.contains("older copies of the keybag hold the destroyed keys"))
        #expect(told.errors.contains("hint: vaultfile store passphrase --renew"), "\(told.errors)")
        let done = try store.run(
            "passphrase", ["--renew", "--unlock", "file:second", "--add", "file:third", "--add", "file:me"])
        #expect(done.ending == .status(0), "\(done.errors)")
        #expect(done.text.hasPrefix("s: has a new key in keys.vault.key\ns: key "), "\(done.text)")
        #expect(done.text.hasSuffix(" no longer unlocks it\n"), "\(done.text)")
        for (key, status) in [("me", Int32(0)), ("third", 0), ("second", 77)] {
            #expect(try store.run("get", ["--unlock", "file:\(key)", "x"]).ending == .status(status), "\(key)")
        }
        try store.box.write(Array("s/keys.vault.key".utf8), old)
        #expect(try store.run("get", ["--unlock", "file:me", "x"]).errors.contains("(keyringMismatch)"))
    }

    @Test("create --unlock adds the other classes to a store that nothing unlocks") func later() throws {
        let store = try StoreBox(unlocker: nil)
        try store.run("put", ["--class", "always", "a"])
        let made = try store.run("create", ["--unlock", "file:me"])
        #expect(made.ending == .status(0) && made.text == "s: is a store\n", "\(made.errors)")
        try store.put("x", "complete", "text")
        #expect(try store.run("get", ["--unlock", "file:me", "x"]).text == "text")
        #expect(try store.run("get", ["a"]).text == "contents")
        #expect(try store.run("create", ["--unlock", "file:me"]).ending == .status(73))
        _ = try Sandbox.shell("rm \"$1\"/keys.vault \"$1\"/keys.vault.key", [Array(store.box.path("s").string.utf8)])
        let lost = try store.run("create", ["--unlock", "file:me"])
        #expect(lost.ending == .status(73) && lost.errors.contains("s/keys.vault: is missing"), "\(lost.errors)")
    }
}
