internal import VaultFile

/// The change of slots that `--add` and `--remove` ask for. Each secret is read once for all inputs.
struct SlotChange: Sendable {
    /// The secrets that get a slot.
    private(set) var added: [Secret] = []
    /// The slots to remove.
    private(set) var removing = SlotSelection.none
    /// The secrets whose slots are removed.
    private var removed: [Secret] = []

    /// All keys among these secrets. They are also tried to open containers.
    var keys: [SymmetricKey] { (removed + added).keys.map(\.key) }

    /// Whether there is a passphrase to stretch.
    var stretches: Bool { !(removed + added).passphrases.isEmpty }

    /// Whether any of these secrets is tried on a container.
    var opens: Bool { stretches || !keys.isEmpty }

    static let none = SlotChange()

    private init() {}

    /// - Parameter opening: The keys that open. They must have been read already: the first lines of a descriptor are
    ///   theirs.
    init(_ options: KeyChangeOptions, opening: RunKeys, _ keyring: KeyringSession) throws(Failure) {
        // VAULTFILE_UNLOCK stays set for many runs. In a run that does not need the keyring it must not take a line
        // that is meant for --add or --remove.
        if keyring.unlocker.isNamedOnLine || keyring.exists && (opening.usesKeyring || options.usesKeyring) {
            try keyring.unlocker.takeLines(before: options.remove + options.add)
        }
        // Passphrases are asked for in this order, and the old one comes before the new one.
        for argument in options.removed { try remove(argument, keyring) }
        for argument in options.added { added.append(try keyring.secret(argument, for: .sealing)) }
        try keyring.refuseRetired(added.keys)
    }

    private mutating func remove(_ argument: KeyArgument, _ keyring: KeyringSession) throws(Failure) {
        // To remove a slot by its ID, neither a secret nor the keyring is needed.
        if let id = argument.id {
            removing.ids.insert(id)
        } else if argument.source == .others {
            removing.others = true
        } else if let name = argument.name, let entry = try keyring.entry(name), entry.state == .destroyed {
            removing.ids.insert(entry.id)
        } else {
            let secret = try keyring.secret(argument, for: .removing)
            removing.insert(secret)
            removed.append(secret)
        }
    }
}
