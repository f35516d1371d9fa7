import SystemPackage
import Testing
import VaultFile
import VaultTestSupport

/// What a program does with files in one call.
@Suite(.bothEngines) struct WholeFileTests {
    @Test func keysOnDisk() throws {
        let folder = try TemporaryFolder()
        let path = folder.path.appending("key.txt")
        let key = try SymmetricKey.generate()
        try key.write(to: path, created: Timestamp(seconds: 1_767_323_045))
        #expect(try Stat(path).permissions.rawValue & 0o777 == 0o600)
        let read = try SymmetricKey.read(from: path)
        #expect(read.id == key.id)
        #expect(try folder.read("key.txt").starts(with: "# created: 2026-01-02T03:04:05Z\n".utf8))
        // Never over another file, least of all a key.
        let error = #expect(throws: VaultError.self) { try SymmetricKey.generate().write(to: path) }
        #expect(error?.code == .outputExists)
        #expect(try SymmetricKey.read(from: path).id == key.id)
        let missing = #expect(throws: VaultError.self) {
            try SymmetricKey.read(from: folder.path.appending("none"))
        }
        #expect(missing?.code == .inputFailed)
        let endless = #expect(throws: VaultError.self) { try SymmetricKey.read(from: "/dev/zero") }
        #expect(endless?.code == .badKey)
    }

    @Test func writtenInOneCall() throws {
        let folder = try TemporaryFolder()
        let path = folder.path.appending("c")
        let key = try SymmetricKey.generate()
        let bytes = (0..<100_000).map { UInt8(truncatingIfNeeded: $0 &* 31) }
        try Vault.write(to: path, for: [.key(key)]) { write in
            try write(bytes.span.extracting(0..<1000))
            try write(bytes.span.extracting(1000..<bytes.count))
        }
        func contents() throws -> [UInt8] {
            let reader = try SeekableVaultReader(FileSource(at: path), with: .key(key))
            return try reader.bytes(0..<reader.length)
        }
        #expect(try contents() == bytes)

        struct GivenUp: Error {}
        #expect(throws: GivenUp.self) {
            try Vault.write(to: path, replacing: true, for: [.key(key)]) { write in
                try write(bytes.span)
                throw GivenUp()
            }
        }
        #expect(try contents() == bytes)
    }

    @Test func threadsAndHoles() throws {
        let folder = try TemporaryFolder()
        let key = try SymmetricKey.generate()
        let zeros = [UInt8](repeating: 0, count: 1 << 20)
        try folder.write(zeros, to: "plain")
        for jobs in [0, -1] {
            let refused = #expect(throws: VaultError.self) {
                try Vault.encryptFile(at: folder["plain"], to: folder["vault"], for: [.key(key)], jobs: jobs)
            }
            #expect(refused?.code == .invalidArgument)
        }
        try Vault.encryptFile(at: folder["plain"], to: folder["vault"], for: [.key(key)], jobs: 3)
        let refused = #expect(throws: VaultError.self) {
            try Vault.decryptFile(at: folder["vault"], to: folder["back"], with: .key(key), jobs: 0)
        }
        #expect(refused?.code == .invalidArgument)
        for isSparse in [false, true] {
            try Vault.decryptFile(
                at: folder["vault"], to: folder["back"], replacing: true, with: .key(key), jobs: 2, sparse: isSparse)
            let bytes = try Stat(folder["back"]).blocksAllocated * 512
            #expect(isSparse ? bytes < 100_000 : bytes >= 1 << 20)
            #expect(try folder.read("back") == zeros)
        }
    }

    @Test func outputThatIsTheInput() throws {
        let folder = try TemporaryFolder()
        let path = folder.path.appending("c")
        let key = try SymmetricKey.generate()
        try Vault.write(to: path, for: [.key(key)]) { _ in }
        let before = try Repository.contents(path)
        for replacing in [false, true] {
            let error = #expect(throws: VaultError.self) {
                try Vault.encryptFile(at: path, to: path, replacing: replacing, for: [.key(key)])
            }
            #expect(error?.code == .invalidArgument)
        }
        #expect(try Repository.contents(path) == before)
    }
}
