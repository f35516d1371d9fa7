#if LibCrypto
internal import CCrypto

/// OpenSSL's libcrypto, or one that has its interface.
enum LibCrypto {
    /// It reads no configuration: otherwise a file that the environment names could choose the code that runs here.
    private static let isStarted = OPENSSL_init_crypto(UInt64(OPENSSL_INIT_NO_LOAD_CONFIG), nil) == 1

    /// Some builds of libcrypto do not have this cipher.
    static let hasChaCha20Poly1305: Bool = {
        guard isStarted, let key = try? SecretBytes(randomCount: XChaCha20Poly1305.keyCount) else { return false }
        return Context(key: key) != nil
    }()

    /// A cipher with its key. Each record sets the nonce. For one thread at a time.
    @safe final class Context: @unchecked Sendable {
        private let context: OpaquePointer

        init?(key: SecretBytes) {
            guard isStarted, let context = unsafe EVP_CIPHER_CTX_new() else { return nil }
            unsafe self.context = context
            let status = unsafe key.withPointer { key in
                unsafe EVP_CipherInit_ex(context, EVP_chacha20_poly1305(), nil, key, nil, 1)
            }
            guard status == 1 else { return nil }
        }

        deinit {
            // This wipes the key.
            unsafe EVP_CIPHER_CTX_free(context)
        }

        func seal(_ buffer: inout MutableSpan<UInt8>, prefixCount: Int, index: UInt64) {
            // The text may already be encrypted. The other library would decrypt it again and so release plaintext.
            guard run(&buffer, prefixCount, index, isSealing: true) else {
                preconditionFailure("libcrypto failed to encrypt")
            }
        }

        func open(_ buffer: inout MutableSpan<UInt8>, prefixCount: Int, index: UInt64) -> Bool {
            guard run(&buffer, prefixCount, index, isSealing: false) else {
                let text = prefixCount..<buffer.count - XChaCha20Poly1305.tagCount
                for place in text { buffer[place] = 0 }
                return false
            }
            return true
        }

        private func run(
            _ buffer: inout MutableSpan<UInt8>, _ prefixCount: Int, _ index: UInt64, isSealing: Bool
        ) -> Bool {
            unsafe buffer.withUnsafeMutableBufferPointer { buffer in
                guard let start = buffer.baseAddress else { return false }
                let textCount = buffer.count - prefixCount - XChaCha20Poly1305.tagCount
                let (text, tag) = unsafe (start + prefixCount, start + prefixCount + textCount)
                var count: Int32 = 0
                let isReady = unsafe withNonce(index) { nonce in
                    unsafe EVP_CipherInit_ex(context, nil, nil, nil, nonce, isSealing ? 1 : 0) == 1
                }
                guard isReady else { return false }
                if !isSealing {
                    guard unsafe EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_SET_TAG, 16, tag) == 1 else { return false }
                }
                if prefixCount > 0 {
                    guard unsafe EVP_CipherUpdate(context, nil, &count, start, Int32(prefixCount)) == 1 else {
                        return false
                    }
                }
                if textCount > 0 {
                    guard unsafe EVP_CipherUpdate(context, text, &count, text, Int32(textCount)) == 1 else {
                        return false
                    }
                }
                guard unsafe EVP_CipherFinal_ex(context, tag, &count) == 1 else { return false }
                guard isSealing else { return true }
                return unsafe EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_GET_TAG, 16, tag) == 1
            }
        }
    }

    /// SHA-256 of bytes that come in pieces. It has a single owner.
    @safe final class Digest: @unchecked Sendable {
        private let context: OpaquePointer

        /// Nil if there is no memory for it.
        init?() {
            guard isStarted, let context = unsafe EVP_MD_CTX_new() else { return nil }
            unsafe self.context = context
            guard unsafe EVP_DigestInit_ex(context, EVP_sha256(), nil) == 1 else { return nil }
        }

        deinit {
            unsafe EVP_MD_CTX_free(context)
        }

        func update(_ bytes: Span<UInt8>) {
            let status = unsafe bytes.withUnsafeBufferPointer { bytes in
                unsafe bytes.isEmpty ? 1 : EVP_DigestUpdate(context, bytes.baseAddress, bytes.count)
            }
            precondition(status == 1, "libcrypto failed to hash")
        }

        func finish() -> [UInt8] {
            var sum = [UInt8](repeating: 0, count: 32)
            let status = unsafe EVP_DigestFinal_ex(context, &sum, nil)
            precondition(status == 1, "libcrypto failed to hash")
            return sum
        }
    }
}
#endif
