import SystemPackage
import Testing

@testable import VaultCommand

/// Folders that hold header files beside containers.
@Suite struct HeaderFileCommandTests {
    /// A folder `d` with a container that has its own slots, two whose header files are beside them, and `e` in a folder
    /// below, whose header file is elsewhere.
    private func prepared() throws -> Sandbox {
        let box = try Sandbox()
        for name in ["old", "new"] { #expect(try box.run("key", "generate", "-o", name).ending == .status(0)) }
        try box.shell("mkdir -p d/sub")
        try box.write("data", String(repeating: "x", count: 10_000))
        for line in [
            ["-o", "d/a.vault"], ["--header", "d/b.hdr", "-o", "d/b.vault"], ["-o", "d/c.vault"],
            ["--header", "e.hdr", "-o", "d/sub/e.vault"],
        ] {
            let words = ["encrypt", "--key-file", "old"] + line + ["data"]
            #expect(try box.run(words.map { Array($0.utf8) }).ending == .status(0))
        }
        #expect(try box.run("detach", "--key-file", "old", "d/c.vault").ending == .status(0))
        return box
    }

    /// The name of the header file that detach has made.
    private func detached(_ box: Sandbox) throws -> String {
        let names = try box.shell("ls d").split(separator: "\n").map(String.init)
        return try #require(names.first { $0.hasPrefix("c.vault.") && $0.hasSuffix(".hdr") })
    }

    @Test func verifies() throws {
        let box = try prepared()
        try box.shell("rm -r d/sub")
        let found = try box.run("verify", "--recursive", "--key-file", "old", "d")
        let header = try detached(box)
        #expect(found.text.contains("d/b.hdr: the header file is intact\n"))
        #expect(found.text.contains("d/\(header): the header file is intact\n"), "\(found.text)")
        #expect(found.text.contains("d/c.vault: intact\n"))
        // Nothing leads from b.vault to b.hdr.
        #expect(found.ending == .status(66) && found.errors.contains("d/b.vault: its keys are in a header file"))
        #expect(!found.errors.contains("hdr"), "\(found.errors)")
        let json = try box.run("verify", "--json", "--key-file", "old", "d/b.hdr")
        let result = try JSON(parsing: json.text)
        #expect(try JSONSchema().violations(of: result).isEmpty)
        #expect(result["status"] == .string("ok") && result["pin"] != nil)
        #expect(result["header"]?["generation"] == .number(1))
        let wrong = try box.run("verify", "--key-file", "new", "d/b.hdr")
        #expect(wrong.ending == .status(77) && wrong.errors.contains("(wrongKey)"))
        // A state that the user remembers.
        try box.write("pin", try box.run("inspect", "--pin", "--key-file", "old", "d/b.hdr").text)
        try box.shell("cp d/b.hdr was.hdr")
        let rotated = try box.run("rotate", "--key-file", "old", "--add", "file:new", "d/b.hdr")
        #expect(rotated.ending == .status(0), "\(rotated.errors)")
        try box.write("pin", try box.run("inspect", "--pin", "--key-file", "old", "d/b.hdr").text)
        let old = try box.run("verify", "--expect", "pin", "--key-file", "old", "was.hdr")
        #expect(old.ending == .status(65) && old.errors.contains("(unexpectedState)"), "\(old.errors)")
    }

    @Test("damage of a header file, and a container that was cut to the length of one") func damage() throws {
        let box = try prepared()
        let header = try #require(box.bytes("d/b.hdr"))
        var changed = header
        changed[300] ^= 1
        for (bytes, name) in [(changed, "headerDamaged"), (Array(header.dropLast()), "truncated")] {
            try box.write(Array("x.hdr".utf8), bytes)
            for words in [["verify", "--key-file", "old"], ["ls"]] {
                let found = try box.run((words + ["x.hdr"]).map { Array($0.utf8) })
                #expect(found.ending == .status(65) && found.errors.contains("x.hdr: as a header file, it "))
                #expect(found.errors.contains("(\(name))") && !found.errors.contains("recover"), "\(found.errors)")
            }
        }
        // Byte for byte a header file, but its name says that it was a container.
        let small = try box.run("encrypt", "--key-file", "old", "--header", "h", "-o", "h.vault", "data")
        #expect(small.ending == .status(0))
        try box.shell("cp h cut.vault")
        for words in [["verify", "--key-file", "old"], ["ls"]] {
            let cut = try box.run((words + ["cut.vault"]).map { Array($0.utf8) })
            #expect(cut.ending == .status(65) && cut.errors.contains("(truncated)"), "\(cut.errors)")
        }
        // A container, whatever its name.
        try box.shell("cp d/a.vault a.hdr")
        #expect(try box.run("verify", "--key-file", "old", "a.hdr").text == "a.hdr: intact\n")
    }

    @Test func lists() throws {
        let box = try prepared()
        let found = try box.run("ls", "--recursive", "d")
        #expect(found.ending == .status(0), "\(found.errors)")
        let lines = found.text.split(separator: "\n")
        #expect(lines.filter { $0.contains("  header file: key ") && $0.hasSuffix(".hdr") }.count == 2)
        #expect(lines.filter { $0.contains("  slots in a header file ") && $0.hasSuffix(".vault") }.count == 3)
        let result = try JSON(parsing: try box.run("ls", "--json", "d/b.hdr").text)
        #expect(try JSONSchema().violations(of: result).isEmpty)
        #expect(result["header"] != nil && result["container"] == nil)
    }

    @Test("ls has no --header, and does not advise it") func hintOfList() throws {
        let found = try prepared().run("ls", "--key-file", "old", "d/sub/e.vault")
        #expect(found.ending == .status(66) && found.errors.contains("(headerDetached)"), "\(found.errors)")
        #expect(found.errors.contains("beside the container") && !found.errors.contains("--header"))
    }

    @Test func rotates() throws {
        let box = try prepared()
        let body = box.bytes("d/c.vault")
        let dry = try box.run("rotate", "--dry-run", "--recursive", "--key-file", "old", "--add", "file:new", "d")
        #expect(dry.text.contains("would rotate\td/b.hdr\t") && !dry.text.contains("\td/b.vault"))
        let done = try box.run("rotate", "--recursive", "--key-file", "old", "--add", "file:new", "d")
        let header = try detached(box)
        #expect(
            done.text
                == "rotated\td/a.vault\nrotated\td/b.hdr\nrotated\td/\(header)\nfailed\td/sub/e.vault\n",
            "\(done.text)")
        // Its header file is not in the run.
        #expect(done.ending == .status(66) && done.errors.contains("d/sub/e.vault: its keys are in a header file"))
        #expect(done.errors.contains("1 failed, 3 rotated, 2 passed over"), "\(done.errors)")
        #expect(box.bytes("d/c.vault") == body)
        let back = try box.run("decrypt", "--key-file", "new", "-o", "-", "d/c.vault")
        #expect(back.output == box.bytes("data"))
        // By their names.
        let named = try box.run("rotate", "--key-file", "old", "--add", "file:new", "d/sub/e.vault", "e.hdr")
        #expect(named.ending == .status(0) && named.text == "rotated\te.hdr\n", "\(named.errors)")
        let alone = try box.run("rotate", "--key-file", "old", "--add", "file:new", "d/sub/e.vault")
        #expect(alone.ending == .status(66) && alone.errors.contains("(headerDetached)"))
        // A header file of another container is no reason to pass over.
        let other = try box.run("rotate", "--key-file", "old", "--add", "file:new", "d/sub/e.vault", "d/b.hdr")
        #expect(other.ending == .status(66) && other.text.hasSuffix("\nfailed\td/sub/e.vault\n"), "\(other.text)")
    }

    @Test("a container that a walk finds is passed over if its header file is named") func named() throws {
        let box = try prepared()
        let words = ["rotate", "--recursive", "--key-file", "old", "--add", "file:new", "d/sub", "e.hdr"]
        let done = try box.run(words.map { Array($0.utf8) })
        #expect(done.ending == .status(0) && done.text == "rotated\te.hdr\n", "\(done.errors)")
        #expect(done.errors.contains("1 rotated, 1 passed over"), "\(done.errors)")
        let wrong = try box.run("rotate", "--recursive", "--key-file", "old", "--add", "file:new", "d/sub", "d/b.hdr")
        #expect(wrong.ending == .status(66) && wrong.text.hasSuffix("\nfailed\td/sub/e.vault\n"), "\(wrong.text)")
    }

    @Test("a list is handled as a walk is, in any order", arguments: ["sort", "sort -r"])
    func listed(_ order: String) throws {
        let box = try prepared()
        try box.shell("find d -type f | \(order) > list")
        let done = try box.run(
            ["rotate", "-v", "--files-from", "list", "--key-file", "old", "--add", "file:new"].map { Array($0.utf8) })
        let header = "d/\(try detached(box))"
        #expect(
            done.text.split(separator: "\n").sorted()
                == ["failed\td/sub/e.vault", "rotated\td/a.vault", "rotated\td/b.hdr", "rotated\t\(header)"],
            "\(done.text)")
        #expect(done.ending == .status(66) && done.errors.contains("1 failed, 3 rotated, 2 passed over"))
        #expect(done.errors.contains("d/sub/e.vault: its keys are in a header file"), "\(done.errors)")
        #expect(done.errors.contains("d/c.vault: its keys are in its header file, which is another input"))
        // Without the header file in the list, the container fails, even if the file is beside it.
        try box.write("list", "d/c.vault\n")
        let alone = try box.run("rotate", "--files-from", "list", "--key-file", "old", "--add", "file:new")
        #expect(alone.ending == .status(66) && alone.text == "failed\td/c.vault\n", "\(alone.errors)")
        try box.shell("rm -r d/sub d/b.vault; find d -type f > list")
        let verified = try box.run("verify", "--files-from", "list", "--key-file", "old")
        #expect(verified.ending == .status(0) && verified.text.contains("d/b.hdr: the header file is intact\n"))
        #expect(verified.text.contains("d/c.vault: intact\n"))
        try box.shell("head -c 300 d/b.hdr > d/cut.hdr; find d -type f > list")
        for verb in ["repair", "decrypt", "reencrypt"] {
            let found = try box.run(verb, "--files-from", "list", "--key-file", "old", "--key-file", "new")
            #expect(found.ending == .status(0), "\(verb): \(found.errors)")
            #expect(found.errors.contains("3 passed over"), "\(verb): \(found.errors)")
        }
    }

    @Test("a header file that lost its first bytes is reported", arguments: [0, 4096]) func lost(_ count: Int) throws {
        let box = try prepared()
        let header = "d/\(try detached(box))"
        try box.write(Array(header.utf8), [UInt8](repeating: 0, count: count))
        try box.write(Array("d/photo.hdr".utf8), [UInt8](repeating: 0, count: count))
        try box.shell("rm -r d/sub d/b.vault")
        let code = count == 0 ? "truncated" : "notVaultfile"
        for words in [
            ["verify", "--key-file", "old"], ["ls"], ["inspect"], ["rotate", "--key-file", "old", "--add", "file:new"],
        ] {
            let found = try box.run((words + ["--recursive", "d"]).map { Array($0.utf8) })
            #expect(found.ending == .status(65), "\(words[0]): \(found.errors)")
            #expect(found.errors.contains("\(header): "), "\(found.errors)")
            #expect(words == ["inspect"] || found.errors.contains("(\(code))"), "\(found.errors)")
            #expect(found.errors.contains("d/photo.hdr: does not begin as a header file does, and is passed over"))
        }
        // Such a file is no container.
        try box.shell("rm d/c.vault")
        let other = try box.run("repair", "--recursive", "--key-file", "old", "d")
        #expect(other.ending == .status(0) && !other.errors.contains(header), "\(other.errors)")
    }

    @Test("reencrypt puts the new header file where the old one was, and names it") func reencrypts() throws {
        let box = try prepared()
        try box.shell("mkdir stick; mv e.hdr stick/key.hdr")
        let done = try box.run(
            "reencrypt", "--key-file", "old", "--header", "stick/key.hdr", "d/sub/e.vault")
        let names = try box.shell("ls stick d/sub").split(separator: "\n").map(String.init)
        let name = try #require(names.first { $0.hasPrefix("e.vault.") && $0.hasSuffix(".hdr") }, "\(names)")
        #expect(names.filter { $0.hasSuffix(".hdr") } == [name])
        #expect(done.ending == .status(0), "\(done.errors)")
        #expect(done.text == "reencrypted\td/sub/e.vault\tstick/\(name)\n")
        let back = try box.run(
            "decrypt", "--key-file", "old", "--header", "stick/\(name)", "-o", "-", "d/sub/e.vault")
        #expect(back.output == box.bytes("data"))
        // A walk names it by the path of the container.
        let all = try box.run("reencrypt", "--recursive", "--key-file", "old", "d")
        let header = try detached(box)
        #expect(all.text.contains("reencrypted\td/c.vault\td/\(header)\n"), "\(all.text) \(all.errors)")
    }

    @Test("verbs that take containers pass header files over, or say what they are")
    func otherVerbs() throws {
        let box = try prepared()
        try box.shell("rm -r d/sub d/b.vault; head -c 300 d/b.hdr > d/cut.hdr")
        for verb in ["repair", "decrypt", "reencrypt"] {
            let found = try box.run(verb, "--recursive", "--key-file", "old", "d")
            #expect(found.ending == .status(0), "\(verb): \(found.errors)")
        }
        for verb in ["repair", "cat", "reencrypt"] {
            let named = try box.run(verb, "--key-file", "old", "d/b.hdr")
            #expect(named.ending == .status(65), "\(verb): \(named.errors)")
            #expect(named.errors.contains("d/b.hdr: is a header file, and no container (truncated)"), "\(verb)")
        }
    }

    @Test("a header file that cannot be opened is not called a damaged container") func noDescriptors() throws {
        let box = try prepared()
        var failures = 0
        for limit in 3...12 {
            let found = try box.run(
                ["rotate", "--key-file", "old", "--add", "file:new", "d/b.hdr"].map { Array($0.utf8) },
                prelude: "ulimit -n \(limit)")
            let isOther = found.errors.contains("truncated") || found.errors.contains("amaged")
            #expect(!isOther, "\(limit): \(found.errors)")
            if found.ending != .status(0) { failures += 1 }
        }
        #expect(failures > 0)
    }
}
