internal import CSodium

/// X25519 (RFC 7748). A scalar is any 32 bytes; the function clamps it.
package enum X25519 {
    package static let keyCount = 32

    /// The public key that belongs to a scalar.
    package static func publicKey(of scalar: SecretBytes) -> [UInt8] {
        precondition(scalar.count == keyCount)
        Sodium.start()
        var point = [UInt8](repeating: 0, count: keyCount)
        // It has no failure.
        _ = unsafe scalar.withPointer { unsafe crypto_scalarmult_curve25519_base(&point, $0) }
        return point
    }

    /// The secret that the holder of `scalar` shares with the owner of a public key; nil if it is 32 zeros, whatever the
    /// scalar (KEY-22). Everybody could compute what is derived from zeros.
    package static func shared(_ scalar: SecretBytes, with publicKey: [UInt8]) throws(MemoryUnavailable) -> SecretBytes?
    {
        precondition(scalar.count == keyCount && publicKey.count == keyCount)
        Sodium.start()
        var buffer = try GuardedBuffer(count: keyCount)
        let status = buffer.withMutableBytes { output in
            unsafe output.withUnsafeMutableBufferPointer { output -> Int32 in
                guard let output = output.baseAddress else { return -1 }
                return unsafe scalar.withPointer { unsafe crypto_scalarmult_curve25519(output, $0, publicKey) }
            }
        }
        return status == 0 ? SecretBytes(buffer) : nil
    }

    /// Whether a public key gives zeros with every scalar. One scalar tells, because all are clamped alike.
    package static func givesZeros(_ publicKey: [UInt8]) -> Bool {
        precondition(publicKey.count == keyCount)
        Sodium.start()
        let scalar = [UInt8](repeating: 0, count: keyCount)
        var output = scalar
        return unsafe crypto_scalarmult_curve25519(&output, scalar, publicKey) != 0
    }
}

/// Keys of Ed25519 (RFC 8032) as keys of X25519.
package enum Ed25519 {
    package static let keyCount = 32

    /// The X25519 public key for an Ed25519 public key; nil if that is not a point of the prime-order group.
    package static func x25519(of publicKey: [UInt8]) -> [UInt8]? {
        precondition(publicKey.count == keyCount)
        Sodium.start()
        var point = [UInt8](repeating: 0, count: X25519.keyCount)
        return unsafe crypto_sign_ed25519_pk_to_curve25519(&point, publicKey) == 0 ? point : nil
    }

    /// The Ed25519 public key for a seed.
    package static func publicKey(of seed: SecretBytes) throws(MemoryUnavailable) -> [UInt8] {
        precondition(seed.count == keyCount)
        var publicKey = [UInt8](repeating: 0, count: keyCount)
        var pair = try GuardedBuffer(count: Int(crypto_sign_ed25519_SECRETKEYBYTES))
        pair.withMutableBytes { pair in
            unsafe pair.withUnsafeMutableBufferPointer { pair in
                guard let pair = pair.baseAddress else { return }
                _ = unsafe seed.withPointer { unsafe crypto_sign_ed25519_seed_keypair(&publicKey, pair, $0) }
            }
        }
        return publicKey
    }

    /// The X25519 scalar for a seed, not clamped: the first 32 bytes of its SHA-512 (KEYTEXT-7).
    package static func scalar(of seed: SecretBytes) throws(MemoryUnavailable) -> SecretBytes {
        precondition(seed.count == keyCount)
        Sodium.start()
        var digest = try GuardedBuffer(count: Int(crypto_hash_sha512_BYTES))
        digest.withMutableBytes { digest in
            unsafe digest.withUnsafeMutableBufferPointer { digest in
                guard let digest = digest.baseAddress else { return }
                _ = unsafe seed.withPointer { unsafe crypto_hash_sha512(digest, $0, UInt64(seed.count)) }
            }
        }
        return try digest.withBytes { digest throws(MemoryUnavailable) in
            try SecretBytes(copying: digest.extracting(0..<X25519.keyCount))
        }
    }
}
