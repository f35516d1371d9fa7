package import VaultFormat

/// The items of a stream that is being packed, in their order: it says where index items stand and what they hold
/// (PACK-3).
package struct ItemRow: Sendable {
    private var position: UInt64 = 0
    private var blockCount: UInt64 = 0
    /// Of the index item to come.
    private var indexBody: [UInt8] = []
    private var indexOffsets: [UInt64] = []

    package init() {}

    /// Takes note of a block's item.
    ///
    /// - Returns: the index item that stands behind it, if one does.
    /// - Throws: `tooLarge` (WRITE-11).
    package mutating func append(bodyCount: Int) throws(VaultError) -> [UInt8]? {
        guard blockCount < PackedStream.maximumBlockCount else {
            throw VaultError(.tooLarge, "there are more than 2^32 blocks to be packed")
        }
        blockCount += 1
        position += UInt64(ItemHead.count + bodyCount)
        IndexBody.append(UInt32(bodyCount), to: &indexBody)
        return blockCount.isMultiple(of: PackedStream.groupCount) ? indexItem() : nil
    }

    /// The index item that stands at the end, if one does. Behind it there is nothing.
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

    /// What the manifest says of the stream, once it is finished.
    package var packed: Manifest.Packed {
        Manifest.Packed(streamLength: position, indexOffsets: indexOffsets)
    }
}
