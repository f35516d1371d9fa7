package import VaultCrypto
public import VaultFormat
import VaultXWing

/// The private half of a ``PublicKey``: an X25519 scalar or an X-Wing seed, 32 bytes (Spec, appendix C). It is held in
/// guarded memory, and wiped when its last reference goes.
///
/// An X-Wing seed is expanded for each use, in memory of the library that is not guarded and not wiped.
public final class Identity: Sendable {
    /// The number of bytes of the secret.
    public static let byteCount = 32

    /// Whom this identity belongs to.
    public let publicKey: PublicKey
    package let secret: SecretBytes

    private init(_ secret: SecretBytes, _ publicKey: PublicKey) throws(VaultError) {
        self.secret = try guarded { () throws(MemoryUnavailable) in try secret.frozen() }
        self.publicKey = publicKey
    }

    /// - Throws: `badKey` if the kind has no identities, or this build or system has no X-Wing.
    package convenience init(_ kind: SlotDescription.Kind, _ secret: SecretBytes) throws(VaultError) {
        precondition(secret.count == Self.byteCount)
        guard [.x25519, .xWing].contains(kind) else {
            throw VaultError(.badKey, "a slot of type \(kind.type) has no identity")
        }
        guard let publicKey = Self.publicKey(kind, secret) else { throw Self.noXWing }
        try self.init(secret, publicKey)
    }

    /// The public key of an X25519 scalar or an X-Wing seed; nil if this build or system has no X-Wing for it.
    static func publicKey(_ kind: SlotDescription.Kind, _ secret: SecretBytes) -> PublicKey? {
        guard kind == .xWing else { return PublicKey(ofScalar: secret) }
        return XWing.available.flatMap { PublicKey(ofSeed: secret, $0) }
    }

    /// Whether this build and system have X-Wing.
    package static var hasXWing: Bool { XWing.available != nil }

    /// The error where X-Wing is needed and missing.
    static let noXWing = VaultError(
        .badKey, "this build has no X-Wing, which post-quantum keys need: it was made without the trait PublicKeys")

    /// A fresh identity from the system's generator.
    ///
    /// - Parameter kind: `xWing`, which a quantum computer does not break, or `x25519`.
    /// - Throws: `badKey` for another kind, or if this build or system has no X-Wing; `memoryUnavailable`.
    public static func generate(_ kind: SlotDescription.Kind = .xWing) throws(VaultError) -> Identity {
        try Identity(kind, guarded { () throws(MemoryUnavailable) in try SecretBytes(randomCount: byteCount) })
    }

    // MARK: Texts

    private static func form(_ kind: SlotDescription.Kind) -> Bech32 {
        Bech32(prefix: kind == .xWing ? KeyText.postQuantumIdentityPrefix : KeyText.identityPrefix)
    }

    /// Reads the text of an identity: `AGE-SECRET-KEY-1…` or `AGE-SECRET-KEY-PQ-1…` (KEYTEXT-3).
    ///
    /// - Throws: `badKey`, whose message says what is wrong; `memoryUnavailable`.
    public convenience init(text: Span<UInt8>) throws(VaultError) {
        let (kind, secret) = try Self.parse(text)
        try self.init(kind, secret)
    }

    /// The number of characters of its text.
    package var textCount: Int { Self.form(publicKey.kind).textCount(of: Self.byteCount) }

    /// Writes its text: `textCount` characters from `start` on.
    package func encodeText(into text: inout MutableSpan<UInt8>, at start: Int) {
        let form = Self.form(publicKey.kind)
        secret.withBytes { form.encode($0, isUpper: true, into: &text, at: start) }
    }

    /// The kind and the secret in the text of an identity. It needs no X-Wing.
    ///
    /// - Throws: `badKey`, `memoryUnavailable`.
    package static func parse(_ text: Span<UInt8>) throws(VaultError) -> (
        kind: SlotDescription.Kind, secret: SecretBytes
    ) {
        guard KeyText.isIdentity(text) else {
            throw VaultError(
                .badKey,
                KeyText.begins(text, with: "age1") || KeyText.begins(text, with: "ssh-")
                    ? "it is a recipient and not an identity"
                    : "it is not an identity: AGE-SECRET-KEY-1… or AGE-SECRET-KEY-PQ-1…")
        }
        guard !KeyText.begins(text, with: KeyText.pluginIdentityPrefix) else {
            throw VaultError(.badKey, "it is an identity of a plugin, and has no key in it")
        }
        let kind: SlotDescription.Kind =
            KeyText.begins(text, with: KeyText.postQuantumIdentityPrefix) ? .xWing : .x25519
        let form = Self.form(kind)
        guard form.begins(text, isUpper: true) else {
            throw VaultError(.badKey, "an identity begins with AGE-SECRET-KEY-1 or AGE-SECRET-KEY-PQ-1, in upper case")
        }
        guard text.count == form.textCount(of: Self.byteCount) else {
            let count = form.textCount(of: Self.byteCount)
            throw VaultError(.badKey, "the identity was mistyped: it has \(text.count) characters instead of \(count)")
        }
        var secret = try guarded { () throws(MemoryUnavailable) in try GuardedBuffer(count: Self.byteCount) }
        guard secret.withMutableBytes({ form.decode(text, isUpper: true, into: &$0) }) else {
            throw VaultError(.badKey, "the identity was mistyped: its checksum does not fit")
        }
        return (kind, SecretBytes(secret))
    }

    /// Lends the text of a file with this identity, as `age-keygen` writes it, in guarded memory that is wiped
    /// afterwards: the recipient in a comment, then the identity.
    ///
    /// - Parameters:
    ///   - created: the time of creation for a comment, to the second; nil for no such comment.
    ///   - body: gets the text.
    /// - Returns: what `body` returns.
    /// - Throws: `invalidArgument` if the year of `created` does not have four digits, `memoryUnavailable`, and what
    ///   `body` throws.
    public func withFile<R: ~Copyable>(created: Timestamp? = nil, _ body: (Span<UInt8>) throws -> R) throws -> R {
        try IdentityFile.withText(created, ["public key: \(publicKey.text)"], textCount, encodeText, body)
    }
}

extension IdentityFile {
    /// Lends the text of a file with one identity, in guarded memory.
    ///
    /// - Parameters:
    ///   - comments: what the comments after the time say.
    ///   - count: the bytes of the identity's text.
    ///   - encode: writes the identity's text at a place.
    fileprivate static func withText<R: ~Copyable>(
        _ created: Timestamp?, _ comments: [String], _ count: Int,
        _ encode: (inout MutableSpan<UInt8>, Int) -> Void, _ body: (Span<UInt8>) throws -> R
    ) throws -> R {
        let time = try created.map { "created: \(try $0.utcOfKey)" }
        let head = [UInt8](([time].compactMap(\.self) + comments).map { "# \($0)\n" }.joined().utf8)
        var text = try guarded { () throws(MemoryUnavailable) in try GuardedBuffer(count: head.count + count + 1) }
        text.withMutableBytes { text in
            text.replace(at: 0, with: head.span)
            encode(&text, head.count)
            text[head.count + count] = 0x0A
        }
        return try text.withBytes(body)
    }
}

extension PluginIdentity {
    /// Lends the text of a file with this identity, as its plugin writes it, in guarded memory that is wiped afterwards:
    /// the known recipients in comments, then the identity.
    ///
    /// - Parameters:
    ///   - created: the time of creation for a comment, to the second; nil for no such comment.
    ///   - body: gets the text.
    /// - Returns: what `body` returns.
    /// - Throws: `invalidArgument` if the year of `created` does not have four digits, `memoryUnavailable`, and what
    ///   `body` throws.
    public func withFile<R: ~Copyable>(created: Timestamp? = nil, _ body: (Span<UInt8>) throws -> R) throws -> R {
        let comments = knownRecipients.map { "recipient: \($0.text)" }
        let count = withText { $0.count }
        return try IdentityFile.withText(
            created, comments, count, { made, place in withText { made.replace(at: place, with: $0) } }, body)
    }
}

extension Identity: CustomStringConvertible {
    /// The recipient; never the secret.
    public var description: String { "Identity(\(publicKey))" }
}
