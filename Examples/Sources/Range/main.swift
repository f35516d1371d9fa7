// Writes some bytes out of a container to standard output. It reads only the records that hold them.
//
//     swift run Range notes.txt.vault 100 20
import VaultFile

let arguments = CommandLine.arguments
guard arguments.count == 4, let start = UInt64(arguments[2]), let count = UInt64(arguments[3]) else {
    fatalError("usage: Range CONTAINER START COUNT")
}
let key = try SymmetricKey.read(from: "vaultfile.key")
let reader = try SeekableVaultReader(FileSource(at: FilePath(arguments[1])), with: .key(key))
guard start <= reader.length, count <= reader.length - start else {
    fatalError("the container holds \(reader.length) bytes")
}
// In order, however long the range is. `reader.bytes(_:)` gives a short one in memory.
try reader.decrypt(start..<start + count, to: .standardOutput)
