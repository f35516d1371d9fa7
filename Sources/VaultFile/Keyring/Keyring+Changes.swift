public import SystemPackage
import VaultFormat
public import VaultStream

extension Keyring {
    /// How often it waits for a lock that another program holds, two seconds each time.
    private static let lockAttempts = 5

    private static let isAlreadyProtected = VaultError(
        .keyringProtected, "something protects it already; doing the same again adds to what unlocks it")

    /// Changes a keyring: makes all changes that `body` asks for, or none. One change is made at a time. A later one
    /// waits, and changes the result of those before it.
    ///
    /// Every change that succeeds also makes damaged header copies of the two files whole.
    ///
    /// A change that destroys a key also exchanges the unlock key, so that old copies of the keyring are useless to a
    /// person who gets them later. It can do so only if the call has everything that unlocks the keyring: a single key
    /// or passphrase, or nothing if nothing protects it.
    ///
    /// - Parameters:
    ///   - path: the path of the keyring.
    ///   - isMaking: whether a keyring is made if there is none and its unlock key exists.
    ///   - keys: the secrets that open the unlock key. If other programs change the keyring meanwhile, it is asked
    ///     several times.
    ///   - allowsUnprotected: as for `open`.
    ///   - allowsUnlocked: as for `open`. If the unlock key has to be exchanged, `keys` are asked all the same.
    ///   - onUnreadable: as for `open`.
    ///   - body: asks for the change. It may be called several times, each time with the present state of the keyring.
    ///     The last call counts.
    /// - Returns: what `body` returned, and what is left of the files that were replaced.
    /// - Throws: what `open` and `body` throw; `VaultError` with `inUse` if another program keeps the keyring locked or
    ///   keeps replacing it, `outputFailed`. Then the keyring is not changed. But if only its folder could not be
    ///   synced, it is changed, and a power failure may bring back the old one.
    public static func change<R>(
        at path: FilePath, making isMaking: Bool = false, unlocking keys: any KeyProvider,
        allowsUnprotected: Bool = false, allowsUnlocked: Bool = false,
        onUnreadable: (VaultError) -> Void = { _ in }, _ body: (inout KeyringChange) throws -> R
    ) throws -> Changed<R> {
        if allowsUnlocked, let done = try changeUnlocked(at: path, onUnreadable, body) { return done }
        let read = { try UnlockKey(at: $0, keys: keys, allowsUnprotected: allowsUnprotected) }
        do {
            return try change(at: path, making: isMaking, with: read, body)
        } catch let damaged as DamagedUnlockFile {
            _ = try UnlockKey.errors {
                try Vault.repair(at: unlockKeyPath(of: path), with: UnlockKey.credentials(keys))
            }
            do {
                var done = try change(at: path, making: isMaking, with: read, body)
                done.unlockKeyHealth = damaged.health
                return done
            } catch is DamagedUnlockFile {
                throw isChanging
            }
        }
    }

    /// A header copy of the unlock file is damaged, and the change is possible. The file is repaired first: only an
    /// undamaged one tells everything that unlocks it. A change that is refused repairs nothing.
    private struct DamagedUnlockFile: Error {
        let health: Health

        static func refuse(_ health: Health) throws {
            guard [.frontDamaged, .tailDamaged].contains(health) else { return }
            throw DamagedUnlockFile(health: health)
        }
    }

    /// - Parameter read: reads the unlock key. It is called again after another program has changed the files.
    static func change<R>(
        at path: FilePath, making isMaking: Bool, with read: (_ unlockFile: FilePath) throws -> UnlockKey,
        _ body: (inout KeyringChange) throws -> R
    ) throws -> Changed<R> {
        try whileFilesChange(path) { isWriting in
            let keyPath = unlockKeyPath(of: path)
            let unlockKey = try read(keyPath)
            let unlockKeyHealth = unlockKey.health
            // Only a call that protects the keyring replaces this file. Locked, the key that was read from it stays the
            // keyring's until the change is done.
            let keyFile = try UnlockKey.errors { try lock(keyPath) }
            guard try keyFile.status().version == unlockKey.version else { throw isChanging }
            var traces = Traces()
            traces.unlockKey = try keyFile.eraseLeftover()
            if try isMaking && isMissing(path) {
                let empty = try Keyring.empty(isProtected: unlockKey.isProtected)
                var change = KeyringChange(empty)
                let result = try body(&change)
                try DamagedUnlockFile.refuse(unlockKeyHealth)
                let text = try empty.text.changed(to: change.items)
                isWriting = true
                let file = try OutputFile(at: path)
                try write(text, to: file, for: [unlockKey.key])
                try file.commit()
                return Changed(result: result, traces: traces, unlockKeyHealth: unlockKeyHealth)
            }
            let file = try lock(path)
            traces.keyring = try file.eraseLeftover()
            let old = try Keyring(FileSource(file.descriptor, locking: .heldByCaller), unlockKey)
            var change = KeyringChange(old)
            let result = try body(&change)
            try DamagedUnlockFile.refuse(unlockKeyHealth)
            // An exchange of the unlock key that was interrupted had a reason: a key was destroyed, or a person must
            // not unlock the keyring any more.
            traces.reason = change.destroys ? .destroyedKey : old.isBetweenKeys ? .interrupted : nil
            if traces.reason != nil, unlockKey.isKept { throw KeptUnlockKey.NotEnough() }
            func changed() -> Changed<R> {
                Changed(result: result, traces: traces, health: old.health, unlockKeyHealth: unlockKeyHealth)
            }
            let isDue = change.isChanged || old.health != .intact
            guard isDue || traces.reason != nil else { return changed() }
            var keys = [unlockKey.key]
            let successor =
                traces.reason == nil ? nil : Successor.forThoseOf(unlockKey, in: keyFile, &keys, &traces)
            guard isDue || old.isBetweenKeys || keys.count > 1 else { return changed() }
            if keys.count > 1 { forget(path) }
            let text = try old.text.changed(to: change.items)
            let new = try OutputFile.replacing(file)
            try writeAndCheck(text, to: new, for: keys)
            // If another program has put another keyring there, that one has to be changed.
            guard try file.standing() == .inPlace else { throw isChanging }
            isWriting = true
            let taken = try put(new, inPlaceOf: file, &traces)
            if let successor {
                // The change is done, and stays if this fails.
                do {
                    try settle(successor, taken, keyFile, &traces)
                } catch {
                    traces.exchange = .failed(of: error)
                }
            }
            return changed()
        }
    }

    /// Protects a keyring that nothing has protected, or makes a new unlock key for a protected one. From then on only
    /// `unlockers` unlock it: a copy of the file that unlocked it before does not help. If the call is interrupted, the
    /// keyring opens with the old secrets or with the new ones.
    ///
    /// - Parameters:
    ///   - path: the path of the keyring.
    ///   - isRenewing: whether to go on if something protects the keyring already. Say `false` to protect a keyring
    ///     that nothing protects: otherwise, if another program protects it at the same time, this call would lock them
    ///     out.
    ///   - keys: the secrets that open the unlock key now.
    ///   - allowsUnprotected: as for `open`.
    ///   - unlockers: the keys and passphrases that will unlock the keyring; at least one.
    /// - Returns: what is left of the files that were replaced.
    /// - Throws: what `change` throws; `VaultError` with `lastSlot` for no unlockers, `invalidArgument` for a public
    ///   key or a passphrase that costs more than ``Argon2Parameters/standard``, and `keyringProtected` if something protects
    ///   the keyring and `isRenewing` is false.
    public static func protect(
        at path: FilePath, renewing isRenewing: Bool, unlocking keys: any KeyProvider, allowsUnprotected: Bool = false,
        with unlockers: [Recipient]
    ) throws -> Traces {
        try refuseEmpty(unlockers)  // mutant: the order of these two checks makes no difference
        try UnlockKey.check(unlockers)
        return try whileFilesChange(path) { isWriting in
            // Checked before keys are asked for: the caller may not have the keys of the person who has just protected
            // it.
            if try !isRenewing && isProtected(at: path) { throw isAlreadyProtected }
            let old = try UnlockKey(at: unlockKeyPath(of: path), keys: keys, allowsUnprotected: allowsUnprotected)
            let keyFile = try UnlockKey.errors { try lock(unlockKeyPath(of: path)) }
            guard try keyFile.status().version == old.version else { throw isChanging }
            guard isRenewing || !old.isProtected else { throw isAlreadyProtected }
            var traces = Traces()
            traces.reason = .asked
            traces.unlockKey = try keyFile.eraseLeftover()
            forget(path)
            if try isMissing(path) {
                isWriting = true
                let successor = try Successor.make(for: unlockers, inPlaceOf: keyFile)
                try successor.take(placeOf: keyFile)
                traces.unlockKey = max(traces.unlockKey, erase(keyFile))
                traces.exchange = .done
                return traces
            }
            let file = try lock(path)
            traces.keyring = try file.eraseLeftover()
            isWriting = true
            let successor = try Successor.make(for: unlockers, inPlaceOf: keyFile)
            let both = try rewrite(file, opening: old.key, for: [old.key, successor.key], &traces)
            try settle(successor, both, keyFile, &traces)
            return traces
        }
    }

    /// Changes which keys and passphrases unlock a keyring. It rotates the small container beside the keyring, and does
    /// not change the keyring itself. A person who has a copy of that container and a secret that opened it can still
    /// open the keyring; use `protect` against that.
    ///
    /// If an exchange of the unlock key was interrupted, it is finished first, as by every change. Later, with more
    /// unlockers, finishing it could need a secret that is not at hand.
    ///
    /// - Parameters:
    ///   - path: the path of the keyring.
    ///   - change: the slots of the container to remove and to add.
    ///   - keys: the secrets that open the unlock key now.
    /// - Returns: what was done with the container, and what is left of the files that were replaced.
    /// - Throws: what `change` and `Vault.rotate` throw; `VaultError` with `keyringUnprotected` if nothing protects
    ///   the unlock key, and `invalidArgument` for a public key, or a passphrase that costs more than
    ///   ``Argon2Parameters/standard``.
    public static func changeUnlockers(
        at path: FilePath, _ change: KeyChange, unlocking keys: any KeyProvider
    ) throws -> Changed<Rotation> {
        try UnlockKey.check(change.adding)
        var traces = Traces()
        var found = (Health.intact, Health.intact)
        if try isMissing(path) {
            guard try isProtected(at: path) else { throw unprotected.ofUnlockKey }
            traces.unlockKey = try lock(unlockKeyPath(of: path)).eraseLeftover()
        } else {
            let secrets = SecretsAtHand(keys, adding: change.adding, removing: change.removing)
            let done = try Keyring.change(at: path, unlocking: secrets) { _ in }
            (traces, found) = (done.traces, (done.health, done.unlockKeyHealth))
        }
        forget(path)
        let rotation = try SecretPair.keyring.changeUnlockers(at: path, change, unlocking: keys)
        return Changed(result: rotation, traces: traces, health: found.0, unlockKeyHealth: found.1)
    }

    /// The next unlock key (KEYRING-13), in its unfinished file.
    private struct Successor: ~Copyable {
        let key: SymmetricKey
        private let file: ReplacementFile

        private init(_ key: SymmetricKey, _ file: consuming ReplacementFile) {
            self.key = key
            self.file = file
        }

        /// Makes one. The caller holds the lock on the file of the present unlock key.
        static func make(for unlockers: [Recipient], inPlaceOf keyFile: borrowing LockedFile) throws -> Successor {
            let key = try SymmetricKey.generate()
            let file = try OutputFile.replacing(keyFile)
            try UnlockKey.write(key, to: file, for: unlockers)
            return Successor(key, file)
        }

        /// Makes one for those who unlock the keyring now (KEYRING-15), and adds it to `keys`. Nil if that is not
        /// possible; the traces then say why.
        static func forThoseOf(
            _ old: UnlockKey, in keyFile: borrowing LockedFile, _ keys: inout [SymmetricKey], _ traces: inout Traces
        ) -> Successor? {
            do {
                if let unlockers = try old.allUnlockers(in: keyFile) {
                    let successor = try make(for: unlockers, inPlaceOf: keyFile)
                    keys.append(successor.key)
                    return successor
                }
                traces.exchange = .othersUnlockIt
            } catch {
                traces.exchange = .failed(of: error)
            }
            return nil
        }

        @discardableResult
        consuming func take(placeOf keyFile: borrowing LockedFile) throws(VaultError) -> LockedFile {
            try file.take(placeOf: keyFile, mayBreakLinks: true, keepingPrivate: true)
        }
    }

    /// Puts the next unlock key in the place of the present one, and then removes the slot of the old one from the
    /// keyring. Until then the keyring has slots for both, because a power failure may leave either of them.
    ///
    /// The new unlock file stays locked until the keyring has only one slot. Without the lock, another program would
    /// take the two slots for an interrupted exchange, and begin its own. Each program would then write a keyring that
    /// the other's unlock file does not open.
    ///
    /// - Parameter both: the keyring file with both slots.
    private static func settle(
        _ successor: consuming Successor, _ both: borrowing LockedFile, _ keyFile: borrowing LockedFile,
        _ traces: inout Traces
    ) throws {
        let key = successor.key
        let newKeyFile = try successor.take(placeOf: keyFile)
        let settled = try rewrite(both, opening: key, for: [key], &traces)
        traces.unlockKey = max(traces.unlockKey, erase(keyFile))
        traces.exchange = .done
        // Both locks are held until here. They are released in the reverse of the order in which programs take them.
        // mutant: they are released when the values go, too; a program that gets one waits for the other
        settled.unlock()
        newKeyFile.unlock()  // mutant: it is released when the value goes, too
    }

    /// Writes the keyring again, unchanged, with slots for other keys.
    ///
    /// - Returns: the new keyring file, locked.
    private static func rewrite(
        _ file: borrowing LockedFile, opening key: SymmetricKey, for keys: [SymmetricKey], _ traces: inout Traces
    ) throws -> LockedFile {
        let reader = try KeyringText.reader(of: FileSource(file.descriptor, locking: .heldByCaller), key)
        let text = try KeyringText.read(reader)
        let new = try OutputFile.replacing(file)
        try writeAndCheck(text, to: new, for: keys)
        return try put(new, inPlaceOf: file, &traces)
    }

    /// Puts a keyring file in the place of another, and overwrites the other.
    ///
    /// - Returns: the new keyring file, locked.
    static func put(
        _ new: consuming ReplacementFile, inPlaceOf file: borrowing LockedFile, _ traces: inout Traces
    ) throws(VaultError) -> LockedFile {
        let taken = try new.take(placeOf: file, mayBreakLinks: true, keepingPrivate: true)
        traces.keyring = max(traces.keyring, erase(file))
        return taken
    }

    /// Writes a new keyring file and reads it back, before it takes the place of the old one and the old one is
    /// overwritten.
    static func writeAndCheck(
        _ text: borrowing KeyringText, to file: borrowing ReplacementFile, for keys: [SymmetricKey]
    ) throws {
        try write(text, to: file, for: keys)
        let source = FileSource(file.descriptor, locking: .heldByCaller)
        let isDifferent = VaultError(.outputFailed, "the new keyring does not read back as it was written")
        for key in keys {
            do {
                let written = try KeyringText.read(KeyringText.reader(of: source, key))
                // mutant: only a fault of this program could make another text that is authentic
                guard written.entries == text.entries else { throw isDifferent }
            } catch let error as VaultError {
                throw error.code == .inputFailed ? error : isDifferent
            }
        }
    }

    static func write<File: BytesOutput & ~Copyable>(
        _ text: borrowing KeyringText, to file: borrowing File, for keys: [SymmetricKey]
    ) throws {
        try text.withBytes { text in
            try file.seal(text, for: keys.map { .key($0) }, context: context, contentType: contentType)
        }
    }

    /// Overwrites a file that has lost its name. Otherwise an attacker who finds the old bytes, and the key that
    /// unlocks them, would also have keys that were destroyed later.
    static func erase(_ file: borrowing LockedFile) -> Erasure {
        do {
            return try file.overwrite(unlessNames: 0)
        } catch {
            return .failed(error)
        }
    }

    /// Locks a file, and makes durable what a killed program may have left of it, or of its name, only in the system's
    /// cache. Otherwise a power failure could undo that program's work after this one has built on it, or has reported
    /// it as done.
    static func lock(_ path: FilePath) throws(VaultError) -> LockedFile {
        let file = try wait(for: path)
        try file.synchronizeAll()
        return file
    }

    private static func wait(for path: FilePath) throws(VaultError) -> LockedFile {
        for _ in 1..<lockAttempts {
            do throws(VaultError) {
                return try LockedFile(at: path)
            } catch {
                guard error.code == .inUse else { throw error }
            }
        }
        return try LockedFile(at: path)
    }

    /// Whether there is no file with this path.
    ///
    /// - Throws: an error with this code if that cannot be found out. A file that cannot be seen may hold keys.
    static func isMissing(_ path: FilePath, else code: VaultError.Code = .inputFailed) throws(VaultError) -> Bool {
        do throws(Errno) {
            _ = try path.status()
            return false
        } catch {
            if error == .noSuchFileOrDirectory { return true }
            throw VaultError(code, "its status cannot be read: \(error)", systemError: error)
        }
    }
}
