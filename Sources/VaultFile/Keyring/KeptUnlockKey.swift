import SystemPackage
import VaultCrypto
import VaultFormat
import VaultStream
internal import VaultSystem

/// The unlock key of a keyring, which the system keeps while the keyring is unlocked.
struct KeptUnlockKey {
    /// The kept key cannot take the place of the secrets.
    struct NotEnough: Error {}

    private let kept: KeptSecret

    /// - Parameter path: the path of the keyring.
    /// - Throws: `inputFailed` if the folder of its unlock file cannot be found.
    init(of path: FilePath) throws(VaultError) {
        let unlockFile = Keyring.unlockKeyPath(of: path)
        do throws(Errno) {
            let file = try unlockFile.followingLinks()
            guard let last = file.lastComponent, last.kind == .regular else { throw Errno.isDirectory }
            let folder = file.removingLastComponent()
            let place = try (folder.isEmpty ? "." : folder).status().identity.bytes + FilePath(root: nil, [last]).bytes
            let digest = BLAKE2b.digest(count: 16, label: "vaultfile folder", message: place.span)
            // The user, and the place of the keyring. So keyrings do not mix, and the key of a keyring that was replaced
            // is found and dropped.
            kept = KeptSecret("vaultfile:\(SystemCalls.current.userID()):\(digest.hexadecimal)", of: [unlockFile])
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
        guard let found = try kept.read(atMost: SymmetricKey.byteCount), let version = found.versions.first else {
            return nil
        }
        guard let key = found.secret.withBytes({ try? SymmetricKey(bytes: $0) }) else {
            drop()
            return nil
        }
        return UnlockKey(kept: key, version)
    }

    /// Checks that the system keeps keys for this process.
    ///
    /// - Throws: `keyStoreUnavailable`; `inputFailed` if the system cannot tell.
    func check() throws(VaultError) { try kept.check() }

    /// Keeps the key.
    ///
    /// - Parameter digest: of the unlock file that the key was read from.
    func keep(_ key: SymmetricKey, _ digest: [UInt8], seconds: UInt32) throws(VaultError) {
        var secret = try SecretBuffer(count: SymmetricKey.byteCount)
        secret.withMutableBytes { bytes in key.withBytes { bytes.replace(at: 0, with: $0) } }
        try kept.keep(secret, digest, seconds: seconds)
    }

    /// Drops what is kept, if the system lets this process do that.
    func drop() { kept.drop() }

    /// - Returns: whether a key was kept.
    /// - Throws: `keyStoreUnavailable`; `inputFailed` if the system cannot tell; `outputFailed` if it is still kept.
    func end() throws(VaultError) -> Bool { try kept.end() }

    /// A digest of the unlock file as it is now.
    ///
    /// - Throws: `inputFailed`, `memoryUnavailable`; `keyringMalformed` if the file is too long.
    func digest() throws(VaultError) -> [UInt8] { try kept.digest() }
}
