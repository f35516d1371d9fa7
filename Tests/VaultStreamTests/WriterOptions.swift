import Testing
import VaultFile
import VaultFormat
import VaultStream
import VaultTestSupport

@Suite(.bothEngines) struct WriterOptions {
    private func code(
        _ size: Int = 1, for recipients: [Recipient] = [.key(testKey(1))], _ options: SealOptions = SealOptions()
    ) throws -> VaultError.Code? {
        do {
            _ = try sealed([UInt8](repeating: 0, count: size), for: recipients, options: options)
            return nil
        } catch let error as VaultError {
            return error.code
        }
    }

    private func header(_ size: Int, for recipients: [Recipient], _ options: SealOptions = SealOptions()) throws
        -> HeaderSummary?
    {
        let container = try sealed([UInt8](repeating: 0, count: size), for: recipients, options: options)
        return try read(container, by: .whole).opened?.header
    }

    private static func keys(_ count: UInt8) -> [Recipient] { (1...count).map { .key(testKey($0)) } }

    /// Spec, WRITE-7.
    @Test func capacities() throws {
        #expect(try header(0, for: Self.keys(1))?.capacity.bytes == 512)
        #expect(try header(65_535, for: Self.keys(1))?.capacity.bytes == 512)
        #expect(try header(65_536, for: Self.keys(1))?.capacity.bytes == 4096)
        #expect(try header(0, for: Self.keys(3))?.capacity.bytes == 512)
        #expect(try header(0, for: Self.keys(4))?.capacity.bytes == 1024)
        #expect(try header(0, for: Self.keys(100))?.capacity.bytes == 16_384)
        #expect(try header(65_536, for: Self.keys(100))?.capacity.bytes == 16_384)
        #expect(try header(0, for: Self.keys(4), SealOptions(chunk: .minimum, capacity: .least))?.capacity == .least)
        let huge = SealOptions(chunk: .minimum, capacity: .capacity(1 << 20))
        #expect(try header(0, for: Self.keys(1), huge)?.capacity.bytes == 1 << 20)
    }

    @Test func refused() throws {
        #expect(try code(for: []) == .lastSlot)
        let least = SealOptions(chunk: .minimum, capacity: .least)
        #expect(try code(for: Self.keys(5), least) == .doesNotFit)
        #expect(try code(65_535, least) == nil)
        #expect(try code(65_536, least) == .invalidArgument)
        var options = SealOptions()
        options.metadata.name = "/"
        #expect(try code(options) == .invalidArgument)
        for cost in [(1, 19_456), (2, 19_455), (65, 19_456), (2, 1 << 21 + 1)] as [(UInt32, UInt32)] {
            let cost = Argon2Parameters(passes: cost.0, memoryKiB: cost.1)
            #expect(try code(for: [.passphrase(testPassphrase("p"), cost)]) == .invalidArgument)
        }
    }

    private func code(_ options: SealOptions) throws -> VaultError.Code? {
        try code(for: [.key(testKey(1))], options)
    }

    @Test func duplicates() throws {
        #expect(try header(1, for: [.key(testKey(1)), .key(testKey(2)), .key(testKey(1))])?.slots.count == 2)
        let (cost, other) = (
            Argon2Parameters(passes: 2, memoryKiB: 19 << 10), Argon2Parameters(passes: 3, memoryKiB: 19 << 10)
        )
        // In the place and at the cost that are given first.
        let twice: [Recipient] = [
            .passphrase(testPassphrase("p"), cost), .passphrase(testPassphrase("q"), cost),
            .passphrase(testPassphrase("p"), other),
        ]
        for passphrase in ["p", "q"] {
            let reading = try read(
                try sealed([7], for: twice), by: .stream, keys: KeySet(passphrases: [testPassphrase(passphrase)]))
            #expect(reading.plaintext == [7])
            #expect(reading.opened?.header.slots.map(\.argon2) == [cost, cost])
        }
        // The four that a header may have, one of them named twice.
        let four = (0..<5).map { Recipient.passphrase(testPassphrase("p\($0 % 4)"), cost) }
        #expect(try header(1, for: [.key(testKey(1))] + four)?.slots.count == 5)
    }

    @Test func tooManySlots() throws {
        let wrap: @Sendable (FileKey, [UInt8]) throws -> [UInt8] = { _, _ in [] }
        let family = try #require(PrivateSlotFamily(type: 0x8000, idPrefix: [UInt8](repeating: 7, count: 8)))
        func slots(_ count: Int) throws -> [Recipient] {
            try (0..<count).map {
                try .privateSlot(family, idSuffix: randomBytes(8, seed: UInt64($0)), bodyCount: 0, wrap: wrap)
            }
        }
        #expect(try code(for: try slots(1024)) == nil)
        #expect(try code(for: try slots(1025)) == .doesNotFit)
        let cost = Argon2Parameters(passes: 2, memoryKiB: 19 << 10)
        let passphrases = (0..<5).map { Recipient.passphrase(testPassphrase("p\($0)"), cost) }
        #expect(try code(for: passphrases) == .doesNotFit)
    }

    @Test func everyChunkSize() throws {
        let plaintext = randomBytes(10_000, seed: 3)
        for log2: UInt8 in 12...23 {
            let chunk = try #require(ChunkSize(log2: log2))
            let container = try sealed(plaintext, options: SealOptions(chunk: chunk))
            for kind in ReaderKind.allCases {
                let reading = try read(container, by: kind)
                #expect(reading.plaintext == plaintext && reading.health == .intact)
                #expect(reading.opened?.header.chunkSize == chunk)
            }
        }
    }

    @Test func manifest() throws {
        var options = SealOptions(chunk: .minimum, digest: true)
        options.metadata.name = "ü"
        options.metadata.contentType = "application/octet-stream"
        options.metadata.modified = Timestamp(seconds: .min, nanoseconds: 1)
        options.metadata.permissions = 0o777
        let plaintext = randomBytes(5000, seed: 4)
        var container: [UInt8] = []
        var writer = try VaultWriter(for: [.key(testKey(1))], options: options)
        try writer.write(plaintext.span) { container.append(copying: $0) }
        let written = try writer.finish { container.append(copying: $0) }
        #expect(written.digest == sha256(plaintext) && written.plaintextLength == 5000)
        #expect(written.metadata == options.metadata)
        for kind in ReaderKind.allCases { #expect(try read(container, by: kind).opened?.manifest == written) }
    }
}
