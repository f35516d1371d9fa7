internal import Synchronization
internal import SystemPackage
internal import VaultFile

extension KeyringSession {
    /// Changes the keyring, and warns if old data could not be destroyed.
    func change<R>(_ body: (inout KeyringChange) throws -> R) throws(Failure) -> R {
        try attempt { place in
            let done = try Keyring.change(
                at: place.path.path, unlocking: unlocker, allowsUnprotected: unlocker.allowsUnprotected,
                allowsUnlocked: allowsUnlocked, onUnreadable: warnIfUnreadable(place)
            ) { change in
                warnIfReadable(unless: change.isProtected, place)
                return try body(&change)
            }
            warn(ofDamage: done.health, done.unlockKeyHealth, place, isMended: true)
            console.warn(of: done.traces, place)
            return done.result
        }
    }

    /// Adds to the keyring. If there is none, makes one.
    ///
    /// - Returns: What `body` returns, and the place of the keyring if it was made.
    func add<R>(
        unprotected: Bool, _ body: (inout KeyringChange) throws -> R
    ) throws(Failure) -> (result: R, made: KeyringPlace?) {
        let place = try located()
        if unprotected {
            if unlocker.namesSecrets, let named = unlocker.named.first {
                throw .usage("--unprotected", "cannot be used with \(named.option)")
            }
            unlocker.makeUnprotected()
        }
        place.waitWhileMade()
        if !place.exists, !place.unlockKeyExists {
            if !unprotected, let word = unlocker.wordForUnprotected {
                throw .usage(word.option, "unprotected makes no keyring", hint: .unprotectedMakes)
            }
            if let result = try make(place, unprotected: unprotected, body) { return (result, place) }
            place.waitWhileMade()
        }
        if unprotected, place.exists, place.isProtected {
            throw .usage("--unprotected", "is only for a new keyring, and this one is protected")
        }
        return (try change(body), nil)
    }

    /// Makes the keyring; nil if another run has made it meanwhile.
    private func make<R>(
        _ place: KeyringPlace, unprotected: Bool, _ body: (inout KeyringChange) throws -> R
    ) throws(Failure) -> R? {
        let unlockers = unprotected ? [] : try unlocker.setForNewKeyring()
        do {
            if place.isDefault { try Platform.makeFolders(place.path.path.removingLastComponent()) }
            return try Keyring.create(
                at: place.path.path, for: try unlockers.recipients(isHidden: false), unprotected: unprotected, body)
        } catch let error as VaultError where error.code == .outputExists {
            return nil
        } catch {
            let subject = (error as? VaultError)?.isAboutUnlockKey == true ? place.unlockKey.subject : place.subject
            throw Failure(error, about: subject, system: ExitStatus(ofSystem: error, missing: .cannotCreate))
        }
    }

    /// Replaces the unlock key by a new random one, which only `unlockers` unlock.
    ///
    /// - Parameter isRenewing: Whether to do so if something protects the keyring already.
    func protect(renewing isRenewing: Bool, with unlockers: [Secret]) throws(Failure) {
        try attempt { place in
            let traces = try Keyring.protect(
                at: place.path.path, renewing: isRenewing, unlocking: unlocker,
                allowsUnprotected: unlocker.allowsUnprotected, with: try unlockers.recipients(isHidden: false))
            console.warn(of: traces, place)
        }
    }

    /// Changes what unlocks the keyring.
    func changeUnlockers(_ change: KeyChange) throws(Failure) -> Rotation {
        try attempt { place in
            let done = try Keyring.changeUnlockers(at: place.path.path, change, unlocking: unlocker)
            warn(ofDamage: done.health, done.unlockKeyHealth, place, isMended: true)
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
        _ = try attempt { try Keyring.open(at: $0.path.path, unlocking: unlocker) }
    }
}
