import VaultCrypto
import VaultFormat
import VaultStream

/// Items of blocks in a worker's hand, one behind the other.
struct HeldItems {
    struct Item {
        let head: ItemHead
        /// Where its body stands in `bytes`.
        let body: Range<Int>
        /// Where it stands in the stream.
        let position: UInt64
    }

    var items: [Item] = []
    var bytes: [UInt8] = []
    /// Where in the stream a block's item stands that was begun and is not complete, when there was no more.
    var begun: UInt64?
    /// What comes behind all that.
    var failure: (any Error)?

    var isEmpty: Bool { items.isEmpty && begun == nil && failure == nil }
}

/// Where the items of a packed stream come from: out of records, in their order. Records are opened by whoever takes items,
/// one at a time: to inflate takes ten times as long.
struct ItemFeed {
    private let feed: any RecordFeed
    private let cipher: RecordCipher
    private(set) var walk: ItemWalk
    private var records: [HeldRecord] = []
    private var sealed: [UInt8]
    /// Of the stream, what no item was made of yet, from `start` on.
    private var stream: [UInt8] = []
    private var start = 0
    /// Of the item at hand, once it is judged.
    private var head: ItemHead?
    /// Why there is no more behind `stream`.
    private var failure: (any Error)?
    private var isOver = false

    init(_ feed: any RecordFeed, _ cipher: RecordCipher, _ stream: PackedStream) {
        self.feed = feed
        self.cipher = cipher
        walk = ItemWalk(stream)
        sealed = [UInt8](repeating: 0, count: feed.pieceCount)
    }

    /// Takes the next items of blocks, as many as `most`, or have come through a pipe: none at the end.
    mutating func take(_ most: Int) -> HeldItems {
        var held = HeldItems()
        guard !isOver else { return held }
        do {
            while held.items.count < most, try next(&held) {}
        } catch {
            held.failure = error
            isOver = true
        }
        if isOver, let head, head.method != .index { held.begun = walk.position }
        if !held.items.isEmpty {
            // Handed over where they stand; few bytes are behind them.
            let rest = [UInt8](stream[start...])
            held.bytes = exchange(&stream, with: rest)
            start = 0
        }
        return held
    }

    /// Takes a head or a body.
    ///
    /// - Returns: whether there was one more.
    private mutating func next(_ held: inout HeldItems) throws -> Bool {
        guard try fill(head?.itemCount ?? ItemHead.count, mayWait: held.items.isEmpty) else { return false }
        guard let head else {
            head = try walk.begin(stream[start..<start + ItemHead.count])
            return true
        }
        let body = start + ItemHead.count..<start + head.itemCount
        if head.method == .index {
            try walk.endIndex(head, stream[body])
        } else {
            held.items.append(.init(head: head, body: body, position: walk.position))
            walk.endBlock(head)
        }
        start += head.itemCount
        self.head = nil
        return true
    }

    /// Opens records until there are so many bytes.
    ///
    /// - Parameter mayWait: false where there is something that can go on: it may be long until more comes.
    /// - Returns: whether there are.
    private mutating func fill(_ count: Int, mayWait: Bool) throws -> Bool {
        while stream.count - start < count {
            if let failure { throw failure }
            guard mayWait || feed.isReady else { return false }
            if mayWait {
                // No item in hand points there.
                stream.removeFirst(start)
                start = 0
            }
            records.removeAll(keepingCapacity: true)
            try feed.take(&records, into: &sealed)
            guard !records.isEmpty else {
                isOver = true
                return false
            }
            open()
        }
        return true
    }

    /// Opens the records in hand, as far as they are good. What they hold comes before what failed.
    private mutating func open() {
        feed.load(&records, into: &sealed)
        var opened: [Range<Int>] = []
        do {
            for record in records {
                if case .failed(let error) = record.fate { throw error }
                try sealed.withMutableSpan(of: record.place) { [cipher] bytes throws(VaultError) in
                    try cipher.openData(&bytes, index: record.index, offset: record.offset)
                }
                opened.append(record.textPlace)
            }
        } catch {
            failure = error
        }
        stream.reserveCapacity(stream.count + opened.reduce(0) { $0 + $1.count })
        for text in opened { stream += sealed[text] }
    }
}
