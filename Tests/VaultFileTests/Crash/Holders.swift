import VaultFile
import VaultTestSupport

/// The keys that open a container, by number: symmetric keys, and from 150 on what is dearer.
typealias Holders = Set<UInt8>

extension Set<UInt8> {
    static let firstX25519: UInt8 = 150
    static let firstXWing: UInt8 = 160
    static let firstPlugin: UInt8 = 170
    static let firstPassphrase: UInt8 = 200

    enum Holder: Sendable {
        case key(SymmetricKey)
        case identity(Identity)
        case plugin(PluginIdentity)
        case passphrase(Passphrase)
    }

    /// Made only once, because guarded memory costs system calls.
    private static let keys = (0..<firstX25519).map { testKey($0 == 0 ? 255 : $0) }
    private static let identities: [UInt8: Identity] = {
        var made: [UInt8: Identity] = [:]
        do {
            for number in firstX25519..<firstX25519 + 3 { made[number] = try testIdentity(.x25519, number) }
            #if PublicKeys
            for number in firstXWing..<firstXWing + 3 { made[number] = try testIdentity(.xWing, number) }
            #endif
        } catch {
            fatalError("\(error)")
        }
        return made
    }()
    private static let plugins: [PluginIdentity] = {
        do {
            return try StandIn.texts.map {
                try PluginIdentity(text: [UInt8]($0.1.utf8).span, knownRecipients: [PluginRecipient($0.0)])
            }
        } catch {
            fatalError("\(error)")
        }
    }()

    /// The first numbers of the recipients whose slots are of types 3, 4 and 5, as far as this build has them.
    static let kindsOfRecipients: [UInt8] = [firstX25519, firstXWing, firstPlugin].filter {
        $0 != firstXWing || identities[$0] != nil
    }

    static func key(_ number: UInt8) -> SymmetricKey { keys[Int(number)] }

    static func passphrase(_ number: UInt8) -> Passphrase { testPassphrase("passphrase \(number)") }

    static func pluginRecipient(_ number: UInt8) -> PluginRecipient {
        plugins[Int(number - firstPlugin)].knownRecipients[0]
    }

    static func holder(_ number: UInt8) -> Holder {
        if number >= firstPassphrase { return .passphrase(passphrase(number)) }
        if number >= firstPlugin { return .plugin(plugins[Int(number - firstPlugin)]) }
        if let identity = identities[number] { return .identity(identity) }
        return .key(key(number))
    }

    private var holders: [Holder] { sorted().map { Self.holder($0) } }

    var keySet: HolderKeys {
        let holders = holders
        return HolderKeys(
            set: KeySet(
                keys: holders.compactMap { if case .key(let key) = $0 { key } else { nil } },
                passphrases: holders.compactMap {
                    if case .passphrase(let passphrase) = $0 { passphrase } else { nil }
                },
                identities: holders.compactMap { if case .identity(let identity) = $0 { identity } else { nil } }),
            plugins: holders.compactMap { if case .plugin(let identity) = $0 { identity } else { nil } },
            numbers: self)
    }

    /// The least stretching that writers use.
    static let cheap = Argon2Parameters(passes: 2, memoryKiB: 19 << 10)

    /// The recipient that makes each key's slot. Those of plugins are good for one container.
    var recipients: [Recipient] {
        sorted().map { number in
            switch Self.holder(number) {
            case .key(let key): .key(key)
            case .identity(let identity): .publicKey(identity.publicKey)
            case .plugin: Self.wrapped(number)
            case .passphrase(let passphrase): .passphrase(passphrase, Self.cheap)
            }
        }
    }

    /// The slots of the keys.
    var selection: SlotSelection {
        var selection = SlotSelection.none
        for number in sorted() {
            switch Self.holder(number) {
            case .key(let key): selection.ids.insert(key.id)
            case .identity(let identity): selection.publicKeys.append(identity.publicKey)
            case .plugin: selection.pluginRecipients.append(Self.pluginRecipient(number))
            case .passphrase(let passphrase): selection.passphrases.append(passphrase)
            }
        }
        return selection
    }

    // MARK: The plugin

    /// What the plugin makes, which hides nothing: the number of the recipient, and the secret.
    static func stanzas(_ number: UInt8, _ secret: [UInt8]) -> [AgeStanza] {
        [AgeStanza(["stand", "\(number)"], body: secret)].compactMap { $0 }
    }

    private static func wrapped(_ number: UInt8) -> Recipient {
        do {
            let secret = try StanzaSecret.generate()
            return .stanzas(
                try WrappedStanzas(
                    secret, in: stanzas(number, secret.withBytes { [UInt8](copying: $0) }),
                    for: pluginRecipient(number), labels: []))
        } catch {
            fatalError("\(error)")
        }
    }
}

/// The secrets of holders, and the plugin of those who have one.
struct HolderKeys: KeyProvider {
    fileprivate let set: KeySet
    fileprivate let plugins: [PluginIdentity]
    fileprivate let numbers: Holders

    func symmetricKeys(for ids: [KeyID]) -> [SymmetricKey] { set.symmetricKeys(for: ids) }
    func passphrases() -> [Passphrase] { set.passphrases() }
    func identities() -> [Identity] { set.identities() }
    func pluginIdentities() -> [PluginIdentity] { plugins }

    func secrets(
        in slots: [[AgeStanza]], by plugin: String, with identities: [PluginIdentity]
    ) throws -> [StanzaSecret?] {
        try slots.map { stanzas in
            guard let stanza = stanzas.first, let number = stanza.arguments.last.flatMap({ UInt8($0) }),
                numbers.contains(number)
            else { return nil }
            return try StanzaSecret(bytes: stanza.body.span)
        }
    }
}
