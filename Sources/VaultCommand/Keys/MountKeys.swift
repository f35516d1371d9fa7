internal import Synchronization
internal import VaultFile
internal import VaultMount

/// The keys of a mount. Everything is asked for before it begins: the programs that look at the mount would wait for an
/// answer, and nobody may be at the terminal any more.
///
/// They stay in memory until the mount ends, whatever `key lock` does meanwhile. Plugins are not asked: a plugin may ask
/// the user, and would be started for each container.
final class MountKeys: Sendable {
    private let keys: RunKeys
    private let context: Context
    private let tries = Mutex(Tries())

    /// What is known about the passphrases.
    private struct Tries {
        /// How many containers they were tried on and do not open.
        var refusals = 0
        /// Whether one fits a container that is damaged behind its header.
        var fits = false
    }

    /// Asks for what opens containers.
    init(_ keys: RunKeys, context: Context) throws(Failure) {
        (self.keys, self.context) = (keys, context)
        try keys.askNow()
    }

    /// Asks for the passphrase again if the user may have mistyped it: if it opens none of the containers that it was tried
    /// on. To be called before the mount begins, when nothing has opened.
    ///
    /// It may still be right for others, that are damaged or were not tried. So the user may repeat it.
    ///
    /// - Parameter trial: what the containers say that were tried.
    /// - Returns: whether there is another passphrase to try.
    func askAgain(after trial: FolderView.Trial) throws(Failure) -> Bool {
        let tries = tries.withLock { exchange(&$0, with: Tries()) }
        guard tries.refusals > 0, !tries.fits else { return false }
        var all = FolderView.Trial()
        all.refused = tries.refusals
        let isWrong = trial == all
        let count = tries.refusals
        let none = count == 1 ? "It does not open the container" : "It opens none of the \(count) containers"
        let before = keys.knownPassphrases
        let words = "\(none) that it was tried on. If it is right for others, type it again."
        return try keys.askAgain(saying: isWrong ? nil : words) && (isWrong || keys.knownPassphrases != before)
    }

    /// Opens a container. Its header file may be beside it.
    func open(_ source: any ByteSource, at place: FilePlace) throws -> SeekableVaultReader {
        let attempt = Attempt(keys: keys)
        defer { attempt.stretching.end() }
        do {
            return try open(source, at: place, with: attempt)
        } catch {
            if attempt.stretching.end() { note((error as? VaultError)?.code) }
            throw error
        }
    }

    /// Notes why a container does not open on which passphrases were tried.
    private func note(_ code: VaultError.Code?) {
        switch code {
        case .wrongKey: tries.withLock { $0.refusals += 1 }
        // None was tried to its end.
        case .limitExceeded, .memoryUnavailable, .headerDetached, nil: break
        default: tries.withLock { $0.fits = true }
        }
    }

    private func open(
        _ source: any ByteSource, at place: FilePlace, with attempt: Attempt
    ) throws -> SeekableVaultReader {
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
        /// Has begun if passphrases are tried.
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
