import Synchronization
import SystemPackage
import Testing
import VaultCrypto
import VaultFile
import VaultFormat
import VaultStream
import VaultSystem
import VaultTestSupport

/// Everything that may be shared is used from many tasks and threads at once, and each use gives what a single one
/// would. ThreadSanitizer (`make sanitize`) looks for faults that a right result does not show.
@Suite(.bothEngines) struct ConcurrencyTests {
    private static let chunk = ChunkSize.minimum.bytes
    private static let many = 64

    /// A reader, and a part of its plaintext in which ranges are cheap to read.
    private struct Scene {
        let reader: SeekableVaultReader
        let part: [UInt8]
        /// The offset of the part in the plaintext.
        let start: Int

        /// Whether the reader gives the right bytes of a range of the part.
        func isRight(_ range: Range<Int>) throws -> Bool {
            let bytes = try reader.bytes(UInt64(start + range.lowerBound)..<UInt64(start + range.upperBound))
            return bytes[...] == part[range]
        }
    }

    private static func scene(
        _ plaintext: [UInt8], _ compression: Compression, of source: ([UInt8]) throws -> any ByteSource
    ) throws -> Scene {
        let container = try sealed(
            plaintext, options: SealOptions(chunk: .minimum, digest: true, compression: compression))
        let reader = try SeekableVaultReader(source(container), with: .key(testKey(1)))
        return Scene(reader: reader, part: plaintext, start: 0)
    }

    /// A little of both groups.
    private static func twoGroups() throws -> Scene {
        let group = Int(PackedStream.groupCount)
        return Scene(
            reader: try SeekableVaultReader(MemorySource(TwoGroups().container()), with: .key(testKey(1))),
            part: (group - 30..<group + 30).flatMap(TwoGroups.plaintext), start: (group - 30) * chunk)
    }

    private static func scenes(_ folder: TemporaryFolder) throws -> [Scene] {
        let text = mixedBytes(20 * chunk + 100, seed: 21)
        var scenes: [Scene] = []
        for compression in [Compression.none, .deflate] {
            scenes.append(try scene(text, compression) { MemorySource($0) })
            scenes.append(
                try scene(text, compression) {
                    try FileSource(at: folder.write($0, to: compression == .none ? "plain" : "packed"))
                })
        }
        return scenes + [try twoGroups()]
    }

    /// Runs a body on several threads at once. None begins before all are ready.
    private static func atOnce(_ count: Int = many, _ body: @escaping @Sendable (Int) throws -> Void) throws {
        let state = Monitor((waiting: 0, left: count, failures: [String]()))
        for number in 0..<count {
            try Thread.start {
                state.withLock { $0.waiting += 1 }
                state.wait { $0.waiting == count ? () : nil }
                var failure: String?
                do { try body(number) } catch { failure = "\(error)" }
                state.withLock {
                    $0.left -= 1
                    if let failure { $0.failures.append(failure) }
                }
            }
        }
        let failures = state.wait { $0.left == 0 ? $0.failures : nil }
        #expect(failures == [])
    }

    /// The number of ranges, out of some that depend on the number, that a reader gets wrong.
    private static func wrongRanges(_ number: Int, of scene: Scene) throws -> Int {
        var random = SeededRandom(seed: UInt64(number))
        return try (0..<3).count { _ in
            let (a, b) = (random.below(scene.part.count), random.below(scene.part.count))
            return try !scene.isRight(min(a, b)..<min(max(a, b), min(a, b) + 5 * chunk))
        }
    }

    /// 64 tasks use one reader: plain and compressed, from memory and from a file.
    @Test func rangesFromManyTasks() async throws {
        let folder = try TemporaryFolder()
        for scene in try Self.scenes(folder) {
            let wrong = try await withThrowingTaskGroup(of: Int.self) { group in
                for task in 0..<Self.many {
                    group.addTask { try Self.wrongRanges(task, of: scene) }
                }
                return try await group.reduce(0, +)
            }
            #expect(wrong == 0)
        }
    }

    /// The same on as many threads, which the system may switch at any time.
    @Test func rangesFromManyThreads() throws {
        let folder = try TemporaryFolder()
        for scene in try Self.scenes(folder) {
            let wrong = Mutex(0)
            try Self.atOnce { number in
                let count = try Self.wrongRanges(number, of: scene)
                wrong.withLock { $0 += count }
            }
            #expect(wrong.withLock { $0 } == 0)
        }
    }

    /// Everything that one reader can do, at once.
    @Test(arguments: [Compression.none, .deflate]) func allOfOneReader(_ compression: Compression) throws {
        let folder = try TemporaryFolder()
        let text = mixedBytes(40 * Self.chunk + 1, seed: 22)
        let scene = try Self.scene(text, compression) { try FileSource(at: folder.write($0, to: "container")) }
        let reader = scene.reader
        let right = Mutex(0)
        try Self.atOnce(16) { number in
            var isRight = true
            switch number % 4 {
            case 0: isRight = try scene.isRight(number * 1000..<text.count - number)
            case 1:
                var plaintext: [UInt8] = []
                try reader.readAll { plaintext.append(copying: $0) }
                isRight = plaintext == text
            case 2: try reader.verify(jobs: 2) { _ in isRight = false }
            default:
                let output = try FileDescriptor.open(
                    folder["output\(number)"], .readWrite, options: [.create], permissions: .ownerReadWrite)
                try output.closeAfter { try reader.decrypt(to: output, jobs: 3) }
                isRight = try folder.read("output\(number)") == text
            }
            if isRight { right.withLock { $0 += 1 } }
        }
        #expect(right.withLock { $0 } == 16)
    }

    /// One recovery, and one inspection with its keys.
    @Test(arguments: [Compression.none, .deflate]) func recoveryAndInspection(_ compression: Compression) throws {
        let text = mixedBytes(20 * Self.chunk, seed: 23)
        var container = try sealed(
            text, options: SealOptions(chunk: .minimum, capacity: .capacity(4096), compression: compression))
        container[4096 + 3 * 4116 + 50] ^= 1
        let source = MemorySource(container)
        let keys = KeySet(keys: [testKey(1)], passphrases: [testPassphrase("p")])
        let recovery = try Recovery(source, with: Credentials(keys))
        let inspection = try Inspection(source)
        let expected = try Recovering(source, keys: keys)
        #expect(expected.recovered?.isComplete == false)
        let same = Mutex(0)
        try Self.atOnce(16) { number in
            if number.isMultiple(of: 2) {
                var plaintext: [UInt8] = []
                let recovered = try recovery.read(jobs: 2) { plaintext.append(copying: $0) }
                if plaintext == expected.plaintext, recovered == expected.recovered { same.withLock { $0 += 1 } }
            } else if try inspection.trySlots(with: Credentials(keys)).map(\.outcome) == [.opened] {
                same.withLock { $0 += 1 }
            }
        }
        #expect(same.withLock { $0 } == 16)
    }

    /// Many threads open and make containers with shared keys, a shared keyring and a shared context, and so allocate
    /// and release guarded memory all the time.
    @Test func sharedKeys() throws {
        let box = try KeyringBox(keys: ["one", "two"])
        let keyring = try box.open()
        let recipients = [Recipient.key(try keyring.key(try #require(keyring.entry("two")).keyID)), .key(testKey(5))]
        let context = testContext("shared")
        let text = randomBytes(3 * Self.chunk, seed: 24)
        let right = Mutex(0)
        try Self.atOnce { number in
            var options = SealOptions(chunk: .minimum)
            options.context = context
            let container = try sealed(text, for: recipients, options: options)
            let keys: any KeyProvider = number.isMultiple(of: 2) ? keyring : KeySet(keys: [testKey(5)])
            let reading = try read(container, by: number % 3 == 0 ? .stream : .whole, keys: keys, context: context)
            if reading.plaintext == text, reading.health == .intact { right.withLock { $0 += 1 } }
        }
        #expect(right.withLock { $0 } == Self.many)
    }

    /// Several threads stretch one passphrase at once.
    @Test func sharedPassphrase() throws {
        let passphrase = testPassphrase("correct horse")
        let forge = try Forge(seed: 81)
        let container = try forge.container([1, 2, 3], front: forge.header([try forge.slot(passphrase)]))
        let keys = KeySet(passphrases: [passphrase])
        let right = Mutex(0)
        try Self.atOnce { _ in
            if try read(container, by: .whole, keys: keys).plaintext == [1, 2, 3] { right.withLock { $0 += 1 } }
        }
        #expect(right.withLock { $0 } == Self.many)
    }
}
