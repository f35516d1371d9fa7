public import SystemPackage
public import VaultFormat
public import VaultStream
internal import VaultSystem

/// Keys, recipients, identities and groups of recipients with names and states, in a file that is itself a container
/// (Spec, appendix B). They encrypt new containers and open old ones. The keyring is unlocked by the secrets that open a
/// small container beside it.
///
///     let keyring = try Keyring.open(at: path, unlocking: KeySet(passphrases: [passphrase]))
///     let opened = try SeekableVaultReader(FileSource(file), with: Credentials(keyring))
///
/// It holds what the file held when it was opened. Several tasks may use it at once. Its text is in guarded memory, and
/// a key gets its own guarded pages only when it is asked for.
public final class Keyring: KeyProvider {
    /// The content type of the container.
    package static var contentType: String { SecretPair.keyring.contentType }
    /// The context of the container.
    package static var context: Context { SecretPair.keyring.context }
    /// The error if the unlock key opened, and the keyring did not open with it.
    package static let mismatch = SecretPair.keyring.mismatch
    /// How often an operation begins again because another program has changed the files.
    static let patience = 20

    /// The error if nothing protects the unlock key, and that is not allowed.
    package static let unprotected = VaultError(
        .keyringUnprotected, "its .key file is not a container: nothing protects this keyring")

    /// The error if other programs keep changing the files.
    static let isChanging = SecretPair.keyring.isChanging

    let text: KeyringText

    /// Whether anything protects the keyring. Otherwise nothing authenticates its files either: an attacker who can
    /// write them may have put their own keyring there.
    public let isProtected: Bool

    /// The state of the header copies of the keyring file. The next change of the keyring makes damaged ones whole.
    public let health: Health

    /// The state of the header copies of the file with the unlock key; `intact` if nothing protects the keyring. The
    /// next change of the keyring makes damaged ones whole.
    public let unlockKeyHealth: Health

    /// Its keys, recipients, identities and groups, in the order in which they were added.
    public var entries: [KeyringEntry] { text.entries }

    /// The key that encrypts new containers; nil if no key is current.
    public var current: KeyringEntry? { entries.first { $0.state == .current } }

    private init(
        _ text: consuming KeyringText, isProtected: Bool, health: Health = .intact,
        unlockKeyHealth: Health = .intact
    ) {
        self.text = text
        self.isProtected = isProtected
        self.health = health
        self.unlockKeyHealth = unlockKeyHealth
    }

    /// A keyring without keys.
    static func empty(isProtected: Bool) throws(VaultError) -> Keyring {
        Keyring(try KeyringText.make([]), isProtected: isProtected)
    }

    /// Reads a keyring. It needs no lock, because a keyring is always replaced as a whole. Keep the result: if a
    /// passphrase unlocks the keyring, each call stretches it, and so does each `change`. With this library's default
    /// costs, that takes half a second and 256 MiB of memory.
    ///
    /// - Parameters:
    ///   - path: the path of the keyring. Its unlock key is in the file with this name and `.key` after it.
    ///   - keys: the secrets that open the unlock key. It is not asked if nothing protects the unlock key.
    ///   - allowsUnprotected: whether a keyring that nothing protects is accepted (KEYRING-2). Say `true` only if the
    ///     keyring was made that way. Otherwise an attacker who can write the two files could put their own keyring
    ///     there, and new containers would be encrypted for the attacker's key.
    ///   - allowsUnlocked: whether a keyring that `unlock` has unlocked opens without `keys`. They
    ///     are asked if it is locked, or if anything has changed what unlocks it.
    ///   - onUnreadable: called if the system fails to tell whether the keyring is unlocked. Then `keys` are asked too.
    /// - Throws: `VaultError` with
    ///   - `inputFailed` if one of the two files cannot be read (``VaultError/systemError`` is
    ///     `.noSuchFileOrDirectory` if it is missing);
    ///   - `wrongKey` if `keys` do not open the unlock key; `limitExceeded` if no slot opens, and a passphrase slot was
    ///     not tried because it needs more memory than ``Argon2Parameters/standard``, or because all together cost more
    ///     than four slots of that cost (KEYRING-18);
    ///   - `keyringMismatch` if the unlock key is not the one of the keyring file;
    ///   - `keyringUnprotected` if nothing protects the keyring, and that is not allowed;
    ///   - `keyringMalformed`, `unsupportedVersion`, `unsupportedCompression` and `badKey` for what the two files hold;
    ///   - what opening a container throws, and `memoryUnavailable`.
    ///
    ///   Also what `keys` throws.
    public static func open(
        at path: FilePath, unlocking keys: any KeyProvider, allowsUnprotected: Bool = false,
        allowsUnlocked: Bool = false, onUnreadable: (VaultError) -> Void = { _ in }
    ) throws -> Keyring {
        try whileFilesChange(path) { _ in
            if allowsUnlocked, let keyring = try openUnlocked(at: path, onUnreadable) { return keyring }
            let unlockKey = try UnlockKey(
                at: unlockKeyPath(of: path), keys: keys, allowsUnprotected: allowsUnprotected)
            return try Keyring(FileSource(at: path), unlockKey)
        }
    }

    /// Whether anything protects the unlock key of a keyring. No key is needed to find out.
    ///
    /// - Parameter path: the path of the keyring.
    /// - Returns: true for a container, even a damaged one; false for a key file or anything else.
    /// - Throws: `VaultError` with `inputFailed`; `inUse` if other programs keep replacing it.
    public static func isProtected(at path: FilePath) throws -> Bool {
        do {
            return try inspectUnlockKey(at: path) != nil
        } catch let error as VaultError where ![.inputFailed, .inUse].contains(error.code) {
            return true
        }
    }

    /// Inspects the container that protects the unlock key of a keyring.
    ///
    /// - Parameter path: the path of the keyring.
    /// - Returns: nil if the unlock key is not in a container: then nothing protects the keyring.
    /// - Throws: what `Inspection` throws; `VaultError` with `inUse` if other programs keep replacing it.
    public static func inspectUnlockKey(at path: FilePath) throws -> Inspection? {
        try whileFilesChange(path) { _ in
            let keyPath = unlockKeyPath(of: path)
            let file = try FileDescriptor.openInput(keyPath, .storage)
            defer { file.closeQuietly() }
            do {
                return try Inspection(FileSource(file))
            } catch let error as VaultError where error.code == .notVaultfile {
                // A container that another program has just replaced and wiped is not a container any more, but the
                // new file may be one.
                let isInPlace = (try? file.status().identity == keyPath.status().identity) ?? false
                guard isInPlace else { throw isChanging }
                return nil
            }
        }
    }

    /// The path of the file with the unlock key of a keyring.
    public static func unlockKeyPath(of path: FilePath) -> FilePath {
        // Made of bytes: a name may not be valid UTF-8.
        FilePath(bytes: path.bytes + Array(".key".utf8))
    }

    convenience init(_ source: any ByteSource, _ unlockKey: UnlockKey) throws {
        let reader = try KeyringText.reader(of: source, unlockKey.key)
        self.init(try KeyringText.read(reader), PairState(unlockKey: unlockKey, health: reader.opened.health))
    }

    convenience init(_ text: consuming KeyringText, _ state: PairState) {
        self.init(
            text, isProtected: state.unlockKey.isProtected, health: state.health,
            unlockKeyHealth: state.unlockKey.health)
    }

    /// Runs `body`, and runs it again if it failed while another program replaced or changed one of the two files: it
    /// may have read one file from before that change and the other from after.
    ///
    /// - Parameter body: sets its parameter to true before it replaces a file itself. It is then not run again.
    static func whileFilesChange<R>(_ path: FilePath, _ body: (inout Bool) throws -> R) throws -> R {
        let paths = [path, unlockKeyPath(of: path)]
        var attempt = 0
        while true {
            try Cancellation.check()
            attempt += 1
            let before = paths.map { try? $0.status().version }
            var isWriting = false
            do {
                return try body(&isWriting)
            } catch {
                guard attempt < patience, !isWriting, before != paths.map({ try? $0.status().version }) else {
                    throw error
                }
            }
        }
    }

    // MARK: Keys

    /// The key, recipient, identity or group with this name, or with this ID in 32 hexadecimal digits.
    public func entry(_ reference: String) -> KeyringEntry? {
        entries.first { $0.isCalled(reference) }
    }

    /// The secret key with this ID.
    ///
    /// - Throws: `VaultError` with `noSuchKey` if the keyring does not have it, `keyDestroyed` if it was destroyed, and
    ///   `memoryUnavailable`.
    public func key(_ id: KeyID) throws(VaultError) -> SymmetricKey {
        if let key = try text.key(id) { return key }
        throw entries.contains { $0.id == id && $0.state == .destroyed } ? .keyDestroyed : .noSuchKey
    }

    /// The keys with these IDs that the keyring has, in any state except destroyed.
    ///
    /// - Throws: `VaultError` with `memoryUnavailable`.
    public func symmetricKeys(for ids: [KeyID]) throws -> [SymmetricKey] {
        try ids.compactMap { id throws(VaultError) in try text.key(id) }
    }

    /// The identity with this name.
    ///
    /// - Throws: `VaultError` with `noSuchKey` if the keyring has no identity of this name, `keyDestroyed` if it was
    ///   destroyed, `badKey` if this build or system has no X-Wing for it, and `memoryUnavailable`.
    public func identity(named name: KeyName) throws(VaultError) -> Identity {
        guard let entry = entries.first(where: { $0.name == name }) else { throw .noSuchKey }
        if let identity = try text.identity(entry) { return identity }
        switch entry.state {
        case .destroyed: throw .keyDestroyed
        case .identity: throw VaultError(.badKey, "this build or system cannot use the identity")
        default: throw .noSuchKey
        }
    }

    /// The identity of a plugin with this name. A keyring starts no plugin: give it to `AgePlugins` for that.
    ///
    /// - Throws: `VaultError` with `noSuchKey` if the keyring has no identity of this name, `keyDestroyed` if it was
    ///   destroyed, `badKey` if it is not a plugin's, and `memoryUnavailable`.
    public func pluginIdentity(named name: KeyName) throws(VaultError) -> PluginIdentity {
        guard let entry = entries.first(where: { $0.name == name }) else { throw .noSuchKey }
        if let identity = try text.pluginIdentity(entry) { return identity }
        switch entry.state {
        case .destroyed: throw .keyDestroyed
        case .identity: throw VaultError(.badKey, "it is not the identity of a plugin")
        default: throw .noSuchKey
        }
    }

    /// Its identities, without those that this build or system cannot use.
    ///
    /// - Throws: `VaultError` with `memoryUnavailable`.
    public func identities() throws -> [Identity] {
        try entries.compactMap { entry throws(VaultError) in try text.identity(entry) }
    }

    /// Its identities of plugins. A keyring starts no plugin: give it to `AgePlugins` for that.
    ///
    /// - Throws: `VaultError` with `memoryUnavailable`.
    public func pluginIdentities() throws -> [PluginIdentity] {
        try entries.compactMap { entry throws(VaultError) in try text.pluginIdentity(entry) }
    }

    /// The recipients to encrypt to under a name: of a recipient or an identity itself, of a group its members. Those
    /// who are `former` are left out, so there may be none left (KEYRING-19).
    ///
    /// - Parameters:
    ///   - name: of a recipient, an identity or a group.
    ///   - includingFormer: whether those who are former are among them, to remove their slots.
    /// - Returns: the entries, each a recipient or an identity.
    /// - Throws: `VaultError` with `noSuchKey` if the keyring has neither a recipient nor an identity nor a group of this
    ///   name.
    public func recipients(
        named name: KeyName, includingFormer: Bool = false
    ) throws(VaultError) -> [KeyringEntry] {
        guard let entry = entries.first(where: { $0.name == name }), entry.canBeMember || entry.state == .group else {
            throw .noSuchKey
        }
        let names = entry.state == .group ? entry.members : [name]
        return names.compactMap { name in entries.first { $0.name == name } }.filter {
            includingFormer || $0.state != .former
        }
    }
}

extension Keyring {
    /// The recipient or identity that a slot of types 3 to 5 is for, if the slot is not hidden.
    ///
    /// - Parameters:
    ///   - slot: the slot.
    ///   - header: the header that has it.
    public func entry(of slot: SlotDescription, in header: HeaderSummary) -> KeyringEntry? {
        entries.first { entry in
            switch entry.recipient {
            case .publicKey(let key): key.kind == slot.kind && key.slotID(in: header) == slot.keyID
            case .plugin(let recipient): slot.kind == .stanzas && recipient.slotID(in: header) == slot.keyID
            case nil: false
            }
        }
    }
}

extension KeyringText {
    /// Opens a keyring file.
    static func reader(of source: any ByteSource, _ unlockKey: SymmetricKey) throws -> SeekableVaultReader {
        try SecretPair.keyring.reader(of: source, unlockKey)
    }

    /// Reads the text of a keyring file (KEYRING-1, KEYRING-3).
    static func read(_ reader: SeekableVaultReader) throws -> KeyringText {
        try parse(SecretPair.keyring.text(reader))
    }
}

extension KeyringEntry {
    /// Whether `reference` is its name, or its ID in hexadecimal digits.
    func isCalled(_ reference: String) -> Bool {
        name.description == reference || id != nil && KeyID(hex: reference) == id
    }
}
