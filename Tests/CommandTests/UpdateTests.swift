import Synchronization
import SystemPackage
import Testing
import VaultFile
import VaultSystem

@testable import VaultCommand

/// `encrypt --update`: what is new or newer is encrypted, and nothing that must be kept is replaced.
@Suite struct UpdateTests {
    private let box: Sandbox

    /// The folder `d` with plaintexts `1` and `2` and their containers.
    init() throws {
        box = try Sandbox()
        try box.makeKey()
        try Host.makeFolder(box.path("d"))
        for name in ["1", "2"] { try box.write("d/\(name)", "contents of \(name)") }
        let made = try update()
        #expect(made.ending == .status(0) && made.errors == "vaultfile: encrypt: 2 encrypted, 26 bytes\n")
    }

    private func update(_ more: String..., environment: [String] = ["VAULTFILE_KEY_FILE=key"]) throws -> Sandbox.Outcome
    {
        let words = ["encrypt", "--recursive", "--update"] + more + ["d"]
        return try box.run(words.map { Array($0.utf8) }, environment: environment)
    }

    private func sh(_ script: String) throws {
        try Sandbox.shell("cd \"$1\" && " + script, [Array(box.folder.string.utf8)])
    }

    private func contents(_ container: String) throws -> String {
        try box.run("decrypt", "--key-file", "key", "-o", "-", container).text
    }

    @Test("no hint says to replace a key file") func keyFile() throws {
        try sh("cp key d/3.vault && echo three >d/3 && echo text >d/4.vault && echo four >d/4")
        let run = try update()
        let lines = run.errors.split(separator: "\n")
        for (name, hasHint) in [("3", false), ("4", true)] {
            let place = try #require(lines.firstIndex { $0.contains("d/\(name).vault") })
            #expect(lines.dropFirst(place + 1).first?.contains("hint: ") == hasHint, "\(run.errors)")
        }
        #expect(box.bytes("d/3.vault") == box.bytes("key"))
    }

    @Test("only what is new or newer is encrypted, and another run finds nothing to do") func again() throws {
        let second = try #require(box.bytes("d/2.vault"))
        try sh("echo later >d/1 && touch -d '2 minutes' d/1 && echo new >d/3")
        let run = try update("-v")
        #expect(run.ending == .status(0))
        #expect(
            run.errors.contains("vaultfile: d/2: encrypted before: its container holds its time and length\n"),
            "\(run.errors)")
        #expect(run.errors.hasSuffix(": 2 encrypted, 1 encrypted before, 2 passed over, 10 bytes\n"), "\(run.errors)")
        #expect(try contents("d/1.vault") == "later\n" && contents("d/3.vault") == "new\n")
        #expect(box.bytes("d/2.vault") == second)
        #expect(try update().errors == "vaultfile: encrypt: 3 encrypted before, 3 passed over\n")
    }

    /// A change that came while the input was read, and a rotation, make the container's file newer than the input.
    @Test("a change is found even if the container's file is newer") func newerFile() throws {
        try sh("echo changed >d/1 && touch -d 2200-01-01 d/1.vault d/2.vault")
        try box.makeKey("other")
        let rotated = try box.run("rotate", "--key-file", "key", "--add", "file:other", "d/2.vault")
        #expect(rotated.ending == .status(0))
        try sh("touch -d 2199-01-01 d/2")
        let both = ["VAULTFILE_KEY_FILE="]
        let run = try update("--key-file", "key", "--key-file", "other", environment: both)
        #expect(run.errors.hasPrefix("vaultfile: encrypt: 2 encrypted, 2 passed over"), "\(run.errors)")
        #expect(try contents("d/1.vault") == "changed\n")
    }

    @Test("the same time and another length is a change; the same time and length is none") func equalTimes() throws {
        try sh("touch -r d/1 t && echo longer than it was >d/1 && touch -r t d/1")
        try sh("touch -r d/2 t && printf 'CONTENTS OF 2' >d/2 && touch -r t d/2")
        let run = try update()
        #expect(run.errors.hasPrefix("vaultfile: encrypt: 1 encrypted, 1 encrypted before, "), "\(run.errors)")
        #expect(try contents("d/2.vault") == "contents of 2", "documented: this is not noticed")
    }

    @Test("a file that is older than what its container holds is reported, and the container is kept")
    func older() throws {
        let before = box.bytes("d/1.vault")
        try sh("echo an old copy >d/1 && touch -d 2001-01-01 d/1")
        let run = try update()
        #expect(run.ending == .status(73))
        #expect(
            run.errors.hasPrefix(
                """
                vaultfile: d/1: is older than the file that its container was made from; the container is kept
                vaultfile: hint: vaultfile encrypt -f, for this file alone, replaces it

                """), "\(run.errors)")
        #expect(box.bytes("d/1.vault") == before)
        #expect(try box.run("encrypt", "-f", "--key-file", "key", "d/1").ending == .status(0))
        #expect(try contents("d/1.vault") == "an old copy\n" && update().ending == .status(0))
    }

    @Test("a copy whose time has lost its end on the way is not older") func coarse() throws {
        try sh("touch -d '2030-01-01 10:00:01.123456789' d/1 d/2")
        #expect(try update().errors.hasPrefix("vaultfile: encrypt: 2 encrypted, "))
        for (time, isSame) in [
            ("10:00:01", true), ("10:00:01.123456", true), ("10:00:01.120", true), ("10:00:00", true),
            ("10:00:01.1234", false), ("09:59:59", false),
        ] {
            try sh("touch -d '2030-01-01 \(time)' d/1")
            #expect(try update().ending == .status(isSame ? 0 : 73), "\(time)")
        }
    }

    @Test("a container whose file is gone is kept") func vanished() throws {
        let before = box.bytes("d/1.vault")
        try sh("rm d/1")
        #expect(try update().errors == "vaultfile: encrypt: 1 encrypted before, 2 passed over\n")
        #expect(box.bytes("d/1.vault") == before)
    }

    @Test(
        "what is not this file's container is never replaced", arguments: ["plain", "other", "pipe", "torn", "foreign"])
    func foreign(_ kind: String) throws {
        try box.makeKey("stranger")
        try sh("touch -d 2200-01-01 d/1")
        switch kind {
        case "plain": try box.write("d/1.vault", "a table of contents")
        case "other": try sh("cp d/2.vault d/1.vault")
        case "pipe":
            try sh("rm d/1.vault")
            try box.run("encrypt", "--key-file", "key", "-o", "d/1.vault", input: "contents of 1")
        case "torn": try sh("truncate -s -9 d/1.vault")
        default:
            try box.run("encrypt", "-f", "--key-file", "stranger", "d/1")
            try sh("touch -d 2300-01-01 d/1")
        }
        let before = try #require(box.bytes("d/1.vault"))
        let run = try update()
        let statuses: [String: Int32] = ["torn": 65, "foreign": 77]
        #expect(run.ending == .status(statuses[kind] ?? 73), "\(run.errors)")
        #expect(run.errors.contains("vaultfile: d/1.vault: "), "\(run.errors)")
        #expect(box.bytes("d/1.vault") == before)
    }

    @Test("a link or a folder under a container's name stays") func notFiles() throws {
        try sh("mv d/1.vault kept && ln -s ../kept d/1.vault && rm d/2.vault && mkdir d/2.vault")
        try sh("touch -d 2200-01-01 d/1 d/2")
        let before = box.bytes("kept")
        let run = try update()
        #expect(run.ending == .status(73) && run.errors.contains("d/1.vault: is a link"), "\(run.errors)")
        #expect(run.errors.contains("d/2.vault: is a folder"))
        #expect(box.bytes("kept") == before)
    }

    @Test("a container that another key opens too is not replaced by one that it does not open") func slots() throws {
        try box.makeKey("safe")
        try box.run("rotate", "--key-file", "key", "--add", "file:safe", "d/1.vault")
        let before = try #require(box.bytes("d/1.vault"))
        try sh("echo changed >d/1 && touch -d '2 minutes' d/1")
        let run = try update()
        #expect(run.ending == .status(77) && run.errors.contains("d/1.vault: would no longer open with key "))
        #expect(box.bytes("d/1.vault") == before)
        #expect(try update("--key-file", "key", "--key-file", "safe").ending == .status(0))
        #expect(try box.run("verify", "--key-file", "safe", "d/1.vault").ending == .status(0))
    }

    @Test("older keys of the keyring open what is there, and need not open what is made") func keyring() throws {
        let ring = ["VAULTFILE_KEYRING=ring.vault", "VAULTFILE_UNLOCK=unprotected"]
        try box.run("key", "generate", "--unprotected", "--name", "one", environment: ring)
        try sh("rm d/*.vault")
        #expect(try update(environment: ring).ending == .status(0))
        try box.run("key", "generate", "--name", "two", environment: ring)
        try sh("echo changed >d/1 && touch -d '2 minutes' d/1")
        let run = try update(environment: ring)
        #expect(run.ending == .status(0), "\(run.errors)")
        #expect(run.errors.hasPrefix("vaultfile: encrypt: 1 encrypted, 1 encrypted before, "))
        let opened = try box.run("verify", "-k", "two", "d/1.vault", environment: ring)
        #expect(opened.ending == .status(0), "\(opened.errors)")
    }

    @Test("one file, and names that the container has from -o") func single() throws {
        let words = ["encrypt", "--update", "--key-file", "key", "-o", "x.vault", "d/1"].map { Array($0.utf8) }
        #expect(try box.run(words).ending == .status(0))
        let before = box.bytes("x.vault")
        #expect(try box.run(words).ending == .status(0) && box.bytes("x.vault") == before)
        try sh("echo changed >d/1 && touch -d '2 minutes' d/1")
        #expect(try box.run(words).ending == .status(0))
        #expect(try contents("x.vault") == "changed\n")
    }

    @Test("contradictions are refused") func usage() throws {
        for more in [["-f"], ["--remove-source"], ["--no-metadata"], ["--no-sync"], ["-o", "-"]] {
            let words = ["encrypt", "--update", "--key-file", "key"] + more + ["d/1"]
            let run = try box.run(words.map { Array($0.utf8) })
            #expect(run.ending == .status(64), "\(more): \(run.errors)")
        }
        let piped = try box.run("encrypt", "--update", "--key-file", "key", "-o", "x.vault", input: "text")
        #expect(piped.ending == .status(64) && box.bytes("x.vault") == nil)
        try box.write("list", "d/1\n")
        try Host.makeFolder(box.path("out"))
        let listed = try box.run("encrypt", "--update", "--key-file", "key", "--files-from", "list", "-o", "out/")
        #expect(listed.ending == .status(64))
        #expect(try box.run("encrypt", "--update", "--key-file", "key", "/dev/null").ending == .status(64))
    }

    @Test("a container that another program changes or puts there meanwhile is kept", arguments: [true, false])
    func meanwhile(isChange: Bool) throws {
        let place = OutputPlace(PathArgument(bytes: Array(box.path("d/1.vault").string.utf8)))
        let input = try Input(PathArgument(bytes: Array(box.path("d/1").string.utf8)))
        defer { input.close() }
        let verb = try #require(try Program.parse([Array("encrypt".utf8)]) as? Encrypt)
        var conversion = Conversion(
            outcome: .encrypted, options: verb.output.destination, outputs: Outputs(),
            console: Console(verb: .encrypt, verbosity: .quiet))
        conversion.replaced = try place.stat()
        var failure: Failure?
        do {
            _ = try conversion.make(.file(place), from: input) { _, output in
                try output.writeAll("new".utf8)
                try sh(isChange ? "printf x >>d/1.vault" : "cp d/2.vault x && mv x d/1.vault")
                return Conversion.Result(permissions: [.ownerReadWrite], length: 3)
            }
        } catch {
            failure = error as? Failure
        }
        #expect(failure?.status == .inUse)
        let expected = isChange ? box.bytes("d/1.vault")?.last : nil
        #expect(isChange ? expected == UInt8(ascii: "x") : box.bytes("d/1.vault") == box.bytes("d/2.vault"))
        #expect(try box.run("decrypt", "--key-file", "key", "-o", "-", "d/2.vault").ending == .status(0))
    }

    /// A change in the same step of the clock as the status would not show in the file's times.
    @Test("an input that has just changed is read a step of the clock later") func settled() throws {
        let made = Mutex<[String]>([])
        let changed = try #require(try box.stat("d/1").changed)
        var calls = RemovalCalls()
        calls.now = { made.withLock { $0.contains("pause") } ? Timestamp(seconds: changed.seconds + 10) : changed }
        calls.synchronize = { _ in made.withLock { $0.append("sync") } }
        calls.pause = { _ in made.withLock { $0.append("pause") } }
        let words = [
            "encrypt", "--update", "-q", "--jobs", "1", "--key-file", box.path("key").string,
            "-o", box.path("x.vault").string, box.path("d/1").string,
        ]
        let verb = try #require(try Program.parse(words.map { Array($0.utf8) }) as? any Verb)
        let status = try RemovalCalls.$current.withValue(calls) {
            try verb.execute(on: Console(verb: .encrypt, verbosity: .quiet))
        }
        #expect(status == .done && box.bytes("x.vault") != nil)
        #expect(made.withLock { $0 } == ["sync", "pause", "sync"])
    }
}
