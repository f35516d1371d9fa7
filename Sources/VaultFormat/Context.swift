/// Bytes to which a container is bound and which it does not store: an account, a path, a purpose (KEY-3, KEY-16).
///
/// A container opens only with the context with which it was made; any other context gives `wrongKey`. This binds the
/// container to its place. It does not keep out a person who has a key, because that person can get the file key.
public struct Context: Hashable, Sendable {
    /// The bytes, at most 65,535. An empty context is the same as no context.
    public let bytes: [UInt8]

    /// No context.
    public static let none = Context(unchecked: [])

    package init(unchecked bytes: [UInt8]) {
        self.bytes = bytes
    }

    /// The context of these bytes.
    ///
    /// - Throws: `badContext` for more than 65,535 bytes (ARG-3).
    public init(_ bytes: [UInt8]) throws(VaultError) {
        guard bytes.count <= 65_535 else {
            throw VaultError(.badContext, "a context has at most 65,535 bytes")
        }
        self.bytes = bytes
    }

    /// The context of a text's UTF-8 bytes, which are not normalised.
    ///
    /// - Throws: `badContext` for more than 65,535 bytes (ARG-3).
    public init(_ text: String) throws(VaultError) {
        try self.init([UInt8](text.utf8))
    }
}
