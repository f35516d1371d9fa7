import SystemPackage
import Testing
import VaultFile

@testable import VaultCommand

/// Many inputs: `--recursive`, `--files-from` and `--jobs`.
@Suite struct FleetTests {
    private func words(_ text: String...) -> [[UInt8]] { text.map { Array($0.utf8) } }

    /// A sandbox with a key and these files below `d`.
    private func box(_ files: [String] = []) throws -> Sandbox {
        let box = try Sandbox()
        try box.makeKey()
        try Host.makeFolder(box.path("d"))
        for folder in ["d/a", "d/b", "d/a/c"] { try Host.makeFolder(box.path(folder)) }
        for file in files { try box.write(file, "contents of \(file)") }
        return box
    }

    private func tree(_ box: Sandbox) throws -> [String] {
        try Sandbox.shell("cd \"$1\" && find d ! -type d | LC_ALL=C sort", [Array(box.folder.string.utf8)])
            .split(separator: "\n").map(String.init)
    }

    // MARK: What a walk takes

    @Test("a folder becomes containers and files again; links, pipes and unfinished files are left alone")
    func thereAndBack() throws {
        let files = ["d/1", "d/a/2", "d/a/c/3", "d/b/4"]
        let unfinished = "d/.vaultfile-0123456789abcdef"
        let box = try box(files + ["outside", unfinished])
        let writer = try box.lock(unfinished)
        defer { try? writer.close() }
        try Host.link(box.path("d/link"), to: "1")
        try Host.link(box.path("d/loop"), to: "../d")
        try Host.link(box.path("d/away"), to: "../outside")
        try Host.makePipe(box.path("d/pipe"))
        let kept = try tree(box)
        let encrypted = try box.run("encrypt", "--recursive", "--key-file", "key", "d")
        #expect(encrypted.ending == .status(0) && encrypted.text == "")
        #expect(encrypted.errors.hasPrefix("vaultfile: encrypt: 4 encrypted, "))
        #expect(try tree(box) == (kept + files.map { $0 + ".vault" }).sorted())
        #expect(try box.names() == ["d", "key", "outside"])
        for file in files { try Sandbox.shell("rm -- \"$1\"", [Array(box.path(file).string.utf8)]) }
        let verified = try box.run("verify", "--recursive", "--key-file", "key", "d")
        #expect(
            verified.text == "d/1.vault: intact\nd/a/2.vault: intact\nd/a/c/3.vault: intact\nd/b/4.vault: intact\n")
        #expect(verified.errors == "vaultfile: verify: 4 intact, 5 passed over (3 links, 1 special file), 68 bytes\n")
        let decrypted = try box.run("decrypt", "--recursive", "--remove-source", "--key-file", "key", "d")
        #expect(decrypted.ending == .status(0), "\(decrypted.errors)")
        #expect(try tree(box) == kept)
        for file in files { #expect(box.text(file) == "contents of \(file)") }
    }

    /// The folder `d` with plaintexts `1` and `2` that a run has encrypted.
    private func encryptedBefore() throws -> Sandbox {
        let box = try box(["d/1", "d/2"])
        #expect(try box.run("encrypt", "--recursive", "d", environment: Self.key).ending == .status(0))
        return box
    }

    private static let key = ["VAULTFILE_KEY_FILE=key"]

    @Test("encrypt again: files that were encrypted before are passed over") func again() throws {
        let box = try encryptedBefore()
        let first = box.bytes("d/1.vault")
        try box.write("d/3", "late")
        let second = try box.run("encrypt", "--recursive", "d", environment: Self.key)
        #expect(second.ending == .status(0))
        #expect(second.errors == "vaultfile: encrypt: 1 encrypted, 2 encrypted before, 2 passed over, 4 bytes\n")
        #expect(box.bytes("d/1.vault") == first)
        #expect(try box.run("encrypt", "--recursive", "-f", "d", environment: Self.key).ending == .status(0))
        #expect(box.bytes("d/1.vault") != first, "-f encrypts again")
    }

    /// A file beside a plaintext that looks like its container may be something else.
    @Test("each file that is passed over as encrypted before can be named, and is counted") func namedAgain() throws {
        let box = try encryptedBefore()
        try box.write("d/4", "not encrypted")
        try box.write(Array("d/4.vault".utf8), Preamble.magic)
        let named = try box.run("encrypt", "--recursive", "-v", "d", environment: Self.key)
        let why = "encrypted before: its container is there and is not older"
        #expect(named.errors.split(separator: "\n").dropLast() == [1, 2, 4].map { "vaultfile: d/\($0): \(why)" }[...])
        #expect(named.errors.hasSuffix("vaultfile: encrypt: 3 encrypted before, 3 passed over\n"))
        let told = try box.run("encrypt", "--recursive", "--json", "d", environment: Self.key).errors
        let summary = try JSON(parsing: told)
        #expect(try JSONSchema().violations(of: summary) == [])
        #expect(summary["outcomes"] == .object(["encryptedBefore": .number(3)]))
    }

    @Test("a plaintext that is newer than its container, or that would be removed, is not passed over silently")
    func changedSince() throws {
        let box = try encryptedBefore()
        try Sandbox.shell("touch -d 2200-01-01 \"$1\"", [Array(box.path("d/1").string.utf8)])
        let newer = try box.run("encrypt", "--recursive", "d", environment: Self.key)
        #expect(newer.ending == .status(73) && newer.errors.hasPrefix("vaultfile: d/1.vault: exists\n"))
        #expect(newer.errors.hasSuffix("encrypt: 1 encrypted before, 1 failed, 2 passed over\n"))
        let removing = try box.run("encrypt", "--recursive", "--remove-source", "d", environment: Self.key)
        // The other one is what this run would make, so its plaintext goes.
        #expect(removing.ending == .status(73))
        #expect(removing.errors.contains(": 1 encrypted, 1 failed, 2 passed over"), "\(removing.errors)")
        #expect(box.bytes("d/1") != nil && box.bytes("d/2") == nil)
        #expect(try box.run("encrypt", "--recursive", "-f", "d", environment: Self.key).ending == .status(0))
    }

    @Test("-f replaces nothing that is an input itself") func replacing() throws {
        let box = try box(["d/1", "d/1.vault"])
        let outcome = try box.run("encrypt", "--recursive", "-f", "--key-file", "key", "d")
        #expect(outcome.ending == .status(73) && outcome.errors.contains("d/1.vault: is to be encrypted itself"))
        #expect(box.text("d/1.vault") == "contents of d/1.vault")
        #expect(try tree(box) == ["d/1", "d/1.vault", "d/1.vault.vault"])
    }

    @Test("what has a magic or the suffix is a container; what lost an end is reported") func selection() throws {
        let box = try box(["d/1"])
        let key = ["VAULTFILE_KEY_FILE=key"]
        try box.run("encrypt", "--digest", "d/1", environment: key)
        let whole = try #require(box.bytes("d/1.vault"))
        let noFront = [UInt8](repeating: 0, count: 8) + whole.dropFirst(8)
        let neither = Array(noFront.dropLast(8)) + [UInt8](repeating: 0, count: 8)
        try box.write(Array("d/a/unnamed".utf8), whole)
        try box.write(Array("d/a/noFront".utf8), noFront)
        try box.write(Array("d/b/noFront.vault".utf8), noFront)
        try box.write(Array("d/b/lost".utf8), neither)
        try box.write(Array("d/b/neither.vault".utf8), neither)
        let verified = try box.run("verify", "--recursive", "--json", "d", environment: key)
        #expect(verified.ending == .status(65))
        let schema = try JSONSchema()
        let results = try verified.text.split(separator: "\n").map { try JSON(parsing: String($0)) }
        for result in results { #expect(schema.violations(of: result) == []) }
        #expect(
            results.map { $0["path"] } == [
                .string("d/1.vault"), .string("d/a/noFront"), .string("d/a/unnamed"), .string("d/b/neither.vault"),
                .string("d/b/noFront.vault"),
            ])
        #expect(results.map { $0["exit"] } == [0, 65, 0, 65, 65].map { .number($0) })
        let last = try JSON(parsing: String(try #require(verified.errors.split(separator: "\n").last)))
        #expect(schema.violations(of: last) == [] && last["kind"] == .string("summary"))
        #expect(last["outcomes"] == .object(["intact": .number(2), "damaged": .number(3)]))
        #expect(last["passedOver"] == .number(2) && last["exit"] == .number(65))
        // A magic at the end alone is too little evidence: the file would stay readable.
        let encrypted = try box.run("encrypt", "--recursive", "d", environment: key)
        #expect(encrypted.ending == .status(0))
        let made = try tree(box).filter { $0.hasSuffix(".vault") }
        #expect(
            made.contains("d/a/noFront.vault") && made.contains("d/b/neither.vault.vault")
                && made.contains("d/b/lost.vault"))
        #expect(!made.contains("d/b/noFront.vault.vault") && !made.contains("d/a/unnamed.vault"))
    }

    @Test("operands that are files are taken as files, and folders not without --recursive") func operands() throws {
        let box = try box(["d/1", "x"])
        let key = ["VAULTFILE_KEY_FILE=key"]
        #expect(try box.run("encrypt", "x", environment: key).ending == .status(0))
        let folder = try box.run("verify", "d", "x.vault", environment: key)
        #expect(folder.ending == .status(66) && folder.errors.contains("d: is a folder"))
        #expect(folder.text == "x.vault: intact\n")
        let second = try box.run("encrypt", "--recursive", "x.vault", "d", "none", environment: key)
        #expect(second.ending == .status(64) && second.errors.contains("x.vault: is a container already"))
        #expect(second.errors.contains("none: no such file") && second.errors.contains(": 1 encrypted, 2 failed, "))
        if !Host.isRoot {
            try Host.changeMode(box.path("d/a"), to: [])
            let unreadable = try box.run("verify", "--recursive", "d", environment: key)
            try Host.changeMode(box.path("d/a"), to: [.ownerReadWriteExecute])
            #expect(unreadable.ending == .status(66) && unreadable.text == "d/1.vault: intact\n")
        }
        try Host.link(box.path("link"), to: "d")
        #expect(try box.run("verify", "--recursive", "link/", environment: key).text == "link/1.vault: intact\n")
    }

    @Test("what an option's value looks like is nothing but its value") func values() throws {
        let box = try Sandbox()
        try box.makeKey()
        try box.write("a", "contents")
        for name in ["--generate-completion-script", "--help", "--version", "encrypt"] {
            let outcome = try box.run("encrypt", "--key-file", "key", "-o", name, "a")
            #expect(outcome.ending == .status(0) && box.bytes(name) != nil, "\(name): \(outcome.errors)")
        }
    }

    @Test("nonsense is refused") func usage() throws {
        let box = try box()
        for arguments in [
            words("encrypt", "--recursive", "-o", "x", "d"), words("decrypt", "--recursive", "-o", "x", "d"),
            words("encrypt", "--files-from", "list", "-o", "x"), words("encrypt", "-0", "d"),
            words("encrypt", "-f", "--files-from", "list", "-o", "d/"), words("verify"),
            words("encrypt", "--recursive"),
            words("decrypt", "--offset", "1", "--files-from", "list"), words("verify", "--jobs", "0", "d"),
            words("verify", "--jobs", "257", "d"), words("verify", "--files-from", "-", "-"),
            words("verify", "--files-from", "-", "--key-file", "-"),
        ] {
            let outcome = try box.run(arguments, environment: ["VAULTFILE_KEY_FILE=key"])
            #expect(outcome.ending == .status(64), "\(arguments.map { String(decoding: $0, as: UTF8.self) })")
        }
        let missing = try box.run("verify", "--files-from", "none", environment: ["VAULTFILE_KEY_FILE=key"])
        #expect(missing.ending == .status(66))
    }

    // MARK: Lists

    @Test("names in a list are bytes, line ends included with -0") func lists() throws {
        let box = try box()
        let names: [[UInt8]] = [Array("a\nb".utf8), [0xFF, 0x20], Array("-".utf8), Array("--key-file=x".utf8)]
        for name in names { try box.write(name, name) }
        let list = Array(names.joined(separator: [0]))
        let outcome = try box.run(
            words("encrypt", "--files-from", "-", "-0", "--key-file", "key"), input: list, piped: true)
        #expect(outcome.ending == .status(0), "\(outcome.errors)")
        for name in names { #expect(box.bytes(name + Array(".vault".utf8)) != nil) }
        try box.write("list", "--key-file=x.vault\n-.vault\n")
        let verified = try box.run("verify", "--files-from", "list", "--key-file", "key")
        #expect(verified.text == "--key-file=x.vault: intact\n-.vault: intact\n")
    }

    @Test("a line that is no path is an error, and the rest goes on") func badLines() throws {
        let box = try box(["d/1"])
        let long = [UInt8](repeating: 0x78, count: 200_000)
        let list = Array("\n".utf8) + long + Array("\nd/\u{0}1\nd/1\n\nd".utf8)
        let outcome = try box.run(words("encrypt", "--files-from", "-", "--key-file", "key"), input: list)
        #expect(outcome.ending == .status(64))
        let lines = outcome.errors.split(separator: "\n").filter { !$0.contains("hint") }.map { $0.dropFirst(11) }
        #expect(
            lines == [
                "standard input: line 1 is empty", "standard input: line 2 is longer than any path",
                "standard input: line 3 holds a NUL", "standard input: line 5 is empty", "d: is a folder",
                "encrypt: 1 encrypted, 5 failed, 15 bytes",
            ])
    }

    // MARK: Several at once

    @Test("neither results nor their order depend on the number of threads") func order() throws {
        let box = try box()
        let key = ["VAULTFILE_KEY_FILE=key"]
        for index in 0..<60 {
            try box.write(Array("d/\(index)".utf8), [UInt8](repeating: 1, count: index % 14 == 0 ? 4_000_000 : 10))
        }
        try box.run("encrypt", "--recursive", "--chunk-size", "4K", "--no-sync", "d", environment: key)
        for index in stride(from: 0, to: 60, by: 14) {
            // More output than the run buffers until its turn.
            var bytes = try #require(box.bytes("d/\(index).vault"))
            for place in stride(from: 10_000, to: bytes.count - 10_000, by: 2 * 4_116) { bytes[place] ^= 1 }
            try box.write(Array("d/\(index).vault".utf8), bytes)
        }
        try box.write("d/5.vault", "none")
        for arguments in [
            ["verify", "--json"], ["verify", "-v"], ["inspect"], ["decrypt", "-f", "--json", "--no-sync"],
        ] {
            let outcomes = try ["1", "4", "17"].map { jobs in
                try box.run(
                    (arguments + ["--recursive", "--jobs", jobs, "d"]).map { Array($0.utf8) }, environment: key)
            }
            #expect(outcomes[0].errors.utf8.count > (arguments[0] == "verify" ? 100_000 : 100))
            for outcome in outcomes {
                #expect(outcome.ending == .status(65))
                #expect(outcome.output == outcomes[0].output && outcome.errors == outcomes[0].errors)
            }
        }
    }

    @Test("passphrases are stretched one by one, and a secret is read once") func passphrases() throws {
        let box = try box(["d/1", "d/2", "d/3"])
        for verb in ["encrypt", "verify"] {
            let outcome = try box.run(
                words(verb, "--recursive", "--jobs", "3", "--passphrase-fd", "0", "d"), input: Array("secret\n".utf8),
                piped: true)
            #expect(outcome.ending == .status(0), "\(outcome.errors)")
            #expect(outcome.errors.hasPrefix("vaultfile: \(verb): 3 "))
        }
    }

    @Test("an interruption leaves nothing behind, and another run does what is left") func interruption() throws {
        let box = try box((0..<300).map { "d/a/\($0)" })
        let running = try box.start(words("encrypt", "--recursive", "--jobs", "3", "--key-file", "key", "d"))
        while try tree(box).count < 310 { Host.pause(milliseconds: 1) }
        running.child.send(Host.sigTerm)
        #expect(running.end().ending == .signal(Host.sigTerm))
        let left = try tree(box)
        #expect(left.count < 600 && !left.contains { $0.contains(".vaultfile-") })
        let second = try box.run("encrypt", "--recursive", "--key-file", "key", "d")
        #expect(second.ending == .status(0) && second.errors.contains(": \(600 - left.count) encrypted, "))
        let verified = try box.run("verify", "--recursive", "--key-file", "key", "d")
        #expect(verified.errors.hasPrefix("vaultfile: verify: 300 intact, 300 passed over, "))
    }

    @Test("ten thousand files in one run") func many() throws {
        let box = try box()
        try Sandbox.shell(
            "cd \"$1/d\" && i=0 && while [ $i -lt 10000 ]; do echo $i >$i; i=$((i+1)); done",
            [Array(box.folder.string.utf8)])
        let encrypted = try box.run("encrypt", "--recursive", "--no-sync", "--key-file", "key", "d")
        #expect(encrypted.errors == "vaultfile: encrypt: 10000 encrypted, 48890 bytes\n")
        #expect(try tree(box).count == 20_000)
    }

    @Test("a run of over a second shows how far it is") func progress() throws {
        let box = try box(["d/1", "d/2"])
        try Host.makePipe(box.path("list"))
        let terminal = try PseudoTerminal()
        let running = try box.start(
            words("encrypt", "--files-from", "list", "--jobs", "2", "--key-file", "key"), terminal: terminal,
            errorsToTerminal: true)
        let list = try FileDescriptor.open(box.path("list"), .writeOnly, options: .closeOnExec)
        try list.writeAll("d/1\n".utf8)
        _ = try terminal.expect("d/1 -> d/1.vault")
        Host.pause(milliseconds: 1_100)
        try list.writeAll("d/2\n".utf8)
        _ = try terminal.expect("1 file, 15 B, ")
        try list.close()
        #expect(running.end().ending == .status(0))
        _ = try terminal.expect("\r\u{1B}[K")
        _ = try terminal.expect("vaultfile: encrypt: 2 encrypted, 30 bytes")
    }

    // MARK: The inventory

    @Test("which keys are in use, by how many containers and bytes") func inventory() throws {
        let box = try box(["d/1", "d/a/2", "d/a/c/3", "d/b/4"])
        try box.makeKey("other")
        let id = { (key: String) in
            try String(
                box.run("key", "show", "--key-file", key, "--json").text.split(separator: "\"")
                    .first { $0.utf8.count == 32 } ?? "")
        }
        let (first, second) = (try id("key"), try id("other"))
        let length = 2 * 512 + 16 + 512 + 16 + 32
        try box.run("encrypt", "--recursive", "--header-capacity", "512", "--key-file", "key", "d/a")
        try box.run(
            words("encrypt", "--header-capacity", "512", "--key-file", "key", "--key-file", "other", "d/1"))
        try box.run(
            words("encrypt", "--header-capacity", "512", "--key-file", "other", "--passphrase-fd", "0", "d/b/4"),
            input: Array("secret\n".utf8))
        try box.write("d/b/damaged.vault", String(repeating: "x", count: 5_000))
        let sizes = try ["d/1", "d/a/2", "d/a/c/3", "d/b/4"].map { try box.stat($0 + ".vault").size }
        #expect(sizes.allSatisfy { $0 > length })
        let shown = try box.run("inspect", "--recursive", "--summary", "d")
        #expect(shown.ending == .status(65))
        #expect(
            shown.text == """
                keys in use, not authenticated:
                  \(first)  3 files, \(sizes[0] + sizes[1] + sizes[2]) bytes; 2 of them open with this key only
                  \(second)  2 files, \(sizes[0] + sizes[3]) bytes
                  passphrases                       1 file, \(sizes[3]) bytes

                """)
        #expect(shown.errors.contains("d/b/damaged.vault: "))
        let whole = try box.run("inspect", "--recursive", "d/a")
        #expect(whole.text.hasPrefix("d/a/2.vault:\n  visible to everyone") && whole.text.contains("\nkeys in use, "))
        let schema = try JSONSchema()
        let objects = try box.run("inspect", "--recursive", "--summary", "--json", "d").text.split(separator: "\n")
            .map { try JSON(parsing: String($0)) }
        for object in objects { #expect(schema.violations(of: object) == []) }
        #expect(objects.map { $0["kind"] } == ["result", "keyUse", "keyUse", "keyUse"].map { .string($0) })
        #expect(objects.map { $0["keyID"] } == [nil, .string(first), .string(second), nil])
        #expect(objects.last?["use"]?["kind"] == .string("passphrase"))
    }

    @Test("of more keys than memory is spent on, the rest are counted together") func manyKeys() throws {
        let box = try box()
        for index in 0..<4 {
            try box.makeKey("key\(index)")
            try box.write("d/\(index)", "x")
            try box.run("encrypt", "--key-file", "key\(index)", "d/\(index)")
        }
        let inventory = KeyInventory(maximumKeys: 2)
        for index in 0..<4 {
            let file = try FileDescriptor.open(box.path("d/\(index).vault"), .readOnly)
            defer { try? file.close() }
            let seen = try Inspection(FileSource(file))
            inventory.add(seen)
            if index < 2 { inventory.add(seen) }
        }
        #expect(inventory.sorted.map(\.use.files) == [2, 2, 2])
        #expect(inventory.sorted.last?.opener == .furtherKeys)
    }
}
