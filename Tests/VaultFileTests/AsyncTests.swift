import Synchronization
import SystemPackage
import Testing
import VaultFile
import VaultFormat
import VaultStream
import VaultSystem
import VaultTestSupport

/// Asynchronous calls and sequences: their results, their cancellation, their threads, and what they hold in memory.
///
/// The limit ends a test that hangs. It is long, because tests that block Swift's threads hold these up.
@Suite(.timeLimit(.minutes(30))) struct AsyncTests {
    private static let text = mixedBytes(600_000, seed: 41)
    private static let key = Credentials.key(testKey(1))
    private static let devNull: FilePath = "/dev/null"
    private static let cheap = Argon2Parameters(passes: 2, memoryKiB: 19 << 10)

    private let folder: TemporaryFolder

    init() throws {
        folder = try TemporaryFolder()
    }

    // MARK: Results

    @Test("files: the same bytes as with the synchronous calls") func files() async throws {
        try folder.write(Self.text, to: "plain")
        let manifest = try await Vault.encryptFile(
            at: folder["plain"], to: folder["vault"], for: [.key(testKey(1))])
        #expect(manifest.plaintextLength == UInt64(Self.text.count))
        let opened = try await Vault.decryptFile(at: folder["vault"], to: folder["back"], with: Self.key)
        #expect(opened.manifest == manifest && opened.health == .intact)
        #expect(try folder.read("back") == Self.text)

        let reader = try await SeekableVaultReader(FileSource(at: folder["vault"]), with: Self.key)
        #expect(try await reader.bytes(70_000..<70_100) == [UInt8](Self.text[70_000..<70_100]))
        try await reader.verify()
        let progress = Mutex<UInt64>(0)
        try await reader.verify(onProgress: { done in progress.withLock { $0 = done } }) { damage in
            Issue.record("\(damage)")
        }
        #expect(progress.withLock { $0 } == UInt64(Self.text.count))
    }

    @Test("header files: detach, rotation, attach, a new container") func headerFiles() async throws {
        try folder.write(try sealed(Self.text), to: "vault")
        let detached = try await Vault.detach(at: folder["vault"], to: folder["hdr"], with: Self.key)
        #expect(detached.headerFile == folder["hdr"] && detached.rotation.isNewHeader)
        let change = KeyChange(adding: [.key(testKey(2))], removing: SlotSelection(ids: [testKey(1).id]))
        let rotation = try await Vault.rotateHeaderFile(at: folder["hdr"], change, with: Self.key)
        #expect(rotation.added.count == 1 && rotation.removed.count == 1)
        try await Vault.attach(at: folder["vault"], from: folder["hdr"], with: .key(testKey(2)))
        let reader = try await SeekableVaultReader(FileSource(at: folder["vault"]), with: .key(testKey(2)))
        #expect(reader.length == UInt64(Self.text.count))

        try folder.write(Self.text, to: "plain")
        let input = try FileDescriptor.open(folder["plain"], .readOnly)
        let output = try FileDescriptor.open(
            folder["body"], .readWrite, options: [.create, .exclusiveCreate], permissions: .ownerReadWrite)
        defer {
            try? input.close()
            try? output.close()
        }
        let stored = Mutex<[UInt8]>([])
        try await Vault.encrypt(
            from: input, to: output, for: [.key(testKey(1))],
            storingHeaderFile: { file in stored.withLock { $0 = file.bytes } })
        var credentials = Self.key
        credentials.headerFile = .bytes(stored.withLock { $0 })
        let body = try await SeekableVaultReader(FileSource(at: folder["body"]), with: credentials)
        #expect(body.length == UInt64(Self.text.count))
    }

    @Test("keys: rotation, re-encryption, recovery, the slots, a passphrase") func keys() async throws {
        let passphrase = testPassphrase("a")
        try folder.write(try sealed(Self.text), to: "vault")
        let rotation = try await Vault.rotate(
            at: folder["vault"],
            KeyChange(
                adding: [.passphrase(passphrase, Self.cheap)], removing: SlotSelection(ids: [testKey(1).id])),
            with: Self.key)
        #expect(rotation.added.count == 1 && rotation.removed.count == 1)
        let credentials = Credentials.passphrase(passphrase)
        let slots = try await Inspection(FileSource(at: folder["vault"])).trySlots(with: credentials)
        #expect(slots.count == 1 && slots[0].outcome == .opened)
        #expect(try await !Vault.repair(at: folder["vault"], with: credentials).isRepaired)
        _ = try await Vault.reencrypt(
            at: folder["vault"], for: [.key(testKey(2))], with: credentials,
            options: {
                var options = ReencryptionOptions()
                options.mayLoseSlots = true
                return options
            }())
        let recovery = try await Recovery(FileSource(at: folder["vault"]), with: .key(testKey(2)))
        let found = Mutex<[UInt8]>([])
        let recovered = try await recovery.read(to: { bytes in found.withLock { $0.append(copying: bytes) } })
        #expect(recovered.isComplete && found.withLock { $0 } == Self.text)
    }

    @Test("a keyring is opened and changed") func keyring() async throws {
        let path = folder["keyring"]
        let unlocking = KeySet(passphrases: [testPassphrase("b")])
        try await Keyring.create(
            at: path, for: [.passphrase(testPassphrase("b"), Self.cheap)], first: #require(KeyName("one")))
        let two = try #require(KeyName("two"))
        let entry = try await Keyring.change(at: path, unlocking: unlocking) { change in
            try change.generate(named: two, created: .now)
        }.result
        let keyring = try await Keyring.open(at: path, unlocking: unlocking)
        #expect(keyring.current == entry && keyring.entries.count == 2)
    }

    // MARK: Cancellation

    /// A call that waits for a pipe, and what it waits for.
    enum Wait: CaseIterable {
        case encryptingFromAPipe, decryptingFromAPipe, decryptingARange, encryptingToAPipe, openingAPipe
    }

    @Test("a cancelled task ends its wait for a pipe", arguments: Wait.allCases)
    func cancellation(_ wait: Wait) async throws {
        precondition(ignoresBrokenPipes)
        let pipe = try FileDescriptor.pipe()
        defer {
            try? pipe.readEnd.close()
            try? pipe.writeEnd.close()
        }
        let null = try FileDescriptor.open(Self.devNull, .writeOnly)
        defer { try? null.close() }
        let text = mixedBytes(4 << 20, seed: 42)
        let plain = try FileDescriptor.open(folder.write(text, to: "plain"), .readOnly)
        defer { try? plain.close() }
        let reader = try await SeekableVaultReader(MemorySource(sealed(text)), with: Self.key)
        try folder.makePipe("fifo")
        let folder = folder
        let task = Task {
            switch wait {
            case .encryptingFromAPipe:
                _ = try await Vault.encrypt(from: pipe.readEnd, to: null, for: [.key(testKey(1))])
            case .decryptingFromAPipe:
                _ = try await Vault.decrypt(from: pipe.readEnd, to: null, with: Self.key)
            case .decryptingARange:
                try await reader.decrypt(to: pipe.writeEnd)
            case .encryptingToAPipe:
                _ = try await Vault.encrypt(from: plain, to: pipe.writeEnd, for: [.key(testKey(1))])
            case .openingAPipe:
                _ = try await Vault.encryptFile(at: folder["fifo"], to: folder["out"], for: [.key(testKey(1))])
            }
        }
        try await Task.sleep(for: .milliseconds(150))
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
        #expect(try !folder.names.contains("out"))
    }

    @Test("a task that is cancelled before it begins does nothing") func cancelledBefore() async throws {
        try folder.write(Self.text, to: "plain")
        let folder = folder
        let task = Task {
            while !Task.isCancelled { await Task.yield() }
            _ = try await Vault.encryptFile(at: folder["plain"], to: folder["vault"], for: [.key(testKey(1))])
        }
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
        #expect(try folder.names == ["plain"])
    }

    // MARK: Threads

    @Test("calls that wait do not block Swift's own threads") func ownThreads() async throws {
        let count = Vault.processorCount + 6
        let pipes = try (0..<count).map { _ in try FileDescriptor.pipe() }
        let null = try FileDescriptor.open(Self.devNull, .writeOnly)
        defer { try? null.close() }
        let container = try sealed([1, 2, 3])
        try await withThrowingTaskGroup(of: Void.self) { group in
            for pipe in pipes {
                group.addTask { _ = try await Vault.decrypt(from: pipe.readEnd, to: null, with: Self.key) }
            }
            // Each of these needs one of Swift's threads, while all of the calls above wait.
            for number in 0..<100 {
                let echo = await Task.detached { number }.value
                #expect(echo == number)
            }
            for pipe in pipes {
                try pipe.writeEnd.writeFully(container.span)
                try pipe.writeEnd.close()
            }
            try await group.waitForAll()
        }
        for pipe in pipes { try pipe.readEnd.close() }
    }

    /// Waits until so many calls ask it for keys at once.
    private final class Gathering: KeyProvider {
        private let count: Int
        private let here = Monitor(0)

        init(_ count: Int) {
            self.count = count
        }

        func symmetricKeys(for ids: [KeyID]) -> [SymmetricKey] {
            here.withLock { $0 += 1 }
            here.wait { $0 >= count ? () : nil }
            return [testKey(1)]
        }
    }

    @Test("key providers may wait for one another: openings run at once") func openingsAtOnce() async throws {
        // As many as the library promises threads for, and more than a small machine's processors.
        let gathering = Gathering(4)
        let source = MemorySource(try sealed([1, 2, 3]))
        try await withThrowingTaskGroup(of: UInt64.self) { group in
            for _ in 0..<4 {
                group.addTask { try await SeekableVaultReader(source, with: Credentials(gathering)).length }
            }
            for try await length in group { #expect(length == 3) }
        }
    }

    // MARK: Sequences

    @Test(
        "a sequence is encrypted, and the container is decrypted as a sequence",
        arguments: [Compression.none, .deflate])
    func sequences(_ compression: Compression) async throws {
        for (count, piece) in [(0, 1), (1, 1), (200_000, 7000), (600_000, 600_000), (70_000, 100)] {
            let text = [UInt8](Self.text.prefix(count))
            let manifest = Mutex<Manifest?>(nil)
            let encrypted = Vault.encrypt(
                pieces(text, piece), for: [.key(testKey(1))],
                options: SealOptions(chunk: .minimum, digest: true, compression: compression)
            ) { made in manifest.withLock { $0 = made } }
            let container = try await collected(encrypted)
            #expect(manifest.withLock { $0?.plaintextLength } == UInt64(count))
            #expect(try read(container, by: .stream).plaintext == text)
            let opened = Mutex<OpenedContainer?>(nil)
            let decrypted = Vault.decrypt(pieces(container, piece), with: Self.key) { what in
                opened.withLock { $0 = what }
            }
            #expect(try await collected(decrypted) == text)
            #expect(opened.withLock { $0?.manifest } == manifest.withLock { $0 })
        }
    }

    @Test("an upload becomes a file, or nothing") func upload() async throws {
        let manifest = try await Vault.write(
            pieces(Self.text, 9999), to: folder["vault"], for: [.key(testKey(1))])
        #expect(manifest.plaintextLength == UInt64(Self.text.count))
        try await Vault.decryptFile(at: folder["vault"], to: folder["back"], with: Self.key)
        #expect(try folder.read("back") == Self.text)
        await #expect(throws: Broken.self) {
            try await Vault.write(
                Source(pieces: 3, failing: true), to: folder["other"], for: [.key(testKey(1))])
        }
        #expect(try folder.names == ["back", "vault"])
    }

    @Test("a range comes in pieces that end with records") func range() async throws {
        for compression in [Compression.none, .deflate] {
            let container = try sealed(
                Self.text, options: SealOptions(chunk: .standard, compression: compression))
            let reader = try await SeekableVaultReader(MemorySource(container), with: Self.key)
            for range: Range<UInt64> in [0..<0, 5..<6, 0..<600_000, 1000..<599_999, 262_143..<262_145] {
                var bytes: [UInt8] = []
                for try await piece in try reader.plaintext(range) {
                    #expect(piece.count <= 1 << 18 && !piece.isEmpty)
                    bytes += piece
                }
                #expect(bytes[...] == Self.text[Int(range.lowerBound)..<Int(range.upperBound)])
            }
            #expect(try await collected(reader.plaintext()) == Self.text)
            let error = #expect(throws: VaultError.self) { try reader.plaintext(1..<600_001) }
            #expect(error?.code == .rangeInvalid)
        }
    }

    @Test("a slow consumer slows the producer down") func backPressure() async throws {
        let made = Mutex(0)
        let source = Source(pieces: 1000) { made.withLock { $0 += 1 } }
        var container = Vault.encrypt(source, for: [.key(testKey(1))]).makeAsyncIterator()
        var taken = 0
        for _ in 1...5 {
            taken += try #require(try await container.next()).count
            // What is held: less than one chunk, and the rest of one element.
            let asked = made.withLock { $0 } * Source.count
            #expect(asked <= taken + ChunkSize.standard.bytes + Source.count)
        }
        let whole = try sealed([UInt8](repeating: 7, count: 1 << 20))
        made.withLock { $0 = 0 }
        let parts = CountedPieces(bytes: whole, count: 1000) { made.withLock { $0 += 1 } }
        var plaintext = Vault.decrypt(parts, with: Self.key).makeAsyncIterator()
        let first = try #require(try await plaintext.next())
        #expect(made.withLock { $0 } < 1000 / 10 && first.count <= 1 << 17)
    }

    @Test("plaintext that inflates a thousandfold comes in small pieces") func inflation() async throws {
        let text = [UInt8](repeating: 0, count: 32 << 20)
        let container = try sealed(text, options: SealOptions(chunk: .maximum, compression: .deflate))
        #expect(container.count < 1 << 20)
        var (count, longest) = (0, 0)
        for try await bytes in Vault.decrypt(pieces(container, container.count), with: Self.key) {
            count += bytes.count
            longest = max(longest, bytes.count)
        }
        #expect(count == text.count && longest <= ChunkSize.maximum.bytes + (1 << 16))
    }

    @Test("an error in a container ends the sequence") func damaged() async throws {
        var container = try sealed(Self.text, options: SealOptions(chunk: .minimum))
        container[container.count / 2] ^= 1
        var plaintext = Vault.decrypt(pieces(container, 5000), with: Self.key).makeAsyncIterator()
        var bytes: [UInt8] = []
        let error = await #expect(throws: VaultError.self) {
            while let more = try await plaintext.next() { bytes += more }
        }
        #expect(error?.code == .recordDamaged)
        #expect(bytes.count > 100_000 && Self.text.starts(with: bytes))
        #expect(try await plaintext.next() == nil)
        let cut = await #expect(throws: VaultError.self) {
            try await collected(Vault.decrypt(pieces([UInt8](container.prefix(2000)), 100), with: Self.key))
        }
        #expect(cut?.code == .truncated)
        let wrong = await #expect(throws: VaultError.self) {
            try await collected(Vault.decrypt(pieces(container, 5000), with: .key(testKey(2))))
        }
        #expect(wrong?.code == .wrongKey)
        var broken = Vault.decrypt(Source(pieces: 0, failing: true), with: Self.key).makeAsyncIterator()
        await #expect(throws: Broken.self) { try await broken.next() }
        #expect(try await broken.next() == nil)
    }

    @Test("plaintext that ends with an error does not become a complete container") func brokenPlaintext() async throws
    {
        var container = Vault.encrypt(Source(pieces: 3, failing: true), for: [.key(testKey(1))]).makeAsyncIterator()
        var bytes: [UInt8] = []
        await #expect(throws: Broken.self) {
            while let more = try await container.next() { bytes += more }
        }
        #expect(try await container.next() == nil)
        #expect(try read(bytes, by: .stream).code == .truncated)
    }

    @Test("cancellation ends a sequence, even if its source then ends normally", arguments: [false, true])
    func cancelledSequence(encrypting: Bool) async throws {
        let (stream, continuation) = AsyncStream<[UInt8]>.makeStream()
        continuation.yield([UInt8](repeating: 1, count: 10))
        let task = Task {
            // The stream ends when its task is cancelled. That must not be taken for the end of the plaintext.
            encrypting
                ? try await collected(Vault.encrypt(stream, for: [.key(testKey(1))]))
                : try await collected(Vault.decrypt(stream, with: Self.key))
        }
        try await Task.sleep(for: .milliseconds(50))
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
    }

    /// Keys that report when they are released.
    private final class Watched: KeyProvider {
        func symmetricKeys(for ids: [KeyID]) -> [SymmetricKey] { [testKey(1)] }
    }

    @Test("an iterator that is released ends its thread") func abandoned() async throws {
        let container = try sealed(Self.text)
        weak var watched: Watched?
        do {
            let keys = Watched()
            watched = keys
            var plaintext = Vault.decrypt(pieces(container, 1000), with: Credentials(keys)).makeAsyncIterator()
            #expect(try await plaintext.next() != nil)
        }
        let clock = ContinuousClock()
        let start = clock.now
        while watched != nil, clock.now - start < .seconds(60) { try await Task.sleep(for: .milliseconds(5)) }
        #expect(watched == nil)
    }

    // MARK: Sources

    private func pieces(_ bytes: [UInt8], _ count: Int) -> CountedPieces {
        CountedPieces(bytes: bytes, count: count) {}
    }

    private func collected<S: AsyncSequence>(_ sequence: S) async throws -> [UInt8] where S.Element == [UInt8] {
        var bytes: [UInt8] = []
        for try await more in sequence { bytes += more }
        return bytes
    }
}

/// Bytes in pieces of a length, which are counted as they are asked for.
private struct CountedPieces: AsyncSequence, Sendable {
    let bytes: [UInt8]
    let count: Int
    let onNext: @Sendable () -> Void

    func makeAsyncIterator() -> Iterator { Iterator(rest: bytes[...], pieces: self) }

    struct Iterator: AsyncIteratorProtocol {
        var rest: ArraySlice<UInt8>
        let pieces: CountedPieces

        mutating func next() async -> [UInt8]? {
            guard !rest.isEmpty else { return nil }
            pieces.onNext()
            defer { rest = rest.dropFirst(pieces.count) }
            return [UInt8](rest.prefix(pieces.count))
        }
    }
}

/// So many pieces, and then an end or an error.
private struct Source: AsyncSequence, Sendable {
    static let count = 50_000

    let pieces: Int
    var failing = false
    var onNext: @Sendable () -> Void = {}

    func makeAsyncIterator() -> Iterator { Iterator(rest: pieces, source: self) }

    struct Iterator: AsyncIteratorProtocol {
        var rest: Int
        let source: Source

        mutating func next() async throws -> [UInt8]? {
            source.onNext()
            guard rest > 0 else {
                if source.failing { throw Broken() }
                return nil
            }
            rest -= 1
            return [UInt8](repeating: UInt8(truncatingIfNeeded: rest), count: Source.count)
        }
    }
}

private struct Broken: Error {}
