internal import SystemPackage
internal import VaultFile

extension KeyringMaking {
    /// Makes what unlocks the keyring, where there is neither that nor a keyring: it is protected by what `--unlock` or
    /// `VAULTFILE_UNLOCK` names, else by a passphrase that is asked for.
    func prepare(_ access: KeyringAccess) throws(Failure) {
        let place = try access.located()
        if unprotected, access.namesUnlocker {
            let other = unlocking.unlock.isEmpty ? KeyringUnlocking.variable : "--unlock"
            throw .usage("--unprotected", "does not go with \(other)")
        }
        guard !place.exists, !place.unlockKeyExists else {
            guard !unprotected || !place.isProtected else {
                throw .usage("--unprotected", "is for a keyring that is not there yet; this one is protected")
            }
            // An earlier run that was interrupted can have left it, or whoever else can write there.
            if !place.exists, !unprotected, !place.isProtected {
                var failure = Failure(
                    .damaged, place.unlockKey.subject,
                    "stands there without a keyring, and nothing protects it (\(VaultError.Code.keyringUnprotected.name))",
                    hint: "remove it to make a keyring, or --unprotected makes one that nothing protects")
                failure.code = VaultError.Code.keyringUnprotected.name
                throw failure
            }
            return
        }
        let unlockers = unprotected ? [] : try access.setUnlockers()
        if place.isStandard { try makeFolder(of: place) }
        do {
            if unprotected {
                try Keyring.makeUnprotectedUnlockKey(at: place.path.path)
            } else {
                try Keyring.makeUnlockKey(at: place.path.path, for: unlockers)
            }
        } catch let error as VaultError where error.code == .outputExists {
            // Another process was faster: what it has made is what unlocks the keyring.
            return
        } catch {
            throw Failure(
                error, about: place.unlockKey.subject, system: ExitStatus(ofSystem: error, missing: .cannotCreate))
        }
    }

    private func makeFolder(of place: KeyringPlace) throws(Failure) {
        do {
            try Platform.makeFolders(place.path.path.removingLastComponent())
        } catch {
            throw Failure(error, about: place.subject, system: ExitStatus(ofSystem: error, missing: .cannotCreate))
        }
    }
}
