import Testing
import VaultFormat
import VaultStream
import VaultTestSupport

/// The text of a keyring. Each keyring has exactly one text, and every other text is refused (the Spec's appendix B).
@Suite struct KeyringTextTests {
    private static let time = "2026-11-21T10:00:00Z"

    /// The line of a key, as in key files.
    private static func line(_ key: SymmetricKey) throws -> String {
        let text = try key.withKeyFile { [UInt8](copying: $0) }
        return String(decoding: text.split(separator: 10).last ?? [], as: UTF8.self)
    }

    private static func item(_ byte: UInt8, _ name: String, _ state: KeyringEntry.State) throws -> KeyringText.Item {
        let key = testKey(byte)
        let created = try #require(Timestamp(utc: Array(time.utf8)))
        let entry = KeyringEntry(id: key.id, name: try #require(KeyName(name)), created: created, state: state)
        return KeyringText.Item(entry, state == .destroyed ? .none : .new(key))
    }

    private static func buffer(_ text: String) throws -> SecretBuffer {
        let bytes = Array(text.utf8)
        var buffer = try SecretBuffer(count: bytes.count)
        buffer.withMutableBytes { span in
            for (index, byte) in bytes.enumerated() { span[index] = byte }
        }
        return buffer
    }

    private static func text(_ keyring: borrowing KeyringText) throws -> String {
        String(decoding: try keyring.withBytes { [UInt8](copying: $0) }, as: UTF8.self)
    }

    /// The error with which a text is refused; nil if it is a keyring.
    private static func error(_ text: String) throws -> VaultError? {
        do {
            _ = try KeyringText.parse(try buffer(text))
            return nil
        } catch let error as VaultError {
            return error
        }
    }

    private static func sample() throws -> String {
        """
        vaultfile keyring 1
        retired \(time) \(testKey(1).id) \(try line(testKey(1))) first
        destroyed \(time) \(testKey(2).id) - second@host.example
        current \(time) \(testKey(3).id) \(try line(testKey(3))) third_3+

        """
    }

    @Test func writtenAndRead() throws {
        let items = [
            try Self.item(1, "first", .retired), try Self.item(2, "second@host.example", .destroyed),
            try Self.item(3, "third_3+", .current),
        ]
        let made = try KeyringText.make(items)
        #expect(try Self.text(made) == Self.sample())
        let read = try KeyringText.parse(try Self.buffer(try Self.sample()))
        #expect(read.entries == items.map(\.entry))
        #expect(try read.key(testKey(1).id)?.withBytes { $0[0] } == 1)
        #expect(try read.key(testKey(3).id)?.id == testKey(3).id)
        #expect(try read.key(testKey(2).id) == nil && read.key(testKey(4).id) == nil)
        #expect(try Self.text(try KeyringText.make([])) == "vaultfile keyring 1\n")
        #expect(try Self.error("vaultfile keyring 1\n") == nil)
    }

    @Test func changed() throws {
        let read = try KeyringText.parse(try Self.buffer(try Self.sample()))
        var items = read.entries.map { KeyringText.Item($0, $0.hasSecret ? .kept : .none) }
        #expect(try Self.text(try read.changed(to: items)) == Self.sample())
        items[0] = try Self.item(1, "first", .destroyed)
        let again = try read.changed(to: items + [try Self.item(4, "4", .retired)])
        #expect(try again.key(testKey(1).id) == nil && again.key(testKey(3).id) != nil)
        #expect(try again.key(testKey(4).id)?.id == testKey(4).id)
        #expect(try !Self.text(again).contains(Self.line(testKey(1))))
        #expect(try Self.error(Self.text(again)) == nil)
    }

    @Test func whatMayNotBeWritten() throws {
        let one = try Self.item(1, "one", .current)
        let cases: [[KeyringText.Item]] = [
            [one, one], [one, try Self.item(1, "two", .retired)], [one, try Self.item(2, "one", .retired)],
            [one, try Self.item(2, "two", .current)], [KeyringText.Item(one.entry, .none)],
            [KeyringText.Item(one.entry, .kept)], [KeyringText.Item(one.entry, .new(testKey(2)))],
            [KeyringText.Item(try Self.item(1, "one", .destroyed).entry, .new(testKey(1)))],
        ]
        for items in cases {
            #expect(throws: VaultError.self) { _ = try KeyringText.make(items) }
        }
        // The text of a destroyed key holds no secret, even if one is given.
        let made = try KeyringText.make([one])
        let destroyed = try Self.item(1, "one", .destroyed).entry
        let error = #expect(throws: VaultError.self) {
            _ = try made.changed(to: [KeyringText.Item(destroyed, .kept)])
        }
        #expect(error?.code == .keyringMalformed)
    }

    @Test func everyRuleIsChecked() throws {
        let sample = try Self.sample()
        let (id, line) = (testKey(1).id.description, try Self.line(testKey(1)))
        func with(_ old: String, _ new: String) -> String {
            var text = sample
            if let range = text.firstRange(of: old) { text.replaceSubrange(range, with: new) }
            return text
        }
        let refused = [
            "", "vaultfile keyring 1", "vaultfile keyring 1\r\n", "Vaultfile keyring 1\n", "\u{FEFF}" + sample,
            " " + sample, "\n" + sample, sample + "\n", sample + " \n", sample + "# comment\n",
            String(sample.dropLast()), String(sample.dropLast(2)) + "\r\n", with("\n", "\r\n"),
            with("retired", "Retired"), with("retired", "revoked"), with("retired ", ""), with("retired ", "retired\t"),
            with("retired ", "retired  "), with("first", "first "), with("first", "first x"), with("first", ""),
            with(Self.time, "2026-11-31T10:00:00Z"), with(Self.time, "2026-11-21T10:00:00.0Z"), with(Self.time, "-"),
            with(id, String(id.dropLast())), with(id, id + "0"), with(id, id.uppercased()),
            with(id, testKey(9).id.description),
            with(line, "-"), with(line, line.lowercased()), with(line, String(line.dropLast()) + "Q"),
            with(line, String(line.dropLast())), with(line, line + "Q"),
            with(line, try Self.line(testKey(9))), with(line, ""),
            with(" - ", " \(try Self.line(testKey(2))) "), with(" - ", " -- "), with(" - ", "  "), with(" - ", " "),
            with("retired", "current"), with("third_3+", "first"), with("first", "fir\u{0}st"),
            with("first", "f\u{FC}rst"),
            with("first", ".first"), with("first", "file"), with("first", id),
            with("first", String(repeating: "a", count: 65)), "vaultfile keyring \n", with("keyring 1\n", "keyring 1 "),
            with("keyring 1\n", "keyring 1x"),
            sample + (sample.split(separator: "\n").dropFirst().first.map { "\($0)x\n" } ?? ""),
        ]
        for text in refused {
            let error = try Self.error(text)
            #expect(error?.code == .keyringMalformed, "\(text)")
            // A message never holds a key.
            #expect(error?.message.contains("VAULTFILE-KEY") == false)
        }
        for text in ["vaultfile keyring 2\n", "vaultfile keyring 10\n", with("keyring 1", "keyring 3")] {
            #expect(try Self.error(text)?.code == .unsupportedVersion, "\(text)")
        }
        #expect(try Self.error(sample) == nil)
    }

    @Test("every byte of a keyring counts") func everyByte() throws {
        let sample = Array(try Self.sample().utf8)
        for index in sample.indices {
            var bytes = sample
            bytes[index] ^= 1
            guard let text = String(validating: bytes, as: UTF8.self), let error = try Self.error(text) else {
                // A text with another name or another time is a keyring too, and so is one with another ID of a
                // destroyed key.
                let line = sample[..<index].split(separator: 10, omittingEmptySubsequences: false).last ?? []
                let word = line.split(separator: 32, omittingEmptySubsequences: false).count - 1
                #expect([1, 4].contains(word) || word == 2 && line.starts(with: Array("destroyed".utf8)))
                continue
            }
            #expect([.keyringMalformed, .unsupportedVersion].contains(error.code))
        }
    }

    @Test func theMostKeysAndTheLongestText() throws {
        let items = try (0...KeyringText.mostKeys).map { number in
            var bytes = [UInt8](repeating: 7, count: 32)
            (bytes[0], bytes[1]) = (UInt8(number >> 8), UInt8(number & 0xFF))
            let entry = KeyringEntry(
                id: testKey(bytes).id, name: try #require(KeyName("\(number)")), created: Timestamp(seconds: 0),
                state: .destroyed)
            return KeyringText.Item(entry, .none)
        }
        let most = try KeyringText.make(Array(items.dropLast()))
        #expect(try Self.error(Self.text(most)) == nil)
        #expect(throws: VaultError.self) { _ = try KeyringText.make(items) }
        let last = try #require(items.last).entry
        let more = try Self.text(most) + "destroyed 1970-01-01T00:00:00Z \(last.keyID) - \(last.name)\n"
        #expect(try Self.error(more)?.code == .keyringMalformed)
        let long = "vaultfile keyring 1\n" + String(repeating: "a", count: KeyringText.longest)
        #expect(try Self.error(long)?.code == .keyringMalformed)
    }

    @Test(arguments: [
        "a", "0", "A.b_c-d+e@f", String(repeating: "z", count: 64), "Passphrase", "key", "0123456789abcdef",
    ])
    func names(_ text: String) {
        #expect(KeyName(text)?.description == text)
    }

    @Test(arguments: [
        "", " ", "a b", "-a", ".a", "_a", "@a", "a/b", "a:b", "a\n", "\u{E4}", String(repeating: "z", count: 65),
        "passphrase", "others", "file", "command", "passphrase-file", "passphrase-fd", "recipient", "all",
        "0123456789abcdef0123456789abcdef", "0123456789ABCDEF0123456789abcdef",
    ])
    func noNames(_ text: String) {
        #expect(KeyName(text) == nil)
    }
}
