public import VaultFormat

/// What opens a container: where the keys come from, the context it is bound to, and what opening may cost.
///
///     try SeekableVaultReader(source, with: .key(key))
///     try SeekableVaultReader(source, with: Credentials(keyring, context: context, limits: .service))
public struct Credentials: Sendable {
    /// Asked for the keys that the header names, and for passphrases if nothing else opens the container.
    public var keys: any KeyProvider
    /// The context that the container was made with. It opens with no other (`wrongKey`).
    public var context: Context
    /// What opening may cost, and how long the plaintext may be (`limitExceeded`).
    public var limits: OpenLimits

    /// Credentials from any source of keys.
    public init(_ keys: any KeyProvider, context: Context = .none, limits: OpenLimits = .standard) {
        self.keys = keys
        self.context = context
        self.limits = limits
    }

    /// One symmetric key.
    public static func key(
        _ key: SymmetricKey, context: Context = .none, limits: OpenLimits = .standard
    ) -> Credentials {
        Credentials(KeySet(keys: [key]), context: context, limits: limits)
    }

    /// One passphrase. Each try costs what the container's slot says, within the limits.
    public static func passphrase(
        _ passphrase: Passphrase, context: Context = .none, limits: OpenLimits = .standard
    ) -> Credentials {
        Credentials(KeySet(passphrases: [passphrase]), context: context, limits: limits)
    }
}
