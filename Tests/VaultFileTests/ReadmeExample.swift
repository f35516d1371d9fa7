import SystemPackage
import VaultFile

struct Attachments {
    let folder: FilePath
    let key: SymmetricKey

    func save(_ bytes: [UInt8], as name: String) throws {
        var options = SealOptions()
        options.context = try Context(name)  // opens under its own name only
        let file = try OutputFile(at: folder.appending(name), replacing: true)
        var writer = try VaultWriter(for: [.key(key)], options: options)
        try writer.write(bytes.span) { try file.write($0) }  // as often as bytes come
        try writer.finish { try file.write($0) }
        try file.commit()  // complete under its name, or not there at all
    }

    func load(_ range: Range<UInt64>, of name: String) throws -> [UInt8] {
        let source = try FileSource(at: folder.appending(name))
        let keys = KeySet(keys: [key])
        let reader = try SeekableVaultReader(source, keys: keys, context: Context(name))
        return try reader.bytes(range)
    }
}
