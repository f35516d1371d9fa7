/// Bytes that a container is bound to and does not hold: an account, a path, a purpose (KEY-3, KEY-15).
///
/// A container opens only with the context that it was made with. That binds it to its place; it keeps nobody out who
/// has a key, for he has the file key.
public struct Context: Hashable, Sendable {
    /// The bytes; none is the same as no context.
    public let bytes: [UInt8]

    /// No context.
    public static let none = Context(unchecked: [])

    package init(unchecked bytes: [UInt8]) {
        self.bytes = bytes
    }

    /// - Throws: `badContext` for more than 65,535 bytes.
    public init(_ bytes: [UInt8]) throws(VaultError) {
        guard bytes.count <= 65_535 else {
            throw VaultError(.badContext, "a context has at most 65,535 bytes")
        }
        self.bytes = bytes
    }

    /// The UTF-8 bytes of a text, as they are.
    ///
    /// - Throws: `badContext` for more than 65,535 bytes.
    public init(_ text: String) throws(VaultError) {
        try self.init([UInt8](text.utf8))
    }
}
