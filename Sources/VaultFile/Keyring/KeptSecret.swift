package import SystemPackage
import VaultCrypto
package import VaultFormat
package import VaultStream
internal import VaultSystem

/// What opens something, which the system keeps for the user while that is unlocked.
///
/// Digests of the files that it belongs to are kept with it. As long as the files have the same bytes, all checks of
/// them would end as they did when the secret was read. After any change of them, by any program, what is kept is not
/// used, and is dropped. Otherwise someone who was shut out could still use it.
package struct KeptSecret: Sendable {
    private static let digestCount = 32
    /// More bytes than one of the files has. A longer file is not read into memory.
    private static let longestFile: UInt64 = 1 << 20

    /// What the system calls it.
    private let name: String
    private let files: [FilePath]

    /// - Parameters:
    ///   - name: what the system calls it. It begins with `vaultfile:`.
    ///   - files: the files that it belongs to.
    package init(_ name: String, of files: [FilePath]) {
        self.name = name
        self.files = files
    }

    /// The kept secret, and the versions of the files; nil if none is kept that belongs to the files as they are now.
    ///
    /// - Parameter limit: the most bytes that it may have.
    /// - Throws: `keyStoreUnavailable`, `memoryUnavailable`; `inputFailed` if the system cannot tell, or if a file
    ///   cannot be read; `keyringMalformed` if a file is too long.
    package func read(atMost limit: Int) throws(VaultError) -> KeptBytes? {
        let prefix = files.count * Self.digestCount
        guard let kept = try KeyStore.secret(name, atMost: prefix + limit) else { return nil }
        let (digest, versions) = try seen()
        guard kept.count > prefix else {
            drop()
            return nil
        }
        var secret = try SecretBuffer(count: kept.count - prefix)
        let isSame = kept.withBytes { bytes in
            secret.withMutableBytes { $0.replace(at: 0, with: bytes.extracting(droppingFirst: prefix)) }
            return constantTimeEqual(bytes.extracting(first: prefix), digest.span)
        }
        guard isSame else {
            drop()
            return nil
        }
        return KeptBytes(secret: secret, versions: versions)
    }

    /// Checks that the system keeps secrets for this process.
    ///
    /// - Throws: `keyStoreUnavailable`; `inputFailed` if the system cannot tell.
    package func check() throws(VaultError) {
        _ = try KeyStore.secret(name, atMost: 1)
    }

    /// Keeps the secret.
    ///
    /// - Parameters:
    ///   - digest: of the files that the secret was read from.
    ///   - seconds: for how long; nil for as long as the system runs.
    /// - Throws: `keyStoreUnavailable`, `memoryUnavailable`; `outputFailed` if there is no room for it.
    package func keep(_ secret: borrowing SecretBuffer, _ digest: [UInt8], seconds: UInt32?) throws(VaultError) {
        var kept = try SecretBuffer(count: digest.count + secret.count)
        secret.withBytes { bytes in
            kept.withMutableBytes { kept in
                kept.replace(at: 0, with: digest.span)
                kept.replace(at: digest.count, with: bytes)
            }
        }
        try KeyStore.keep(kept, as: name, seconds: seconds)
    }

    /// Drops what is kept, if the system lets this process do that.
    package func drop() {
        _ = try? KeyStore.drop(name)
    }

    /// - Returns: whether something was kept.
    /// - Throws: `keyStoreUnavailable`; `inputFailed` if the system cannot tell; `outputFailed` if it is still kept.
    package func end() throws(VaultError) -> Bool {
        try KeyStore.drop(name)
    }

    /// Digests of files as they are now. They tell what is kept for these files, under whatever name: what the name
    /// depends on may be locked.
    ///
    /// - Throws: `inputFailed`, `memoryUnavailable`; `keyringMalformed` if a file is too long.
    package static func digest(of files: [FilePath]) throws(VaultError) -> [UInt8] {
        try KeptSecret(prefix, of: files).digest()
    }

    /// Digests that were written to a file.
    ///
    /// - Parameter count: of how many files.
    /// - Returns: nil if something else, or nothing, is in it.
    /// - Throws: `inputFailed`, `memoryUnavailable`.
    package static func notedDigest(of count: Int, in file: FileDescriptor) throws(VaultError) -> [UInt8]? {
        var text = try SecretBuffer(count: count * digestCount + 1)
        let length = try text.withMutableBytes { bytes throws(VaultError) in try file.fill(&bytes, at: 0) }
        guard length == count * digestCount else { return nil }
        return text.withBytes { bytes in (0..<length).map { bytes[$0] } }
    }

    /// Ends what is kept for files with these digests.
    ///
    /// - Parameters:
    ///   - digest: of the files that it belongs to.
    ///   - limit: the most bytes that it may have.
    /// - Throws: `keyStoreUnavailable`, `memoryUnavailable`; `inputFailed` if the system cannot tell; `outputFailed` if
    ///   it is still kept.
    package static func endAll(with digest: [UInt8], atMost limit: Int) throws(VaultError) {
        try KeyStore.dropAll(named: prefix, atMost: digest.count + limit) { bytes in
            bytes.count > digest.count && constantTimeEqual(bytes.extracting(first: digest.count), digest.span)
        }
    }

    /// The beginning of all names.
    private static let prefix = "vaultfile:"

    /// Digests of the files as they are now, one after the other.
    ///
    /// - Throws: `inputFailed`, `memoryUnavailable`; `keyringMalformed` if a file is too long.
    package func digest() throws(VaultError) -> [UInt8] { try seen().digest }

    private func seen() throws(VaultError) -> (digest: [UInt8], versions: [FileStatus.Version]) {
        var (digest, versions): ([UInt8], [FileStatus.Version]) = ([], [])
        for file in files {
            let (part, version) = try Self.digest(file)
            digest += part
            versions.append(version)
        }
        return (digest, versions)
    }

    private static func digest(_ path: FilePath) throws(VaultError) -> ([UInt8], FileStatus.Version) {
        let file = try FileDescriptor.openInput(path, .storage)
        defer { file.closeQuietly() }
        let version: FileStatus.Version
        do {
            version = try file.status().version
        } catch {
            throw VaultError(.inputFailed, "its status cannot be read: \(error)", systemError: error)
        }
        guard let count = Int(exactly: version.size), version.size <= longestFile else {
            throw VaultError(.keyringMalformed, "its file is longer than such a file can be")
        }
        // If nothing protects a keyring any more, its unlock file is a key.
        var text = try SecretBuffer(count: count + 1)
        let length = try text.withMutableBytes { bytes throws(VaultError) in try file.fill(&bytes, at: 0) }
        let digest = text.withBytes { bytes in
            BLAKE2b.digest(count: digestCount, label: "vaultfile unlock", message: bytes.extracting(first: length))
        }
        return (digest, version)
    }
}

/// A secret that was kept, in guarded memory.
package struct KeptBytes: ~Copyable {
    let secret: SecretBuffer
    /// The versions of the files that it belongs to.
    let versions: [FileStatus.Version]

    /// The secret alone.
    package consuming func take() -> SecretBuffer { secret }
}
