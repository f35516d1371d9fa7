import SystemPackage
import Testing
import VaultFile
import VaultTestSupport

/// Many threads come to the bytes and errors of one codec that goes from front to back.
@Suite(.bothEngines) struct PipelineTests {
    static let jobs = [1, 2, 3, 8]
    private let key = testKey(1)

    private func lengths(_ size: ChunkSize) -> [Int] {
        let chunk = size.bytes
        return [0, 1, chunk - 1, chunk, chunk + 1, 65_535, 65_536, 65_537, 7 * chunk + 3, 130 * 4096, 300 * 4096 + 1]
    }

    /// An input that is a file, or the same bytes through a pipe.
    private func with<R>(
        _ bytes: [UInt8], piped: Bool, in folder: TemporaryFolder, _ body: (FileDescriptor) throws -> R
    ) throws -> R {
        if piped { return try feeding(bytes, body) }
        let file = try FileDescriptor.open(folder.write(bytes, to: "input"), .readOnly)
        return try file.closeAfter { try body(file) }
    }

    /// What is written to an output that has places, or to one that has none.
    private func output(
        piped: Bool, in folder: TemporaryFolder, _ body: (FileDescriptor) throws -> Void
    ) throws -> [UInt8] {
        if piped { return try collected(body) }
        let file = try FileDescriptor.open(
            folder["output"], .readWrite, options: [.create, .truncate], permissions: .ownerReadWrite)
        try file.closeAfter { try body(file) }
        return try folder.read("output")
    }

    private func collected(_ body: (FileDescriptor) throws -> Void) throws -> [UInt8] {
        let (result, bytes) = try collecting(body)
        try result.get()
        return bytes
    }

    @Test(arguments: jobs, [false, true])
    func theSameContainer(_ jobs: Int, piped: Bool) throws {
        let folder = try TemporaryFolder()
        for size in [ChunkSize.minimum, .standard] {
            for length in lengths(size) {
                let text = randomBytes(length, seed: UInt64(length))
                let options = SealOptions(chunk: size, digest: true)
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
        for digest in [false, true] {
            for length in lengths(.minimum) {
                let text = randomBytes(length, seed: UInt64(length))
                let container = try sealed(text, options: SealOptions(chunk: .minimum, digest: digest))
                for outputPiped in [false, true] {
                    let opened = try with(container, piped: piped, in: folder) { input in
                        try output(piped: outputPiped, in: folder) { output in
                            let opened = try Vault.decrypt(
                                from: input, to: output, keys: KeySet(keys: [key]), jobs: jobs)
                            #expect(opened.health == .intact)
                        }
                    }
                    #expect(opened == text, "\(length)")
                }
            }
        }
    }

    @Test("what is behind, in front of and around a range", arguments: jobs) func ranges(_ jobs: Int) throws {
        let folder = try TemporaryFolder()
        let text = randomBytes(150 * 4096 + 77, seed: 701)
        let container = try sealed(text, options: SealOptions(chunk: .minimum, digest: true))
        let reader = try SeekableVaultReader(MemorySource(container), keys: KeySet(keys: [key]))
        var random = SeededRandom(seed: 702)
        for _ in 0..<40 {
            let bounds = [0, 1].map { _ in Int.random(in: 0...text.count, using: &random) }.sorted()
            for piped in [false, true] {
                let bytes = try output(piped: piped, in: folder) {
                    try reader.decrypt(UInt64(bounds[0])..<UInt64(bounds[1]), to: $0, jobs: jobs)
                }
                #expect(bytes == text[bounds[0]..<bounds[1]].map { $0 })
            }
        }
    }

    /// The first damaged record in file order is named, everything before it goes out, and nothing behind it.
    @Test(arguments: jobs, [false, true]) func damage(_ jobs: Int, piped: Bool) throws {
        let folder = try TemporaryFolder()
        let text = randomBytes(400 * 4096 + 5, seed: 703)
        let whole = try sealed(text, options: SealOptions(chunk: .minimum, capacity: .capacity(4096)))
        var random = SeededRandom(seed: 704)
        for _ in 0..<12 {
            var bytes = whole
            let damaged = (0..<3).map { _ in Int.random(in: 0..<400, using: &random) }
            for record in damaged {
                bytes[4096 + record * 4116 + Int.random(in: 0..<4116, using: &random)] ^= 4
            }
            let first = damaged.min() ?? 0
            var error: VaultError?
            let released = try with(bytes, piped: piped, in: folder) { input in
                try collected { output in
                    error = #expect(throws: VaultError.self) {
                        try Vault.decrypt(from: input, to: output, keys: KeySet(keys: [key]), jobs: jobs)
                    }
                }
            }
            let sequential = try read(bytes, by: piped ? .stream : .whole, keys: KeySet(keys: [key]))
            #expect(error == sequential.error && error?.record == UInt64(first))
            #expect(released == text[..<(first * 4096)].map { $0 } && released == sequential.plaintext)
        }
    }

    @Test("every sample and every change of one says the same to one thread and to many") func samples() throws {
        var random = SeededRandom(seed: 705)
        let folder = try TemporaryFolder()
        for sample in Sample.all {
            for round in 0..<40 {
                var bytes = sample.container
                if round > 0 {
                    let place = Int.random(in: 0..<bytes.count, using: &random)
                    if round % 5 == 0 {
                        bytes.removeLast(bytes.count - place)
                    } else {
                        bytes[place] ^= 1 << UInt8(round % 8)
                    }
                }
                for piped in [false, true] {
                    let expected = try read(
                        bytes, by: piped ? .stream : .whole, keys: sample.keys, context: sample.context)
                    let reading = try with(bytes, piped: piped, in: folder) { input in
                        var opened: Result<OpenedContainer, VaultError>?
                        let plaintext = try collected { output in
                            do {
                                opened = .success(
                                    try Vault.decrypt(
                                        from: input, to: output, keys: sample.keys, context: sample.context, jobs: 3))
                            } catch let error as VaultError {
                                opened = .failure(error)
                            }
                        }
                        return (plaintext, opened)
                    }
                    #expect(reading.0 == expected.plaintext && reading.1 == expected.result)
                }
            }
        }
    }

    @Test("an output that somebody has begun, or that is appended to, is gone on with") func begunOutputs() throws {
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
                MemorySource([UInt8](made.dropFirst(begun.count))), keys: KeySet(keys: [key]))
            #expect(try reader.bytes(0..<reader.length) == text)
        }
        // And one that has places stands at its end afterwards.
        let file = try FileDescriptor.open(
            folder["new"], .readWrite, options: [.create], permissions: .ownerReadWrite)
        try with(text, piped: false, in: folder) {
            _ = try Vault.encrypt(from: $0, to: file, for: [.key(key)], jobs: 3)
        }
        #expect(try file.seek(offset: 0, from: .current) == Int64(Stat(folder["new"]).size))
        try file.close()
    }

    @Test("what the caller's closure throws ends it, on his thread", arguments: jobs) func giveUp(_ jobs: Int) throws {
        struct GivenUp: Error {}
        let folder = try TemporaryFolder()
        try with(randomBytes(3_000_000, seed: 707), piped: false, in: folder) { input in
            let file = try FileDescriptor.open(
                folder["out"], .readWrite, options: [.create, .truncate], permissions: .ownerReadWrite)
            #expect(throws: GivenUp.self) {
                try Vault.encrypt(from: input, to: file, for: [.key(key)], jobs: jobs) { _ in throw GivenUp() }
            }
            try file.close()
        }
    }
}
