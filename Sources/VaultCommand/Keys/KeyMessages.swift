internal import VaultFile

// Messages about keys and the keyring.
extension Failure {
    /// There is no key to encrypt with.
    static func noKey(to purpose: String, _ verb: VerbName) -> Failure {
        Failure(.noKey, .text(verb.rawValue), "no key was given" + purpose, hint: .giveKey)
    }

    static var noKeyToShow: Failure {
        Failure(.noKey, .text("key show"), "no key was given", hint: .giveKeyToShow)
    }

    // MARK: The keyring

    static var keyringHasNoPlace: Failure {
        Failure(.noKey, .text("keyring"), "its folder is unknown", hint: .keyringPlace)
    }

    static func noKeyring(_ place: KeyringPlace) -> Failure {
        Failure(.noKey, place.subject, "there is no keyring", hint: .makeKeyring)
    }

    /// The keyring's file is missing, and its `.key` file is not.
    static func keyringFileMissing(_ place: KeyringPlace) -> Failure {
        Failure(
            .noKey, place.subject, "is missing, and its .key file holds none of the keys",
            hint: .restoreKeyringFile(place.unlockKey.escaped))
    }

    static func unlockKeyMissing(_ place: KeyringPlace) -> Failure {
        Failure(
            .noKey, place.unlockKey.subject, "is missing, and nothing else opens the keyring beside it",
            hint: .restoreKeyring)
    }

    /// Nothing protects the keyring, and the user has not said so.
    static func unprotected(_ place: KeyringPlace, _ unlocker: KeyringUnlocker) -> Failure {
        let code = VaultError.Code.keyringUnprotected
        guard unlocker.namesSecrets else {
            // Not "damaged": as with a locked keyring, the run has no key that it may use.
            var failure = Failure(
                .noKey, place.unlockKey.subject,
                "nothing protects this keyring: everyone who can read its two files has its keys, and someone else may "
                    + "have put it there (\(code.name))",
                hint: .sayUnprotected)
            failure.error = code
            return failure
        }
        return Failure(
            code: code, place.unlockKey.subject,
            "nothing protects this keyring, although something was named to unlock it: another keyring may have been "
                + "put in its place", hint: .ofKeyring(code))
    }

    static func noSuchKey(_ subject: Subject, in place: KeyringPlace? = nil) -> Failure {
        let keyring = place.map { " \($0.subject.escaped)" } ?? ""
        return Failure(.noKey, subject, "is not in the keyring" + keyring, hint: .listKeys)
    }

    static func noCurrentKey(_ subject: Subject) -> Failure {
        Failure(.noKey, subject, "no key of the keyring is current", hint: .makeCurrent)
    }

    static func notCurrent(_ subject: Subject, _ entry: KeyringEntry) -> Failure {
        if entry.state == .destroyed {
            return Failure(
                .usage, subject, "is the key '\(entry.name)', which was destroyed in the keyring",
                hint: .makeNewKey)
        }
        return Failure(
            .usage, subject, "is retired: it opens containers and encrypts nothing new",
            hint: .makeCurrent(entry.name))
    }

    /// The failure for an error about the keyring.
    init(keyring error: any Error, _ place: KeyringPlace, _ unlocker: KeyringUnlocker) {
        let unlockKey = place.unlockKey.subject
        guard let error = error as? VaultError else {
            self.init(error, about: place.subject, system: ExitStatus(ofSystem: error, missing: .noKey))
            return
        }
        switch error.code {
        case .wrongKey where unlocker.hadSomething:
            let hint = unlocker.isOfVariable ? Hint.variableHidesPassphrase : nil
            self.init(.noKeyFits, unlockKey, unlocker.mismatch, hint: hint)
            self.error = error.code
        case .wrongKey:
            let reason =
                unlocker.allowsUnprotected
                ? "something protects this keyring, and unprotected does not unlock it"
                : "no passphrase unlocks the keyring, and nothing else was given"
            self.init(.noKey, unlockKey, reason, hint: unlocker.allowsUnprotected ? .nameUnlocker : .giveUnlocker)
            self.error = error.code
        case .keyringUnprotected:
            self = .unprotected(place, unlocker)
        case .consentNeeded:
            self.init(code: error.code, unlockKey, "nothing that was given would unlock the keyring any more")
        case .lastSlot:
            self.init(code: error.code, unlockKey, "nothing would unlock the keyring any more")
        case .rotationUnfinished:
            self.init(error, about: unlockKey)
        case .keyStoreUnavailable:
            self.init(error, about: place.subject)
            hint = .keyStoreUnavailable
        default:
            self.init(
                error, about: error.isAboutUnlockKey ? unlockKey : place.subject,
                system: ExitStatus(ofSystem: error, missing: .noKey))
        }
        hint = hint ?? .ofKeyring(error.code)
    }
}

extension Console {
    /// Says where a new keyring is and what to back up, on a terminal.
    func tell(ofNew place: KeyringPlace) {
        tell(
            "vaultfile: the keyring is \(place.path.escaped), and \(place.unlockKey.escaped) unlocks it: if one of the "
                + "two files is lost, so are all keys; vaultfile key backup FOLDER backs up both")
    }

    /// Warns of old data that a change of the keyring could not destroy.
    func warn(of traces: Keyring.Traces, _ place: KeyringPlace) {
        warn(of: traces, place.path.subject, place.unlockKey.subject, what: "the keyring", renew: .renew)
    }

    /// Warns of old data that a change of a pair of files could not destroy.
    ///
    /// - Parameters:
    ///   - file: the container of the keys.
    ///   - unlockFile: the file beside it.
    ///   - what: what the container is.
    ///   - renew: how the unlock key is exchanged later.
    func warn(
        of traces: Keyring.Traces, _ file: Failure.Subject, _ unlockFile: Failure.Subject, what: String, renew: Hint
    ) {
        warn(of: traces.keyring, "the keys that were in it", file)
        warn(of: traces.unlockKey, "what unlocks older copies of \(what)", unlockFile)
        let copies =
            switch traces.reason {
            case .destroyedKey: "older copies of \(what) hold the destroyed keys, and"
            case .interrupted:
                "an earlier exchange of the unlock key was interrupted and is not done: older copies of \(what)"
            default: "older copies of \(what)"
            }
        let consequence: String
        switch traces.exchange {
        case .notNeeded, .done: return
        // Which of the two unlock keys opens those copies depends on when the exchange was interrupted.
        case .othersUnlockIt where traces.reason == .interrupted: consequence = "may open with what unlocks it now"
        case .othersUnlockIt: consequence = "open with what unlocks it now"
        case .failed(let error): consequence = "may open with what unlocks it now: \(error.message)"
        }
        warn(unlockFile, "\(copies) \(consequence)", hint: renew)
    }

    private func warn(of erasure: Keyring.Erasure, _ contents: String, _ file: Failure.Subject) {
        switch erasure {
        case .notNeeded, .overwritten: return
        case .linkedElsewhere:
            warn(
                file, "its old file has other names (hard links) and still holds \(contents)",
                hint: .removeUnderOtherNames)
        case .failed(let error):
            warn(
                file, "its old file, with \(contents), could not be overwritten: \(error.message)",
                hint: .bytesStay)
        }
    }
}
