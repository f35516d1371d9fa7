import SystemPackage
import Testing
import VaultFile
import VaultTestSupport

@testable import VaultCommand

#if os(Linux)
/// `vaultfile edit`: the editor is a shell script.
@Suite struct EditTests {
    /// A folder in memory for the temporary files, removed with this value.
    private final class Memory {
        let path: FilePath

        init() throws {
            let made = try Sandbox.shell("mktemp -d /dev/shm/vaultfile-tests-XXXXXX", [])
            path = FilePath(String(made.dropLast()))
        }

        deinit { _ = try? Sandbox.shell("rm -rf \"$1\"", [Array(path.string.utf8)]) }

        /// What is left in it.
        var names: [String] {
            let listing = try? Sandbox.shell("cd \"$1\" && find . -type f", [Array(path.string.utf8)])
            return (listing ?? "?").split(separator: "\n").map(String.init)
        }

        /// Whether nothing is left in it, not even a folder.
        var isEmpty: Bool { (try? Sandbox.shell("ls -A \"$1\"", [Array(path.string.utf8)])) == "" }
    }

    private let memory: Memory
    private let box: Sandbox

    init() throws {
        memory = try Memory()
        box = try Sandbox()
        for name in ["key", "other"] { try box.makeKey(name) }
        try box.write("notes.txt", "first\nsecond\n", mode: [.ownerReadWrite, .groupRead])
        try encrypt("--key-file", "key")
    }

    private func encrypt(_ options: String...) throws {
        let words = ["encrypt", "-f", "--chunk-size", "8K", "--digest", "--context", "x"] + options + ["notes.txt"]
        #expect(try box.run(words.map { Array($0.utf8) }).ending == .status(0))
    }

    /// Runs edit with a script as the editor. `$1` is the file.
    private func edit(_ script: String, _ options: String...) throws -> Sandbox.Outcome {
        try start(script, options).end()
    }

    private func start(_ script: String, _ options: [String]) throws -> Sandbox.Running {
        try box.write("editor", script)
        let named = options.contains("--key-file") ? [] : ["--key-file", "key"]
        return try box.start(
            (["edit", "--context", "x"] + named + options + ["notes.txt.vault"]).map { Array($0.utf8) },
            environment: ["EDITOR=sh ./editor", "XDG_RUNTIME_DIR=\(memory.path)"])
    }

    private func contents(_ key: String = "key") throws -> String {
        try box.run("cat", "--context", "x", "--key-file", key, "notes.txt.vault").text
    }

    private func inspected() throws -> JSON {
        try JSON(
            parsing: box.run("inspect", "--json", "--context", "x", "--key-file", "key", "notes.txt.vault").text)
    }

    @Test("signatures of the old contents are not lost without consent") func signatures() throws {
        var options = SealOptions()
        options.context = try Context("x")
        options.metadata.setMember(0x8010, to: [1, 2, 3])
        let text = try #require(box.bytes("key"))
        let key = try SymmetricKey(keyFile: text.span)
        var container: [UInt8] = []
        let writer = try VaultWriter(for: [.key(key)], options: options)
        _ = try writer.finish { container.append(copying: $0) }
        try box.write(Array("notes.txt.vault".utf8), container)
        let refused = try edit("echo text >\"$1\"; touch seen")
        #expect(refused.ending == .status(77) && refused.errors.contains("signatures"), "\(refused.errors)")
        #expect(refused.errors.contains("--drop-signatures"))
        #expect(box.bytes("notes.txt.vault") == container && box.bytes("seen") == nil, "the editor does not start")
        #expect(try edit("echo text >\"$1\"", "--drop-signatures").ending == .status(0))
        #expect(try contents() == "text\n")
        #expect(try edit("echo more >\"$1\"").ending == .status(0), "no signature is left")
    }

    @Test("new contents, and the slots, the name, the mode and the properties of before") func edits() throws {
        let before = try inspected()
        let done = try edit("ls -l \"$1\" >seen; ls -ld \"$(dirname \"$1\")\" >>seen; echo third >>\"$1\"")
        #expect(done.ending == .status(0) && done.text == "edited\tnotes.txt.vault\n" && done.errors == "")
        #expect(try contents() == "first\nsecond\nthird\n" && memory.isEmpty)
        let seen = try #require(box.text("seen")).split(separator: "\n")
        #expect(seen[0].hasPrefix("-rw-------") && seen[0].hasSuffix("/notes.txt") && seen[1].hasPrefix("drwx------"))
        let after = try inspected()
        #expect(after["slots"]?[0]?["id"] == before["slots"]?[0]?["id"])
        #expect(after["container"]?["front"]?["chunkSize"] == .number(8192))
        #expect(after["container"]?["front"]?["commitment"] != before["container"]?["front"]?["commitment"])
        #expect(after["manifest"]?["digest"] != nil && after["manifest"]?["mode"] == .string("0640"))
        #expect(after["manifest"]?["name"] == .string("notes.txt"))
        #expect(after["manifest"]?["modified"] != nil)
        #expect(try box.mode("notes.txt.vault") == 0o640)
        let json = try edit("echo 4 >>\"$1\"", "--json")
        #expect(try JSONSchema().violations(of: JSON(parsing: json.text)) == [])
        #expect(try JSON(parsing: json.text)["outcome"] == .string("edited"))
        // Editors save by a rename, too, and leave backups.
        let renamed = try edit("cp \"$1\" \"$1~\"; echo new >\"$1.new\"; mv \"$1.new\" \"$1\"")
        #expect(renamed.text == "edited\tnotes.txt.vault\n" && memory.isEmpty)
        #expect(try contents() == "new\n")
    }

    @Test("an unchanged text changes nothing", arguments: ["true", "touch \"$1\"", "cp \"$1\" x; cat x >\"$1\""])
    func unchanged(_ script: String) throws {
        let before = try #require(box.bytes("notes.txt.vault"))
        let done = try edit(script)
        #expect(done.ending == .status(0) && done.text == "unchanged\tnotes.txt.vault\n")
        #expect(box.bytes("notes.txt.vault") == before && memory.isEmpty)
    }

    @Test("plaintext that cannot be removed is an error that says where it is", arguments: [true, false])
    func notRemoved(_ isEdited: Bool) throws {
        let script = "mkdir \"$(dirname \"$1\")/backups\"; echo old >\"$(dirname \"$1\")/backups/notes\""
        let done = try edit(script + (isEdited ? "; echo third >>\"$1\"" : ""))
        #expect(done.ending == .status(74))
        #expect(try contents() == "first\nsecond\n" + (isEdited ? "third\n" : ""))
        let names = memory.names
        #expect(names.count == 1 && names[0].hasSuffix("/backups/notes"))
        let folder = "\(memory.path)/" + names[0].split(separator: "/")[1]
        let words = "\(folder): this plaintext could not be removed; the container is "
        #expect(done.errors.contains(words + (isEdited ? "edited" : "unchanged")), "\(done.errors)")
    }

    @Test(
        "an editor that fails, and an empty text: the container stays, and work is not lost",
        arguments: [
            ("exit 3", 74, "the editor failed with status 3", false),
            ("echo work >>\"$1\"; exit 3", 74, "the editor failed with status 3", true),
            ("echo work >\"$1.swp\"; exit 1", 74, "the editor failed", true),
            (": >\"$1\"", 64, "is empty", false), ("rm \"$1\"", 66, "no such file", false),
            ("no-such-editor", 74, "the editor failed with status 127", false),
            ("kill -9 $$", 74, "signal 9 ended the editor", false),
        ])
    func failures(_ script: String, _ status: Int32, _ words: String, _ stays: Bool) throws {
        let before = try #require(box.bytes("notes.txt.vault"))
        let done = try edit(script)
        #expect(done.ending == .status(status) && done.errors.lowercased().contains(words), "\(done.errors)")
        #expect(box.bytes("notes.txt.vault") == before)
        #expect(memory.isEmpty == !stays)
        #expect(done.errors.contains("the edited text is in \(memory.path)/") == stays)
        guard stays else { return }
        // The next edit says so again.
        let next = try edit("true")
        #expect(next.ending == .status(0) && next.errors.contains("an earlier edit left its text here"))
        #expect(!memory.isEmpty)
    }

    @Test("damaged contents are an error about the container, before the editor") func damaged() throws {
        try box.write("notes.txt", String(repeating: "text\n", count: 10_000))
        try encrypt("--key-file", "key")
        var damaged = try #require(box.bytes("notes.txt.vault"))
        damaged[20_000] ^= 1
        try box.write(Array("notes.txt.vault".utf8), damaged)
        let refused = try edit("touch ran")
        #expect(refused.ending == .status(65) && box.bytes("ran") == nil && memory.isEmpty)
        #expect(refused.errors.hasPrefix("vaultfile: notes.txt.vault: record 2 is damaged"), "\(refused.errors)")
    }

    @Test("a folder in place of the text is an error that says so") func folder() throws {
        let refused = try edit("rm \"$1\"; mkdir \"$1\"")
        #expect(refused.ending == .status(64) && refused.errors.contains("is not a regular file"), "\(refused.errors)")
        #expect(try contents() == "first\nsecond\n")
    }

    @Test("a container that changed meanwhile is not overwritten, and the text stays") func changedMeanwhile() throws {
        let binary = try Sandbox.binary()
        let done = try edit(
            """
            '\(binary)' rotate --context x --key-file key --add file:other notes.txt.vault >&2 || exit 9
            echo work >>"$1"
            """)
        #expect(done.ending == .status(75) && done.errors.contains("another program has changed it meanwhile"))
        #expect(try contents("other") == "first\nsecond\n")
        #expect(memory.names.count == 1)
        let gone = try edit(
            "rm notes.txt.vault; echo work >>\"$1\"", "--key-file", "key", "--key-file", "other")
        #expect(gone.ending != .status(0) && gone.errors.contains("the edited text is in"))
        #expect(box.bytes("notes.txt.vault") == nil)
    }

    @Test("slots that nothing given opens: asked before the editor, kept with their key, dropped by name")
    func slots() throws {
        try encrypt("--key-file", "key", "--key-file", "other")
        let lost = try edit("touch ran")
        #expect(lost.ending == .status(77) && lost.errors.contains("slots would be lost: key "))
        #expect(lost.errors.contains("hint: give what opens them too") && box.bytes("ran") == nil && memory.isEmpty)
        let both = try edit("echo 3 >>\"$1\"", "--key-file", "key", "--key-file", "other")
        #expect(both.ending == .status(0))
        #expect(try contents() == "first\nsecond\n3\n" && contents("other") == "first\nsecond\n3\n")
        let dropped = try edit("echo 4 >>\"$1\"", "--remove", "others")
        #expect(dropped.ending == .status(0))
        #expect(try contents() == "first\nsecond\n3\n4\n" && contents("other") == "")
        let added = try edit("echo 5 >>\"$1\"", "--add", "file:other")
        #expect(added.ending == .status(0))
        #expect(try contents("other") == "first\nsecond\n3\n4\n5\n")
        let none = try edit("touch ran", "--remove", "file:key", "--remove", "file:other")
        #expect(none.ending != .status(0) && box.bytes("ran") == nil)
    }

    @Test("a passphrase keeps its slot") func passphrases() throws {
        try box.write("passphrase", "w\u{F6}rd\n", mode: .ownerReadWrite)
        try encrypt("--key-file", "key", "--passphrase-file", "passphrase")
        #expect(try edit("touch ran").ending == .status(77))
        let done = try edit("echo 3 >>\"$1\"", "--key-file", "key", "--passphrase-file", "passphrase")
        #expect(done.ending == .status(0) && box.bytes("ran") == nil)
        let read = try box.run("cat", "--context", "x", "--passphrase-file", "passphrase", "notes.txt.vault")
        #expect(read.text == "first\nsecond\n3\n")
    }

    @Test("no slot is made for a retired key") func retired() throws {
        let ring = ["VAULTFILE_KEYRING=ring", "VAULTFILE_UNLOCK=file:key", "EDITOR=touch ran; echo 3 >>"]
        #expect(try box.run("key", "generate", "--name", "one", environment: ring).ending == .status(0))
        #expect(try box.run("encrypt", "-f", "notes.txt", environment: ring).ending == .status(0))
        #expect(try box.run("key", "generate", "--name", "two", environment: ring).ending == .status(0))
        let refused = try box.run("edit", "notes.txt.vault", environment: ring)
        #expect(refused.ending == .status(77) && refused.errors.contains("(one, retired)") && box.bytes("ran") == nil)
        #expect(refused.errors.contains("vaultfile rotate"))
        #expect(try box.run("rotate", "notes.txt.vault", environment: ring).ending == .status(0))
        let done = try box.run("edit", "notes.txt.vault", environment: ring)
        #expect(done.text == "edited\tnotes.txt.vault\n", "\(done.errors)")
        #expect(try box.run("cat", "notes.txt.vault", environment: ring).text == "first\nsecond\n3\n")
    }

    @Test("plaintext goes to a disk only if the user says so; other refusals come before the editor, too")
    func refusals() throws {
        // The folder of the tests may be in memory; that of the program is not.
        let disk = FilePath(try Sandbox.binary()).removingLastComponent()
        let run = { (options: [String]) in
            try box.run(
                (["edit", "--context", "x", "--key-file", "key"] + options + ["notes.txt.vault"]).map {
                    Array($0.utf8)
                },
                environment: ["EDITOR=touch ran; echo 3 >>", "XDG_RUNTIME_DIR=\(disk)"])
        }
        let refused = try run([])
        #expect(refused.ending == .status(73) && refused.errors.contains("is not in memory"))
        #expect(refused.errors.contains("--allow-disk") && box.bytes("ran") == nil)
        #expect(try run(["--allow-disk"]).text == "edited\tnotes.txt.vault\n")
        #expect(try Sandbox.shell("ls -d \"$1\"/vaultfile-edit-*", [Array(disk.string.utf8)]) == "")
        _ = try Sandbox.shell("rm \"$1/ran\"; ln \"$1/notes.txt.vault\" \"$1/also\"", [Array(box.folder.string.utf8)])
        let linked = try edit("touch ran")
        #expect(linked.ending == .status(73) && linked.errors.contains("hardLinks") && box.bytes("ran") == nil)
        #expect(try edit("echo 4 >>\"$1\"", "--break-links").ending == .status(0))
        #expect(try box.run("edit", "--key-file", "key", "a", "b").ending == .status(64))
        #expect(try box.run("edit", "--key-file", "key", "-").ending == .status(64))
        #expect(try box.run("edit", "--key-file", "key", "notes.txt").ending == .status(65))
    }

    @Test(
        "a signal removes an unchanged text, and leaves a changed one", arguments: [false, true],
        [Host.sigTerm, Host.sigHup])
    func signals(_ changes: Bool, _ number: Int32) throws {
        let before = try #require(box.bytes("notes.txt.vault"))
        let running = try start(
            "\(changes ? "echo work >>\"$1\"" : ":"); kill -INT $PPID; kill -QUIT $PPID; touch ready; exec sleep 60", []
        )
        for _ in 0..<1000 where box.bytes("ready") == nil { Host.pause(milliseconds: 20) }
        // The editor interrupts the program, which must not end.
        Host.pause(milliseconds: 200)
        #expect(!memory.isEmpty)
        running.child.send(number)
        let done = running.end()
        #expect(done.ending == .signal(number))
        #expect(memory.isEmpty == !changes && memory.names.count == (changes ? 1 : 0))
        #expect(done.errors.contains("the edited text is in \(memory.path)/") == changes)
        #expect(box.bytes("notes.txt.vault") == before)
    }
}

extension JSON {
    subscript(_ index: Int) -> JSON? {
        if case .array(let items) = self, items.indices.contains(index) { items[index] } else { nil }
    }
}
#endif
