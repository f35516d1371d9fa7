import VaultCrypto
import VaultFormat
import VaultStream

/// The lines of a card or a keybag, in guarded memory. Errors give only the number of a line: it may hold a secret.
struct TextLines: ~Copyable {
    /// The most bytes of a text, and the most of its lines (STORE-5).
    static let longest = 1 << 16
    static let mostLines = 256
    private static let mostWords = 7

    private let text: SecretBuffer
    private let noun: String
    /// The words of each line.
    private let lines: [[Range<Int>]]
    private var next = 0

    /// Splits a text into its lines and words.
    ///
    /// - Parameter noun: what messages call the text.
    /// - Throws: `storeMalformed`.
    init(_ text: consuming SecretBuffer, noun: String) throws(StoreError) {
        self.noun = noun
        lines = try text.withBytes { text throws(StoreError) in
            guard text.count <= Self.longest else { throw .malformed("\(noun) has more than \(Self.longest) bytes") }
            var lines: [[Range<Int>]] = []
            var (words, first): ([Range<Int>], Int) = ([], 0)
            for index in text.indices where text[index] == 0x20 || text[index] == 0x0A {
                // A valid line has fewer words. This bounds the memory for one that is not valid.
                if words.count <= Self.mostWords { words.append(first..<index) }
                first = index + 1
                guard text[index] == 0x0A else { continue }
                guard lines.count < Self.mostLines else {
                    throw .malformed("\(noun) has more than \(Self.mostLines) lines")
                }
                lines.append(words)
                words = []
            }
            guard first == text.count, words.isEmpty else { throw .malformed("the last line of \(noun) does not end") }
            return lines
        }
        self.text = text
    }

    var isAtEnd: Bool { next == lines.count }

    /// Whether there is a next line, and it begins with this word.
    func nextBegins(with expected: String) -> Bool {
        guard !isAtEnd, let range = lines[next].first else { return false }
        return word(range, atMost: expected.utf8.count) == expected
    }

    /// The number of the present line, from 1.
    private var number: Int { next }

    func malformed(_ what: String) -> StoreError {
        .malformed("line \(number) of \(noun) \(what)")
    }

    /// Goes to the next line.
    ///
    /// - Parameter count: how many words it must have.
    /// - Throws: `storeMalformed`.
    mutating func advance(words count: Int) throws(StoreError) {
        guard !isAtEnd else { throw .malformed("\(noun) has too few lines") }
        next += 1
        guard lines[next - 1].count == count else { throw malformed("does not have \(count) words") }
    }

    private func range(_ index: Int) -> Range<Int> { lines[next - 1][index] }

    /// A word that is no secret; empty if it is longer than `limit`, so that no secret is copied to the heap.
    func word(_ index: Int, atMost limit: Int) -> String { word(range(index), atMost: limit) }

    private func word(_ range: Range<Int>, atMost limit: Int) -> String {
        guard range.count <= limit else { return "" }
        return text.withBytes { text in String(decoding: range.map { text[$0] }, as: UTF8.self) }
    }

    /// Checks that a word is this one.
    func expect(_ index: Int, _ expected: String) throws(StoreError) {
        guard word(index, atMost: expected.utf8.count) == expected else { throw malformed("is none of its form") }
    }

    /// The ID in a word: 32 hexadecimal digits, lower case.
    func id(_ index: Int) throws(StoreError) -> KeyID {
        let hex = word(index, atMost: 32)
        guard let id = KeyID(lowerCaseHex: hex) else { throw malformed("has no ID in lower case") }
        return id
    }

    /// The time in a word (KEYRING-7).
    func time(_ index: Int) throws(StoreError) -> Timestamp {
        guard let time = Timestamp(utc: Array(word(index, atMost: Timestamp.utcCount).utf8)) else {
            throw malformed("has no time in UTC")
        }
        return time
    }

    /// The key in a word, which must have this ID. Otherwise the writer of the text could have another key taken for
    /// the one that items name.
    func key(_ index: Int, id: KeyID) throws -> SymmetricKey {
        let range = range(index)
        let key: SymmetricKey
        do throws(VaultError) {
            key = try text.withBytes { text throws(VaultError) in
                try SymmetricKey(keyWord: text.extracting(range))
            }
        } catch {
            guard error.code == .badKey else { throw error }
            throw malformed("has no key in it, or one that was mistyped")
        }
        guard key.id == id else { throw malformed("has a key of another ID") }
        return key
    }

    /// The public key in a word, which must have this ID and the only form of its text.
    func publicKey(_ index: Int, id: KeyID) throws(StoreError) -> PublicKey {
        let text = word(index, atMost: Self.longestPublicKey)
        guard let key = try? PublicKey(text), key.text == text else { throw malformed("has no public key in it") }
        guard key.idInStore == id else { throw malformed("has a public key of another ID") }
        return key
    }

    /// Longer than the text of an X-Wing public key.
    private static let longestPublicKey = 2048

    /// The identity in a word, whose public key must have this ID.
    ///
    /// - Throws: `storeMalformed`; `badKey` if this build has no X-Wing, which it needs; `memoryUnavailable`.
    func identity(_ index: Int, id: KeyID) throws -> Identity {
        let range = range(index)
        let (kind, secret): (SlotDescription.Kind, SecretBytes)
        do throws(VaultError) {
            (kind, secret) = try text.withBytes { text throws(VaultError) in
                try Identity.parse(text.extracting(range))
            }
        } catch {
            guard error.code == .badKey else { throw error }
            throw malformed("has no identity in it, or one that was mistyped")
        }
        let identity = try Identity(kind, secret)
        guard identity.publicKey.idInStore == id else { throw malformed("has an identity of another ID") }
        return identity
    }
}
