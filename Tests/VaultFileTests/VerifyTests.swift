import SystemPackage
import Testing
import VaultFile
import VaultTestSupport

private struct Stop: Error {}

/// Compares `verify` with the damage that was done.
@Suite(.bothEngines) struct VerifyTests {
    private static let records = 12
    private static let plaintext = randomBytes(11 * 4096 + 50, seed: 22)

    private static func container() throws -> [UInt8] {
        try sealed(plaintext, options: SealOptions(chunk: .minimum, capacity: .least, digest: true))
    }

    private static func range(_ records: ClosedRange<Int>) -> Range<UInt64> {
        UInt64(records.lowerBound * 4096)..<UInt64(min(plaintext.count, (records.upperBound + 1) * 4096))
    }

    /// In a compressed container whole blocks are lost: those with items in damaged records, and no others.
    @Test func damagedBlocks() throws {
        let text = mixedBytes(40 * 4096 + 9, seed: 23)
        let right = try sealed(
            text, options: SealOptions(chunk: .minimum, capacity: .capacity(4096), digest: true, compression: .deflate))
        var random = SeededRandom(seed: 24)
        for _ in 0..<30 {
            var container = right
            for _ in 0...random.below(3) { container[4096 + random.below(right.count - 12_000)] ^= 1 }
            let reader = try SeekableVaultReader(MemorySource(container), with: .key(testKey(1)))
            var (found, progress) = ([Damage](), [UInt64]())
            try reader.verify(onProgress: { progress.append($0) }, onDamage: { found.append($0) })
            let ranges = found.compactMap(\.plaintextRange)
            #expect(!ranges.isEmpty && ranges.count == found.count && progress == progress.sorted())
            #expect(found.allSatisfy { $0.error.code == .recordDamaged })
            for block in 0..<UInt64(41) {
                let place = block * 4096..<min((block + 1) * 4096, UInt64(text.count))
                let isLost = ranges.contains { $0.overlaps(place) }
                let bytes = try? reader.bytes(place)
                // Without its index item a range cannot be read, but verifying goes from head to head.
                if isLost { #expect(bytes == nil) }
                if let bytes { #expect(!isLost && bytes[...] == text[Int(place.lowerBound)..<Int(place.upperBound)]) }
            }
        }
        // Every record opens, but its contents contradict the index.
        let forge = try Forge(seed: 25, compression: .deflate)
        let front = forge.header([try forge.slot(testKey(1))])
        var items = try PackedItems(text, chunk: 4096)
        items.items[41].body[5] ^= 1
        let forged = forge.container(
            packed: items.bytes, plaintextLength: UInt64(text.count), indexOffsets: items.indexOffsets, front: front)
        let reader = try SeekableVaultReader(MemorySource(forged), with: .key(testKey(1)))
        var found: [Damage] = []
        try reader.verify { found.append($0) }
        #expect(found.map(\.error.code) == [.packingMalformed] && found[0].plaintextRange == nil)
        #expect(try StoredContainer.code { try reader.verify() } == .packingMalformed)
        try SeekableVaultReader(MemorySource(right), with: .key(testKey(1))).verify()
    }

    /// Every subset of a few records: neighbouring ranges are one.
    @Test func damagedRecords() throws {
        let right = try Self.container()
        var random = SeededRandom(seed: 2)
        for _ in 0..<60 {
            let damaged = Set((0..<Self.records).filter { _ in random.below(3) == 0 })
            var container = right
            for record in damaged { container[512 + record * 4116 + random.below(70)] ^= 1 << random.below(8) }
            var expected: [ClosedRange<Int>] = []
            for record in damaged.sorted() {
                if let last = expected.last, last.upperBound == record - 1 {
                    expected[expected.count - 1] = last.lowerBound...record
                } else {
                    expected.append(record...record)
                }
            }
            let reader = try SeekableVaultReader(MemorySource(container), with: .key(testKey(1)))
            var (found, progress) = ([Damage](), [UInt64]())
            try reader.verify(onProgress: { progress.append($0) }, onDamage: { found.append($0) })
            #expect(found.map(\.plaintextRange) == expected.map(Self.range))
            #expect(found.allSatisfy { $0.error.code == .recordDamaged })
            #expect(found.map(\.error.record) == expected.map { UInt64($0.lowerBound) })
            #expect(progress.last == UInt64(Self.plaintext.count) && progress == progress.sorted())
        }
    }

    /// Errors that the callbacks throw come out, wherever they are called, and never count as damage.
    @Test func callbacksThrow() throws {
        for damaged in [0, 5, Self.records - 1] {
            var container = try Self.container()
            container[512 + damaged * 4116 + 9] ^= 1
            let reader = try SeekableVaultReader(MemorySource(container), with: .key(testKey(1)))
            var reports = 0
            #expect(throws: Stop.self) {
                try reader.verify { _ in
                    reports += 1
                    throw Stop()
                }
            }
            #expect(reports == 1)
            let misleading = VaultError.inputFailed("not the source's")
            reports = 0
            let error = #expect(throws: VaultError.self) {
                try reader.verify { _ in
                    reports += 1
                    throw misleading
                }
            }
            #expect(error?.message == misleading.message && reports == 1)
            #expect(throws: Stop.self) { try reader.verify(onProgress: { _ in throw Stop() }, onDamage: { _ in }) }
        }
        for compression in [Compression.none, .deflate] {
            let container = try sealed(Self.plaintext, options: SealOptions(chunk: .minimum, compression: compression))
            let reader = try SeekableVaultReader(MemorySource(container), with: .key(testKey(1)))
            let misleading = VaultError.inputFailed("not the source's")
            let error = #expect(throws: VaultError.self) {
                try reader.verify(onProgress: { _ in throw misleading }, onDamage: { _ in Issue.record("damage") })
            }
            #expect(error?.message == misleading.message)
        }
    }

    /// A medium that no longer gives some of its bytes: damage if it throws the library's error, otherwise the end.
    @Test func failingMedium() throws {
        let container = try Self.container()
        func source(_ error: any Error & Sendable) -> ScriptedSource {
            ScriptedSource(
                size: { UInt64(container.count) },
                read: { offset, count in
                    let bad: Range<UInt64> = 512 + 3 * 4116..<512 + 5 * 4116
                    if bad.overlaps(offset..<offset + UInt64(count)) { throw error }
                    let bytes = [UInt8](container.dropFirst(Int(offset)).prefix(count))
                    return (bytes, bytes.count)
                })
        }
        let keys = KeySet(keys: [testKey(1)])
        let badSector = VaultError.inputFailed("bad sector", systemError: .ioError)
        let reader = try SeekableVaultReader(source(badSector), with: Credentials(keys))
        var found: [Damage] = []
        try reader.verify { found.append($0) }
        #expect(found.map(\.plaintextRange) == [Self.range(3...4)])
        #expect(found[0].error.code == .inputFailed && found[0].error.systemError == .ioError)
        let other = try SeekableVaultReader(source(Stop()), with: Credentials(keys))
        #expect(throws: Stop.self) { try other.verify { _ in } }
    }

    @Test func nothingDamaged() throws {
        for plaintext in [Self.plaintext, []] {
            let container = try sealed(plaintext, options: SealOptions(chunk: .minimum, digest: true))
            let reader = try SeekableVaultReader(MemorySource(container), with: .key(testKey(1)))
            var found = 0
            try reader.verify { _ in found += 1 }
            #expect(found == 0)
        }
    }
}
