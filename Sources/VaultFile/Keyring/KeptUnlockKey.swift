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

    /// The kept key; nil if none is kept that belongs to the unlock file as it is now. If the system does not let this
    /// process ask for it, that is the same: the keyring's secrets still open it.
    func read() throws -> UnlockKey? {
        let kept: SecretBuffer
        do throws(VaultError) {
            guard let secret = try KeyStore.secret(name, count: Self.digestCount + SymmetricKey.byteCount) else {
                return nil
            }
            kept = secret
        } catch {
            guard error.code == .keyStoreUnavailable else { throw error }
            return nil
        }
        // Without the file there is nothing to compare. Its secrets are asked for, and the error is reported then.
        guard let (digest, version) = try? digest() else { return nil }
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
    /// - Throws: `keyStoreUnavailable`.
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
    /// - Throws: `keyStoreUnavailable`; `outputFailed` if it is still kept.
    func end() throws(VaultError) -> Bool {
        try KeyStore.drop(name)
    }

    /// A digest of the unlock file as it is now.
    ///
    /// - Throws: `inputFailed`; `keyringMalformed` if the file is too long.
    func digest() throws -> (digest: [UInt8], FileStatus.Version) {
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
