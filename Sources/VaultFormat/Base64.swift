/// Base64 (RFC 4648) in its only form: no line ends, and the bits after the last byte are zero.
///
/// Letters are looked up by arithmetic. With a table, another program on the same processor could watch which lines of it
/// are read.
package enum Base64 {
    /// The number of bytes in a text with padding; nil if no text is this long, or has this padding.
    package static func byteCount(of text: Span<UInt8>) -> Int? {
        guard text.count.isMultiple(of: 4) else { return nil }
        var padding = 0
        while padding < 2, padding < text.count, text[text.count - 1 - padding] == 0x3D { padding += 1 }
        return text.count / 4 * 3 - padding
    }

    /// Decodes a text with padding into as many bytes as `byteCount` says.
    package static func decode(_ text: Span<UInt8>, into bytes: inout MutableSpan<UInt8>) -> Bool {
        guard byteCount(of: text) == bytes.count else { return false }
        return decodeLetters(text, into: &bytes)
    }

    /// Decodes a text with padding that is no secret.
    package static func decode(_ text: ArraySlice<UInt8>) -> [UInt8]? {
        let text = [UInt8](text)
        guard let count = byteCount(of: text.span) else { return nil }
        var bytes = [UInt8](repeating: 0, count: count)
        var span = bytes.mutableSpan
        return decode(text.span, into: &span) ? bytes : nil
    }

    /// The number of bytes in so many letters without padding; nil if no text has as many.
    package static func unpaddedByteCount(of letterCount: Int) -> Int? {
        letterCount % 4 == 1 ? nil : letterCount / 4 * 3 + letterCount % 4 * 3 / 4
    }

    /// Decodes a text without padding into as many bytes as `unpaddedByteCount` says.
    package static func decodeUnpadded(_ text: Span<UInt8>, into bytes: inout MutableSpan<UInt8>) -> Bool {
        guard unpaddedByteCount(of: text.count) == bytes.count else { return false }
        return decodeLetters(text, into: &bytes)
    }

    /// Decodes a text without padding that is no secret.
    package static func decodeUnpadded(_ text: ArraySlice<UInt8>) -> [UInt8]? {
        guard let count = unpaddedByteCount(of: text.count) else { return nil }
        let text = [UInt8](text)
        var bytes = [UInt8](repeating: 0, count: count)
        var span = bytes.mutableSpan
        return decodeLetters(text.span, into: &span) ? bytes : nil
    }

    private static func decodeLetters(_ text: Span<UInt8>, into bytes: inout MutableSpan<UInt8>) -> Bool {
        let letterCount = (8 * bytes.count + 5) / 6
        var isRight = true
        var bits: UInt32 = 0
        var bitCount: UInt32 = 0
        var filled = 0
        for index in 0..<letterCount {
            let digit = digit(text[index])
            isRight = isRight && digit < 64
            bits = (bits << 6 | UInt32(digit & 63)) & 0xFFFF
            bitCount += 6
            guard bitCount >= 8 else { continue }
            bitCount -= 8
            bytes[filled] = UInt8(truncatingIfNeeded: bits >> bitCount)
            filled += 1
            bits &= (1 << bitCount) - 1
        }
        return isRight && bits == 0
    }

    /// Writes the letters of the bytes without padding, from `start` on.
    ///
    /// - Returns: the place after the last letter.
    package static func encodeUnpadded(_ bytes: Span<UInt8>, into text: inout MutableSpan<UInt8>, at start: Int) -> Int
    {
        var end = start
        for index in 0..<letterCount(of: bytes.count) {
            let bit = 6 * index
            let next = bit / 8 + 1 < bytes.count ? UInt16(bytes[bit / 8 + 1]) : 0
            let pair = UInt16(bytes[bit / 8]) << 8 | next
            text[end] = letter(UInt8(truncatingIfNeeded: pair >> UInt16(10 - bit % 8)) & 63)
            end += 1
        }
        return end
    }

    /// The number of letters without padding for so many bytes.
    package static func letterCount(of byteCount: Int) -> Int { (8 * byteCount + 5) / 6 }

    /// Letters, the first of them and the value of that one.
    private static let runs: [(letters: ClosedRange<UInt8>, value: UInt8)] = [
        (0x41...0x5A, 0), (0x61...0x7A, 26), (0x30...0x39, 52), (0x2B...0x2B, 62), (0x2F...0x2F, 63),
    ]

    /// The value of a letter; 64 if it is not in the alphabet.
    private static func digit(_ letter: UInt8) -> UInt8 {
        var found: UInt8 = 64
        for run in runs {
            let isIt = 0 &- UInt8(run.letters.contains(letter) ? 1 : 0)
            found = (found & ~isIt) | ((letter &- run.letters.lowerBound &+ run.value) & isIt)
        }
        return found
    }

    private static func letter(_ digit: UInt8) -> UInt8 {
        var found: UInt8 = 0
        for run in runs {
            let offset = digit &- run.value
            let isIt = 0 &- UInt8(offset < UInt8(run.letters.count) ? 1 : 0)
            found |= (run.letters.lowerBound &+ offset) & isIt
        }
        return found
    }
}
