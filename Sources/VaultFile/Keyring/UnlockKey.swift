import SystemPackage
import VaultFormat
import VaultStream

/// The key of a keyring's one slot, in a file beside it (KEYRING-1, KEYRING-2).
///
/// It is a file of its own so that a change of the keyring, which makes a new container, needs one of the keys and
/// passphrases that unlock it and takes nothing from the others; and so that changing these is a rotation of a small
/// container and leaves the keyring as it is.
struct UnlockKey: Sendable {
    /// Keeps a container that was made for something else, but for the same key or passphrase, from being put here.
    static let context = Context(unchecked: Array("vaultfile keyring key".utf8))
    static let contentType = "application/x-vaultfile-key"

    /// What protects an unlock key.
    enum Protection: Sendable {
        /// Nothing: it is a key file.
        case none
        /// A container with this header.
        ///
        /// - Parameter opener: who opens its slot, if it has no more than one.
        case container(HeaderSummary, opener: Recipient?)
    }

    let key: SymmetricKey
    let protection: Protection
    /// Of the file that it was read from, to see whether it is still the one, and as it was: an inode that another
    /// exchange has freed may be that of the next file already.
    let version: FileStatus.Version

    /// Whether anything protects it.
    var isProtected: Bool {
        if case .none = protection { false } else { true }
    }

    /// Reads it: a container that the keys given open, or a key file that nothing protects.
    ///
    /// - Parameter allowsUnprotected: whether it may be a key file. Whoever can write the two files of a keyring would
    ///   else have his own taken for it, without knowing a secret.
    /// - Throws: `inputFailed`, `wrongKey`, `badKey`, `keyringMalformed`; `Keyring.unprotected`; what the provider
    ///   throws.
    init(at path: FilePath, keys: any KeyProvider, allowsUnprotected: Bool) throws {
        // A pipe is not waited for: it would be refused.
        let file = try FileDescriptor.openInput(path, .storage)
        defer { file.closeQuietly() }
        do {
            version = try file.status().version
        } catch {
            throw VaultError(.inputFailed, "it cannot be looked at: \(error)", systemError: error)
        }
        do {
            (key, protection) = try Self.open(FileSource(file), keys)
        } catch let error as VaultError {
            guard error.code == .notVaultfile else { throw error }
            guard allowsUnprotected else { throw Keyring.unprotected }
            (key, protection) = (try SymmetricKey.read(from: file), .none)
        }
    }

    private static func open(_ source: FileSource, _ keys: any KeyProvider) throws -> (SymmetricKey, Protection) {
        var trials = SlotTrials(keys: keys, context: context, limits: .standard)
        let ends = try SeekableOpening(source, trials: &trials, limits: .standard)
        guard ends.manifest.metadata.contentType == contentType else {
            throw VaultError(.keyringMalformed, "the content type of the .key file is not that of an unlock key")
        }
        let copy = ends.opening.current
        var opener: Recipient?
        let slots = trials.slots(of: copy)
        if slots.count == 1 { opener = try trials.recipient(of: slots[0]) }
        let text = try SeekableVaultReader(source, ends).secret(
            atMost: SymmetricKey.largestKeyFile, orElse: SymmetricKey.tooLargeKeyFile)
        let key = try text.withBytes { try SymmetricKey(keyFile: $0) }
        return (key, .container(HeaderSummary(copy), opener: opener))
    }

    /// All that unlock it, where every one of them is at hand: none where nothing protects it. Nil where somebody could
    /// no longer unlock a new one.
    ///
    /// - Parameter file: the file that it was read from, locked: others may have been added since.
    func allUnlockers(in file: borrowing LockedFile) throws -> [Recipient]? {
        switch protection {
        case .none: return []
        case .container(let header, let opener):
            guard let opener else { return nil }
            let seen = try Inspection(FileSource(file.descriptor, locking: .heldByCaller))
            return seen.front.summary == header && seen.tail.summary == header ? [opener] : nil
        }
    }

    /// Writes one.
    ///
    /// - Parameter unlockers: who is to open it; none for a key file that nothing protects.
    static func write<File: BytesOutput & ~Copyable>(
        _ key: SymmetricKey, to file: borrowing File, for unlockers: [Recipient]
    ) throws {
        try key.withKeyFile { text in
            guard !unlockers.isEmpty else { return try file.write(text) }
            // Room for more of them, so that adding one leaves the file in its place.
            try file.seal(
                text, for: unlockers, context: context, contentType: contentType, capacity: HeaderCapacity(bytes: 4096))
        }
    }
}
