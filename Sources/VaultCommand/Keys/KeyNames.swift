internal import VaultFile

// The names that the keyring has for keys, for verbs that need no key.
extension KeyringSession {
    /// Opens the keyring for its names: if `--unlock` is given, if the environment names something that unlocks it at
    /// once, or while `key unlock` has unlocked it. Otherwise keys have no names: a listing is worth neither a question
    /// nor the stretching of a passphrase.
    ///
    /// - Throws: `Failure` if `--unlock` is given and does not unlock it.
    func openForNames() throws(Failure) {
        if unlocker.isNamedOnLine {
            _ = try open()
        } else if exists, unlocker.unlocksAtOnce {
            _ = try? open()
        } else {
            openIfUnlocked()
        }
    }

    /// The names of the keys that are not destroyed, for a shell that completes a word; none if the keyring is locked.
    static var namesForCompletion: [String] {
        let session = try? KeyringSession(UnlockOptions(unlock: []), Console(verbosity: .quiet))
        try? session?.openForNames()
        return session?.ifOpen?.entries.filter { $0.state != .destroyed }.map(\.name.description) ?? []
    }

    /// The name of what a slot is for; nil if it has none, if it is hidden, or if the keyring is locked.
    ///
    /// - Parameter headers: Those that may have the slot.
    func name(of slot: SlotDescription, in headers: [HeaderSummary]) -> String? {
        if slot.kind.idNamesSecret { return entryIfOpen(slot.keyID)?.name.description }
        guard let keyring = ifOpen else { return nil }
        return headers.lazy.compactMap { keyring.entry(of: slot, in: $0) }.first?.name.description
    }
}

extension KeyringUnlocker {
    /// Whether what unlocks the keyring is a key file, or nothing. A command may ask for a passphrase itself, and the
    /// line of a descriptor may be meant for something else.
    fileprivate var unlocksAtOnce: Bool {
        !named.isEmpty
            && named.allSatisfy {
                switch $0.source {
                case .file, .unprotected: true
                default: false
                }
            }
    }
}
