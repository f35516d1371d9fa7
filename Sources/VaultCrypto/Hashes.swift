internal import CSodium

/// BLAKE2b (RFC 7693) with zero salt and a personalisation of 16 bytes, keyed or not.
package enum BLAKE2b {
    /// The digest of public bytes: a commitment, a MAC, a checksum, an ID.
    package static func digest(
        count: Int, label: StaticString, key: SecretBytes? = nil, message: Span<UInt8>
    ) -> [UInt8] {
        var output = [UInt8](repeating: 0, count: count)
        var span = output.mutableSpan
        hash(into: &span, label: label, key: key, message: message)
        return output
    }

    /// The digest of public bytes under a key that is public too.
    package static func digest(
        count: Int, label: StaticString, key: [UInt8], message: Span<UInt8>
    ) -> [UInt8] {
        var output = [UInt8](repeating: 0, count: count)
        var span = output.mutableSpan
        unsafe key.withUnsafeBufferPointer { key in
            unsafe hash(into: &span, label: label, key: key, message: message)
        }
        return output
    }

    /// A key of 32 bytes derived from a key.
    package static func derive(
        label: StaticString, key: SecretBytes, message: Span<UInt8>
    ) throws(MemoryUnavailable) -> SecretBytes {
        var buffer = try GuardedBuffer(count: 32)
        buffer.withMutableBytes { hash(into: &$0, label: label, key: key, message: message) }
        return SecretBytes(buffer)
    }

    private static func hash(
        into output: inout MutableSpan<UInt8>, label: StaticString, key: SecretBytes?, message: Span<UInt8>
    ) {
        guard let key else {
            return unsafe hash(
                into: &output, label: label, key: UnsafeBufferPointer(start: nil, count: 0), message: message)
        }
        key.withBytes { key in
            unsafe key.withUnsafeBufferPointer { key in
                unsafe hash(into: &output, label: label, key: key, message: message)
            }
        }
    }

    private static func hash(
        into output: inout MutableSpan<UInt8>, label: StaticString, key: UnsafeBufferPointer<UInt8>,
        message: Span<UInt8>
    ) {
        // libsodium always reads 16 bytes of personalisation. Its status reports any other wrong count.
        precondition(label.utf8CodeUnitCount == Int(crypto_generichash_blake2b_PERSONALBYTES))
        Sodium.start()
        let status = unsafe output.withUnsafeMutableBufferPointer { output -> Int32 in
            unsafe message.withUnsafeBufferPointer { message in
                guard let digest = output.baseAddress else { return -1 }
                return unsafe crypto_generichash_blake2b_salt_personal(
                    digest, output.count, message.baseAddress, UInt64(message.count), key.baseAddress, key.count, nil,
                    label.utf8Start)
            }
        }
        precondition(status == 0, "BLAKE2b does not have this count")
    }
}

/// SHA-256 of bytes that come in pieces. It uses the library of the cipher: libcrypto's SHA-256 is five times as fast
/// on a processor that has instructions for it.
package struct SHA256: ~Copyable {
    private var state = crypto_hash_sha256_state()
    #if LibCrypto
    private let digest: LibCrypto.Digest?
    #endif

    package init(engine: CipherEngine = .preferred) {
        Sodium.start()
        unsafe crypto_hash_sha256_init(&state)
        #if LibCrypto
        digest = engine == .libcrypto ? LibCrypto.Digest() : nil
        #endif
    }

    package mutating func update(_ bytes: Span<UInt8>) {
        #if LibCrypto
        if let digest { return digest.update(bytes) }
        #endif
        unsafe bytes.withUnsafeBufferPointer { bytes in
            _ = unsafe crypto_hash_sha256_update(&state, bytes.baseAddress, UInt64(bytes.count))
        }
    }

    package consuming func finish() -> [UInt8] {
        #if LibCrypto
        if let digest { return digest.finish() }
        #endif
        var sum = [UInt8](repeating: 0, count: Int(crypto_hash_sha256_BYTES))
        unsafe crypto_hash_sha256_final(&state, &sum)
        return sum
    }
}

/// Argon2id version 0x13 (RFC 9106), one lane, no secret and no associated data.
package enum Argon2id {
    package static let saltCount = 16
    package static let keyCount = 32

    /// Stretches a passphrase to a key of 32 bytes. Uses `memoryKiB` KiB of memory while it runs.
    package static func stretch(
        _ passphrase: SecretBytes, salt: [UInt8], passes: UInt32, memoryKiB: UInt32
    ) throws(MemoryUnavailable) -> SecretBytes {
        precondition(salt.count == saltCount)
        var buffer = try GuardedBuffer(count: keyCount)
        let status = buffer.withMutableBytes { output in
            unsafe output.withUnsafeMutableBufferPointer { output -> Int32 in
                guard let key = output.baseAddress else { return -1 }
                return unsafe passphrase.withPointer { text in
                    // A failure is a lack of memory: the caps of a slot exclude every other cause.
                    unsafe crypto_pwhash_argon2id(
                        key, UInt64(keyCount), UnsafeRawPointer(text).assumingMemoryBound(to: CChar.self),
                        UInt64(passphrase.count), salt, UInt64(passes), Int(memoryKiB) * 1024,
                        crypto_pwhash_argon2id_ALG_ARGON2ID13)
                }
            }
        }
        guard status == 0 else { throw MemoryUnavailable() }
        return SecretBytes(buffer)
    }
}
