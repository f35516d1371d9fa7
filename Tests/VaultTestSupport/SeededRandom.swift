package import VaultCrypto

/// Random numbers that a seed determines (SplitMix64).
package struct SeededRandom: RandomNumberGenerator, Sendable {
    private var state: UInt64

    package init(seed: UInt64) {
        state = seed
    }

    package mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var word = state
        word = (word ^ word >> 30) &* 0xBF58_476D_1CE4_E5B9
        word = (word ^ word >> 27) &* 0x94D0_49BB_1331_11EB
        return word ^ word >> 31
    }

    package mutating func bytes(_ count: Int) -> [UInt8] {
        randomBytes(count, seed: next())
    }

    package mutating func below(_ bound: Int) -> Int {
        Int.random(in: 0..<bound, using: &self)
    }

    package mutating func pick<T>(_ values: [T]) -> T {
        values[below(values.count)]
    }
}

/// Bytes that a seed determines, from a key stream: unoptimised code is slow with single bytes.
package func randomBytes(_ count: Int, seed: UInt64) -> [UInt8] {
    guard count > 0 else { return [] }
    var bytes = [UInt8](repeating: 0, count: count + XChaCha20Poly1305.tagCount)
    var span = bytes.mutableSpan
    XChaCha20Poly1305.seal(
        &span, prefixCount: 0, nonce: XChaChaNonce(fileID: (0, 0), index: seed), key: fixedSecret(1))
    return [UInt8](bytes.dropLast(XChaCha20Poly1305.tagCount))
}

/// Bytes that a seed determines. Some parts of them compress, others do not.
package func mixedBytes(_ count: Int, seed: UInt64) -> [UInt8] {
    var random = SeededRandom(seed: seed)
    var bytes: [UInt8] = []
    while bytes.count < count {
        let part = min(count - bytes.count, 1 + random.below(random.pick([50, 5000, 20_000])))
        switch random.below(4) {
        case 0: bytes += random.bytes(part)
        case 1: bytes += [UInt8](repeating: UInt8(random.below(256)), count: part)
        default:
            let word = random.bytes(1 + random.below(300))
            while bytes.count < count, random.below(40) > 0 { bytes += word.prefix(count - bytes.count) }
        }
    }
    return bytes
}

/// 32 equal bytes.
package func fixedSecret(_ byte: UInt8) -> SecretBytes {
    secret([UInt8](repeating: byte, count: 32))
}

/// Guarded memory with these bytes. Without memory there is nothing to test.
package func secret(_ bytes: [UInt8]) -> SecretBytes {
    do {
        return try SecretBytes(copying: bytes.span)
    } catch {
        fatalError("there is no guarded memory")
    }
}

extension [UInt8] {
    /// The bytes of a span.
    package init(copying bytes: Span<UInt8>) {
        self.init()
        append(copying: bytes)
    }
}
