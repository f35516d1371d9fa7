import VaultCrypto
public import VaultFormat
import VaultXWing

/// The public half of an ``Identity``: who has it can make containers for the owner, and open none (Spec 4.1,
/// appendix C).
///
/// Anybody with a public key can make a container with any content for its owner. That a container opens with an
/// identity says nothing about its maker.
public struct PublicKey: Hashable, Sendable {
    /// `x25519` or `xWing`.
    public let kind: SlotDescription.Kind
    /// 32 bytes for X25519, 1216 for X-Wing.
    public let bytes: [UInt8]
    /// 32 bytes that stand for the key: a hash of its kind and bytes (KEY-17). No container shows them.
    public let fingerprint: [UInt8]

    /// A public key from its bytes.
    ///
    /// - Throws: `badKey` if the kind is not that of a public key, the count is wrong, or no owner could open what is
    ///   encrypted for the key (KEYTEXT-4).
    public init(_ kind: SlotDescription.Kind, bytes: [UInt8]) throws(VaultError) {
        switch kind {
        case .x25519: try Self.checkX25519(bytes)
        case .xWing: try Self.checkXWing(bytes)
        default: throw VaultError(.badKey, "a slot of type \(kind.type) has no public key")
        }
        self.init(kind, checked: bytes)
    }

    private init(_ kind: SlotDescription.Kind, checked bytes: [UInt8]) {
        self.kind = kind
        self.bytes = bytes
        var named: [UInt8] = []
        named.append(bigEndian: kind.type)
        named += bytes
        fingerprint = BLAKE2b.digest(count: 32, label: "vaultfile1pubkey", message: named.span)
    }

    /// The public key of an X25519 scalar. It is of the prime-order group, so it needs no check.
    init(ofScalar scalar: SecretBytes) {
        self.init(.x25519, checked: X25519.publicKey(of: scalar))
    }

    /// The public key of an X-Wing seed; nil if the library refuses the seed.
    init?(ofSeed seed: SecretBytes, _ library: XWing) {
        // mutant: swift-crypto gives as many bytes
        guard let bytes = library.publicKey(seed), bytes.count == XWing.publicKeyCount else { return nil }
        self.init(.xWing, checked: bytes)
    }

    /// The ID of this key's slots under a preamble (KEY-18).
    package func id(under preamble: Preamble) -> KeyID { .ofRecipient(fingerprint, under: preamble) }

    /// The ID of this key's slots in a container, but of those that are hidden (KEY-18). Who has the public key can
    /// tell by it whether the container has a slot for its owner, as far as the header can be believed.
    public func slotID(in header: HeaderSummary) -> KeyID { id(under: header.preamble) }

    // MARK: Checks

    private static func checkX25519(_ bytes: [UInt8]) throws(VaultError) {
        guard bytes.count == X25519.keyCount else {
            throw VaultError(.badKey, "an X25519 public key has 32 bytes, not \(bytes.count)")
        }
        // 2^255 − 19 and more. X25519 reduces the number, but the owner computes the reduced key, and so another ID.
        let isCanonical =
            bytes[31] < 0x7F || bytes[31] == 0x7F && (bytes[0] < 0xED || bytes[1..<31].contains { $0 < 0xFF })
        guard isCanonical else { throw VaultError(.badKey, "the X25519 public key is not reduced modulo 2^255 − 19") }
        // Everybody could compute what is shared with such a key.
        guard !X25519.givesZeros(bytes) else { throw VaultError(.badKey, "the X25519 public key is of low order") }
    }

    private static func checkXWing(_ bytes: [UInt8]) throws(VaultError) {
        guard bytes.count == XWing.publicKeyCount else {
            throw VaultError(.badKey, "an X-Wing public key has \(XWing.publicKeyCount) bytes, not \(bytes.count)")
        }
        // FIPS 203, 7.2. swift-crypto finds a wrong coefficient only when it encapsulates.
        for start in stride(from: 0, to: 1152, by: 3) {
            let pair = UInt32(bytes[start]) | UInt32(bytes[start + 1]) << 8 | UInt32(bytes[start + 2]) << 16
            guard pair & 0xFFF < 3329, pair >> 12 < 3329 else {
                throw VaultError(.badKey, "the ML-KEM public key has a coefficient of 3329 or more")
            }
        }
        try checkX25519([UInt8](bytes.suffix(X25519.keyCount)))
    }
}

// MARK: Texts

extension PublicKey {
    /// Reads a recipient: `age1…`, `age1pq1…`, or a line `ssh-ed25519 …` (KEYTEXT-2).
    ///
    /// - Throws: `badKey`; its message says what is wrong.
    public init(_ text: some StringProtocol) throws(VaultError) {
        switch try RecipientFile.Entry.parse([UInt8](text.utf8)) {
        case .publicKey(let key): self = key
        case .plugin: throw VaultError(.badKey, "it is a recipient of a plugin, and not a public key")
        }
    }

    /// The recipient's text: `age1…` or `age1pq1…`. A key that was read from an ssh line has an `age1…`, too.
    public var text: String {
        let prefix = kind == .xWing ? KeyText.postQuantumPrefix : KeyText.recipientPrefix
        return String(decoding: Bech32(prefix: prefix).text(of: bytes, isUpper: false), as: UTF8.self)
    }
}

extension PublicKey: CustomStringConvertible {
    /// The same as ``text``.
    public var description: String { text }
}
