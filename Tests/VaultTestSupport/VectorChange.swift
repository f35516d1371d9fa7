package import SystemPackage
package import VaultFile

package struct Misread: Error { let line: String }

extension Vector {
    /// Makes the change of the vector, and returns the resulting header as the library reports it.
    ///
    /// - Parameter header: where the header file is that the caller gives, or where it goes.
    package func change(
        _ path: FilePath, header: FilePath = "header", limits: OpenLimits
    ) throws -> HeaderSummary {
        var credentials = try credentials()
        credentials.limits = limits
        let recipients = try values("add").map { try recipient($0) }
        // The secret for a plugin is drawn before the plugin wraps it.
        let isDrawn = recipients.contains(where: \.isOfPlugin)
        let random = Randomness.stream([UInt8](bytes("random")?.dropFirst(isDrawn ? StanzaSecret.byteCount : 0) ?? []))
        let removing = try selection()
        let hasConsent = value("consent") == "yes"
        let mayMix = value("mixed") == "yes"
        if value("operation") == "reencrypt" {
            var options = ReencryptionOptions()
            options.dropping = removing
            options.headerFile = headerFile.map { _ in .path(header) }
            credentials.headerFile = nil
            options.mayLoseSlots = hasConsent
            options.mayMixRecipients = mayMix
            return try Vault.reencrypt(
                at: .path(path), for: recipients, with: credentials, options: options, randomness: random
            ).header
        }
        var options = RotationOptions()
        options.keeping = try value("keep").map { line in
            guard let place = HeaderPlace(rawValue: line) else { throw Misread(line: line) }
            return place
        }
        options.mayLoseAccess = hasConsent
        options.mayMixRecipients = mayMix
        switch value("operation") {
        case "rotate":
            return try Vault.rotate(
                at: .path(path), KeyChange(adding: recipients, removing: removing), with: credentials,
                options: options, randomness: random
            ).header
        case "rotate-header":
            return try Vault.rotateHeaderFile(
                at: .path(path), KeyChange(adding: recipients, removing: removing), with: credentials,
                options: options, randomness: random
            ).header
        case "detach":
            credentials.headerFile = nil
            return try Vault.detach(
                at: path, to: header, with: credentials, mayLoseSlots: hasConsent, options: options
            ).rotation.header
        case "attach":
            credentials.headerFile = nil
            return try Vault.attach(at: path, from: header, with: credentials, options: options).header
        case "repair":
            return try Vault.repair(
                at: .path(path), with: credentials, options: options, randomness: random
            ).header
        default:
            throw Misread(line: value("operation") ?? "")
        }
    }

    /// Rotates a header file in memory.
    package func rotatedHeaderFile() throws -> HeaderFile.Rotated {
        let change = KeyChange(adding: try values("add").map { try recipient($0) }, removing: try selection())
        let credentials = try credentials().with(change.adding, removing: change.removing)
        var trials = SlotTrials(credentials)
        return try HeaderFile(container).rotated(
            change, &trials, mayLoseAccess: value("consent") == "yes", mayMixRecipients: value("mixed") == "yes",
            randomness: .stream([UInt8](bytes("random") ?? [])))
    }

    private func recipient(_ line: String) throws -> Recipient {
        let isHidden = line.hasPrefix("hidden-")
        let words = line.dropFirst(isHidden ? "hidden-".count : 0).split(separator: " ", maxSplits: 1)
        guard words.count == 2 else { throw Misread(line: line) }
        switch words[0] {
        case "recipient":
            switch try RecipientFile.Entry(words[1]) {
            case .publicKey(let key): return .publicKey(key, isHidden: isHidden)
            case .plugin(let recipient): return .stanzas(try wrapped(for: recipient), isHidden: isHidden)
            }
        case "identity": return .identity(try Self.identity(words[1]), isHidden: isHidden)
        default: break
        }
        switch try added(line) {
        case .key(let key): return .key(key)
        case .passphrase(let passphrase, let cost): return .passphrase(passphrase, cost)
        case .identity, .publicHalf: throw Misread(line: line)
        }
    }

    /// What the vector's plugin makes for a recipient. The vectors with such a recipient have one new slot, so its secret
    /// is what the vector draws first.
    private func wrapped(for recipient: PluginRecipient) throws -> WrappedStanzas {
        let line = values("stanza-wrap").first { $0.hasPrefix("\(recipient) ") } ?? ""
        let words = line.split(separator: " ")
        let text = words.count > 2 ? [UInt8](hexDigits: words[2]) ?? [] : []
        let secret = try StanzaSecret(
            bytes: ([UInt8](bytes("random")?.prefix(16) ?? []) + [UInt8](repeating: 0, count: 16))
                .span.extracting(0..<16))
        let labels = words.count > 1 && words[1] != "-" ? Set(words[1].split(separator: ",").map(String.init)) : []
        return try WrappedStanzas(
            secret, in: AgeStanza.parse(text[...], atMost: .max) ?? [], for: recipient, labels: labels)
    }

    private static func identity(_ text: Substring) throws -> Identity {
        try Identity(text: [UInt8](text.utf8).span)
    }

    /// The identities that open the container after the change.
    package func resultOpeners() throws -> [Identity] {
        try values("result-opens").map { try Self.identity($0[...]) }
    }

    /// A secret that the change adds, or that the new container is for.
    package enum Added {
        case key(SymmetricKey)
        case passphrase(Passphrase, Argon2Parameters)
        case identity(Identity)
        /// A recipient whose identity the vector does not give.
        case publicHalf
    }

    /// Everything that the change adds, in order.
    package func added() throws -> [Added] {
        try values("add").map { try added($0) }
    }

    private func added(_ line: String) throws -> Added {
        let words = line.split(separator: " ")
        if words.count == 2, ["identity", "hidden-identity"].contains(words[0]) {
            return .identity(try Self.identity(words[1]))
        }
        if ["recipient", "hidden-recipient"].contains(words.first) { return .publicHalf }
        guard let kind = words.first, let secret = words.dropFirst().first.flatMap({ [UInt8](hexDigits: $0) }) else {
            throw Misread(line: line)
        }
        if kind == "key", words.count == 2 { return .key(try SymmetricKey(bytes: secret.span)) }
        guard kind == "passphrase", words.count == 4, let passes = UInt32(words[2]), let memory = UInt32(words[3])
        else { throw Misread(line: line) }
        return .passphrase(
            try Passphrase(bytes: secret.span), Argon2Parameters(passes: passes, memoryKiB: memory))
    }

    /// The identities that name slots for removal.
    package func removingIdentities() throws -> (keys: [Identity], plugins: [PluginIdentity]) {
        let selection = try selection()
        return (selection.identities, selection.pluginIdentities)
    }

    private func selection() throws -> SlotSelection {
        var selection = SlotSelection.none
        for line in values("remove") {
            let words = line.split(separator: " ")
            let bytes = words.dropFirst().first.flatMap { [UInt8](hexDigits: $0) }
            switch (words.first, bytes) {
            case ("recipient", _) where words.count > 1:
                switch try RecipientFile.Entry(words[1]) {
                case .publicKey(let key): selection.publicKeys.append(key)
                case .plugin(let recipient): selection.pluginRecipients.append(recipient)
                }
            case ("identity", _) where words.count > 1 && words[1].hasPrefix("AGE-PLUGIN-"):
                selection.pluginIdentities.append(try Self.pluginIdentity(Array(words.dropFirst())))
            case ("identity", _) where words.count > 1: selection.identities.append(try Self.identity(words[1]))
            case ("others", nil): selection.others = true
            case ("id", let bytes?):
                guard let id = KeyID(bytes: bytes) else { throw Misread(line: line) }
                selection.ids.insert(id)
            case ("passphrase", let bytes?): selection.passphrases.append(try Passphrase(bytes: bytes.span))
            default: throw Misread(line: line)
            }
        }
        return selection
    }
}
