internal import Synchronization
internal import SystemPackage
internal import VaultFile

/// The keyring of a run, which is found and unlocked once, when it is first needed. Also reads the other secrets that
/// the command line and the environment name.
final class KeyringSession: Sendable {
    private let place: KeyringPlace?
    let unlocker: KeyringUnlocker
    let reader: SecretReader
    let console: Console
    /// Whether the secrets that unlock the keyring are asked for even if it is unlocked.
    private let alwaysAsks: Bool
    private let opened = Mutex<Result<Keyring, Failure>?>(nil)
    /// What the files and commands have given that name several public keys or identities.
    let several = Mutex<[KeyArgument.Source: [Secret]]>([:])
    /// The recipients of plugins, by their texts: what a plugin wraps ahead for one of them is for all containers of the
    /// run.
    let pluginRecipients = Mutex<[String: LoadedPlugin]>([:])
    /// The age plugins of the run.
    let plugins: AgePlugins
    private let hasWarned = Mutex(false)
    private let hasWarnedOfDamage = Mutex(false)
    let hasExplained = Mutex(false)
    private let hasWarnedOfKernel = Mutex(false)

    /// - Throws: `Failure` if the options name something that cannot unlock a keyring.
    init(_ options: UnlockOptions, _ console: Console, alwaysAsks: Bool = false) throws(Failure) {
        try options.check()
        self.alwaysAsks = alwaysAsks
        place = .find()
        reader = SecretReader(console: console)
        unlocker = KeyringUnlocker(options, reader)
        self.console = console
        plugins = AgePlugins(dialogue: PluginUser(console: console))
    }

    /// Whether there is a keyring, locked or not.
    var exists: Bool { place?.exists ?? false }

    /// The keyring, if this run has opened it.
    var ifOpen: Keyring? {
        opened.withLock { opened in
            if case .success(let keyring) = opened { keyring } else { nil }
        }
    }

    /// Where the keyring is.
    func located() throws(Failure) -> KeyringPlace {
        guard let place else { throw .keyringHasNoPlace }
        try place.check()
        return place
    }

    /// The place of a keyring whose file is missing while its `.key` file is there; nil otherwise.
    var lostFile: KeyringPlace? { place.flatMap { $0.isWithoutKeyring ? $0 : nil } }

    /// Whether a keyring that `key unlock` has unlocked is used without its secrets. What the command line names comes
    /// first. If it says that nothing protects the keyring, there is nothing to unlock.
    var allowsUnlocked: Bool { !alwaysAsks && !unlocker.isNamedOnLine && !unlocker.allowsUnprotected }

    // MARK: Keys

    /// Opens the keyring on the first call; later calls return the same one.
    func open() throws(Failure) -> Keyring {
        let result = opened.withLock { opened in
            let result =
                opened
                ?? Result { () throws(Failure) in
                    try attempt { place in
                        let keyring = try Keyring.open(
                            at: place.path.path, unlocking: unlocker, allowsUnprotected: unlocker.allowsUnprotected,
                            allowsUnlocked: allowsUnlocked, onUnreadable: warnIfUnreadable(place))
                        warnIfReadable(unless: keyring.isProtected, place)
                        warn(ofDamage: keyring.health, keyring.unlockKeyHealth, place)
                        return keyring
                    }
                }
            opened = result
            return result
        }
        return try result.get()
    }

    /// Opens the keyring if it is unlocked and needs no secret.
    func openIfUnlocked() {
        guard allowsUnlocked, exists, let place,
            let keyring = try? Keyring.open(at: place.path.path, unlocking: KeySet(), allowsUnlocked: true)
        else { return }
        opened.withLock { $0 = $0 ?? .success(keyring) }
    }

    /// The keyring's entry for a key, which may have been read from a file: a copy has the same ID. Nil if there is
    /// none, or if the keyring is not open; this does not unlock it.
    func entryIfOpen(_ id: KeyID) -> KeyringEntry? { ifOpen?.entries.first { $0.id == id } }

    /// The key with this name or ID; nil if there is none.
    func entry(_ reference: String) throws(Failure) -> KeyringEntry? { try open().entry(reference) }

    /// The key with this name or ID.
    func key(_ reference: String, for purpose: SecretPurpose) throws(Failure) -> LoadedKey {
        guard let entry = try entry(reference) else { throw .noSuchKey(.text("key '\(reference)'"), in: place) }
        let key = try open().loaded(entry)
        if purpose.makesSlot { try refuseRetired([key]) }
        return key
    }

    /// Refuses new slots for keys that are in the keyring and not current there (REENC-4). Checks nothing while the
    /// keyring is locked.
    func refuseRetired(_ keys: [LoadedKey]) throws(Failure) {
        for key in keys {
            guard let entry = entryIfOpen(key.id), entry.state != .current else { continue }
            throw .notCurrent(key.source, entry)
        }
    }

    // MARK: Secrets

    /// The key or passphrase that one word names.
    func secret(_ argument: KeyArgument, for purpose: SecretPurpose) throws(Failure) -> Secret {
        guard let name = argument.name else { return try reader.secret(argument, for: purpose) }
        return .key(try lookUp(argument) { () throws(Failure) in try key(name, for: purpose) })
    }

    /// The keyring's entry that one word names; nil if it names none.
    func entry(_ argument: KeyArgument) throws(Failure) -> KeyringEntry? {
        guard let name = argument.name else { return nil }
        return try lookUp(argument) { () throws(Failure) in try entry(name) }
    }

    /// Looks up the key that a word names. If it is not there, and the word is the name of a file, the failure says how a
    /// key file is named.
    private func lookUp<R>(_ argument: KeyArgument, _ body: () throws(Failure) -> R) throws(Failure) -> R {
        do {
            return try body()
        } catch {
            let isMissing = error.hint == .listKeys || error.hint == .makeKeyring
            guard isMissing else { throw error }
            var failure = error
            if let hint = argument.hintAtFile {
                failure.hint = hint
            }
            if failure.hint == .makeKeyring {
                failure.subject = argument.subject
                failure.reason = "no key has this name: there is no keyring"
            }
            throw failure
        }
    }

    /// All secrets that the arguments name. A source that is named twice is read once, but each `-p` asks again.
    func secrets(_ arguments: [KeyArgument], for purpose: SecretPurpose) throws(Failure) -> [Secret] {
        var secrets: [Secret] = []
        for argument in arguments {
            let isQuestion = argument.source == .passphrase
            secrets += try isQuestion ? [.passphrase(reader.ask(for: purpose))] : self.secrets(argument, for: purpose)
        }
        if purpose.makesSlot { try refuseRetired(secrets.keys) }
        return secrets
    }

    /// The key from the key file that the environment names; nil if it names none.
    func environmentKey() throws(Failure) -> LoadedKey? {
        guard let argument = KeyArgument.ofEnvironment else { return nil }
        return try reader.secret(argument, for: .opening).key
    }

    /// The key that encrypts if none is named: from the key file that the environment names, else the keyring's current
    /// key.
    ///
    /// - Throws: `missing` if there is neither.
    func encryptionKey(orElse missing: @autoclosure () -> Failure) throws(Failure) -> LoadedKey {
        if let key = try environmentKey() { return key }
        guard exists else { throw lostFile.map { .keyringFileMissing($0) } ?? missing() }
        let keyring = try open()
        guard let entry = keyring.current else { throw .noCurrentKey(try located().subject) }
        return try keyring.loaded(entry)
    }

    // MARK: Trying

    /// Runs `body` with the keyring's place and turns its errors into failures.
    func attempt<R>(_ body: (KeyringPlace) throws -> R) throws(Failure) -> R {
        let place = try located()
        guard place.exists else { throw .absent(place) }
        guard place.unlockKeyExists else { throw .unlockKeyMissing(place) }
        explainQuestion(place)
        while true {
            do {
                return try body(place)
            } catch {
                let isWrong = (error as? VaultError)?.code == .wrongKey
                guard isWrong, unlocker.asksAgain() else { throw Failure(keyring: error, place, unlocker) }
            }
        }
    }

    /// Warns once if a header copy of one of the two files is damaged, or if a change of what unlocks the keyring was
    /// interrupted.
    ///
    /// - Parameter isMended: Whether this run has made damaged copies whole.
    func warn(ofDamage keyring: Health, _ unlockKey: Health, _ place: KeyringPlace, isMended: Bool = false) {
        guard keyring != .intact || unlockKey != .intact, !hasWarnedOfDamage.withLock({ exchange(&$0, with: true) })
        else { return }
        for (path, health) in [(place.path, keyring), (place.unlockKey, unlockKey)] {
            guard let trouble = health.trouble else { continue }
            let isDamaged = health == .frontDamaged || health == .tailDamaged
            console.warn(
                path.subject, trouble + (isMended && isDamaged ? "; it is whole again" : ""),
                hint: isDamaged ? isMended ? nil : .mendKeyring : .repeatPassphraseChange)
        }
    }

    /// Warns once if it cannot be found out whether `key unlock` has unlocked the keyring. Otherwise the user would be
    /// asked for a passphrase, or refused, and would not learn why.
    func warnIfUnreadable(_ place: KeyringPlace) -> (VaultError) -> Void {
        { error in
            guard !self.hasWarnedOfKernel.withLock({ exchange(&$0, with: true) }) else { return }
            self.console.warn(place.subject, "is treated as locked, whatever key unlock did: \(error.message)")
        }
    }

    /// Warns once if nothing protects the keyring and others can read its unlock key.
    func warnIfReadable(unless isProtected: Bool, _ place: KeyringPlace) {
        guard !isProtected, let stat = try? place.unlockKey.path.stat(), stat.othersCanRead,
            !hasWarned.withLock({ exchange(&$0, with: true) })
        else { return }
        console.warn(
            place.unlockKey.subject, "others can read it, and so all keys of the keyring", hint: .keepToOwnerOrProtect)
    }
}

extension Failure {
    /// There is no keyring, or its file is missing.
    fileprivate static func absent(_ place: KeyringPlace) -> Failure {
        place.unlockKeyExists ? .keyringFileMissing(place) : .noKeyring(place)
    }
}

extension Keyring {
    /// The key of an entry.
    func loaded(_ entry: KeyringEntry) throws(Failure) -> LoadedKey {
        guard entry.isKey || entry.state == .destroyed, let id = entry.id else {
            throw .usage(
                entry.subject.escaped, "is not a symmetric key", hint: .namesRecipient(entry.name))
        }
        return try entry.subject.attempt {
            LoadedKey(key: try key(id), source: entry.subject, created: entry.created)
        }
    }
}
