import Testing
import VaultFile
import VaultTestSupport

/// Packed plaintext comes back, and bytes that are not a packed stream are refused.
@Suite(.bothEngines) struct PackingTests {
    private static let chunk = ChunkSize.minimum.bytes

    private static func options(digest: Bool = false) -> SealOptions {
        SealOptions(chunk: .minimum, digest: digest, compression: .deflate)
    }

    private static let lengths = [0, 1, 2, 4095, 4096, 4097, 8191, 8192, 8193, 65_535, 65_536, 65_537, 200_001]

    @Test(arguments: lengths) func roundTrip(_ length: Int) throws {
        let texts = [
            [UInt8](repeating: 0, count: length), randomBytes(length, seed: 800),
            mixedBytes(length, seed: UInt64(length)),
        ]
        for (number, text) in texts.enumerated() {
            let container = try sealed(
                text, options: Self.options(digest: number == 2), randomness: .fixed(seed: UInt64(number)))
            for piece in [1000, 4096, 70_001] {
                let again = try sealed(
                    text, options: Self.options(digest: number == 2), piece: piece,
                    randomness: .fixed(seed: UInt64(number)))
                #expect(again == container)
            }
            for kind in ReaderKind.allCases {
                for piece in kind == .stream ? [1, 997, 1 << 16] : [0] where piece != 1 || length < 10_000 {
                    let reading = try read(container, by: kind, piece: piece)
                    #expect(reading.health == .intact && reading.plaintext == text, "\(kind): \(reading.result)")
                    #expect(reading.opened?.manifest.plaintextLength == UInt64(length))
                }
            }
        }
    }

    /// The length of the stream: zeros take almost nothing; random bytes take 4 bytes a block more, and 3 more in the
    /// index.
    @Test func streamLengths() throws {
        func streamLength(_ text: [UInt8]) throws -> UInt64? {
            try read(sealed(text, options: Self.options()), by: .whole).opened?.manifest.streamLength
        }
        let blocks = 20
        let random = randomBytes(blocks * Self.chunk, seed: 801)
        #expect(try streamLength(random) == UInt64(random.count + 7 * blocks + 4))
        let zeros = try #require(try streamLength([UInt8](repeating: 0, count: random.count)))
        #expect(zeros < 30 * blocks)
        #expect(try streamLength([]) == 0)
        #expect(try streamLength([7]) == 12)
    }

    @Test func ranges() throws {
        let text = mixedBytes(40 * Self.chunk + 77, seed: 802)
        let reader = try SeekableVaultReader(
            MemorySource(sealed(text, options: Self.options())), with: .key(testKey(1)))
        var random = SeededRandom(seed: 803)
        for round in 0..<400 {
            let (a, b) = (random.below(text.count + 1), random.below(text.count + 1))
            let (low, high) = (min(a, b), round % 2 == 0 ? max(a, b) : min(text.count, min(a, b) + random.below(5000)))
            #expect(try reader.bytes(UInt64(low)..<UInt64(high))[...] == text[low..<high])
        }
        for range in [reader.length..<reader.length + 1, 0..<UInt64.max] {
            #expect(throws: VaultError.self) { try reader.bytes(range) }
        }
    }

    /// A body that would inflate to 900 blocks is refused after one block, and no more is ever held.
    @Test(arguments: ReaderKind.allCases) func bomb(_ kind: ReaderKind) throws {
        let forge = try Forge(seed: 804, compression: .deflate)
        let front = forge.header([try forge.slot(testKey(1))])
        // 900 blocks of zeros in one body.
        let text = [UInt8](repeating: 0, count: Self.chunk)
        var items = try PackedItems(text, chunk: Self.chunk)
        let zeros = try PackedItems([UInt8](repeating: 0, count: 900 * Self.chunk), chunk: 900 * Self.chunk)
        #expect(zeros.items[0].method == 1 && zeros.items[0].body.count <= Self.chunk)
        items.items[0] = zeros.items[0]
        items.addIndex()
        let container = forge.container(
            packed: items.bytes, plaintextLength: UInt64(text.count), indexOffsets: items.indexOffsets, front: front)
        let reading = try read(container, by: kind)
        #expect(reading.code == .packingMalformed && reading.plaintext.isEmpty)
    }

    /// Five bytes of a stream may claim to be eight mebibytes; they are refused before they cost memory.
    @Test func claimedLength() throws {
        let forge = try Forge(seed: 806, chunkSize: .maximum, compression: .deflate)
        let front = forge.header([try forge.slot(testKey(1))])
        let blocks = 20_000
        var items = try PackedItems([], chunk: 1)
        items.items = (0..<blocks).map { _ in .init(1, [0]) }
        items.addIndex()
        let container = forge.container(
            packed: items.bytes, plaintextLength: UInt64(blocks) << 23, indexOffsets: items.indexOffsets, front: front)
        let reader = try SeekableVaultReader(MemorySource(container), with: .key(testKey(1)))
        #expect(reader.length == UInt64(blocks) << 23)
        let error = #expect(throws: VaultError.self) { try reader.bytes(0..<reader.length) }
        #expect(error?.code == .packingMalformed)
    }

    /// The maker's index may point into a stored block, where another item is. The stream refuses it, and a range gives
    /// what the index points to (PACK-17).
    @Test func limitOfRanges() throws {
        let forge = try Forge(seed: 805, compression: .deflate)
        let front = forge.header([try forge.slot(testKey(1))])
        let deflated = try PackedItems([UInt8](repeating: 9, count: Self.chunk), chunk: Self.chunk).items[0]
        let hidden = try PackedItems([UInt8](repeating: 6, count: Self.chunk), chunk: Self.chunk).items[0]
        var stored = randomBytes(Self.chunk, seed: 806)
        stored.replaceSubrange((stored.count - hidden.bytes.count)..., with: hidden.bytes)
        var items = try PackedItems([], chunk: Self.chunk)
        items.items = [.init(0, stored), deflated]
        items.addIndex()
        // Block 0 has less, block 1 as much more.
        let lengths = [stored.count - hidden.bytes.count, hidden.body.count + deflated.bytes.count]
        items.items[2].body = lengths.flatMap { [UInt8($0 >> 16), UInt8($0 >> 8 & 0xFF), UInt8($0 & 0xFF)] }
        let container = forge.container(
            packed: items.bytes, plaintextLength: UInt64(2 * Self.chunk), indexOffsets: items.indexOffsets,
            front: front)
        #expect(try read(container, by: .stream).code == .packingMalformed)
        #expect(try read(container, by: .whole).code == .packingMalformed)
        let reader = try SeekableVaultReader(MemorySource(container), with: .key(testKey(1)))
        #expect(throws: VaultError.self) { try reader.bytes(0..<1) }
        #expect(throws: VaultError.self) { try reader.bytes(4096..<4097) }
    }

    @Test func longerThanAllowed() throws {
        let text = [UInt8](repeating: 1, count: 3 * Self.chunk)
        let container = try sealed(text, options: Self.options())
        for (most, released) in [(0, 0), (4095, 0), (4096, 4096), (3 * 4096 - 1, 2 * 4096)] {
            var limits = OpenLimits.standard
            limits.maximumPlaintextLength = UInt64(most)
            let streamed = try read(container, by: .stream, limits: limits)
            #expect(streamed.code == .limitExceeded && streamed.plaintext.count == released)
            #expect(try read(container, by: .whole, limits: limits).code == .limitExceeded)
        }
    }
}

/// Streams of more than one group, which have hundreds of mebibytes when unpacked.
@Suite struct PackedGroups {
    private static let chunk = ChunkSize.minimum.bytes
    private static let group = 65_536

    /// The index item of exactly one group, and one block more.
    @Test(arguments: [group, group + 1]) func severalGroups(_ blocks: Int) throws {
        var text = [UInt8](repeating: 0, count: blocks * Self.chunk)
        for place in stride(from: 0, to: text.count, by: 1_000_003) { text[place] = UInt8(place % 251) }
        let container = try sealed(text, options: SealOptions(chunk: .minimum, compression: .deflate))
        let whole = try read(container, by: .whole)
        #expect(whole.opened?.manifest.packed?.indexOffsets.count == (blocks + Self.group - 1) / Self.group)
        #expect(whole.plaintext == text)
        let streamed = try read(container, by: .stream)
        #expect(streamed.result == whole.result && streamed.plaintext == text)
        let reader = try SeekableVaultReader(MemorySource(container), with: .key(testKey(1)))
        let end = reader.length
        for start: UInt64 in [0, 999_990, 65_535 * 4096 - 1, end - 4097, end - 1] {
            let range = start..<min(start + 9000, end)
            #expect(try reader.bytes(range)[...] == text[Int(range.lowerBound)..<Int(range.upperBound)])
        }
        let found = try Recovering(container)
        #expect(found.recovered?.isComplete == true && found.plaintext == text)
        // Without a manifest the second group is found after the index item of the first.
        let cut = try Recovering([UInt8](container.dropLast(8800)))
        #expect(cut.recovered?.manifest == nil && text.starts(with: cut.plaintext))
        #expect(cut.plaintext.count >= Self.group * Self.chunk)
    }

    /// An index item follows the 65,536th block, neither earlier nor later (PACK-3).
    @Test(arguments: [group - 1, group, group + 1]) func indexItems(_ first: Int) throws {
        let forge = try Forge(seed: 807, compression: .deflate)
        let front = forge.header([try forge.slot(testKey(1))])
        let block = try PackedItems([UInt8](repeating: 0, count: Self.chunk), chunk: Self.chunk).items[0]
        let count = Self.group + 1
        var stream: [UInt8] = []
        var offsets: [UInt64] = []
        for blocks in [first, count - first] where blocks > 0 {
            for _ in 0..<blocks { stream += block.bytes }
            offsets.append(UInt64(stream.count))
            let lengths = (0..<blocks).flatMap { _ in block.bytes[1...3] }
            stream += PackedItems.Item(2, lengths).bytes
        }
        let container = forge.container(
            packed: stream, plaintextLength: UInt64(count * Self.chunk), indexOffsets: offsets, front: front)
        var released = 0
        let streamed = try Reading { _ in
            try readStream(container, keys: KeySet(keys: [testKey(1)])) { released += $0.count }
        }
        let whole = try read(container, by: .whole)
        if first == Self.group {
            #expect(streamed.health == .intact && whole.health == .intact && released == count * Self.chunk)
        } else {
            #expect(streamed.code == .packingMalformed && whole.code == .packingMalformed)
            #expect(released == min(first, Self.group) * Self.chunk)
        }
    }
}
