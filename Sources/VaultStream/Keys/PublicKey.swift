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
        guard let bytes = library.publicKey(seed), bytes.count == XWing.publicKeyCount else { return nil }
        self.init(.xWing, checked: bytes)
    }

    /// The ID of this key's slots under a preamble (KEY-18).
    package func id(under preamble: Preamble) -> KeyID {
        KeyID(
            unchecked: BLAKE2b.digest(
                count: 16, label: "vaultfile1pub-id", key: fingerprint, message: preamble.bytes.span)[...])
    }

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
        let bytes = [UInt8](text.utf8)
        if let line = SSHPublicLine(bytes) { self = try line.publicKey() } else { self = try Self.parse(bytes) }
    }

    /// The recipient's text: `age1…` or `age1pq1…`. A key that was read from an ssh line has an `age1…`, too.
    public var text: String {
        let prefix = kind == .xWing ? KeyText.postQuantumPrefix : KeyText.recipientPrefix
        return String(decoding: Bech32(prefix: prefix).text(of: bytes, isUpper: false), as: UTF8.self)
    }

    static func parse(_ text: [UInt8]) throws(VaultError) -> PublicKey {
        if KeyText.isIdentity(text.span) {
            throw KeyText.identityAmongRecipients
        }
        guard KeyText.begins(text.span, with: "age1"), let end = Bech32.prefixEnd(of: text.span) else {
            throw VaultError(.badKey, "it is not a recipient: age1…, age1pq1…, or a line with ssh-ed25519")
        }
        guard text.count <= Bech32.longestText else {
            throw VaultError(.badKey, "a recipient has at most \(Bech32.longestText) characters")
        }
        guard !text.contains(where: { (0x41...0x5A).contains($0) }) else {
            throw VaultError(.badKey, "a recipient is written in lower case")
        }
        let prefix = String(decoding: text[..<end], as: UTF8.self)
        guard let bytes = Bech32(prefix: prefix).bytes(of: text, isUpper: false) else {
            throw VaultError(.badKey, "the recipient was mistyped: its checksum does not fit")
        }
        switch prefix {
        case KeyText.recipientPrefix: return try PublicKey(.x25519, bytes: bytes)
        case KeyText.postQuantumPrefix: return try PublicKey(.xWing, bytes: bytes)
        default: throw VaultError(.badKey, "recipients of age plugins are not supported")
        }
    }
}

extension PublicKey: CustomStringConvertible {
    /// The same as ``text``.
    public var description: String { text }
}

/// A file of recipients, one in each line (KEYTEXT-5): `age1…`, `age1pq1…`, and lines of ssh keys, as `authorized_keys`
/// and the `.keys` pages of forges have them.
public struct RecipientFile: Sendable {
    /// A line that is passed over, and that a program should warn of.
    public struct SkippedLine: Hashable, Sendable {
        /// The number of the line, from 1 on.
        public let number: Int
        /// Why it is not used: English, lower case, one line.
        public let reason: String
    }

    /// The keys in their order, each once; at least one.
    public let publicKeys: [PublicKey]
    /// The ssh keys that can sign and not decrypt, and lines with options.
    public let skipped: [SkippedLine]

    /// Reads the text of a file.
    ///
    /// - Throws: `badKey` if a line is not a recipient, if there is none, or if there are more than 2²⁰ bytes. The
    ///   message names the line.
    public init(_ text: Span<UInt8>) throws(VaultError) {
        try KeyText.checkFile(text)
        var lines = KeyLines()
        var seen: Set<PublicKey> = []
        var publicKeys: [PublicKey] = []
        var skipped: [SkippedLine] = []
        while let range = lines.next(in: text) {
            do throws(VaultError) {
                // An identity is not copied out of the caller's memory.
                if KeyText.isIdentity(text.extracting(range)) { throw KeyText.identityAmongRecipients }
                let line = range.map { text[$0] }
                guard let ssh = SSHPublicLine(line) else {
                    let key = try PublicKey.parse(line)
                    if seen.insert(key).inserted { publicKeys.append(key) }
                    continue
                }
                if let reason = ssh.unusable {
                    skipped.append(SkippedLine(number: lines.number, reason: reason))
                    continue
                }
                let key = try ssh.publicKey()
                if seen.insert(key).inserted { publicKeys.append(key) }
            } catch {
                throw lines.error(error)
            }
        }
        guard !publicKeys.isEmpty else {
            throw VaultError(.badKey, "there is no recipient in it" + (skipped.first.map { ": \($0.reason)" } ?? ""))
        }
        self.publicKeys = publicKeys
        self.skipped = skipped
    }
}
