internal import VaultFile

/// The change of slots that `--add` and `--remove` ask for, with each source read once for all inputs.
struct SlotChange: Sendable {
    /// What gets a slot.
    private(set) var added: [Secret] = []
    /// Which slots go.
    private(set) var removing = SlotSelection.none
    /// What was read to remove its slots.
    private var removed: [Secret] = []

    /// All keys that were read: they open, too.
    var keys: [SymmetricKey] { (removed + added).keys.map(\.key) }

    /// Whether a passphrase among them will have to be stretched.
    var stretches: Bool { !(removed + added).passphrases.isEmpty }

    /// Whether any of it is tried on a container.
    var opens: Bool { stretches || !keys.isEmpty }

    static let none = SlotChange()

    private init() {}

    /// - Parameter opening: What opens, which has been read: the first lines of a descriptor belong to it.
    init(_ options: KeyChangeOptions, opening: RunKeys, _ keyring: KeyringSession) throws(Failure) {
        // The variable is set for good, so it takes no line in a run that leaves the keyring locked: that line is for
        // somebody else.
        if keyring.unlocker.isNamedOnLine || keyring.exists && (opening.usesKeyring || options.usesKeyring) {
            try keyring.takeLines(before: options.remove + options.add)
        }
        // What opens comes first, in the order in which people type it.
        for argument in options.removed { try remove(argument, keyring) }
        for argument in options.added { added.append(try keyring.secret(argument, for: .sealing)) }
        try keyring.refuseRetired(added.keys)
    }

    private mutating func remove(_ argument: KeyArgument, _ keyring: KeyringSession) throws(Failure) {
        // An ID needs neither a secret nor the keyring.
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
