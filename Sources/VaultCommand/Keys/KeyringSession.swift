internal import Synchronization
internal import SystemPackage
internal import VaultFile

/// The keyring of a run: found and unlocked once, when it is first needed.
final class KeyringSession: Sendable {
    private let place: KeyringPlace?
    let unlocker: KeyringUnlocker
    private let console: Console
    private let opened = Mutex<Result<Keyring, Failure>?>(nil)
    private let hasWarned = Mutex(false)

    init(_ options: UnlockOptions, _ reader: SecretReader, _ console: Console) {
        place = .find()
        unlocker = KeyringUnlocker(options, reader)
        self.console = console
    }

    /// Whether there is a keyring, locked or not.
    var exists: Bool { place?.exists ?? false }

    /// The keyring if it has been opened in this run.
    var ifOpen: Keyring? {
        opened.withLock { opened in
            if case .success(let keyring) = opened { keyring } else { nil }
        }
    }

    /// Where the keyring is.
    func located() throws(Failure) -> KeyringPlace {
        guard let place else { throw .keyringHasNoPlace }
        return place
    }

    // MARK: Keys

    /// Opens the keyring, or gives what it was opened as.
    func open() throws(Failure) -> Keyring {
        let result = opened.withLock { opened in
            let result =
                opened
                ?? Result { () throws(Failure) in
                    try attempt { place in
                        let keyring = try Keyring.open(
                            at: place.path.path, unlocking: unlocker, allowsUnprotected: unlocker.allowsUnprotected)
                        warn(unless: keyring.isProtected, place)
                        return keyring
                    }
                }
            opened = result
            return result
        }
        return try result.get()
    }

    /// What the keyring says of a key, which may come from a file too: a copy is the same key. Nil also if the keyring
    /// has not been opened in this run; nothing is unlocked for this.
    func entryIfOpen(_ id: KeyID) -> KeyringEntry? { ifOpen?.entries.first { $0.id == id } }

    /// The key with this name or ID; nil if there is none.
    func entry(_ reference: String) throws(Failure) -> KeyringEntry? { try open().entry(reference) }

    /// The key with this name or ID.
    func key(_ reference: String, for purpose: SecretPurpose) throws(Failure) -> LoadedKey {
        guard let entry = try entry(reference) else { throw .noSuchKey(.text("key \(reference)"), in: place) }
        let key = try open().loaded(entry)
        if purpose.makesSlot { try refuseRetired([key]) }
        return key
    }

    /// The key that encrypts if none is named.
    func currentKey() throws(Failure) -> LoadedKey {
        let keyring = try open()
        guard let entry = keyring.current else { throw .noCurrentKey(try located().subject) }
        return try keyring.loaded(entry)
    }

    /// Refuses new slots for keys that the keyring, if it is open by now, does not have as current (REENC-4).
    func refuseRetired(_ keys: [LoadedKey]) throws(Failure) {
        for key in keys {
            guard let entry = entryIfOpen(key.id), entry.state != .current else { continue }
            throw .notCurrent(key.source, entry)
        }
    }

    // MARK: Changes

    /// Changes the keyring, and warns of what is left of what was replaced.
    ///
    /// - Parameter isMaking: Whether a keyring is made if there is none.
    func change<R>(making isMaking: Bool = false, _ body: (inout KeyringChange) throws -> R) throws(Failure) -> R {
        try attempt(needsKeyring: !isMaking) { place in
            let (result, traces) = try Keyring.change(
                at: place.path.path, making: isMaking, unlocking: unlocker,
                allowsUnprotected: unlocker.allowsUnprotected
            ) { change in
                warn(unless: change.isProtected, place)
                return try body(&change)
            }
            console.warn(of: traces, place)
            return result
        }
    }

    /// Draws another unlock key, which only `unlockers` unlock.
    ///
    /// - Parameter isRenewing: Whether that is done if something protects the keyring already.
    func protect(renewing isRenewing: Bool, with unlockers: [Secret]) throws(Failure) {
        try attempt(needsKeyring: false) { place in
            let traces = try Keyring.protect(
                at: place.path.path, renewing: isRenewing, unlocking: unlocker,
                allowsUnprotected: unlocker.allowsUnprotected, with: unlockers.recipients)
            console.warn(of: traces, place)
        }
    }

    /// Changes what unlocks the keyring.
    func changeUnlockers(_ change: KeyChange) throws(Failure) -> Rotation {
        try attempt(needsKeyring: false) { place in
            let (rotation, traces) = try Keyring.changeUnlockers(at: place.path.path, change, unlocking: unlocker)
            console.warn(of: traces, place)
            return rotation
        }
    }

    /// Reads what unlocks the keyring from descriptors that `others` read too: the lines after it are theirs.
    func takeLines(before others: [KeyArgument]) throws(Failure) {
        try unlocker.takeLines(before: others)
    }

    /// Checks that it unlocks the keyring, before a person is asked for more.
    func checkUnlocker() throws(Failure) {
        let place = try located()
        // A run that was interrupted while it made the first key leaves nothing to unlock.
        guard place.exists, place.isProtected else { return }
        _ = try attempt { try Keyring.open(at: $0.path.path, unlocking: unlocker) }
    }

    /// Makes what unlocks a new keyring; nothing if there is a keyring, or what unlocks one.
    func prepare(unprotected: Bool) throws(Failure) {
        let place = try located()
        if unprotected, let named = unlocker.named.first {
            throw .usage("--unprotected", "cannot be used with \(named.option)")
        }
        guard !place.exists, !place.unlockKeyExists else { return try checkExisting(place, unprotected: unprotected) }
        let unlockers = unprotected ? [] : try unlocker.setForNewKeyring()
        do {
            if place.isDefault { try Platform.makeFolders(place.path.path.removingLastComponent()) }
            if unprotected {
                try Keyring.makeUnprotectedUnlockKey(at: place.path.path)
            } else {
                try Keyring.makeUnlockKey(at: place.path.path, for: unlockers.recipients)
            }
        } catch let error as VaultError where error.code == .outputExists {
            // Another process was faster. What it made unlocks the keyring.
        } catch {
            let subject = error is Errno ? place.subject : place.unlockKey.subject
            throw Failure(error, about: subject, system: ExitStatus(ofSystem: error, missing: .cannotCreate))
        }
    }

    private func checkExisting(_ place: KeyringPlace, unprotected: Bool) throws(Failure) {
        if unprotected, place.isProtected {
            throw .usage("--unprotected", "is only for a new keyring, and this one is protected")
        }
        // A run that was interrupted can have left it, or somebody else who can write there.
        if !unprotected, !place.exists, !place.isProtected { throw .unprotectedUnlockKeyAlone(place) }
    }

    private func attempt<R>(needsKeyring: Bool = true, _ body: (KeyringPlace) throws -> R) throws(Failure) -> R {
        let place = try located()
        if needsKeyring, !place.exists { throw .noKeyring(place) }
        guard place.unlockKeyExists else { throw .unlockKeyMissing(place) }
        do { return try body(place) } catch { throw Failure(keyring: error, place, unlocker) }
    }

    /// Warns in each run that nothing protects the keyring: somebody else may have put it there. `-q` silences this,
    /// unless others can read it too.
    private func warn(unless isProtected: Bool, _ place: KeyringPlace) {
        guard !isProtected, !hasWarned.withLock({ exchange(&$0, with: true) }) else { return }
        let stat = try? place.unlockKey.path.stat()
        console.warnUnprotected(
            place, othersCanRead: stat.map { !$0.permissions.isDisjoint(with: [.groupRead, .otherRead]) } ?? false)
    }
}

extension Keyring {
    /// The key of an entry.
    func loaded(_ entry: KeyringEntry) throws(Failure) -> LoadedKey {
        do {
            return LoadedKey(key: try key(entry.id), source: entry.subject, created: entry.created)
        } catch {
            throw Failure(error, about: entry.subject)
        }
    }
}
