/// What the records hold (HDR-6): the plaintext itself, or the plaintext packed into deflated blocks (Spec 7).
///
/// A container shows the length of the stream that its records hold. With compression, that length depends on the
/// contents. An attacker who can add text to a secret before it is encrypted can find out the secret: they try which
/// text makes the container shorter.
///
/// The set is open: a later version of the library can add methods.
public struct Compression: Hashable, Sendable, CustomStringConvertible {
    private enum Value: UInt8 {
        case none = 0
        case deflate = 1
    }

    private let value: Value

    private init(_ value: Value) {
        self.value = value
    }

    /// The plaintext itself, the default.
    public static let none = Compression(.none)
    /// Each chunk of the plaintext is a DEFLATE stream of its own, if that is shorter than the chunk.
    public static let deflate = Compression(.deflate)

    /// One word for it: `none`, `deflate`.
    public var name: String {
        switch value {
        case .none: "none"
        case .deflate: "deflate"
        }
    }

    /// The same as ``name``.
    public var description: String { name }

    /// As the preamble has it.
    public var rawValue: UInt8 { value.rawValue }

    package init?(rawValue: UInt8) {
        guard let value = Value(rawValue: rawValue) else { return nil }
        self.value = value
    }
}
