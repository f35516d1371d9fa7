import VaultFormat

/// The lines of a text with keys: key files, and files of recipients or identities (KEYFILE-1, KEYTEXT-5). Lines end
/// with LF or CR LF, and the last end may be missing. Empty lines and lines that begin with `#` are passed over.
struct KeyLines {
    /// The number of the line that `next` returned, from 1 on.
    private(set) var number = 0
    /// The comments between the line before and the line that `next` returned, each from its `#` on.
    private(set) var comments: [Range<Int>] = []
    private var start = 0

    /// The next line that is a key; nil at the end.
    mutating func next(in text: Span<UInt8>) -> Range<Int>? {
        comments = []
        while let line = nextOfAny(in: text) {
            if line.isEmpty { continue }
            guard text[line.lowerBound] == 0x23 else { return line }
            comments.append(line)
        }
        return nil
    }

    /// The next line, whatever it is; nil at the end.
    mutating func nextOfAny(in text: Span<UInt8>) -> Range<Int>? {
        guard start < text.count else { return nil }
        var end = start
        while end < text.count, text[end] != 0x0A { end += 1 }
        var line = start..<end
        // A CR is part of the line's end only before an LF.
        if end < text.count, let last = line.last, text[last] == 0x0D { line = start..<last }
        start = end + 1
        number += 1
        return line
    }

    /// The same error, about this line.
    func error(_ error: VaultError) -> VaultError {
        guard error.code == .badKey else { return error }
        return VaultError(.badKey, "line \(number): \(error.message)")
    }
}

/// Texts of public keys and identities (Spec, appendix C).
enum KeyText {
    /// The longest file of recipients or identities, in bytes (KEYTEXT-5).
    static let longestFile = 1 << 20

    /// - Throws: `badKey` if the file is too long, or not UTF-8.
    static func checkFile(_ text: Span<UInt8>) throws(VaultError) {
        guard text.count <= longestFile else {
            throw VaultError(.badKey, "a file of recipients or identities has at most \(longestFile) bytes")
        }
        guard unsafe text.withUnsafeBufferPointer({ unsafe String(validating: $0, as: UTF8.self) != nil }) else {
            throw VaultError(.badKey, "it is not UTF-8 text")
        }
    }

    static let recipientPrefix = "age"
    /// Before the name of a plugin; `age1pq` is no plugin.
    static let pluginPrefix = "age1"
    static let postQuantumPrefix = "age1pq"
    static let identityPrefix = "age-secret-key-"
    static let postQuantumIdentityPrefix = "age-secret-key-pq-"
    static let pluginIdentityPrefix = "age-plugin-"

    /// Whether a text begins with these characters, in any case.
    static func begins(_ text: Span<UInt8>, with beginning: String) -> Bool {
        let beginning = [UInt8](beginning.utf8)
        guard text.count >= beginning.count else { return false }
        return beginning.indices.allSatisfy { index in
            let letter = text[index]
            return beginning[index] == ((0x41...0x5A).contains(letter) ? letter + 0x20 : letter)
        }
    }

    static let identityAmongRecipients = VaultError(
        .badKey, "it is an identity, which is a secret, and not a recipient")

    /// Whether the text looks like an identity.
    static func isIdentity(_ text: Span<UInt8>) -> Bool {
        begins(text, with: identityPrefix) || begins(text, with: pluginIdentityPrefix)
            || begins(text, with: "-----begin")
    }
}
