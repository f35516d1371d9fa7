package import VaultFormat

/// What a rotation does to the slots: first some are removed, then some are added (ROT-11).
public struct KeyChange: Sendable {
    /// Who is to be able to open the container. For whom there is a slot that opens, none is added. What is added also
    /// opens.
    public var adding: [Recipient]
    /// Which slots go. To remove what is not there is no error.
    public var removing: SlotSelection

    /// Adds and removes.
    public init(adding: [Recipient] = [], removing: SlotSelection = .none) {
        self.adding = adding
        self.removing = removing
    }
}

/// The place of one of the two header copies.
public enum HeaderPlace: String, Hashable, Sendable {
    /// At the beginning of the container.
    case front
    /// Before its footer.
    case tail
}

/// The secrets at hand: those with which a caller opens, those that he adds, and those by which he names what is to be
/// removed.
package struct SecretsAtHand: KeyProvider {
    private let keys: any KeyProvider
    private let added: KeySet
    private let otherPassphrases: [Passphrase]

    package init(_ keys: any KeyProvider, adding recipients: [Recipient], removing: SlotSelection) {
        self.keys = keys
        var symmetric: [SymmetricKey] = []
        var passphrases: [Passphrase] = []
        for recipient in recipients {
            switch recipient.kind {
            case .key(let key): symmetric.append(key)
            case .passphrase(let passphrase, _): passphrases.append(passphrase)
            case .privateSlot: continue
            }
        }
        added = KeySet(keys: symmetric)
        otherPassphrases = passphrases + removing.passphrases
    }

    package func symmetricKeys(for ids: [KeyID]) throws -> [SymmetricKey] {
        try keys.symmetricKeys(for: ids) + added.symmetricKeys(for: ids)
    }

    package func passphrases() throws -> [Passphrase] {
        try keys.passphrases() + otherPassphrases
    }

    package var privateSlots: [PrivateSlotFamily] { keys.privateSlots }

    package func fileKey(for slot: PrivateSlot) throws -> FileKey? {
        try keys.fileKey(for: slot)
    }
}
