public import VaultFormat

/// The one joint: where keys come from. Implement it over a keychain, a key service, a prompt; everything else about a
/// container is fixed.
///
/// Opening asks for the symmetric keys whose IDs the header names, then for private slots, and only if none of them
/// opens for passphrases.
public protocol KeyProvider: Sendable {
    /// Those of the symmetric keys with these IDs that are at hand. Asked once for one header, with each ID once; the
    /// IDs come from a header that nobody vouches for yet, and there may be a thousand of them.
    func symmetricKeys(for ids: [KeyID]) throws -> [SymmetricKey]

    /// The passphrases to try: here a program may ask its user. Asked at most once for one opening, and only if the
    /// container has a passphrase slot and nothing else opened it. Rotation, re-encryption and `Inspection.trySlots`
    /// also ask, once, where something else has opened it: they have to know which slots these open.
    func passphrases() throws -> [Passphrase]

    /// Which private slots are this program's; it is shown no others.
    var privateSlots: [PrivateSlotFamily] { get }

    /// The file key out of a private slot, or nil if it does not open.
    func fileKey(for slot: PrivateSlot) throws -> FileKey?
}

extension KeyProvider {
    /// No passphrases.
    public func passphrases() throws -> [Passphrase] { [] }

    /// No private slots.
    public var privateSlots: [PrivateSlotFamily] { [] }

    /// No private slots.
    public func fileKey(for slot: PrivateSlot) throws -> FileKey? { nil }
}

/// Keys and passphrases that are at hand.
public struct KeySet: KeyProvider {
    private let keys: [KeyID: SymmetricKey]
    private let given: [Passphrase]

    /// Any one of them may open a container.
    public init(keys: [SymmetricKey] = [], passphrases: [Passphrase] = []) {
        self.keys = Dictionary(keys.map { ($0.id, $0) }, uniquingKeysWith: { first, _ in first })
        given = passphrases
    }

    /// Those of the keys that have these IDs.
    public func symmetricKeys(for ids: [KeyID]) -> [SymmetricKey] { ids.compactMap { keys[$0] } }

    /// The passphrases.
    public func passphrases() -> [Passphrase] { given }
}

/// The secrets at hand when slots are changed: the caller's, those of recipients to add, and those that select slots to
/// remove. Each kind of slot adds its part in its own file.
package struct SecretsAtHand: KeyProvider {
    let keys: any KeyProvider
    let secrets: [any SlotSecret]

    package init(_ keys: any KeyProvider, adding recipients: [Recipient], removing: SlotSelection) {
        self.keys = keys
        secrets = recipients.compactMap(\.maker.secret) + removing.secrets
    }
}

extension Credentials {
    /// The same, with the secrets of a change beside the caller's.
    package func with(_ recipients: [Recipient], removing: SlotSelection) -> Credentials {
        Credentials(
            SecretsAtHand(keys, adding: recipients, removing: removing), context: context, limits: limits)
    }
}
