internal import Synchronization
internal import SystemPackage
internal import VaultFile

/// The keyring of a run: found and unlocked when it is first needed, and once.
final class KeyringAccess: Sendable {
    private let place: KeyringPlace?
    private let unlocking: KeyringUnlocking
    private let console: Console
    private let opened = Mutex<Result<Keyring, Failure>?>(nil)
    private let hasWarned = Mutex(false)

    init(_ options: UnlockOptions, from sources: KeySources) {
        place = .find()
        unlocking = KeyringUnlocking(options, from: sources)
        console = sources.console
    }

    /// Whether there is a keyring, locked or not.
    var exists: Bool { place?.exists ?? false }

    /// The files that keys come from where the keyring is used.
    var files: [PathArgument] { place.map { [$0.path, $0.unlockKey] } ?? [] }

    /// The keyring if it has been opened in this run.
    var ifOpen: Keyring? {
        opened.withLock { opened in
            if case .success(let keyring) = opened { keyring } else { nil }
        }
    }

    /// What the keyring says of a key, wherever the key comes from: a copy of it in a file is the same key. Nil also
    /// where the keyring has not been opened in this run, which is not done for that.
    func entry(of id: KeyID) -> KeyringEntry? {
        ifOpen?.entries.first { $0.id == id }
    }

    /// What a key is called, as far as the same is known of it.
    func name(of id: KeyID) -> String? { entry(of: id)?.name.description }

    /// Where the keyring is.
    func located() throws(Failure) -> KeyringPlace {
        guard let place else {
            throw Failure(
                .noKey, .text("keyring"), "has no place",
                hint: "set \(KeyringPlace.variable), XDG_DATA_HOME or HOME")
        }
        return place
    }

    /// Opens the keyring, or gives what it was opened as.
    func open() throws(Failure) -> Keyring {
        let result = opened.withLock { opened in
            if let opened { return opened }
            let result = Result { () throws(Failure) in try unlock() }
            opened = result
            return result
        }
        return try result.get()
    }

    /// Whether anything is named that is to unlock the keyring, on the command line or in the environment.
    var namesUnlocker: Bool { unlocking.namesSomething }

    private func unlock() throws(Failure) -> Keyring {
        let place = try located()
        guard place.exists else {
            throw Failure(.noKey, place.subject, "there is no keyring", hint: "vaultfile key generate makes one")
        }
        try checkUnlockKey(place)
        do {
            let keyring = try Keyring.open(
                at: place.path.path, unlocking: unlocking, allowsUnprotected: unlocking.allowsUnprotected)
            warn(unless: keyring.isProtected, place)
            return keyring
        } catch {
            throw explained(error, place)
        }
    }

    /// Changes the keyring, and says what is left of what was replaced.
    ///
    /// - Parameter isMaking: Whether one is made where there is none.
    func change<R>(
        making isMaking: Bool = false, _ body: (inout KeyringChange) throws -> R
    ) throws(Failure) -> R {
        let place = try located()
        guard isMaking || place.exists else {
            throw Failure(.noKey, place.subject, "there is no keyring", hint: "vaultfile key generate makes one")
        }
        try checkUnlockKey(place)
        do {
            let done = try Keyring.change(
                at: place.path.path, making: isMaking, unlocking: unlocking,
                allowsUnprotected: unlocking.allowsUnprotected
            ) { change in
                warn(unless: change.isProtected, place)
                return try body(&change)
            }
            console.warn(of: done.traces, place)
            return done.result
        } catch {
            throw explained(error, place)
        }
    }

    /// Draws another unlock key for these.
    ///
    /// - Parameter isRenewing: Whether that is done where something protects the keyring already.
    func protect(renewing isRenewing: Bool, with unlockers: [Recipient]) throws(Failure) {
        let place = try located()
        try checkUnlockKey(place)
        do {
            let traces = try Keyring.protect(
                at: place.path.path, renewing: isRenewing, unlocking: unlocking,
                allowsUnprotected: unlocking.allowsUnprotected, with: unlockers)
            console.warn(of: traces, place)
        } catch {
            throw explained(error, place)
        }
    }

    /// Reads what unlocks the keyring from descriptors of which others take a line, too: theirs are the lines behind.
    func takeLines(before others: [KeyArgument]) throws(Failure) {
        try unlocking.takeLines(before: others)
    }

    /// Reads or asks for what is to unlock a keyring that is about to be made. It unlocks it for the rest of the run.
    func setUnlockers() throws(Failure) -> [Recipient] {
        try unlocking.set().map(\.recipient)
    }

    /// Changes what unlocks the keyring.
    ///
    /// - Parameter named: Secrets that the command line names besides, which open too.
    func changeUnlockers(_ change: KeyChange, named: [Secret]) throws(Failure) -> Rotation {
        let place = try located()
        try checkUnlockKey(place)
        do {
            let done = try Keyring.changeUnlockers(
                at: place.path.path, change, unlocking: KeyringUnlocking.With(named, unlocking))
            console.warn(of: done.traces, place)
            return done.result
        } catch {
            throw explained(error, place)
        }
    }

    /// The passphrases that unlock the keyring as far as the command line names any; nil where it names something else.
    func passphrases() throws -> [Passphrase]? {
        try unlocking.namesNoPassphrase ? nil : unlocking.passphrases()
    }

    /// Looks whether it unlocks the keyring, before anybody is asked for more.
    ///
    /// - Parameter named: Secrets that the command line names besides, which open too.
    func check(_ named: [Secret] = []) throws(Failure) {
        let place = try located()
        // Interrupted when the first key was made: there is nothing yet to be unlocked.
        guard place.exists, place.isProtected else { return }
        do {
            _ = try Keyring.open(at: place.path.path, unlocking: KeyringUnlocking.With(named, unlocking))
        } catch {
            throw explained(error, place)
        }
    }

    /// Looks whether what unlocks the keyring is there.
    private func checkUnlockKey(_ place: KeyringPlace) throws(Failure) {
        guard place.unlockKeyExists else {
            throw Failure(
                .noKey, place.unlockKey.subject, "is missing, and the keyring beside it opens with nothing else",
                hint: "get both files back from a backup")
        }
    }

    /// Says each time that nothing protects the keyring: somebody else may have put it there. Who wants it that way has
    /// `-q` for that, but where others can read it too.
    private func warn(unless isProtected: Bool, _ place: KeyringPlace) {
        guard !isProtected, !hasWarned.withLock({ exchange(&$0, with: true) }) else { return }
        if let stat = try? place.unlockKey.path.stat(),
            !stat.permissions.isDisjoint(with: [.groupRead, .otherRead])
        {
            console.warn(
                place.unlockKey.subject, "others can read it, and with it all keys of the keyring",
                hint: "chmod 600 keeps it to its owner, vaultfile key passphrase protects it")
        } else if console.verbosity != .quiet {
            console.warn(
                place.subject, "nothing protects this keyring: whoever can read it and its .key file has its keys",
                hint: "vaultfile key passphrase protects it")
        }
    }

    /// What an error about the keyring means.
    func explained(_ error: any Error, _ place: KeyringPlace) -> Failure {
        if let error = error as? VaultError, error.code == .wrongKey {
            var failure = Failure(.noKeyFits, place.unlockKey.subject, "what was given does not unlock the keyring")
            failure.code = error.code.name
            guard !unlocking.hadSomething else { return failure }
            failure.status = .noKey
            failure.reason = "no passphrase unlocks the keyring, and nothing else was given"
            failure.hint = "--unlock file:PATH or --unlock command:COMMAND, or set \(KeyringUnlocking.variable)"
            return failure
        }
        if (error as? VaultError)?.code == .keyringUnprotected {
            var failure = Failure(error, about: place.unlockKey.subject)
            failure.reason =
                "nothing protects this keyring, although something was named to unlock it: another keyring may have "
                + "been put in its place (\(failure.code ?? ""))"
            failure.hint =
                "a keyring that was made with --unprotected takes neither --unlock nor "
                + "\(KeyringUnlocking.variable)"
            return failure
        }
        var failure = Failure(error, about: place.subject, system: ExitStatus(ofSystem: error, missing: .noKey))
        // It is no container that repair and recover could be given.
        if failure.status == .damaged { failure.hint = "get both files back from a backup" }
        switch (error as? VaultError)?.code {
        case .consentNeeded?:
            failure = Failure(error, about: place.unlockKey.subject)
            failure.reason = "nothing that is at hand would unlock the keyring any more (\(failure.code ?? ""))"
            failure.hint = "unlock it with something that stays, or say --add for what is to unlock it"
        case .lastSlot?:
            failure = Failure(error, about: place.unlockKey.subject)
            failure.reason = "nothing would unlock the keyring any more (\(failure.code ?? ""))"
            failure.hint = "--add says what is to unlock it"
        case .rotationUnfinished?:
            failure = Failure(error, about: place.unlockKey.subject)
            failure.hint =
                "the keyring still opens with what was given; to change what unlocks it, unlock it with what was being "
                + "added, or vaultfile key passphrase --renew"
        default: break
        }
        return failure
    }
}

/// What unlocks a keyring: what `--unlock` names, else what `VAULTFILE_UNLOCK` names, else a passphrase that is asked
/// for.
final class KeyringUnlocking: KeyProvider {
    /// The variable that names one K.
    static let variable = "VAULTFILE_UNLOCK"

    /// What was named.
    private let arguments: [KeyArgument]
    private let sources: KeySources
    private let tried = Mutex(false)
    private let given = Mutex<[Secret]?>(nil)
    /// By their place among the arguments: a descriptor that stands there twice has given two lines.
    private let known = Mutex<[Int: Secret]>([:])

    init(_ options: UnlockOptions, from sources: KeySources) {
        self.sources = sources
        arguments = Self.arguments(options)
    }

    private static func arguments(_ options: UnlockOptions) -> [KeyArgument] {
        options.unlock.isEmpty ? standard.map { [$0] } ?? [] : options.unlock
    }

    /// The files that what unlocks the keyring is read from.
    static func files(_ options: UnlockOptions) -> [PathArgument] { arguments(options).compactMap(\.path) }

    /// What is asked for: where nothing was named, a passphrase.
    private var all: [KeyArgument] { arguments.isEmpty ? [KeyArgument(.passphrase)] : arguments }

    private static var standard: KeyArgument? {
        guard let text = RawArguments.environment(variable), !text.isEmpty else { return nil }
        return KeyArgument(bytes: text)
    }

    /// Whether there was a key or a passphrase to be tried.
    var hadSomething: Bool { tried.withLock { $0 } || !arguments.isEmpty }

    /// Whether it is said what unlocks the keyring.
    var namesSomething: Bool { !arguments.isEmpty }

    /// Whether a keyring is taken that nothing protects: not by those who say, or have just said, what is to protect
    /// it.
    var allowsUnprotected: Bool { arguments.isEmpty && given.withLock { $0 == nil } }

    /// Whether it is said what unlocks the keyring, and that is no passphrase.
    var namesNoPassphrase: Bool { !arguments.isEmpty && !arguments.contains(where: \.isPassphrase) }

    /// Reads or asks for what is to unlock a new keyring, to which it then belongs.
    func set() throws(Failure) -> [Secret] {
        var secrets: [Secret] = []
        for argument in all { secrets.append(try secret(argument, for: .setting)) }
        given.withLock { $0 = secrets }
        return secrets
    }

    /// Reads from the descriptors that others read, too.
    func takeLines(before others: [KeyArgument]) throws(Failure) {
        let shared = Set(others.compactMap(\.descriptor))
        _ = try secrets { $0.descriptor.map(shared.contains) ?? false }
    }

    func symmetricKeys(for ids: [KeyID]) throws -> [SymmetricKey] {
        try secrets { !$0.isPassphrase }.compactMap(\.key)
    }

    func passphrases() throws -> [Passphrase] {
        tried.withLock { $0 = true }
        return try secrets(\.isPassphrase).compactMap(\.passphrase)
    }

    /// Those of what was named that are wanted, each read once.
    private func secrets(_ isWanted: (KeyArgument) -> Bool) throws(Failure) -> [Secret] {
        if let given = given.withLock({ $0 }) { return given }
        var secrets: [Secret] = []
        for (index, argument) in all.enumerated() where isWanted(argument) {
            if let known = known.withLock({ $0[index] }) {
                secrets.append(known)
                continue
            }
            let secret = try secret(argument, for: .unlocking)
            known.withLock { $0[index] = secret }
            secrets.append(secret)
        }
        return secrets
    }

    /// It, and secrets that are at hand anyway: where one of these is a passphrase, none is asked for.
    struct With: KeyProvider {
        private let named: [Secret]
        private let unlocking: KeyringUnlocking

        init(_ named: [Secret], _ unlocking: KeyringUnlocking) {
            self.named = named
            self.unlocking = unlocking
        }

        func symmetricKeys(for ids: [KeyID]) throws -> [SymmetricKey] {
            try named.compactMap(\.key) + unlocking.symmetricKeys(for: ids)
        }

        func passphrases() throws -> [Passphrase] {
            let named = named.compactMap(\.passphrase)
            guard named.isEmpty || !unlocking.arguments.isEmpty else { return named }
            return try named + unlocking.passphrases()
        }
    }

    private func secret(
        _ argument: KeyArgument, for use: KeySources.Use
    ) throws(Failure) -> Secret {
        if case .named = argument.source {
            throw Failure.usage(
                "--unlock", "names a key of the keyring, which is what is to be unlocked",
                hint: "file:PATH, command:COMMAND, passphrase, passphrase-file:PATH or passphrase-fd:N")
        }
        do {
            return try sources.secret(argument, for: use)
        } catch {
            guard case .passphrase = argument.source, error.status == .noKey, error.hint != nil else { throw error }
            var failure = error
            failure.hint = "--unlock or \(Self.variable) says what unlocks the keyring"
            throw failure
        }
    }
}
