internal import VaultFile

/// A key or a passphrase.
enum Secret: Sendable {
    case key(LoadedKey)
    case passphrase(Passphrase)

    /// The key and where it came from, if it is one.
    var key: LoadedKey? {
        if case .key(let key) = self { key } else { nil }
    }

    /// The passphrase, if it is one.
    var passphrase: Passphrase? {
        if case .passphrase(let passphrase) = self { passphrase } else { nil }
    }

    /// The one for whom a container is encrypted.
    var recipient: Recipient {
        switch self {
        case .key(let key): .key(key.key)
        case .passphrase(let passphrase): .passphrase(passphrase)
        }
    }
}

/// A symmetric key and where it came from.
struct LoadedKey: Sendable {
    let key: SymmetricKey
    /// What a message about it names.
    let source: Failure.Subject
    /// When it was made, if its key file says so.
    let created: Timestamp?

    var id: KeyID { key.id }
}

extension SlotSelection {
    /// Adds the slots of a secret.
    mutating func insert(_ secret: Secret) {
        switch secret {
        case .key(let key): ids.insert(key.id)
        case .passphrase(let passphrase): passphrases.append(passphrase)
        }
    }
}

extension [Secret] {
    var keys: [LoadedKey] { compactMap(\.key) }
    var passphrases: [Passphrase] { compactMap(\.passphrase) }

    /// Those for whom a container is encrypted: one slot each, keys first.
    var recipients: [Recipient] {
        filter { $0.key != nil }.map(\.recipient) + filter { $0.key == nil }.map(\.recipient)
    }
}

/// What a secret is read for. It decides how a passphrase is asked for.
struct SecretPurpose: Hashable, Sendable {
    /// Whether it gets a slot: a passphrase is asked for twice then, and a retired key is refused.
    let makesSlot: Bool
    /// What the question for a passphrase names, if that is one thing.
    var subject: String?
    /// What else gives a passphrase, if there is no terminal to ask on.
    var withoutTerminal = KeyHint.passphraseWithoutTerminal

    static let opening = SecretPurpose(makesSlot: false)
    static let sealing = SecretPurpose(makesSlot: true)
    static let removing = SecretPurpose(makesSlot: false, subject: "the slot to be removed")
    static let unlocking = ofKeyring(makesSlot: false)
    static let settingUnlocker = ofKeyring(makesSlot: true)

    private static func ofKeyring(makesSlot: Bool) -> SecretPurpose {
        SecretPurpose(
            makesSlot: makesSlot, subject: "the keyring", withoutTerminal: KeyHint.unlockingWithoutTerminal)
    }

    /// One container, by whatever opens it.
    static func opening(_ subject: Failure.Subject) -> SecretPurpose {
        SecretPurpose(
            makesSlot: false, subject: subject.escaped,
            withoutTerminal: KeyHint.namingKeys + "; --passphrase-file and --passphrase-fd need no terminal")
    }
}
