internal import CSodium
internal import Synchronization

#if LibCrypto
internal import CCrypto
#endif

/// The library that computes ChaCha20-Poly1305. Both libraries give the same bytes.
package enum CipherEngine: String, CaseIterable, Sendable {
    /// Always available. Tests compare the other library with it.
    case libsodium
    /// About twice as fast. Not available if the package is built without the trait `LibCrypto`.
    case libcrypto

    /// The libraries that this process has.
    package static var available: [CipherEngine] {
        #if LibCrypto
        LibCrypto.hasChaCha20Poly1305 ? [.libsodium, .libcrypto] : [.libsodium]
        #else
        [.libsodium]
        #endif
    }

    /// The fastest available library, unless a test chooses one.
    package static var preferred: CipherEngine { chosen ?? fastest }

    /// The library for a container.
    ///
    /// - Parameter isSmall: Whether the container holds about 64 KiB at most. While libcrypto starts, libsodium can
    ///   encrypt that many times over.
    package static func preferred(isSmall: Bool) -> CipherEngine {
        chosen ?? (isSmall ? .libsodium : fastest)
    }

    private static let fastest = available.contains(.libcrypto) ? libcrypto : libsodium

    /// The choice of a test.
    @TaskLocal package static var chosen: CipherEngine?

    /// The library's name and version.
    package var description: String {
        switch self {
        case .libsodium: unsafe "libsodium \(String(cString: sodium_version_string()))"
        #if LibCrypto
        case .libcrypto: unsafe "libcrypto (\(String(cString: OpenSSL_version(OPENSSL_VERSION))))"
        #else
        case .libcrypto: "libcrypto, which was left out"
        #endif
        }
    }
}

/// The cipher of one container's records, for any number of threads at the same time.
///
/// XChaCha20-Poly1305 is ChaCha20-Poly1305 under a subkey that depends only on the nonce's first 16 bytes. These are
/// the file ID, so the subkey is computed once for a container. A record's nonce is then four zero bytes and its index
/// (REC-7). The subkey is in guarded memory here. libcrypto copies it to its own contexts on the heap, one for each
/// thread that has worked on the container. The contexts live as long as this object, and libcrypto wipes them when it
/// frees them.
package final class RecordEngine: Sendable {
    private let subkey: SecretBytes
    #if LibCrypto
    private let usesLibCrypto: Bool
    /// The contexts that no thread is using.
    private let contexts = Mutex<[LibCrypto.Context]>([])
    #endif

    package init(
        key: SecretBytes, fileID: (high: UInt64, low: UInt64), engine: CipherEngine = .preferred
    ) throws(MemoryUnavailable) {
        subkey = try Self.subkey(key, fileID: fileID)
        #if LibCrypto
        usesLibCrypto = engine == .libcrypto
        #endif
    }

    private static func subkey(
        _ key: SecretBytes, fileID: (high: UInt64, low: UInt64)
    ) throws(MemoryUnavailable) -> SecretBytes {
        precondition(key.count == XChaCha20Poly1305.keyCount)
        Sodium.start()
        var buffer = try GuardedBuffer(count: Int(crypto_core_hchacha20_OUTPUTBYTES))
        let input = (fileID.high.bigEndian, fileID.low.bigEndian)
        buffer.withMutableBytes { output in
            unsafe output.withUnsafeMutableBufferPointer { output in
                unsafe withUnsafeBytes(of: input) { input in
                    unsafe key.withPointer { key in
                        guard let output = output.baseAddress, let input = input.baseAddress else { return }
                        _ = unsafe crypto_core_hchacha20(
                            output, input.assumingMemoryBound(to: UInt8.self), key, nil)
                    }
                }
            }
        }
        return SecretBytes(buffer)
    }

    #if LibCrypto
    /// Calls `body` with a context. Returns nil if there is none; the other library then does the work.
    private func withContext<R>(_ body: (LibCrypto.Context) -> R) -> R? {
        guard usesLibCrypto, let context = contexts.withLock({ $0.popLast() }) ?? LibCrypto.Context(key: subkey) else {
            return nil
        }
        defer { contexts.withLock { $0.append(context) } }
        return body(context)
    }
    #endif

    /// Encrypts the text of prefix ‖ text ‖ tag in place, and writes the tag.
    package func seal(_ buffer: inout MutableSpan<UInt8>, prefixCount: Int, index: UInt64) {
        check(buffer.count, prefixCount)
        #if LibCrypto
        if withContext({ $0.seal(&buffer, prefixCount: prefixCount, index: index) }) != nil { return }
        #endif
        unsafe buffer.withUnsafeMutableBufferPointer { buffer in
            guard let start = buffer.baseAddress else { preconditionFailure("an empty buffer cannot be sealed") }
            let textCount = buffer.count - prefixCount - XChaCha20Poly1305.tagCount
            unsafe subkey.withPointer { key in
                unsafe withNonce(index) { nonce in
                    _ = unsafe crypto_aead_chacha20poly1305_ietf_encrypt(
                        start + prefixCount, nil, start + prefixCount, UInt64(textCount), start, UInt64(prefixCount),
                        nil, nonce, key)
                }
            }
        }
    }

    /// Checks the tag and decrypts the text in place. On failure the text becomes zeros, so that no unauthenticated
    /// plaintext is released.
    ///
    /// - Throws: `AuthenticationFailure` if the tag is wrong.
    package func open(
        _ buffer: inout MutableSpan<UInt8>, prefixCount: Int, index: UInt64
    ) throws(AuthenticationFailure) {
        check(buffer.count, prefixCount)
        #if LibCrypto
        if let isAuthentic = withContext({ $0.open(&buffer, prefixCount: prefixCount, index: index) }) {
            guard isAuthentic else { throw AuthenticationFailure() }
            return
        }
        #endif
        let status = unsafe buffer.withUnsafeMutableBufferPointer { buffer -> Int32 in
            guard let start = buffer.baseAddress else { return -1 }
            return unsafe subkey.withPointer { key in
                unsafe withNonce(index) { nonce in
                    unsafe crypto_aead_chacha20poly1305_ietf_decrypt(
                        start + prefixCount, nil, nil, start + prefixCount, UInt64(buffer.count - prefixCount), start,
                        UInt64(prefixCount), nonce, key)
                }
            }
        }
        guard status == 0 else { throw AuthenticationFailure() }
    }

    private func check(_ count: Int, _ prefixCount: Int) {
        precondition(prefixCount >= 0 && count >= prefixCount + XChaCha20Poly1305.tagCount)
    }
}

/// Lends the nonce of 12 bytes: four zeros, then the index, its most significant byte first (REC-7), whatever the byte
/// order of the machine.
package func withNonce<R>(_ index: UInt64, _ body: (UnsafePointer<UInt8>) -> R) -> R {
    let nonce = (
        UInt32(0), UInt32(truncatingIfNeeded: index >> 32).bigEndian, UInt32(truncatingIfNeeded: index).bigEndian
    )
    return unsafe withUnsafeBytes(of: nonce) { nonce in
        unsafe nonce.withMemoryRebound(to: UInt8.self) { nonce in
            guard let address = nonce.baseAddress else { preconditionFailure("12 bytes of a tuple have an address") }
            return unsafe body(address)
        }
    }
}
