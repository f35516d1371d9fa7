import VaultFile

struct UserKeys {
    let path: FilePath  // the keyring; the .key file beside it unlocks it
    let passphrase: Passphrase

    func create(_ name: KeyName) throws {
        try Keyring.create(at: path, for: [.passphrase(passphrase)], first: name)
    }

    func open() throws -> Keyring { try Keyring.open(at: path, unlocking: unlocking) }

    func renew(_ name: KeyName) throws {  // the new key is current, the one before is retired: it still opens
        _ = try Keyring.change(at: path, unlocking: unlocking) { change in
            try change.generate(named: name, created: .now)
        }
    }

    // What only this key opened is lost, except to someone who has an exported copy of the key, or an old copy of both
    // files of the keyring and its passphrase. The traces say what else is left of the key.
    func destroy(_ id: KeyID) throws -> Keyring.Traces {
        try Keyring.change(at: path, unlocking: unlocking) { change in try change.destroy(id) }.traces
    }

    private var unlocking: KeySet { KeySet(passphrases: [passphrase]) }
}
