// Encrypts a file with a key from a key file, which is made if there is none, and decrypts it again.
//
//     swift run Key notes.txt
import VaultFile

guard CommandLine.arguments.count == 2 else { fatalError("usage: Key FILE") }
let file = FilePath(CommandLine.arguments[1])
let container = FilePath(file.string + ".vault")
let copy = FilePath(file.string + ".copy")

// A key file is as secret as the key. It is made with mode 0600, and never overwritten.
let keyFile = FilePath("vaultfile.key")
let key: SymmetricKey
do {
    key = try SymmetricKey.read(from: keyFile)
} catch let error as VaultError where error.systemError == .noSuchFileOrDirectory {
    key = try SymmetricKey.generate()
    try key.write(to: keyFile)
}

// Both appear complete or not at all.
let manifest = try Vault.encryptFile(at: file, to: container, replacing: true, for: [.key(key)])
let opened = try Vault.decryptFile(at: container, to: copy, replacing: true, with: .key(key))

print("\(manifest.plaintextLength) bytes in \(container), for the key \(key.id)")
if opened.health != .intact { print("the container is damaged, and its contents are right: \(opened.health)") }
