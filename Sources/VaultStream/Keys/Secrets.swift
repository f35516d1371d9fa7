package import VaultCrypto
public import VaultFormat

/// A key of 32 bytes that wraps file keys. It is held in guarded memory, and wiped when its last reference goes.
///
/// Guarded memory takes at least three pages for each key, and is locked as far as the limits of the process allow. A
/// program with thousands of keys should load only those it needs, in a `KeyProvider`.
///
/// Make a key with a random generator, never from a text: its ID is a fast hash of the key, and is public.
public final class SymmetricKey: Sendable {
    /// The number of bytes of a key.
    public static let byteCount = 32

    /// The key's ID, as headers have it (KEY-11).
    public let id: KeyID
    package let secret: SecretBytes

    package init(_ secret: SecretBytes) throws(VaultError) {
        precondition(secret.count == Self.byteCount)
        let isZero = secret.withBytes { bytes in
            var bits: UInt8 = 0
            for index in bytes.indices { bits |= bytes[index] }
            return bits == 0
        }
        guard !isZero else { throw Self.badKey }
        self.secret = try guarded { () throws(MemoryUnavailable) in try secret.frozen() }
        id = KeySchedule.id(of: secret)
    }

    /// A fresh key from the system's generator.
    ///
    /// - Throws: `memoryUnavailable`.
    public static func generate() throws(VaultError) -> SymmetricKey {
        try SymmetricKey(guarded { () throws(MemoryUnavailable) in try SecretBytes(randomCount: byteCount) })
    }

    /// A key from 32 bytes that a random generator made. Wipe your copy of them.
    ///
    /// - Throws: `badKey` unless there are 32 bytes, not all zero; `memoryUnavailable`.
    public convenience init(bytes: Span<UInt8>) throws(VaultError) {
        guard bytes.count == Self.byteCount else { throw Self.badKey }
        try self.init(guarded { () throws(MemoryUnavailable) in try SecretBytes(copying: bytes) })
    }

    private static let badKey = VaultError(.badKey, "a key is 32 bytes that are not all zero")

    /// Lends the key's bytes, for programs that keep it in a store of their own.
    ///
    /// - Throws: what `body` throws.
    public func withBytes<R: ~Copyable, E>(_ body: (Span<UInt8>) throws(E) -> R) throws(E) -> R {
        try secret.withBytes(body)
    }
}

extension SymmetricKey: CustomStringConvertible {
    /// The key's ID; never the key.
    public var description: String { "SymmetricKey(\(id))" }
}

/// A passphrase: 1 to 1024 bytes, used as they are. It is held in guarded memory, and wiped when its last reference
/// goes.
///
/// Programs that take it from people should bring it to one Unicode normal form first (the command uses NFC).
public final class Passphrase: Sendable {
    package let secret: SecretBytes

    /// - Throws: `badPassphrase` unless there are 1 to 1024 bytes; `memoryUnavailable`.
    public init(bytes: Span<UInt8>) throws(VaultError) {
        guard (1...1024).contains(bytes.count) else {
            throw VaultError(.badPassphrase, "a passphrase has 1 to 1024 bytes, not \(bytes.count)")
        }
        secret = try guarded { () throws(MemoryUnavailable) in try SecretBytes(copying: bytes).frozen() }
    }

    /// The UTF-8 bytes of a text. A `String` cannot be wiped; prefer bytes where you have them.
    ///
    /// - Throws: `badPassphrase` unless there are 1 to 1024 bytes; `memoryUnavailable`.
    public convenience init(_ text: String) throws(VaultError) {
        try self.init(bytes: text.utf8Span.span)
    }
}

extension Passphrase: Equatable {
    /// Whether both are the same bytes. The time that this takes depends on their lengths and not on the bytes.
    public static func == (one: Passphrase, other: Passphrase) -> Bool {
        one.secret.withBytes { mine in other.secret.withBytes { constantTimeEqual(mine, $0) } }
    }
}

extension Passphrase: CustomStringConvertible {
    /// Only the name of the type; never the bytes.
    public var description: String { "Passphrase" }
}

/// The key of one container. All its other keys are derived from this one (Spec 3.2). Only programs with private slots
/// handle file keys.
public final class FileKey: Sendable {
    /// The number of bytes of a file key.
    public static let byteCount = 32

    package let secret: SecretBytes

    package init(_ secret: SecretBytes) {
        self.secret = secret
    }

    /// The file key that a program has unwrapped. Any bytes may be tried: they open nothing unless the header commits
    /// to them.
    ///
    /// - Throws: `badKey` unless there are 32 bytes; `memoryUnavailable`.
    public init(bytes: Span<UInt8>) throws(VaultError) {
        guard bytes.count == Self.byteCount else { throw VaultError(.badKey, "a file key is 32 bytes") }
        secret = try guarded { () throws(MemoryUnavailable) in try SecretBytes(copying: bytes) }
    }

    /// Lends the key's bytes, to be wrapped.
    ///
    /// - Throws: what `body` throws.
    public func withBytes<R: ~Copyable, E>(_ body: (Span<UInt8>) throws(E) -> R) throws(E) -> R {
        try secret.withBytes(body)
    }
}

extension FileKey: CustomStringConvertible {
    /// Only the name of the type; never the bytes.
    public var description: String { "FileKey" }
}

/// Guarded memory for the bytes of a secret, before they become a key or a passphrase. It is outside the heap, locked
/// as far as the limits of the process allow, and wiped when the value goes.
public struct SecretBuffer: ~Copyable, Sendable {
    private var buffer: GuardedBuffer

    /// `count` zero bytes.
    ///
    /// - Throws: `memoryUnavailable`.
    public init(count: Int) throws(VaultError) {
        buffer = try guarded { () throws(MemoryUnavailable) in try GuardedBuffer(count: count) }
    }

    /// The number of bytes.
    public var count: Int { buffer.count }

    /// Lends the bytes to be read.
    ///
    /// - Throws: what `body` throws.
    public func withBytes<R: ~Copyable, E>(_ body: (Span<UInt8>) throws(E) -> R) throws(E) -> R {
        try buffer.withBytes(body)
    }

    /// Lends the bytes to be written.
    ///
    /// - Throws: what `body` throws.
    public mutating func withMutableBytes<R: ~Copyable, E>(
        _ body: (inout MutableSpan<UInt8>) throws(E) -> R
    ) throws(E) -> R {
        try buffer.withMutableBytes(body)
    }
}

/// Turns the error for missing memory into a `VaultError`.
package func guarded<R: ~Copyable>(_ body: () throws(MemoryUnavailable) -> R) throws(VaultError) -> R {
    do {
        return try body()
    } catch {
        throw VaultError(
            .memoryUnavailable, "the system has no memory left for a secret", errorNumber: ByteBuffer.errorNumber)
    }
}
