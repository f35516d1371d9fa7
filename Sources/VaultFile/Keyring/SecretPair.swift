package import SystemPackage
import VaultFormat
package import VaultStream
internal import VaultSystem

/// A kind of secret that rests in two files: a container of a text, and beside it an unlock file with the key of that
/// container (Spec, appendix B). The contexts keep a file of one kind from being taken for one of another.
package struct SecretPair: Sendable {
    /// The context of the container.
    let context: Context
    /// Its content type.
    let contentType: String
    /// The context of the unlock file.
    let keyContext: Context
    /// What messages call the container, without an article.
    let noun: String
    /// The most bytes of the text.
    let longest: Int
    /// Makes the error for what is wrong with the container.
    let malformed: @Sendable (String) -> any Error
    /// Checks a text.
    let check: @Sendable (consuming SecretBuffer) throws -> Void
    /// Called before the unlock key, or what opens it, changes.
    let forget: @Sendable (FilePath) -> Void

    /// - Parameters:
    ///   - context: of the container. That of the unlock file has ` key` after it.
    ///   - contentType: of the container.
    ///   - noun: what messages call the container, without an article.
    ///   - longest: the most bytes of the text.
    ///   - malformed: makes the error for what is wrong with the container.
    ///   - forget: called with the path before the unlock key, or what opens it, changes.
    ///   - check: checks a text.
    package init(
        context: StaticString, contentType: String, noun: String, longest: Int,
        malformed: @escaping @Sendable (String) -> any Error, forget: @escaping @Sendable (FilePath) -> Void = { _ in },
        check: @escaping @Sendable (consuming SecretBuffer) throws -> Void
    ) {
        let bytes = Array("\(context)".utf8)
        self.context = Context(unchecked: bytes)
        self.contentType = contentType
        keyContext = Context(unchecked: bytes + Array(" key".utf8))
        self.noun = noun
        self.longest = longest
        self.malformed = malformed
        self.forget = forget
        self.check = check
    }

    static let keyring = SecretPair(
        context: "vaultfile keyring", contentType: "application/x-vaultfile-keyring", noun: "keyring",
        longest: KeyringText.longest, malformed: { VaultError(.keyringMalformed, $0) },
        forget: { Keyring.forget($0) }, check: { _ = try KeyringText.parse($0) })

    /// The error if other programs keep changing the files.
    var isChanging: VaultError { VaultError(.inUse, "another program is changing the \(noun)") }

    /// The error if the unlock key opened, and the container did not open with it.
    var mismatch: VaultError {
        VaultError(.keyringMismatch, "the \(noun) and the .key file beside it do not belong together")
    }

    // MARK: Making

    /// Makes the two files, the unlock file first. Each is durable before the next gets its name.
    ///
    /// - Parameters:
    ///   - path: the path of the container.
    ///   - text: the text.
    ///   - unlockers: the keys and passphrases that will open the unlock file; at least one.
    ///   - isUsing: whether an unlock file that is there already is used, if the unlockers open it (KEYRING-12).
    ///   - owner: as root, the files get the owner and the group of this folder.
    /// - Throws: `outputExists` if one of the two is there, and `isUsing` is false or it is the container; what `open`
    ///   throws; `lastSlot`, `invalidArgument`, `outputFailed`.
    package func make(
        at path: FilePath, _ text: Span<UInt8>, for unlockers: [Recipient], usingUnlockFile isUsing: Bool,
        ownedAs owner: FileDescriptor
    ) throws {
        try Keyring.refuseEmpty(unlockers)
        try UnlockKey.check(unlockers)
        let keyPath = Keyring.unlockKeyPath(of: path)
        let key: SymmetricKey
        if isUsing, try !Keyring.isMissing(keyPath) {
            let secrets = SecretsAtHand(KeySet(), adding: unlockers, removing: .none)
            key = try UnlockKey(at: keyPath, keys: secrets, allowsUnprotected: false, of: self).key
        } else {
            key = try UnlockKey.make(at: keyPath, for: unlockers, of: self, ownedAs: owner)
        }
        var file = try OutputFile(at: path)
        file.holdKeys()
        try file.descriptor.takeOwner(of: owner)
        try write(text, to: file, for: [key])
        try file.commit()
    }

    // MARK: Reading

    /// Opens the container.
    func reader(of source: any ByteSource, _ unlockKey: SymmetricKey) throws -> SeekableVaultReader {
        do {
            return try SeekableVaultReader(source, with: .key(unlockKey, context: context))
        } catch let error as VaultError {
            throw error.code == .wrongKey ? mismatch : error
        }
    }

    /// Reads the text of the container (KEYRING-1, KEYRING-3). Nothing of it is checked but its length.
    func text(_ reader: SeekableVaultReader) throws -> SecretBuffer {
        guard reader.opened.manifest.metadata.contentType == contentType else {
            throw malformed("its content type is not that of a \(noun)")
        }
        // Every change makes a new container. A slot that another program has added would silently be lost with the
        // next change.
        let slots = reader.opened.header.slots
        guard slots.count <= 2, slots.allSatisfy({ $0.kind == .symmetric }) else {
            throw malformed("it has slots for other keys than its unlock key")
        }
        return try reader.secret(atMost: longest, orElse: malformed("its text has more than \(longest) bytes"))
    }

    /// Opens the two files, and reads the text.
    ///
    /// - Parameters:
    ///   - path: the path of the container.
    ///   - keys: the secrets that open the unlock file.
    ///   - body: gets the text, and the file that it was read from. It runs again if another program replaced one of the
    ///     files meanwhile and it failed.
    /// - Throws: as `Keyring.open`, and what `body` throws.
    package func open<R>(
        at path: FilePath, unlocking keys: any KeyProvider, _ body: (consuming SecretBuffer, FileSource) throws -> R
    ) throws -> R {
        try Keyring.whileFilesChange(path) { _ in
            let unlockPath = Keyring.unlockKeyPath(of: path)
            let key = try UnlockKey(at: unlockPath, keys: keys, allowsUnprotected: false, of: self).key
            let source = try FileSource(at: path)
            return try body(text(reader(of: source, key)), source)
        }
    }
}
