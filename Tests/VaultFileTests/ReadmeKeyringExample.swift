import SystemPackage
import VaultFile

struct UserKeys {
    let path: FilePath  // the keyring; what unlocks it stands beside it
    let passphrase: Passphrase

    func create(_ name: KeyName) throws {
        try Keyring.create(at: path, for: [.passphrase(passphrase)], first: name)
    }

    func renew(_ name: KeyName) throws {  // the new key is current, the one before is retired: it still opens
        _ = try Keyring.change(at: path, unlocking: unlocking) { change in
            try change.generate(named: name, created: .now)
        }
    }

    func open() throws -> Keyring { try Keyring.open(at: path, unlocking: unlocking) }

    func rotate(_ files: [FilePath]) throws {  // two small writes each
        let keyring = try open()
        let change = try keyring.keyChangeToCurrent()
        for file in files { try Vault.rotate(at: file, change, keys: keyring) }
    }

    // What only this key opened is lost, wherever copies of it are. The traces say what could not be overwritten.
    func destroy(_ id: KeyID) throws -> Keyring.Traces {
        try Keyring.change(at: path, unlocking: unlocking) { change in try change.destroy(id) }.traces
    }

    private var unlocking: KeySet { KeySet(passphrases: [passphrase]) }
}
