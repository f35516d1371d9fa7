internal import VaultFile

/// The keys that a run tries on its containers. `ContainerKeys` tries them on one container.
///
/// If the command line names keys, identities or passphrases, only those are tried. Otherwise the defaults are tried: the key file
/// that the environment names, else the keys of the keyring; then a passphrase. The keyring is unlocked, and a
/// passphrase is asked for, once per run and only if a container has a slot for it. A rotation to the keyring's current
/// key always tries the keyring's keys.
final class RunKeys: Sendable {
    /// What was named, without passphrases that are typed.
    private let named: [Secret]
    /// Whether the command line names nothing, so that the defaults are tried.
    let areDefaults: Bool
    let keyring: KeyringSession
    /// Whether the keyring's keys are tried.
    let usesKeyring: Bool
    /// The passphrases that the user types to open containers: those of `-p`, or that of the defaults.
    let question: PassphraseQuestion?
    /// The hint if a passphrase is needed and there is no terminal to ask on; nil for the usual one.
    private let withoutTerminal: Hint?
    /// What asks plugins for all inputs of the run, until it is done.
    let preparation = PluginPreparation()

    /// - Parameters:
    ///   - isOfKeyring: Whether the keyring's keys are tried even if the options name others.
    ///   - secrets: What the options name, if it was read before.
    init(
        _ options: KeyOptions, _ keyring: KeyringSession, isOfKeyring: Bool = false, reading secrets: [Secret]? = nil
    ) throws(Failure) {
        areDefaults = options.isEmpty
        self.keyring = keyring
        if options.isEmpty {
            named = try keyring.environmentKey().map { [.key($0)] } ?? []
            question = PassphraseQuestion(.opening, keyring.reader)
        } else if let secrets {
            // Its passphrases were typed twice, for new containers.
            (named, question) = (secrets, nil)
        } else {
            named = try keyring.secrets(options.arguments.filter { $0.source != .passphrase }, for: .opening)
            question =
                options.passphrase > 0
                ? PassphraseQuestion(.opening, count: options.passphrase, keyring.reader) : nil
            _ = try question?.answer()
        }
        usesKeyring = isOfKeyring || options.isEmpty && named.isEmpty && keyring.exists
        withoutTerminal = nil
    }

    /// The defaults, for what has to be opened before the command line is understood: a container of identities.
    init(defaultsOf keyring: KeyringSession) throws(Failure) {
        self.keyring = keyring
        areDefaults = true
        named = try keyring.environmentKey().map { [.key($0)] } ?? []
        question = PassphraseQuestion(.opening, keyring.reader)
        usesKeyring = named.isEmpty && keyring.exists
        withoutTerminal = .otherOpenersOfIdentities
    }

    /// What the command line or the environment names.
    private var given: [Secret] {
        named + (areDefaults ? [] : question?.known ?? []).map(Secret.passphrase)
    }

    /// The named keys and passphrases, without retired keys. Those that open a container keep a slot when it is
    /// re-encrypted. Asks for a passphrase again after a try that opened nothing.
    ///
    /// - Parameter isHidden: Whether slots of public keys are hidden. If so, the named identities are among them; if
    ///   not, a slot of theirs is made again as it was, hidden or not (`keepsSlotsOfIdentities`).
    func recipients(isHidden: Bool) throws(Failure) -> [Recipient] {
        guard !areDefaults else { return [] }
        _ = try question?.answer()
        return try given.filter { secret in
            guard let id = secret.key?.id else {
                // A plugin makes a slot only for those that are named for the new container.
                return secret.plugin == nil && (secret.identity == nil || isHidden)
            }
            return [nil, .current].contains(keyring.entryIfOpen(id)?.state)
        }.recipients(isHidden: isHidden)
    }

    /// Asks for what would be asked for when a container needs it: for what unlocks the keyring, or, if there is none and
    /// nothing is named, for a passphrase.
    func askNow() throws(Failure) {
        if usesKeyring {
            _ = try keyring.open()
        } else if areDefaults, named.isEmpty {
            _ = try question?.answer()
        }
    }

    /// Asks for the passphrases again that the user has typed, and that opened nothing.
    ///
    /// - Parameter words: What the user is told; nil if they are certainly wrong.
    /// - Returns: false if none was typed, or if the user had enough tries.
    func askAgain(saying words: String?) throws(Failure) -> Bool {
        guard let question, question.asksAgain(after: question.number, saying: words) else { return false }
        _ = try question.answer()
        return true
    }

    /// The passphrases that were named or typed. Asks for none.
    var knownPassphrases: [Passphrase] { named.passphrases + (question?.known ?? []) }

    /// Whether identities were named, which keep the slots that they open.
    var keepsSlotsOfIdentities: Bool { !areDefaults && !named.identities.isEmpty }

    /// The passphrases that the command line names.
    var givenPassphrases: [Passphrase] { given.passphrases }

    /// Whether the command line names passphrases. They may also be stretched for new slots.
    var stretches: Bool { !given.passphrases.isEmpty }

    /// Whether the next request for keys may have to unlock the keyring.
    var isKeyringLocked: Bool { usesKeyring && keyring.ifOpen == nil }

    func symmetricKeys(for ids: [KeyID]) throws -> [SymmetricKey] {
        let found = namedKeys(for: ids)
        guard usesKeyring else { return found }
        let missing = Set(ids).subtracting(found.map(\.id))
        return try found + keyring.open().symmetricKeys(for: ids.filter(missing.contains))
    }

    /// The named keys among those with these IDs.
    func namedKeys(for ids: [KeyID]) -> [SymmetricKey] { named.keys.map(\.key).filter { ids.contains($0.id) } }

    /// The identities to try: also those of the keyring, if it is open.
    func identities() throws -> [Identity] {
        try named.identities.map(\.identity) + (usesKeyring ? keyring.ifOpen?.identities() ?? [] : [])
    }

    /// The identities of plugins to try: also those of the keyring, if it is open.
    func pluginIdentities() throws -> [PluginIdentity] {
        try named.plugins.compactMap(\.identity) + (usesKeyring ? keyring.ifOpen?.pluginIdentities() ?? [] : [])
    }

    /// The name of the key in the keyring, or of the named identity, that a slot is for; nil if it has none.
    func name(of slot: SlotDescription, in header: HeaderSummary) -> String? {
        let named = named.identities.first {
            $0.publicKey.kind == slot.kind && $0.publicKey.slotID(in: header) == slot.keyID
        }
        return named?.name ?? keyring.name(of: slot, in: [header])
    }

    /// The named identities.
    var namedIdentities: [LoadedIdentity] { named.identities }

    /// - Parameters:
    ///   - subject: The container, which a question for a passphrase names.
    ///   - hasKeys: Whether keys open it too.
    func passphrases(for subject: Failure.Subject, hasKeys: Bool) throws -> [Passphrase] {
        do {
            var asking = areDefaults ? SecretPurpose.opening(subject, hasKeys: hasKeys) : nil
            if let withoutTerminal { asking?.withoutTerminal = withoutTerminal }
            return named.passphrases + (try question?.answer(for: asking) ?? [])
        } catch {
            // A key was tried. That it does not fit is a better reason than that there is no terminal.
            guard areDefaults, self.hasKeys else { throw error }
            return []
        }
    }

    /// Whether there was a key or an identity to try.
    private var hasKeys: Bool {
        !named.keys.isEmpty || !named.identityNames.isEmpty || keyring.ifOpen?.entries.isEmpty == false
    }

    /// The failure for `error`: which key or passphrase is missing, or that there was nothing to try.
    ///
    /// - Parameters:
    ///   - wanted: What has slots in the container.
    ///   - triedOthers: Whether keys or passphrases from elsewhere were tried too.
    func explain(
        _ error: any Error, about subject: Failure.Subject, wanted: WantedKeys, triedOthers: Bool
    ) -> Failure {
        var failure = Failure(error, about: subject)
        guard failure.code == VaultError.Code.wrongKey.name else { return failure }
        if areDefaults, question?.wasAsked != true, !hasKeys, !triedOthers {
            if let place = keyring.lostFile { return .keyringFileMissing(place) }
            return Failure(
                .noKey, subject, "no key was given: \(needs(wanted) ?? "it has no passphrase")",
                hint: wanted.isOnlyOfIdentities ? .giveIdentity : .giveKeyThatOpens)
        }
        let passphraseWasTried = !(named.passphrases.isEmpty && question?.known.isEmpty != false)
        if areDefaults, !named.isEmpty, !usesKeyring, keyring.exists {
            failure.hint = .variableHidesKeyring
        } else if wanted.passphrase {
            failure.hint = passphraseWasTried ? .otherPassphrase : .askPassphrase
        } else if wanted.isOnlyOfIdentities {
            failure.hint = .giveIdentity
        } else if areDefaults, missing(wanted) == nil {
            failure.hint = .giveKeyThatOpens
        }
        if let key = misfit(wanted) {
            failure.reason = "it has a slot for \(key), which does not open it"
            failure.hint = .otherContext
        } else if let need = missing(wanted) {
            failure.reason = need
        } else if let need = needs(wanted, passphraseWasTried: passphraseWasTried) {
            failure.reason = "\(triedOthers ? "nothing that was given opens it" : tried(passphraseWasTried)): \(need)"
        } else {
            return failure
        }
        failure.reason += " (\(VaultError.Code.wrongKey.name))"
        return failure
    }

    /// What was tried in vain, in words.
    private func tried(_ passphrase: Bool) -> String {
        let ofKeyring = usesKeyring ? keyring.ifOpen?.entries.count(where: \.isKey) ?? 0 : 0
        switch (named.keys.count, named.identityNames.count, ofKeyring, passphrase) {
        case (0, 0, 0, true): return "the passphrase does not open it"
        case (1, 0, 0, false): return named.keys.first.map { "\(words(of: $0)) does not open it" } ?? ""
        case (0, 1, 0, false):
            return named.identityNames.first.map { "the identity in \($0) does not open it" } ?? ""
        case (0, 0, 1, false): return "the key of the keyring does not open it"
        case (0, 0, let count, false) where count > 1: return "none of the \(count) keys of the keyring opens it"
        case (let count, 0, 0, false) where count > 1: return "none of the \(count) keys opens it"
        case (0, let count, 0, false) where count > 1: return "none of the \(count) identities opens it"
        default: return "nothing that was given opens it"
        }
    }

    /// A named key, with its source.
    private func words(of key: LoadedKey) -> String {
        switch key.source {
        case .path: "the key in \(key.source.escaped)" + (areDefaults ? ", which \(Variable.keyFile) names," : "")
        case .standardInput: "the key from standard input"
        case .text(let option) where option.hasPrefix("-"): "the key from \(option)"
        default: "the \(key.source.escaped)"
        }
    }

    private static let maximumNeeds = 3

    /// What has a slot in the container, in words; nil if nothing has. The header says this, unauthenticated.
    private func needs(_ wanted: WantedKeys, passphraseWasTried: Bool = false) -> String? {
        let ids = wanted.keys.map { "key \($0)" }.sorted()
        var needs = Array(ids.prefix(Self.maximumNeeds))
        if ids.count > Self.maximumNeeds { needs.append("one of \(ids.count - Self.maximumNeeds) other keys") }
        let ofPlugins: [SlotDescription.Kind] = named.plugins.isEmpty ? [] : [.stanzas]
        needs += wanted.identities(tried: Set(named.identities.map(\.publicKey.kind) + ofPlugins))
        if wanted.passphrase { needs.append(passphraseWasTried ? "another passphrase" : "a passphrase") }
        guard !needs.isEmpty else { return nil }
        return "it needs " + needs.joined(separator: ", or ")
    }

    /// The name or ID of a key or an identity that was tried on a slot with its ID and did not open it. The slot was
    /// made for another context, or was changed.
    private func misfit(_ wanted: WantedKeys) -> String? {
        if let key = named.keys.first(where: { wanted.keys.contains($0.id) }) {
            return keyring.entryIfOpen(key.id)?.subject.escaped ?? "key \(key.id)"
        }
        if let identity = named.identities.first(where: { wanted.hasSlot(of: $0.publicKey) }) {
            return "the identity in \(identity.name)"
        }
        guard usesKeyring else { return nil }
        return keyring.ifOpen?.entries.first { $0.isKey && wanted.has($0.id) }?.subject.escaped
    }

    /// The keys of the keyring that would have opened it, in words; nil if there are none, or if the keyring is locked.
    private func missing(_ wanted: WantedKeys) -> String? {
        let entries = keyring.ifOpen?.entries.filter { wanted.has($0.id) } ?? []
        guard !entries.isEmpty else { return nil }
        let names = entries.map {
            "\($0.subject.escaped), which \($0.state == .destroyed ? "is destroyed" : "was not named")"
        }
        return "it needs " + names.joined(separator: ", or ")
    }
}
