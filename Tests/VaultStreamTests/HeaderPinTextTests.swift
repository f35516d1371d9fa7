import Testing
import VaultFormat
import VaultStream
import VaultTestSupport

/// The text form of a pin. The lines are from Python, by the reference code of BIP 173.
@Suite struct HeaderPinTextTests {
    private static let body =
        "QQQSYQCYQ5RQWZQFPG9SCRGWPUGPZYSNZS23V9CCRYDPK8QARC0CPQVZSWZGTP583ZYC4ZUV3K8GLYY3J2FEF9VKJ7VFNX5MNJWE"
    private static let line = "VAULTFILE-PIN-1QYQQQQQR" + body + "A8CE6E7EJ"

    private static func code(_ text: String) -> VaultError.Code? {
        do {
            _ = try HeaderPin(text: text)
            return nil
        } catch {
            return error.code
        }
    }

    @Test func roundTrip() throws {
        let pin = try #require(HeaderPin(bytes: [0, 0, 0, 3] + Array(0..<32) + Array(0x80..<0xA0)))
        #expect(pin.generation == 3 && pin.commitment == Array(0..<32) && pin.mac == Array(0x80..<0xA0))
        #expect(pin.text == Self.line && pin.text.utf8.count + 2 == HeaderPin.longestText)
        for text in [Self.line, Self.line + "\n", Self.line + "\r\n", Self.line.lowercased()] {
            #expect(try HeaderPin(text: text) == pin)
        }
        var random = SeededRandom(seed: 88)
        for _ in 0..<100 {
            let pin = try #require(HeaderPin(bytes: [1] + random.bytes(67)))
            #expect(try HeaderPin(text: pin.text) == pin)
        }
    }

    @Test(arguments: [
        ("nothing", ""), ("a line end alone", "\n"), ("two line ends", line + "\n\n"), ("a CR alone", line + "\r"),
        ("a space before", " " + line), ("a space behind", line + " "), ("a comment", "# pin\n" + line),
        ("twice", line + "\n" + line), ("mixed cases", "v" + line.dropFirst()),
        ("mixed cases in the middle", line.replacing("SYQCYQ", with: "syqcyq")),
        ("cut", String(line.dropLast())), ("without its checksum", String(line.dropLast(6))),
        ("the beginning of a pin", "VAULTFILE-PIN-1"), ("longer", line + "Q"),
        ("a key", "VAULTFILE-KEY-1QQQSYQCYQ5RQWZQFPG9SCRGWPUGPZYSNZS23V9CCRYDPK8QARC0S67YV7J"),
        ("as long as a pin, with a key's beginning", "VAULTFILE-KEY-1QYQQQQQR" + body + "A8C5V28LM"),
        ("a byte short", "VAULTFILE-PIN-1QYQQQQQR" + body + "UF92NZW"),
        ("a later version", "VAULTFILE-PIN-1QGQQQQQR" + body + "A8CW33AQE"),
        ("generation 0", "VAULTFILE-PIN-1QYQQQQQQ" + body + "A8CQ2AX5L"),
        (
            "bits after the last byte", "VAULTFILE-PIN-1QYQQQQQR" + body + "A8EYVDTYQ"
        ),
        ("the checksum of Bech32m", "VAULTFILE-PIN-1QYQQQQQR" + body + "A8CVXFJUS"),
        ("not ASCII", line.replacing("QQQ", with: "QQ\u{51}\u{301}")), ("a NUL", line + "\0"),
        ("replacement characters", String(repeating: "\u{FFFD}", count: 132)),
        ("a mebibyte", String(repeating: "Q", count: 1 << 20)),
    ])
    func refused(_ what: String, _ text: String) {
        #expect(Self.code(text) == .invalidArgument, "\(what)")
    }

    /// Every change of one character, and random texts: an error, and never another pin.
    @Test func changed() throws {
        let right = [UInt8](Self.line.utf8)
        for place in right.indices {
            for byte in [0x51, 0x50, 0x31, 0x30, 0x71, 0x20, 0x80] as [UInt8] where right[place] != byte {
                var text = right
                text[place] = byte
                #expect(Self.code(String(decoding: text, as: UTF8.self)) == .invalidArgument)
            }
            #expect(Self.code(String(decoding: right[..<place], as: UTF8.self)) == .invalidArgument)
            #expect(Self.code(String(decoding: right[..<place] + right[(place + 1)...], as: UTF8.self)) != nil)
        }
        var random = SeededRandom(seed: 89)
        for _ in 0..<2000 {
            var text = random.below(2) == 0 ? right : random.bytes(random.below(140))
            for _ in 0..<random.below(4) where !text.isEmpty {
                text[random.below(text.count)] = UInt8(random.below(256))
            }
            guard text != right else { continue }
            #expect(Self.code(String(decoding: text, as: UTF8.self)) == .invalidArgument)
        }
    }
}
