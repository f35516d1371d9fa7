internal import VaultFile

/// The change of slots that `--add` and `--remove` ask for. Each secret is read once for all inputs.
struct SlotChange: Sendable {
    /// The secrets that get a slot.
    private(set) var added: [Secret] = []
    /// The slots to remove, without those of a passphrase that is typed.
    private var removed = SlotSelection.none
    /// The named secrets whose slots are removed.
    private(set) var removedSecrets: [Secret] = []
    /// What messages call each of them: the word that the user typed, if that is no secret.
    private(set) var removedWords: [String] = []
    /// The typed passphrase whose slots are removed. It also opens containers, so the user may try again.
    private(set) var question: PassphraseQuestion?

    /// All keys among these secrets. They are also tried to open containers.
    var keys: [SymmetricKey] { (removedSecrets + added).keys.map(\.key) }
    /// All identities among these secrets. They are also tried to open containers.
    var identities: [Identity] { (removedSecrets + added).identities.map(\.identity) }
    /// All identities of plugins among these secrets. They are also tried to open containers.
    var pluginIdentities: [PluginIdentity] { (removedSecrets + added).plugins.compactMap(\.identity) }
    /// The recipients of plugins that get a slot in each container.
    var addedPlugins: [LoadedPlugin] { added.plugins }
    /// Whether the new slots of public keys hide whose they are.
    private(set) var isHidden = false

    /// Whether slots of a passphrase are removed. That passphrase opens containers too.
    var removesPassphrase: Bool { question != nil || !removed.passphrases.isEmpty }

    /// Whether there is a passphrase to stretch.
    var stretches: Bool { removesPassphrase || !added.passphrases.isEmpty }

    /// Whether any of these secrets is tried on a container.
    var opens: Bool { stretches || !keys.isEmpty || !identities.isEmpty || !pluginIdentities.isEmpty }

    /// The recipients that get a slot of one container.
    func recipients() throws(Failure) -> [Recipient] {
        var recipients: [Recipient] = []
        for secret in added.withPluginsOnce { recipients.append(try secret.recipient(isHidden: isHidden)) }
        return recipients
    }

    static let none = SlotChange()

    /// The slots to remove. Asks for a passphrase again after a try that opened nothing.
    func removing() throws(Failure) -> SlotSelection {
        var removing = removed
        if let question { removing.passphrases += try question.answer() }
        return removing
    }

    /// To be called before slots that were not meant are lost. A passphrase slot among them may be the one that a
    /// mistyped passphrase was to remove.
    ///
    /// - Parameter number: The number of the question whose answer was tried.
    /// - Throws: `AskedAgain` if the user may type the passphrase again.
    func check(loss slots: [SlotDescription], after number: Int?) throws {
        guard let question, let number, slots.contains(where: { $0.kind == .passphrase }),
            question.asksAgain(after: number)
        else { return }
        throw AskedAgain()
    }

    /// The change of a container's slots.
    func change() throws(Failure) -> KeyChange {
        KeyChange(adding: try recipients(), removing: try removing())
    }

    private init() {}

    /// - Parameters:
    ///   - more: What else gets a slot.
    ///   - opening: The keys that open. They must have been read already: the first lines of a descriptor are theirs.
    init(
        _ options: KeyChangeOptions, adding more: [KeyArgument] = [], opening: RunKeys, _ keyring: KeyringSession
    ) throws(Failure) {
        isHidden = options.anonymous
        // VAULTFILE_UNLOCK stays set for many runs. In a run that does not need the keyring it must not take a line
        // that is meant for --add or --remove.
        if keyring.unlocker.isNamedOnLine || keyring.exists && (opening.usesKeyring || options.usesKeyring) {
            try keyring.unlocker.takeLines(before: options.remove + options.add)
        }
        // Passphrases are asked for in this order, and the old one comes before the new one.
        for argument in options.removed { try remove(argument, keyring) }
        for argument in options.added + more { added += try keyring.secrets(argument, for: .sealing) }
        try keyring.refuseRetired(added.keys)
    }

    private mutating func remove(_ argument: KeyArgument, _ keyring: KeyringSession) throws(Failure) {
        // To remove a slot by its ID, neither a secret nor the keyring is needed.
        if let id = argument.id {
            removed.ids.insert(id)
        } else if argument.source == .others {
            removed.others = true
        } else if argument.source == .passphrase {
            guard question == nil else { return }
            question = PassphraseQuestion(.removing, keyring.reader)
            _ = try question?.answer()
        } else if let entry = try keyring.entry(argument), entry.state == .destroyed, let id = entry.id {
            removed.ids.insert(id)
        } else {
            for secret in try keyring.secrets(argument, for: .removing) {
                removed.insert(secret)
                removedSecrets.append(secret)
                removedWords.append(argument.subject.escaped)
            }
        }
    }
}
