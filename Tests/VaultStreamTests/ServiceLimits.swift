import Testing
import VaultFile
import VaultFormat
import VaultStream
import VaultTestSupport

/// `OpenLimits.service`: a container at each of its limits opens, and one past it does not.
@Suite struct ServiceLimits {
    private static let passphrase = testPassphrase("a stranger's")
    private static let other = testPassphrase("another")

    private static func salt(_ number: UInt8) -> [UInt8] { [UInt8](repeating: number, count: 16) }

    /// A container with a passphrase slot for each cost, in this order; only the last one opens.
    private static func container(_ costs: (passes: UInt32, memoryKiB: UInt32)...) throws -> [UInt8] {
        let forge = try Forge(seed: 70, capacity: .capacity(1024))
        let slots = try costs.enumerated().map { index, cost in
            // For a slot that does not open, only the cost of stretching matters.
            let isLast = index == costs.count - 1
            return try forge.slot(
                isLast ? passphrase : other, passes: cost.passes, memoryKiB: cost.memoryKiB,
                salt: salt(UInt8(index)))
        }
        return try forge.container([1, 2, 3], front: forge.header(slots + [try forge.slot(testKey(1))]))
    }

    /// - Returns: The result of opening by passphrase. It opens by the key in any case.
    private static func code(_ container: [UInt8], _ kind: ReaderKind) throws -> VaultError.Code? {
        #expect(try read(container, by: kind, limits: .service).plaintext == [1, 2, 3])
        return try read(container, by: kind, keys: KeySet(passphrases: [passphrase]), limits: .service).code
    }

    @Test(arguments: [ReaderKind.stream, .whole]) func passphraseSlots(_ kind: ReaderKind) throws {
        #expect(try Self.code(Self.container((1, 8), (1, 8)), kind) == nil)
        #expect(try Self.code(Self.container((1, 8), (1, 8), (1, 8)), kind) == .limitExceeded)
    }

    @Test(arguments: [ReaderKind.stream, .whole]) func passes(_ kind: ReaderKind) throws {
        #expect(try Self.code(Self.container((4, 8)), kind) == nil)
        #expect(try Self.code(Self.container((5, 8)), kind) == .limitExceeded)
    }

    @Test(arguments: [ReaderKind.stream, .whole]) func memory(_ kind: ReaderKind) throws {
        #expect(try Self.code(Self.container((1, 1 << 18)), kind) == nil)
        #expect(try Self.code(Self.container((1, (1 << 18) + 1)), kind) == .limitExceeded)
    }

    /// The sum, tested on the slots alone: stretching so much would take a second for each reader.
    @Test func stretching() {
        func within(_ costs: Argon2Parameters...) -> Set<Int> {
            OpenLimits.service.slotsWithin(
                costs.enumerated().map { index, cost in
                    let id = KeyID(unchecked: Self.salt(UInt8(index))[...])
                    return Slot(type: 2, keyID: id, body: cost.encoded + [UInt8](repeating: 0, count: 72))
                })
        }
        let most = Argon2Parameters(passes: 4, memoryKiB: 1 << 18)
        #expect(within(most, Argon2Parameters(passes: 2, memoryKiB: 1 << 18)) == [0, 1])
        #expect(within(most, Argon2Parameters(passes: 4, memoryKiB: 1 << 17)) == [0, 1])
        #expect(within(most, Argon2Parameters(passes: 4, memoryKiB: (1 << 17) + 1)) == [0])
        #expect(within(most, most, Argon2Parameters(passes: 1, memoryKiB: 8)) == [0, 2])
        // Containers that writers make by default open: one in use, and its replacement.
        #expect(within(.standard, .standard) == [0, 1])
        #expect(within(.standard, .standard, .standard) == [0, 1])
    }

    /// A packed container of 1 MiB that inflates to the longest allowed plaintext, and one with a byte more.
    @Test(arguments: [0, 1]) func plaintextLength(_ more: Int) throws {
        let chunk = ChunkSize.maximum.bytes
        let forge = try Forge(seed: 71, chunkSize: .maximum, compression: .deflate)
        var items = try PackedItems([UInt8](repeating: 0, count: chunk), chunk: chunk)
        items.items = [PackedItems.Item](repeating: items.items[0], count: (1 << 30) / chunk)
        if more > 0 { items.items.append(PackedItems.Item(0, [UInt8](repeating: 0, count: more))) }
        items.addIndex()
        let container = forge.container(
            packed: items.bytes, plaintextLength: UInt64(1 << 30 + more), indexOffsets: items.indexOffsets,
            front: forge.header([try forge.slot(testKey(1))]))
        #expect(container.count < 2 << 20)
        let keys = KeySet(keys: [testKey(1)])
        let expected: VaultError.Code? = more > 0 ? .limitExceeded : nil

        let opening = try Reading { _ in
            try SeekableVaultReader(MemorySource(container), with: Credentials(keys, limits: .service)).opened
        }
        #expect(opening.code == expected)
        var length = 0
        let streaming = try Reading { _ in
            try readStream(container, keys: keys, limits: .service) { length += $0.count }
        }
        #expect(streaming.code == expected)
        #expect(length == 1 << 30)
    }

    /// No limit of the service is above one of the format.
    @Test func belowTheFormat() {
        let (service, standard) = (OpenLimits.service, OpenLimits.standard)
        #expect(service.maximumPassphraseSlots < standard.maximumPassphraseSlots)
        #expect(service.maximumPasses < standard.maximumPasses)
        #expect(service.maximumMemoryKiB < standard.maximumMemoryKiB)
        #expect(service.maximumStretchingKiB < standard.maximumStretchingKiB)
        #expect(service.maximumPlaintextLength != nil && standard.maximumPlaintextLength == nil)
    }
}
