/// What the records hold (HDR-5): the plaintext itself, or the plaintext packed into deflated blocks (Spec 7).
///
/// A container shows the length of the stream that its records hold. With compression, that length depends on the
/// contents. Somebody who can add text of their own to a secret before it is encrypted can find out the secret, by
/// trying which text makes the container shorter.
public enum Compression: UInt8, Hashable, Sendable {
    /// The plaintext as it is, the default.
    case none = 0
    /// Each chunk of the plaintext is a DEFLATE stream of its own, if that is shorter than the chunk.
    case deflate = 1
}
