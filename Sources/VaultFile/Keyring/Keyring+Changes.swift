public import SystemPackage
import VaultFormat
public import VaultStream

extension Keyring {
    /// How often a lock that somebody else holds is waited for, two seconds each time.
    private static let lockAttempts = 5

    /// Makes what unlocks a keyring, before there is one: draws its unlock key and writes it into the file beside it, for
    /// the first `change` that may make a keyring.
    ///
    /// - Parameter unlockers: the keys and passphrases that are to unlock it, each by itself. **With none, everybody who
    ///   can read the two files has the keys.**
    /// - Throws: `VaultError` with `outputExists` if there is one already, `outputFailed`, and what making a container
    ///   throws.
    public static func makeUnlockKey(at path: FilePath, for unlockers: [Recipient]) throws {
        let file = try OutputFile(at: unlockKeyPath(of: path))
        try UnlockKey.write(try SymmetricKey.generate(), to: file, for: unlockers)
        try file.commit()
    }

    /// Changes a keyring: all that `body` asks for, or nothing of it. One at a time: who comes later waits, and changes
    /// what the others have left.
    ///
    /// A change that destroys a key also exchanges the unlock key, so that old copies of the keyring are worth nothing to
    /// whoever gets them later, if all that unlocks it is at hand: the one key or passphrase, or nothing at all.
    ///
    /// - Parameters:
    ///   - path: of the keyring.
    ///   - isMaking: whether a keyring is made where there is none, if what unlocks it is there.
    ///   - keys: what opens the unlock key. It may be asked more than once, where others change the keyring meanwhile.
    ///   - allowsUnprotected: as for `open`.
    ///   - body: asks for the change. It may be called more than once, each time with what there is by then, and its last
    ///     call counts.
    /// - Returns: what `body` returned, and what is left of what was replaced.
    /// - Throws: what `open` and `body` throw; `VaultError` with `inUse` if somebody else keeps it locked or keeps putting
    ///   other files in its place, `outputFailed`. The keyring is then what it was; but if only the folder cannot be
    ///   synced, it is changed, and may be the old one again after a power failure.
    @discardableResult
    public static func change<R>(
        at path: FilePath, making isMaking: Bool = false, unlocking keys: any KeyProvider,
        allowsUnprotected: Bool = false, _ body: (inout KeyringChange) throws -> R
    ) throws -> (result: R, traces: Traces) {
        try whileFilesChange(path) { isWriting in
            let keyPath = unlockKeyPath(of: path)
            let unlockKey = try UnlockKey(at: keyPath, keys: keys, allowsUnprotected: allowsUnprotected)
            // Of the file that nobody replaces but to protect the keyring, so that the key that was read from it stays the
            // keyring's until the change is done.
            let keyFile = try lock(keyPath)
            guard keyFile.identity == unlockKey.identity else { throw isChanging }
            if isMaking, isMissing(path) {
                let empty = try Keyring.empty(isProtected: unlockKey.isProtected)
                var change = KeyringChange(empty)
                let result = try body(&change)
                let text = try empty.text.changed(to: change.items)
                isWriting = true
                let file = try OutputFile(at: path)
                try write(text, to: file, for: [unlockKey.key])
                try file.commit()
                return (result, Traces())
            }
            let file = try lock(path)
            let old = try Keyring(FileSource(file.descriptor, locking: .heldByCaller), unlockKey)
            var change = KeyringChange(old)
            let result = try body(&change)
            guard change.isChanged else { return (result, Traces()) }
            let new = try OutputFile.replacing(file)
            try writeAndCheck(try old.text.changed(to: change.items), to: new, for: [unlockKey.key])
            // What another program has put there is what is to be changed.
            guard file.isInPlace() else { throw isChanging }
            isWriting = true
            try new.take(placeOf: file, mayBreakLinks: true, keepingPrivate: true)
            var traces = Traces()
            traces.keyring = erase(file)
            if change.destroys { traces.add(renew(path, keyFile, unlockKey)) }
            return (result, traces)
        }
    }

    /// Protects a keyring that nothing has protected, or draws another unlock key for one that is: only these unlock it
    /// from here on, also for whoever has a copy of the file that unlocked it before. Wherever this is interrupted, what
    /// unlocked the keyring or what is to unlock it does.
    ///
    /// - Parameters:
    ///   - path: of the keyring.
    ///   - keys: what opens the unlock key now.
    ///   - allowsUnprotected: as for `open`.
    ///   - unlockers: the keys and passphrases that are to unlock it, one at least.
    /// - Returns: what is left of what was replaced.
    /// - Throws: what `change` throws; `VaultError` with `lastSlot` for no unlockers.
    @discardableResult
    public static func protect(
        at path: FilePath, unlocking keys: any KeyProvider, allowsUnprotected: Bool = false,
        with unlockers: [Recipient]
    ) throws -> Traces {
        guard !unlockers.isEmpty else {
            throw VaultError(.lastSlot, "a keyring is unlocked by at least one key or passphrase")
        }
        return try whileFilesChange(path) { isWriting in
            let old = try UnlockKey(at: unlockKeyPath(of: path), keys: keys, allowsUnprotected: allowsUnprotected)
            let keyFile = try lock(unlockKeyPath(of: path))
            guard keyFile.identity == old.identity else { throw isChanging }
            isWriting = true
            return try exchange(path, keyFile, old.key, for: unlockers)
        }
    }

    /// Changes which keys and passphrases unlock a keyring: a rotation of the small container beside it, which leaves the
    /// keyring itself as it is. It takes nothing from whoever has a copy of that container and what opened it; `protect`
    /// does.
    ///
    /// - Parameters:
    ///   - path: of the keyring.
    ///   - keys: what opens the unlock key now.
    /// - Throws: what `Vault.rotate` throws; `VaultError` with `notVaultfile` where nothing protects the unlock key.
    @discardableResult
    public static func changeUnlockers(
        at path: FilePath, _ change: KeyChange, unlocking keys: any KeyProvider
    ) throws -> Rotation {
        try Vault.rotate(at: unlockKeyPath(of: path), change, keys: keys, context: UnlockKey.context)
    }

    /// Draws another unlock key (KEYRING-13), under the lock on the file that holds the one before.
    private static func exchange(
        _ path: FilePath, _ keyFile: borrowing LockedFile, _ old: SymmetricKey, for unlockers: [Recipient]
    ) throws -> Traces {
        let new = try SymmetricKey.generate()
        let newFile = try OutputFile.replacing(keyFile)
        try UnlockKey.write(new, to: newFile, for: unlockers)
        var traces = Traces(exchange: .done)
        // Both unlock it while it is not certain which of them a power failure leaves.
        if !isMissing(path) { traces.keyring = try rewrite(path, opening: old, for: [old, new]) }
        try newFile.take(placeOf: keyFile, mayBreakLinks: true, keepingPrivate: true)
        if !isMissing(path) { traces.keyring = max(traces.keyring, try rewrite(path, opening: new, for: [new])) }
        traces.unlockKey = erase(keyFile)
        return traces
    }

    /// Exchanges the unlock key after a key was destroyed, for those who unlock the keyring now. It takes nothing back of
    /// what was done if it fails.
    private static func renew(
        _ path: FilePath, _ keyFile: borrowing LockedFile, _ old: UnlockKey
    ) -> Traces {
        do {
            guard let unlockers = try old.allUnlockers(in: keyFile) else { return Traces(exchange: .othersUnlockIt) }
            return try exchange(path, keyFile, old.key, for: unlockers)
        } catch {
            let error = error as? VaultError
            return Traces(exchange: .failed(error ?? VaultError(.outputFailed, "it could not be exchanged")))
        }
    }

    /// Writes the keyring as it is, for other keys.
    ///
    /// - Returns: what became of the bytes of the old file.
    private static func rewrite(
        _ path: FilePath, opening key: SymmetricKey, for keys: [SymmetricKey]
    ) throws -> Erasure {
        let file = try lock(path)
        let text = try KeyringText.read(FileSource(file.descriptor, locking: .heldByCaller), key)
        let new = try OutputFile.replacing(file)
        try writeAndCheck(text, to: new, for: keys)
        try new.take(placeOf: file, mayBreakLinks: true, keepingPrivate: true)
        return erase(file)
    }

    /// Writes what is to take the place of the only other keyring, whose bytes go then, and reads it back before.
    private static func writeAndCheck(
        _ text: borrowing KeyringText, to file: borrowing ReplacementFile, for keys: [SymmetricKey]
    ) throws {
        try write(text, to: file, for: keys)
        let source = FileSource(file.descriptor, locking: .heldByCaller)
        for key in keys {
            guard let written = try? KeyringText.read(source, key), written.entries == text.entries else {
                throw VaultError(.outputFailed, "the new keyring does not read back as it was written")
            }
        }
    }

    private static func write<File: BytesOutput & ~Copyable>(
        _ text: borrowing KeyringText, to file: borrowing File, for keys: [SymmetricKey]
    ) throws {
        var options = SealOptions()
        options.context = context
        options.metadata.contentType = contentType
        try text.withBytes { try file.seal($0, for: keys.map { .key($0) }, options: options) }
    }

    /// Overwrites what has lost its name. Whoever finds the old bytes and the key that unlocks them would have keys that
    /// were destroyed later, too.
    private static func erase(_ file: borrowing LockedFile) -> Erasure {
        do throws(VaultError) {
            let status: FileStatus
            do {
                status = try file.descriptor.status()
            } catch {
                throw VaultError(.outputFailed, "it cannot be looked at: \(error)", systemError: error.rawValue)
            }
            guard status.linkCount == 0 else { return .linkedElsewhere }
            try file.write([UInt8](repeating: 0, count: Int(truncatingIfNeeded: status.size)), at: 0)
            return .overwritten
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

    private static let isChanging = VaultError(.inUse, "somebody else is changing what unlocks it")
}
