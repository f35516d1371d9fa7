public import SystemPackage
import VaultFormat
public import VaultStream

extension Keyring {
    /// How often a lock that somebody else holds is waited for, two seconds each time.
    private static let lockAttempts = 5

    /// Makes a keyring with a first key, which is current. Interrupted at any moment, the same call once more makes
    /// what is missing (KEYRING-12).
    ///
    /// - Parameters:
    ///   - path: of the keyring.
    ///   - unlockers: the keys and passphrases that are to unlock it, each by itself; one at least.
    ///   - name: the first key's.
    ///   - created: when that was made.
    /// - Returns: the first key's entry.
    /// - Throws: `VaultError` with `outputExists` if there is a keyring already, `lastSlot` for no unlockers,
    ///   `wrongKey` if what unlocks it is there and for others, and what `change` throws.
    @discardableResult
    public static func create(
        at path: FilePath, for unlockers: [Recipient], first name: KeyName, created: Timestamp = .now
    ) throws -> KeyringEntry {
        let exists = VaultError(.outputExists, "there is a keyring already")
        guard isMissing(path) else { throw exists }
        do {
            try makeUnlockKey(at: path, for: unlockers)
        } catch let error as VaultError {
            // What an earlier call, or somebody else at this moment, has left is used.
            guard error.code == .outputExists else { throw error }
        }
        let unlocking = SecretsAtHand(KeySet(), adding: unlockers, removing: .none)
        return try change(at: path, making: true, unlocking: unlocking) { change in
            guard change.entries.isEmpty else { throw exists }
            return try change.generate(named: name, created: created)
        }.result
    }

    /// Makes what unlocks a keyring, before there is one: draws its unlock key and writes it into the file beside it,
    /// for the first `change` that may make a keyring.
    ///
    /// - Parameter unlockers: the keys and passphrases that are to unlock it, each by itself; one at least.
    /// - Throws: `VaultError` with `outputExists` if there is one already, `lastSlot` for no unlockers, `outputFailed`,
    ///   and what making a container throws.
    public static func makeUnlockKey(at path: FilePath, for unlockers: [Recipient]) throws {
        try refuseNobody(unlockers)
        try writeUnlockKey(at: path, for: unlockers)
    }

    /// The same for a keyring that nothing protects. **Everybody who can read the two files has its keys.**
    ///
    /// - Throws: `VaultError` with `outputExists` if there is one already, `outputFailed`.
    public static func makeUnprotectedUnlockKey(at path: FilePath) throws {
        try writeUnlockKey(at: path, for: [])
    }

    private static func writeUnlockKey(at path: FilePath, for unlockers: [Recipient]) throws {
        let file = try OutputFile(at: unlockKeyPath(of: path))
        try UnlockKey.write(try SymmetricKey.generate(), to: file, for: unlockers)
        try file.commit()
    }

    private static let isAlreadyProtected = VaultError(
        .keyringProtected, "something protects it already; the same once more adds to what unlocks it")

    /// A list that has come to nothing must not make a keyring that nothing protects.
    private static func refuseNobody(_ unlockers: [Recipient]) throws(VaultError) {
        guard !unlockers.isEmpty else {
            throw VaultError(.lastSlot, "a keyring is unlocked by at least one key or passphrase")
        }
    }

    /// Changes a keyring: all that `body` asks for, or nothing of it. One at a time: who comes later waits, and changes
    /// what the others have left.
    ///
    /// A change that destroys a key also exchanges the unlock key, so that old copies of the keyring are worth nothing
    /// to whoever gets them later, if all that unlocks it is at hand: the one key or passphrase, or nothing at all.
    ///
    /// - Parameters:
    ///   - path: of the keyring.
    ///   - isMaking: whether a keyring is made where there is none, if what unlocks it is there.
    ///   - keys: what opens the unlock key. It may be asked more than once, where others change the keyring meanwhile.
    ///   - allowsUnprotected: as for `open`.
    ///   - body: asks for the change. It may be called more than once, each time with what there is by then, and its
    ///     last call counts.
    /// - Returns: what `body` returned, and what is left of what was replaced.
    /// - Throws: what `open` and `body` throw; `VaultError` with `inUse` if somebody else keeps it locked or keeps
    ///   putting other files in its place, `outputFailed`. The keyring is then what it was; but if only the folder
    ///   cannot be synced, it is changed, and may be the old one again after a power failure.
    public static func change<R>(
        at path: FilePath, making isMaking: Bool = false, unlocking keys: any KeyProvider,
        allowsUnprotected: Bool = false, _ body: (inout KeyringChange) throws -> R
    ) throws -> Changed<R> {
        try whileFilesChange(path) { isWriting in
            let keyPath = unlockKeyPath(of: path)
            let unlockKey = try UnlockKey(at: keyPath, keys: keys, allowsUnprotected: allowsUnprotected)
            // Of the file that nobody replaces but to protect the keyring, so that the key that was read from it stays
            // the keyring's until the change is done.
            let keyFile = try lock(keyPath)
            guard try keyFile.status().version == unlockKey.version else { throw isChanging }
            var traces = Traces()
            traces.unlockKey = keyFile.eraseLeftover()
            if isMaking, isMissing(path) {
                let empty = try Keyring.empty(isProtected: unlockKey.isProtected)
                var change = KeyringChange(empty)
                let result = try body(&change)
                let text = try empty.text.changed(to: change.items)
                isWriting = true
                let file = try OutputFile(at: path)
                try write(text, to: file, for: [unlockKey.key])
                try file.commit()
                return Changed(result: result, traces: traces)
            }
            let file = try lock(path)
            traces.keyring = file.eraseLeftover()
            let old = try Keyring(FileSource(file.descriptor, locking: .heldByCaller), unlockKey)
            var change = KeyringChange(old)
            let result = try body(&change)
            // Whoever was killed while he exchanged the unlock key did it because something was destroyed, or somebody
            // is not to unlock the keyring any more.
            traces.reason = change.destroys ? .destroyedKey : old.isBetweenKeys ? .interrupted : nil
            guard change.isChanged || traces.reason != nil else { return Changed(result: result, traces: traces) }
            var keys = [unlockKey.key]
            let successor =
                traces.reason == nil ? nil : Successor.forThoseOf(unlockKey, in: keyFile, &keys, &traces)
            guard change.isChanged || old.isBetweenKeys || keys.count > 1 else {
                return Changed(result: result, traces: traces)
            }
            let text = try old.text.changed(to: change.items)
            let new = try OutputFile.replacing(file)
            try writeAndCheck(text, to: new, for: keys)
            // What another program has put there is what is to be changed.
            guard try file.standing() == .inPlace else { throw isChanging }
            isWriting = true
            let changed = try put(new, inPlaceOf: file, &traces)
            if let successor {
                // What was done is not taken back if this fails.
                do {
                    try settle(successor, changed, keyFile, &traces)
                } catch {
                    traces.exchange = .failed(of: error)
                }
            }
            return Changed(result: result, traces: traces)
        }
    }

    /// Protects a keyring that nothing has protected, or draws another unlock key for one that is: only these unlock it
    /// from here on, also for whoever has a copy of the file that unlocked it before. Wherever this is interrupted,
    /// what unlocked the keyring or what is to unlock it does.
    ///
    /// - Parameters:
    ///   - path: of the keyring.
    ///   - isRenewing: whether that is done where something protects it already. Whoever only means to protect what
    ///     nothing protects says `false`: else all who unlock it would be locked out by one who took it for unprotected
    ///     while somebody else was protecting it.
    ///   - keys: what opens the unlock key now.
    ///   - allowsUnprotected: as for `open`.
    ///   - unlockers: the keys and passphrases that are to unlock it, one at least.
    /// - Returns: what is left of what was replaced.
    /// - Throws: what `change` throws; `VaultError` with `lastSlot` for no unlockers, and `keyringProtected` if something
    ///   protects the keyring and `isRenewing` is false.
    public static func protect(
        at path: FilePath, renewing isRenewing: Bool, unlocking keys: any KeyProvider, allowsUnprotected: Bool = false,
        with unlockers: [Recipient]
    ) throws -> Traces {
        try refuseNobody(unlockers)
        return try whileFilesChange(path) { isWriting in
            // Before keys are asked for: those of whoever protects it are not the caller's.
            if try !isRenewing && isProtected(at: path) { throw isAlreadyProtected }
            let old = try UnlockKey(at: unlockKeyPath(of: path), keys: keys, allowsUnprotected: allowsUnprotected)
            let keyFile = try lock(unlockKeyPath(of: path))
            guard try keyFile.status().version == old.version else { throw isChanging }
            guard isRenewing || !old.isProtected else { throw isAlreadyProtected }
            var traces = Traces()
            traces.reason = .asked
            traces.unlockKey = keyFile.eraseLeftover()
            if isMissing(path) {
                isWriting = true
                let successor = try Successor.make(for: unlockers, inPlaceOf: keyFile)
                try successor.take(placeOf: keyFile)
                traces.unlockKey = max(traces.unlockKey, erase(keyFile))
                traces.exchange = .done
                return traces
            }
            let file = try lock(path)
            traces.keyring = file.eraseLeftover()
            isWriting = true
            let successor = try Successor.make(for: unlockers, inPlaceOf: keyFile)
            let both = try rewrite(file, opening: old.key, for: [old.key, successor.key], &traces)
            try settle(successor, both, keyFile, &traces)
            return traces
        }
    }

    /// Changes which keys and passphrases unlock a keyring: a rotation of the small container beside it, which leaves
    /// the keyring itself as it is. It takes nothing from whoever has a copy of that container and what opened it;
    /// `protect` does. An exchange of the unlock key that was interrupted is ended first, as by every change: with more
    /// who unlock the keyring that could need somebody who is not there.
    ///
    /// - Parameters:
    ///   - path: of the keyring.
    ///   - keys: what opens the unlock key now.
    /// - Returns: what was done with the container, and what is left of what was replaced.
    /// - Throws: what `change` and `Vault.rotate` throw; `VaultError` with `keyringUnprotected` if nothing protects
    ///   the unlock key.
    public static func changeUnlockers(
        at path: FilePath, _ change: KeyChange, unlocking keys: any KeyProvider
    ) throws -> Changed<Rotation> {
        var traces = Traces()
        if isMissing(path) {
            guard try isProtected(at: path) else { throw unprotected }
            traces.unlockKey = try lock(unlockKeyPath(of: path)).eraseLeftover()
        } else {
            let secrets = SecretsAtHand(keys, adding: change.adding, removing: change.removing)
            traces = try Keyring.change(at: path, unlocking: secrets) { _ in }.traces
        }
        let rotation = try HeaderUpdate(
            change: change, keys: keys, context: UnlockKey.context, options: RotationOptions(), randomness: .system
        ).run(at: .path(unlockKeyPath(of: path)))
        return Changed(result: rotation, traces: traces)
    }

    /// An unlock key that is to come (KEYRING-13), in the file that is to hold it.
    private struct Successor: ~Copyable {
        let key: SymmetricKey
        private let file: ReplacementFile

        private init(_ key: SymmetricKey, _ file: consuming ReplacementFile) {
            self.key = key
            self.file = file
        }

        /// Draws one, under the lock on the file that holds the one before.
        static func make(for unlockers: [Recipient], inPlaceOf keyFile: borrowing LockedFile) throws -> Successor {
            let key = try SymmetricKey.generate()
            let file = try OutputFile.replacing(keyFile)
            try UnlockKey.write(key, to: file, for: unlockers)
            return Successor(key, file)
        }

        /// Draws one for those who unlock the keyring now (KEYRING-15), and adds it to `keys`; nil where that cannot be
        /// done, which the traces say then.
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

    /// Puts the next unlock key in the place of the one before, and takes that one's slot from the keyring. Until then
    /// the keyring has slots of both: it is not certain which of them a power failure leaves.
    ///
    /// The new unlock file stays locked until the keyring has its one slot. Without that somebody else would take the
    /// two slots for those of an exchange that was interrupted, and begin one of his own; each would then write a
    /// keyring that the other's unlock file does not open.
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
        // In the order in which others take them, backwards; and both to here.
        settled.unlock()
        newKeyFile.unlock()
    }

    /// Writes a keyring as it is, for other keys.
    ///
    /// - Returns: the file that has its name now, locked.
    private static func rewrite(
        _ file: borrowing LockedFile, opening key: SymmetricKey, for keys: [SymmetricKey], _ traces: inout Traces
    ) throws -> LockedFile {
        let reader = try KeyringText.reader(of: FileSource(file.descriptor, locking: .heldByCaller), key)
        let text = try KeyringText.read(reader)
        let new = try OutputFile.replacing(file)
        try writeAndCheck(text, to: new, for: keys)
        return try put(new, inPlaceOf: file, &traces)
    }

    /// Puts a keyring file in the place of another, and overwrites that one.
    ///
    /// - Returns: the file that has its name now, locked.
    private static func put(
        _ new: consuming ReplacementFile, inPlaceOf file: borrowing LockedFile, _ traces: inout Traces
    ) throws(VaultError) -> LockedFile {
        let taken = try new.take(placeOf: file, mayBreakLinks: true, keepingPrivate: true)
        traces.keyring = max(traces.keyring, erase(file))
        return taken
    }

    /// Writes what is to take the place of the only other keyring, whose bytes go then, and reads it back before.
    private static func writeAndCheck(
        _ text: borrowing KeyringText, to file: borrowing ReplacementFile, for keys: [SymmetricKey]
    ) throws {
        try write(text, to: file, for: keys)
        let source = FileSource(file.descriptor, locking: .heldByCaller)
        let isDifferent = VaultError(.outputFailed, "the new keyring does not read back as it was written")
        for key in keys {
            do {
                let written = try KeyringText.read(KeyringText.reader(of: source, key))
                guard written.entries == text.entries else { throw isDifferent }
            } catch let error as VaultError {
                throw error.code == .inputFailed ? error : isDifferent
            }
        }
    }

    private static func write<File: BytesOutput & ~Copyable>(
        _ text: borrowing KeyringText, to file: borrowing File, for keys: [SymmetricKey]
    ) throws {
        try text.withBytes { text in
            try file.seal(text, for: keys.map { .key($0) }, context: context, contentType: contentType)
        }
    }

    /// Overwrites what has lost its name. Whoever finds the old bytes and the key that unlocks them would have keys
    /// that were destroyed later, too.
    private static func erase(_ file: borrowing LockedFile) -> Erasure {
        do {
            return try file.overwrite(unlessNames: 0)
        } catch {
            return .failed(error)
        }
    }

    /// Locks a file, and makes durable what somebody who was killed has left in the system's memory of it or of its
    /// name: what is made of it, or reported as done since there is nothing left to do, would else outlive it.
    private static func lock(_ path: FilePath) throws(VaultError) -> LockedFile {
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

    private static func isMissing(_ path: FilePath) -> Bool {
        do {
            _ = try path.status()
            return false
        } catch {
            return error == .noSuchFileOrDirectory
        }
    }
}
