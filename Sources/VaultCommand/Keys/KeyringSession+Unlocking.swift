internal import Synchronization
internal import VaultFile

extension KeyringSession {
    /// Unlocks the keyring for all commands of this user.
    func unlock(for time: Duration) throws(Failure) {
        if let word = unlocker.wordForUnprotected {
            throw .usage(word.option, "nothing protects this keyring, so there is nothing to unlock")
        }
        try attempt { try Keyring.unlock(at: $0.path.path, for: time, unlocking: unlocker) }
    }

    /// If the kernel forbids this process to find out whether the keyring is unlocked, says so once, where the
    /// passphrase is asked for. The user may have unlocked it, and would not know why they are asked.
    func explainQuestion(_ place: KeyringPlace) {
        guard allowsUnlocked, unlocker.named.isEmpty, !hasExplained.withLock({ exchange(&$0, with: true) }) else {
            return
        }
        do throws(VaultError) {
            try Keyring.checkUnlocking(at: place.path.path)
        } catch {
            // Outside Linux no one can unlock a keyring, so there is nothing to explain.
            guard error.code == .keyStoreUnavailable, error.systemError != .notSupportedOnSocket else { return }
            reader.remark("The system does not let this program use an unlocked keyring.", beforeAsking: .unlocking)
        }
    }
}

extension KeyringPlace {
    /// Locks the keyring again. Its files may be missing: what the system keeps of them has to end all the same.
    ///
    /// - Returns: Whether it was unlocked.
    func lock() throws(Failure) -> Bool {
        do {
            return try Keyring.lock(at: path.path)
        } catch {
            guard error.systemError != .noSuchFileOrDirectory else {
                throw Failure(.noKey, subject, "there is no keyring")
            }
            var failure = Failure(error, about: subject, system: ExitStatus(ofSystem: error, missing: .noKey))
            if error.code == .keyStoreUnavailable { failure.hint = .keyStoreUnavailable }
            throw failure
        }
    }
}
