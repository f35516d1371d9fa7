package import VaultFormat

/// Checks the items of a packed stream in order: each item's head, and the contents of each index item (PACK-7 to
/// PACK-13). It does not check the bodies of blocks, nor how long the blocks are.
package struct ItemWalk: Sendable {
    private let stream: PackedStream
    /// The offset of the current item in the stream.
    package private(set) var position: UInt64 = 0
    /// What the next index item must hold.
    private var indexBody: [UInt8] = []
    private var since: UInt64 = 0
    private var blockCount: UInt64 = 0
    private var indexOffsets: [UInt64] = []
    /// Whether the index item of a group that is not full has come. Only the last group may be short.
    private var isClosed = false

    package init(_ stream: PackedStream) {
        self.stream = stream
    }

    /// Checks the head of the current item before its body is read, so that a reader never reads more than a valid item
    /// can have.
    ///
    /// - Throws: `packingMalformed`.
    package mutating func begin(_ head: ArraySlice<UInt8>) throws(VaultError) -> ItemHead {
        guard let head = ItemHead(parsing: head) else {
            throw malformed("an item of the packed stream has an unknown method")
        }
        switch head.method {
        case .stored, .deflated:
            guard since < PackedStream.groupCount else { throw malformed("an index item is missing") }
            guard (1...stream.chunkSize.bytes).contains(head.bodyCount) else {
                throw malformed("the length of an item's body is out of range")
            }
            // mutant: only a stream of 20 GB gets here
            guard blockCount < PackedStream.maximumBlockCount else {
                throw malformed("there are more than 2^32 blocks")
            }
        case .index:
            guard since > 0, head.bodyCount == indexBody.count else {
                throw malformed("an index item's length is not that of the blocks before it")
            }
        }
        guard !isClosed else { throw malformed("an item follows the last index item") }
        return head
    }

    /// Moves on to the item after a block's item.
    package mutating func endBlock(_ head: ItemHead) {
        IndexBody.append(UInt32(head.bodyCount), to: &indexBody)
        since += 1
        blockCount += 1
        end(head)
    }

    /// Moves on to the item after an index item. The index item must hold the lengths of the items before it: otherwise
    /// a reader of ranges would find other items than a reader of the whole stream.
    ///
    /// - Throws: `packingMalformed`.
    package mutating func endIndex(_ head: ItemHead, _ body: ArraySlice<UInt8>) throws(VaultError) {
        guard body.elementsEqual(indexBody) else {
            throw malformed("an index item does not hold the lengths of the items before it")
        }
        indexOffsets.append(position)
        isClosed = since < PackedStream.groupCount
        indexBody.removeAll(keepingCapacity: true)
        since = 0
        end(head)
    }

    private mutating func end(_ head: ItemHead) {
        position += UInt64(head.itemCount)
    }

    package func malformed(_ check: String) -> VaultError {
        stream.malformed(check, at: position)
    }

    fileprivate func check(
        _ manifest: Manifest, plaintextLength: UInt64, streamLength: UInt64, at offset: UInt64
    ) throws(VaultError) {
        guard position == streamLength else { throw malformed("the packed stream ends inside an item") }
        guard since == 0 else { throw malformed("there is no index item at the end of the packed stream") }
        try manifest.check(streamLength: streamLength, at: offset)
        try manifest.check(plaintextLength: plaintextLength, at: offset)
        guard manifest.packed?.indexOffsets == indexOffsets else {
            throw VaultError(
                .packingMalformed, "the manifest's offsets are not those of the index items", offset: offset)
        }
    }
}

/// The items and blocks of a whole stream, to be compared with its manifest.
package struct UnpackedStream: Sendable {
    package var walk: ItemWalk
    package var blocks: BlockRow

    package init(_ stream: PackedStream) {
        walk = ItemWalk(stream)
        blocks = BlockRow(stream)
    }

    package init(_ walk: ItemWalk, _ blocks: BlockRow) {
        self.walk = walk
        self.blocks = blocks
    }

    /// Compares it with the manifest (STR-14 to STR-17).
    ///
    /// - Parameters:
    ///   - streamLength: the length of the stream in bytes.
    ///   - offset: where the manifest's record begins in the container.
    /// - Throws: `packingMalformed`, `manifestMismatch`.
    package func check(_ manifest: Manifest, streamLength: UInt64, at offset: UInt64) throws(VaultError) {
        try walk.check(
            manifest, plaintextLength: blocks.length, streamLength: streamLength, at: offset)
    }
}

/// Counts blocks as they come. All are full except the last (PACK-11).
package struct BlockRow: Sendable {
    private let stream: PackedStream
    /// The length of the blocks so far, in bytes of plaintext.
    package private(set) var length: UInt64 = 0
    private var sawShortBlock = false

    package init(_ stream: PackedStream) {
        self.stream = stream
    }

    /// Checks that one more block may follow. After a short block, a reader of ranges would look for the next one in
    /// the wrong place.
    ///
    /// - Parameter position: where the block's item begins in the stream.
    /// - Throws: `packingMalformed`.
    package func checkNext(at position: UInt64) throws(VaultError) {
        guard !sawShortBlock else { throw stream.malformed("a block follows a short block", at: position) }
    }

    package mutating func append(_ count: Int) {
        length += UInt64(count)
        sawShortBlock = count < stream.chunkSize.bytes
    }
}
