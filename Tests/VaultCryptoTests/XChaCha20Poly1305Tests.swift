import Testing
import VaultCrypto
import VaultTestSupport

@Suite struct XChaCha20Poly1305Tests {
    private let text = Array(
        ("Ladies and Gentlemen of the class of '99: If I could offer you only one tip for the future, "
            + "sunscreen would be it.").utf8)
    private let prefix = bytes("50515253c0c1c2c3c4c5c6c7")
    private let key = secret(Array(0x80...0x9F))
    private let nonce = XChaChaNonce((0x40...0x57).map { UInt8($0) }[...])

    private func seal(_ text: [UInt8], prefix: [UInt8] = [], nonce: XChaChaNonce) -> [UInt8] {
        var buffer = prefix + text + [UInt8](repeating: 0xAA, count: 16)
        var span = buffer.mutableSpan
        XChaCha20Poly1305.seal(&span, prefixCount: prefix.count, nonce: nonce, key: key)
        return buffer
    }

    /// draft-irtf-cfrg-xchacha-03, A.3.1.
    @Test func publishedVector() throws {
        var sealed = seal(text, prefix: prefix, nonce: nonce)
        #expect(
            sealed
                == prefix
                + bytes(
                    "bd6d179d3e83d43b9576579493c0e939572a1700252bfaccbed2902c21396cbb731c7f1b0b4aa6440bf3a82f4eda7e39"
                        + "ae64c6708c54c216cb96b72e1213b4522f8c9ba40db5d945b11b69b982c1bb9e3f3fac2bc369488f76b2383565d3"
                        + "fff921f9664c97637da9768812f615c68b13b52ec0875924c1c7987947deafd8780acf49"))
        var span = sealed.mutableSpan
        try XChaCha20Poly1305.open(&span, prefixCount: prefix.count, nonce: nonce, key: key)
        #expect(sealed.dropLast(16) == (prefix + text)[...])
    }

    @Test func everyBitIsAuthenticated() {
        let sealed = seal(text, prefix: prefix, nonce: nonce)
        for bit in 0..<sealed.count * 8 {
            var changed = sealed
            changed[bit / 8] ^= 1 << (bit % 8)
            let tag = changed.suffix(16)
            var span = changed.mutableSpan
            #expect(throws: AuthenticationFailure.self) {
                try XChaCha20Poly1305.open(&span, prefixCount: prefix.count, nonce: nonce, key: key)
            }
            // No unauthenticated byte comes out, not even encrypted.
            #expect(changed.dropFirst(prefix.count).dropLast(16).allSatisfy { $0 == 0 })
            #expect(changed.suffix(16) == tag)
        }
    }

    @Test(arguments: [0, 1, 15, 16, 17, 63, 64, 65, 1000])
    func everyLength(_ count: Int) throws {
        let text = randomBytes(count, seed: UInt64(count))
        var sealed = seal(text, nonce: nonce)
        #expect(count < 15 || sealed.dropLast(16) != text[...])
        var span = sealed.mutableSpan
        try XChaCha20Poly1305.open(&span, prefixCount: 0, nonce: nonce, key: key)
        #expect(sealed.dropLast(16) == text[...])
    }

    @Test func otherKeyNonceOrPrefixLength() {
        let sealed = seal(text, prefix: prefix, nonce: nonce)
        let otherNonce = XChaChaNonce((0x41...0x58).map { UInt8($0) }[...])
        for (key, nonce, prefixCount) in [
            (fixedSecret(1), nonce, 12), (key, otherNonce, 12), (key, nonce, 11), (key, nonce, 13), (key, nonce, 0),
        ] {
            var changed = sealed
            var span = changed.mutableSpan
            #expect(throws: AuthenticationFailure.self) {
                try XChaCha20Poly1305.open(&span, prefixCount: prefixCount, nonce: nonce, key: key)
            }
        }
    }

    /// The nonce of a record is file ID and index, big-endian.
    @Test func nonceOfARecord() {
        let fileID: (high: UInt64, low: UInt64) = (0xA0A1_A2A3_A4A5_A6A7, 0xA8A9_AAAB_ACAD_AEAF)
        let composed = XChaChaNonce(fileID: fileID, index: 0x0102_0304_0506_0708)
        let written = XChaChaNonce((0xA0...0xAF).map { UInt8($0) }[...] + (1...8).map { UInt8($0) })
        #expect(seal(text, nonce: composed) == seal(text, nonce: written))
    }
}

/// The bytes of hexadecimal digits.
func bytes(_ hexadecimal: String) -> [UInt8] {
    guard let bytes = [UInt8](hexDigits: hexadecimal) else { fatalError("\(hexadecimal) is not hexadecimal") }
    return bytes
}
