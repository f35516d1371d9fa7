import Synchronization
import SystemPackage
import Testing
import VaultFile
import VaultTestSupport

private struct Stop: Error {}

/// Whole files and pipes: sizes within two of the borders of chunks, transfers of any length.
@Suite struct VaultTests {
    private static let keys = KeySet(keys: [testKey(1)])
    private static let recipients = [Recipient.key(testKey(1))]

    struct Size: Sendable, CustomTestStringConvertible {
        let chunk: ChunkSize
        let count: Int
        var testDescription: String { "\(count) in chunks of \(chunk.bytes)" }
    }

    /// Within two of the borders of the first records; for the largest chunk, only of the first one.
    static let sizes: [Size] =
        around([0, 1, 2, 3].map { $0 * 4096 }).map { Size(chunk: .minimum, count: $0) }
        + around([0, 1, 2].map { $0 * 65_536 }).map { Size(chunk: .standard, count: $0) }
        + around([8 << 20]).map { Size(chunk: .maximum, count: $0) }

    private static func around(_ borders: [Int]) -> [Int] {
        borders.flatMap { $0 - 2...$0 + 2 }.filter { $0 >= 0 }
    }

    @Test(arguments: sizes) func files(_ size: Size) throws {
        let folder = try TemporaryFolder()
        let plaintext = randomBytes(size.count, seed: UInt64(size.count))
        try folder.write(plaintext, to: "plain")
        let manifest = try Vault.encryptFile(
            at: folder["plain"], to: folder["vault"], for: Self.recipients,
            options: SealOptions(chunk: size.chunk, digest: true))
        #expect(manifest.plaintextLength == UInt64(size.count))
        let opened = try Vault.decryptFile(at: folder["vault"], to: folder["back"], with: Credentials(Self.keys))
        #expect(opened.health == .intact && opened.manifest == manifest)
        #expect(try folder.read("back") == plaintext)
        #expect(try Stat(folder["back"]).permissions == .ownerReadWrite)
        let reader = try SeekableVaultReader(FileSource(at: folder["vault"]), with: Credentials(Self.keys))
        var ranged: [UInt8] = []
        try readRanges(reader) { ranged.append(copying: $0) }
        #expect(ranged == plaintext)
    }

    @Test(arguments: sizes) func pipes(_ size: Size) throws {
        let plaintext = randomBytes(size.count, seed: UInt64(size.count))
        let options = SealOptions(chunk: size.chunk, digest: true)
        let piece = max(4001, size.count / 7)
        let encrypted = try collecting { output in
            try feeding(plaintext, piece: piece) {
                try Vault.encrypt(from: $0, to: output, for: Self.recipients, options: options)
            }
        }
        #expect(try encrypted.result.get().plaintextLength == UInt64(size.count))
        #expect(try read(encrypted.bytes, by: .whole).plaintext == plaintext)
        let decrypted = try collecting { output in
            try feeding(encrypted.bytes, piece: piece) {
                try Vault.decrypt(from: $0, to: output, with: Credentials(Self.keys))
            }
        }
        #expect(try decrypted.result.get().health == .intact)
        #expect(decrypted.bytes == plaintext)
    }

    /// The system waits for ever for a descriptor with a negative number, and gives no error.
    @Test(.timeLimit(.minutes(1))) func negativeDescriptors() async throws {
        let none = FileDescriptor(rawValue: -1)
        let null: FilePath = "/dev/null"
        let output = try FileDescriptor.open(null, .writeOnly)
        defer { try? output.close() }
        let credentials = Credentials(Self.keys)
        func refused(_ code: VaultError.Code, _ body: () async throws -> Void) async {
            do {
                try await body()
                Issue.record("it did not fail")
            } catch let error as VaultError {
                #expect(error.code == code && error.systemError == .badFileDescriptor)
            } catch {
                Issue.record("\(error)")
            }
        }
        // In an asynchronous function, a call by itself is the asynchronous one.
        func decrypt() throws { try Vault.decrypt(from: none, to: output, with: credentials) }
        await refused(.inputFailed) { try decrypt() }
        await refused(.inputFailed) { try await Vault.decrypt(from: none, to: output, with: credentials) }
        await refused(.inputFailed) { try await Vault.encrypt(from: none, to: output, for: Self.recipients) }
        let input = try FileDescriptor.open(null, .readOnly)
        defer { try? input.close() }
        await refused(.outputFailed) { try await Vault.encrypt(from: input, to: none, for: Self.recipients) }
    }

    /// System calls that transfer less than was asked for.
    @Test(arguments: [1, 2, 3, 511, 4097]) func shortTransfers(_ count: Int) throws {
        let folder = try TemporaryFolder()
        let plaintext = randomBytes(count == 1 ? 5000 : 70_000, seed: 3)
        try folder.write(plaintext, to: "plain")
        try SystemCalls.$current.withValue(.short(count)) {
            try Vault.encryptFile(
                at: folder["plain"], to: folder["vault"], for: Self.recipients, options: SealOptions(chunk: .minimum))
            try Vault.decryptFile(at: folder["vault"], to: folder["back"], with: Credentials(Self.keys))
            let container = try folder.read("vault")
            let decrypted = try collecting { output in
                try feeding(container) { try Vault.decrypt(from: $0, to: output, with: Credentials(Self.keys)) }
            }
            #expect(decrypted.bytes == plaintext)
        }
        #expect(try folder.read("back") == plaintext)
        #expect(try read(folder.read("vault"), by: .stream).plaintext == plaintext)
    }

    /// Interrupting signals, and descriptors that make callers wait.
    @Test(arguments: [Errno.interrupted, .wouldBlock]) func interruptions(_ error: Errno) throws {
        let folder = try TemporaryFolder()
        let plaintext = randomBytes(300_000, seed: 4)
        try folder.write(plaintext, to: "plain")
        let transfers = ["read", "readAt", "write"]
        let faults = Faults { call in
            let isPlace = call.name == "readAt" && error == .wouldBlock
            return transfers.contains(call.name) && !isPlace && call.number.isMultiple(of: 3) ? error.rawValue : nil
        }
        try faults.during {
            try Vault.encryptFile(at: folder["plain"], to: folder["vault"], for: Self.recipients)
            try Vault.decryptFile(at: folder["vault"], to: folder["back"], with: Credentials(Self.keys))
        }
        #expect(faults.calls.contains { transfers.contains($0.name) && $0.number.isMultiple(of: 3) })
        #expect(faults.calls.contains { $0.name == "wait" } == (error == .wouldBlock))
        #expect(try folder.read("back") == plaintext)
    }

    /// The reading or writing calls fail from number n on, for each n: the error comes out, and no file.
    @Test(arguments: [(Errno.ioError, false), (.noSpace, false), (.ioError, true), (.noSpace, true)])
    func failingTransfers(_ error: Errno, decrypting: Bool) throws {
        let folder = try TemporaryFolder()
        let plaintext = randomBytes(30_000, seed: 5)
        let options = SealOptions(chunk: .minimum)
        try folder.write(decrypting ? sealed(plaintext, options: options) : plaintext, to: "in")
        let transfers = ["read", "readAt", "writeAt", "writePartsAt"]
        var (failing, failed) = (0, Set<String>())
        while true {
            let number = failing
            let faults = Faults { call in
                call.number >= number && transfers.contains(call.name) ? error.rawValue : nil
            }
            let thrown = Result {
                try faults.during {
                    if decrypting {
                        try Vault.decryptFile(at: folder["in"], to: folder["out"], with: Credentials(Self.keys))
                    } else {
                        try Vault.encryptFile(
                            at: folder["in"], to: folder["out"], for: Self.recipients, options: options)
                    }
                }
            }
            guard failing < faults.calls.count else { break }
            let name = faults.calls[failing].name
            if case .failure(let thrown) = thrown {
                let thrown = try #require(thrown as? VaultError)
                if transfers.contains(name) { failed.insert(name) }
                #expect(thrown.code == (name.hasPrefix("write") ? .outputFailed : .inputFailed))
                #expect(thrown.systemError == error)
                #expect(try folder.names == ["in"])
            } else {
                #expect(!transfers.contains(name), "\(name)")
                try folder.remove("out")
            }
            failing += 1
        }
        #expect(failed == (decrypting ? ["readAt", "writePartsAt"] : ["read", "writeAt"]))
    }

    /// A device that takes nothing must not keep us for ever.
    @Test func writesNothing() throws {
        let folder = try TemporaryFolder()
        try folder.write([1], to: "plain")
        var calls = SystemCalls()
        unsafe calls.writeAt = { _, _, _ in 0 }
        let error = #expect(throws: VaultError.self) {
            try SystemCalls.$current.withValue(calls) {
                try Vault.encryptFile(at: folder["plain"], to: folder["vault"], for: Self.recipients)
            }
        }
        #expect(error?.code == .outputFailed)
        #expect(try folder.names == ["plain"])
    }

    /// More may come after an end, from a pipe's next writer or into a growing file: what came before it is not
    /// everything.
    @Test(arguments: [Compression.none, .deflate]) func endsTwice(_ compression: Compression) throws {
        let folder = try TemporaryFolder()
        let plaintext = randomBytes(20_000, seed: 5)
        try folder.write(plaintext, to: "plain")
        try Vault.encryptFile(
            at: folder["plain"], to: folder["vault"], for: Self.recipients,
            options: SealOptions(chunk: .minimum, compression: compression))
        let container = try folder.read("vault")
        for ended in 0..<1000 {
            let decrypted = try feeding(container) { input in
                let reads = Atomic(0)
                var calls = SystemCalls()
                unsafe calls.read = { descriptor, bytes in
                    let isEnd =
                        descriptor == input.rawValue && reads.add(1, ordering: .relaxed).oldValue == ended
                    return isEnd ? 0 : unsafe SystemCalls().read(descriptor, bytes)
                }
                return try SystemCalls.$current.withValue(calls) {
                    try collecting { try Vault.decrypt(from: input, to: $0, with: Credentials(Self.keys), jobs: 1) }
                }
            }
            switch decrypted.result {
            case .success:
                // The end that comes anyway.
                #expect(decrypted.bytes == plaintext && ended > 5)
                return
            case .failure(let error):
                #expect((error as? VaultError)?.code == .truncated, "\(ended): \(error)")
            }
        }
        Issue.record("it has no end")
    }

    @Test func noInput() throws {
        let folder = try TemporaryFolder()
        for path in [folder["missing"], folder.path] {
            let error = #expect(throws: VaultError.self) {
                try Vault.encryptFile(at: path, to: folder["vault"], for: Self.recipients)
            }
            #expect(error?.code == .inputFailed && error?.systemError != nil)
        }
        #expect(try folder.names.isEmpty)
        let pipe = try FileDescriptor.pipe()
        try pipe.writeEnd.close()
        let error = #expect(throws: VaultError.self) { try FileSource(pipe.readEnd).size() }
        #expect(error?.code == .inputFailed)
        try pipe.readEnd.close()
    }

    /// No output appears if the container is not right, and the file to be replaced stays until it is.
    @Test func damagedInput() throws {
        let folder = try TemporaryFolder()
        var container = try sealed(randomBytes(9000, seed: 1), options: SealOptions(chunk: .minimum))
        container[512 + 4116 + 4] ^= 1
        try folder.write(container, to: "vault")
        try folder.write([7], to: "there")
        for (name, replacing) in [("new", false), ("there", true)] {
            let error = #expect(throws: VaultError.self) {
                try Vault.decryptFile(
                    at: folder["vault"], to: folder[name], replacing: replacing, with: Credentials(Self.keys))
            }
            #expect(error?.code == .recordDamaged)
        }
        #expect(try folder.names == ["there", "vault"] && folder.read("there") == [7])
    }

    /// A file does not replace itself, by whatever name.
    @Test func ontoItself() throws {
        let folder = try TemporaryFolder()
        let container = try sealed(randomBytes(9000, seed: 2))
        try folder.write(container, to: "file")
        try folder.makeLink("link", to: "file")
        for (input, output) in [("file", "file"), ("file", "link"), ("link", "file")] {
            let decrypting = #expect(throws: VaultError.self) {
                try Vault.decryptFile(
                    at: folder[input], to: folder[output], replacing: true, with: Credentials(Self.keys))
            }
            #expect(decrypting?.code == .invalidArgument)
            let encrypting = #expect(throws: VaultError.self) {
                try Vault.encryptFile(at: folder[input], to: folder[output], replacing: true, for: Self.recipients)
            }
            #expect(encrypting?.code == .invalidArgument)
        }
        #expect(try folder.names == ["file", "link"] && folder.read("file") == container)
    }

    /// A regular file opens by either copy. A container in the middle of a file is read as a stream.
    @Test func damagedFrontAndOffsets() throws {
        let folder = try TemporaryFolder()
        let plaintext = randomBytes(9000, seed: 2)
        let right = try sealed(plaintext)
        var container = right
        container[200] ^= 1
        try folder.write(container, to: "vault")
        let opened = try Vault.decryptFile(at: folder["vault"], to: folder["back"], with: Credentials(Self.keys))
        #expect(opened.health == .frontDamaged)
        #expect(try folder.read("back") == plaintext)
        try folder.write([1, 2, 3] + right, to: "behind")
        let input = try FileDescriptor.open(folder["behind"], .readOnly)
        defer { try? input.close() }
        try input.seek(offset: 3, from: .start)
        let read = try collecting { try Vault.decrypt(from: input, to: $0, with: Credentials(Self.keys)) }
        #expect(read.bytes == plaintext)
    }

    @Test func progress() throws {
        let folder = try TemporaryFolder()
        try folder.write(randomBytes(600_000, seed: 2), to: "plain")
        var seen: [UInt64] = []
        let input = try FileDescriptor.open(folder["plain"], .readOnly)
        defer { try? input.close() }
        let sealed = try collecting { output in
            try Vault.encrypt(from: input, to: output, for: Self.recipients) { seen.append($0) }
        }
        #expect(seen.last == 600_000 && seen == seen.sorted())
        let stopped = try collecting { output in
            try feeding(sealed.bytes) {
                try Vault.decrypt(from: $0, to: output, with: Credentials(Self.keys)) { _ in throw Stop() }
            }
        }
        #expect(throws: Stop.self) { try stopped.result.get() }
    }

    /// The reader of the output goes away.
    @Test func brokenPipe() throws {
        let pipe = try FileDescriptor.pipe()
        try pipe.readEnd.close()
        defer { try? pipe.writeEnd.close() }
        let error = #expect(throws: VaultError.self) {
            try feeding(randomBytes(200_000, seed: 1)) {
                try Vault.encrypt(from: $0, to: pipe.writeEnd, for: Self.recipients)
            }
        }
        #expect(error?.code == .outputFailed && error?.systemError == .brokenPipe)
    }
}
