internal import Synchronization
internal import VaultFile

// Public keys and identities. Each file and each command is read once per run.
extension KeyringSession {
    /// All that one word names: a file of public keys or identities has several.
    func secrets(_ argument: KeyArgument, for purpose: SecretPurpose) throws(Failure) -> [Secret] {
        switch argument.source {
        case .recipient(let text):
            return try once(argument) { () throws(Failure) in try recipients(text, argument) }
        case .recipientsFile(let path):
            return try once(argument) { () throws(Failure) in try recipients(in: path).map(secret) }
        case .identityFile, .identityCommand:
            return try once(argument) { () throws(Failure) in
                let identities = try identities(argument)
                return identities.enumerated().map { index, entry in
                    let name = argument.subject.escaped + (identities.count > 1 ? " (\(index + 1))" : "")
                    switch entry {
                    case .identity(let identity): return .identity(LoadedIdentity(identity: identity, name: name))
                    case .plugin(let identity): return .plugin(LoadedPlugin(identity, name: name, plugins))
                    }
                }
            }
        case .named(let name) where !argument.isOfKeys:
            guard let entry = try entry(argument), entry.canBeRecipient, let name = KeyName(name) else {
                return [try secret(argument, for: purpose)]
            }
            // Those who have left are removed by their name, and get nothing by it. An identity finds hidden slots too.
            return try recipients(named: name, argument, removing: !purpose.makesSlot)
        default: return [try secret(argument, for: purpose)]
        }
    }

    /// Recipients of the keyring.
    func secrets(of entries: [KeyringEntry]) -> [Secret] { entries.compactMap(\.recipient).map(secret) }

    private func secret(_ entry: RecipientFile.Entry) -> Secret {
        switch entry {
        case .publicKey(let key): .publicKey(key)
        case .plugin(let recipient):
            .plugin(
                pluginRecipients.withLock { known in
                    let plugin = known[recipient.text] ?? LoadedPlugin(recipient, name: recipient.text, plugins)
                    known[recipient.text] = plugin
                    return plugin
                })
        }
    }

    private func once(
        _ argument: KeyArgument, _ read: () throws(Failure) -> [Secret]
    ) throws(Failure) -> [Secret] {
        if let secrets = several.withLock({ $0[argument.source] }) { return secrets }
        let secrets = try read()
        several.withLock { $0[argument.source] = secrets }
        return secrets
    }

    // MARK: Public keys

    /// The recipient of a text, or those of a name.
    private func recipients(_ text: [UInt8], _ argument: KeyArgument) throws(Failure) -> [Secret] {
        if let mistake = argument.mistakeInRecipient { throw mistake }
        if !RecipientText.isKey(text), let name = KeyName(bytes: text) {
            return try recipients(named: name, argument)
        }
        if let id = KeyID(hex: String(decoding: text, as: UTF8.self)) {
            guard exists, let entry = try entry(id.description), entry.canBeRecipient else {
                throw Failure(
                    .noKey, argument.subject, "the keyring has no recipient and no identity with this ID",
                    hint: .listKeys)
            }
            return try recipients(named: entry.name, argument)
        }
        do {
            return [secret(try RecipientFile.Entry(String(decoding: text, as: UTF8.self)))]
        } catch {
            var failure = Failure(error, about: argument.subject)
            failure.hint = RecipientText.isSSHLine(text) ? .sshKeysThatDecrypt : argument.hintAtFileOfRecipients
            throw failure
        }
    }

    /// The recipients of a name. If only a plugin knows one of them, this gives the plugin's identity instead: its slot
    /// is hidden (PLUG-6).
    ///
    /// - Parameter isRemoving: Whether their slots are removed: also those of former recipients. Identities then stand for
    ///   themselves.
    private func recipients(
        named name: KeyName, _ argument: KeyArgument, removing isRemoving: Bool = false
    ) throws(Failure) -> [Secret] {
        let keyring = try exists ? open() : nil
        guard let keyring, let entries = try? keyring.recipients(named: name, includingFormer: isRemoving) else {
            throw Failure(
                .noKey, argument.subject, "'\(name)' is not a public key, and the keyring has none of this name",
                hint: argument.hintAtFileOfRecipients ?? .importRecipient(name))
        }
        guard !entries.isEmpty else {
            let isGroup = keyring.entries.contains { $0.name == name && $0.state == .group }
            throw Failure(
                .usage, argument.subject,
                isGroup
                    ? "all members of '\(name)' are former, and nothing is encrypted to them"
                    : "'\(name)' is former, and nothing is encrypted to it", hint: .useRecipient)
        }
        return try entries.map { entry throws(Failure) in
            if isRemoving || entry.recipient == nil, let own = try identity(of: entry, in: keyring) { return own }
            guard let recipient = entry.recipient else {
                // A post-quantum identity on a system without X-Wing.
                throw Failure(.unsupported, entry.subject, "its recipient is not known")
            }
            return secret(recipient)
        }
    }

    /// The identity of an entry; nil for one without, and for one that this build or system cannot use.
    private func identity(of entry: KeyringEntry, in keyring: Keyring) throws(Failure) -> Secret? {
        guard entry.state == .identity else { return nil }
        let name = entry.subject.escaped
        do throws(VaultError) {
            if entry.publicKey == nil {
                return .plugin(LoadedPlugin(try keyring.pluginIdentity(named: entry.name), name: name, plugins))
            }
            return .identity(LoadedIdentity(identity: try keyring.identity(named: entry.name), name: name))
        } catch {
            if error.code == .badKey { return nil }
            throw Failure(error, about: entry.subject)
        }
    }

    /// The recipients in a file. Warns of lines that are passed over.
    func recipients(in path: PathArgument) throws(Failure) -> [RecipientFile.Entry] {
        try reader.attempt(about: path.subject) { subject in
            // An identity may be there by mistake.
            let text = try reader.contents(of: path, atMost: SecretText.longestIdentityFile)
            do {
                let file = try text.withBytes { try RecipientFile($0) }
                for line in file.skipped {
                    console.warn(subject, "line \(line.number) is passed over: \(line.reason)")
                }
                return file.entries
            } catch let error as VaultError {
                var failure = Failure(error, about: subject)
                failure.hint = try text.withBytes { KnownFormats.hint(forRecipients: $0) }
                throw failure
            }
        }
    }

    // MARK: Identities

    private func identities(_ argument: KeyArgument) throws(Failure) -> [IdentityFile.Entry] {
        try reader.attempt(about: argument.subject) { subject in
            let text: SecretText
            switch argument.source {
            case .identityFile(let path):
                text = try reader.contents(
                    of: path, holding: "identity", tooLong: .badKey, atMost: SecretText.longestIdentityFile
                ) { KnownFormats.keyHolder($0) == nil }
            case .identityCommand(let command):
                text = try reader.printed(by: command, subject, atMost: SecretText.longestIdentityFile)
            default: throw argument.refusal
            }
            // What a container holds is no secret before it is decrypted.
            let container = try text.withBytes { bytes in
                bytes.starts(with: Vault.beginning) ? bytes.indices.map { bytes[$0] } : nil
            }
            guard let container else { return try text.withBytes { try identities(in: $0, subject) } }
            return try identities(inContainer: container, subject)
        }
    }

    /// The identities in a container, which is opened with the defaults: the keyring, or a passphrase that is asked for.
    private func identities(
        inContainer container: [UInt8], _ subject: Failure.Subject
    ) throws -> [IdentityFile.Entry] {
        let keys = try RunKeys(defaultsOf: self)
        return try ContainerKeys.tries {
            ContainerKeys(keys, on: subject) { try? Inspection(MemorySource(container)) }
        } _: {
            try IdentityFile(inContainer: MemorySource(container), with: Credentials($0)).entries
        }
    }

    private func identities(in text: Span<UInt8>, _ subject: Failure.Subject) throws -> [IdentityFile.Entry] {
        do {
            return try IdentityFile(text).entries
        } catch {
            var failure = Failure(error, about: subject)
            failure.hint = KnownFormats.hint(forIdentities: text, error.message)
            throw failure
        }
    }
}
