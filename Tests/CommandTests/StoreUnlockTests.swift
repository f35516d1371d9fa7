import SystemPackage
import Testing
import VaultFile

@testable import VaultCommand

/// `store unlock` and `store lock` with the kernel's own keys.
@Suite(.enabled(if: Host.keepsKeys, "the system keeps no keys for this process")) struct StoreUnlockTests {
    private func readable(_ store: StoreBox) throws -> [String] {
        try ["always", "after-first-unlock", "complete"].filter { name in
            let got = try store.run("get", [name])
            #expect(got.ending == .status(got.text == "contents" ? 0 : 79), "\(got.errors)")
            return got.text == "contents"
        }
    }

    @Test("no command needs --unlock until the lock; --seal ends the rest") func unlockOnce() throws {
        let store = try StoreBox()
        try store.putAll()
        #expect(try readable(store) == ["always"])
        let unlocked = try store.run("unlock", ["--unlock", "file:me", "--for", "1h"])
        #expect(unlocked.text == "s: is unlocked for 1 hour\n", "\(unlocked.errors)")
        #expect(try readable(store).count == 3)
        #expect(try store.run("put", ["--class", "unless-open", "--as", "rec"], input: "x").ending == .status(0))
        #expect(try store.run("get", ["rec"]).text == "x", "the system keeps the keys of this class, too")
        #expect(try store.run("list").errors.isEmpty)
        #expect(try store.run("status").text.hasPrefix("s: is unlocked, 4 items\n"))
        #expect(try store.run("put", ["--class", "complete", "a"]).ending == .status(0))
        #expect(try store.run("lock").text == "s: is locked\n")
        #expect(try readable(store) == ["always", "after-first-unlock"])
        let complete = try store.run("get", ["complete"])
        #expect(complete.errors.contains("the class complete is locked"))
        #expect(try store.run("status").text.hasPrefix("s: is locked, 5 items\n"))
        #expect(try store.run("lock").text == "s: was locked already; --seal also locks after-first-unlock\n")
        #expect(try store.run("lock", ["--seal"]).text == "s: is sealed\n")
        #expect(try readable(store) == ["always"])
    }

    @Test("the class complete ends with its time") func timeOut() throws {
        let store = try StoreBox()
        try store.putAll()
        #expect(try store.run("unlock", ["--unlock", "file:me", "--for", "1s"]).ending == .status(0))
        Host.pause(milliseconds: 2500)
        #expect(try readable(store) == ["always", "after-first-unlock"])
        #expect(try store.run("unlock", ["--unlock", "file:me", "--for", "25h"]).ending == .status(64))
        try store.run("lock", ["--seal"])
    }

    @Test("passphrase and wipe end it") func ended() throws {
        let store = try StoreBox()
        try store.putAll()
        try store.run("unlock", ["--unlock", "file:me"])
        try store.box.makeKey("second")
        try store.run("passphrase", ["--unlock", "file:me", "--add", "file:second"])
        #expect(try readable(store) == ["always"])
        try store.run("unlock", ["--unlock", "file:me"])
        let id = try #require(
            store.run("status", ["--json"]).text.split(separator: "\"").map(String.init).first { $0.count == 32 })
        // The flag i says that a key has ended, and only its memory is not free yet.
        func isKept() throws -> Bool {
            try Sandbox.shell("grep -v '^[0-9a-f]* [^ ]*i ' /proc/keys", []).contains("vaultfile:\(id):")
        }
        #expect(try isKept())
        let wiped = try store.box.run(
            ["store", "wipe", "--yes"].map { Array($0.utf8) }, environment: StoreBox.environment)
        #expect(wiped.ending == .status(0), "without the device key: \(wiped.errors)")
        #expect(try !isKept())
    }

    @Test("without a passphrase and a terminal, unlock says what to do; JSON says until when") func refusals() throws {
        let store = try StoreBox()
        let unnamed = try store.run("unlock")
        #expect(unnamed.ending == .status(78) && unnamed.errors.contains("hint: --unlock names what unlocks the store"))
        let wrong = try store.run("unlock", ["--unlock", "file:dev"])
        #expect(wrong.ending == .status(77))
        let unlocked = try store.run("unlock", ["--unlock", "file:me", "--json"])
        #expect(unlocked.text.contains("\"unlockedUntil\":\"20"))
        #expect(try store.run("lock", ["--seal", "--json"]).text.contains("\"wasUnlocked\":true"))
    }
}
