import SystemPackage
import Testing

@testable import VaultCommand

/// Containers that a killed detach or attach has left: one header copy has slots, and the other says that they are in a
/// header file.
@Suite struct InterruptedDetachTests {
    private static let capacity = 512

    /// A folder `d` with `c.vault`, which `mine` and `leaked` open, and its header file.
    ///
    /// - Parameter isAttach: Whether the tail has the slots, and not the front. The tail is written first.
    private func prepared(isAttach: Bool) throws -> Sandbox {
        let box = try Sandbox()
        for name in ["mine", "leaked"] { #expect(try box.run("key", "generate", "-o", name).ending == .status(0)) }
        try box.write("data", String(repeating: "x", count: 10_000))
        try box.shell("mkdir d")
        let made = try box.run("encrypt", "--key-file", "mine", "--key-file", "leaked", "-o", "d/c.vault", "data")
        #expect(made.ending == .status(0), "\(made.errors)")
        let first = try #require(box.bytes("d/c.vault"))
        #expect(try box.run("detach", "--key-file", "mine", "d/c.vault").ending == .status(0))
        let detached = try #require(box.bytes("d/c.vault"))
        try box.shell("cp d/*.hdr .")
        #expect(try box.run("attach", "--key-file", "mine", "d/c.vault").ending == .status(0))
        let attached = try #require(box.bytes("d/c.vault"))
        try box.shell("mv c.vault.*.hdr d")
        let (front, rest) = isAttach ? (detached, attached) : (first, detached)
        try box.write(Array("d/c.vault".utf8), Array(front[..<Self.capacity] + rest[Self.capacity...]))
        return box
    }

    @Test("rotate does not pass over a container with a slot of its own", arguments: [true, false], [true, false])
    func rotates(isAttach: Bool, isNamed: Bool) throws {
        let box = try prepared(isAttach: isAttach)
        let header = try box.shell("ls d/*.hdr").split(separator: "\n").map(String.init)
        let inputs = isNamed ? ["d/c.vault"] + header : ["--recursive", "d"]
        let words = ["rotate", "--key-file", "mine", "--remove", "file:leaked"] + inputs
        let done = try box.run(words.map { Array($0.utf8) })
        #expect(done.text.contains("rotated\td/c.vault.") && !done.errors.contains("passed over"), "\(done.errors)")
        guard isAttach else {
            // The header file cannot complete a detach while its slots are changed: the run says what is left.
            #expect(done.ending == .status(77) && done.text.hasPrefix("failed\td/c.vault\n"), "\(done.text)")
            #expect(done.errors.contains("d/c.vault: ") && done.errors.contains("(rotationUnfinished)"))
            #expect(done.errors.contains("vaultfile repair with the header file completes it"), "\(done.errors)")
            let again = try box.run("detach", "--key-file", "mine", "d/c.vault")
            #expect(again.ending == .status(0), "\(again.errors)")
            return try refusesLeaked(box)
        }
        #expect(done.ending == .status(0) && done.text.hasPrefix("rotated\td/c.vault\n"), "\(done.errors)")
        try refusesLeaked(box)
    }

    private func refusesLeaked(_ box: Sandbox) throws {
        let leaked = try box.run("decrypt", "--key-file", "leaked", "-o", "-", "d/c.vault")
        #expect(leaked.ending == .status(77) && leaked.output.isEmpty, "\(leaked.errors)")
        #expect(try box.run("decrypt", "--key-file", "mine", "-o", "-", "d/c.vault").output == box.bytes("data"))
    }

    @Test("what verify says is true: repair completes a detach, with the header file", arguments: [true, false])
    func repairs(isNamed: Bool) throws {
        let box = try prepared(isAttach: false)
        let seen = try box.run("verify", "--key-file", "mine", "d/c.vault")
        #expect(seen.ending == .status(65) && seen.errors.contains("(rotationUnfinished)"), "\(seen.errors)")
        #expect(seen.errors.contains("repair with the key or the header file that was new"), "\(seen.errors)")
        var words = ["repair", "--key-file", "mine"]
        if isNamed {
            try box.shell("mv d/*.hdr h")
            let without = try box.run((words + ["d/c.vault"]).map { Array($0.utf8) })
            #expect(without.ending == .status(77) && without.errors.contains("(rotationUnfinished)"))
            #expect(without.errors.contains("vaultfile repair with the header file completes it"), "\(without.errors)")
            words += ["--header", "h"]
        }
        let done = try box.run((words + ["d/c.vault"]).map { Array($0.utf8) })
        #expect(done.ending == .status(0) && done.text.hasPrefix("repaired\td/c.vault\t"), "\(done.errors)")
        #expect(done.errors.contains("only the tail (generation 2) has its slots in a header file"), "\(done.errors)")
        #expect(done.errors.split(separator: "its header copies differ").count == 2, "\(done.errors)")
        let header = isNamed ? ["--header", "h"] : []
        let after = try box.run((["verify", "--key-file", "mine"] + header + ["d/c.vault"]).map { Array($0.utf8) })
        #expect(after.ending == .status(0) && after.text == "d/c.vault: intact\n", "\(after.errors)")
    }

    @Test("reencrypt makes a container that is detached") func reencrypts() throws {
        let box = try prepared(isAttach: false)
        let done = try box.run("reencrypt", "--key-file", "mine", "--key-file", "leaked", "d/c.vault")
        #expect(done.ending == .status(0), "\(done.errors)")
        #expect(try box.run("cat", "--key-file", "mine", "d/c.vault").output == box.bytes("data"))
        #expect(try box.run("ls", "d/c.vault").text.contains("slots in a header file"))
    }

    @Test("ls shows the slots that are left", arguments: [true, false]) func lists(isAttach: Bool) throws {
        let box = try prepared(isAttach: isAttach)
        let line = try box.run("ls", "d/c.vault").text
        #expect(line.split(separator: ", ").count == 3 && line.contains(", slots in a header file "), "\(line)")
        #expect(line.split(separator: "key ").count == 3, "\(line)")
    }

    @Test("a copy that is damaged may have slots") func damaged() throws {
        let box = try prepared(isAttach: true)
        var bytes = try #require(box.bytes("d/c.vault"))
        bytes[bytes.count - 32 - 100] ^= 1
        try box.write(Array("d/c.vault".utf8), bytes)
        let done = try box.run("rotate", "--recursive", "--key-file", "mine", "--remove", "file:leaked", "d")
        #expect(done.ending != .status(0) && done.text.hasPrefix("failed\td/c.vault\n"), "\(done.text) \(done.errors)")
    }
}
