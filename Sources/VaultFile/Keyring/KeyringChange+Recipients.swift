public import VaultFormat
public import VaultStream

// Recipients, identities and groups (KEYRING-16, KEYRING-19).
extension KeyringChange {
    /// Adds someone to encrypt to.
    ///
    /// - Parameters:
    ///   - recipient: their public key.
    ///   - name: what people call them.
    ///   - created: when it was added, to the second.
    /// - Throws: `VaultError` with `keyExists` if the keyring has them, even `former`, or has their identity, even
    ///   destroyed; `keyNameTaken` if the name is taken; `invalidArgument` if the year does not have four digits, or
    ///   there are too many keys.
    @discardableResult
    public mutating func add(
        _ recipient: PublicKey, named name: KeyName, created: Timestamp
    ) throws(VaultError) -> KeyringEntry {
        try add(.publicKey(recipient), named: name, created: created)
    }

    /// Adds someone to encrypt to, also one whose key a plugin holds.
    ///
    /// - Parameters:
    ///   - recipient: their public key, or the plugin's recipient.
    ///   - name: what people call them.
    ///   - created: when it was added, to the second.
    /// - Throws: as for a public key.
    @discardableResult
    public mutating func add(
        _ recipient: RecipientFile.Entry, named name: KeyName, created: Timestamp
    ) throws(VaultError) -> KeyringEntry {
        let entry = try Self.entry(recipient, .recipient, name, created)
        try checkNew(entry)
        append(KeyringText.Item(entry, .none))
        return entry
    }

    /// Adds an identity. If the keyring has its recipient, the line of the recipient becomes that of the identity, with
    /// its name and its time.
    ///
    /// - Parameters:
    ///   - identity: the private key.
    ///   - name: what people call it.
    ///   - created: when it was made, to the second.
    /// - Returns: its entry.
    /// - Throws: `VaultError` with `keyExists` if the keyring has it, even destroyed; `keyNameTaken` if the name is
    ///   taken; `invalidArgument` if the year does not have four digits, or there are too many keys.
    @discardableResult
    public mutating func add(
        _ identity: Identity, named name: KeyName, created: Timestamp
    ) throws(VaultError) -> KeyringEntry {
        let new = try Self.entry(.publicKey(identity.publicKey), .identity, name, created)
        return try addIdentity(new, .newIdentity(identity))
    }

    /// Adds the identity of a plugin. Its first known recipient becomes the recipient of the entry; without one, the
    /// entry has no ID.
    ///
    /// - Parameters:
    ///   - identity: the identity.
    ///   - name: what people call it.
    ///   - created: when it was made, to the second.
    /// - Returns: its entry.
    /// - Throws: as for an identity; `keyExists` also if the keyring has it under another recipient, or without one. A
    ///   destroyed identity without an ID has left no line, and is not recognised.
    @discardableResult
    public mutating func add(
        _ identity: PluginIdentity, named name: KeyName, created: Timestamp
    ) throws(VaultError) -> KeyringEntry {
        try checkNew(identity)
        let recipient = identity.knownRecipients.first.map(RecipientFile.Entry.plugin)
        return try addIdentity(Self.entry(recipient, .identity, name, created), .newPluginIdentity(identity))
    }

    /// Refuses a plugin's identity that has a line. With two lines it would still open after one of them is destroyed.
    private func checkNew(_ identity: PluginIdentity) throws(VaultError) {
        for item in items where item.entry.state == .identity && item.entry.publicKey == nil {
            let known: PluginIdentity?
            switch item.secret {
            case .newPluginIdentity(let new): known = new
            case .kept: known = try keyring.text.pluginIdentity(item.entry)
            default: known = nil
            }
            guard known?.mark != identity.mark else {
                throw VaultError(.keyExists, "the keyring has this identity already, as \(item.entry.name)")
            }
        }
    }

    private mutating func addIdentity(
        _ new: KeyringEntry, _ secret: KeyringText.Source
    ) throws(VaultError) -> KeyringEntry {
        let known = entries.first { $0.id != nil && $0.id == new.id && [.recipient, .former].contains($0.state) }
        guard let known else {
            try checkNew(new)
            append(KeyringText.Item(new, secret))
            return new
        }
        let entry = known.inState(.identity)
        try replace(known.name, by: KeyringText.Item(entry, secret))
        return entry
    }

    /// Adds a new random identity.
    ///
    /// - Parameters:
    ///   - kind: `xWing`, which a quantum computer does not break, or `x25519`.
    ///   - name: what people call it.
    ///   - created: when it was made, to the second.
    /// - Throws: `VaultError` with `keyNameTaken`, `invalidArgument`, `memoryUnavailable`; `badKey` for another kind, or
    ///   if this build or system has no X-Wing.
    @discardableResult
    public mutating func generateIdentity(
        _ kind: SlotDescription.Kind = .xWing, named name: KeyName, created: Timestamp
    ) throws(VaultError) -> KeyringEntry {
        try add(Identity.generate(kind), named: name, created: created)
    }

    /// Makes a group, or gives one other members.
    ///
    /// - Parameters:
    ///   - name: the group's name.
    ///   - members: the names of recipients and identities of the keyring. They may be `former`.
    ///   - created: when a new group was made, to the second.
    /// - Returns: its entry.
    /// - Throws: `VaultError` with `keyNameTaken` if the name is that of something else, `noSuchKey` if a member is not
    ///   there, `invalidArgument` if a member is no recipient and no identity, for no members, for one that is named
    ///   twice, if the year does not have four digits, or if there are too many keys.
    @discardableResult
    public mutating func setGroup(
        _ name: KeyName, members: [KeyName], created: Timestamp
    ) throws(VaultError) -> KeyringEntry {
        guard !members.isEmpty, Set(members).count == members.count else {
            throw VaultError(.invalidArgument, "a group has at least one member, and each once")
        }
        for member in members {
            guard let entry = entries.first(where: { $0.name == member }) else {
                throw VaultError(.noSuchKey, "\(member) is not in the keyring")
            }
            guard entry.canBeMember else {
                throw VaultError(.invalidArgument, "\(member) is no recipient and no identity")
            }
        }
        if let known = entries.first(where: { $0.name == name && $0.state == .group }) {
            let entry = known.with(members: members)
            if entry != known { try replace(name, by: KeyringText.Item(entry, .none)) }
            return entry
        }
        let entry = KeyringEntry(
            id: nil, name: name, created: try Self.second(of: created), state: .group, recipient: nil, members: members)
        try checkNew(entry)
        append(KeyringText.Item(entry, .none))
        return entry
    }

    /// Removes a group. Its members stay.
    ///
    /// - Throws: `VaultError` with `noSuchKey` if there is no group of this name.
    public mutating func removeGroup(_ name: KeyName) throws(VaultError) {
        guard entries.contains(where: { $0.name == name && $0.state == .group }) else { throw .noSuchKey }
        try remove(name)
    }

    private static func entry(
        _ recipient: RecipientFile.Entry?, _ state: KeyringEntry.State, _ name: KeyName, _ created: Timestamp
    ) throws(VaultError) -> KeyringEntry {
        KeyringEntry(
            id: recipient?.keyringID, name: name, created: try second(of: created), state: state, recipient: recipient)
    }
}
