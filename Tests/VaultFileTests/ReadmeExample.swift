import VaultFile

struct Attachments {
    let folder: FilePath
    let keyring: Keyring  // opened once: that takes as long as a passphrase is meant to take

    func save(_ bytes: [UInt8], as id: UInt64) throws {
        var options = SealOptions()
        options.context = try context(id)  // opens as this one only
        let recipient = Recipient.key(try keyring.currentKey())
        try Vault.write(to: path(id), replacing: true, for: [recipient], options: options) { write in
            try write(bytes.span)  // as often as bytes come
        }  // now the file is complete under its name; or an error was thrown, and nothing has changed
    }

    func load(_ range: Range<UInt64>, of id: UInt64) throws -> [UInt8] {
        let reader = try SeekableVaultReader(FileSource(at: path(id)), with: Credentials(keyring, context: context(id)))
        return try reader.bytes(range)
    }

    func rotate(_ id: UInt64) throws {  // to the current key, by two small writes
        try Vault.rotate(at: path(id), keyring.keyChangeToCurrent(), with: Credentials(keyring, context: context(id)))
    }

    private func context(_ id: UInt64) throws -> Context { try Context("attachment \(id)") }
    private func path(_ id: UInt64) -> FilePath { folder.appending("\(id).vault") }
}
