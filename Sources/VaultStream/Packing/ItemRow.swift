package import VaultFormat

/// The items of a stream that is being packed, in their order. It tells where index items belong and what they hold
/// (PACK-3).
package struct ItemRow: Sendable {
    private var position: UInt64 = 0
    private var blockCount: UInt64 = 0
    /// The body of the next index item.
    private var indexBody: [UInt8] = []
    private var indexOffsets: [UInt64] = []

    package init() {}

    /// Counts a block's item.
    ///
    /// - Returns: the index item that follows it; nil if none does.
    /// - Throws: `tooLarge` (WRITE-11).
    package mutating func append(bodyCount: Int) throws(VaultError) -> [UInt8]? {
        // mutant: no test can pack so much
        guard blockCount < PackedStream.maximumBlockCount else {
            throw VaultError(.tooLarge, "there are more than 2^32 blocks to be packed")
        }
        blockCount += 1
        position += UInt64(ItemHead.count + bodyCount)
        IndexBody.append(UInt32(bodyCount), to: &indexBody)
        return blockCount.isMultiple(of: PackedStream.groupCount) ? indexItem() : nil
    }

    /// The last index item of the stream; nil if no block follows the index item before.
    package mutating func finish() -> [UInt8]? {
        indexBody.isEmpty ? nil : indexItem()
    }

    private mutating func indexItem() -> [UInt8] {
        indexOffsets.append(position)
        let item = ItemHead(.index, bodyCount: indexBody.count).bytes + indexBody
        position += UInt64(item.count)
        indexBody.removeAll(keepingCapacity: true)
        return item
    }

    /// What the manifest says about the stream, once it is complete.
    package var packed: Manifest.Packed {
        Manifest.Packed(streamLength: position, indexOffsets: indexOffsets)
    }
}
