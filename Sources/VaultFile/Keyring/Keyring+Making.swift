public import SystemPackage
import VaultFormat
public import VaultStream
internal import VaultSystem

extension Keyring {
    /// Makes a keyring with a first key, which is current. If the call is interrupted at any moment, a second call
    /// makes what is missing (KEYRING-12).
    ///
    /// - Parameters:
    ///   - path: the path of the keyring.
    ///   - unlockers: the keys and passphrases that will unlock it, each by itself; at least one.
    ///   - name: the name of the first key.
    ///   - created: the time at which the first key was made.
    /// - Returns: the first key's entry.
    /// - Throws: `VaultError` with `outputExists` if there is a keyring already, `lastSlot` for no unlockers,
    ///   `wrongKey` if an unlock key exists that `unlockers` do not open, and what `change` throws.
    @discardableResult
    public static func create(
        at path: FilePath, for unlockers: [Recipient], first name: KeyName, created: Timestamp = .now
    ) throws -> KeyringEntry {
        let exists = VaultError(.outputExists, "there is a keyring already")
        guard try isMissing(path) else { throw exists }
        do {
            try makeUnlockKey(at: path, for: unlockers)
        } catch let error as VaultError {
            // The unlock key of an earlier call, or of another program at this moment, is used.
            guard error.code == .outputExists else { throw error }
        }
        let unlocking = SecretsAtHand(KeySet(), adding: unlockers, removing: .none)
        return try change(at: path, making: true, unlocking: unlocking) { change in
            guard change.entries.isEmpty else { throw exists }
            return try change.generate(named: name, created: created)
        }.result
    }

    /// Makes the unlock key of a keyring that does not exist yet, and writes it to the file beside the keyring's path.
    /// The first `change` that may make a keyring uses it.
    ///
    /// - Parameters:
    ///   - path: the path of the keyring.
    ///   - unlockers: the keys and passphrases that will unlock the keyring, each by itself; at least one.
    /// - Throws: `VaultError` with `outputExists` if there is one already, `lastSlot` for no unlockers,
    ///   `invalidArgument` for a public key, or a passphrase that costs more than ``Argon2Parameters/standard``,
    ///   `outputFailed`, and what making a container throws.
    public static func makeUnlockKey(at path: FilePath, for unlockers: [Recipient]) throws {
        try refuseEmpty(unlockers)
        try UnlockKey.check(unlockers)
        try writeUnlockKey(at: path, for: unlockers)
    }

    /// Makes the unlock key of a keyring that nothing protects. **Any program that can read the two files has its
    /// keys.**
    ///
    /// - Throws: `VaultError` with `outputExists` if there is one already, `outputFailed`.
    public static func makeUnprotectedUnlockKey(at path: FilePath) throws {
        try writeUnlockKey(at: path, for: [])
    }

    private static func writeUnlockKey(at path: FilePath, for unlockers: [Recipient]) throws {
        _ = try UnlockKey.make(at: unlockKeyPath(of: path), for: unlockers, of: .keyring)
    }

    /// Makes a keyring if neither of its files exists. Unlike the other `create`, it does not use an unlock key without
    /// a keyring file: that file may have been lost, with all keys. Neither file gets its name before both are complete,
    /// so an interruption can leave at most an unlock key that opens nothing. An error leaves neither file, or both.
    ///
    /// - Parameters:
    ///   - path: the path of the keyring.
    ///   - unlockers: the keys and passphrases that will unlock it, each by itself.
    ///   - isUnprotected: whether nothing protects the keyring, and `unlockers` is empty. **Any program that can read
    ///     the two files has its keys.**
    ///   - body: adds the keys.
    /// - Returns: what `body` returns.
    /// - Throws: `VaultError` with `outputExists` if one of the two files exists, `lastSlot` for no unlockers of a
    ///   protected keyring, `invalidArgument` for unlockers of an unprotected one, for a public key, or for a
    ///   passphrase that costs more than ``Argon2Parameters/standard``, `outputFailed`; what making a container and `body` throw.
    public static func create<R>(
        at path: FilePath, for unlockers: [Recipient], unprotected isUnprotected: Bool = false,
        _ body: (inout KeyringChange) throws -> R
    ) throws -> R {
        try create(at: path, for: unlockers, unprotected: isUnprotected, ownedAs: nil, body)
    }

    /// - Parameter owner: a folder. As root, the files get its owner and group.
    package static func create<R>(
        at path: FilePath, for unlockers: [Recipient], unprotected isUnprotected: Bool = false,
        ownedAs owner: FileDescriptor?, _ body: (inout KeyringChange) throws -> R
    ) throws -> R {
        if isUnprotected {
            guard unlockers.isEmpty else {
                throw VaultError(.invalidArgument, "an unprotected keyring needs nothing to unlock it")
            }
        } else {
            try refuseEmpty(unlockers)
        }
        try UnlockKey.check(unlockers)
        let key = try SymmetricKey.generate()
        let keyFile = try UnlockKey.errors {
            var file = try OutputFile(at: unlockKeyPath(of: path))
            file.holdKeys()
            if let owner { try file.descriptor.takeOwner(of: owner) }
            try UnlockKey.write(key, to: file, for: unlockers)
            return file
        }
        let empty = try Keyring.empty(isProtected: !unlockers.isEmpty)
        var change = KeyringChange(empty)
        let result = try body(&change)
        var file = try OutputFile(at: path)
        file.holdKeys()
        if let owner { try file.descriptor.takeOwner(of: owner) }
        let text = try empty.text.changed(to: change.items)
        try text.withBytes { try SecretPair.keyring.write($0, to: file, for: [key]) }
        try commit(keyFile, file, at: path)
        return result
    }

    /// Makes several keyrings without keys in one folder. As root, they get its owner and group. Each of their files is
    /// synced, and the folder only twice: all unlock files are durable before the first keyring file has its name
    /// (KEYRING-12). After an error or a crash, some of the keyrings may be there, and some unlock files alone. A `change`
    /// that may make a keyring uses these.
    ///
    /// - Parameters:
    ///   - names: the names of the keyrings. None of their files exists.
    ///   - folder: the folder.
    ///   - unlocker: the key that unlocks each of them.
    /// - Throws: `VaultError` with `outputExists` if one of the files exists, `outputFailed`; what making a container
    ///   throws.
    package static func makeEmpty(
        _ names: [FilePath], in folder: FileDescriptor, for unlocker: SymmetricKey
    ) throws {
        guard !names.isEmpty else { return }
        let keys = try UnlockKey.errors {
            try names.map { name in
                let key = try SymmetricKey.generate()
                let file = try OutputFile(unlockKeyPath(of: name), inLentFolder: folder)
                try file.descriptor.takeOwner(of: folder)
                try UnlockKey.write(key, to: file, for: [.key(unlocker)])
                try file.descriptor.synchronizeFile()
                try file.commit(synchronize: false)
                return key
            }
        }
        try folder.synchronizeFolder()
        let empty = try empty(isProtected: true)
        for (name, key) in zip(names, keys) {
            let file = try OutputFile(name, inLentFolder: folder)
            try file.descriptor.takeOwner(of: folder)
            try empty.text.withBytes { try SecretPair.keyring.write($0, to: file, for: [key]) }
            try file.descriptor.synchronizeFile()
            try file.commit(synchronize: false)
        }
        try folder.synchronizeFolder()
    }

    /// Gives both files of a new keyring their names. Of several programs that make the keyring at once, the one whose
    /// unlock file gets the name makes the keyring file. After an error, neither file has its name, or both have: an
    /// unlock file alone looks like a keyring that was lost, and no keyring would be made beside it.
    static func commit(
        _ keyFile: consuming OutputFile, _ file: consuming OutputFile, at path: FilePath
    ) throws(VaultError) {
        let identity = try? keyFile.descriptor.status().identity
        do throws(VaultError) {
            do throws(VaultError) {
                try keyFile.commit()
            } catch {
                throw error.ofUnlockKey
            }
            try file.commit()
        } catch {
            if let identity { removeUnlockKey(identity, at: path) }
            throw error
        }
    }

    /// Removes an unlock file without a keyring. Another program that has begun to make the keyring with it holds its
    /// lock.
    private static func removeUnlockKey(_ identity: FileIdentity, at path: FilePath) {
        guard let file = try? LockedFile(at: unlockKeyPath(of: path)), file.identity == identity,
            (try? isMissing(path)) == true
        else { return }
        _ = try? retrying { SystemCalls.current.unlinkAt(file.folder.rawValue, file.name) }
        try? file.folder.synchronizeFolder()
    }

    /// An empty list must not make a keyring that nothing protects.
    static func refuseEmpty(_ unlockers: [Recipient]) throws(VaultError) {
        guard !unlockers.isEmpty else {
            throw VaultError(.lastSlot, "a keyring is unlocked by at least one key or passphrase")
        }
    }
}
