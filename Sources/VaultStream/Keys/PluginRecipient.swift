import VaultCrypto
public import VaultFormat

/// A recipient whose key an age plugin holds: `age1NAME1…` (KEYTEXT-2). The plugin's program is `age-plugin-NAME`.
public struct PluginRecipient: Hashable, Sendable {
    /// The recipient's text, in lower case.
    public let text: String
    /// The name of the plugin.
    public let plugin: String
    /// 32 bytes that stand for the recipient: a hash of the text (KEY-17). No container shows them.
    public let fingerprint: [UInt8]

    /// Reads a recipient's text.
    ///
    /// - Throws: `badKey`; its message says what is wrong.
    public init(_ text: some StringProtocol) throws(VaultError) {
        switch try RecipientFile.Entry.parse([UInt8](text.utf8)) {
        case .plugin(let recipient): self = recipient
        case .publicKey: throw VaultError(.badKey, "it is a public key, and not a recipient of a plugin")
        }
    }

    /// - Parameters:
    ///   - text: with a right checksum.
    ///   - prefix: its human-readable part, `age1` and the name.
    init(checked text: [UInt8], prefix: String) throws(VaultError) {
        plugin = try PluginName.check(prefix.dropFirst(KeyText.pluginPrefix.count))
        self.text = String(decoding: text, as: UTF8.self)
        var named: [UInt8] = []
        named.append(bigEndian: SlotDescription.Kind.stanzas.type)
        named += text
        fingerprint = BLAKE2b.digest(count: 32, label: "vaultfile1pubkey", message: named.span)
    }

    /// The ID of this recipient's slots in a container, but of those that are hidden (KEY-18).
    public func slotID(in header: HeaderSummary) -> KeyID { id(under: header.preamble) }

    /// The ID of this recipient's slots under a preamble (KEY-18).
    func id(under preamble: Preamble) -> KeyID { .ofRecipient(fingerprint, under: preamble) }
}

extension PluginRecipient: CustomStringConvertible {
    /// The same as ``text``.
    public var description: String { text }
}

extension KeyID {
    /// The ID of a recipient's slots under a preamble (KEY-18).
    static func ofRecipient(_ fingerprint: [UInt8], under preamble: Preamble) -> KeyID {
        KeyID(
            unchecked: BLAKE2b.digest(
                count: 16, label: "vaultfile1pub-id", key: fingerprint, message: preamble.bytes.span)[...])
    }
}

/// The names of plugins (KEYTEXT-2).
enum PluginName {
    private static let longest = 64

    /// The name; `badKey` if it is none. The name becomes a part of the name of a program, so a path must not be one.
    static func check(_ name: Substring) throws(VaultError) -> String {
        let isPlain = name.utf8.allSatisfy { letter in
            (0x61...0x7A).contains(letter) || (0x30...0x39).contains(letter) || "-_.+".utf8.contains(letter)
        }
        guard isPlain, (1...longest).contains(name.utf8.count), name != "pq" else {
            throw VaultError(.badKey, "it has no name of a plugin in it: 1 to 64 of a to z, 0 to 9, - _ . +")
        }
        return String(name)
    }
}

/// An identity of an age plugin: `AGE-PLUGIN-NAME-1…` (KEYTEXT-3). Only the plugin knows what it stands for: a key in a
/// device, for example. It is held in guarded memory, and wiped when its last reference goes.
public final class PluginIdentity: Sendable {
    /// The name of the plugin.
    public let plugin: String
    /// The recipients that are known to belong to this identity. Their slots go to the plugin first (SLOT-32).
    public let knownRecipients: [PluginRecipient]
    private let secret: SecretBytes
    /// A hash of the text. It is not shown, and tells identities apart.
    package let mark: [UInt8]

    /// Reads an identity's text.
    ///
    /// - Throws: `badKey`, whose message says what is wrong; `memoryUnavailable`.
    public init(text: Span<UInt8>, knownRecipients: [PluginRecipient] = []) throws(VaultError) {
        guard KeyText.begins(text, with: KeyText.pluginIdentityPrefix) else {
            throw VaultError(.badKey, "it is not an identity of a plugin: AGE-PLUGIN-…")
        }
        guard text.count <= Bech32.longestText else {
            throw VaultError(.badKey, "an identity has at most \(Bech32.longestText) characters")
        }
        guard let end = Bech32.prefixEnd(of: text), end > KeyText.pluginIdentityPrefix.utf8.count,
            text[end - 1] == UInt8(ascii: "-")
        else { throw VaultError(.badKey, "it has no name of a plugin in it") }
        let prefix = (0..<end).map { text[$0] }
        guard !prefix.contains(where: { (0x61...0x7A).contains($0) }) else {
            throw VaultError(.badKey, "an identity is written in upper case")
        }
        let lower = String(decoding: prefix, as: UTF8.self).lowercased()
        plugin = try PluginName.check(lower.dropFirst(KeyText.pluginIdentityPrefix.utf8.count).dropLast())
        let form = Bech32(prefix: lower)
        let mistyped = VaultError(.badKey, "the identity was mistyped: its checksum does not fit")
        guard let count = form.byteCount(of: text.count) else { throw mistyped }
        var bytes = try guarded { () throws(MemoryUnavailable) in try GuardedBuffer(count: max(count, 1)) }
        let isRight = bytes.withMutableBytes { bytes in
            bytes.withPart(0..<count) { form.decode(text, isUpper: true, into: &$0) }
        }
        guard isRight else { throw mistyped }
        secret = try guarded { () throws(MemoryUnavailable) in try SecretBytes(copying: text) }
        mark = BLAKE2b.digest(count: 32, label: "plugin-identity-", message: text)
        self.knownRecipients = knownRecipients
    }

    private init(_ identity: PluginIdentity, knownRecipients: [PluginRecipient]) {
        plugin = identity.plugin
        secret = identity.secret
        mark = identity.mark
        self.knownRecipients = knownRecipients
    }

    /// The same identity, with these recipients added to the known ones.
    public func knowing(_ recipients: [PluginRecipient]) -> PluginIdentity {
        var seen = Set(knownRecipients)
        let new = recipients.filter { seen.insert($0).inserted }
        return PluginIdentity(self, knownRecipients: knownRecipients + new)
    }

    /// Lends the text, which the plugin gets.
    ///
    /// - Throws: what `body` throws.
    public func withText<R: ~Copyable, E>(_ body: (Span<UInt8>) throws(E) -> R) throws(E) -> R {
        try secret.withBytes(body)
    }
}

extension PluginIdentity: CustomStringConvertible {
    /// The name of the plugin; never the text.
    public var description: String { "PluginIdentity(\(plugin))" }
}

/// 16 random bytes that a plugin wraps into the stanzas of one slot, and unwraps again (KEY-23). They are held in guarded
/// memory, and wiped when the last reference goes.
public final class StanzaSecret: Sendable {
    /// The number of bytes.
    public static let byteCount = 16

    let secret: SecretBytes

    /// What a plugin has unwrapped.
    ///
    /// - Throws: `badKey` unless there are 16 bytes; `memoryUnavailable`.
    public init(bytes: Span<UInt8>) throws(VaultError) {
        guard bytes.count == Self.byteCount else {
            throw VaultError(.badKey, "the secret of a slot with stanzas has 16 bytes, not \(bytes.count)")
        }
        secret = try guarded { () throws(MemoryUnavailable) in try SecretBytes(copying: bytes) }
    }

    private init(_ secret: SecretBytes) {
        self.secret = secret
    }

    /// A fresh secret from the system's generator.
    ///
    /// - Throws: `memoryUnavailable`.
    public static func generate() throws(VaultError) -> StanzaSecret {
        StanzaSecret(
            try guarded { () throws(MemoryUnavailable) in try SecretBytes(randomCount: byteCount) })
    }

    /// Lends the bytes, which the plugin gets.
    ///
    /// - Throws: what `body` throws.
    public func withBytes<R: ~Copyable, E>(_ body: (Span<UInt8>) throws(E) -> R) throws(E) -> R {
        try secret.withBytes(body)
    }
}

extension StanzaSecret: CustomStringConvertible {
    /// Only the name of the type; never the bytes.
    public var description: String { "StanzaSecret" }
}
