import FoundationEssentials
import SystemPackage
import Testing
import VaultFile
import VaultTestSupport

/// The README's example is the text of `ReadmeExample.swift`, which is compiled; here it is run.
@Suite struct ReadmeTests {
    @Test(arguments: ["ReadmeExample", "ReadmeKeyringExample"])
    func exampleIsTheFileThatIsCompiled(_ name: String) throws {
        let readme = String(decoding: try Repository.contents(Repository.path("README.md")), as: UTF8.self)
        let example = try Repository.contents(Repository.path(FilePath("Tests/VaultFileTests/\(name).swift")))
        #expect(readme.contains("```swift\n" + String(decoding: example, as: UTF8.self) + "```\n"))
    }

    @Test func keyringExampleWorks() throws {
        let folder = try TemporaryFolder()
        let keys = UserKeys(path: folder["ring.vault"], passphrase: testPassphrase("p"))
        let names = try ["first", "second"].map { try #require(KeyName($0)) }
        try keys.create(names[0])
        let first = try #require(try keys.open().current)
        let files = ["a", "b"].map { folder[$0] }
        for file in files {
            let key = try keys.open().key(first.id)
            try Vault.write(to: file, for: [.key(key)]) { try $0([1, 2, 3].span) }
        }
        try keys.renew(names[1])
        try keys.rotate(files)
        _ = try keys.destroy(first.id)
        let keyring = try keys.open()
        #expect(keyring.entries.map(\.state) == [.destroyed, .current])
        for file in files {
            let reader = try SeekableVaultReader(FileSource(at: file), keys: keyring)
            #expect(try reader.bytes(0..<3) == [1, 2, 3])
            #expect(reader.opened.header.slots.map(\.keyID) == keyring.current.map { [$0.id] })
        }
    }

    @Test func exampleWorks() throws {
        let folder = FileManager.default.temporaryDirectory.appending(
            path: "vaultfile-readme-\(UInt64.random(in: 0 ... .max))")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let attachments = Attachments(folder: FilePath(folder.path()), key: try SymmetricKey.generate())
        let bytes = (0..<200_000).map { UInt8(truncatingIfNeeded: $0 / 7) }
        try attachments.save(bytes, as: 7)
        #expect(try attachments.load(100_000..<100_050, of: 7) == [UInt8](bytes[100_000..<100_050]))
        #expect(throws: VaultError.self) {
            try FileManager.default.moveItem(
                at: folder.appending(path: "7.vault"), to: folder.appending(path: "8.vault"))
            _ = try attachments.load(0..<10, of: 8)
        }
    }
}
