public import SystemPackage
import VaultFormat
public import VaultStream

extension Keyring {
    /// The longest time for which a keyring can be unlocked: 24 hours.
    public static let longestUnlocking = Duration.seconds(24 * 60 * 60)

    /// Unlocks a keyring for a time: until then, `open` and `change` with `allowsUnlocked` need no secret in any
    /// program of this user, in any session. The kernel's memory keeps the unlock key, never a passphrase.
    ///
    /// Programs of the same user can read the key, and so can root. It ends with the time, with ``lock(at:)``, when the
    /// unlock key is exchanged or what unlocks the keyring changes, and when the machine restarts. Log-out does not end
    /// it.
    ///
    /// - Parameters:
    ///   - path: the path of the keyring.
    ///   - time: how long it stays unlocked, at least a second and at most ``longestUnlocking``.
    ///   - keys: the secrets that open the unlock key. They are asked even if the keyring is unlocked.
    /// - Throws: `VaultError` with
    ///   - `invalidArgument` for another time;
    ///   - `keyStoreUnavailable` if the system is not Linux, or keeps this process from its keys, as many containers of
    ///     programs do; `outputFailed` if it has no room for the key;
    ///   - `keyringUnprotected` if nothing protects the keyring.
    ///
    ///   Also what `open` throws.
    public static func unlock(at path: FilePath, for time: Duration, unlocking keys: any KeyProvider) throws {
        guard time >= .seconds(1), time <= longestUnlocking else {
            throw VaultError(.invalidArgument, "a keyring is unlocked for a second at least, and for 24 hours at most")
        }
        let kept = try KeptUnlockKey(of: path)
        // Before a passphrase is asked for in vain.
        try kept.check()
        try whileFilesChange(path) { _ in
            let digest = try kept.digest()
            let unlockKey = try UnlockKey(at: unlockKeyPath(of: path), keys: keys, allowsUnprotected: false)
            _ = try Keyring(FileSource(at: path), unlockKey)
            // The digest must be of the file that was opened: another program may have changed it meanwhile.
            guard try kept.digest() == digest else { throw isChanging }
            try kept.keep(unlockKey.key, digest, seconds: UInt32(clamping: time.components.seconds))
        }
    }

    /// Checks that the system lets this program keep keyrings unlocked.
    ///
    /// - Parameter path: the path of the keyring. Its files may be missing, but not its folder.
    /// - Throws: `VaultError` with `keyStoreUnavailable`, with the system's error; `inputFailed` if its folder cannot be
    ///   found.
    public static func checkUnlocking(at path: FilePath) throws(VaultError) {
        try KeptUnlockKey(of: path).check()
    }

    /// Ends what `unlock` began, for all programs of this user.
    ///
    /// - Parameter path: the path of the keyring. Its files may be missing, but not its folder.
    /// - Returns: whether it was unlocked.
    /// - Throws: `VaultError` with `keyStoreUnavailable`; `inputFailed` if its folder cannot be found, or if the system
    ///   does not tell whether the keyring is unlocked; `outputFailed` if it is still unlocked.
    @discardableResult
    public static func lock(at path: FilePath) throws(VaultError) -> Bool {
        try KeptUnlockKey(of: path).end()
    }

    /// Opens a keyring with the unlock key that the system keeps; nil if it keeps none that opens it.
    static func openUnlocked(at path: FilePath, _ onUnreadable: (VaultError) -> Void) throws -> Keyring? {
        guard let (kept, unlockKey) = try KeptUnlockKey.find(of: path, onUnreadable) else { return nil }
        do {
            return try Keyring(FileSource(at: path), unlockKey)
        } catch let error as VaultError where error.code == .keyringMismatch {
            kept.drop()
            return nil
        }
    }

    /// Makes a change with the unlock key that the system keeps; nil if the secrets are needed.
    static func changeUnlocked<R>(
        at path: FilePath, _ onUnreadable: (VaultError) -> Void, _ body: (inout KeyringChange) throws -> R
    ) throws -> Changed<R>? {
        // A new keyring needs the secrets that will unlock it.
        guard try !isMissing(path) else { return nil }
        do {
            return try change(
                at: path,
                with: { _ in
                    guard let (_, unlockKey) = try KeptUnlockKey.find(of: path, onUnreadable) else {
                        throw KeptUnlockKey.NotEnough()
                    }
                    return unlockKey
                }, body)
        } catch is KeptUnlockKey.NotEnough {
            return nil
        } catch let error as VaultError where error.code == .keyringMismatch {
            forget(path)
            return nil
        }
    }

    /// Locks a keyring whose unlock key, or what unlocks it, is about to change.
    static func forget(_ path: FilePath) {
        (try? KeptUnlockKey(of: path))?.drop()
    }
}
