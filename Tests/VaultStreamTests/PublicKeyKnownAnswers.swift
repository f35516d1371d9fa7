import FoundationEssentials
import Testing
import VaultCrypto
import VaultFile
import VaultFormat
import VaultStream
import VaultTestSupport
import VaultXWing

/// Chapter 17 of the Spec, for public keys.
@Suite struct PublicKeyKnownAnswers {
    private let fileKey = Array(UInt8(0)..<32)
    private let fileID = Array(UInt8(0xA0)...0xAF)
    private let nonce = Array(UInt8(0xC0)...0xD7)
    private let ephemeral = Array(UInt8(0x60)...0x7F)

    /// The first slot of a container of `abc`.
    private func slot(of container: [UInt8]) throws -> Slot {
        let capacity = try #require(HeaderCopy.claimedCapacity(container[...]))
        return try #require(HeaderCopy(parsing: [UInt8](container[..<capacity.bytes])).slots.first)
    }

    private func seal(_ recipient: Recipient, _ draws: [[UInt8]], xWing: XWing? = nil) throws -> [UInt8] {
        try sealed(
            [UInt8]("abc".utf8), for: [recipient], options: SealOptions(chunk: .standard, digest: true),
            randomness: .draws(fileKey: fileKey, [fileID] + draws, xWing: xWing))
    }

    @Test func x25519() throws {
        let container = try seal(.publicKey(PublicKey(KeyTexts.recipient)), [ephemeral, nonce])
        let slot = try slot(of: container)
        #expect(slot.bytes.prefix(20).hexDigits == "0003006828913dab2455f299442b7e8f99ea1f5a")
        #expect(
            slot.body.prefix(32).hexDigits == "675dd574ed7789310b3d2e7681f3790b466c773b1521fecf36577958371ea52f")
        #expect(
            slot.bytes.suffix(48).hexDigits
                == "88810c9121ebae8ad688d868e1f270874dd8193678a6acd408a2ee91a321c1b2"
                + "5c87c953e6737e366dbeec95598bf528")
        #expect(
            sha256(slot.bytes).hexDigits == "74a3d2b063835bbc8bc98c8cdd3f67634a3f6a1c6a7c9db3e90af7e64188fa1c")
        let identity = try Identity(text: [UInt8](KeyTexts.identity.utf8).span)
        for kind in ReaderKind.allCases {
            #expect(try read(container, by: kind, keys: KeySet(identities: [identity])).health == .intact)
        }
    }

    #if PublicKeys
    @Test func xWing() throws {
        let vector = XWingVector.all[0]
        let encapsulation = [UInt8](try #require(Data(base64Encoded: vector.encapsulation)))
        let shared = secret(try #require([UInt8](hexDigits: vector.secret)))
        let fixed = XWing(
            publicKey: { _ in nil }, encapsulate: { _ in (encapsulation, shared) }, decapsulate: { _, _ in nil })
        let identity = try Identity(text: [UInt8](KeyTexts.postQuantumIdentity.utf8).span)
        let container = try seal(.publicKey(identity.publicKey), [nonce], xWing: fixed)
        let slot = try slot(of: container)
        #expect(slot.bytes.count == 1212)
        #expect(slot.keyID.description == "37625a98ba5e65634690721298857b72")
        #expect(
            slot.bytes.suffix(48).hexDigits
                == "f5ca5b72464e5191ee2fed5166e263f17f7b94f1327f60c96087d1a4389b2623"
                + "66739852a970cbdef42607893eb4ddaa")
        #expect(
            sha256(slot.bytes).hexDigits == "2f5171376a83ee4c7cbbc537e4439f959d6605789fcbfcd264ed528b974d889b")
        for kind in ReaderKind.allCases {
            #expect(try read(container, by: kind, keys: KeySet(identities: [identity])).health == .intact)
        }
    }
    #endif

    /// A library that refuses a key, or none at all, makes no slot.
    @Test func noXWing() throws {
        let half = [UInt8](repeating: 0, count: 1184)
        let key = try PublicKey(.xWing, bytes: half + PublicKey(KeyTexts.recipient).bytes)
        #expect(badKey { try seal(.publicKey(key), [nonce], xWing: nil) } != nil)
    }
}

extension Collection<UInt8> {
    fileprivate var hexDigits: String { [UInt8](self).hexDigits }
}
