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
                return (result, traces)
            }
            let file = try lock(path)
            traces.keyring = file.eraseLeftover()
            let old = try Keyring(FileSource(file.descriptor, locking: .heldByCaller), unlockKey)
            var change = KeyringChange(old)
            let result = try body(&change)
            // Whoever was killed while he exchanged the unlock key did it because something was destroyed, or somebody is
            // not to unlock the keyring any more.
            let isUnfinished = try isBetweenKeys(file)
            guard change.isChanged || change.destroys || isUnfinished else { return (result, traces) }
            var keys = [unlockKey.key]
            let successor =
                change.destroys || isUnfinished
                ? Successor.forThoseOf(unlockKey, in: keyFile, &keys, &traces) : nil
            guard change.isChanged || isUnfinished || keys.count > 1 else { return (result, traces) }
            let new = try OutputFile.replacing(file)
            try writeAndCheck(try old.text.changed(to: change.items), to: new, for: keys)
            // What another program has put there is what is to be changed.
            guard file.isInPlace() else { throw isChanging }
            isWriting = true
            try new.take(placeOf: file, mayBreakLinks: true, keepingPrivate: true)
            traces.keyring = max(traces.keyring, erase(file))
            if let successor {
                // What was done is not taken back if this fails.
                do {
                    try settle(successor, path, keyFile, &traces)
                } catch {
                    traces.exchange = .failed(of: error)
                }
            }
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
            var traces = Traces()
            traces.unlockKey = keyFile.eraseLeftover()
            isWriting = true
            let successor = try Successor.make(for: unlockers, inPlaceOf: keyFile)
            if !isMissing(path) {
                traces.keyring = try rewrite(path, opening: old.key, for: [old.key, successor.key])
            }
            try settle(successor, path, keyFile, &traces)
            return traces
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
        eraseLeftovers(at: path)
        return try Vault.rotate(at: unlockKeyPath(of: path), change, keys: keys, context: UnlockKey.context)
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

        consuming func take(placeOf keyFile: borrowing LockedFile) throws(VaultError) {
            try file.take(placeOf: keyFile, mayBreakLinks: true, keepingPrivate: true)
        }
    }

    /// Puts the next unlock key in the place of the one before, and takes that one's slot from the keyring. Until then
    /// the keyring has slots of both: it is not certain which of them a power failure leaves.
    private static func settle(
        _ successor: consuming Successor, _ path: FilePath, _ keyFile: borrowing LockedFile, _ traces: inout Traces
    ) throws {
        let key = successor.key
        try successor.take(placeOf: keyFile)
        if !isMissing(path) { traces.keyring = max(traces.keyring, try rewrite(path, opening: key, for: [key])) }
        traces.unlockKey = max(traces.unlockKey, erase(keyFile))
        traces.exchange = .done
    }

    /// Whether the exchange of the unlock key stopped before its end. Of a file that was opened.
    private static func isBetweenKeys(_ file: borrowing LockedFile) throws -> Bool {
        let seen = try Inspection(FileSource(file.descriptor, locking: .heldByCaller))
        return [seen.front, seen.tail].contains { ($0.summary?.slots.count ?? 0) > 1 }
    }

    /// Writes the keyring as it is, for other keys.
    ///
    /// - Returns: what became of the bytes of the old file, and of one that was left beside it.
    private static func rewrite(
        _ path: FilePath, opening key: SymmetricKey, for keys: [SymmetricKey]
    ) throws -> Erasure {
        let file = try lock(path)
        let leftover = file.eraseLeftover()
        let text = try KeyringText.read(FileSource(file.descriptor, locking: .heldByCaller), key)
        let new = try OutputFile.replacing(file)
        try writeAndCheck(text, to: new, for: keys)
        try new.take(placeOf: file, mayBreakLinks: true, keepingPrivate: true)
        return max(leftover, erase(file))
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

    /// Of both files, where nobody else is changing them, whose they may be. It is not told what becomes of them: the
    /// next change tells it that finds them still there.
    private static func eraseLeftovers(at path: FilePath) {
        guard let keyFile = try? LockedFile(at: unlockKeyPath(of: path)) else { return }
        _ = keyFile.eraseLeftover()
        if let file = try? LockedFile(at: path) { _ = file.eraseLeftover() }
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
