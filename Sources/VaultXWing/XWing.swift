package import VaultCrypto

#if PublicKeys
internal import Crypto
#if canImport(FoundationEssentials)
internal import FoundationEssentials
#else
internal import Foundation
#endif
#endif

/// X-Wing, a key encapsulation by ML-KEM-768 and X25519 (KEY-21), of one library.
///
/// A function returns nil if the library refuses its arguments.
package struct XWing: Sendable {
    package static let seedCount = 32
    package static let publicKeyCount = 1216
    package static let encapsulationCount = 1120

    /// A shared secret of 32 bytes, and what carries it to the owner of the public key.
    package typealias Encapsulated = (encapsulation: [UInt8], secret: SecretBytes)

    /// The public key that belongs to a seed.
    package let publicKey: @Sendable (_ seed: SecretBytes) -> [UInt8]?
    /// Draws a shared secret, and encapsulates it for a public key.
    package let encapsulate: @Sendable (_ publicKey: [UInt8]) throws(MemoryUnavailable) -> Encapsulated?
    /// The shared secret in an encapsulation.
    package let decapsulate: @Sendable (_ encapsulation: [UInt8], SecretBytes) throws(MemoryUnavailable) -> SecretBytes?

    package init(
        publicKey: @escaping @Sendable (_ seed: SecretBytes) -> [UInt8]?,
        encapsulate: @escaping @Sendable ([UInt8]) throws(MemoryUnavailable) -> Encapsulated?,
        decapsulate: @escaping @Sendable ([UInt8], SecretBytes) throws(MemoryUnavailable) -> SecretBytes?
    ) {
        self.publicKey = publicKey
        self.encapsulate = encapsulate
        self.decapsulate = decapsulate
    }

    /// The library of this build; nil if it has none, or the system is too old for it.
    package static let available: XWing? = {
        #if PublicKeys
        // On Apple's systems swift-crypto is CryptoKit.
        guard #available(macOS 26, iOS 26, watchOS 26, tvOS 26, visionOS 26, *) else { return nil }
        return swiftCrypto
        #else
        return nil
        #endif
    }()
}

#if PublicKeys
@available(macOS 26, iOS 26, watchOS 26, tvOS 26, visionOS 26, *)
extension XWing {
    private typealias PrivateKey = XWingMLKEM768X25519.PrivateKey
    private typealias PublicKey = XWingMLKEM768X25519.PublicKey

    /// swift-crypto expands the seed into memory that it does not wipe, so the expanded key lives for one call only.
    fileprivate static let swiftCrypto = XWing(
        publicKey: { seed in
            try? withPrivateKey(seed) { [UInt8]($0.publicKey.rawRepresentation) }
        },
        encapsulate: { publicKey throws(MemoryUnavailable) in
            guard let result = try? PublicKey(rawRepresentation: publicKey).encapsulate() else { return nil }
            return ([UInt8](result.encapsulated), try copy(result.sharedSecret))
        },
        decapsulate: { encapsulation, seed throws(MemoryUnavailable) in
            guard let secret = try? withPrivateKey(seed, { try $0.decapsulate(Data(encapsulation)) }) else {
                return nil
            }
            return try copy(secret)
        })

    private static func withPrivateKey<R>(_ seed: SecretBytes, _ body: (PrivateKey) throws -> R) throws -> R {
        try seed.withBytes { seed in
            try unsafe seed.withUnsafeBytes { seed in
                // Data that copies nothing: the seed stays in guarded memory alone.
                guard let start = unsafe UnsafeMutableRawPointer(mutating: seed.baseAddress) else {
                    throw CryptoKitError.incorrectKeySize
                }
                let data = unsafe Data(bytesNoCopy: start, count: seed.count, deallocator: .none)
                return try body(PrivateKey(seedRepresentation: data, publicKey: nil))
            }
        }
    }

    /// swift-crypto wipes its own copy.
    private static func copy(_ secret: Crypto.SymmetricKey) throws(MemoryUnavailable) -> SecretBytes {
        let copied = unsafe secret.withUnsafeBytes { bytes in
            Result { () throws(MemoryUnavailable) in
                try SecretBytes(copying: unsafe bytes.bindMemory(to: UInt8.self).span)
            }
        }
        return try copied.get()
    }
}
#endif
