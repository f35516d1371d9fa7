internal import Synchronization
internal import SystemPackage
internal import VaultFile

extension KeyringSession {
    /// Changes the keyring, and warns if old data could not be destroyed.
    ///
    /// - Parameter isMaking: Whether to make a keyring if there is none.
    func change<R>(making isMaking: Bool = false, _ body: (inout KeyringChange) throws -> R) throws(Failure) -> R {
        try attempt(needsKeyring: !isMaking) { place in
            let done = try Keyring.change(
                at: place.path.path, making: isMaking, unlocking: unlocker,
                allowsUnprotected: unlocker.allowsUnprotected, allowsUnlocked: allowsUnlocked
            ) { change in
                warnIfReadable(unless: change.isProtected, place)
                // Another run that makes the keyring at the same time may have added keys meanwhile.
                if change.entries.isEmpty, continuesMaking.withLock({ $0 }) {
                    console.warn(
                        place.subject, "was missing although its .key file is there: a new keyring is made",
                        hint: .keysOfLostKeyring)
                }
                return try body(&change)
            }
            console.warn(of: done.traces, place)
            return done.result
        }
    }

    /// Replaces the unlock key by a new random one, which only `unlockers` unlock.
    ///
    /// - Parameter isRenewing: Whether to do so if something protects the keyring already.
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
            let done = try Keyring.changeUnlockers(at: place.path.path, change, unlocking: unlocker)
            console.warn(of: done.traces, place)
            return done.result
        }
    }

    /// Checks that the keyring can be unlocked, before the user is asked for more.
    func checkUnlocker() throws(Failure) {
        let place = try located()
        guard place.isProtected else {
            // The new passphrase must not protect a keyring that someone else has put there.
            guard unlocker.allowsUnprotected else { throw .unprotected(place, unlocker) }
            return
        }
        // If a run was interrupted while it made the first key, there is nothing to unlock.
        guard place.exists else { return }
        _ = try attempt { try Keyring.open(at: $0.path.path, unlocking: unlocker) }
    }

    /// Makes the unlock key of a new keyring. Does nothing if there is a keyring or an unlock key.
    func prepare(unprotected: Bool) throws(Failure) {
        let place = try located()
        if unprotected {
            if unlocker.namesSecrets, let named = unlocker.named.first {
                throw .usage("--unprotected", "cannot be used with \(named.option)")
            }
            unlocker.makeUnprotected()
        }
        continuesMaking.withLock { $0 = place.isWithoutKeyring }
        guard !place.exists, !place.unlockKeyExists else { return try checkExisting(place, unprotected: unprotected) }
        if !unprotected, let word = unlocker.wordForUnprotected {
            throw .usage(word.option, "unprotected makes no keyring", hint: .unprotectedMakes)
        }
        let unlockers = unprotected ? [] : try unlocker.setForNewKeyring()
        do {
            if place.isDefault { try Platform.makeFolders(place.path.path.removingLastComponent()) }
            if unprotected {
                try Keyring.makeUnprotectedUnlockKey(at: place.path.path)
            } else {
                try Keyring.makeUnlockKey(at: place.path.path, for: unlockers.recipients)
            }
        } catch let error as VaultError where error.code == .outputExists {
            // Another process made one meanwhile. That one is used.
        } catch {
            let subject = error is Errno ? place.subject : place.unlockKey.subject
            throw Failure(error, about: subject, system: ExitStatus(ofSystem: error, missing: .cannotCreate))
        }
    }

    private func checkExisting(_ place: KeyringPlace, unprotected: Bool) throws(Failure) {
        if unprotected, place.isProtected {
            throw .usage("--unprotected", "is only for a new keyring, and this one is protected")
        }
        // It may come from an interrupted run, or from anyone who can write to the folder.
        if !unprotected, !place.exists, !place.isProtected { throw .unprotectedUnlockKeyAlone(place) }
    }
}
