internal import VaultFile

/// The keys of a mount. Everything is asked for before it begins: the programs that look at the mount would wait for an
/// answer, and nobody may be at the terminal any more.
///
/// They stay in memory until the mount ends, whatever `key lock` does meanwhile. Plugins are not asked: a plugin may ask
/// the user, and would be started for each container.
final class MountKeys: Sendable {
    private let keys: RunKeys
    private let context: Context

    /// Asks for what opens containers.
    init(_ keys: RunKeys, context: Context) throws(Failure) {
        (self.keys, self.context) = (keys, context)
        try keys.askNow()
    }

    /// Opens a container. Its header file may be beside it.
    func open(_ source: any ByteSource, at place: FilePlace) throws -> SeekableVaultReader {
        let attempt = Attempt(keys: keys)
        defer { attempt.stretching.end() }
        let header = KnownHeader()
        do {
            return try SeekableVaultReader(source, with: header.credentials(attempt, context))
        } catch let error as VaultError where error.code == .headerDetached {
            // Not looked for before: most containers have none, and programs list thousands of them.
            return try header.withHeaderFile(of: place) {
                try SeekableVaultReader(source, with: header.credentials(attempt, context, $0))
            }
        }
    }

    /// The keys for one container.
    private struct Attempt: KeyProvider {
        let keys: RunKeys
        let stretching = Stretching()

        func symmetricKeys(for ids: [KeyID]) throws -> [SymmetricKey] { try keys.symmetricKeys(for: ids) }

        func identities() throws -> [Identity] { try keys.identities() }

        func passphrases() throws -> [Passphrase] {
            let known = keys.knownPassphrases
            if !known.isEmpty { stretching.begin() }
            return known
        }
    }
}
