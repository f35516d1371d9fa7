public import SystemPackage
import VaultFormat
public import VaultStream

extension Keyring {
    /// How often it waits for a lock that another program holds, two seconds each time.
    private static let lockAttempts = 5

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
        return try SecretPair.keyring.change(
            at: path, making: isMaking, unlocking: keys, allowsUnprotected: allowsUnprotected
        ) { text, state, new in try change(text, state, &new, body) }
    }

    /// Makes a change with an unlock key that the system keeps.
    static func change<R>(
        at path: FilePath, with read: (_ unlockFile: FilePath) throws -> UnlockKey,
        _ body: (inout KeyringChange) throws -> R
    ) throws -> Changed<R> {
        try SecretPair.keyring.change(at: path, making: false, with: read) { text, state, new in
            try change(text, state, &new, body)
        }
    }

    private static func change<R>(
        _ text: consuming SecretBuffer?, _ state: PairState, _ new: inout TextChange,
        _ body: (inout KeyringChange) throws -> R
    ) throws -> R {
        let old: Keyring
        var isNew = false
        if let text = consume text {
            old = Keyring(try KeyringText.parse(text), state)
        } else {
            old = try Keyring.empty(isProtected: state.unlockKey.isProtected)
            isNew = true
        }
        var change = KeyringChange(old)
        let result = try body(&change)
        if change.isChanged || isNew { new.text = try old.text.changed(to: change.items).take() }
        new.destroys = change.destroys
        return result
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
        try SecretPair.keyring.protect(
            at: path, renewing: isRenewing, unlocking: keys, allowsUnprotected: allowsUnprotected, with: unlockers)
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
        try SecretPair.keyring.changeUnlockers(at: path, change, unlocking: keys)
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
