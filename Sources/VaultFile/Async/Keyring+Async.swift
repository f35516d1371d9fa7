public import SystemPackage
public import VaultFormat
public import VaultStream

// If the task is cancelled while a call waits for a lock, nothing has changed. A change whose first byte is written is
// finished.

extension Keyring {
    /// Reads a keyring on a thread of the library.
    ///
    /// - Parameters:
    ///   - path: the path of the keyring.
    ///   - keys: the secrets that open the unlock key.
    ///   - allowsUnprotected: whether a keyring that nothing protects is accepted (KEYRING-2).
    ///   - allowsUnlocked: whether a keyring that `unlock` has unlocked opens without `keys`.
    /// - Throws: what the synchronous call throws; `CancellationError` if the task was cancelled.
    public static func open(
        at path: FilePath, unlocking keys: any KeyProvider, allowsUnprotected: Bool = false,
        allowsUnlocked: Bool = false
    ) async throws -> Keyring {
        try await ThreadExecutor.calls.run {
            try open(
                at: path, unlocking: keys, allowsUnprotected: allowsUnprotected, allowsUnlocked: allowsUnlocked)
        }
    }

    /// Unlocks a keyring for the user's other programs on a thread of the library.
    ///
    /// - Parameters:
    ///   - path: the path of the keyring.
    ///   - time: how long it stays unlocked, at least a second and at most ``longestUnlocking``.
    ///   - keys: the secrets that open the unlock key.
    /// - Throws: what the synchronous call throws; `CancellationError` if the task was cancelled.
    public static func unlock(at path: FilePath, for time: Duration, unlocking keys: any KeyProvider) async throws {
        try await ThreadExecutor.calls.run { try unlock(at: path, for: time, unlocking: keys) }
    }

    /// Makes a keyring with a first key, which is current, on a thread of the library.
    ///
    /// - Parameters:
    ///   - path: the path of the keyring.
    ///   - unlockers: the keys and passphrases that will unlock it, each by itself; at least one.
    ///   - name: the name of the first key.
    ///   - created: the time at which the first key was made.
    /// - Returns: the first key's entry.
    /// - Throws: what the synchronous call throws; `CancellationError` if the task was cancelled. A second call then
    ///   makes what is missing.
    @discardableResult
    public static func create(
        at path: FilePath, for unlockers: [Recipient], first name: KeyName, created: Timestamp = .now
    ) async throws -> KeyringEntry {
        try await ThreadExecutor.calls.run {
            try create(at: path, for: unlockers, first: name, created: created)
        }
    }

    /// Makes a keyring if neither of its files exists, on a thread of the library.
    ///
    /// - Parameters:
    ///   - path: the path of the keyring.
    ///   - unlockers: the keys and passphrases that will unlock it, each by itself.
    ///   - isUnprotected: whether nothing protects the keyring, and `unlockers` is empty.
    ///   - body: adds the keys.
    /// - Returns: what `body` returns.
    /// - Throws: what the synchronous call throws; `CancellationError` if the task was cancelled.
    public static func create<R: Sendable>(
        at path: FilePath, for unlockers: [Recipient], unprotected isUnprotected: Bool = false,
        _ body: @Sendable (inout KeyringChange) throws -> R
    ) async throws -> R {
        try await ThreadExecutor.calls.run {
            try create(at: path, for: unlockers, unprotected: isUnprotected, body)
        }
    }

    /// Makes the unlock key of a keyring that does not exist yet, on a thread of the library.
    ///
    /// - Parameters:
    ///   - path: the path of the keyring.
    ///   - unlockers: the keys and passphrases that will unlock the keyring, each by itself; at least one.
    /// - Throws: what the synchronous call throws; `CancellationError` if the task was cancelled.
    public static func makeUnlockKey(at path: FilePath, for unlockers: [Recipient]) async throws {
        try await ThreadExecutor.calls.run { try makeUnlockKey(at: path, for: unlockers) }
    }

    /// Changes a keyring on a thread of the library.
    ///
    /// - Parameters:
    ///   - path: the path of the keyring.
    ///   - isMaking: whether a keyring is made if there is none and its unlock key exists.
    ///   - keys: the secrets that open the unlock key.
    ///   - allowsUnprotected: as for `open`.
    ///   - allowsUnlocked: as for `open`.
    ///   - body: asks for the change. It may be called several times. The last call counts.
    /// - Returns: what `body` returned, and what is left of the files that were replaced.
    /// - Throws: what the synchronous call throws; `CancellationError` if the task was cancelled before the change.
    public static func change<R: Sendable>(
        at path: FilePath, making isMaking: Bool = false, unlocking keys: any KeyProvider,
        allowsUnprotected: Bool = false, allowsUnlocked: Bool = false,
        _ body: @Sendable (inout KeyringChange) throws -> R
    ) async throws -> Changed<R> {
        try await ThreadExecutor.calls.run {
            try change(
                at: path, making: isMaking, unlocking: keys, allowsUnprotected: allowsUnprotected,
                allowsUnlocked: allowsUnlocked, body)
        }
    }

    /// Protects a keyring, or makes a new unlock key for a protected one, on a thread of the library.
    ///
    /// - Parameters:
    ///   - path: the path of the keyring.
    ///   - isRenewing: whether to go on if the keyring is already protected.
    ///   - keys: the secrets that open the unlock key now.
    ///   - allowsUnprotected: as for `open`.
    ///   - unlockers: the keys and passphrases that will unlock the keyring; at least one.
    /// - Returns: what is left of the files that were replaced.
    /// - Throws: what the synchronous call throws; `CancellationError` if the task was cancelled before the change.
    public static func protect(
        at path: FilePath, renewing isRenewing: Bool, unlocking keys: any KeyProvider, allowsUnprotected: Bool = false,
        with unlockers: [Recipient]
    ) async throws -> Traces {
        try await ThreadExecutor.calls.run {
            try protect(
                at: path, renewing: isRenewing, unlocking: keys, allowsUnprotected: allowsUnprotected, with: unlockers)
        }
    }

    /// Changes which keys and passphrases unlock a keyring, on a thread of the library.
    ///
    /// - Parameters:
    ///   - path: the path of the keyring.
    ///   - change: the slots to remove and to add.
    ///   - keys: the secrets that open the unlock key now.
    /// - Returns: what has changed, and what is left of the files that were replaced.
    /// - Throws: what the synchronous call throws; `CancellationError` if the task was cancelled before the change.
    public static func changeUnlockers(
        at path: FilePath, _ change: KeyChange, unlocking keys: any KeyProvider
    ) async throws -> Changed<Rotation> {
        try await ThreadExecutor.calls.run { try changeUnlockers(at: path, change, unlocking: keys) }
    }
    /// Copies a keyring to another place, for a backup or from one, on a thread of the library.
    ///
    /// - Parameters:
    ///   - source: the path of the keyring.
    ///   - target: the path of the copy. Its folder exists.
    ///   - keys: the secrets that open both unlock keys.
    ///   - allowsUnprotected: as for `open`.
    ///   - onLoss: called before a keyring is replaced that has keys which the copy does not have.
    /// - Returns: the copy, and what is left of the files that were replaced.
    /// - Throws: what the synchronous call throws; `CancellationError` if the task was cancelled before the copy.
    public static func copy(
        from source: FilePath, to target: FilePath, unlocking keys: any KeyProvider, allowsUnprotected: Bool = false,
        onLoss: @Sendable (_ lost: [KeyringEntry], _ source: Keyring) throws -> Void = { _, _ in throw lossNeedsConsent
        }
    ) async throws -> Changed<Keyring> {
        try await ThreadExecutor.calls.run {
            try copy(
                from: source, to: target, unlocking: keys, allowsUnprotected: allowsUnprotected, onLoss: onLoss)
        }
    }
}
