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
    public static let contentType = "application/x-vaultfile-keyring"
    /// What the container is bound to, so that none that was made for something else is taken for a keyring.
    public static let context = Context(unchecked: Array("vaultfile keyring".utf8))
    /// How often the files may be found to be others than a moment ago.
    static let patience = 20

    let text: KeyringText

    /// Its keys, in the order in which they came to be there.
    public var entries: [KeyringEntry] { text.entries }

    /// The one that encrypts.
    public var current: KeyringEntry? { entries.first { $0.state == .current } }

    private init(_ text: consuming KeyringText) {
        self.text = text
    }

    /// A keyring without keys.
    static func empty() throws(VaultError) -> Keyring {
        Keyring(try KeyringText.make([]))
    }

    /// Reads a keyring. Takes no lock: it is replaced as a whole.
    ///
    /// - Parameters:
    ///   - path: of the keyring; its unlock key stands in the file of the same name with `.key` behind it.
    ///   - keys: what opens the unlock key. Not asked where nothing protects it.
    /// - Throws: `VaultError` with `inputFailed` if one of the two files is missing, `wrongKey`, `keyringMalformed`, and
    ///   whatever is wrong with a container; what the provider throws.
    public static func open(at path: FilePath, unlocking keys: any KeyProvider) throws -> Keyring {
        try whileFilesChange(path) { known in
            let unlockKey = try UnlockKey(at: unlockKeyPath(of: path), keys: keys)
            known.insert(unlockKey.identity)
            let file = try FileDescriptor.openForReading(path)
            defer { file.closeQuietly() }
            if let status = try? file.status() { known.insert(status.identity) }
            return try Keyring(FileSource(file), unlockKey)
        }
    }

    /// Where the key stands that unlocks a keyring.
    public static func unlockKeyPath(of path: FilePath) -> FilePath {
        unsafe path.withPlatformString { text in
            // By its bytes: a name need not be text.
            var bytes: [CChar] = []
            var index = 0
            while unsafe text[index] != 0 {
                bytes.append(unsafe text[index])
                index += 1
            }
            return FilePath(platformString: bytes + ".key".utf8.map(CChar.init(bitPattern:)) + [0])
        }
    }

    init(_ source: any ByteSource, _ unlockKey: UnlockKey) throws {
        let reader = try SeekableVaultReader(source, keys: KeySet(keys: [unlockKey.key]), context: Self.context)
        guard reader.opened.manifest.metadata.contentType == Self.contentType else {
            throw VaultError(.keyringMalformed, "its content type is not that of a keyring")
        }
        text = try KeyringText.parse(reader.secret(atMost: KeyringText.longest))
    }

    /// Runs `body`, and runs it again where it failed because one of the two files has been replaced meanwhile: it has
    /// seen one from before and one from after.
    ///
    /// - Parameter body: adds the files that it has opened to those known.
    static func whileFilesChange<R>(
        _ path: FilePath, _ body: (inout Set<FileStatus.Identity>) throws -> R
    ) throws -> R {
        for _ in 1..<patience {
            var known: Set<FileStatus.Identity> = []
            do {
                return try body(&known)
            } catch let error as VaultError {
                let there = [path, unlockKeyPath(of: path)].compactMap { try? $0.status().identity }
                guard !known.isEmpty, there.contains(where: { !known.contains($0) }) else { throw error }
            }
        }
        var known: Set<FileStatus.Identity> = []
        return try body(&known)
    }

    // MARK: Keys

    /// The key that a person calls this: its name, or its ID in 32 hexadecimal digits.
    public func entry(_ reference: String) -> KeyringEntry? {
        entries.first { $0.isCalled(reference) }
    }

    /// The key itself.
    ///
    /// - Throws: `VaultError` with `noSuchKey` if it is not there or destroyed, `memoryUnavailable`.
    public func key(_ id: KeyID) throws(VaultError) -> SymmetricKey {
        if let key = try text.key(id) { return key }
        throw VaultError(.noSuchKey, entries.contains { $0.id == id } ? "it was destroyed" : "it is not in the keyring")
    }

    /// Those of the keys that are there, in whatever state, and not destroyed.
    public func symmetricKeys(for ids: [KeyID]) throws -> [SymmetricKey] {
        try ids.compactMap { id throws(VaultError) in try text.key(id) }
    }
}

extension KeyringEntry {
    /// Whether a person means this key.
    func isCalled(_ reference: String) -> Bool {
        name.description == reference || KeyID(hex: reference) == id
    }
}
