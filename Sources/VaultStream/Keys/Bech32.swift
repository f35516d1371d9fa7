import VaultCrypto

/// Bech32 (BIP 173) without its limit of 90 characters: a prefix, `1`, the bytes in groups of 5 bits, 6 letters of
/// checksum (KEYTEXT-1).
///
/// It reads and writes secrets too, so it works in the caller's memory and converts one digit at a time. Letters are
/// looked up by arithmetic: with a table, another program on the same processor could watch which lines of it are read.
struct Bech32 {
    /// The prefix, in lower case.
    let prefix: [UInt8]

    /// The longest text, in characters.
    static let longestText = 16_384
    private static let separator: UInt8 = 0x31
    private static let checksumCount = 6

    init(prefix: String) {
        self.prefix = [UInt8](prefix.utf8)
    }

    /// What a text begins with: the prefix and the separator.
    private func lead(isUpper: Bool) -> [UInt8] {
        prefix.map { Self.cased($0, isUpper) } + [Self.separator]
    }

    private static func cased(_ letter: UInt8, _ isUpper: Bool) -> UInt8 {
        isUpper && (0x61...0x7A).contains(letter) ? letter - 0x20 : letter
    }

    /// The number of characters of the text of so many bytes.
    func textCount(of byteCount: Int) -> Int {
        prefix.count + 1 + Self.digitCount(of: byteCount) + Self.checksumCount
    }

    private static func digitCount(of byteCount: Int) -> Int { (8 * byteCount + 4) / 5 }

    /// The number of bytes that a text of this length holds; nil if no text has it.
    func byteCount(of textCount: Int) -> Int? {
        let digitCount = textCount - prefix.count - 1 - Self.checksumCount
        // mutant: no text has a negative count, and callers refuse longer texts with a message
        guard digitCount >= 0, textCount <= Self.longestText else { return nil }
        let byteCount = 5 * digitCount / 8
        return Self.digitCount(of: byteCount) == digitCount ? byteCount : nil
    }

    /// Where the prefix of a text ends: before the last `1`. Nil if there is none.
    static func prefixEnd(of text: Span<UInt8>) -> Int? {
        text.indices.last { text[$0] == separator }
    }

    /// Whether a text begins with the prefix and the separator, in this case.
    func begins(_ text: Span<UInt8>, isUpper: Bool) -> Bool { text.begins(with: lead(isUpper: isUpper)) }

    // MARK: Writing

    /// Writes the text of the bytes: `textCount(of:)` characters from `start` on.
    func encode(_ bytes: Span<UInt8>, isUpper: Bool, into text: inout MutableSpan<UInt8>, at start: Int) {
        var checksum = Bech32Checksum(prefix: prefix)
        let lead = lead(isUpper: isUpper)
        text.replace(at: start, with: lead.span)
        var position = start + lead.count
        for index in 0..<Self.digitCount(of: bytes.count) {
            let bit = 5 * index
            let pair = UInt16(bytes[bit / 8]) << 8 | (bit / 8 + 1 < bytes.count ? UInt16(bytes[bit / 8 + 1]) : 0)
            let digit = UInt8(truncatingIfNeeded: pair >> UInt16(11 - bit % 8)) & 31
            checksum.add(digit)
            text[position] = Bech32Digit.letter(digit, isUpper: isUpper)
            position += 1
        }
        let sum = checksum.finish()
        for index in 0..<Self.checksumCount {
            let digit = UInt8(truncatingIfNeeded: sum >> UInt32(5 * (Self.checksumCount - 1 - index))) & 31
            text[position + index] = Bech32Digit.letter(digit, isUpper: isUpper)
        }
    }

    /// The text of bytes that are no secret.
    func text(of bytes: [UInt8], isUpper: Bool) -> [UInt8] {
        var text = [UInt8](repeating: 0, count: textCount(of: bytes.count))
        var span = text.mutableSpan
        encode(bytes.span, isUpper: isUpper, into: &span, at: 0)
        return text
    }

    // MARK: Reading

    /// Reads a text that begins with the prefix. All letters are looked at, whatever the first wrong one is.
    ///
    /// - Parameter bytes: as many as `byteCount(of:)` says for the text.
    /// - Returns: Whether all letters, the checksum and the bits after the last byte are right. These bits are zero, so
    ///   that the bytes have only one text.
    func decode(_ text: Span<UInt8>, isUpper: Bool, into bytes: inout MutableSpan<UInt8>) -> Bool {
        // mutant: callers pass as many bytes as `byteCount(of:)` says
        guard byteCount(of: text.count) == bytes.count, begins(text, isUpper: isUpper) else { return false }
        var checksum = Bech32Checksum(prefix: prefix)
        var bits: UInt16 = 0
        var bitCount: UInt16 = 0
        var filled = 0
        var isRight = true
        let end = text.count - Self.checksumCount
        for index in prefix.count + 1..<text.count {
            let digit = Bech32Digit.value(text[index], isUpper: isUpper)
            isRight = isRight && digit < 32
            checksum.add(digit & 31)
            guard index < end else { continue }
            bits = (bits << 5 | UInt16(digit & 31)) & 0xFFF
            bitCount += 5
            guard bitCount >= 8 else { continue }
            bitCount -= 8
            bytes[filled] = UInt8(truncatingIfNeeded: bits >> bitCount)
            filled += 1
            bits &= (1 << bitCount) - 1
        }
        return isRight && checksum.isRight && bits == 0
    }

    /// The bytes of a text, if they are no secret; nil if it is not the text of any.
    func bytes(of text: [UInt8], isUpper: Bool) -> [UInt8]? {
        guard let count = byteCount(of: text.count) else { return nil }
        var bytes = [UInt8](repeating: 0, count: count)
        var span = bytes.mutableSpan
        return decode(text.span, isUpper: isUpper, into: &span) ? bytes : nil
    }
}

/// The checksum of Bech32 (BIP 173).
private struct Bech32Checksum {
    private var state: UInt32 = 1

    init(prefix: [UInt8]) {
        for letter in prefix { add(letter >> 5) }
        add(0)
        for letter in prefix { add(letter & 31) }
    }

    mutating func add(_ digit: UInt8) {
        let top = state >> 25
        state = (state & 0x1FF_FFFF) << 5 ^ UInt32(digit)
        state ^= 0x3b6a_57b2 & (0 &- (top & 1))
        state ^= 0x2650_8e6d & (0 &- (top >> 1 & 1))
        state ^= 0x1ea1_19fa & (0 &- (top >> 2 & 1))
        state ^= 0x3d42_33dd & (0 &- (top >> 3 & 1))
        state ^= 0x2a14_62b3 & (0 &- (top >> 4 & 1))
    }

    /// After the six digits of the checksum.
    var isRight: Bool { state == 1 }

    /// The six digits, 30 bits.
    consuming func finish() -> UInt32 {
        for _ in 0..<6 { add(0) }
        return state ^ 1
    }
}

private enum Bech32Digit {
    private static let lower = [UInt8]("qpzry9x8gf2tvdw0s3jn54khce6mua7l".utf8)
    private static let upper = [UInt8]("QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L".utf8)

    /// Reads the whole alphabet, so that memory accesses do not show which letter it was.
    static func letter(_ digit: UInt8, isUpper: Bool) -> UInt8 {
        var found: UInt8 = 0
        for (value, letter) in (isUpper ? upper : lower).enumerated() {
            found |= letter & (0 &- UInt8(UInt8(value) == digit ? 1 : 0))
        }
        return found
    }

    /// The digit of a letter; 32 if it is not in the alphabet. Reads the whole alphabet too.
    static func value(_ letter: UInt8, isUpper: Bool) -> UInt8 {
        var found: UInt8 = 32
        for (value, candidate) in (isUpper ? upper : lower).enumerated() {
            let isIt = 0 &- UInt8(candidate == letter ? 1 : 0)
            found = (found & ~isIt) | (UInt8(value) & isIt)
        }
        return found
    }
}
