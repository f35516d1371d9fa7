public import VaultFormat

/// A file of recipients, one in each line (KEYTEXT-5): `age1…`, `age1pq1…`, `age1NAME1…`, and lines of ssh keys, as
/// `authorized_keys` and the `.keys` pages of forges have them.
public struct RecipientFile: Sendable {
    /// One recipient.
    public enum Entry: Hashable, Sendable {
        /// The owner of a public key.
        case publicKey(PublicKey)
        /// A recipient whose key a plugin holds.
        case plugin(PluginRecipient)
    }

    /// A line that is passed over, and that a program should warn of.
    public struct SkippedLine: Hashable, Sendable {
        /// The number of the line, from 1 on.
        public let number: Int
        /// Why it is not used: English, lower case, one line.
        public let reason: String
    }

    /// The recipients in their order, each once; at least one.
    public let entries: [Entry]
    /// The ssh keys that can sign and not decrypt, and lines with options.
    public let skipped: [SkippedLine]

    /// The public keys among ``entries``.
    public var publicKeys: [PublicKey] {
        entries.compactMap { if case .publicKey(let key) = $0 { key } else { nil } }
    }

    /// The recipients of plugins among ``entries``.
    public var pluginRecipients: [PluginRecipient] {
        entries.compactMap { if case .plugin(let recipient) = $0 { recipient } else { nil } }
    }

    /// Reads the text of a file.
    ///
    /// - Throws: `badKey` if a line is not a recipient, if there is none, or if there are more than 2²⁰ bytes. The
    ///   message names the line.
    public init(_ text: Span<UInt8>) throws(VaultError) {
        try KeyText.checkFile(text)
        var lines = KeyLines()
        var seen: Set<Entry> = []
        var entries: [Entry] = []
        var skipped: [SkippedLine] = []
        while let range = lines.next(in: text) {
            do throws(VaultError) {
                // An identity is not copied out of the caller's memory.
                // mutant: `parse` refuses it too, after it was copied
                if KeyText.isIdentity(text.extracting(range)) { throw KeyText.identityAmongRecipients }
                let line = range.map { text[$0] }
                if let reason = SSHPublicLine(line)?.unusable {
                    skipped.append(SkippedLine(number: lines.number, reason: reason))
                    continue
                }
                let entry = try Entry.parse(line)
                if seen.insert(entry).inserted { entries.append(entry) }
            } catch {
                throw lines.error(error)
            }
        }
        guard !entries.isEmpty else {
            throw VaultError(.badKey, "there is no recipient in it" + (skipped.first.map { ": \($0.reason)" } ?? ""))
        }
        self.entries = entries
        self.skipped = skipped
    }
}

extension RecipientFile.Entry {
    /// Reads one recipient: `age1…`, `age1pq1…`, `age1NAME1…`, or a line `ssh-ed25519 …` (KEYTEXT-2).
    ///
    /// - Throws: `badKey`; its message says what is wrong.
    public init(_ text: some StringProtocol) throws(VaultError) {
        // A second line would be part of the first one's comment, and its recipient silently left out.
        guard !text.utf8.contains(0x0A) else { throw VaultError(.badKey, "it has more than one line") }
        self = try Self.parse([UInt8](text.utf8))
    }

    static func parse(_ text: [UInt8]) throws(VaultError) -> RecipientFile.Entry {
        if let line = SSHPublicLine(text) { return .publicKey(try line.publicKey()) }
        if KeyText.isIdentity(text.span) {
            throw KeyText.identityAmongRecipients
        }
        guard KeyText.begins(text.span, with: KeyText.pluginPrefix), let end = Bech32.prefixEnd(of: text.span) else {
            throw VaultError(.badKey, "it is not a recipient: age1…, age1pq1…, or a line with ssh-ed25519")
        }
        guard text.count <= Bech32.longestText else {
            throw VaultError(.badKey, "a recipient has at most \(Bech32.longestText) characters")
        }
        guard !text.contains(where: { (0x41...0x5A).contains($0) }) else {
            throw VaultError(.badKey, "a recipient is written in lower case")
        }
        let prefix = String(decoding: text[..<end], as: UTF8.self)
        guard let bytes = Bech32(prefix: prefix).bytes(of: text, isUpper: false) else {
            throw VaultError(.badKey, "the recipient was mistyped: its checksum does not fit")
        }
        switch prefix {
        case KeyText.recipientPrefix: return .publicKey(try PublicKey(.x25519, bytes: bytes))
        case KeyText.postQuantumPrefix: return .publicKey(try PublicKey(.xWing, bytes: bytes))
        default: return .plugin(try PluginRecipient(checked: text, prefix: prefix))
        }
    }
}
