import SystemPackage
import Testing
import VaultFile

@testable import VaultCommand

/// `inspect --pin`, `--expect`, and the slots that a rotation keeps.
@Suite struct PinTests {
    private static let key = ["VAULTFILE_KEY_FILE=key"]

    private func words(_ text: [String]) -> [[UInt8]] { text.map { Array($0.utf8) } }

    /// A container from which a key was removed, the file as it was before in `old`, and the pin after the removal.
    private func prepared() throws -> Sandbox {
        let box = try Sandbox()
        for name in ["key", "removed"] { try box.makeKey(name) }
        // Long enough for a header of 4096 bytes, which is changed in place.
        try box.write("a", String(repeating: "contents", count: 10_000))
        let made = try box.run("encrypt", "--key-file", "key", "--key-file", "removed", "a")
        #expect(made.ending == .status(0), "\(made.errors)")
        try box.write(Array("old".utf8), try #require(box.bytes("a.vault")))
        let rotated = try box.run("rotate", "--remove", "file:removed", "a.vault", environment: Self.key)
        #expect(rotated.ending == .status(0) && rotated.errors.isEmpty, "\(rotated.errors)")
        try pin(box, "a.vault", to: "pin")
        return box
    }

    private func pin(_ box: Sandbox, _ container: String, to file: String) throws {
        let made = try box.run("inspect", "--pin", container, environment: Self.key)
        #expect(made.ending == .status(0) && made.errors.isEmpty, "\(made.errors)")
        let lines = made.text.split(separator: "\n")
        #expect(lines.count == 1 && made.text.hasPrefix("VAULTFILE-PIN-1"))
        try box.write(file, made.text)
    }

    /// Each verb with `--expect`.
    private static let verbs = [
        ["verify"], ["verify", "--quick"], ["decrypt", "-f", "-o", "out"], ["decrypt", "--offset", "3", "-o", "-"],
        ["inspect"], ["inspect", "--pin"], ["inspect", "--key-file", "key"], ["recover", "-f", "-o", "out"],
        ["rotate", "--dry-run", "--add", "file:new"],
        ["repair"], ["repair", "--keep", "front"], ["rotate", "--add", "file:new"],
        ["reencrypt", "--remove", "others"],
    ]

    @Test("a container that was put back is refused and not changed", arguments: verbs)
    func rolledBack(_ verb: [String]) throws {
        let box = try prepared()
        try box.makeKey("new")
        let current = try #require(box.bytes("a.vault"))
        let old = try #require(box.bytes("old"))
        let line = words(verb + ["--expect", "pin", "a.vault"])
        try box.write(Array("a.vault".utf8), old)
        let names = try box.names()
        let refused = try box.run(line, environment: Self.key)
        #expect(refused.ending == .status(65), "\(refused.errors)")
        #expect(refused.errors.contains("generation 1, which is older than the expected 2 (unexpectedState)"))
        #expect(refused.errors.contains("hint: someone may have put an old header back"))
        #expect(!refused.text.contains("VAULTFILE-PIN") && !refused.text.contains("contents"))
        #expect(try box.bytes("a.vault") == old && box.names() == names)
        // The container that the pin is of, and one with only its front put back; a pipe cannot use the tail.
        for bytes in [current, Array(old.prefix(4096) + current.dropFirst(4096))] {
            try box.write(Array("a.vault".utf8), bytes)
            let opened = try box.run(line, environment: Self.key)
            let damaged = bytes != current && verb.first == "verify" || bytes != current && verb.last == "front"
            #expect(opened.ending == .status(damaged ? 65 : 0), "\(opened.errors)")
            #expect(!opened.errors.contains("unexpectedState"))
            let isSaid = ["verify", "decrypt"].contains(verb.first) || verb == ["inspect", "--pin"]
            guard bytes != current, isSaid else { continue }
            let words =
                "the header copy at its front has generation 1, which is older than the expected header: someone may have "
                + "put it there (frontDamaged)"
            #expect(opened.errors.contains(words), "\(opened.errors)")
        }
    }

    @Test("what a pipe brings is checked before anything is written") func piped() throws {
        let box = try prepared()
        let old = try #require(box.bytes("old"))
        let refused = try box.run(
            words(["decrypt", "--expect", "pin", "-o", "-", "-"]), input: old, piped: true, environment: Self.key)
        #expect(refused.ending == .status(65) && refused.output.isEmpty, "\(refused.errors)")
        let right = try box.run(
            words(["decrypt", "--expect", "pin", "-o", "-", "-"]), input: box.bytes("a.vault"), piped: true,
            environment: Self.key)
        #expect(right.ending == .status(0) && right.output == box.bytes("a"))
    }

    @Test("after a change, the run says the new pin, which refuses the state before") func newPin() throws {
        let box = try prepared()
        try box.makeKey("new")
        let before = try #require(box.bytes("a.vault"))
        for change in [["rotate", "--add", "file:new"], ["reencrypt", "--remove", "others"]] {
            let done = try box.run(words(change + ["--expect", "pin", "a.vault"]), environment: Self.key)
            #expect(done.ending == .status(0), "\(done.errors)")
            let said = try #require(done.errors.split(separator: " ").first { $0.hasPrefix("VAULTFILE-PIN-1") })
            try pin(box, "a.vault", to: "pin")
            #expect(box.text("pin") == said.trimmingSuffix { $0 == ";" } + "\n")
            let after = try #require(box.bytes("a.vault"))
            try box.write(Array("a.vault".utf8), before)
            let refused = try box.run("verify", "--expect", "pin", "a.vault", environment: Self.key)
            #expect(refused.ending == .status(65) && refused.errors.contains("(unexpectedState)"))
            try box.write(Array("a.vault".utf8), after)
        }
        // Nothing changes, so there is no new pin.
        let current = try box.run("repair", "--expect", "pin", "a.vault", environment: Self.key)
        #expect(current.ending == .status(0) && current.errors.isEmpty)
    }

    @Test("a pin needs a key that opens, and one input; a file that is no pin is refused") func usage() throws {
        let box = try prepared()
        let keyless = try box.run("inspect", "--pin", "a.vault")
        #expect(keyless.ending == .status(78) && keyless.output.isEmpty, "\(keyless.errors)")
        let wrong = try box.run("inspect", "--pin", "--key-file", "removed", "a.vault")
        #expect(wrong.ending == .status(77) && wrong.output.isEmpty)
        try Host.makeFolder(box.path("folder"))
        for line in [
            ["inspect", "--pin", "a.vault", "old"], ["inspect", "--pin", "--recursive", "folder"],
            ["inspect", "--pin", "--summary", "a.vault"], ["verify", "--expect", "pin", "a.vault", "old"],
            ["rotate", "--remove", "others", "--expect", "pin", "--recursive", "folder"],
            ["decrypt", "--expect", "-", "a.vault"], ["recover", "-o", "out", "--expect", "-", "a.vault"],
        ] {
            let refused = try box.run(words(line), environment: Self.key)
            #expect(refused.ending == .status(64), "\(line): \(refused.errors)")
        }
        let text = try #require(box.text("pin"))
        for wrong in [
            "", "\n", String(text.dropLast(3)), text + text, text.lowercased().replacing("v", with: "V"),
            "# pin\n" + text,
            String(repeating: "Q", count: 100_000), box.text("key") ?? "",
        ] {
            try box.write("wrong", wrong)
            for verb in [
                ["verify"], ["rotate", "--remove", "others"], ["decrypt", "-o", "-"], ["recover", "-o", "x"],
            ] {
                let refused = try box.run(words(verb + ["--expect", "wrong", "a.vault"]), environment: Self.key)
                #expect(refused.ending == .status(64), "\(wrong.prefix(40)): \(refused.errors)")
                #expect(refused.errors.hasPrefix("vaultfile: wrong: "))
            }
        }
        let missing = try box.run("verify", "--expect", "none", "a.vault", environment: Self.key)
        #expect(missing.ending == .status(66), "\(missing.errors)")
        try box.write("b", "other")
        #expect(try box.run("encrypt", "b", environment: Self.key).ending == .status(0))
        let other = try box.run("verify", "--expect", "pin", "b.vault", environment: Self.key)
        #expect(other.ending == .status(65) && other.errors.contains("another container"))
    }

    @Test("a rotation lists the slots that it keeps, on a terminal and with -v") func kept() throws {
        let box = try prepared()
        for name in ["one", "two"] { try box.makeKey(name) }
        // The state from before the removal, which an attacker has put back.
        try box.write(Array("a.vault".utf8), try #require(box.bytes("old")))
        let ids = try ["key", "removed"].map { name in
            try #require(box.run("key", "show", "--key-file", name).text.split(separator: " ").first)
        }
        let line = ["rotate", "--add", "file:one", "a.vault"]
        let dry = try box.run(words(line + ["--dry-run", "-v"]), environment: Self.key)
        for id in ids { #expect(dry.errors.contains("a.vault: would keep its slot for key \(id)\n")) }
        let verbose = try box.run(words(line + ["-v"]), environment: Self.key)
        for id in ids { #expect(verbose.errors.contains("vaultfile: a.vault: keeps its slot for key \(id)\n")) }
        let terminal = try PseudoTerminal()
        let running = try box.start(
            words(["rotate", "--add", "file:two", "a.vault"]), environment: Self.key, terminal: terminal,
            errorsToTerminal: true)
        let seen = try terminal.expect("keeps its slot for key \(ids[1])")
        #expect(running.end().ending == .status(0) && seen.contains("a.vault: keeps its slot for key \(ids[0])"))
        // Not in pipes, and not for a container that stays as it is.
        for arguments in [
            ["rotate", "--remove", "file:two", "a.vault"], ["rotate", "-v", "--add", "file:one", "a.vault"],
        ] {
            let done = try box.run(words(arguments), environment: Self.key)
            #expect(done.ending == .status(0) && !done.errors.contains("keeps"), "\(done.errors)")
        }
    }

    @Test("JSON has the pin and the kept slots") func json() throws {
        let box = try prepared()
        let schema = try JSONSchema()
        func result(_ line: [String]) throws -> [String: JSON] {
            let done = try box.run(words(line + ["--json", "a.vault"]), environment: Self.key)
            let value = try JSON(parsing: done.text)
            #expect(schema.violations(of: value) == [], "\(done.text)")
            guard case .object(let members) = value else { throw Errno.invalidArgument }
            return members
        }
        let pin = try JSON.string(#require(box.text("pin")).trimmingSuffix { $0 == "\n" })
        #expect(try result(["inspect", "--pin"])["pin"] == pin)
        #expect(try result(["inspect", "--key-file", "key"])["pin"] == pin)
        #expect(try result(["inspect"])["pin"] == nil)
        guard case .object(let repair) = try result(["repair"])["rotation"],
            case .object(let rotation) = try result(["rotate", "--add", "file:removed"])["rotation"],
            case .array(let kept) = rotation["kept"]
        else { throw Errno.invalidArgument }
        #expect(repair["pin"] == pin && rotation["pin"] != pin && kept.count == 1)
        #expect(try result(["inspect", "--pin"])["pin"] == rotation["pin"])
    }
}

extension String {
    fileprivate func trimmingSuffix(_ isLeftOut: (Character) -> Bool) -> String {
        var text = self
        while let last = text.last, isLeftOut(last) { text.removeLast() }
        return text
    }
}

extension Substring {
    fileprivate func trimmingSuffix(_ isLeftOut: (Character) -> Bool) -> String {
        String(self).trimmingSuffix(isLeftOut)
    }
}
