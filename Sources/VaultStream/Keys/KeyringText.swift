import VaultCrypto
package import VaultFormat

/// The text of a keyring (Spec, appendix B), in guarded memory, and the entries of its lines. The secrets stay in the
/// text until one is asked for, because each key takes memory pages of its own.
package struct KeyringText: ~Copyable, Sendable {
    /// The source of a line's fourth word, the secret.
    package enum Source: Sendable {
        /// From the text that is being changed, from the line of the same name.
        case kept
        case new(SymmetricKey)
        case newIdentity(Identity)
        case newPluginIdentity(PluginIdentity)
        /// The entry has it: the text of a recipient, the members of a group, or `-`.
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

    /// The most lines in a keyring, including those of destroyed keys (KEYRING-4).
    package static let mostKeys = 4096
    /// The bytes of an ID.
    static let idCount = 16
    /// The most bytes in its text (KEYRING-4).
    package static let longest = 1 << 20
    private static let title = [UInt8]("vaultfile keyring 1\n".utf8)

    /// The entries, in the order of their lines.
    package let entries: [KeyringEntry]
    private let text: SecretBuffer
    /// The places of the secrets in the text, of keys and identities.
    private let secrets: [KeyName: Range<Int>]
    /// The names of the symmetric keys that have a secret.
    private let keys: [KeyID: KeyName]

    private init(_ entries: [KeyringEntry], _ text: consuming SecretBuffer, _ secrets: [KeyName: Range<Int>]) {
        self.entries = entries
        self.text = text
        self.secrets = secrets
        var keys: [KeyID: KeyName] = [:]
        for entry in entries where entry.isKey {
            if let id = entry.id { keys[id] = entry.name }
        }
        self.keys = keys
    }

    /// Lends the text.
    package func withBytes<R: ~Copyable>(_ body: (Span<UInt8>) throws -> R) throws -> R {
        try text.withBytes(body)
    }

    /// The text alone.
    package consuming func take() -> SecretBuffer { text }

    /// The symmetric key with this ID; nil if the keyring does not have it, or has no secret for it.
    ///
    /// - Throws: `memoryUnavailable`.
    package func key(_ id: KeyID) throws(VaultError) -> SymmetricKey? {
        guard let name = keys[id], let range = secrets[name] else { return nil }
        return try text.withBytes { text throws(VaultError) in
            try SymmetricKey(keyLine: text.extracting(range))
        }
    }

    /// The identity of an entry; nil if it is none, if it is a plugin's, or if this system lacks X-Wing for it.
    ///
    /// - Throws: `memoryUnavailable`.
    package func identity(_ entry: KeyringEntry) throws(VaultError) -> Identity? {
        guard entry.state == .identity, entry.publicKey != nil, let range = secrets[entry.name] else { return nil }
        return try text.withBytes { text throws(VaultError) in try Identity(text: text.extracting(range)) }
    }

    /// The plugin's identity of an entry, with the recipient that the entry has as a known one; nil if it is none.
    ///
    /// - Throws: `memoryUnavailable`.
    package func pluginIdentity(_ entry: KeyringEntry) throws(VaultError) -> PluginIdentity? {
        guard entry.state == .identity, entry.publicKey == nil, let range = secrets[entry.name] else { return nil }
        return try text.withBytes { text throws(VaultError) in
            let word = text.extracting(range)
            // A post-quantum identity on a system without X-Wing has no public key either.
            guard KeyText.begins(word, with: KeyText.pluginIdentityPrefix) else { return nil }
            let end = word.indices.first { word[$0] == Self.comma } ?? word.count
            var known: [PluginRecipient] = []
            if case .plugin(let recipient) = entry.recipient { known = [recipient] }
            return try PluginIdentity(text: word.extracting(first: end), knownRecipients: known)
        }
    }

    /// What separates a plugin's identity from its recipient, and the members of a group.
    static let comma = UInt8(ascii: ",")

    /// Whether two texts have the same secret in the lines of this name.
    package func hasSameSecret(as other: borrowing KeyringText, _ name: KeyName, _ otherName: KeyName) -> Bool {
        guard let mine = secrets[name], let theirs = other.secrets[otherName] else { return false }
        return text.withBytes { text in
            other.text.withBytes { constantTimeEqual(text.extracting(mine), $0.extracting(theirs)) }
        }
    }

    // MARK: Reading

    /// Parses a text and checks every rule. The author of the text had the keyring's key, but may want one key taken
    /// for another.
    ///
    /// - Throws: `keyringMalformed`, `unsupportedVersion`, `memoryUnavailable`.
    package static func parse(_ text: consuming SecretBuffer) throws(VaultError) -> KeyringText {
        var entries: [KeyringEntry] = []
        var secrets: [KeyName: Range<Int>] = [:]
        try text.withBytes { text throws(VaultError) in
            guard text.count <= longest else { throw malformed("its text has more than \(longest) bytes") }
            var start = try checkTitle(text)
            while start < text.count {
                guard entries.count < mostKeys else { throw malformed("it has more than \(mostKeys) lines") }
                let line = try KeyringLine(text, from: start, number: entries.count + 2)
                let (entry, secret) = try line.parse(text)
                start = line.end + 1
                entries.append(entry)
                secrets[entry.name] = secret
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

    /// The rules that hold between lines (KEYRING-6, KEYRING-10, KEYRING-19).
    private static func check(_ entries: [KeyringEntry]) throws(VaultError) {
        guard entries.count(where: { $0.state == .current }) <= 1 else {
            throw malformed("more than one of its keys is current")
        }
        let ids = entries.compactMap(\.id)
        guard Set(ids).count == ids.count else { throw malformed("two of its lines share an ID") }
        guard Set(entries.map(\.name)).count == entries.count else { throw malformed("two of its lines share a name") }
        let possible = Set(entries.filter(\.canBeMember).map(\.name))
        for entry in entries where entry.state == .group {
            guard !entry.members.isEmpty, Set(entry.members).count == entry.members.count else {
                throw malformed("a group has no member, or one of them twice")
            }
            guard possible.isSuperset(of: entry.members) else {
                throw malformed("a member of a group is no recipient of the keyring")
            }
        }
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
            throw Self.malformed("it would have more than \(Self.mostKeys) lines")
        }
        let heads = items.map { Self.head(of: $0.entry) }
        let tails = items.map { [UInt8](" \($0.entry.name)\n".utf8) }
        let lengths = try items.map { item throws(VaultError) in try length(of: item) }
        let count = Self.title.count + (heads + tails).map(\.count).reduce(0, +) + lengths.reduce(0, +)
        guard count <= Self.longest else { throw Self.malformed("its text would have more than \(Self.longest) bytes") }
        var made = try SecretBuffer(count: count)
        var secrets: [KeyName: Range<Int>] = [:]
        made.withMutableBytes { made in
            made.replace(at: 0, with: Self.title.span)
            var position = Self.title.count
            for (index, item) in items.enumerated() {
                let (head, tail) = (heads[index], tails[index])
                made.replace(at: position, with: head.span)
                position += head.count
                write(item, into: &made, at: position)
                if item.entry.hasSecret { secrets[item.entry.name] = position..<position + lengths[index] }
                position += lengths[index]
                made.replace(at: position, with: tail.span)
                position += tail.count
            }
        }
        return KeyringText(items.map(\.entry), made, secrets)
    }

    /// The length of an item's secret, which is checked here.
    private func length(of item: Item) throws(VaultError) -> Int {
        let entry = item.entry
        switch item.secret {
        case .none:
            guard !entry.hasSecret else { throw Self.secretMissing }
            return Self.publicWord(of: entry).count
        case .new(let key):
            guard entry.isKey, key.id == entry.id else { throw Self.malformed("a key's ID is that of its secret") }
            return SymmetricKey.keyLineCount
        case .newIdentity(let identity):
            guard entry.state == .identity, entry.recipient == .publicKey(identity.publicKey),
                entry.id == entry.recipient?.keyringID
            else { throw Self.malformed("an identity's ID is that of its recipient") }
            return identity.textCount
        case .newPluginIdentity(let identity):
            guard entry.state == .identity, entry.id == entry.recipient?.keyringID, entry.publicKey == nil else {
                throw Self.malformed("an identity's ID is that of its recipient")
            }
            return identity.withText { $0.count } + Self.knownRecipient(of: entry).count
        case .kept:
            guard entry.hasSecret, let range = secrets[entry.name] else { throw Self.secretMissing }
            return range.count
        }
    }

    private func write(_ item: Item, into made: inout MutableSpan<UInt8>, at position: Int) {
        switch item.secret {
        case .none: made.replace(at: position, with: Self.publicWord(of: item.entry).span)
        case .new(let key): key.encodeKeyLine(into: &made, at: position)
        case .newIdentity(let identity): identity.encodeText(into: &made, at: position)
        case .newPluginIdentity(let identity):
            identity.withText { text in
                made.replace(at: position, with: text)
                made.replace(at: position + text.count, with: Self.knownRecipient(of: item.entry).span)
            }
        case .kept:
            guard let range = secrets[item.entry.name] else { return }
            text.withBytes { made.replace(at: position, with: $0.extracting(range)) }
        }
    }

    /// What follows a plugin's identity.
    private static func knownRecipient(of entry: KeyringEntry) -> [UInt8] {
        entry.recipientText.map { [comma] + $0.utf8 } ?? []
    }

    /// What a line without a secret has in its place.
    private static func publicWord(of entry: KeyringEntry) -> [UInt8] {
        switch entry.state {
        case .recipient, .former: [UInt8]((entry.recipientText ?? "").utf8)
        case .group: [UInt8](entry.members.map(\.description).joined(separator: ",").utf8)
        default: [UInt8]("-".utf8)
        }
    }

    private static let secretMissing = malformed("a key that is not destroyed, and an identity, has a secret")

    /// All before the secret.
    private static func head(of entry: KeyringEntry) -> [UInt8] {
        [UInt8]("\(entry.state.name) \(entry.created.utc ?? "") \(entry.id?.description ?? "-") ".utf8)
    }
}
