internal import SystemPackage
internal import VaultFile

extension KeyringPlace {
    /// The backup of a keyring in a folder. It has the same names whatever the keyring is called, so that it is found
    /// again.
    ///
    /// - Parameter missing: The status if there is no such folder.
    /// - Throws: `Failure` if there is no such folder.
    static func backup(in folder: PathArgument, missing: ExitStatus) throws(Failure) -> KeyringPlace {
        try folder.subject.attempt(system: missing) {
            guard try folder.path.stat().type == .directory else { throw Errno.notDirectory }
        }
        let slash = folder.endsWithSlash ? [] : [UInt8(ascii: "/")]
        return KeyringPlace(path: folder.bytes + slash + Array("keyring.vault".utf8), isDefault: false)
    }
}

extension KeyringSession {
    /// Copies the keyring to a backup.
    ///
    /// - Returns: How many keys the copy has, without destroyed ones.
    func backUp(to backup: KeyringPlace) throws(Failure) -> Int {
        let place = try located()
        guard place.exists || place.unlockKeyExists else { throw .noKeyring(place) }
        return try copy(place, to: backup) { lost, keyring in
            // That a key was destroyed is a reason to replace backups that still hold it.
            let destroyed = Set(keyring.entries.filter { $0.state == .destroyed }.map(\.id))
            let kept = lost.filter { !destroyed.contains($0.id) }
            guard !kept.isEmpty else { return }
            throw Failure.keysWouldBeLost(kept, in: backup, hint: .otherBackupFolder)
        }
    }

    /// Puts a backup in the place of the keyring.
    ///
    /// - Returns: How many keys the keyring has then, without destroyed ones.
    func restore(from backup: KeyringPlace) throws(Failure) -> Int {
        let place = try located()
        if place.isDefault {
            try place.subject.attempt(system: .cannotCreate) {
                try Platform.makeFolders(place.path.path.removingLastComponent())
            }
        }
        return try copy(backup, to: place) { lost, _ in
            throw Failure.keysWouldBeLost(lost, in: place, hint: .moveKeyringAway)
        }
    }

    private func copy(
        _ source: KeyringPlace, to target: KeyringPlace, onLoss: ([KeyringEntry], Keyring) throws -> Void
    ) throws(Failure) -> Int {
        for path in [source.path, source.unlockKey] where !KeyringPlace.exists(path) {
            throw Failure(.noKey, path.subject, "is missing", hint: .keyringHasTwoFiles)
        }
        do {
            let done = try Keyring.copy(
                from: source.path.path, to: target.path.path, unlocking: unlocker,
                allowsUnprotected: unlocker.allowsUnprotected, onLoss: onLoss)
            let copy = done.result
            warnIfReadable(unless: copy.isProtected, target)
            warn(ofDamage: copy.health, copy.unlockKeyHealth, target)
            console.warn(of: done.traces, target)
            return copy.entries.count(where: \.hasSecret)
        } catch let error as VaultError where Self.codesOfTarget.contains(error.code) {
            let subject = (error.isAboutUnlockKey ? target.unlockKey : target.path).subject
            var failure = Failure(error, about: subject, system: ExitStatus(ofSystem: error, missing: .cannotCreate))
            if error.code == .outputNotReplaceable { failure.hint = .moveDamagedKeyringAway }
            throw failure
        } catch {
            throw Failure(keyring: error, source, unlocker)
        }
    }

    /// The errors of a copy that are about the files that it makes.
    private static let codesOfTarget: Set<VaultError.Code> = [.outputFailed, .outputExists, .outputNotReplaceable]
}

extension Failure {
    /// Keys are only in the keyring that would be replaced.
    fileprivate static func keysWouldBeLost(_ entries: [KeyringEntry], in place: KeyringPlace, hint: Hint) -> Failure {
        let names = entries.prefix(4).map(\.subject.escaped).joined(separator: ", ")
        let more = entries.count > 4 ? " and \(entries.count - 4) more" : ""
        return Failure(code: .consentNeeded, place.subject, "has keys that would be lost: \(names)\(more)", hint: hint)
    }
}
