internal import Synchronization
internal import VaultFile

/// The keys that a run tries: those given, or else the key file that the environment names, or those of the keyring,
/// which is unlocked where a container has a slot for a key; and then a passphrase. Each is asked for once a run, and
/// only where a container has a slot for it. `OpeningAttempt` tries them. A rotation to the keyring's current key
/// always has the keyring's keys.
final class OpeningKeys: Sendable {
    private let keys: Keys
    /// Whether nothing was named, so that a passphrase may be asked for.
    let areDefaults: Bool
    private let sources: KeySources
    private let unlocking: UnlockOptions
    private let keyring: KeyringAccess
    /// Whether the keyring's keys are tried.
    let usesKeyring: Bool
    private let asked = Mutex<Result<Passphrase, Failure>?>(nil)

    /// - Parameters:
    ///   - options: What the user named; where that is nothing, the defaults count.
    ///   - isOfKeyring: Whether the work is about the keyring's keys: then these are tried, whatever was named besides.
    init(_ options: KeyOptions, from sources: KeySources, isOfKeyring: Bool = false) throws(Failure) {
        areDefaults = options.isEmpty
        self.sources = sources
        unlocking = options.unlocking
        keyring = sources.keyring(options.unlocking)
        if options.isEmpty {
            keys = Keys(symmetric: try sources.standardKey().map { [$0] } ?? [])
        } else {
            keys = try sources.read(options, for: .opening)
        }
        usesKeyring = isOfKeyring || options.isEmpty && keys.symmetric.isEmpty && keyring.exists
    }

    /// Who was named on the line and is not retired: whoever of them opens a container keeps his way in when it is
    /// re-encrypted.
    var given: [Recipient] {
        guard !areDefaults else { return [] }
        let staying = keys.symmetric.filter { [nil, .current].contains(keyring.entry(of: $0.key.id)?.state) }
        return Keys(symmetric: staying, passphrases: keys.passphrases).recipients
    }

    /// Whether passphrases were named, so that they may be stretched for more than opening.
    var stretches: Bool { !keys.passphrases.isEmpty }

    /// Whether the next keys that are asked for may have to be unlocked.
    var isKeyringLocked: Bool { usesKeyring && keyring.ifOpen == nil }

    /// Refuses new slots for keys that the keyring, if it is open by now, has retired.
    func refuseRetired(_ keys: [LoadedKey]) throws(Failure) {
        try sources.refuseRetired(keys, unlocking: unlocking)
    }

    func symmetricKeys(for ids: [KeyID]) throws -> [SymmetricKey] {
        let wanted = Set(ids)
        let given = keys.symmetric.map(\.key).filter { wanted.contains($0.id) }
        guard usesKeyring else { return given }
        let missing = wanted.subtracting(given.map(\.id))
        return try given + keyring.open().symmetricKeys(for: ids.filter(missing.contains))
    }

    /// Whether any key was there to be tried on slots for keys.
    private var hasKeys: Bool { !keys.symmetric.isEmpty || keyring.ifOpen?.entries.isEmpty == false }

    /// - Parameter subject: The file that a passphrase is asked for.
    func passphrases(for subject: Failure.Subject) throws -> [Passphrase] {
        guard areDefaults else { return keys.passphrases }
        return try asked.withLock { asked in
            if asked == nil {
                asked = Result { () throws(Failure) in
                    try PassphraseDialogue.ask(for: .opening, name: subject.escaped)
                }
            }
            switch asked {
            case .success(let passphrase): return [passphrase]
            // Where a key was tried, that it does not fit is what there is to say.
            case .failure where hasKeys: return []
            case .failure(let failure): throw OpeningKeys.none(because: failure)
            case nil: return []
            }
        }
    }

    /// What an error means, given that perhaps there was nothing to try at all.
    ///
    /// - Parameter wanted: The keys that the container has slots for and that came to be tried; nil stands for a
    ///   passphrase.
    func explain(
        _ error: any Error, about subject: Failure.Subject, wanted: Set<KeyID?>, triedOthers: Bool
    ) -> Failure {
        var failure = Failure(error, about: subject)
        guard failure.code == VaultError.Code.wrongKey.name else { return failure }
        let wasAsked =
            asked.withLock { asked in
                if case .success = asked { true } else { false }
            }
        if wanted.contains(nil), keys.passphrases.isEmpty, !wasAsked {
            failure.hint = "it has a slot for a passphrase too: -p asks for it"
        }
        if let key = misfit(wanted) {
            failure.reason = "the key \(key) has a slot in it, and does not open it (\(VaultError.Code.wrongKey.name))"
            failure.hint = "it was made with another --context, or its slot was changed"
        } else if let need = missing(wanted) {
            failure.reason = "\(need) (\(VaultError.Code.wrongKey.name))"
        }
        if areDefaults, !hasKeys, !triedOthers, asked.withLock({ $0 == nil }) {
            return Failure(.noKey, subject, "no key was given, and it has no passphrase", hint: OpeningKeys.whatToType)
        }
        return failure
    }

    /// A key that was tried although the error is that none fits: what shows its ID is none of its slots, or is bound
    /// to another context.
    private func misfit(_ wanted: Set<KeyID?>) -> String? {
        if let key = keys.symmetric.first(where: { wanted.contains($0.key.id) }) {
            return keyring.name(of: key.key.id) ?? "\(key.key.id)"
        }
        guard usesKeyring else { return nil }
        return keyring.ifOpen?.entries.first { wanted.contains($0.id) && $0.state != .destroyed }?.name.description
    }

    /// Which keys of the keyring would have opened it; nil where none would, or where it has not been unlocked.
    private func missing(_ wanted: Set<KeyID?>) -> String? {
        let entries = keyring.ifOpen?.entries.filter { wanted.contains($0.id) } ?? []
        guard !entries.isEmpty else { return nil }
        let names = entries.map { "\($0.name), \($0.state == .current ? "which was not named" : $0.state.rawValue)" }
        return "it needs the key " + names.joined(separator: ", or the key ")
    }

    /// What to type where there is no key.
    static let whatToType =
        "vaultfile key generate makes a keyring; or give --key-file FILE, --key-command COMMAND or -p, or set "
        + KeySources.variable

    private static func none(because failure: Failure) -> Failure {
        var failure = failure
        failure.hint = whatToType + "; --passphrase-file and --passphrase-fd need no terminal"
        return failure
    }
}
