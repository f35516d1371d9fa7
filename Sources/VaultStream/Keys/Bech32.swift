/// Bech32 (BIP 173) for bytes that are no secret: a prefix, `1`, the bytes in groups of 5 bits, 6 letters of checksum.
/// `SymmetricKey` writes and reads its own line, in guarded memory.
struct Bech32 {
    /// The prefix, in lower case.
    let prefix: [UInt8]
    /// How many bytes a text holds.
    let byteCount: Int

    private static let checksumCount = 6

    private var digitCount: Int { (8 * byteCount + 4) / 5 }
    /// The number of characters of a text.
    var textCount: Int { prefix.count + 1 + digitCount + Self.checksumCount }

    /// The text of `byteCount` bytes, in upper case.
    func encode(_ bytes: [UInt8]) -> [UInt8] {
        precondition(bytes.count == byteCount, "a text holds \(byteCount) bytes")
        var checksum = Bech32Checksum(prefix: prefix)
        var text = prefix.map { $0 >= 0x61 ? $0 - 0x20 : $0 } + [0x31]
        for index in 0..<digitCount {
            let bit = 5 * index
            let pair = UInt16(bytes[bit / 8]) << 8 | (bit / 8 + 1 < byteCount ? UInt16(bytes[bit / 8 + 1]) : 0)
            let digit = UInt8(truncatingIfNeeded: pair >> UInt16(11 - bit % 8)) & 31
            checksum.add(digit)
            text.append(Bech32Digit.letter(digit))
        }
        let sum = checksum.finish()
        for index in 0..<Self.checksumCount {
            let digit = UInt8(truncatingIfNeeded: sum >> UInt32(5 * (Self.checksumCount - 1 - index))) & 31
            text.append(Bech32Digit.letter(digit))
        }
        return text
    }

    /// The bytes of a text, which is in upper case or in lower case; nil for any other text.
    func decode(_ text: [UInt8]) -> [UInt8]? {
        guard text.count == textCount else { return nil }
        let isUpper = (0x41...0x5A).contains(text[0])
        let lead = prefix.map { isUpper && $0 >= 0x61 ? $0 - 0x20 : $0 } + [0x31]
        guard text.starts(with: lead) else { return nil }
        var checksum = Bech32Checksum(prefix: prefix)
        var bytes: [UInt8] = []
        var bits: UInt16 = 0
        var bitCount: UInt16 = 0
        for (index, letter) in text.dropFirst(lead.count).enumerated() {
            let digit = Bech32Digit.value(letter, isUpper: isUpper)
            guard digit < 32 else { return nil }
            checksum.add(digit)
            guard index < digitCount else { continue }
            bits = (bits << 5 | UInt16(digit)) & 0xFFF
            bitCount += 5
            guard bitCount >= 8 else { continue }
            bitCount -= 8
            bytes.append(UInt8(truncatingIfNeeded: bits >> bitCount))
            bits &= (1 << bitCount) - 1
        }
        // The bits after the last byte are zero, so that the bytes have only one text.
        return checksum.isRight && bits == 0 ? bytes : nil
    }
}

/// The checksum of Bech32 (BIP 173).
struct Bech32Checksum {
    private var state: UInt32 = 1

    init(prefix: [UInt8]) {
        for letter in prefix { add(letter >> 5) }
        add(0)
        for letter in prefix { add(letter & 31) }
    }

    mutating func add(_ digit: UInt8) {
        let top = state >> 25
        state = (state & 0x1FF_FFFF) << 5 ^ UInt32(digit)
        let generators: [UInt32] = [0x3b6a_57b2, 0x2650_8e6d, 0x1ea1_19fa, 0x3d42_33dd, 0x2a14_62b3]
        for (bit, generator) in generators.enumerated() {
            state ^= generator & (0 &- (top >> UInt32(bit) & 1))
        }
    }

    /// After the six digits of the checksum.
    var isRight: Bool { state == 1 }

    /// The six digits, 30 bits.
    consuming func finish() -> UInt32 {
        for _ in 0..<6 { add(0) }
        return state ^ 1
    }
}

enum Bech32Digit {
    private static let alphabet = [UInt8]("qpzry9x8gf2tvdw0s3jn54khce6mua7l".utf8)

    /// Reads the whole alphabet, so that memory accesses do not show which letter it was.
    static func letter(_ digit: UInt8) -> UInt8 {
        var found: UInt8 = 0
        for (value, letter) in alphabet.enumerated() {
            let isIt = 0 &- UInt8(UInt8(value) == digit ? 1 : 0)
            found |= (letter >= 0x61 ? letter - 0x20 : letter) & isIt
        }
        return found
    }

    /// The digit of a letter; 32 if it is not in the alphabet. Reads the whole alphabet too.
    static func value(_ letter: UInt8, isUpper: Bool) -> UInt8 {
        var found: UInt8 = 32
        for (value, candidate) in alphabet.enumerated() {
            let expected = isUpper && candidate >= 0x61 ? candidate - 0x20 : candidate
            let isIt = 0 &- UInt8(expected == letter ? 1 : 0)
            found = (found & ~isIt) | (UInt8(value) & isIt)
        }
        return found
    }
}
