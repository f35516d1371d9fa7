import VaultCrypto
public import VaultFormat

/// The text form of a symmetric key (Spec, appendix A): `#` comment lines, then one line of Bech32 with the
/// prefix `VAULTFILE-KEY-1`, whose checksum recognises a mistyped key as such.
///
/// The text and the key are only in guarded memory.
extension SymmetricKey {
    private static let form = Bech32(prefix: "vaultfile-key-")
    /// The number of characters in the line of a key.
    package static var keyLineCount: Int { form.textCount(of: byteCount) }

    /// The largest key file that is read, in bytes (KEYFILE-1).
    public static let largestKeyFile = 16_384

    /// The error for a larger key file.
    package static var tooLargeKeyFile: VaultError {
        VaultError(.badKey, "a key file has at most \(largestKeyFile) bytes")
    }

    /// Reads the key in the text of a key file. Empty lines and lines that begin with `#` are ignored. Lines end with
    /// LF or CR LF.
    ///
    /// - Throws: `badKey` if there is no key in it, more than one, one that was mistyped, or a key of zeros;
    ///   `memoryUnavailable`.
    public convenience init(keyFile text: Span<UInt8>) throws(VaultError) {
        guard text.count <= Self.largestKeyFile else { throw Self.tooLargeKeyFile }
        var lines = KeyLines()
        var found: Range<Int>?
        while let line = lines.next(in: text) {
            guard found == nil else {
                throw VaultError(.badKey, "it has more than one line that is not a comment, and a key is one line")
            }
            found = line
        }
        guard let found else { throw VaultError(.badKey, "there is no key in it") }
        try self.init(keyLine: text.extracting(found))
    }

    /// The time of creation in the comments of a key file: the first that has the form that `withKeyFile` writes. Nil
    /// if there is none. Nothing else in the comments is returned, because anything can be written there.
    public static func creationTime(inKeyFile text: Span<UInt8>) -> Timestamp? {
        let lead = [UInt8]("# created: ".utf8)
        let count = lead.count + Timestamp.utcCount
        var start = 0
        while start < text.count {
            var end = start
            while end < text.count, text[end] != 0x0A { end += 1 }
            let line = text.extracting(start..<end)
            if line.count >= count, line.begins(with: lead),
                let time = Timestamp(utc: (lead.count..<count).map { line[$0] })
            {
                return time
            }
            start = end + 1
        }
        return nil
    }

    /// Reads the line of a key, without its line end (KEYFILE-2, KEYFILE-3).
    package convenience init(keyLine line: Span<UInt8>) throws(VaultError) {
        try self.init(Self.decode(line))
    }

    /// Reads a key that is a word of a keyring, a card or a keybag: in upper case only, so that such a text has one form.
    package convenience init(keyWord word: Span<UInt8>) throws(VaultError) {
        guard word.count > 0, word[0] == UInt8(ascii: "V") else {
            throw VaultError(.badKey, "it is no key in upper case")
        }
        try self.init(keyLine: word)
    }

    /// Writes the line of this key, without a line end: `keyLineCount` characters from `start` on.
    package func encodeKeyLine(into text: inout MutableSpan<UInt8>, at start: Int) {
        secret.withBytes { Self.form.encode($0, isUpper: true, into: &text, at: start) }
    }

    /// Lends the text of a key file for this key, in guarded memory that is wiped afterwards.
    ///
    /// - Parameters:
    ///   - created: the time of creation for the comment, which has it to the second; nil for no such comment.
    ///   - body: gets the text.
    /// - Returns: what `body` returns.
    /// - Throws: `invalidArgument` if the year of `created` does not have four digits, `memoryUnavailable`, and what
    ///   `body` throws.
    public func withKeyFile<R: ~Copyable>(
        created: Timestamp? = nil, _ body: (Span<UInt8>) throws -> R
    ) throws -> R {
        var comments = ""
        if let created { comments += "# created: \(try created.utcOfKey)\n" }
        comments += "# key ID: \(id)\n"
        let head = [UInt8](comments.utf8)
        let count = head.count + Self.keyLineCount + 1
        var text = try guarded { () throws(MemoryUnavailable) in try GuardedBuffer(count: count) }
        text.withMutableBytes { text in
            text.replace(at: 0, with: head.span)
            encodeKeyLine(into: &text, at: head.count)
            text[head.count + Self.keyLineCount] = 0x0A
        }
        return try text.withBytes(body)
    }

    private static func decode(_ line: Span<UInt8>) throws(VaultError) -> SecretBytes {
        // Bech32 is in upper case or in lower case, never mixed.
        let isUpper = line.count > 0 && (0x41...0x5A).contains(line[0])
        guard form.begins(line, isUpper: isUpper) else {
            throw VaultError(.badKey, "its line does not begin with VAULTFILE-KEY-1")
        }
        guard line.count == keyLineCount else {
            throw VaultError(
                .badKey, "the key was mistyped: its line has \(line.count) characters instead of \(keyLineCount)"
            )
        }
        var key = try guarded { () throws(MemoryUnavailable) in try GuardedBuffer(count: byteCount) }
        guard key.withMutableBytes({ form.decode(line, isUpper: isUpper, into: &$0) }) else {
            throw VaultError(.badKey, "the key was mistyped: its checksum does not fit")
        }
        return SecretBytes(key)
    }
}

extension Timestamp {
    /// The time in UTC, as key files and keyrings write it.
    ///
    /// - Throws: `invalidArgument` if the year does not have four digits.
    package var utcOfKey: String {
        get throws(VaultError) {
            guard let utc else { throw VaultError(.invalidArgument, "a key's year of creation has four digits") }
            return utc
        }
    }
}
