internal import Synchronization
internal import VaultFile

/// The keys of a mount. Everything is asked for before it begins: the programs that look at the mount would wait for an
/// answer, and nobody may be at the terminal any more.
///
/// They stay in memory until the mount ends, whatever `key lock` does meanwhile. Plugins are not asked: a plugin may ask
/// the user, and would be started for each container.
final class MountKeys: Sendable {
    private let keys: RunKeys
    private let context: Context
    /// Whether a passphrase was tried on a container.
    private let hasTriedPassphrase = Mutex(false)

    /// Asks for what opens containers.
    init(_ keys: RunKeys, context: Context) throws(Failure) {
        (self.keys, self.context) = (keys, context)
        try keys.askNow()
    }

    /// Asks for the passphrase again if the user has typed it and it was tried. To be called before the mount begins,
    /// when nothing has opened.
    ///
    /// - Returns: whether there is another passphrase to try.
    func askAgain() throws(Failure) -> Bool {
        guard hasTriedPassphrase.withLock({ exchange(&$0, with: false) }) else { return false }
        return try keys.askAgain()
    }

    /// Opens a container. Its header file may be beside it.
    func open(_ source: any ByteSource, at place: FilePlace) throws -> SeekableVaultReader {
        let attempt = Attempt(keys: keys) { self.hasTriedPassphrase.withLock { $0 = true } }
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
        let noteTry: @Sendable () -> Void
        let stretching = Stretching()

        func symmetricKeys(for ids: [KeyID]) throws -> [SymmetricKey] { try keys.symmetricKeys(for: ids) }

        func identities() throws -> [Identity] { try keys.identities() }

        func passphrases() throws -> [Passphrase] {
            let known = keys.knownPassphrases
            if !known.isEmpty {
                noteTry()
                stretching.begin()
            }
            return known
        }
    }
}
