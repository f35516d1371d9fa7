import SystemPackage
import VaultFile

struct Attachments {
    let folder: FilePath
    let key: SymmetricKey  // SymmetricKey.generate(), or SymmetricKey.read(from: "key.txt")

    func save(_ bytes: [UInt8], as id: UInt64) throws {
        var options = SealOptions()
        options.context = try Context("attachment \(id)")  // opens as this one only
        try Vault.write(to: path(id), replacing: true, for: [.key(key)], options: options) { write in
            try write(bytes.span)  // as often as bytes come
        }  // now it stands complete under its name; or an error was thrown, and nothing has changed
    }

    func load(_ range: Range<UInt64>, of id: UInt64) throws -> [UInt8] {
        let reader = try SeekableVaultReader(
            FileSource(at: path(id)), keys: KeySet(keys: [key]), context: Context("attachment \(id)"))
        return try reader.bytes(range)
    }

    private func path(_ id: UInt64) -> FilePath { folder.appending("\(id).vault") }
}
