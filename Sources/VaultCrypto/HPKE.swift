internal import CSodium

/// HPKE (RFC 9180) in base mode with HKDF-SHA256, as far as it exports a secret of 32 bytes (KEY-19). It composes the
/// primitives of libsodium: every secret on the way is 32 bytes long, so one HMAC-SHA256 is one extract or one expand.
package struct HPKE: Sendable {
    /// DHKEM(X25519, HKDF-SHA256).
    package static let x25519 = HPKE(kem: 0x0020)
    /// MLKEM768-X25519, which is X-Wing. Its shared secret is HPKE's.
    package static let xWing = HPKE(kem: 0x647A)

    package static let secretCount = 32

    private let kem: UInt16

    private static let protocolLabel = [UInt8]("HPKE-v1".utf8)

    /// The secret that the key schedule of `info` exports for `context`.
    package func export(
        _ sharedSecret: SecretBytes, info: [UInt8], context: [UInt8]
    ) throws(MemoryUnavailable) -> SecretBytes {
        // HKDF-SHA256, and the AEAD "export-only".
        let suite = [UInt8]("HPKE".utf8) + Self.bytes(kem) + [0x00, 0x01, 0xFF, 0xFF]
        let baseMode: UInt8 = 0
        let noIdentity = try Self.extract(nil, suite, "psk_id_hash")
        let infoHash = try Self.extract(nil, suite, "info_hash", info)
        var schedule: [UInt8] = [baseMode]
        noIdentity.withBytes { schedule.append($0) }
        infoHash.withBytes { schedule.append($0) }
        let secret = try Self.extract(sharedSecret, suite, "secret")
        let exporter = try Self.expand(secret, suite, "exp", schedule)
        return try Self.expand(exporter, suite, "sec", context)
    }

    // MARK: DHKEM

    /// The encapsulation and the shared secret of an ephemeral scalar for a public key; nil if X25519 has no result.
    package static func encapsulate(
        to publicKey: [UInt8], ephemeral: SecretBytes
    ) throws(MemoryUnavailable) -> (encapsulation: [UInt8], secret: SecretBytes)? {
        guard let shared = try X25519.shared(ephemeral, with: publicKey) else { return nil }
        let encapsulation = X25519.publicKey(of: ephemeral)
        return (encapsulation, try sharedSecret(shared, encapsulation, publicKey))
    }

    /// The shared secret in an encapsulation; nil if X25519 has no result.
    package static func decapsulate(
        _ encapsulation: [UInt8], scalar: SecretBytes, publicKey: [UInt8]
    ) throws(MemoryUnavailable) -> SecretBytes? {
        guard let shared = try X25519.shared(scalar, with: encapsulation) else { return nil }
        return try sharedSecret(shared, encapsulation, publicKey)
    }

    private static func sharedSecret(
        _ shared: SecretBytes, _ encapsulation: [UInt8], _ publicKey: [UInt8]
    ) throws(MemoryUnavailable) -> SecretBytes {
        let suite = [UInt8]("KEM".utf8) + bytes(x25519.kem)
        let key = try extract(nil, suite, "eae_prk", secret: shared)
        return try expand(key, suite, "shared_secret", encapsulation + publicKey)
    }

    // MARK: HKDF

    private static func extract(
        _ salt: SecretBytes?, _ suite: [UInt8], _ label: String, _ input: [UInt8] = [], secret: SecretBytes? = nil
    ) throws(MemoryUnavailable) -> SecretBytes {
        try HMACSHA256.code(key: salt, protocolLabel + suite + label.utf8 + input, secret)
    }

    private static func expand(
        _ key: SecretBytes, _ suite: [UInt8], _ label: String, _ info: [UInt8]
    ) throws(MemoryUnavailable) -> SecretBytes {
        // The last byte is HKDF's number of the only block.
        try HMACSHA256.code(key: key, bytes(UInt16(secretCount)) + protocolLabel + suite + label.utf8 + info + [1])
    }

    private static func bytes(_ number: UInt16) -> [UInt8] { [UInt8(number >> 8), UInt8(truncatingIfNeeded: number)] }
}

/// HMAC-SHA256 (RFC 2104).
enum HMACSHA256 {
    /// The code of a message, which may end with a secret. No key is the empty key.
    static func code(
        key: SecretBytes?, _ message: [UInt8], _ secret: SecretBytes? = nil
    ) throws(MemoryUnavailable) -> SecretBytes {
        Sodium.start()
        var output = try GuardedBuffer(count: Int(crypto_auth_hmacsha256_BYTES))
        var state = crypto_auth_hmacsha256_state()
        if let key {
            _ = unsafe key.withPointer { unsafe crypto_auth_hmacsha256_init(&state, $0, key.count) }
        } else {
            _ = unsafe crypto_auth_hmacsha256_init(&state, [0], 0)
        }
        _ = unsafe crypto_auth_hmacsha256_update(&state, message, UInt64(message.count))
        if let secret {
            _ = unsafe secret.withPointer {
                unsafe crypto_auth_hmacsha256_update(&state, $0, UInt64(secret.count))
            }
        }
        output.withMutableBytes { output in
            unsafe output.withUnsafeMutableBufferPointer { output in
                guard let output = output.baseAddress else { return }
                _ = unsafe crypto_auth_hmacsha256_final(&state, output)
            }
        }
        unsafe sodium_memzero(&state, MemoryLayout<crypto_auth_hmacsha256_state>.size)
        return SecretBytes(output)
    }
}
