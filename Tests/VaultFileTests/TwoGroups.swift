import Testing
import VaultFile
import VaultFormat
import VaultStream
import VaultTestSupport

/// A compressed container of two groups, each with an index of its own: block j consists of bytes j mod 7.
struct TwoGroups {
    static let blockCount = Int(PackedStream.groupCount) + 40
    private static let chunk = ChunkSize.minimum.bytes

    var stream: [UInt8] = []
    var indexOffsets: [UInt64] = []

    init() throws {
        let items = try (0..<7).map { try PackedItems(Self.plaintext(ofBlock: $0), chunk: Self.chunk).items[0].bytes }
        var lengths: [UInt8] = []
        for block in 0..<Self.blockCount {
            stream += items[block % 7]
            lengths += items[block % 7][1...3]
            guard lengths.count == 3 * Int(PackedStream.groupCount) || block == Self.blockCount - 1 else { continue }
            indexOffsets.append(UInt64(stream.count))
            stream += [2, UInt8(lengths.count >> 16), UInt8(lengths.count >> 8 & 0xFF), UInt8(lengths.count & 0xFF)]
            stream += lengths
            lengths = []
        }
    }

    static func plaintext(ofBlock block: Int) -> [UInt8] { [UInt8](repeating: UInt8(block % 7), count: chunk) }

    func container() throws -> [UInt8] {
        let forge = try Forge(seed: 80, compression: .deflate)
        return forge.container(
            packed: stream, plaintextLength: UInt64(Self.blockCount * Self.chunk), indexOffsets: indexOffsets,
            front: forge.header([try forge.slot(testKey(1))]))
    }
}

/// Recovery when the groups' starts are known only from what is before them (RECOV-13).
@Suite(.bothEngines) struct GroupRecoveryTests {
    /// The number of blocks in a row that come out with their right bytes, of a container without a manifest.
    private func blocks(_ groups: TwoGroups) throws -> Int {
        var container = try groups.container()
        let footer = container.suffix(32)
        let manifest = footer.prefix(8).reduce(0) { $0 << 8 | Int($1) }
        container[manifest + 5] ^= 1
        let recovery = try Recovery(MemorySource(container), with: .key(testKey(1)))
        var count = 0
        let recovered = try recovery.read(jobs: 1) { text in
            var block: [UInt8] = []
            block.append(copying: text)
            if block == TwoGroups.plaintext(ofBlock: count) { count += 1 }
        } onDamage: { _ in
        }
        #expect(recovered.manifest == nil && recovered.length == UInt64(count * ChunkSize.minimum.bytes))
        return count
    }

    @Test func behindTheIndexStandsTheNextGroup() throws {
        #expect(try blocks(TwoGroups()) == TwoGroups.blockCount)
    }

    /// Anything may be there: the item of a block, one of an unknown method, or an index of another length ends what is
    /// known.
    @Test(arguments: [(0, 2), (0, 3), (0, 1), (3, 3)]) func whatIsNoIndexEndsIt(_ place: Int, _ byte: UInt8) throws {
        var groups = try TwoGroups()
        groups.stream[Int(groups.indexOffsets[0]) + place] ^= byte
        #expect(try blocks(groups) == Int(PackedStream.groupCount))
    }
}
