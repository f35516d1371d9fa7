import FoundationEssentials
import Synchronization
import SystemPackage
import Testing
import VaultFile
import VaultTestSupport

/// Many threads give the bytes and errors of a single codec that goes from front to back.
@Suite(.bothEngines) struct PipelineTests {
    static let jobs = [1, 2, 3, 8]
    private static let compressions = [Compression.none, .deflate]
    let key = testKey(1)

    private func lengths(_ size: ChunkSize) -> [Int] {
        let chunk = size.bytes
        return [0, 1, chunk - 1, chunk, chunk + 1, 65_535, 65_536, 65_537, 7 * chunk + 3, 130 * 4096, 300 * 4096 + 1]
    }

    /// An input that is a file, or the same bytes through a pipe.
    func with<R>(
        _ bytes: [UInt8], piped: Bool, in folder: TemporaryFolder, _ body: (FileDescriptor) throws -> R
    ) throws -> R {
        if piped { return try feeding(bytes, body) }
        let file = try FileDescriptor.open(folder.write(bytes, to: "input"), .readOnly)
        return try file.closeAfter { try body(file) }
    }

    /// The bytes written to an output with offsets, or to one without.
    func output(
        piped: Bool, in folder: TemporaryFolder, _ body: (FileDescriptor) throws -> Void
    ) throws -> [UInt8] {
        if piped { return try collected(body) }
        let file = try FileDescriptor.open(
            folder["output"], .readWrite, options: [.create, .truncate], permissions: .ownerReadWrite)
        try file.closeAfter { try body(file) }
        return try folder.read("output")
    }

    func collected(_ body: (FileDescriptor) throws -> Void) throws -> [UInt8] {
        let (result, bytes) = try collecting(body)
        try result.get()
        return bytes
    }

    @Test(arguments: jobs, [false, true])
    func theSameContainer(_ jobs: Int, piped: Bool) throws {
        let folder = try TemporaryFolder()
        for (size, digest, compression) in [
            // Without a digest, files are read in any order.
            (ChunkSize.minimum, false, Compression.none), (.minimum, true, .none), (.standard, false, .none),
            (.minimum, false, .deflate), (.minimum, true, .deflate), (.standard, false, .deflate),
        ] {
            for length in lengths(size) {
                let text = mixedBytes(length, seed: UInt64(length))
                let options = SealOptions(chunk: size, digest: digest, compression: compression)
                let expected = try sealed(text, options: options, randomness: .fixed(seed: 700))
                for outputPiped in [false, true] {
                    let made = try with(text, piped: piped, in: folder) { input in
                        try output(piped: outputPiped, in: folder) { output in
                            let manifest = try Vault.encrypt(
                                from: input, to: output, for: [.key(key)], options: options, jobs: jobs,
                                randomness: .fixed(seed: 700))
                            #expect(manifest.plaintextLength == UInt64(length))
                        }
                    }
                    #expect(made == expected, "\(size.bytes) \(length)")
                }
            }
        }
    }

    @Test(arguments: jobs, [false, true])
    func thePlaintext(_ jobs: Int, piped: Bool) throws {
        let folder = try TemporaryFolder()
        for (digest, compression) in [(false, Compression.none), (true, .none), (false, .deflate), (true, .deflate)] {
            for length in lengths(.minimum) {
                let text = mixedBytes(length, seed: UInt64(length))
                let container = try sealed(
                    text, options: SealOptions(chunk: .minimum, digest: digest, compression: compression))
                for outputPiped in [false, true] {
                    let opened = try with(container, piped: piped, in: folder) { input in
                        try output(piped: outputPiped, in: folder) { output in
                            let opened = try Vault.decrypt(
                                from: input, to: output, with: .key(key), jobs: jobs)
                            #expect(opened.health == .intact)
                        }
                    }
                    #expect(opened == text, "\(length)")
                }
            }
        }
    }

    @Test("any range is decrypted, and no other bytes", arguments: jobs) func ranges(_ jobs: Int) throws {
        let folder = try TemporaryFolder()
        let text = mixedBytes(150 * 4096 + 77, seed: 701)
        var random = SeededRandom(seed: 702)
        let readers = try Self.compressions.map { compression in
            let options = SealOptions(chunk: .minimum, digest: true, compression: compression)
            return try SeekableVaultReader(
                MemorySource(sealed(text, options: options)), with: .key(key))
        }
        for round in 0..<60 {
            let reader = readers[round % 2]
            let bounds = [0, 1].map { _ in Int.random(in: 0...text.count, using: &random) }.sorted()
            for piped in [false, true] {
                let bytes = try output(piped: piped, in: folder) {
                    try reader.decrypt(UInt64(bounds[0])..<UInt64(bounds[1]), to: $0, jobs: jobs)
                }
                #expect(bytes == text[bounds[0]..<bounds[1]].map { $0 })
            }
        }
    }

    @Test("an output with an offset, or opened for appending, is continued") func begunOutputs() throws {
        let folder = try TemporaryFolder()
        let text = randomBytes(200_000, seed: 706)
        let begun = [UInt8]("begun".utf8)
        for options in [FileDescriptor.OpenOptions.append, []] {
            let path = try folder.write(begun, to: "begun")
            let file = try FileDescriptor.open(path, .readWrite, options: options)
            try file.seek(offset: Int64(begun.count), from: .start)
            try with(text, piped: false, in: folder) {
                _ = try Vault.encrypt(from: $0, to: file, for: [.key(key)], jobs: 3)
            }
            try file.close()
            let made = try folder.read("begun")
            #expect(made.starts(with: begun))
            let reader = try SeekableVaultReader(
                MemorySource([UInt8](made.dropFirst(begun.count))), with: .key(key))
            #expect(try reader.bytes(0..<reader.length) == text)
        }
        // An output with offsets is at its end afterwards.
        let file = try FileDescriptor.open(
            folder["new"], .readWrite, options: [.create], permissions: .ownerReadWrite)
        try with(text, piped: false, in: folder) {
            _ = try Vault.encrypt(from: $0, to: file, for: [.key(key)], jobs: 3)
        }
        #expect(try file.seek(offset: 0, from: .current) == Int64(Stat(folder["new"]).size))
        try file.close()
    }

    @Test("an output with bytes after its offset is refused and not changed")
    func outputsThatHoldSomething() throws {
        let folder = try TemporaryFolder()
        let there = randomBytes(300_000, seed: 709)
        let text = [UInt8]("short".utf8)
        for compression in [Compression.none, .deflate] {
            let container = try sealed(
                text, for: [.key(key)], options: SealOptions(chunk: .standard, compression: compression))
            let reader = try SeekableVaultReader(MemorySource(container), with: .key(key))
            let works: [(FileDescriptor) throws -> Void] = [
                { output in
                    try with(text, piped: false, in: folder) {
                        _ = try Vault.encrypt(from: $0, to: output, for: [.key(key)])
                    }
                },
                { output in
                    try with(container, piped: false, in: folder) {
                        _ = try Vault.decrypt(from: $0, to: output, with: .key(key))
                    }
                },
                { output in
                    try with(container, piped: true, in: folder) {
                        _ = try Vault.decrypt(from: $0, to: output, with: .key(key))
                    }
                },
                { try reader.decrypt(to: $0) },
                { try reader.decrypt(1..<3, to: $0) },
            ]
            for work in works {
                let path = try folder.write(there, to: "there")
                let output = try FileDescriptor.open(path, .readWrite)
                for place in [0, Int64(there.count) - 1] {
                    try output.seek(offset: place, from: .start)
                    #expect(try StoredContainer.code { try work(output) } == .invalidArgument)
                }
                try output.close()
                #expect(try folder.read("there") == there)
            }
        }
    }

    @Test(
        "an input that somebody has begun is gone on with, and stands at its end afterwards", arguments: [false, true])
    func begunInput(digest: Bool) throws {
        let folder = try TemporaryFolder()
        let text = randomBytes(2_000_000, seed: 708)
        let begun = 70_001
        for compression in Self.compressions {
            try with(text, piped: false, in: folder) { input in
                try input.seek(offset: Int64(begun), from: .start)
                let container = try output(piped: false, in: folder) { output in
                    let options = SealOptions(chunk: .standard, digest: digest, compression: compression)
                    _ = try Vault.encrypt(from: input, to: output, for: [.key(key)], options: options, jobs: 3)
                }
                #expect(try input.seek(offset: 0, from: .current) == 2_000_000)
                let reader = try SeekableVaultReader(MemorySource(container), with: .key(key))
                #expect(try reader.bytes(0..<reader.length) == [UInt8](text[begun...]))
            }
        }
    }

    @Test(
        "an input that becomes shorter or longer meanwhile: an error, or all that is there in the end", arguments: jobs)
    func resizedInput(_ jobs: Int) throws {
        let folder = try TemporaryFolder()
        let text = mixedBytes(2_000_000, seed: 709)
        for (compression, digest) in [(Compression.none, false), (.none, true), (.deflate, false)] {
            for end in [0, 70_000, 600_000, 1_999_999, 2_000_000, 2_000_001, 3_300_000] {
                let options = SealOptions(chunk: .standard, digest: digest, compression: compression)
                let made = try with(text, piped: false, in: folder) { input in
                    let changed = try FileDescriptor.open(folder["input"], .writeOnly)
                    defer { try? changed.close() }
                    return Result {
                        try output(piped: false, in: folder) { output in
                            // The first bytes are read before there is a header. What others write meanwhile comes
                            // before the rest.
                            var calls = SystemCalls()
                            let changes = Atomic(0)
                            unsafe calls.writeAt = { descriptor, bytes, offset in
                                if changes.add(1, ordering: .relaxed).oldValue == 0 {
                                    try? changed.resize(to: Int64(end))
                                }
                                return unsafe SystemCalls().writeAt(descriptor, bytes, offset)
                            }
                            try SystemCalls.$current.withValue(calls) {
                                _ = try Vault.encrypt(
                                    from: input, to: output, for: [.key(key)], options: options, jobs: jobs)
                            }
                        }
                    }
                }
                switch made {
                case .success(let container):
                    #expect(end >= text.count)
                    let reader = try SeekableVaultReader(MemorySource(container), with: .key(key))
                    let all = [UInt8](text.prefix(end)) + [UInt8](repeating: 0, count: max(0, end - text.count))
                    #expect(try reader.bytes(0..<reader.length) == all)
                case .failure(let error as VaultError):
                    #expect(
                        end < text.count && error.code == .inputFailed && error.message.contains("shorter"), "\(error)")
                case .failure(let error):
                    throw error
                }
            }
        }
    }

    private struct GivenUp: Error {}

    @Test(
        "an error of the caller's closure ends the work, and the closure is not called again", arguments: jobs,
        compressions)
    func giveUp(_ jobs: Int, _ compression: Compression) throws {
        let folder = try TemporaryFolder()
        var options = SealOptions()
        options.chunkSize = .minimum
        options.compression = compression
        try with(randomBytes(9_000_000, seed: 707), piped: false, in: folder) { input in
            let file = try FileDescriptor.open(
                folder["out"], .readWrite, options: [.create, .truncate], permissions: .ownerReadWrite)
            var calls = 0
            #expect(throws: GivenUp.self) {
                try Vault.encrypt(from: input, to: file, for: [.key(key)], options: options, jobs: jobs) { _ in
                    calls += 1
                    throw GivenUp()
                }
            }
            #expect(calls == 1)
            try file.close()
        }
    }

    @Test(
        "an end of the input that its writer does not confirm makes no complete container",
        arguments: [0, 10, 65_536, 1 << 20], [Compression.none, .deflate])
    func unconfirmedEnd(_ count: Int, _ compression: Compression) throws {
        struct Missing: Error {}
        let folder = try TemporaryFolder()
        var options = SealOptions()
        options.compression = compression
        let bytes = try output(piped: true, in: folder) { output in
            #expect(throws: Missing.self) {
                try with([UInt8](repeating: 7, count: count), piped: true, in: folder) { input in
                    _ = try Vault.encrypt(
                        from: input, to: output, for: [.key(key)], options: options, onEnd: { throw Missing() })
                }
            }
        }
        #expect(throws: VaultError.self) {
            _ = try SeekableVaultReader(MemorySource(bytes), with: .key(key))
        }
    }

    @Test("a number of jobs below 1 is refused before anything is written") func noThreads() throws {
        let folder = try TemporaryFolder()
        let plaintext = randomBytes(100_000, seed: 708)
        let container = try folder.write(sealed(plaintext, for: [.key(key)]), to: "container")
        let keys = KeySet(keys: [key])
        let reader = try SeekableVaultReader(FileSource(at: container), with: Credentials(keys))
        let recovery = try Recovery(FileSource(at: container), with: Credentials(keys))
        let before = try folder.read("container")
        for jobs in [0, -1, Int.min] {
            let operations: [(FileDescriptor, FileDescriptor) throws -> Void] = [
                { try Vault.encrypt(from: $0, to: $1, for: [.key(key)], jobs: jobs) },
                { try Vault.decrypt(from: $0, to: $1, with: Credentials(keys), jobs: jobs) },
                { try reader.decrypt(to: $1, jobs: jobs) },
                { try reader.decrypt(0..<10, to: $1, jobs: jobs) },
                { _, _ in try reader.verify(jobs: jobs) },
                { _, _ in try reader.verify(jobs: jobs) { _ in } },
                { _, _ in _ = try recovery.read(jobs: jobs) { _ in } },
                { _, _ in try Vault.reencrypt(at: container, for: [.key(key)], with: Credentials(keys), jobs: jobs) },
            ]
            for (index, operation) in operations.enumerated() {
                for piped in [false, true] {
                    let written = try output(piped: piped, in: folder) { output in
                        try with(before, piped: piped, in: folder) { input in
                            let error = #expect(throws: VaultError.self) { try operation(input, output) }
                            #expect(error?.code == .invalidArgument, "operation \(index)")
                        }
                    }
                    #expect(written.isEmpty)
                }
            }
        }
        #expect(try folder.read("container") == before)
    }

    #if os(Linux)
    /// The number that a program asks for may come from anywhere.
    @Test("a very large number of jobs starts a limited number of threads") func tooManyThreads() throws {
        let input = try FileDescriptor.pipe()
        let plaintext = randomBytes(90_000, seed: 709)
        // One chunk: as much as a pipe holds, and enough to be worked on.
        let beginning = ChunkSize.standard.bytes
        var most = 0
        let container = try collected { output in
            // The input ends only when the threads are counted: until then they all wait for it.
            try input.writeEnd.writeAll(plaintext[..<beginning])
            try Vault.encrypt(from: input.readEnd, to: output, for: [.key(key)], jobs: 2500) { _ in
                guard most == 0 else { return }
                most = try FileManager.default.contentsOfDirectory(atPath: "/proc/self/task").count
                try input.writeEnd.writeAll(plaintext[beginning...])
                try input.writeEnd.close()
            }
        }
        try input.readEnd.close()
        // Other tests have threads of their own.
        #expect((Vault.maximumJobs...Vault.maximumJobs + 700).contains(most))
        let reader = try SeekableVaultReader(MemorySource(container), with: .key(key))
        #expect(try reader.bytes(0..<reader.length) == plaintext)
    }
    #endif
}
