import Testing
import VaultFormat
import VaultStream
import VaultTestSupport

/// The text form of a key. The lines are from the Spec's appendix and from Python by the reference code of BIP 173.
@Suite(.bothEngines) struct KeyFileTests {
    private static let line = "VAULTFILE-KEY-1QQQSYQCYQ5RQWZQFPG9SCRGWPUGPZYSNZS23V9CCRYDPK8QARC0S67YV7J"
    private static let key = Array(UInt8(0)..<32)

    @Test(
        "the time of creation in a key file is read if it is a valid time",
        arguments: [
            ("2026-11-21T10:00:00Z", true), ("9999-99-99T99:99:99Z", false), ("2026-02-29T10:00:00Z", false),
            ("2026-11-21 10:00:00Z", false), ("2026-11-21T10:00:0", false),
        ])
    func creationTime(_ time: String, isTime: Bool) {
        let text = [UInt8]("# created by somebody\n# created: \(time) and more\nVAULTFILE-KEY-1\n".utf8)
        #expect(SymmetricKey.creationTime(inKeyFile: text.span)?.utc == (isTime ? time : nil))
    }

    private static func decode(_ text: [UInt8]) -> Result<[UInt8], VaultError> {
        do {
            let key = try SymmetricKey(keyFile: text.span)
            return .success(key.withBytes { [UInt8](copying: $0) })
        } catch {
            return .failure(error)
        }
    }

    private static func decode(_ text: String) -> Result<[UInt8], VaultError> { decode([UInt8](text.utf8)) }

    private static func code(_ text: [UInt8]) -> VaultError.Code? {
        if case .failure(let error) = decode(text) { error.code } else { nil }
    }

    private static func code(_ text: String) -> VaultError.Code? { code([UInt8](text.utf8)) }

    @Test(arguments: [
        (Array(UInt8(0)..<32), line),
        (Array(UInt8(0x20)...0x3F), "VAULTFILE-KEY-1YQSJYGEYY5NZW2PF9G4JCTFW9UCRZV3NXS6NVDEC8YARK0PA8CLS6MGFW6"),
        (
            [UInt8](repeating: 0xFF, count: 32),
            "VAULTFILE-KEY-1LLLLLLLLLLLLLLLLLLLLLLLLLLLLLLLLLLLLLLLLLLLLLLLLLLLS35VLHU"
        ),
        (
            sha256([UInt8]("vaultfile".utf8)),
            "VAULTFILE-KEY-1ZG5LN3XYR2P3W2N9RZD28KKPFSL7QANLR0Q4G8K23Q8V9ZMVEDZQ7WWZ7U"
        ),
    ]) func knownAnswers(_ bytes: [UInt8], _ line: String) throws {
        #expect(Self.decode(line) == .success(bytes))
        #expect(Self.decode(line.lowercased()) == .success(bytes))
        let key = testKey(bytes)
        let plain = try key.withKeyFile { String(decoding: [UInt8](copying: $0), as: UTF8.self) }
        #expect(plain == "# key ID: \(key.id)\n\(line)\n")
        let time = try #require(Timestamp(seconds: 1_767_323_045, nanoseconds: 999_999_999))
        let dated = try key.withKeyFile(created: time) { String(decoding: [UInt8](copying: $0), as: UTF8.self) }
        #expect(dated == "# created: 2026-01-02T03:04:05Z\n# key ID: \(key.id)\n\(line)\n")
    }

    @Test("a time of creation has a year of four digits", arguments: [-62_167_219_201, 253_402_300_800, Int64.max])
    func noSuchYear(_ seconds: Int64) {
        let error = #expect(throws: VaultError.self) {
            try testKey(Self.key).withKeyFile(created: Timestamp(seconds: seconds)) { _ in }
        }
        #expect(error?.code == .invalidArgument)
    }

    @Test func roundTrip() throws {
        var random = SeededRandom(seed: 10)
        for _ in 0..<200 {
            let bytes = random.bytes(32)
            let text = try testKey(bytes).withKeyFile { [UInt8](copying: $0) }
            #expect(Self.decode(text) == .success(bytes))
        }
    }

    /// Every byte at every place of the line; in a line of small letters, every letter and digit.
    @Test func everyMistake() {
        for line in [Self.line, Self.line.lowercased()] {
            let right = [UInt8](line.utf8)
            for place in right.indices {
                let bytes =
                    line == Self.line ? Array(UInt8.min...UInt8.max) : Array("023456789abcdeflmvz1b-\u{10}".utf8)
                for byte in bytes where byte != right[place] {
                    var changed = right
                    changed[place] = byte
                    // `#` at the beginning makes the line a comment. A line end cuts the line in two.
                    #expect(Self.code(changed) == .badKey, "\(place): \(byte)")
                }
                var missing = right
                missing.remove(at: place)
                #expect(Self.code(missing) == .badKey)
                var doubled = right
                doubled.insert(right[place], at: place)
                #expect(Self.code(doubled) == .badKey)
                if place + 1 < right.count, right[place] != right[place + 1] {
                    var swapped = right
                    swapped.swapAt(place, place + 1)
                    #expect(Self.code(swapped) == .badKey)
                }
            }
        }
    }

    @Test func mixedCase() {
        let upper = [UInt8](Self.line.utf8)
        let lower = [UInt8](Self.line.lowercased().utf8)
        for place in upper.indices where upper[place] != lower[place] {
            var changed = upper
            changed[place] = lower[place]
            #expect(Self.code(changed) == .badKey)
            changed = lower
            changed[place] = upper[place]
            #expect(Self.code(changed) == .badKey)
        }
    }

    @Test(arguments: [
        "\(line)", "\(line)\n", "\(line)\r\n", "\n\n\(line)\n\n", "# one\n#\n\(line)",
        "# one\r\n\r\n\(line)\r\n# two\r\n", "# a\rb\r\n\(line)",
        "#\(line)\n\(line)\n",
    ]) func commentsAndLineEnds(_ text: String) {
        #expect(Self.decode(text) == .success(Self.key))
    }

    @Test(arguments: [
        "", "\n", "#", "# nothing\n", "\(line)\n\(line)\n", "\(line)\r\(line)", " \(line)", "\(line) ", "\(line)\r\r\n",
        "\u{FEFF}\(line)", "key: \(line)", "\(line)\u{0}", "a\n\(line)", "AGE-SECRET-KEY-1QQQ", "VAULTFILE-KEY-1", "V",
    ]) func noKeyOrTwo(_ text: String) {
        #expect(Self.code(text) == .badKey)
    }

    /// Wrong fill bits, another length, another prefix, a Bech32m checksum, a checksum over the prefix in capitals.
    /// Apart from the defect, each line is valid.
    @Test(arguments: [
        "VAULTFILE-KEY-1QQQSYQCYQ5RQWZQFPG9SCRGWPUGPZYSNZS23V9CCRYDPK8QARC038GSERQ",
        "VAULTFILE-KEY-1QQQSYQCYQ5RQWZQFPG9SCRGWPUGPZYSNZS23V9CCRYDPK8QARC0JFM90DL",
        "VAULTFILE-KEY-1QQQSYQCYQ5RQWZQFPG9SCRGWPUGPZYSNZS23V9CCRYDPK8QARC0545X23G",
        "VAULTFILE-KEY-1QQQSYQCYQ5RQWZQFPG9SCRGWPUGPZYSNZS23V9CCRYDPK8QARC0CY2QQQ0",
        "VAULTFILE-KEY-1QQQSYQCYQ5RQWZQFPG9SCRGWPUGPZYSNZS23V9CCRYDPK8QARC0L9NHSP2",
        "VAULTFILE-KEY-1QQQSYQCYQ5RQWZQFPG9SCRGWPUGPZYSNZS23V9CCRYDPK8QARCS2RYGL",
        "VAULTFILE-KEX-1QQQSYQCYQ5RQWZQFPG9SCRGWPUGPZYSNZS23V9CCRYDPK8QARC0SMZ642E",
        "VAULTFILE-KEY-1QQQSYQCYQ5RQWZQFPG9SCRGWPUGPZYSNZS23V9CCRYDPK8QARC0S0Z5QMS",
        "VAULTFILE-KEY-1QQQSYQCYQ5RQWZQFPG9SCRGWPUGPZYSNZS23V9CCRYDPK8QARC0S67455C",
    ]) func otherRulesBroken(_ line: String) {
        #expect(Self.code(line) == .badKey)
        #expect(Self.code(line.lowercased()) == .badKey)
    }

    @Test func zeroKeyAndSizes() {
        #expect(Self.code("VAULTFILE-KEY-1QQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQN20W7T") == .badKey)
        let comment = "#" + String(repeating: "x", count: SymmetricKey.largestKeyFile - Self.line.utf8.count - 2) + "\n"
        #expect(Self.decode(comment + Self.line) == .success(Self.key))
        #expect(Self.code("#" + comment + Self.line) == .badKey)
    }
}
