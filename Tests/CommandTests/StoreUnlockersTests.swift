import SystemPackage
import Testing
import VaultFile

@testable import VaultCommand

/// What unlocks a store, and passphrases that are asked for.
extension StoreCommandTests {
    @Test("what unlocks a store changes") func unlockers() throws {
        let store = try StoreBox()
        try store.box.makeKey("second")
        try store.put("x", "complete", "text")
        func opens(_ key: String) throws -> Bool {
            let got = try store.run("get", ["--unlock", "file:\(key)", "x"])
            #expect(got.ending == .status(got.text == "text" ? 0 : 77))
            return got.text == "text"
        }
        let added = try store.run("passphrase", ["--unlock", "file:me", "--add", "file:second"])
        #expect(added.ending == .status(0) && added.text.hasSuffix(" unlocks it\n"), "\(added.errors)")
        #expect(try opens("second") && opens("me"))
        let wrong = try store.run("passphrase", ["--unlock", "file:dev", "--add", "file:dev"])
        #expect(wrong.ending == .status(77) && wrong.errors.contains("does not unlock the store"))
        let removed = try store.run("passphrase", ["--unlock", "file:second", "--remove", "file:me"])
        #expect(removed.text.contains(" no longer unlocks it\n"), "\(removed.errors)")
        #expect(try opens("second") && !opens("me"))
        #expect(try store.run("passphrase", ["--unlock", "file:second", "--remove", "others"]).ending != .status(0))
        #expect(try opens("second"))
    }

    @Test("a passphrase is asked for, again if it is wrong, and replaced") func passphrase() throws {
        let box = try Sandbox()
        try box.makeKey("dev")
        let device = ["-S", "s", "--device-key", "file:dev"]
        func start(_ words: [String], _ terminal: PseudoTerminal) throws -> Sandbox.Running {
            try box.start((["store"] + words).map { Array($0.utf8) }, terminal: terminal)
        }
        let terminal = try PseudoTerminal()
        let making = try start(["create", "--unlock", "passphrase"] + device, terminal)
        _ = try terminal.expect("New passphrase for the store: ")
        try terminal.type("one\n")
        _ = try terminal.expect("Repeat it: ")
        try terminal.type("one\n")
        #expect(making.end().ending == .status(0))
        let changing = try start(["passphrase", "-S", "s"], terminal)
        _ = try terminal.expect("Passphrase for the store: ")
        try terminal.type("wrong\n")
        _ = try terminal.expect("Wrong passphrase.")
        _ = try terminal.expect("Passphrase for the store: ")
        try terminal.type("one\n")
        _ = try terminal.expect("New passphrase for the store: ")
        try terminal.type("two\n")
        _ = try terminal.expect("Repeat it: ")
        try terminal.type("two\n")
        #expect(changing.end().ending == .status(0))
        try box.write("two", "two\n", mode: .ownerReadWrite)
        try box.write("one", "one\n", mode: .ownerReadWrite)
        for (file, status) in [("two", Int32(0)), ("one", 77)] {
            let listed = try box.run(
                (["store", "list", "--unlock", "passphrase-file:\(file)"] + device).map { Array($0.utf8) })
            #expect(listed.ending == .status(status), "\(listed.errors)")
        }
    }
}
