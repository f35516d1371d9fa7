public import VaultFormat

/// The keys and the context that open a container, and limits on the cost of opening it. Each kind of slot adds a
/// shorthand for one secret of its kind.
///
///     try SeekableVaultReader(source, with: .key(key))
///     try SeekableVaultReader(source, with: Credentials(keyring, context: context, limits: .service))
public struct Credentials: Sendable {
    /// Gives the keys that the header names, and passphrases if no key opens the container.
    public var keys: any KeyProvider
    /// The context that the container was made with. It opens with no other (`wrongKey`).
    public var context: Context
    /// Limits on the cost of opening, and on the length of the plaintext (`limitExceeded`).
    public var limits: OpenLimits
    /// The state of the header that the caller remembers. A header copy that is older, or another one of the same
    /// generation, counts as not valid. If no other copy is valid, the error is `unexpectedState`, before any plaintext is
    /// given out and before anything is written. Nil accepts every state.
    public var expecting: HeaderPin?
    /// The header file of a container whose slots are not in itself (Spec, chapter 23). A container that has slots of its
    /// own is refused with it (`notDetached`).
    public var headerFile: HeaderFileSource?
    /// The state of the header file that the caller remembers, as `expecting` is that of the container's copies (DET-5).
    public var expectingHeaderFile: HeaderPin?

    /// Credentials from any source of keys.
    public init(
        _ keys: any KeyProvider, context: Context = .none, limits: OpenLimits = .standard,
        expecting: HeaderPin? = nil, headerFile: HeaderFileSource? = nil, expectingHeaderFile: HeaderPin? = nil
    ) {
        self.keys = keys
        self.context = context
        self.limits = limits
        self.expecting = expecting
        self.headerFile = headerFile
        self.expectingHeaderFile = expectingHeaderFile
    }
}
