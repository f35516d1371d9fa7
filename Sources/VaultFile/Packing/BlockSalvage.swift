import VaultCrypto
import VaultFormat
import VaultStream

/// Reads the blocks of a packed stream that may be damaged anywhere (RECOV-13 to RECOV-15). Holds one record, one item,
/// one block and one index item.
struct BlockSalvage: ~Copyable {
    private let stream: PackedStream
    /// Nil without a manifest.
    private let layout: PackedLayout?
    private var bytes: RecordWindow
    private let reader: BlockReader

    /// - Throws: `memoryUnavailable`.
    init(
        _ stream: PackedStream, _ layout: PackedLayout?, _ bytes: consuming RecordWindow
    ) throws(VaultError) {
        self.stream = stream
        self.layout = layout
        self.bytes = bytes
        reader = try BlockReader(stream)
    }

    /// Reads all blocks in order.
    ///
    /// - Parameters:
    ///   - sink: called with each good block.
    ///   - onLoss: called for each lost block, with its length and the error. Without a manifest the length is that of
    ///     a full block.
    ///   - onPlace: called now and then with the offset in the file that the work has reached.
    mutating func read(
        to sink: (Span<UInt8>) throws -> Void, onLoss: (UInt64, VaultError) throws -> Void,
        onPlace: (UInt64) throws -> Void = { _ in }
    ) throws {
        var group = 0
        var start: UInt64? = 0
        while let from = start, group < layout?.groupCount ?? .max {
            start = try readGroup(group, from: from, to: sink, onLoss: onLoss, onPlace: onPlace)
            group += 1
        }
    }

    /// How the items of a group are found.
    private enum ItemSearch {
        /// By the group's index item.
        case index(GroupIndex)
        /// By the head of each item, which says where the next one begins.
        case heads(next: UInt64)
        /// Not possible: a head is lost or wrong, and there is no index item.
        case lost(VaultError)
    }

    /// - Parameter start: the place of the group in the stream, if there is no manifest.
    /// - Returns: the place of the next group; nil if it is not known.
    private mutating func readGroup(
        _ number: Int, from start: UInt64, to sink: (Span<UInt8>) throws -> Void,
        onLoss: (UInt64, VaultError) throws -> Void, onPlace: (UInt64) throws -> Void
    ) throws -> UInt64? {
        let group = layout?.group(number)
        var search = ItemSearch.heads(next: group?.start ?? start)
        if let group, let index = try index(of: group) { search = .index(index) }
        let first = UInt64(number) * PackedStream.groupCount
        for block in group?.blocks ?? first..<first + PackedStream.groupCount {
            let there = layout?.plaintextRange(ofBlock: block)
            switch try item(ofBlock: block, &search) {
            case .success(let item):
                let (count, why) = (UInt64(there?.count ?? stream.chunkSize.bytes), try give(item, there?.count, sink))
                if let why { try onLoss(count, why) }
                try onPlace(stream.place(of: item.upperBound).offset)
            case .failure(let why):
                // Without a manifest it is not known whether there are more blocks.
                guard let there else { return nil }
                try onLoss(UInt64(there.count), why)
            }
        }
        if layout != nil { return 0 }
        guard case .heads(let end) = search else { return nil }
        let head = ItemHead(.index, bodyCount: IndexBody.entryCount * Int(PackedStream.groupCount))
        guard try self.head(at: end) == .success(head) else { return nil }
        return end + UInt64(head.itemCount)
    }

    private mutating func index(of group: PackedLayout.Group) throws -> GroupIndex? {
        let stream = stream
        return try orLost { bytes in try GroupIndex(group, of: stream, &bytes) }.value
    }

    private mutating func item(ofBlock block: UInt64, _ search: inout ItemSearch) throws -> Result<
        Range<UInt64>, VaultError
    > {
        switch search {
        case .index(let index):
            guard let item = index.item(ofBlock: block) else { return .failure(GroupIndex.lacks(block, of: stream)) }
            return .success(item)
        case .heads(let next):
            switch try head(at: next) {
            case .success(let head)
            where head.method != .index && (1...stream.chunkSize.bytes).contains(head.bodyCount):
                let end = next + UInt64(head.itemCount)
                search = .heads(next: end)
                return .success(next..<end)
            case .success:
                search = .lost(stream.malformed("there is no item of a block where one should be", at: next))
            case .failure(let why):
                search = .lost(why)
            }
            return try item(ofBlock: block, &search)
        case .lost(let why):
            return .failure(why)
        }
    }

    private mutating func head(at position: UInt64) throws -> Result<ItemHead, VaultError> {
        let stream = stream
        return try orLost { bytes in
            var head: [UInt8] = []
            try bytes.append(position..<position + UInt64(ItemHead.count), to: &head)
            guard let head = ItemHead(parsing: head[...]) else {
                throw stream.malformed("an item of the packed stream has an unknown method", at: position)
            }
            return head
        }
    }

    /// - Returns: the error, if the block is lost; nil if it was passed to the sink.
    private mutating func give(
        _ item: Range<UInt64>, _ count: Int?, _ sink: (Span<UInt8>) throws -> Void
    ) throws -> VaultError? {
        let reader = reader
        var failure: (any Error)?
        let outcome = try orLost { bytes in
            try reader.withBlock(at: item, count: count, &bytes) { block in
                // An error of the sink is not a loss.
                do { try sink(block) } catch { failure = error }
            }
        }
        if let failure { throw failure }
        if case .failure(let why) = outcome { return why }
        return nil
    }

    /// Runs `body`, which fails if the records that it needs are damaged.
    private mutating func orLost<R>(_ body: (inout RecordWindow) throws -> R) throws -> Result<R, VaultError> {
        do {
            return .success(try body(&bytes))
        } catch {
            return .failure(try Damage.checked(error))
        }
    }
}

extension Result where Failure == VaultError {
    fileprivate var value: Success? { try? get() }
}
