internal import VaultFile

/// What `--add` and `--remove` name, each source read once for all inputs.
struct NamedSecrets: Sendable {
    private(set) var adding: [Recipient] = []
    private(set) var removing = SlotSelection.none
    /// Keys that were read to be removed.
    private var keysRemoved: [SymmetricKey] = []
    /// All keys that were read: they open, too.
    var keys: [SymmetricKey] { keysRemoved + keysAdded.map(\.key) }
    /// Keys that get a slot.
    var keysAdded: [LoadedKey] { secretsAdded.compactMap(\.loadedKey) }

    /// Whether a passphrase among them will have to be stretched.
    var stretches: Bool {
        !removing.passphrases.isEmpty || secretsAdded.contains { if case .passphrase = $0 { true } else { false } }
    }

    /// Whether any of it is tried where a container is to be opened.
    var opens: Bool { !keysRemoved.isEmpty || !secretsAdded.isEmpty || !removing.passphrases.isEmpty }

    private var secretsAdded: [Secret] = []

    /// None.
    static let none = NamedSecrets()

    private init() {}

    /// - Parameter opening: KEYS, which have been read: theirs are the first lines of a descriptor.
    init(
        _ options: KeyChangeOptions, unlocking: UnlockOptions, opening: OpeningKeys, from sources: KeySources
    ) throws(Failure) {
        // A line for a keyring that is not opened would be missing where it is meant for: the variable is set for good,
        // and not for this run.
        let keyring = sources.keyring(unlocking)
        if !unlocking.unlock.isEmpty || keyring.exists && (opening.usesKeyring || options.usesKeyring) {
            try keyring.takeLines(before: options.remove + options.add)
        }
        // First what opens, as people type it.
        for argument in options.remove {
            switch argument.source {
            case .others:
                removing.others = true
            case .named(let name):
                try remove(name, unlocking: unlocking, from: sources)
            default:
                switch try sources.secret(argument, for: .removing, unlocking: unlocking) {
                case .key(let key):
                    removing.ids.insert(key.key.id)
                    keysRemoved.append(key.key)
                case .passphrase(let passphrase):
                    removing.passphrases.append(passphrase)
                }
            }
        }
        for argument in options.add {
            let secret = try sources.secret(argument, for: .adding, unlocking: unlocking)
            adding.append(secret.recipient)
            secretsAdded.append(secret)
        }
        try sources.refuseRetired(keysAdded, unlocking: unlocking)
    }

    /// An ID needs no secret and no keyring; a name is looked up, also that of a key that was destroyed.
    private mutating func remove(
        _ reference: String, unlocking: UnlockOptions, from sources: KeySources
    ) throws(Failure) {
        if let id = KeyID(hex: reference) {
            removing.ids.insert(id)
            return
        }
        let access = sources.keyring(unlocking)
        guard let entry = try access.open().entry(reference) else {
            throw Failure(
                .noKey, .text("key \(reference)"), "is not in the keyring", hint: "vaultfile key list shows what is")
        }
        removing.ids.insert(entry.id)
        if entry.state != .destroyed { keysRemoved.append(try sources.key(reference, of: access, for: .opening).key) }
    }
}
