import SystemPackage
import Testing
import VaultFile
import VaultTestSupport

/// A detach that was stopped between its two header copies: the front has the slots of before, and the tail is detached.
@Suite struct StoppedDetachTests {
    private let folder: TemporaryFolder
    private var path: FilePath { folder["c"] }
    private let credentials = Credentials(KeySet(keys: [testKey(1)]))

    init() throws {
        folder = try TemporaryFolder()
        var options = SealOptions()
        options.headerCapacity = HeaderCapacity(bytes: 4096)
        let before = try sealed(Detached.plaintext, for: [.key(testKey(1))], options: options)
        try folder.write(before, to: "c")
        try Vault.detach(at: folder["c"], with: credentials)
        try folder.write(Array(before[..<4096] + folder.read("c")[4096...]), to: "c")
    }

    private func withHeaderFile(_ body: (Credentials) throws -> Rotation) throws -> Rotation {
        try Vault.withHeaderFile(of: .path(path)) { file in
            var given = credentials
            given.headerFile = file.map { .file(at: $0) }
            return try body(given)
        }
    }

    @Test("repair completes it with the header file, and with nothing else") func repairs() throws {
        let bytes = try folder.read("c")
        #expect(try StoredContainer.code { try Vault.repair(at: path, with: credentials) } == .rotationUnfinished)
        #expect(try folder.read("c") == bytes)
        let done = try withHeaderFile { try Vault.repair(at: path, with: $0) }
        #expect(done.isRepaired && done.header.isDetached && done.found == .rotationUnfinished)
        let code = try StoredContainer.code { _ = try SeekableVaultReader(FileSource(at: path), with: credentials) }
        #expect(code == .headerDetached)
    }

    @Test("the slots of the container are not changed: those of the front would stay") func rotates() throws {
        let bytes = try folder.read("c")
        let change = KeyChange(adding: [.key(testKey(3))])
        let code = try StoredContainer.code { _ = try withHeaderFile { try Vault.rotate(at: path, change, with: $0) } }
        #expect(try code == .rotationUnfinished && folder.read("c") == bytes)
    }

    @Test("re-encryption asks for the header file before it reads new contents", arguments: [false, true])
    func rewrites(isDryRun: Bool) throws {
        let contents = try FileDescriptor.open(try folder.write([1, 2, 3], to: "text"), .readOnly)
        defer { try? contents.close() }
        var options = ReencryptionOptions()
        options.isDryRun = isDryRun
        let code = try StoredContainer.code {
            _ = try Vault.rewrite(
                at: path, from: contents, for: [.key(testKey(1))], with: credentials, options: options)
        }
        #expect(try code == .headerDetached && contents.seek(offset: 0, from: .current) == 0)
    }
}
