public import VaultFormat

/// A file of identities (KEYTEXT-5, KEYTEXT-7): lines with `AGE-SECRET-KEY-1…`, `AGE-SECRET-KEY-PQ-1…` or `AGE-PLUGIN-…`
/// and comments, as `age-keygen` and the plugins write them, or an OpenSSH private key of type ed25519.
public struct IdentityFile: Sendable {
    /// One identity.
    public enum Entry: Sendable {
        /// A private key.
        case identity(Identity)
        /// An identity that a plugin uses.
        case plugin(PluginIdentity)
    }

    /// The identities in their order, each once; at least one.
    public let entries: [Entry]

    /// The private keys among ``entries``.
    public var identities: [Identity] {
        entries.compactMap { if case .identity(let identity) = $0 { identity } else { nil } }
    }

    /// The identities of plugins among ``entries``. Recipients in the comments above one are its known recipients
    /// (KEYTEXT-9).
    public var pluginIdentities: [PluginIdentity] {
        entries.compactMap { if case .plugin(let identity) = $0 { identity } else { nil } }
    }

    /// Reads the text of a file.
    ///
    /// - Throws: `badKey` if a line is not an identity, if there is none, if an ssh key is of another type or under a
    ///   passphrase, or if the text is too long; the message names the line. `memoryUnavailable`.
    public init(_ text: Span<UInt8>) throws(VaultError) {
        // Before the other checks: a person who gives such a file needs to know what it is, not that it is no text.
        guard !KeyText.begins(text, with: "age-encryption.org/") else { throw KeyText.encryptedIdentities }
        try KeyText.checkFile(text)
        if KeyText.begins(text, with: "-----begin ") {
            entries = [.identity(try Identity(openSSH: text))]
            return
        }
        var lines = KeyLines()
        var entries: [Entry] = []
        var places: [[UInt8]: Int] = [:]
        while let line = lines.next(in: text) {
            do throws(VaultError) {
                let entry = try Self.entry(text.extracting(line), comments: lines.comments, of: text)
                guard let place = places[entry.mark] else {
                    places[entry.mark] = entries.count
                    entries.append(entry)
                    continue
                }
                // The same identity twice is one, with the known recipients of both.
                if case (.plugin(let one), .plugin(let other)) = (entries[place], entry) {
                    entries[place] = .plugin(one.knowing(other.knownRecipients))
                }
            } catch {
                throw lines.error(error)
            }
        }
        guard !entries.isEmpty else { throw VaultError(.badKey, "there is no identity in it") }
        self.entries = entries
    }

    private static func entry(
        _ line: Span<UInt8>, comments: [Range<Int>], of text: Span<UInt8>
    ) throws(VaultError) -> Entry {
        guard KeyText.begins(line, with: KeyText.pluginIdentityPrefix) else {
            return .identity(try Identity(text: line))
        }
        let known = comments.flatMap { recipients(in: text.extracting($0)) }
        return .plugin(try PluginIdentity(text: line).knowing(known))
    }

    /// The recipients of plugins in a comment (KEYTEXT-9).
    private static func recipients(in comment: Span<UInt8>) -> [PluginRecipient] {
        let bytes = comment.indices.dropFirst().map { comment[$0] }
        return bytes.split { $0 == 0x20 || $0 == 0x09 || $0 == 0x2C }.compactMap { word in
            // mutant: other words are no recipients either; this saves the error of each
            guard KeyText.begins([UInt8](word).span, with: KeyText.pluginPrefix) else { return nil }
            return try? PluginRecipient(String(decoding: word, as: UTF8.self))
        }
    }
}

extension IdentityFile.Entry {
    /// Tells identities apart, and does not show them.
    fileprivate var mark: [UInt8] {
        switch self {
        case .identity(let identity): identity.publicKey.fingerprint
        case .plugin(let identity): identity.mark
        }
    }
}
