import SystemPackage
import Testing
import VaultFile
import VaultSystem
import VaultTestSupport

@testable import VaultCommand

/// `vaultfile recover`: what it recovers, and what it reports.
@Suite struct RecoverTests {
    private static let plaintext = randomBytes(20_000, seed: 44)

    private func words(_ text: String...) -> [[UInt8]] { text.map { Array($0.utf8) } }

    /// A folder with `key`, `a` and `a.vault`: five records of 4096 bytes and a header of 512.
    private func prepared() throws -> (Sandbox, [UInt8]) {
        let box = try Sandbox()
        try box.makeKey()
        try box.write(Array("a".utf8), Self.plaintext, mode: [.ownerReadWrite, .groupRead])
        let made = try box.run("encrypt", "--key-file", "key", "--chunk-size", "4K", "--header-capacity", "512", "a")
        #expect(made.ending == .status(0))
        return (box, try #require(box.bytes("a.vault")))
    }

    private func recover(_ box: Sandbox, _ arguments: String...) throws -> Sandbox.Outcome {
        try box.run((["recover", "--key-file", "key"] + arguments).map { Array($0.utf8) })
    }

    private func damaged(_ bytes: [UInt8], at places: Int...) -> [UInt8] {
        var bytes = bytes
        for place in places { bytes[place] ^= 1 }
        return bytes
    }

    @Test func nothingIsLost() throws {
        let (box, whole) = try prepared()
        // Front, footer, zeros and a record's head: none of them is needed.
        let bytes = damaged(whole, at: 100, whole.count - 1, 512 + 4116)
        try box.write(Array("b.vault".utf8), bytes)
        #expect(try box.run("decrypt", "--key-file", "key", "b.vault").ending == .status(65))
        let outcome = try recover(box, "-o", "b", "b.vault")
        #expect(outcome.ending == .status(0) && outcome.errors == "" && outcome.text == "")
        #expect(box.bytes("b") == Self.plaintext)
        #expect(try box.stat("b").modified == box.stat("a").modified)
        #expect(try box.mode("b") == 0o640)
        #expect(box.bytes("b.vault") == bytes)
        let noisy = try recover(box, "-v", "-f", "-o", "b", "b.vault")
        #expect(noisy.errors.contains("b.vault: the header copy at byte \(whole.count - 32 - 512) was used\n"))
    }

    @Test("what is lost is named, the rest is kept, and the status is 65") func someIsLost() throws {
        let (box, whole) = try prepared()
        try box.write(Array("b.vault".utf8), damaged(whole, at: 600, 512 + 4116 * 2 + 50, 512 + 4116 * 3 + 50))
        for output in ["b", "-"] {
            let outcome = try recover(box, "-o", output, "b.vault")
            #expect(outcome.ending == .status(65))
            var expected = Self.plaintext
            for index in Array(0..<4096) + Array(8192..<16384) { expected[index] = 0 }
            #expect((output == "-" ? outcome.output : box.bytes("b")) == expected)
            let lines = outcome.errors.split(separator: "\n")
            #expect(lines.count == 3)
            #expect(lines[0].hasPrefix("vaultfile: b.vault: bytes 0..<4096 of the contents are lost: "))
            #expect(lines[0].hasSuffix(": record 0 is damaged, at byte 512 of the container (recordDamaged)"))
            #expect(lines[1].hasPrefix("vaultfile: b.vault: bytes 8192..<16384 of the contents are lost: "))
            #expect(lines[2].contains("12288 of 20000 bytes are lost"))
        }
        // With --quiet too: errors are always reported.
        let quiet = try recover(box, "-q", "-f", "-o", "b", "b.vault")
        #expect(quiet.errors.split(separator: "\n").count == 3)
    }

    @Test("what comes out does not depend on the number of threads") func threads() throws {
        let (box, whole) = try prepared()
        try box.write(Array("b.vault".utf8), damaged(whole, at: 600))
        let outcomes = try ["1", "3"].map { try recover(box, "--jobs", $0, "-o", "-", "b.vault") }
        #expect(outcomes.allSatisfy { $0.ending == .status(65) && $0.output.count == Self.plaintext.count })
        #expect(outcomes[0].output == outcomes[1].output && outcomes[0].errors == outcomes[1].errors)
        for jobs in ["0", "257", "x"] {
            #expect(try recover(box, "--jobs", jobs, "-o", "-", "b.vault").ending == .status(64))
        }
    }

    @Test("--sparse makes holes, of lost bytes too") func sparse() throws {
        let box = try Sandbox()
        try box.makeKey()
        let text = randomBytes(8192, seed: 7) + [UInt8](repeating: 0, count: 1 << 20) + randomBytes(8192, seed: 8)
        try box.write(Array("a".utf8), text)
        try box.run("encrypt", "--key-file", "key", "--chunk-size", "4K", "a")
        let whole = try #require(box.bytes("a.vault"))
        // The second record.
        try box.write(Array("b.vault".utf8), damaged(whole, at: 4096 + 4116 + 50))
        #expect(try recover(box, "--sparse", "-o", "b", "b.vault").ending == .status(65))
        #expect(box.bytes("b") == Array(text[..<4096]) + [UInt8](repeating: 0, count: 4096) + text[8192...])
        #expect(try box.stat("b").blocksAllocated * 512 <= 6 * 4096)
        #expect(try recover(box, "-o", "full", "b.vault").ending == .status(65))
        #expect(try box.stat("full").blocksAllocated * 512 >= 1 << 20)
        #expect(box.bytes("full") == box.bytes("b"))
        // A file that ends in a hole has its length.
        try box.write(Array("b.vault".utf8), damaged(whole, at: whole.count - 4096 - 300, whole.count - 4096 - 5000))
        _ = try recover(box, "-f", "--sparse", "-o", "b", "b.vault")
        #expect(box.bytes("b")?.count == text.count)
    }

    @Test func theEndIsLost() throws {
        let (box, whole) = try prepared()
        try box.write(Array("b.vault".utf8), [UInt8](whole.prefix(512 + 4116 * 3 + 1000)))
        let outcome = try recover(box, "-o", "b", "b.vault")
        #expect(outcome.ending == .status(65))
        #expect(box.bytes("b") == [UInt8](Self.plaintext.prefix(12288)))
        #expect(outcome.errors.contains("its end is lost: after the 12288 bytes"))
        #expect(outcome.errors.contains("not authenticated"))
        // Nothing says which mode and time the file had.
        #expect(try box.mode("b") == 0o600)
    }

    @Test(
        "if nothing is recovered, an existing output stays",
        arguments: [
            ("-f -o b none", 65), ("-f -o b missing", 66), ("-f -o b --context x a.vault", 77), ("-o b a.vault", 73),
            ("-f -o a.vault a.vault", 73), ("a.vault", 64), ("-o c a.vault a.vault", 64),
            ("-o c --remove-source a.vault", 64),
        ] as [(String, Int32)])
    func nothingCanBeDone(_ line: String, _ status: Int32) throws {
        let (box, whole) = try prepared()
        try box.write("b", "old")
        try box.write(Array("none".utf8), [UInt8](repeating: 7, count: 5000))
        let words = ["recover", "--key-file", "key"] + line.split(separator: " ").map(String.init)
        #expect(try box.run(words.map { Array($0.utf8) }).ending == .status(status))
        #expect(try box.names() == ["a", "a.vault", "b", "key", "none"])
        #expect(box.text("b") == "old" && box.bytes("a.vault") == whole)
    }

    @Test("without the right key nothing is recovered") func wrongKey() throws {
        let (box, whole) = try prepared()
        try box.write("b", "old")
        try box.run("key", "generate", "-o", "other")
        #expect(try box.run("recover", "--key-file", "other", "-f", "-o", "b", "a.vault").ending == .status(77))
        #expect(try box.run("recover", "-o", "c", "a.vault").ending == .status(78))
        #expect(try box.names() == ["a", "a.vault", "b", "key", "other"])
        #expect(box.text("b") == "old" && box.bytes("a.vault") == whole)
    }

    @Test("standard input must be able to seek") func standardInput() throws {
        let (box, whole) = try prepared()
        let piped = try box.run(words("recover", "--key-file", "key", "-o", "c", "-"), input: whole, piped: true)
        #expect(piped.ending == .status(64) && piped.errors.contains("save it to a file first"))
        #expect(try box.names() == ["a", "a.vault", "key"])
        let redirected = try box.run(words("recover", "--key-file", "key", "-o", "c", "-"), input: whole)
        #expect(redirected.ending == .status(0) && box.bytes("c") == Self.plaintext)
    }

    @Test func theUserChooses() throws {
        let (box, first) = try prepared()
        let text = randomBytes(3000, seed: 4)
        try box.write(Array("c".utf8), text)
        try box.run("encrypt", "--key-file", "key", "--chunk-size", "4K", "--header-capacity", "512", "c")
        var mixed = try #require(box.bytes("c.vault"))
        let tail = mixed.count - 32 - 512
        mixed.replaceSubrange(0..<512, with: first.prefix(512))
        try box.write(Array("m.vault".utf8), mixed)
        let outcome = try recover(box, "-o", "m", "m.vault")
        #expect(outcome.ending == .status(65))
        #expect(outcome.errors.contains("at the bytes 0, \(tail) (copiesDisagree)"))
        #expect(outcome.errors.contains("--header-at OFFSET"))
        #expect(box.bytes("m") == nil)
        #expect(try recover(box, "-o", "m", "--header-at", "\(tail)", "m.vault").ending == .status(0))
        #expect(box.bytes("m") == text)
        #expect(try recover(box, "-f", "-o", "m", "--header-at", "0", "m.vault").ending == .status(65))
        #expect(box.bytes("m") == [])
        #expect(try recover(box, "-o", "n", "--header-at", "512", "m.vault").ending == .status(65))
        #expect(try recover(box, "-o", "n", "--header-at", "-1", "m.vault").ending == .status(64))
    }

    /// The objects of `--json`, each checked against the schema.
    private func objects(_ text: String) throws -> [JSON] {
        let schema = try JSONSchema()
        return try text.split(separator: "\n").map { line in
            let value = try JSON(parsing: String(line))
            #expect(schema.violations(of: value) == [], "\(line)")
            return value
        }
    }

    @Test("the result of a whole container as JSON") func wholeAsJSON() throws {
        let (box, _) = try prepared()
        let good = try recover(box, "--json", "-o", "good", "a.vault")
        let result = try #require(try objects(good.text).first)
        #expect(result["status"] == .string("ok") && result["verb"] == .string("recover"))
        #expect(result["recovery"]?["lengthAuthenticated"] == .bool(true) && result["exit"] == .number(0))
        #expect(result["recovery"]?["headerOffset"] == .number(0) && result["output"] == .string("good"))
    }

    @Test("a lost record as JSON: its range, and how much is lost") func lostRecordAsJSON() throws {
        let (box, whole) = try prepared()
        try box.write(Array("b.vault".utf8), damaged(whole, at: 512 + 4116 + 50))
        let outcome = try recover(box, "--json", "-o", "b", "b.vault")
        let messages = try objects(outcome.errors)
        #expect(messages.first?["range"] == .array([.number(4096), .number(8192)]))
        let failed = try #require(try objects(outcome.text).first)
        #expect(failed["status"] == .string("failed") && failed["exit"] == .number(65))
        #expect(failed["length"] == .number(20_000) && failed["output"] == .string("b"))
        #expect(failed["error"] == .string("recordDamaged"))
        #expect(failed["recovery"]?["lostLength"] == .number(4096))
    }

    @Test("a container without its end as JSON: the length is not authenticated") func cutAsJSON() throws {
        let (box, whole) = try prepared()
        try box.write(Array("c.vault".utf8), [UInt8](whole.prefix(9000)))
        let cut = try objects(try recover(box, "--json", "-o", "-", "c.vault").errors)
        #expect(cut.last?["recovery"]?["lengthAuthenticated"] == .bool(false))
        #expect(cut.last?["error"] == .string("truncated"))
    }

    @Test("headers of two containers as JSON: the offsets to choose from") func twoContainersAsJSON() throws {
        let (box, whole) = try prepared()
        var two = whole
        two.pad(to: (two.count + 511) / 512 * 512)
        try box.write("d", "d")
        try box.run("encrypt", "--key-file", "key", "d")
        two += try #require(box.bytes("d.vault"))
        try box.write(Array("two.vault".utf8), two)
        let disagree = try recover(box, "--json", "-o", "e", "two.vault")
        let offsets = try #require(try objects(disagree.text).first)
        guard case .array(let places) = offsets["headerOffsets"] else { throw Errno.invalidArgument }
        #expect(places.count == 2 && places.first == .number(0))
        #expect(try objects(disagree.errors).first?["headerOffsets"] == offsets["headerOffsets"])
    }

    /// A damaged container large enough to interrupt its recovery.
    @Test(arguments: [Host.sigTerm, Host.sigInt]) func signals(_ number: Int32) throws {
        let (box, whole) = try prepared()
        try box.write("out", "old")
        try box.write(Array("b.vault".utf8), damaged(whole, at: 600))
        // Its first message meets a full pipe, so it waits there until the signal.
        try Host.makePipe(box.path("pipe"))
        let running = try box.start(
            words("recover", "--key-file", "key", "-f", "-o", "out", "b.vault"), prelude: "exec 2<>pipe 7>&2",
            command: "{ head -c 65536 /dev/zero >&7; exec \"$@\"; }")
        Host.pause(milliseconds: 300)
        running.child.send(number)
        #expect(running.end().ending == .signal(number))
        #expect(try box.names() == ["a", "a.vault", "b.vault", "key", "out", "pipe"])
        #expect(box.text("out") == "old")
    }

    @Test func aFullDisk() throws {
        let (box, whole) = try prepared()
        try box.write(Array("b.vault".utf8), damaged(whole, at: 600))
        let outcome = try box.run(
            words("recover", "--key-file", "key", "-o", "b", "b.vault"), prelude: "trap '' XFSZ; ulimit -f 8")
        #expect(outcome.ending == .status(74))
        #expect(try box.names() == ["a", "a.vault", "b.vault", "key"])
    }
}
