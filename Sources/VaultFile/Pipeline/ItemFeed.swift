import VaultCrypto
import VaultFormat
import VaultStream

/// Items of blocks in a worker's memory, one after another.
struct HeldItems: ~Copyable {
    struct Item {
        let head: ItemHead
        /// Its body in `bytes`.
        let body: Range<Int>
        /// Its place in the stream.
        let position: UInt64
    }

    var items: [Item] = []
    var bytes = ByteBuffer()
    /// The place of an item that the end of the stream cuts off; nil if there is none.
    var begun: UInt64?
    /// The error that follows these items.
    var failure: (any Error)?

    var isEmpty: Bool { items.isEmpty && begun == nil && failure == nil }
}

/// Reads the items of a packed stream from its records, in order. The worker that takes items opens the records, one
/// piece at a time: inflating takes ten times as long.
struct ItemFeed: ~Copyable {
    private let feed: any RecordFeed
    private(set) var walk: ItemWalk
    private var piece: RecordPiece
    /// The texts in `piece` that are not in an item yet; the next one is last.
    private var texts: [Range<Int>] = []
    /// The bytes of the current item that had come when the items before it were taken.
    private var begun = ByteBuffer()
    /// The head of the current item, once it is accepted.
    private var head: ItemHead?
    /// The error that follows `texts`.
    private var failure: (any Error)?
    private var isOver = false

    /// - Throws: `memoryUnavailable`.
    init(_ feed: any RecordFeed, _ stream: PackedStream) throws(VaultError) {
        self.feed = feed
        walk = ItemWalk(stream)
        piece = try RecordPiece(for: feed)
    }

    /// Takes the next items of blocks: at most `most`, fewer if no more have come through a pipe, none at the end.
    ///
    /// - Parameter held: its items are dropped, and its memory is used again.
    mutating func take(_ most: Int, into held: inout HeldItems) {
        held.items.removeAll(keepingCapacity: true)
        held.bytes.removeAll()
        (held.begun, held.failure) = (nil, nil)
        guard !isOver else { return }
        var start = 0
        do {
            try begun.withSpan { bytes throws(VaultError) in try held.bytes.append(bytes) }
            while held.items.count < most, try next(&held, &start) {}
            begun.removeAll()
            try held.bytes.withSpan { bytes throws(VaultError) in
                try begun.append(bytes.extracting(start..<bytes.count))
            }
            held.bytes.setCount(start)
        } catch {
            held.failure = error
            isOver = true
        }
        if isOver, let head, head.method != .index { held.begun = walk.position }
    }

    /// Takes a head or a body.
    ///
    /// - Parameter start: where the current item begins in `held`.
    /// - Returns: whether there was one.
    private mutating func next(_ held: inout HeldItems, _ start: inout Int) throws -> Bool {
        let end = start + (head?.itemCount ?? ItemHead.count)
        guard try fill(&held.bytes, to: end, mayWait: held.items.isEmpty) else { return false }
        guard let head else {
            head = try walk.begin(held.bytes.copy(of: start..<end)[...])
            return true
        }
        let body = start + ItemHead.count..<end
        if head.method == .index {
            try walk.endIndex(head, held.bytes.copy(of: body)[...])
            held.bytes.setCount(start)
        } else {
            held.items.append(.init(head: head, body: body, position: walk.position))
            walk.endBlock(head)
            start = end
        }
        self.head = nil
        return true
    }

    /// Appends the next bytes of the stream, until there are `count` bytes. Opens more records if it has to.
    ///
    /// - Parameter mayWait: false if the worker already has items: the next bytes may come much later.
    /// - Returns: whether there are `count` bytes.
    private mutating func fill(_ bytes: inout ByteBuffer, to count: Int, mayWait: Bool) throws -> Bool {
        while bytes.count < count {
            if let text = texts.popLast() {
                let taken = text.prefix(count - bytes.count)
                try piece.bytes.withSpan(of: taken) { text throws(VaultError) in try bytes.append(text) }
                if taken.count < text.count { texts.append(text.dropFirst(taken.count)) }
                continue
            }
            if let failure { throw failure }
            guard mayWait || feed.isReady else { return false }
            guard try piece.take(from: feed) else {
                isOver = true
                return false
            }
            open()
        }
        return true
    }

    /// Opens the records that were taken, up to the first that fails. What they hold comes before that failure.
    private mutating func open() {
        piece.open(by: feed, stopsAtFailure: true)
        failure = piece.failure
        texts = piece.records.filter(\.isOpened).map(\.textPart).reversed()
    }
}
