import Testing
import VaultFormat
import VaultStream
import VaultTestSupport

/// What an item's head must be, before anything after it is asked for (PACK-7 to PACK-11): otherwise a reader would
/// spend the length of a body that it then refuses.
@Suite struct ItemWalkTests {
    private let stream = PackedStream(capacity: .least, chunkSize: .minimum)
    private let block = ItemHead(.stored, bodyCount: 1)

    private func begin(_ walk: ItemWalk, _ head: [UInt8]) -> VaultError.Code? {
        var walk = walk
        do {
            _ = try walk.begin(head[...])
            return nil
        } catch {
            return error.code
        }
    }

    @Test func heads() {
        let walk = ItemWalk(stream)
        #expect(begin(walk, [0, 0, 0, 1]) == nil && begin(walk, [1, 0, 0x10, 0]) == nil)
        for head: [UInt8] in [
            [0, 0, 0, 0], [0, 0, 0x10, 1], [1, 0, 0, 0], [1, 0xFF, 0xFF, 0xFF], [3, 0, 0, 1], [0xFF, 0, 0, 1],
        ] {
            #expect(begin(walk, head) == .packingMalformed, "\(head)")
        }
        #expect(ItemHead(parsing: [0, 0, 0]) == nil && ItemHead(parsing: [0, 0, 0, 1, 0]) == nil)
    }

    @Test func indexHeads() throws {
        var walk = ItemWalk(stream)
        #expect(begin(walk, [2, 0, 0, 0]) == .packingMalformed)
        walk.endBlock(block)
        #expect(begin(walk, [2, 0, 0, 3]) == nil)
        for head: [UInt8] in [[2, 0, 0, 0], [2, 0, 0, 2], [2, 0, 0, 4], [2, 0, 0, 6], [2, 0xFF, 0xFF, 0xFF]] {
            #expect(begin(walk, head) == .packingMalformed, "\(head)")
        }
        try walk.endIndex(ItemHead(.index, bodyCount: 3), [0, 0, 1])
        for head in [[0, 0, 0, 1], [2, 0, 0, 0], [2, 0, 0, 3]] as [[UInt8]] {
            #expect(begin(walk, head) == .packingMalformed, "\(head)")
        }
    }

    /// After the 65,536th block comes an index item, and nothing else.
    @Test func fullGroup() {
        var walk = ItemWalk(stream)
        for _ in 1..<PackedStream.groupCount { walk.endBlock(block) }
        #expect(begin(walk, block.bytes) == nil)
        walk.endBlock(block)
        #expect(begin(walk, block.bytes) == .packingMalformed)
        #expect(begin(walk, ItemHead(.index, bodyCount: 3 * Int(PackedStream.groupCount)).bytes) == nil)
    }
}
