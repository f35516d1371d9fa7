internal import Synchronization
internal import VaultFile

// Public keys and identities. Each file and each command is read once per run.
extension KeyringSession {
    /// All that one word names: a file of public keys or identities has several.
    func secrets(_ argument: KeyArgument, for purpose: SecretPurpose) throws(Failure) -> [Secret] {
        switch argument.source {
        case .recipient(let text): return try publicKeys(text, argument).map(Secret.publicKey)
        case .recipientsFile(let path):
            return try once(argument) { () throws(Failure) in
                try publicKeys(in: path).map(Secret.publicKey)
            }
        case .identityFile, .identityCommand:
            return try once(argument) { () throws(Failure) in
                let identities = try identities(argument)
                return identities.enumerated().map { index, identity in
                    let number = identities.count > 1 ? " (\(index + 1))" : ""
                    return .identity(LoadedIdentity(identity: identity, name: argument.subject.escaped + number))
                }
            }
        default: return [try secret(argument, for: purpose)]
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

    /// The public key of a text, or those of a name.
    private func publicKeys(_ text: [UInt8], _ argument: KeyArgument) throws(Failure) -> [PublicKey] {
        if let mistake = argument.mistakeInRecipient { throw mistake }
        if !RecipientText.isKey(text), let name = KeyName(bytes: text) {
            return try publicKeys(named: name, argument)
        }
        do {
            return [try PublicKey(String(decoding: text, as: UTF8.self))]
        } catch {
            var failure = Failure(error, about: argument.subject)
            failure.hint = RecipientText.isSSHLine(text) ? .sshKeysThatDecrypt : argument.hintAtFileOfRecipients
            throw failure
        }
    }

    /// The public keys that a name stands for.
    private func publicKeys(named name: KeyName, _ argument: KeyArgument) throws(Failure) -> [PublicKey] {
        throw Failure(
            .noKey, argument.subject, "'\(name)' is not a public key, and the keyring has none of this name",
            hint: argument.hintAtFileOfRecipients)
    }

    private func publicKeys(in path: PathArgument) throws(Failure) -> [PublicKey] {
        try reader.attempt(about: path.subject) { subject in
            // An identity may be there by mistake.
            let text = try reader.contents(of: path, atMost: SecretText.longestIdentityFile)
            do {
                let file = try text.withBytes { try RecipientFile($0) }
                for line in file.skipped {
                    console.warn(subject, "line \(line.number) is passed over: \(line.reason)")
                }
                // To leave one out would lock its owner out.
                if let plugin = file.pluginRecipients.first?.plugin {
                    throw Failure(code: .badKey, subject, "recipients of age plugins are not supported: '\(plugin)'")
                }
                return file.publicKeys
            } catch let error as VaultError {
                var failure = Failure(error, about: subject)
                failure.hint = try text.withBytes { KnownFormats.hint(forRecipients: $0) }
                throw failure
            }
        }
    }

    // MARK: Identities

    private func identities(_ argument: KeyArgument) throws(Failure) -> [Identity] {
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
    private func identities(inContainer container: [UInt8], _ subject: Failure.Subject) throws -> [Identity] {
        let keys = try RunKeys(defaultsOf: self)
        return try ContainerKeys.tries {
            ContainerKeys(keys, on: subject) { try? Inspection(MemorySource(container)) }
        } _: {
            try withoutPlugins(IdentityFile(inContainer: MemorySource(container), with: Credentials($0)), subject)
        }
    }

    private func identities(in text: Span<UInt8>, _ subject: Failure.Subject) throws -> [Identity] {
        let file: IdentityFile
        do {
            file = try IdentityFile(text)
        } catch {
            var failure = Failure(error, about: subject)
            failure.hint = KnownFormats.hint(forIdentities: text, error.message)
            throw failure
        }
        return try withoutPlugins(file, subject)
    }

    /// The identities that need no plugin. (The place for those that do.)
    private func withoutPlugins(_ file: IdentityFile, _ subject: Failure.Subject) throws(Failure) -> [Identity] {
        guard let plugin = file.pluginIdentities.first?.plugin else { return file.identities }
        let reason = "identities of age plugins are not supported: '\(plugin)'"
        guard !file.identities.isEmpty else { throw Failure(code: .badKey, subject, reason) }
        console.warn(subject, reason)
        return file.identities
    }
}
