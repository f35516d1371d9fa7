public import SystemPackage
public import VaultFormat
public import VaultStream

/// Keys with names and states in a file that is a container itself (Spec, appendix B): the keys that encrypt new
/// containers and open old ones, unlocked by whatever opens the small container beside it.
///
///     let keyring = try Keyring.open(at: path, unlocking: KeySet(passphrases: [passphrase]))
///     let opened = try SeekableVaultReader(FileSource(file), keys: keyring)
///
/// It is what the file held when it was opened, and safe to use from several tasks at once. Its text is held in guarded
/// memory; each key gets pages of its own when it is asked for, and only then.
public final class Keyring: KeyProvider {
    /// The content type of the container.
    package static let contentType = "application/x-vaultfile-keyring"
    /// What the container is bound to, so that none that was made for something else is taken for a keyring.
    package static let context = Context(unchecked: Array("vaultfile keyring".utf8))
    /// What is thrown where what unlocks the keyring opened, and the keyring did not.
    package static let mismatch = VaultError(
        .keyringMismatch, "the keyring and the .key file beside it do not belong together")
    /// How often the files may be found to be others than a moment ago.
    static let patience = 20

    /// What is thrown where nothing protects the unlock key, and that is not allowed.
    package static let unprotected = VaultError(
        .keyringUnprotected, "its .key file is not a container: nothing protects this keyring")

    /// What is thrown where somebody else is faster again and again.
    static let isChanging = VaultError(.inUse, "somebody else is changing what unlocks it")

    let text: KeyringText

    /// Whether anything protects it. Where nothing does, nothing tells that these are the files that they were, either:
    /// whoever can write them can have put a keyring of his own there.
    public let isProtected: Bool

    /// Whether an exchange of the unlock key stopped before its end (KEYRING-13).
    let isBetweenKeys: Bool

    /// Its keys, in the order in which they came to be there.
    public var entries: [KeyringEntry] { text.entries }

    /// The one that encrypts.
    public var current: KeyringEntry? { entries.first { $0.state == .current } }

    private init(_ text: consuming KeyringText, isProtected: Bool, isBetweenKeys: Bool) {
        self.text = text
        self.isProtected = isProtected
        self.isBetweenKeys = isBetweenKeys
    }

    /// A keyring without keys.
    static func empty(isProtected: Bool) throws(VaultError) -> Keyring {
        Keyring(try KeyringText.make([]), isProtected: isProtected, isBetweenKeys: false)
    }

    /// Reads a keyring. Takes no lock: it is replaced as a whole. Keep what it returns: where a passphrase unlocks the
    /// keyring, each call stretches it, and so does each `change`: half a second and 256 MiB of memory with the costs
    /// that this library takes unless told otherwise.
    ///
    /// - Parameters:
    ///   - path: of the keyring; its unlock key stands in the file of the same name with `.key` behind it.
    ///   - keys: what opens the unlock key. Not asked where nothing protects it.
    ///   - allowsUnprotected: whether a keyring is taken that nothing protects (KEYRING-2). Say so only where a keyring
    ///     was made that way: else whoever can write the two files can put his own there, and new containers would be
    ///     for his key.
    /// - Throws: `VaultError` with
    ///   - `inputFailed` if one of the two files cannot be read (``VaultError/systemError`` is
    ///     `.noSuchFileOrDirectory` if it is missing);
    ///   - `wrongKey` if `keys` do not open the unlock key;
    ///   - `keyringMismatch` if the unlock key is not the one of the keyring file;
    ///   - `keyringUnprotected` if nothing protects the keyring, and that is not allowed;
    ///   - `keyringMalformed`, `unsupportedVersion`, `unsupportedCompression` and `badKey` for what the two files hold;
    ///   - what opening a container throws, and `memoryUnavailable`.
    ///
    ///   Also what `keys` throws.
    public static func open(
        at path: FilePath, unlocking keys: any KeyProvider, allowsUnprotected: Bool = false
    ) throws -> Keyring {
        try whileFilesChange(path) { _ in
            let unlockKey = try UnlockKey(
                at: unlockKeyPath(of: path), keys: keys, allowsUnprotected: allowsUnprotected)
            return try Keyring(FileSource(at: path), unlockKey)
        }
    }

    /// Whether anything protects what unlocks a keyring, which needs no key to tell.
    ///
    /// - Parameter path: of the keyring.
    /// - Returns: true also for a container that is damaged; false for what is none, a key file or anything else.
    /// - Throws: `VaultError` with `inputFailed`; `inUse` if others keep replacing it.
    public static func isProtected(at path: FilePath) throws -> Bool {
        do {
            return try inspectUnlockKey(at: path) != nil
        } catch let error as VaultError where ![.inputFailed, .inUse].contains(error.code) {
            return true
        }
    }

    /// What unlocks a keyring, as far as it can be seen without a key.
    ///
    /// - Parameter path: of the keyring.
    /// - Returns: nil for what is no container: nothing protects the keyring then.
    /// - Throws: what `Inspection` throws; `VaultError` with `inUse` if others keep replacing it.
    public static func inspectUnlockKey(at path: FilePath) throws -> Inspection? {
        try whileFilesChange(path) { _ in
            let keyPath = unlockKeyPath(of: path)
            let file = try FileDescriptor.openInput(keyPath, .storage)
            defer { file.closeQuietly() }
            do {
                return try Inspection(FileSource(file))
            } catch let error as VaultError where error.code == .notVaultfile {
                // One that somebody has just replaced and wiped is none either, and the one in its place may be.
                let isInPlace = (try? file.status().identity == keyPath.status().identity) ?? false
                guard isInPlace else { throw isChanging }
                return nil
            }
        }
    }

    /// Where the key stands that unlocks a keyring.
    public static func unlockKeyPath(of path: FilePath) -> FilePath {
        // By its bytes: a name need not be text.
        FilePath(bytes: path.bytes + Array(".key".utf8))
    }

    convenience init(_ source: any ByteSource, _ unlockKey: UnlockKey) throws {
        let reader = try KeyringText.reader(of: source, unlockKey.key)
        // Of the header that was opened, which is authenticated: what else stands there anybody can have written.
        self.init(
            try KeyringText.read(reader), isProtected: unlockKey.isProtected,
            isBetweenKeys: reader.opened.header.slots.count > 1)
    }

    /// Runs `body`, and runs it again where it failed while one of the two files was replaced or changed by somebody
    /// else: it may have seen one of them from before and the other from after.
    ///
    /// - Parameter body: sets what it is handed before it replaces a file itself. It is not run again then.
    static func whileFilesChange<R>(_ path: FilePath, _ body: (inout Bool) throws -> R) throws -> R {
        let paths = [path, unlockKeyPath(of: path)]
        var attempt = 0
        while true {
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

    /// The key that a person calls this: its name, or its ID in 32 hexadecimal digits.
    public func entry(_ reference: String) -> KeyringEntry? {
        entries.first { $0.isCalled(reference) }
    }

    /// The key itself.
    ///
    /// - Throws: `VaultError` with `noSuchKey` if the keyring does not have it, `keyDestroyed` if it was destroyed, and
    ///   `memoryUnavailable`.
    public func key(_ id: KeyID) throws(VaultError) -> SymmetricKey {
        if let key = try text.key(id) { return key }
        throw entries.contains { $0.id == id } ? .keyDestroyed : .noSuchKey
    }

    /// Those of the keys that are there, in whatever state, and not destroyed.
    public func symmetricKeys(for ids: [KeyID]) throws -> [SymmetricKey] {
        try ids.compactMap { id throws(VaultError) in try text.key(id) }
    }
}

extension KeyringText {
    /// Opens a keyring file.
    static func reader(of source: any ByteSource, _ unlockKey: SymmetricKey) throws -> SeekableVaultReader {
        do {
            return try SeekableVaultReader(
                source, keys: KeySet(keys: [unlockKey]), context: Keyring.context)
        } catch let error as VaultError {
            throw error.code == .wrongKey ? Keyring.mismatch : error
        }
    }

    /// Reads the text of a keyring file (KEYRING-1, KEYRING-3).
    static func read(_ reader: SeekableVaultReader) throws -> KeyringText {
        guard reader.opened.manifest.metadata.contentType == Keyring.contentType else {
            throw VaultError(.keyringMalformed, "its content type is not that of a keyring")
        }
        // Every change makes a new container, and what somebody added here would silently be gone with the next.
        let slots = reader.opened.header.slots
        guard slots.count <= 2, slots.allSatisfy({ $0.kind == .symmetric }) else {
            throw VaultError(.keyringMalformed, "it has slots that are not of its unlock key")
        }
        let tooLong = VaultError(.keyringMalformed, "its text has more than \(longest) bytes")
        return try parse(reader.secret(atMost: longest, orElse: tooLong))
    }
}

extension KeyringEntry {
    /// Whether a person means this key.
    func isCalled(_ reference: String) -> Bool {
        name.description == reference || KeyID(hex: reference) == id
    }
}
