import VaultCrypto
package import VaultFormat

/// The text of a keyring (Spec, appendix B), in guarded memory, and the entries of its keys. The secrets stay in the
/// text until one is asked for, because each key takes memory pages of its own.
package struct KeyringText: ~Copyable, Sendable {
    /// The source of an item's secret.
    package enum Source: Sendable {
        /// From the text that is being changed, from the line of the key with this ID.
        case kept
        case new(SymmetricKey)
        case none
    }

    /// One line of a new text.
    package struct Item: Sendable {
        package var entry: KeyringEntry
        package var secret: Source

        package init(_ entry: KeyringEntry, _ secret: Source) {
            self.entry = entry
            self.secret = secret
        }
    }

    /// The most keys in a keyring, including destroyed ones (KEYRING-4).
    package static let mostKeys = 4096
    /// The most bytes in its text (KEYRING-4).
    package static let longest = 1 << 20
    private static let title = [UInt8]("vaultfile keyring 1\n".utf8)
    private static let hexCount = 32

    /// The keys, in the order of their lines.
    package let entries: [KeyringEntry]
    private let text: SecretBuffer
    /// The places of the secrets in the text.
    private let secrets: [KeyID: Range<Int>]

    private init(_ entries: [KeyringEntry], _ text: consuming SecretBuffer, _ secrets: [KeyID: Range<Int>]) {
        self.entries = entries
        self.text = text
        self.secrets = secrets
    }

    /// Lends the text.
    package func withBytes<R: ~Copyable>(_ body: (Span<UInt8>) throws -> R) throws -> R {
        try text.withBytes(body)
    }

    /// The key with this ID; nil if the keyring does not have it, or has no secret for it.
    ///
    /// - Throws: `memoryUnavailable`.
    package func key(_ id: KeyID) throws(VaultError) -> SymmetricKey? {
        guard let range = secrets[id] else { return nil }
        return try text.withBytes { text throws(VaultError) in
            try SymmetricKey(keyLine: text.extracting(range))
        }
    }

    // MARK: Reading

    /// Parses a text and checks every rule. The author of the text had the keyring's key, but may want one key taken
    /// for another.
    ///
    /// - Throws: `keyringMalformed`, `unsupportedVersion`, `memoryUnavailable`.
    package static func parse(_ text: consuming SecretBuffer) throws(VaultError) -> KeyringText {
        var entries: [KeyringEntry] = []
        var secrets: [KeyID: Range<Int>] = [:]
        try text.withBytes { text throws(VaultError) in
            // mutant: a longer text breaks another rule too; this check comes before its lines are read
            guard text.count <= longest else { throw malformed("its text has more than \(longest) bytes") }
            var start = try checkTitle(text)
            while start < text.count {
                guard entries.count < mostKeys else { throw malformed("it has more than \(mostKeys) keys") }
                let line = try KeyringLine(text, from: start, number: entries.count + 2)
                let (entry, secret) = try line.parse(text)
                start = line.end + 1
                entries.append(entry)
                secrets[entry.id] = secret
            }
        }
        try check(entries)
        return KeyringText(entries, text, secrets)
    }

    private static func checkTitle(_ text: Span<UInt8>) throws(VaultError) -> Int {
        // All but the version, which is a number.
        let lead = title.dropLast(2)
        var end = lead.count
        while end < text.count, (0x30...0x39).contains(text[end]) { end += 1 }
        guard end > lead.count, end < text.count, text[end] == 0x0A, lead.indices.allSatisfy({ text[$0] == lead[$0] })
        else { throw malformed("its first line is not that of a keyring") }
        guard end == title.count - 1, text[lead.count] == title[lead.count] else {
            throw VaultError(.unsupportedVersion, "it is a keyring of another version")
        }
        return title.count
    }

    /// The rules that hold between lines (KEYRING-6, KEYRING-10).
    private static func check(_ entries: [KeyringEntry]) throws(VaultError) {
        guard entries.count(where: { $0.state == .current }) <= 1 else {
            throw malformed("more than one of its keys is current")
        }
        guard Set(entries.map(\.id)).count == entries.count else { throw malformed("two of its keys share an ID") }
        guard Set(entries.map(\.name)).count == entries.count else { throw malformed("two of its keys share a name") }
    }

    static func malformed(_ check: String) -> VaultError {
        VaultError(.keyringMalformed, check)
    }

    // MARK: Writing

    /// A text of these items.
    ///
    /// - Throws: `keyringMalformed` if the items break a rule, `memoryUnavailable`.
    package static func make(_ items: [Item]) throws(VaultError) -> KeyringText {
        let nothing = try SecretBuffer(count: title.count)
        return try KeyringText([], nothing, [:]).changed(to: items)
    }

    /// A text of these items. Secrets that are kept are copied from this text.
    ///
    /// - Throws: `keyringMalformed` if the items break a rule, `memoryUnavailable`.
    package func changed(to items: [Item]) throws(VaultError) -> KeyringText {
        try Self.check(items.map(\.entry))
        guard items.count <= Self.mostKeys else {
            throw Self.malformed("it would have more than \(Self.mostKeys) keys")
        }
        let heads = items.map { Self.head(of: $0.entry) }
        let tails = items.map { [UInt8](" \($0.entry.name)\n".utf8) }
        let lengths = items.map { if case .none = $0.secret { 1 } else { SymmetricKey.lineCount } }
        let count = Self.title.count + (heads + tails).map(\.count).reduce(0, +) + lengths.reduce(0, +)
        var made = try SecretBuffer(count: count)
        var secrets: [KeyID: Range<Int>] = [:]
        try made.withMutableBytes { made throws(VaultError) in
            made.replace(at: 0, with: Self.title.span)
            var position = Self.title.count
            for (index, item) in items.enumerated() {
                let (head, tail) = (heads[index], tails[index])
                made.replace(at: position, with: head.span)
                position += head.count
                try write(item, into: &made, at: position)
                if lengths[index] > 1 { secrets[item.entry.id] = position..<position + lengths[index] }
                position += lengths[index]
                made.replace(at: position, with: tail.span)
                position += tail.count
            }
        }
        return KeyringText(items.map(\.entry), made, secrets)
    }

    private func write(_ item: Item, into made: inout MutableSpan<UInt8>, at position: Int) throws(VaultError) {
        switch item.secret {
        case .none:
            guard item.entry.state == .destroyed else { throw Self.secretMissing }
            made[position] = UInt8(ascii: "-")
        case .new(let key):
            guard item.entry.state != .destroyed, key.id == item.entry.id else {
                throw Self.malformed("a key's ID is that of its secret")
            }
            key.encodeKeyLine(into: &made, at: position)
        case .kept:
            guard item.entry.state != .destroyed, let range = secrets[item.entry.id] else { throw Self.secretMissing }
            text.withBytes { made.replace(at: position, with: $0.extracting(range)) }
        }
    }

    private static let secretMissing = malformed("a key that is not destroyed has a secret")

    /// All before the secret.
    private static func head(of entry: KeyringEntry) -> [UInt8] {
        [UInt8]("\(entry.state.name) \(entry.created.utc ?? "") \(entry.id) ".utf8)
    }
}

/// One line of the text of a keyring (KEYRING-5). Errors give only its number: it holds a secret.
private struct KeyringLine {
    private static let wordCount = 5
    private let words: [Range<Int>]
    /// Its number in the text, from 1, for the error.
    private let number: Int
    /// The place of its LF.
    let end: Int

    /// Finds the line that begins at `start`, and its words.
    init(_ text: Span<UInt8>, from start: Int, number: Int) throws(VaultError) {
        var words: [Range<Int>] = []
        var (first, end) = (start, start)
        while end < text.count, text[end] != 0x0A {
            if text[end] == 0x20 {
                // A valid line has no more words. This bounds the memory for a line that is not valid.
                if words.count < Self.wordCount { words.append(first..<end) }
                first = end + 1
            }
            end += 1
        }
        words.append(first..<end)
        self.words = words
        self.number = number
        self.end = end
        guard end < text.count else { throw malformed("does not end") }
        guard words.count == Self.wordCount else { throw malformed("does not have \(Self.wordCount) words") }
    }

    /// What the line says, and where its secret is in the text.
    func parse(_ text: Span<UInt8>) throws(VaultError) -> (KeyringEntry, Range<Int>?) {
        let stateName = String(decoding: bytes(0, of: text, atMost: 9), as: UTF8.self)
        guard let state = KeyringEntry.State(name: stateName) else { throw malformed("has no state") }
        guard let created = Timestamp(utc: bytes(1, of: text, atMost: Timestamp.utcCount)) else {
            throw malformed("has no time in UTC")
        }
        let hex = String(decoding: bytes(2, of: text, atMost: 32), as: UTF8.self)
        guard let id = KeyID(hex: hex), id.description == hex else { throw malformed("has no key ID in lower case") }
        guard let name = KeyName(bytes: bytes(4, of: text, atMost: KeyName.longest)) else {
            throw malformed("has no name")
        }
        let entry = KeyringEntry(id: id, name: name, created: created, state: state)
        let secret = words[3]
        guard state != .destroyed else {
            guard secret.count == 1, text[secret.lowerBound] == UInt8(ascii: "-") else {
                throw malformed("has a secret, although its key is destroyed")
            }
            return (entry, nil)
        }
        // In upper case only, so that a keyring has one text.
        guard let letter = secret.first, text[letter] == UInt8(ascii: "V"),
            let key = try key(text.extracting(secret))
        else { throw malformed("has no key in it, or one that was mistyped") }
        // Otherwise the author of the keyring could have another key taken for the one that a container names.
        guard key.id == id else { throw malformed("has a key of another ID") }
        return (entry, secret)
    }

    private func key(_ line: Span<UInt8>) throws(VaultError) -> SymmetricKey? {
        do throws(VaultError) {
            return try SymmetricKey(keyLine: line)
        } catch {
            // mutant: no test can make the memory run out for one key
            guard error.code == .badKey else { throw error }
            return nil
        }
    }

    /// A word; empty if it is longer than `limit`, so that no secret is copied to memory that is not guarded.
    private func bytes(_ index: Int, of text: Span<UInt8>, atMost limit: Int) -> [UInt8] {
        words[index].count <= limit ? words[index].map { text[$0] } : []
    }

    private func malformed(_ check: String) -> VaultError {
        KeyringText.malformed("its line \(number) \(check)")
    }
}
