internal import SystemPackage
internal import VaultFile

/// What opens a container, or gets a slot: a key, a passphrase, an identity; also a public key, which is no secret and
/// opens nothing. This file has what the command does differently for each kind: reading it, the slot that is made for
/// it, and the slots that it removes. `ContainerKeys` and `KeyringUnlocker` give it to the library.
enum Secret: Sendable {
    case key(LoadedKey)
    case passphrase(Passphrase)
    case identity(LoadedIdentity)
    case publicKey(PublicKey)
    case plugin(LoadedPlugin)

    /// The key and its source; nil for anything else.
    var key: LoadedKey? {
        if case .key(let key) = self { key } else { nil }
    }

    /// The passphrase; nil for anything else.
    var passphrase: Passphrase? {
        if case .passphrase(let passphrase) = self { passphrase } else { nil }
    }

    /// The identity and its source; nil for anything else.
    var identity: LoadedIdentity? {
        if case .identity(let identity) = self { identity } else { nil }
    }

    /// The public key, also that of an identity; nil for anything else.
    var publicKey: PublicKey? {
        switch self {
        case .identity(let identity): identity.publicKey
        case .publicKey(let key): key
        case .key, .passphrase, .plugin: nil
        }
    }

    /// The recipient or identity of a plugin; nil for anything else.
    var plugin: LoadedPlugin? {
        if case .plugin(let plugin) = self { plugin } else { nil }
    }

    /// Whether it opens something.
    var opens: Bool {
        switch self {
        case .publicKey: false
        case .plugin(let plugin): plugin.identity != nil
        default: true
        }
    }

    /// The recipient that gets a slot of one container for this secret.
    ///
    /// - Parameter isHidden: Whether the slot of a public key hides whose it is.
    func recipient(isHidden: Bool) throws(Failure) -> Recipient {
        switch self {
        case .key(let key): return .key(key.key)
        case .passphrase(let passphrase): return .passphrase(passphrase)
        case .identity(let identity): return .identity(identity.identity, isHidden: isHidden)
        case .publicKey(let key): return .publicKey(key, isHidden: isHidden)
        case .plugin(let plugin):
            do {
                return .stanzas(try plugin.next(), isHidden: isHidden)
            } catch {
                var failure = Failure(error, about: .text(plugin.name))
                // No consent helps with a label that is not known.
                if failure.error == .mixedRecipients { failure.hint = .silent }
                throw failure
            }
        }
    }
}

/// A symmetric key and where it came from.
struct LoadedKey: Sendable {
    let key: SymmetricKey
    /// What messages call it.
    let source: Failure.Subject
    /// When it was made, if known.
    let created: Timestamp?

    var id: KeyID { key.id }
}

/// An identity and where it came from.
struct LoadedIdentity: Sendable {
    let identity: Identity
    /// What messages call it: the file, and its number there if the file has several.
    let name: String

    var publicKey: PublicKey { identity.publicKey }
}

extension PublicKey {
    /// Its text for a message. That of a post-quantum key has two thousand characters.
    var shortText: String { text.count <= 80 ? text : text.prefix(24) + "…" }
}

extension SlotSelection {
    /// Adds the slots of a secret. An identity also names the hidden slots that it opens.
    mutating func insert(_ secret: Secret) {
        switch secret {
        case .key(let key): ids.insert(key.id)
        case .passphrase(let passphrase): passphrases.append(passphrase)
        case .identity(let identity): identities.append(identity.identity)
        case .publicKey(let key): publicKeys.append(key)
        case .plugin(let plugin):
            if let identity = plugin.identity {
                pluginIdentities.append(identity)
            } else if let recipient = plugin.recipient {
                pluginRecipients.append(recipient)
            }
        }
    }
}

extension [Secret] {
    var keys: [LoadedKey] { compactMap(\.key) }
    var passphrases: [Passphrase] { compactMap(\.passphrase) }
    var identities: [LoadedIdentity] { compactMap(\.identity) }
    /// The public keys, also those of identities.
    var publicKeys: [PublicKey] { compactMap(\.publicKey) }

    /// The recipients and identities of plugins.
    var plugins: [LoadedPlugin] { compactMap(\.plugin) }
    /// What messages call the identities, also those of plugins.
    var identityNames: [String] {
        identities.map(\.name) + plugins.compactMap { $0.identity == nil ? nil : $0.name }
    }

    /// Refuses `--anonymous` if nothing here can be hidden: slots of keys show their IDs.
    func checkHidden() throws(Failure) {
        guard publicKeys.isEmpty, plugins.isEmpty else { return }
        throw .usage("--anonymous", "hides slots of public keys, and none was given")
    }

    /// How many different ones there are: each gets a slot.
    var countOfDifferent: Int {
        let different = passphrases.reduce(into: [Passphrase]()) { if !$0.contains($1) { $0.append($1) } }
        return Set(keys.map(\.id)).count + different.count + Set(publicKeys).count + Set(plugins.map(\.mark)).count
    }

    /// Without a plugin's recipient that is named again: the plugin would wrap for nothing.
    var withPluginsOnce: [Secret] {
        var seen: Set<String> = []
        return filter { $0.plugin.map { seen.insert($0.mark).inserted } ?? true }
    }

    /// The recipients that get a slot each: what is cheap to try comes first.
    ///
    /// - Parameter isHidden: Whether the slots of public keys hide whose they are.
    func recipients(isHidden: Bool) throws(Failure) -> [Recipient] {
        let secrets = withPluginsOnce
        let (keys, others) = (secrets.filter { $0.key != nil }, secrets.filter { $0.key == nil })
        let (passphrases, publicKeys) = (others.filter { $0.passphrase != nil }, others.filter { $0.passphrase == nil })
        var recipients: [Recipient] = []
        for secret in keys + publicKeys + passphrases { recipients.append(try secret.recipient(isHidden: isHidden)) }
        return recipients
    }
}

extension SecretReader {
    /// Reads what `argument` names.
    func read(_ argument: KeyArgument, for purpose: SecretPurpose) throws(Failure) -> Secret {
        try attempt(about: argument.subject) { subject in
            switch argument.source {
            case .file(let path):
                return .key(try LoadedKey(contents(of: path, holding: "key", tooLong: .badKey), from: subject))
            case .command(let command): return .key(try LoadedKey(printed(by: command, subject), from: subject))
            case .passphrase: return .passphrase(try ask(for: purpose))
            case .passphraseFile(let path):
                return .passphrase(try contents(of: path, holding: "passphrase").passphrase())
            case .passphraseDescriptor(let number):
                return .passphrase(try SecretText(lineFrom: FileDescriptor(rawValue: number)).passphrase())
            case .named:
                throw Failure.usage(
                    argument.option, "names a key of the keyring, which cannot unlock that keyring",
                    hint: argument.hintAtFile ?? .unlockWord)
            case .recipient, .recipientsFile, .identityFile, .identityCommand, .identityText, .others, .unprotected,
                .fileAlone, .unknown:
                throw argument.refusal
            }
        }
    }
}

extension LoadedKey {
    /// Reads the key in the text of a key file.
    init(_ text: borrowing SecretText, from source: Failure.Subject) throws {
        self.source = source
        (key, created) = try text.withBytes { bytes in
            do {
                return (try SymmetricKey(keyFile: bytes), SymmetricKey.creationTime(inKeyFile: bytes))
            } catch let error as VaultError where error.code == .badKey {
                guard let trouble = KnownFormats.trouble(ofKeyFile: bytes) else { throw error }
                throw Failure(code: .badKey, source, trouble, hint: KnownFormats.hint(forKeyFile: bytes))
            }
        }
    }
}

/// What a secret is read for, which decides how a passphrase is asked for.
struct SecretPurpose: Hashable, Sendable {
    /// Whether it gets a slot. Then a passphrase is asked for twice, and a retired key is refused.
    let makesSlot: Bool
    /// What the question for a passphrase names, if there is one such thing.
    var subject: String?
    /// The hint if there is no terminal to ask on.
    var withoutTerminal = Hint.passphraseWithoutTerminal

    static let opening = SecretPurpose(makesSlot: false)
    static let sealing = SecretPurpose(makesSlot: true)
    static let removing = SecretPurpose(makesSlot: false, subject: "the slot to be removed")
    static let unlocking = SecretPurpose(
        makesSlot: false, subject: "the keyring", withoutTerminal: .unlockingWithoutTerminal)
    static let settingUnlocker = SecretPurpose(
        makesSlot: true, subject: "the keyring", withoutTerminal: .newUnlockerWithoutTerminal)
    static let unlockingStore = SecretPurpose(
        makesSlot: false, subject: "the store", withoutTerminal: .storeWithoutTerminal)
    static let settingStoreUnlocker = SecretPurpose(
        makesSlot: true, subject: "the store", withoutTerminal: .newStoreUnlockerWithoutTerminal)

    /// To open one container.
    ///
    /// - Parameter hasKeys: Whether keys open it too.
    static func opening(_ subject: Failure.Subject, hasKeys: Bool) -> SecretPurpose {
        SecretPurpose(
            makesSlot: false, subject: subject.escaped,
            withoutTerminal: hasKeys ? .giveKeyOrPassphrase : .passphraseWithoutTerminal)
    }
}
