import VaultCrypto
import VaultFormat

/// A line with an ssh public key, as `ssh-keygen` and `authorized_keys` have it (KEYTEXT-6).
struct SSHPublicLine {
    private static let ed25519 = [UInt8]("ssh-ed25519".utf8)

    private let blob: [UInt8]?
    /// Why the key is of no use here, although the line is right; nil for a key that may be.
    let unusable: String?

    /// Nil if the line is not that of an ssh key.
    init?(_ line: [UInt8]) {
        let words = line.split(separator: 0x20, omittingEmptySubsequences: false)
        guard let first = words.first else { return nil }
        if first.elementsEqual(Self.ed25519) {
            blob = words.count > 1 ? Base64.decode(words[1]) : nil
            unusable = nil
            return
        }
        for (index, word) in words.dropLast().enumerated() where Self.isKey(word, words[index + 1]) {
            blob = nil
            unusable =
                index > 0
                ? "a line with options is not a recipient"
                : "a key of type \(String(decoding: word, as: UTF8.self)) cannot encrypt here; use ssh-ed25519 or age1"
            return
        }
        return nil
    }

    /// Whether two words are the name of a type and a key of this type.
    private static func isKey(_ name: ArraySlice<UInt8>, _ text: ArraySlice<UInt8>) -> Bool {
        guard (1...64).contains(name.count), name.allSatisfy({ (0x21...0x7E).contains($0) }),
            let blob = Base64.decode(text)
        else {
            return false
        }
        var reader = ByteReader(blob[...])
        return reader.sshString()?.elementsEqual(name) ?? false
    }

    /// - Throws: `badKey`.
    func publicKey() throws(VaultError) -> PublicKey {
        if let unusable { throw VaultError(.badKey, unusable) }
        guard let blob, let point = Self.point(inBlob: blob[...]) else {
            throw VaultError(.badKey, "the line of the ssh-ed25519 key is damaged")
        }
        return try Self.publicKey(ofPoint: point)
    }

    /// The 32 bytes of an ed25519 key in a public blob.
    static func point(inBlob blob: ArraySlice<UInt8>) -> [UInt8]? {
        var reader = ByteReader(blob)
        guard let name = reader.sshString(), name.elementsEqual(ed25519), let point = reader.sshString(),
            point.count == Ed25519.keyCount, reader.remaining == 0
        else { return nil }
        return [UInt8](point)
    }

    static func publicKey(ofPoint point: [UInt8]) throws(VaultError) -> PublicKey {
        guard let bytes = Ed25519.x25519(of: point) else {
            throw VaultError(.badKey, "the ssh-ed25519 key is not a point of the prime-order group")
        }
        return try PublicKey(.x25519, bytes: bytes)
    }
}

extension ByteReader {
    /// A string of ssh: its length, u32, then its bytes.
    mutating func sshString() -> ArraySlice<UInt8>? {
        guard let count: UInt32 = integer() else { return nil }
        return take(Int(count))
    }
}

/// Base64 (RFC 4648) with padding, in its only form: no line ends, and the bits after the last byte are zero.
enum Base64 {
    /// The number of bytes in a text; nil if no text is this long, or has this padding.
    static func byteCount(of text: Span<UInt8>) -> Int? {
        guard text.count.isMultiple(of: 4) else { return nil }
        var padding = 0
        while padding < 2, padding < text.count, text[text.count - 1 - padding] == 0x3D { padding += 1 }
        return text.count / 4 * 3 - padding
    }

    /// Decodes a text into as many bytes as `byteCount` says. Letters are found by arithmetic, as in Bech32.
    static func decode(_ text: Span<UInt8>, into bytes: inout MutableSpan<UInt8>) -> Bool {
        guard byteCount(of: text) == bytes.count else { return false }
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

    /// Decodes a text that is no secret.
    static func decode(_ text: ArraySlice<UInt8>) -> [UInt8]? {
        let text = [UInt8](text)
        guard let count = byteCount(of: text.span) else { return nil }
        var bytes = [UInt8](repeating: 0, count: count)
        var span = bytes.mutableSpan
        return decode(text.span, into: &span) ? bytes : nil
    }

    /// The value of a letter; 64 if it is not in the alphabet.
    private static func digit(_ letter: UInt8) -> UInt8 {
        var found: UInt8 = 64
        func take(_ range: ClosedRange<UInt8>, _ first: UInt8) {
            let isIt = 0 &- UInt8(range.contains(letter) ? 1 : 0)
            found = (found & ~isIt) | ((letter &- range.lowerBound &+ first) & isIt)
        }
        take(0x41...0x5A, 0)
        take(0x61...0x7A, 26)
        take(0x30...0x39, 52)
        take(0x2B...0x2B, 62)
        take(0x2F...0x2F, 63)
        return found
    }
}
