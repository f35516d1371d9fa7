import SystemPackage
import Testing

@testable import VaultCommand

/// Detached headers as a person or a script uses them.
@Suite struct DetachCommandTests {
    /// A container of `data` for the keys `old` and `other`.
    private func prepared() throws -> Sandbox {
        let box = try Sandbox()
        for name in ["old", "new", "other"] { #expect(try box.run("key", "generate", "-o", name).ending == .status(0)) }
        try box.write("data", String(repeating: "x", count: 100_000))
        #expect(
            try box.run("encrypt", "--key-file", "old", "--key-file", "other", "data").ending == .status(0))
        return box
    }

    private func status(_ box: Sandbox, _ words: String...) throws -> (Child.Ending, String) {
        let outcome = try box.run(words.map { Array($0.utf8) })
        return (outcome.ending, outcome.text + outcome.errors)
    }

    private func opens(_ box: Sandbox, _ key: String, _ words: String...) throws -> Bool {
        let line = ["decrypt", "--key-file", key, "-o", "-"] + words + ["data.vault"]
        let outcome = try box.run(line.map { Array($0.utf8) })
        #expect(outcome.ending == .status(0) || outcome.output.isEmpty)
        return outcome.ending == .status(0) && outcome.output == box.bytes("data")
    }

    @Test func thereAndBack() throws {
        let box = try prepared()
        let dry = try box.run("detach", "--dry-run", "--key-file", "old", "data.vault")
        #expect(dry.ending == .status(0), "\(dry.errors)")
        #expect(dry.text.hasPrefix("would detach\tdata.vault\tdata.vault."))
        let done = try box.run("detach", "--key-file", "old", "data.vault")
        #expect(done.ending == .status(0) && done.text.hasPrefix("detached\tdata.vault\tdata.vault."), "\(done.errors)")
        let name = try #require(done.text.split(whereSeparator: { "\t\n".contains($0) }).last.map(String.init))
        #expect(name.hasSuffix(".hdr") && box.bytes(name) != nil)
        // Every verb finds it by its name.
        #expect(try opens(box, "old") && opens(box, "other") && !opens(box, "new"))
        for verb in ["verify", "cat", "repair"] {
            #expect(try box.run(verb, "--key-file", "old", "data.vault").ending == .status(0))
        }
        #expect(
            try box.run("rotate", "--key-file", "old", "--add", "file:new", "--remove", "file:other", name).text
                == "rotated\t\(name)\n")
        #expect(try opens(box, "new") && !opens(box, "other"))
        let again = try box.run("detach", "--key-file", "old", "data.vault")
        #expect(again.ending == .status(0) && again.text.hasPrefix("unchanged\tdata.vault\t"))
        let back = try box.run("attach", "--key-file", "new", "data.vault")
        #expect(back.ending == .status(0) && back.text == "attached\tdata.vault\n", "\(back.errors)")
        #expect(box.bytes(name) == nil)
        #expect(try opens(box, "new") && opens(box, "old") && !opens(box, "other"))
        let nothing = try box.run("attach", "--key-file", "new", "data.vault")
        #expect(nothing.ending == .status(66) && nothing.errors.contains("is not there"))
    }

    @Test("a lost, an old and a foreign header file do what the help says") func lostOldForeign() throws {
        let box = try prepared()
        #expect(try box.run("detach", "--key-file", "old", "--header", "h", "data.vault").ending == .status(0))
        #expect(try opens(box, "old", "--header", "h"))
        // Lost.
        let lost = try status(box, "decrypt", "--key-file", "old", "-o", "-", "data.vault")
        #expect(lost.0 == .status(66) && lost.1.contains("(headerDetached)") && lost.1.contains("--header FILE"))
        // Old.
        try box.write(Array("was".utf8), try #require(box.bytes("h")))
        #expect(
            try box.run("rotate", "--key-file", "old", "--remove", "file:other", "h").ending == .status(0))
        let pin = try box.run("inspect", "--pin", "--key-file", "old", "h")
        #expect(pin.ending == .status(0) && pin.text.hasPrefix("VAULTFILE-PIN-1"), "\(pin.errors)")
        try box.write("pin", pin.text)
        #expect(try opens(box, "other", "--header", "was") && !opens(box, "other", "--header", "h"))
        #expect(try opens(box, "old", "--header", "h", "--expect-header", "pin"))
        let old = try status(
            box, "decrypt", "--key-file", "old", "-o", "-", "--header", "was", "--expect-header", "pin", "data.vault")
        #expect(old.0 == .status(65) && old.1.contains("its header file") && old.1.contains("(unexpectedState)"))
        // Foreign.
        #expect(
            try box.run("encrypt", "--key-file", "old", "--header", "other.hdr", "-o", "b", "data").ending
                == .status(0))
        let foreign = try status(box, "verify", "--key-file", "old", "--header", "other.hdr", "data.vault")
        #expect(foreign.0 == .status(65) && foreign.1.contains("(copiesDisagree)"))
        try box.write("text", "text")
        let text = try status(box, "verify", "--key-file", "old", "--header", "text", "data.vault")
        #expect(text.0 == .status(65) && text.1.contains("its header file") && text.1.contains("(notVaultfile)"))
        // A container that has its own slots.
        #expect(try box.run("encrypt", "--key-file", "old", "-o", "c", "data").ending == .status(0))
        let front = [UInt8](try #require(box.bytes("c"))[..<4096])
        try box.write(Array("front".utf8), front)
        let own = try status(box, "verify", "--key-file", "old", "--header", "front", "c")
        #expect(own.0 == .status(64) && own.1.contains("(notDetached)"))
        let missing = try status(box, "verify", "--key-file", "old", "--header", "away", "c")
        #expect(missing.0 == .status(66))
    }

    @Test func encrypting() throws {
        let box = try prepared()
        func encrypt(_ words: String...) throws -> Sandbox.Outcome {
            try box.run((["encrypt", "--key-file", "old", "--header", "h"] + words).map { Array($0.utf8) })
        }
        #expect(try encrypt("-o", "n", "data").ending == .status(0))
        let back = try box.run("decrypt", "--key-file", "old", "--header", "h", "-o", "-", "n")
        #expect(back.output == box.bytes("data"))
        let header = box.bytes("h")
        // An existing file is never replaced, and the container is not made then.
        let taken = try encrypt("-f", "-o", "m", "data")
        #expect(taken.ending == .status(73) && box.bytes("h") == header && box.bytes("m") == nil, "\(taken.errors)")
        // If the container fails, its header file is removed.
        try box.run("key", "generate", "-o", "unused")
        try Platform.remove(box.path("h"))
        let failed = try box.run(
            ["encrypt", "--key-file", "old", "--header", "h", "-o", "m", "data"].map { Array($0.utf8) },
            prelude: "ulimit -f 8")
        #expect(failed.ending != .status(0) && box.bytes("h") == nil && box.bytes("m") == nil, "\(failed.errors)")
        let two = try encrypt("data", "n")
        #expect(two.ending == .status(64) && two.errors.contains("single INPUT"))
        #expect(try encrypt("--update", "data").ending == .status(64))
        // Through a pipe: the header file is there before the container.
        let piped = try encrypt("-o", "-", "data")
        #expect(piped.ending == .status(0) && box.bytes("h") != nil)
        let words = ["decrypt", "--key-file", "old", "--header", "h", "-o", "-"].map { Array($0.utf8) }
        #expect(try box.run(words, input: piped.output, piped: true).output == box.bytes("data"))
    }

    @Test("no output replaces a header file", arguments: [[], ["-f"], ["-f", "--remove-source"]])
    func headerFilesStay(_ force: [String]) throws {
        let box = try prepared()
        try box.shell("mkdir sub; ln -s ../own sub/link")
        // The header file that the run makes, by several names.
        for name in ["own", "./own", "sub/../own", "sub/link"] {
            let line = ["encrypt", "--key-file", "old", "--header", "own", "-o", name] + force + ["data"]
            let outcome = try box.run(line.map { Array($0.utf8) })
            #expect(outcome.ending != .status(0), "\(name)")
            #expect(box.bytes("data") != nil && box.bytes("own") == nil, "\(name): \(outcome.errors)")
        }
        #expect(try status(box, "detach", "--key-file", "old", "--header", "h", "data.vault").0 == .status(0))
        let header = try #require(box.bytes("h"))
        for verb in ["decrypt", "recover"] {
            let line = [verb, "--key-file", "old", "--header", "h", "-o", "h"] + force.prefix(1) + ["data.vault"]
            let outcome = try box.run(line.map { Array($0.utf8) })
            #expect(outcome.ending == .status(73) && box.bytes("h") == header, "\(verb): \(outcome.errors)")
        }
    }

    @Test func refusals() throws {
        let box = try prepared()
        let before = box.bytes("data.vault")
        try box.write("h", "my notes")
        let text = try status(box, "detach", "--key-file", "old", "--header", "h", "data.vault")
        #expect(text.0 == .status(65) && text.1.contains("(copiesDisagree)"))
        #expect(box.bytes("data.vault") == before && box.bytes("h") == Array("my notes".utf8))
        try Platform.remove(box.path("h"))
        #expect(try box.run("detach", "--key-file", "new", "data.vault").ending == .status(77))
        let odd = try box.run("detach", "--key-file", "old", "--header-capacity", "700", "data.vault")
        #expect(odd.ending == .status(64))
        #expect(try box.run("detach", "--key-file", "old", "--header", "h", "data.vault").ending == .status(0))
        // The keys are changed in the header file, and a message says so.
        let body = try status(box, "rotate", "--key-file", "old", "--header", "h", "--add", "file:new", "data.vault")
        #expect(body.0 == .status(66) && body.1.contains("(headerDetached)") && body.1.contains("rotate HEADER-FILE"))
        // A header file that has more slots than the container.
        #expect(try box.run("rotate", "--key-file", "old", "--add", "file:new", "h").ending == .status(0))
        try box.write(Array("data.vault".utf8), try #require(before))
        let more = try status(box, "detach", "--key-file", "old", "--header", "h", "data.vault")
        #expect(more.0 == .status(77) && more.1.contains("--force"))
        let back = try status(box, "attach", "--key-file", "old", "--header", "h", "data.vault")
        #expect(back.0 == .status(64) && back.1.contains("(notDetached)") && box.bytes("h") != nil)
        #expect(try box.run("detach", "-f", "--key-file", "old", "--header", "h", "data.vault").ending == .status(0))
    }

    @Test func json() throws {
        let box = try prepared()
        let schema = try JSONSchema()
        func run(_ words: String...) throws -> JSON {
            let outcome = try box.run(words.map { Array($0.utf8) })
            #expect(outcome.ending == .status(0), "\(outcome.errors)")
            let result = try JSON(parsing: outcome.text)
            #expect(schema.violations(of: result).isEmpty, "\(schema.violations(of: result))")
            return result
        }
        let done = try run("detach", "--json", "--key-file", "old", "--header", "h", "data.vault")
        #expect(done["outcome"] == .string("detached") && done["headerFile"] == .string("h"))
        #expect(done["headerPin"] != nil && done["headerPin"] != done["rotation"]?["pin"])
        let shown = try run("inspect", "--json", "--key-file", "old", "h")
        #expect(shown["header"]?["generation"] == .number(1) && shown["pin"] == done["headerPin"])
        let both = try run("inspect", "--json", "--key-file", "old", "--header", "h", "data.vault")
        #expect(both["headerPin"] == done["headerPin"] && both["header"] != nil && both["container"] != nil)
        let new = try run(
            "reencrypt", "--json", "--key-file", "old", "--remove", "others", "--header", "h", "data.vault")
        #expect(new["rotation"]?["headerPin"] != nil && box.bytes("h") == nil)
        guard case .string(let next) = new["headerFile"] else {
            Issue.record("no header file is named")
            return
        }
        #expect(next.hasPrefix("data.vault.") && box.bytes(next) != nil)
        #expect(new["headerPin"] == new["rotation"]?["headerPin"])
        #expect(try opens(box, "old") && !opens(box, "other"))
        let back = try run("attach", "--json", "--key-file", "old", "data.vault")
        #expect(back["outcome"] == .string("attached"))
    }

    @Test func recovers() throws {
        let box = try prepared()
        #expect(try box.run("detach", "--key-file", "old", "--header", "h", "data.vault").ending == .status(0))
        var body = try #require(box.bytes("data.vault"))
        for place in [100, body.count - 32 - 4096 + 100, body.count - 1] { body[place] ^= 1 }
        try box.write(Array("data.vault".utf8), body)
        let without = try status(box, "recover", "--key-file", "old", "-o", "out", "data.vault")
        #expect(without.0 == .status(65) && box.bytes("out") == nil)
        let done = try status(box, "recover", "--key-file", "old", "--header", "h", "-o", "out", "data.vault")
        #expect(done.0 == .status(0) && box.bytes("out") == box.bytes("data"), "\(done.1)")
    }
}
