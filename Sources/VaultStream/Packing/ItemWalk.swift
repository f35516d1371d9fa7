package import VaultFormat

/// The way through a packed stream from its first item to its last: what each item's head, and the contents of each
/// index item, must be (PACK-7 to PACK-13). What is in a block's body is another's to judge, and so is how long it
/// becomes.
package struct ItemWalk: Sendable {
    private let stream: PackedStream
    /// Where the item at hand stands in the stream, or where the next one would.
    package private(set) var position: UInt64 = 0
    /// What the next index item must hold.
    private var indexBody: [UInt8] = []
    private var since: UInt64 = 0
    private var blockCount: UInt64 = 0
    private var indexOffsets: [UInt64] = []
    /// Whether an index item has come that only the last group has.
    private var isClosed = false

    package init(_ stream: PackedStream) {
        self.stream = stream
    }

    /// Judges the head of the item at hand, before more of the stream is read: a reader takes no more than it allows.
    ///
    /// - Throws: `packingMalformed`.
    package mutating func begin(_ head: ArraySlice<UInt8>) throws(VaultError) -> ItemHead {
        guard let head = ItemHead(parsing: head) else {
            throw malformed("an item of the packed stream is of no known method")
        }
        switch head.method {
        case .stored, .deflated:
            guard since < PackedStream.groupCount else { throw malformed("an index item is missing") }
            guard (1...stream.chunkSize.bytes).contains(head.bodyCount) else {
                throw malformed("the length of an item's body is out of range")
            }
            // mutant: it takes 20 GB to come here
            guard blockCount < PackedStream.maximumBlockCount else {
                throw malformed("there are more than 2^32 blocks")
            }
        case .index:
            guard since > 0, head.bodyCount == indexBody.count else {
                throw malformed("an index item's length is not that of the blocks before it")
            }
        }
        guard !isClosed else { throw malformed("an item stands behind the last index item") }
        return head
    }

    /// Goes on behind a block's item.
    package mutating func endBlock(_ head: ItemHead) {
        IndexBody.append(UInt32(head.bodyCount), to: &indexBody)
        since += 1
        blockCount += 1
        end(head)
    }

    /// Goes on behind an index item, if it holds what was seen: a reader of ranges would be led elsewhere by any other.
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
                .packingMalformed, "the manifest does not say where the index items stand", offset: offset)
        }
    }
}

/// What the items and blocks of a stream came to.
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
    ///   - streamLength: how many bytes of the stream there were.
    ///   - offset: where the manifest stands.
    /// - Throws: `packingMalformed`, `manifestMismatch`.
    package func check(_ manifest: Manifest, streamLength: UInt64, at offset: UInt64) throws(VaultError) {
        try walk.check(
            manifest, plaintextLength: blocks.length, streamLength: streamLength, at: offset)
    }
}

/// The blocks as they come: all are full but the last (PACK-11).
package struct BlockRow: Sendable {
    private let stream: PackedStream
    /// How much plaintext they held.
    package private(set) var length: UInt64 = 0
    private var sawShortBlock = false

    package init(_ stream: PackedStream) {
        self.stream = stream
    }

    /// Whether one more may follow. What stands behind a short block is not where a reader of ranges looks for it.
    ///
    /// - Parameter position: where its item stands in the stream.
    /// - Throws: `packingMalformed`.
    package func checkNext(at position: UInt64) throws(VaultError) {
        guard !sawShortBlock else { throw stream.malformed("a block stands behind a short one", at: position) }
    }

    package mutating func append(_ count: Int) {
        length += UInt64(count)
        sawShortBlock = count < stream.chunkSize.bytes
    }
}
