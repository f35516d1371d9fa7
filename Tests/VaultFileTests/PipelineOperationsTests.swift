internal import CPlatform
import Dispatch
import Synchronization
import SystemPackage
import Testing
import VaultFile
import VaultTestSupport

/// The operations that use the pipeline beside encryption and decryption, with any number of threads; and how threads
/// must not affect each other.
@Suite struct PipelineOperationsTests {
    static let jobs = [1, 2, 5]
    private let key = testKey(1)
    private var keys: KeySet { KeySet(keys: [key]) }
    private static let text = mixedBytes(300 * 4096 + 5, seed: 730)

    /// Containers of about as many records and blocks as three pieces hold.
    private func containers() throws -> [[UInt8]] {
        try [Compression.none, .deflate].flatMap { compression in
            try [false, true].map { digest in
                try sealed(
                    Self.text,
                    options: SealOptions(
                        chunk: .minimum, capacity: .capacity(4096), digest: digest, compression: compression))
            }
        }
    }

    /// The same container whole, damaged in some places, and cut.
    private func changes(of container: [UInt8], _ random: inout SeededRandom) -> [[UInt8]] {
        var changes = [container]
        for _ in 0..<3 {
            var bytes = container
            for _ in 0..<4 { bytes[4096 + random.below(bytes.count - 9000)] ^= 8 }
            changes.append(bytes)
            changes.append([UInt8](bytes.dropLast(100 + random.below(bytes.count / 2))))
        }
        return changes
    }

    @Test func verifying() throws {
        var random = SeededRandom(seed: 731)
        var damaged = 0
        for container in try containers() {
            for bytes in changes(of: container, &random) {
                guard let reader = try? SeekableVaultReader(MemorySource(bytes), with: Credentials(keys)) else {
                    continue
                }
                let found = try Self.jobs.map { jobs in
                    var found: [Damage] = []
                    try reader.verify(jobs: jobs) { found.append($0) }
                    return found
                }
                #expect(found.allSatisfy { "\($0)" == "\(found[0])" })
                #expect(found[0].isEmpty == (bytes == container))
                damaged += found[0].count
            }
        }
        #expect(damaged > 12)
    }

    @Test func recovering() throws {
        struct Outcome: Equatable {
            var recovered: Recovered?
            var plaintext: [UInt8] = []
            var damage: [String] = []
        }
        var random = SeededRandom(seed: 732)
        var complete = 0
        for container in try containers() {
            for bytes in changes(of: container, &random) {
                let recovery = try Recovery(MemorySource(bytes), with: Credentials(keys))
                let outcomes = try Self.jobs.map { jobs in
                    var outcome = Outcome()
                    outcome.recovered = try recovery.read(jobs: jobs) {
                        outcome.plaintext.append(copying: $0)
                    } onDamage: {
                        outcome.damage.append("\($0)")
                    }
                    return outcome
                }
                #expect(outcomes.allSatisfy { $0 == outcomes[0] })
                let plaintext = outcomes[0].plaintext
                #expect(zip(plaintext, Self.text).allSatisfy { $0 == $1 || $0 == 0 })
                if outcomes[0].recovered?.isComplete == true {
                    complete += 1
                    #expect(plaintext == Self.text)
                }
            }
        }
        #expect(complete >= 4)
    }

    @Test(arguments: jobs) func reencrypting(_ jobs: Int) throws {
        for bytes in try containers() {
            let container = try StoredContainer(bytes)
            let before = try container.reading(keys)
            try Vault.reencrypt(at: container.path, for: [.key(key)], with: Credentials(keys), jobs: jobs)
            let after = try container.reading(keys)
            #expect(after.plaintext == Self.text && after.opened?.manifest == before.opened?.manifest)
            #expect(after.opened?.header.fileID != before.opened?.header.fileID)
            var damaged = bytes
            damaged[4096 + bytes.count / 2] ^= 1
            let other = try StoredContainer(damaged)
            let error = #expect(throws: VaultError.self) {
                try Vault.reencrypt(at: other.path, for: [.key(key)], with: Credentials(keys), jobs: jobs)
            }
            #expect(try error?.code == .recordDamaged && other.bytes == damaged)
        }
    }

    /// A failing output ends everything, even while the run waits for input. The pipe stays open; a run that waits for
    /// ever would show.
    @Test(arguments: jobs) func failureWhileTheInputWaits(_ jobs: Int) throws {
        precondition(ignoresBrokenPipes)
        let container = try sealed(Self.text, options: SealOptions(chunk: .minimum, capacity: .capacity(4096)))
        for decrypts in [true, false] {
            let (input, output) = try (FileDescriptor.pipe(), FileDescriptor.pipe())
            defer { for end in [input.readEnd, output.writeEnd] { try? end.close() } }
            let open = Mutex(true)
            let close = { @Sendable in
                open.withLock { isOpen in
                    defer { isOpen = false }
                    if isOpen { try? input.writeEnd.close() }
                    return isOpen
                }
            }
            defer { _ = close() }
            DispatchQueue.global().asyncAfter(deadline: .now() + .seconds(300)) { _ = close() }
            try output.readEnd.close()
            // Fits in any pipe, and is more than the run reads before the threads begin.
            let some = decrypts ? container.prefix(40_000) : Self.text.prefix(65_536)
            try input.writeEnd.writeAll(some)
            let error = #expect(throws: VaultError.self) {
                if decrypts {
                    _ = try Vault.decrypt(from: input.readEnd, to: output.writeEnd, with: Credentials(keys), jobs: jobs)
                } else {
                    _ = try Vault.encrypt(from: input.readEnd, to: output.writeEnd, for: [.key(key)], jobs: jobs)
                }
            }
            #expect(error?.code == .outputFailed)
            #expect(close(), "it has waited for input")
        }
    }

    /// Output of bytes that came through a pipe does not wait for more: a sender may send more only after it has an
    /// answer.
    @Test(arguments: jobs, [Compression.none, .deflate]) func whatHasComeGoesOut(
        _ jobs: Int, _ compression: Compression
    )
        throws
    {
        let text = randomBytes(200_000, seed: 734)
        let options = SealOptions(chunk: .minimum, compression: compression)
        let container = try sealed(text, options: options)
        for decrypts in [true, false] {
            let (input, output) = try (FileDescriptor.pipe(), FileDescriptor.pipe())
            let done = DispatchGroup()
            DispatchQueue.global().async(group: done) { [key, keys] in
                if decrypts {
                    _ = try? Vault.decrypt(
                        from: input.readEnd, to: output.writeEnd, with: Credentials(keys), jobs: jobs)
                } else {
                    _ = try? Vault.encrypt(
                        from: input.readEnd, to: output.writeEnd, for: [.key(key)], options: options, jobs: jobs)
                }
                try? output.writeEnd.close()
            }
            try input.writeEnd.writeAll((decrypts ? container : text).prefix(130_000))
            var (bytes, came, patience) = ([UInt8](repeating: 0, count: 4096), 0, 600)
            func takeSome() throws -> Int {
                var span = bytes.mutableSpan
                return try output.readEnd.readSome(into: &span)
            }
            while came < 100_000, patience > 0 {
                if SystemCalls().wait(output.readEnd.rawValue, Int16(POLLIN), 100) > 0 {
                    came += try takeSome()
                } else {
                    patience -= 1
                }
            }
            #expect(came >= 100_000)
            try input.writeEnd.close()
            while try takeSome() > 0 {}
            done.wait()
            for end in [input.readEnd, output.readEnd] { try end.close() }
        }
    }

    /// After a failure, the file under a name holds the beginning of the plaintext: nothing after the damage, and no
    /// hole that reads as zeros.
    @Test(arguments: jobs) func nothingBehindDamageInANamedFile(_ jobs: Int) throws {
        let folder = try TemporaryFolder()
        for compression in [Compression.none, .deflate] {
            var bytes = try sealed(
                Self.text, options: SealOptions(chunk: .minimum, capacity: .capacity(4096), compression: compression))
            bytes[4096 + bytes.count / 3] ^= 1
            try folder.write(bytes, to: "vault")
            let input = try FileDescriptor.open(folder["vault"], .readOnly)
            let output = try FileDescriptor.open(
                folder["plain"], .writeOnly, options: [.create, .truncate], permissions: .ownerReadWrite)
            defer { for file in [input, output] { try? file.close() } }
            #expect(throws: VaultError.self) {
                try Vault.decrypt(from: input, to: output, with: Credentials(keys), jobs: jobs)
            }
            let plaintext = try folder.read("plain")
            #expect(!plaintext.isEmpty && plaintext.count < Self.text.count && Self.text.starts(with: plaintext))
        }
    }

    /// Progress is reported during the work, even if the calling thread has the most to do.
    @Test(arguments: jobs) func progressIsToldOnTheWay(_ jobs: Int) throws {
        let text = randomBytes(12 << 19, seed: 733)
        let container = try sealed(text, options: SealOptions(chunk: .standard, digest: true))
        var (sealing, opening): ([UInt64], [UInt64]) = ([], [])
        _ = try feeding(text) { input in
            try collecting { output in
                try Vault.encrypt(from: input, to: output, for: [.key(key)], jobs: jobs) { sealing.append($0) }
            }.result.get()
        }
        _ = try feeding(container) { input in
            try collecting { output in
                try Vault.decrypt(from: input, to: output, with: Credentials(keys), jobs: jobs) { opening.append($0) }
            }.result.get()
        }
        for seen in [sealing, opening] {
            #expect(seen.count > 2 && seen.last == UInt64(text.count) && seen == seen.sorted())
        }
    }
}
