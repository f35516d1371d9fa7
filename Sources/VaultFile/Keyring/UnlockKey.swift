import SystemPackage
import VaultFormat
import VaultStream
internal import VaultSystem

/// The unlock key of a keyring, which opens the keyring's one slot. It is in a file beside the keyring (KEYRING-1,
/// KEYRING-2).
///
/// There are two reasons for a second file. A change of the keyring, which makes a new container, needs only one of the
/// secrets that unlock it, and the others stay valid. And a change of these secrets rotates only a small container.
struct UnlockKey: Sendable {
    static let contentType = "application/x-vaultfile-key"
    /// The most that a new passphrase slot of an unlock file may cost: the default cost (KEYRING-18).
    private static let dearest = Argon2Parameters.standard
    /// What opening an unlock file may cost: four passphrase slots at the default cost. The cost of a slot is in the
    /// file. An attacker who can put another file in its place could otherwise make each use of the keyring take 2 GiB.
    static let limits: OpenLimits = {
        var limits = OpenLimits.standard
        limits.maximumMemoryKiB = dearest.memoryKiB
        limits.maximumStretchingKiB = UInt64(limits.maximumPassphraseSlots) * dearest.stretchingKiB
        return limits
    }()

    /// Refuses unlockers whose slots would be beyond the limits, because nothing would open the keyring; and public
    /// keys. An attacker who knows a public key that unlocks the keyring could put a keyring of their own in its place
    /// (KEYRING-17).
    static func check(_ unlockers: [Recipient]) throws(VaultError) {
        guard !unlockers.contains(where: { $0.isPublicKey || $0.isOfPlugin }) else {
            throw VaultError(.invalidArgument, "a public key cannot unlock a keyring")
        }
        for cost in unlockers.compactMap(\.passphraseCost)
        where cost.memoryKiB > dearest.memoryKiB || cost.stretchingKiB > dearest.stretchingKiB {
            throw VaultError(
                .invalidArgument,
                "a passphrase that unlocks a keyring costs at most \(dearest.passes) passes over "
                    + "\(dearest.memoryKiB) KiB, not \(cost.passes) over \(cost.memoryKiB)")
        }
    }

    /// What protects an unlock key.
    enum Protection: Sendable {
        /// Nothing: it is a key file.
        case none
        /// A container with this header.
        ///
        /// - Parameter opener: the recipient of its slot; nil if it has several slots.
        case container(HeaderSummary, opener: Recipient?)
        /// A container that was opened when the keyring was unlocked, and has not changed since. What opened it is not
        /// known.
        case unlocked
    }

    let key: SymmetricKey
    let protection: Protection
    /// The state in which its header copies were found; `intact` if nothing protects it.
    var health: Health
    /// The version of the file that it was read from, to see whether the file has changed. The inode alone is not
    /// enough: the system may have given it to a new file after another exchange. Nil if it was read from memory.
    let version: FileStatus.Version?

    /// The key that the system kept while the unlock file stayed as it was.
    init(kept key: SymmetricKey, _ version: FileStatus.Version) {
        (self.key, self.version, protection, health) = (key, version, .unlocked, .intact)
    }

    /// Whether it came from the system, and not from the unlock file.
    var isKept: Bool {
        if case .unlocked = protection { true } else { false }
    }

    /// Whether anything protects it.
    var isProtected: Bool {
        if case .none = protection { false } else { true }
    }

    /// Reads an unlock key: from a container that the caller's keys open, or from a key file, which nothing protects.
    ///
    /// - Parameter allowsUnprotected: whether a key file is accepted. If it always were, an attacker who can write the
    ///   two files could replace the keyring by their own without knowing a secret.
    /// - Throws: `inputFailed`, `wrongKey`, `badKey`, `keyringMalformed`; `Keyring.unprotected`; what the provider
    ///   throws.
    init(
        at path: FilePath, keys: any KeyProvider, allowsUnprotected: Bool, of pair: SecretPair = .keyring
    ) throws {
        self = try Self.errors {
            // Opening a pipe must not wait, because a pipe is refused.
            let file = try FileDescriptor.openInput(path, .storage)
            defer { file.closeQuietly() }
            return try UnlockKey(file, keys: keys, allowsUnprotected: allowsUnprotected, of: pair)
        }
    }

    /// Reads an unlock key from a container in memory.
    init(container: [UInt8], keys: any KeyProvider) throws {
        (key, protection, health) = try Self.errors { try Self.open(MemorySource(container), keys, of: .keyring) }
        version = nil
    }

    private init(
        _ file: FileDescriptor, keys: any KeyProvider, allowsUnprotected: Bool, of pair: SecretPair
    ) throws {
        do {
            version = try file.status().version
        } catch {
            throw VaultError(.inputFailed, "its status cannot be read: \(error)", systemError: error)
        }
        do {
            (key, protection, health) = try Self.open(FileSource(file), keys, of: pair)
        } catch let error as VaultError {
            guard error.code == .notVaultfile else { throw error }
            guard allowsUnprotected else { throw Keyring.unprotected }
            (key, protection, health) = (try SymmetricKey.read(from: file), .none, .intact)
        }
    }

    /// What opens the container of an unlock key. Identities are not tried (KEYRING-17).
    static func credentials(_ keys: any KeyProvider, of pair: SecretPair = .keyring) -> Credentials {
        Credentials(WithoutIdentities(keys: keys), context: pair.keyContext, limits: limits)
    }

    private struct WithoutIdentities: KeyProvider {
        let keys: any KeyProvider

        func symmetricKeys(for ids: [KeyID]) throws -> [SymmetricKey] { try keys.symmetricKeys(for: ids) }
        func passphrases() throws -> [Passphrase] { try keys.passphrases() }
        var privateSlots: [PrivateSlotFamily] { keys.privateSlots }
        func fileKey(for slot: PrivateSlot) throws -> FileKey? { try keys.fileKey(for: slot) }
    }

    /// Runs `body`, whose errors are about this file and not about the keyring file.
    static func errors<R: ~Copyable>(_ body: () throws -> R) throws -> R {
        do {
            return try body()
        } catch let error as VaultError {
            throw error.ofUnlockKey
        }
    }

    private static func open(
        _ source: any ByteSource, _ keys: any KeyProvider, of pair: SecretPair
    ) throws -> (SymmetricKey, Protection, Health) {
        var trials = SlotTrials(credentials(keys, of: pair))
        let ends = try SeekableOpening(source, trials: &trials, limits: limits)
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
        return (key, .container(HeaderSummary(copy), opener: opener), ends.opening.health)
    }

    /// All recipients that unlock it, if all of them are at hand; empty if nothing protects it. Nil if anyone else
    /// could not unlock a new unlock key any more.
    ///
    /// - Parameter file: the file that it was read from, locked. Recipients may have been added since it was read.
    func allUnlockers(in file: borrowing LockedFile) throws -> [Recipient]? {
        switch protection {
        case .none: return []
        case .unlocked: return nil
        case .container(let header, let opener):
            guard let opener else { return nil }
            let seen = try Inspection(FileSource(file.descriptor, locking: .heldByCaller))
            return seen.front.summary == header && seen.tail.summary == header ? [opener] : nil
        }
    }

    /// Makes a new unlock key in a file that does not exist yet.
    ///
    /// - Parameter owner: as root, the file gets the owner and the group of this folder; nil for root's own.
    static func make(
        at path: FilePath, for unlockers: [Recipient], of pair: SecretPair, ownedAs owner: FileDescriptor? = nil
    ) throws -> SymmetricKey {
        try errors {
            let key = try SymmetricKey.generate()
            var file = try OutputFile(at: path)
            file.holdKeys()
            if let owner { try file.descriptor.takeOwner(of: owner) }
            try write(key, to: file, for: unlockers, of: pair)
            try file.commit()
            return key
        }
    }

    /// Writes an unlock key.
    ///
    /// - Parameter unlockers: the recipients that open it; empty for a key file that nothing protects.
    static func write<File: BytesOutput & ~Copyable>(
        _ key: SymmetricKey, to file: borrowing File, for unlockers: [Recipient], of pair: SecretPair = .keyring
    ) throws {
        try key.withKeyFile { text in
            guard !unlockers.isEmpty else { return try file.write(text) }
            // There is room for more slots, so that adding one needs no new file.
            try file.seal(
                text, for: unlockers, context: pair.keyContext, contentType: contentType,
                capacity: HeaderCapacity(bytes: 4096))
        }
    }
}
