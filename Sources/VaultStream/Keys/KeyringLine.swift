import VaultCrypto
import VaultFormat

/// One line of the text of a keyring (KEYRING-5). Errors give only its number: it holds a secret.
struct KeyringLine {
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
        let id = try id(in: text)
        guard let name = KeyName(bytes: bytes(4, of: text, atMost: KeyName.longest)) else {
            throw malformed("has no name")
        }
        let word = text.extracting(words[3])
        var (recipient, members): (RecipientFile.Entry?, [KeyName]) = (nil, [])
        switch state {
        case .destroyed:
            guard isDash(word) else { throw malformed("has a secret, although its key is destroyed") }
            guard id != nil else { throw malformed("has no key ID") }
        case .recipient, .former:
            recipient = try recipientText(word)
            try check(id, of: recipient)
        case .identity: recipient = try recipientOfIdentity(word, id)
        case .group:
            guard id == nil else { throw malformed("has an ID, although it is a group") }
            members = try self.members(word)
        default: try checkKey(word, id)
        }
        let entry = KeyringEntry(
            id: id, name: name, created: created, state: state, recipient: recipient, members: members)
        return (entry, entry.hasSecret ? words[3] : nil)
    }

    private func isDash(_ word: Span<UInt8>) -> Bool { word.count == 1 && word[0] == UInt8(ascii: "-") }

    /// The third word; nil for `-`.
    private func id(in text: Span<UInt8>) throws(VaultError) -> KeyID? {
        guard !isDash(text.extracting(words[2])) else { return nil }
        let hex = String(decoding: bytes(2, of: text, atMost: 2 * KeyringText.idCount), as: UTF8.self)
        guard let id = KeyID(lowerCaseHex: hex) else { throw malformed("has no key ID in lower case") }
        return id
    }

    // Otherwise the author of the keyring could have another key taken for the one that a container names, or another
    // recipient for the one that the user knows by its ID.
    private func check(_ id: KeyID?, of recipient: RecipientFile.Entry?) throws(VaultError) {
        guard id == recipient?.keyringID else { throw malformed("has the ID of another recipient") }
    }

    // MARK: Secrets

    private func checkKey(_ word: Span<UInt8>, _ id: KeyID?) throws(VaultError) {
        guard let key = try ifGood({ () throws(VaultError) in try SymmetricKey(keyWord: word) }) else {
            throw malformed("has no key in it, or one that was mistyped")
        }
        guard key.id == id else { throw malformed("has a key of another ID") }
    }

    /// Checks an identity, and returns its recipient; nil if it is not known, or if this system cannot compute it.
    private func recipientOfIdentity(_ word: Span<UInt8>, _ id: KeyID?) throws(VaultError) -> RecipientFile.Entry? {
        let isBad = malformed("has no identity in it, or one that was mistyped")
        guard !KeyText.begins(word, with: KeyText.pluginIdentityPrefix) else {
            // Of these characters, only the separator of the two texts can be a comma: Bech32 has none in its digits,
            // and the name of a plugin has none.
            let comma = word.indices.first { word[$0] == KeyringText.comma }
            let text = word.extracting(first: comma ?? word.count)
            guard try ifGood({ () throws(VaultError) in try PluginIdentity(text: text) }) != nil else { throw isBad }
            guard let comma else {
                guard id == nil else { throw malformed("has an ID, although its recipient is not known") }
                return nil
            }
            let recipient = try recipientText(word.extracting(droppingFirst: comma + 1))
            guard case .plugin = recipient else { throw malformed("has a recipient that is not a plugin's") }
            try check(id, of: recipient)
            return recipient
        }
        guard
            let identity = try ifGood({ () throws(VaultError) in try Identity.parse(word) })
        else { throw isBad }
        guard let id else { throw malformed("has no ID") }
        // A system without X-Wing cannot compute the recipient. The entry keeps its ID.
        guard let publicKey = Identity.publicKey(identity.kind, identity.secret) else { return nil }
        try check(id, of: .publicKey(publicKey))
        return .publicKey(publicKey)
    }

    private func recipientText(_ word: Span<UInt8>) throws(VaultError) -> RecipientFile.Entry {
        // Only what begins like a recipient is copied: anything else may be a secret.
        guard word.begins(with: [UInt8]("age1".utf8)) else { throw malformed("has no recipient in it") }
        let text = word.indices.map { word[$0] }
        guard let recipient = try ifGood({ () throws(VaultError) in try RecipientFile.Entry.parse(text) }) else {
            throw malformed("has a recipient that was mistyped")
        }
        return recipient
    }

    private func members(_ word: Span<UInt8>) throws(VaultError) -> [KeyName] {
        var members: [KeyName] = []
        var start = 0
        while start <= word.count {
            var end = start
            while end < word.count, word[end] != KeyringText.comma { end += 1 }
            guard members.count < KeyringText.mostKeys, end - start <= KeyName.longest,
                let name = KeyName(bytes: (start..<end).map { word[$0] })
            else { throw malformed("has a member that is not a name") }
            members.append(name)
            start = end + 1
        }
        return members
    }

    /// Nil for a text that is wrong.
    private func ifGood<R>(_ body: () throws(VaultError) -> R) throws(VaultError) -> R? {
        do throws(VaultError) {
            return try body()
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
