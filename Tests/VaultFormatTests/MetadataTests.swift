import Testing
import VaultFormat
import VaultTestSupport

@Suite struct MetadataTests {
    @Test(arguments: [
        "a", "a name.txt", ".hidden", "...", "..a", "Grüße", "日本語", "\u{80}", "\u{10FFFF}", "a:b*?\"<>|",
        String(repeating: "x", count: 255),
    ]) func names(_ name: String) {
        #expect(Metadata.isValidName(name) && Metadata.name([UInt8](name.utf8)) == name)
    }

    @Test(
        arguments: [
            [], [0x2E], [0x2E, 0x2E], [0x61, 0x2F, 0x62], [0x2F], [0x5C], [0], [0x61, 0], [0x1F], [0x0A], [0x7F],
            [UInt8](repeating: 0x78, count: 256),
            // Not UTF-8: cut, overlong, a surrogate, above U+10FFFF, stray.
            [0xC3], [0xC0, 0x80], [0xE0, 0x80, 0xAF], [0xED, 0xA0, 0x80], [0xF4, 0x90, 0x80, 0x80], [0x80], [0xFF],
        ] as [[UInt8]]) func notNames(_ name: [UInt8])
    {
        #expect(Metadata.name(name) == nil)
        guard let text = String(validating: name, as: UTF8.self) else { return }
        #expect(!Metadata.isValidName(text))
        var metadata = Metadata()
        metadata.name = text
        let error = #expect(throws: VaultError.self) { try metadata.validate() }
        #expect(error?.code == .invalidArgument)
    }

    @Test func everyControlCharacter() {
        for byte in UInt8(0)...0x7F {
            let isAllowed = byte >= 0x20 && byte != 0x7F && byte != 0x2F && byte != 0x5C
            #expect((Metadata.name([0x61, byte]) != nil) == isAllowed, "\(byte)")
        }
    }

    @Test func contentTypes() {
        for type in ["a", " ", "~", "text/plain; charset=utf-8", String(repeating: "x", count: 127)] {
            #expect(Metadata.isValidContentType(type))
        }
        for type in ["", "\n", "\u{7F}", "é", String(repeating: "x", count: 128)] {
            #expect(!Metadata.isValidContentType(type))
            var metadata = Metadata()
            metadata.contentType = type
            #expect(throws: VaultError.self) { try metadata.validate() }
        }
    }

    @Test func permissionsAndTimes() throws {
        for mode: UInt16 in 0...0o777 {
            var metadata = Metadata()
            metadata.permissions = mode
            try metadata.validate()
        }
        for mode: UInt16 in [0o1000, 0o4755, .max] {
            var metadata = Metadata()
            metadata.permissions = mode
            #expect(throws: VaultError.self) { try metadata.validate() }
        }
        #expect(Timestamp(seconds: .min, nanoseconds: 999_999_999) != nil)
        #expect(Timestamp(seconds: 0, nanoseconds: 1_000_000_000) == nil)
        let order = try [(-1, 5), (0, 4), (0, 5), (1, 0)].map {
            try #require(Timestamp(seconds: $0.0, nanoseconds: $0.1))
        }
        for (index, time) in order.enumerated() {
            #expect(order.map { $0 < time } == order.indices.map { $0 < index })
        }
    }
}
