import SystemPackage
import Testing
import VaultFile
import VaultSystem

@testable import VaultCommand

/// Where outputs go, what they replace, and which modes they get.
@Suite struct OutputTests {
    private let contents = String(repeating: "The quick brown fox. ", count: 5000)

    private func prepared() throws -> Sandbox {
        let box = try Sandbox()
        try box.makeKey()
        try box.write("a", contents)
        return box
    }

    @Test func namesByRule() throws {
        let box = try prepared()
        let key = ["VAULTFILE_KEY_FILE=key"]
        try box.run("encrypt", "a", environment: key)
        #expect(try box.names() == ["a", "a.vault", "key"])
        try Host.makeFolder(box.path("folder"))
        try box.write("b", "b")
        #expect(try box.run("encrypt", "-o", "folder/", "a", "b", environment: key).ending == .status(0))
        #expect(
            try box.run("decrypt", "-ofolder/", "folder/a.vault", "folder/b.vault", environment: key).ending
                == .status(0))
        #expect(box.text("folder/a") == contents && box.text("folder/b") == "b")
        #expect(try box.run("decrypt", "-fo", "c", "a.vault", environment: key).ending == .status(0))
        #expect(box.text("c") == contents)
        try box.write(".vault", "x")
        #expect(try box.run("decrypt", ".vault", environment: key).ending == .status(64))
    }

    @Test func standardInputGivesStandardOutput() throws {
        let box = try prepared()
        let key = ["VAULTFILE_KEY_FILE=key"]
        for piped in [false, true] {
            let encrypted = try box.run(
                [Array("encrypt".utf8)], input: Array(contents.utf8), piped: piped, environment: key)
            #expect(encrypted.ending == .status(0) && encrypted.errors == "")
            let decrypted = try box.run(
                [Array("decrypt".utf8)], input: encrypted.output, piped: piped, environment: key)
            #expect(decrypted.ending == .status(0) && decrypted.text == contents)
        }
        #expect(try box.names() == ["a", "key"])
    }

    @Test("an empty input from a pipe gives an empty file") func empty() throws {
        let box = try prepared()
        let key = ["VAULTFILE_KEY_FILE=key"]
        try box.run(["encrypt", "-o", "e.vault"].map { Array($0.utf8) }, input: [], piped: true, environment: key)
        let container = try #require(box.bytes("e.vault"))
        let decrypted = try box.run(
            ["decrypt", "-o", "e"].map { Array($0.utf8) }, input: container, piped: true, environment: key)
        #expect(decrypted.ending == .status(0))
        #expect(box.bytes("e") == [])
    }

    @Test func existingFilesStayWithoutForce() throws {
        let box = try prepared()
        try box.write("a.vault", "old")
        let refused = try box.run("encrypt", "--key-file", "key", "a")
        #expect(refused.ending == .status(73) && refused.errors.contains("exists"))
        #expect(box.text("a.vault") == "old")
        #expect(try box.run("encrypt", "--force", "--key-file", "key", "a").ending == .status(0))
        #expect(try box.run("verify", "--key-file", "key", "a.vault").ending == .status(0))
        // The output is checked before the keys.
        #expect(try box.run("encrypt", "--key-file", "none", "a").ending == .status(73))
    }

    @Test func outputThatIsAnInputIsRefused() throws {
        let box = try prepared()
        try Host.link(box.path("link"), to: "a")
        try Sandbox.shell("ln \"$1/a\" \"$1/hard\"", [Array(box.folder.string.utf8)])
        for name in ["a", "link", "hard", "./a"] {
            let outcome = try box.run("encrypt", "-f", "-o", name, "--key-file", "key", "a")
            #expect(outcome.ending == .status(73), "\(name)")
            #expect(outcome.errors.contains("input"))
        }
        let through = try box.run("encrypt", "-f", "-o", "a", "--key-file", "key", "link")
        #expect(through.ending == .status(73))
        let appended = try box.run("encrypt", "-o", "-", "--key-file", "key", "a", prelude: "exec >>a")
        #expect(appended.ending == .status(73))
        #expect(box.text("a") == contents)
        // An output that is also an input of the run would be destroyed before it is read.
        try box.write("b", "b")
        try box.write("b.vault", "plain text all the same")
        #expect(try box.run("encrypt", "-f", "--key-file", "key", "b", "b.vault").ending == .status(73))
        #expect(box.text("b.vault") == "plain text all the same")
    }

    @Test func outputThroughALink() throws {
        let box = try prepared()
        try box.write("target", "old")
        try Host.link(box.path("link"), to: "target")
        #expect(try box.run("encrypt", "-o", "link", "--key-file", "key", "a").ending == .status(73))
        #expect(try box.run("encrypt", "-f", "-o", "link", "--key-file", "key", "a").ending == .status(0))
        #expect(try box.path("link").stat(followTargetSymlink: false).type == .symbolicLink)
        #expect(try box.run("verify", "--key-file", "key", "target").ending == .status(0))
        try Host.link(box.path("dangling"), to: "new")
        // The maker of a link that leads nowhere would choose where the file appears.
        #expect(try box.run("encrypt", "-o", "dangling", "--key-file", "key", "a").ending == .status(73))
        #expect(try box.run("encrypt", "-f", "-o", "dangling", "--key-file", "key", "a").ending == .status(73))
        #expect(box.bytes("new") == nil)
    }

    @Test func whatIsNoFileIsWrittenToAsItIs() throws {
        let box = try prepared()
        #expect(try box.run("encrypt", "-o", "/dev/null", "--key-file", "key", "a").ending == .status(0))
        #expect(try FilePath("/dev/null").stat().type == .characterSpecial)
        try Host.makePipe(box.path("pipe"))
        let piped = try box.run("encrypt", "-o", "pipe", "--key-file", "key", "a", prelude: "{ cat pipe >got & }")
        #expect(piped.ending == .status(0))
        #expect(try box.path("pipe").stat().type == .fifo)
        #expect(try box.run("decrypt", "-o", "-", "--key-file", "key", "got").text == contents)
        // A pipe as an operand needs -o.
        #expect(try box.run("encrypt", "--key-file", "key", "pipe").ending == .status(64))
        let read = try box.run("encrypt", "-o", "b.vault", "--key-file", "key", "pipe", prelude: "{ cat a >pipe & }")
        #expect(read.ending == .status(0))
        #expect(try box.run("decrypt", "-o", "-", "--key-file", "key", "b.vault").text == contents)
    }

    @Test("what was written is called a part only where something was written") func parts() throws {
        let box = try prepared()
        #expect(try box.run("encrypt", "--key-file", "key", "--header-capacity", "4096", "a").ending == .status(0))
        let whole = try #require(box.bytes("a.vault"))
        func decrypt(_ bytes: [UInt8], piped: Bool, _ options: String...) throws -> Sandbox.Outcome {
            try box.run(
                (["decrypt", "--key-file", "key", "-o", "-"] + options + ["-"]).map { Array($0.utf8) }, input: bytes,
                piped: piped)
        }
        let hint = "the output is incomplete"
        let cut = [UInt8](whole.dropLast(40))
        let opened = try decrypt(cut, piped: true)
        #expect(opened.ending == .status(65) && opened.text == contents && opened.errors.contains(hint))
        var torn = whole
        for index in [100, whole.count - 100] { torn[index] ^= 1 }
        for outcome in [
            try decrypt(cut, piped: false), try decrypt(torn, piped: true), try decrypt(torn, piped: false),
            try decrypt(torn, piped: false, "--offset", "1"),
        ] {
            #expect(outcome.ending == .status(65) && outcome.output.isEmpty)
            #expect(outcome.errors.contains("hint: ") && !outcome.errors.contains(hint), "\(outcome.errors)")
        }
    }

    @Test("two outputs of one run under one name: nothing is done") func doubles() throws {
        let box = try prepared()
        try Host.makeFolder(box.path("x"))
        try Host.makeFolder(box.path("y"))
        try box.write("x/f", "1")
        try box.write("y/f", "2")
        try Host.makeFolder(box.path("out"))
        let outcome = try box.run("encrypt", "-f", "-o", "out/", "--key-file", "key", "x/f", "y/f")
        #expect(outcome.ending == .status(64))
        #expect(try Sandbox.shell("ls -A \"$1/out\"", [Array(box.folder.string.utf8)]) == "")
    }

    @Test(
        "modes: a container gets its input's, plaintext the stored one, both through the umask",
        arguments: [("002", UInt32(0o002)), ("022", 0o022), ("077", 0o077)])
    func modes(_ umask: (text: String, bits: UInt32)) throws {
        let box = try prepared()
        let key = ["VAULTFILE_KEY_FILE=key"]
        let prelude = "umask \(umask.text)"
        for mode: FilePermissions.RawValue in [0o666, 0o640, 0o755, 0o600] {
            try box.write("m", "x", mode: FilePermissions(rawValue: mode))
            let expected = mode & ~FilePermissions.RawValue(umask.bits)
            try box.run("encrypt", "-f", "m", prelude: prelude, environment: key)
            #expect(try box.mode("m.vault") == expected)
            try box.run("decrypt", "-f", "-o", "n", "m.vault", prelude: prelude, environment: key)
            #expect(try box.mode("n") == expected)
            // A new file that replaces another gets its own mode, not the other's.
            try box.run("encrypt", "-f", "--no-metadata", "m", prelude: prelude, environment: key)
            try box.run("decrypt", "-f", "-o", "n", "m.vault", prelude: prelude, environment: key)
            #expect(try box.mode("n") == 0o600)
            try box.run("decrypt", "-f", "-o", "n", "--offset", "0", "m.vault", prelude: prelude, environment: key)
            #expect(try box.mode("n") == 0o600)
        }
        try box.run(
            ["encrypt", "-o", "p.vault"].map { Array($0.utf8) }, input: [1], piped: true, prelude: prelude,
            environment: key)
        #expect(try box.mode("p.vault") == 0o666 & ~FilePermissions.RawValue(umask.bits))
        try box.run("key", "generate", "-o", "k", prelude: prelude)
        #expect(try box.mode("k") == 0o600)
    }

    @Test func timeAndNameAreRestored() throws {
        let box = try prepared()
        let key = ["VAULTFILE_KEY_FILE=key"]
        try Sandbox.shell("touch -d '2001-02-03 04:05:06.789 UTC' \"$1/a\"", [Array(box.folder.string.utf8)])
        let stored = try box.stat("a").modified
        try box.run("encrypt", "-o", "c", "a", environment: key)
        try box.run("decrypt", "-o", "plain", "c", environment: key)
        #expect(try box.stat("plain").modified == stored)
        #expect(try box.run("decrypt", "--restore-name", "c", environment: key).ending == .status(73))
        try Host.makeFolder(box.path("folder"))
        #expect(try box.run("decrypt", "--restore-name", "-o", "folder/", "c", environment: key).ending == .status(0))
        #expect(box.text("folder/a") == contents)
        try Sandbox.shell("rm \"$1/a\"", [Array(box.folder.string.utf8)])
        #expect(try box.run("decrypt", "--restore-name", "c", environment: key).ending == .status(0))
        #expect(box.text("a") == contents)
        try box.run("encrypt", "-f", "--no-metadata", "-o", "c", "a", environment: key)
        #expect(try box.run("decrypt", "--restore-name", "c", environment: key).ending == .status(73))
        #expect(try box.run("inspect", "--key-file", "key", "c").text.contains("name") == false)
    }

    #if os(Linux)
    @Test func readingLeavesNoTrace() throws {
        let box = try prepared()
        let key = ["VAULTFILE_KEY_FILE=key"]
        try box.run("encrypt", "a", environment: key)
        let folder = [Array(box.folder.string.utf8)]
        try Sandbox.shell("touch -a -d '2001-02-03 04:05:06 UTC' \"$1/a\" \"$1/a.vault\" \"$1/key\"", folder)
        for arguments in [
            ["verify", "a.vault"], ["inspect", "a.vault"], ["decrypt", "-o", "b", "a.vault"],
            ["encrypt", "-f", "-o", "c", "a"],
        ] {
            #expect(try box.run(arguments.map { Array($0.utf8) }, environment: key).ending == .status(0))
        }
        #expect(
            try Sandbox.shell("cd \"$1\" && stat -c %X a a.vault key", folder) == "981173106\n981173106\n981173106\n")
    }
    #endif

    @Test func ranges() throws {
        let box = try prepared()
        let key = ["VAULTFILE_KEY_FILE=key"]
        try box.run("encrypt", "--chunk-size", "4KiB", "a", environment: key)
        let some = try box.run("decrypt", "--offset", "4090", "--length", "20", "a.vault", environment: key)
        #expect(some.text == String(contents.dropFirst(4090).prefix(20)))
        let rest = try box.run("decrypt", "--offset", "104K", "--length", "0", "a.vault", environment: key)
        #expect(rest.ending == .status(64))
        let end = try box.run("decrypt", "--offset", "104990", "a.vault", environment: key)
        #expect(end.text == String(contents.suffix(10)))
        #expect(try box.run("decrypt", "--length", "105001", "a.vault", environment: key).ending == .status(64))
        #expect(try box.run("decrypt", "--length", "0", "a.vault", environment: key).text == "")
        let fromInput = try box.run(
            ["decrypt", "--length", "3"].map { Array($0.utf8) }, input: box.bytes("a.vault"), environment: key)
        #expect(fromInput.text == "The")
    }

    @Test func removeSource() throws {
        let box = try prepared()
        let key = ["VAULTFILE_KEY_FILE=key"]
        #expect(try box.run("encrypt", "--remove-source", "a", environment: key).ending == .status(0))
        #expect(try box.names() == ["a.vault", "key"])
        #expect(try box.run("decrypt", "--remove-source", "a.vault", environment: key).ending == .status(0))
        #expect(try box.names() == ["a", "key"])
        #expect(box.text("a") == contents)
        try Host.link(box.path("link"), to: "a")
        #expect(try box.run("encrypt", "--remove-source", "link", environment: key).ending == .status(64))
        #expect(
            try box.run("encrypt", "--remove-source", "-o", "/dev/null", "a", environment: key).ending == .status(64))
        if !Host.isRoot {
            try Host.makeFolder(box.path("fixed"))
            try box.write("fixed/f", "contents")
            try Host.changeMode(box.path("fixed"), to: [.ownerRead, .ownerExecute])
            let outcome = try box.run("encrypt", "--remove-source", "-o", "f.vault", "fixed/f", environment: key)
            #expect(outcome.ending == .status(74))
            #expect(outcome.errors.contains("was encrypted to f.vault, but cannot be removed: permission denied"))
            try Sandbox.shell("cd \"$1\" && chmod 700 fixed && rm -r fixed f.vault", [Array(box.folder.string.utf8)])
        }
        // Files that cannot be encrypted stay.
        try box.write("a.vault", "old")
        #expect(try box.run("encrypt", "--remove-source", "a", environment: key).ending == .status(73))
        #expect(try box.names() == ["a", "a.vault", "key", "link"])
    }

    @Test("--remove-source: an input that changed meanwhile stays, also with its size and time as before")
    func changed() throws {
        let box = try prepared()
        try box.write(Array("big".utf8), [UInt8](repeating: 1, count: 32 << 20))
        let change = "printf x | dd of=big conv=notrunc bs=1 count=1 2>/dev/null; touch -r ref big"
        let running = try box.start(
            ["encrypt", "--remove-source", "--key-file", "key", "big"].map { Array($0.utf8) },
            prelude: "touch -r big ref && { (i=0; "
                + "while [ ! -e big.vault ] && [ $((i += 1)) -lt 100000 ]; do \(change); done) & }")
        let outcome = running.end()
        #expect(outcome.ending == .status(74))
        #expect(outcome.errors.contains("changed while it was read"))
        #expect(box.bytes("big") != nil)
        #expect(try box.run("verify", "--key-file", "key", "big.vault").ending == .status(0))
    }
}
