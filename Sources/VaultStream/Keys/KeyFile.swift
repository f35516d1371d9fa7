import VaultCrypto
public import VaultFormat

/// The text form of a symmetric key (Spec, appendix A): `#` comment lines, then one line of Bech32 with the
/// prefix `VAULTFILE-KEY-1`, whose checksum recognises a mistyped key as such.
///
/// The text and the key are only in guarded memory. Digits are converted one at a time. Letters are looked up by
/// arithmetic: with a table, another program on the same processor could watch which lines of it are read.
extension SymmetricKey {
    private static let prefix = [UInt8]("vaultfile-key-".utf8)
    private static let digitCount = 52
    private static let checksumCount = 6
    /// The number of characters in the line of a key.
    static var lineCount: Int { prefix.count + 1 + digitCount + checksumCount }

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
        var found: Range<Int>?
        var start = 0
        while start < text.count {
            var end = start
            while end < text.count, text[end] != 0x0A { end += 1 }
            var line = start..<end
            // A CR is part of the line's end only before an LF.
            if end < text.count, let last = line.last, text[last] == 0x0D { line = start..<last }
            start = end + 1
            if line.isEmpty || text[line.lowerBound] == 0x23 { continue }
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
    convenience init(keyLine line: Span<UInt8>) throws(VaultError) {
        try self.init(Self.decode(line))
    }

    /// Writes the line of this key, without a line end: `lineCount` characters from `start` on.
    func encodeKeyLine(into text: inout MutableSpan<UInt8>, at start: Int) {
        secret.withBytes { Self.encode($0, into: &text, at: start) }
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
        let count = head.count + Self.lineCount + 1
        var text = try guarded { () throws(MemoryUnavailable) in try GuardedBuffer(count: count) }
        text.withMutableBytes { text in
            text.replace(at: 0, with: head.span)
            encodeKeyLine(into: &text, at: head.count)
            text[head.count + Self.lineCount] = 0x0A
        }
        return try text.withBytes(body)
    }

    private static func encode(_ key: Span<UInt8>, into text: inout MutableSpan<UInt8>, at start: Int) {
        var checksum = Bech32Checksum(prefix: prefix)
        var position = start
        func put(_ letter: UInt8) {
            text[position] = letter
            position += 1
        }
        for letter in prefix { put(letter - (letter >= 0x61 ? 0x20 : 0)) }
        put(0x31)
        for index in 0..<digitCount {
            let bit = 5 * index
            let pair = UInt16(key[bit / 8]) << 8 | (bit / 8 + 1 < key.count ? UInt16(key[bit / 8 + 1]) : 0)
            let digit = UInt8(truncatingIfNeeded: pair >> UInt16(11 - bit % 8)) & 31
            checksum.add(digit)
            put(Bech32Digit.letter(digit))
        }
        let sum = checksum.finish()
        for index in 0..<checksumCount {
            put(Bech32Digit.letter(UInt8(truncatingIfNeeded: sum >> UInt32(5 * (checksumCount - 1 - index))) & 31))
        }
    }

    private static func decode(_ line: Span<UInt8>) throws(VaultError) -> SecretBytes {
        let lead = prefix + [0x31]
        guard line.count >= lead.count else { throw VaultError(.badKey, "its line is not a key") }
        // Bech32 is in upper case or in lower case, never mixed.
        let isUpper = (0x41...0x5A).contains(line[0])
        for (index, letter) in lead.enumerated() {
            guard line[index] == (isUpper && letter >= 0x61 ? letter - 0x20 : letter) else {
                throw VaultError(.badKey, "its line does not begin with VAULTFILE-KEY-1")
            }
        }
        guard line.count == lineCount else {
            throw VaultError(
                .badKey, "the key was mistyped: its line has \(line.count) characters instead of \(lineCount)"
            )
        }
        var key = try guarded { () throws(MemoryUnavailable) in try GuardedBuffer(count: byteCount) }
        let isRight = key.withMutableBytes { key in
            var checksum = Bech32Checksum(prefix: prefix)
            var bits: UInt16 = 0
            var bitCount: UInt16 = 0
            var filled = 0
            var isRight = true
            for index in lead.count..<lineCount {
                let digit = Bech32Digit.value(line[index], isUpper: isUpper)
                isRight = isRight && digit < 32
                checksum.add(digit & 31)
                guard index < lead.count + digitCount else { continue }
                bits = (bits << 5 | UInt16(digit & 31)) & 0xFFF
                bitCount += 5
                if bitCount >= 8 {
                    bitCount -= 8
                    key[filled] = UInt8(truncatingIfNeeded: bits >> bitCount)
                    filled += 1
                    bits &= (1 << bitCount) - 1
                }
            }
            // The 4 bits after the key are zero, so that a key has only one text.
            return isRight && checksum.isRight && bits == 0
        }
        guard isRight else { throw VaultError(.badKey, "the key was mistyped: its checksum does not fit") }
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
