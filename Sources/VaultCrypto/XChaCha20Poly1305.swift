internal import CSodium

/// The tag is wrong for the bytes under this key, nonce and associated data.
package struct AuthenticationFailure: Error {}

/// A nonce of 24 bytes.
package struct XChaChaNonce: Sendable {
    private let words: (UInt64, UInt64, UInt64)

    /// The nonce of a record: the container's file ID (16 bytes), then the record's index (REC-7).
    package init(fileID: (high: UInt64, low: UInt64), index: UInt64) {
        words = (fileID.high.bigEndian, fileID.low.bigEndian, index.bigEndian)
    }

    /// The nonce of a slot. Any count other than 24 bytes is a programming error.
    package init(_ bytes: ArraySlice<UInt8>) {
        precondition(bytes.count == XChaCha20Poly1305.nonceCount)
        func word(_ index: Int) -> UInt64 {
            bytes.dropFirst(8 * index).prefix(8).reduce(0) { $0 << 8 | UInt64($1) }.bigEndian
        }
        words = (word(0), word(1), word(2))
    }

    fileprivate func withPointer<R>(_ body: (UnsafePointer<UInt8>) -> R) -> R {
        unsafe withUnsafeBytes(of: words) { words in
            unsafe words.withMemoryRebound(to: UInt8.self) { words in
                // 24 bytes of a tuple always have an address.
                guard let address = words.baseAddress else { preconditionFailure() }
                return unsafe body(address)
            }
        }
    }
}

/// XChaCha20-Poly1305 (draft-irtf-cfrg-xchacha), in place.
///
/// A buffer is prefix ‖ text ‖ tag: the prefix is authenticated and not encrypted, the text is encrypted in place, the
/// tag is the buffer's last 16 bytes. Records and slots both have this shape, so no byte is copied before sealing.
package enum XChaCha20Poly1305 {
    package static let keyCount = 32
    package static let nonceCount = 24
    package static let tagCount = 16

    /// Encrypts the text in place and writes the tag.
    package static func seal(
        _ buffer: inout MutableSpan<UInt8>, prefixCount: Int, nonce: XChaChaNonce, key: SecretBytes
    ) {
        check(buffer.count, prefixCount, key)
        unsafe buffer.withUnsafeMutableBufferPointer { buffer in
            // A buffer holds at least a tag. To continue without sealing would release plaintext.
            guard let start = buffer.baseAddress else { preconditionFailure("an empty buffer cannot be sealed") }
            let textCount = buffer.count - prefixCount - tagCount
            unsafe key.withPointer { key in
                unsafe nonce.withPointer { nonce in
                    _ = unsafe crypto_aead_xchacha20poly1305_ietf_encrypt(
                        start + prefixCount, nil, start + prefixCount, UInt64(textCount), start,
                        UInt64(prefixCount), nil, nonce, key)
                }
            }
        }
    }

    /// Checks the tag, then decrypts the text in place. On failure libsodium writes zeros over the text, so that no
    /// unauthenticated plaintext is released.
    ///
    /// - Throws: `AuthenticationFailure` if the tag is wrong.
    package static func open(
        _ buffer: inout MutableSpan<UInt8>, prefixCount: Int, nonce: XChaChaNonce, key: SecretBytes
    ) throws(AuthenticationFailure) {
        check(buffer.count, prefixCount, key)
        let status = unsafe buffer.withUnsafeMutableBufferPointer { buffer -> Int32 in
            guard let start = buffer.baseAddress else { return -1 }
            let sealedCount = buffer.count - prefixCount
            return unsafe key.withPointer { key in
                unsafe nonce.withPointer { nonce in
                    unsafe crypto_aead_xchacha20poly1305_ietf_decrypt(
                        start + prefixCount, nil, nil, start + prefixCount, UInt64(sealedCount), start,
                        UInt64(prefixCount), nonce, key)
                }
            }
        }
        guard status == 0 else { throw AuthenticationFailure() }
    }

    private static func check(_ count: Int, _ prefixCount: Int, _ key: SecretBytes) {
        precondition(prefixCount >= 0 && count >= prefixCount + tagCount && key.count == keyCount)
    }
}
