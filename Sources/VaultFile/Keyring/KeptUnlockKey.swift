import SystemPackage
import VaultCrypto
import VaultFormat
import VaultStream
internal import VaultSystem

/// The unlock key of a keyring, which the system keeps while the keyring is unlocked.
///
/// A digest of the unlock file is kept with it. As long as the file has the same bytes, all checks of it would end as
/// they did when the key was read. After any change of what unlocks the keyring, by any program, the kept key is not
/// used, and is dropped. Otherwise someone who was shut out could still use the keyring.
struct KeptUnlockKey {
    /// The kept key cannot take the place of the secrets.
    struct NotEnough: Error {}

    private static let digestCount = 32
    /// More bytes than an unlock file has. A longer file is not read into memory.
    private static let longestFile: UInt64 = 1 << 20

    private let unlockFile: FilePath
    /// What the system calls it: the user, and the place of the keyring. So keyrings do not mix, and the key of a
    /// keyring that was replaced is found and dropped.
    private let name: String

    /// - Parameter path: the path of the keyring.
    /// - Throws: `inputFailed` if the folder of its unlock file cannot be found.
    init(of path: FilePath) throws(VaultError) {
        unlockFile = Keyring.unlockKeyPath(of: path)
        do throws(Errno) {
            let file = try unlockFile.followingLinks()
            guard let last = file.lastComponent, last.kind == .regular else { throw Errno.isDirectory }
            let folder = file.removingLastComponent()
            let place = try (folder.isEmpty ? "." : folder).status().identity.bytes + FilePath(root: nil, [last]).bytes
            let digest = BLAKE2b.digest(count: 16, label: "vaultfile folder", message: place.span)
            name = "vaultfile:\(SystemCalls.current.userID()):\(digest.hexadecimal)"
        } catch {
            throw VaultError(.inputFailed, "its folder cannot be found: \(error)", systemError: error)
        }
    }

    /// The kept key of a keyring; nil if none is kept, or if that cannot be found out: the keyring's secrets still open
    /// it.
    ///
    /// - Parameters:
    ///   - path: the path of the keyring.
    ///   - onUnreadable: called if it cannot be found out. Without it, nobody would learn why an unlocked keyring asks
    ///     for its secrets.
    static func find(
        of path: FilePath, _ onUnreadable: (VaultError) -> Void
    ) throws(VaultError) -> (kept: KeptUnlockKey, unlockKey: UnlockKey)? {
        do throws(VaultError) {
            let kept = try KeptUnlockKey(of: path)
            return try kept.read().map { (kept, $0) }
        } catch {
            switch error.code {
            // The system does not let this process ask, as in many containers. A file that cannot be an unlock file is an
            // error when the keyring is opened.
            case .keyStoreUnavailable, .keyringMalformed: return nil
            case .inputFailed:
                // If a file is missing, then opening the keyring says so.
                if error.systemError != .noSuchFileOrDirectory { onUnreadable(error) }
                return nil
            default: throw error
            }
        }
    }

    /// The kept key; nil if none is kept that belongs to the unlock file as it is now.
    ///
    /// - Throws: `keyStoreUnavailable`, `memoryUnavailable`; `inputFailed` if the system cannot tell, or if the unlock
    ///   file cannot be read.
    private func read() throws(VaultError) -> UnlockKey? {
        guard let kept = try KeyStore.secret(name, count: Self.digestCount + SymmetricKey.byteCount) else { return nil }
        let (digest, version) = try digest()
        let key = kept.withBytes { bytes -> SymmetricKey? in
            guard constantTimeEqual(bytes.extracting(first: Self.digestCount), digest.span) else { return nil }
            return try? SymmetricKey(bytes: bytes.extracting(droppingFirst: Self.digestCount))
        }
        guard let key else {
            drop()
            return nil
        }
        return UnlockKey(kept: key, version)
    }

    /// Checks that the system keeps keys for this process.
    ///
    /// - Throws: `keyStoreUnavailable`; `inputFailed` if the system cannot tell.
    func check() throws(VaultError) {
        _ = try KeyStore.secret(name, count: 1)
    }

    /// Keeps the key.
    ///
    /// - Parameter digest: of the unlock file that the key was read from.
    func keep(_ key: SymmetricKey, _ digest: [UInt8], seconds: UInt32) throws(VaultError) {
        var secret = try SecretBuffer(count: Self.digestCount + SymmetricKey.byteCount)
        secret.withMutableBytes { bytes in
            bytes.replace(at: 0, with: digest.span)
            key.withBytes { bytes.replace(at: Self.digestCount, with: $0) }
        }
        try KeyStore.keep(secret, as: name, seconds: seconds)
    }

    /// Drops what is kept, if the system lets this process do that.
    func drop() {
        _ = try? KeyStore.drop(name)
    }

    /// - Returns: whether a key was kept.
    /// - Throws: `keyStoreUnavailable`; `inputFailed` if the system cannot tell; `outputFailed` if it is still kept.
    func end() throws(VaultError) -> Bool {
        try KeyStore.drop(name)
    }

    /// A digest of the unlock file as it is now.
    ///
    /// - Throws: `inputFailed`, `memoryUnavailable`; `keyringMalformed` if the file is too long.
    func digest() throws(VaultError) -> (digest: [UInt8], FileStatus.Version) {
        let file = try FileDescriptor.openInput(unlockFile, .storage)
        defer { file.closeQuietly() }
        let version: FileStatus.Version
        do {
            version = try file.status().version
        } catch {
            throw VaultError(.inputFailed, "its status cannot be read: \(error)", systemError: error)
        }
        guard let count = Int(exactly: version.size), version.size <= Self.longestFile else {
            throw VaultError(.keyringMalformed, "the .key file is longer than an unlock key can be")
        }
        // If nothing protects the keyring any more, the file is a key.
        var text = try SecretBuffer(count: count + 1)
        let length = try text.withMutableBytes { bytes throws(VaultError) in try file.fill(&bytes, at: 0) }
        let digest = text.withBytes { bytes in
            BLAKE2b.digest(
                count: Self.digestCount, label: "vaultfile unlock", message: bytes.extracting(first: length))
        }
        return (digest, version)
    }
}
