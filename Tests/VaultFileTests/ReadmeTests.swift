import SystemPackage
import Testing
import VaultFile
import VaultTestSupport

/// The examples of the page about programs are the texts of these files, which are compiled. These tests run them
/// together.
@Suite struct ReadmeTests {
    @Test(arguments: ["ReadmeExample", "ReadmeKeyringExample"])
    func exampleIsTheFileThatIsCompiled(_ name: String) throws {
        let page = try Repository.contents(Repository.path("Documentation/Programs.md"))
        let example = try Repository.contents(Repository.path(FilePath("Tests/VaultFileTests/\(name).swift")))
        let block = "```swift\n" + String(decoding: example, as: UTF8.self) + "```\n"
        #expect(String(decoding: page, as: UTF8.self).contains(block))
    }

    @Test func examplesWork() throws {
        let folder = try TemporaryFolder()
        let keys = UserKeys(path: folder["ring.vault"], passphrase: testPassphrase("p"))
        let names = try ["first", "second"].map { try #require(KeyName($0)) }
        try keys.create(names[0])
        let before = Attachments(folder: folder[""], keyring: try keys.open())
        let bytes = (0..<200_000).map { UInt8(truncatingIfNeeded: $0 / 7) }
        try before.save(bytes, as: 7)
        #expect(try before.load(100_000..<100_050, of: 7) == [UInt8](bytes[100_000..<100_050]))

        try keys.renew(names[1])
        let after = Attachments(folder: folder[""], keyring: try keys.open())
        try after.rotate(7)
        _ = try keys.destroy(try before.keyring.currentKey().id)
        let keyring = try keys.open()
        #expect(keyring.entries.map(\.state) == [.destroyed, .current])
        let last = Attachments(folder: folder[""], keyring: keyring)
        #expect(try last.load(100_000..<100_050, of: 7) == [UInt8](bytes[100_000..<100_050]))
        #expect(throws: VaultError.self) { try before.load(0..<10, of: 7) }
        // A container opens only under its own context.
        try folder.write(folder.read("7.vault"), to: "8.vault")
        #expect(throws: VaultError.self) { try last.load(0..<10, of: 8) }
    }
}
