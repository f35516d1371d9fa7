public import SystemPackage
import VaultFormat
public import VaultStream

extension Keyring {
    /// What became of the bytes of the old file, where a change destroyed a key.
    public enum Erasure: Hashable, Sendable {
        /// No secret has gone.
        case notNeeded
        /// They were overwritten with zeros. Nothing can be said of what a drive keeps of them, or a backup.
        case overwritten
        /// The file has other names, hard links, under which it is left as it was: it still holds the key.
        case linkedElsewhere
        /// They could not be overwritten.
        case failed(VaultError)
    }

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
    /// - Parameters:
    ///   - path: of the keyring.
    ///   - isMaking: whether a keyring is made where there is none, if what unlocks it is there.
    ///   - keys: what opens the unlock key. It may be asked more than once, where others change the keyring meanwhile.
    ///   - body: asks for the change. It may be called more than once, each time with what there is by then, and its last
    ///     call counts.
    /// - Returns: what `body` returned, and what became of the old file's bytes.
    /// - Throws: what `open` and `body` throw; `VaultError` with `inUse` if somebody else keeps it locked, `outputFailed`.
    ///   The keyring is then what it was; but if only the folder cannot be synced, it is changed, and may be the old one
    ///   again after a power failure.
    @discardableResult
    public static func change<R>(
        at path: FilePath, making isMaking: Bool = false, unlocking keys: any KeyProvider,
        _ body: (inout KeyringChange) throws -> R
    ) throws -> (result: R, erasure: Erasure) {
        try whileFilesChange(path) { isWriting in
            let unlockKey = try UnlockKey(at: unlockKeyPath(of: path), keys: keys)
            // Of the file that nobody replaces but to protect the keyring, so that the key that was read from it stays the
            // keyring's until the change is done.
            let keyFile = try lock(unlockKeyPath(of: path))
            guard keyFile.identity == unlockKey.identity else { throw isChanging }
            if isMaking, isMissing(path) {
                var change = KeyringChange(try empty())
                let result = try body(&change)
                isWriting = true
                try write(try empty().text.changed(to: change.items), to: OutputFile(at: path), for: [unlockKey.key])
                return (result, .notNeeded)
            }
            let file = try lock(path)
            let old = try Keyring(FileSource(file.descriptor, locking: .heldByCaller), unlockKey)
            var change = KeyringChange(old)
            let result = try body(&change)
            guard change.isChanged else { return (result, .notNeeded) }
            let text = try old.text.changed(to: change.items)
            isWriting = true
            try write(text, to: OutputFile.replacing(file), for: [unlockKey.key])
            return (result, change.destroys ? erase(file) : .notNeeded)
        }
    }

    /// Protects a keyring that nothing has protected, or draws another unlock key for one that is: only these unlock it
    /// from here on, also for whoever has a copy of the file that unlocked it before. Wherever this is interrupted, what
    /// unlocked the keyring or what is to unlock it does.
    ///
    /// - Parameters:
    ///   - path: of the keyring.
    ///   - keys: what opens the unlock key now.
    ///   - unlockers: the keys and passphrases that are to unlock it, one at least.
    /// - Returns: what became of the bytes of the old unlock key's file.
    /// - Throws: what `change` throws; `VaultError` with `lastSlot` for no unlockers.
    @discardableResult
    public static func protect(
        at path: FilePath, unlocking keys: any KeyProvider, with unlockers: [Recipient]
    ) throws -> Erasure {
        guard !unlockers.isEmpty else {
            throw VaultError(.lastSlot, "a keyring is unlocked by at least one key or passphrase")
        }
        return try whileFilesChange(path) { isWriting in
            let old = try UnlockKey(at: unlockKeyPath(of: path), keys: keys)
            let keyFile = try lock(unlockKeyPath(of: path))
            guard keyFile.identity == old.identity else { throw isChanging }
            let new = try SymmetricKey.generate()
            isWriting = true
            let newFile = try OutputFile.replacing(keyFile)
            try UnlockKey.write(new, to: newFile, for: unlockers)
            // Both unlock it while it is not certain which of them a power failure leaves.
            if !isMissing(path) { try rewrite(path, opening: old.key, for: [old.key, new]) }
            try newFile.commit()
            if !isMissing(path) { try rewrite(path, opening: new, for: [new]) }
            return erase(keyFile)
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

    /// Writes the keyring as it is, for other keys.
    private static func rewrite(_ path: FilePath, opening key: SymmetricKey, for keys: [SymmetricKey]) throws {
        let file = try lock(path)
        let unlockKey = UnlockKey(key, file.identity)
        let keyring = try Keyring(FileSource(file.descriptor, locking: .heldByCaller), unlockKey)
        try write(keyring.text, to: OutputFile.replacing(file), for: keys)
        _ = erase(file)
    }

    private static func write(
        _ text: borrowing KeyringText, to file: consuming OutputFile, for keys: [SymmetricKey]
    ) throws {
        var options = SealOptions()
        options.context = context
        options.metadata.contentType = contentType
        try text.withBytes { try file.seal($0, for: keys.map { .key($0) }, options: options) }
        try file.commit()
    }

    /// Overwrites what has lost its name. The keys in it are those of the new file but for what was destroyed, and whoever
    /// finds the old bytes and the key that unlocks them would have that too.
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

    private static func lock(_ path: FilePath) throws(VaultError) -> LockedFile {
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
