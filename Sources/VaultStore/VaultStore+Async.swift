import VaultCrypto
import VaultFile
import VaultFormat
import VaultStream

// No thread of Swift's pool waits here: disks, passphrases and other programs are waited for on threads of the library,
// and the caller's bytes without a thread. No call keeps a key of a class while it waits. What is open has the keys of
// its item alone, and `lock` takes those of the class `complete` away meanwhile.

extension VaultStore {
    /// Runs calls of this store on a thread of the library. They may wait for a disk or for another program, and stretch a
    /// passphrase, while the tasks of the program go on.
    ///
    ///     let listing = try await store.perform { try $0.list() }
    ///
    /// - Parameter body: gets the store.
    /// - Returns: what `body` returns.
    /// - Throws: what `body` throws; `CancellationError` if the task was cancelled.
    public func perform<R: Sendable>(_ body: @Sendable (VaultStore) throws -> R) async throws -> R {
        try await ThreadExecutor.calls.run { try body(self) }
    }

    /// Writes an item from a sequence of pieces, for example what a client sends. It appears, durable, when the sequence
    /// has ended. If the sequence throws, the task is cancelled or the class is locked meanwhile, nothing changes.
    ///
    ///     try await store.write("scans/11.pdf", from: request.body.map { Array($0.readableBytesView) }, protection: .always)
    ///
    /// - Parameters:
    ///   - name: of the item.
    ///   - pieces: its content, in elements of any length. The next one is asked for when the last one is written.
    ///   - asked: its class, as for ``write(_:_:protection:setProtection:if:)``.
    ///   - setProtection: whether an item of another class may be replaced.
    ///   - condition: when to write. It is judged at the beginning and at the end.
    /// - Returns: the item.
    /// - Throws: what ``withWriter(_:protection:setProtection:if:_:)`` throws; what `pieces` throws; `CancellationError`.
    @discardableResult
    public func write<Pieces: AsyncSequence>(
        _ name: String, from pieces: Pieces, protection asked: ItemProtection? = nil, setProtection: Bool = false,
        if condition: WriteCondition = .any
    ) async throws -> StoreItem where Pieces.Element == [UInt8] {
        let writing = try await perform { try Writing(to: $0, $0.draft(name, asked, setProtection, condition)) }
        // With an error, or if the task is cancelled, its file is dropped with it, and never had a name.
        defer { writing.end() }
        for try await piece in pieces {
            try await ThreadExecutor.steps.run { try writing.writer.write(piece.span) }
        }
        return try await perform { try $0.finish(writing) }
    }

    /// Opens an item for reading. Writes nothing.
    ///
    ///     let item = try await store.openItem("scans/11.pdf")
    ///     for try await bytes in try item.pieces() { try await response.write(bytes) }
    ///
    /// - Parameter name: of the item.
    /// - Throws: what ``withReader(_:_:)`` throws before it calls its closure; `CancellationError`.
    public func openItem(_ name: String) async throws -> OpenItem {
        try await perform { OpenItem(try $0.found(name)) }
    }

    private func finish(_ writing: Writing) throws -> StoreItem {
        let length = try writing.writer.finish()
        var draft = writing.draft
        try draft.pending.sync()
        try appear(&draft)
        try folder.syncItems()
        return StoreItem(
            name: draft.name.text, protection: draft.protection, length: length, version: writing.version)
    }
}

extension StoreGroup {
    /// Runs calls of this group on a thread of the library, as ``VaultStore/perform(_:)`` does for those of a store.
    ///
    ///     let store = try await group.perform { try $0.openStore(of: "4711") }
    ///
    /// - Parameter body: gets the group.
    /// - Returns: what `body` returns.
    /// - Throws: what `body` throws; `CancellationError` if the task was cancelled.
    public func perform<R: Sendable>(_ body: @Sendable (StoreGroup) throws -> R) async throws -> R {
        try await ThreadExecutor.calls.run { try body(self) }
    }
}

/// An item that a task writes.
private final class Writing: Sendable {
    let draft: Draft
    let writer: ItemWriter
    let version: StoreItem.Version
    private let entry: UInt64
    private let handles: Handles

    init(to store: VaultStore, _ draft: consuming Draft) throws {
        do {
            (writer, version, entry) = try store.writer(&draft)
        } catch {
            draft.pending.drop()
            throw error
        }
        self.draft = draft
        handles = store.handles
    }

    /// Drops the keys, and the file unless it has its name.
    func end() {
        writer.end()
        handles.remove([entry])
        draft.pending.drop()
    }
}

/// An item that is open for reading by tasks, until the last reference goes.
///
/// If the class of the item is `complete`, each piece that is asked for after ``VaultStore/lock()`` throws `locked`.
public final class OpenItem: Sendable {
    private let found: FoundItem

    init(_ found: FoundItem) {
        self.found = found
    }

    deinit { found.end() }

    /// The item.
    public var item: StoreItem { found.item }

    /// A range of the content as a sequence. Each element is read when the consumer asks for it, and nothing is read ahead.
    ///
    /// - Parameter range: nil for everything. Even then the SHA-256 of the whole is not compared;
    ///   ``ItemReader/readAll(to:)`` compares it.
    /// - Returns: the content. Iteration throws what ``ItemReader/read(_:to:)`` throws, and `CancellationError`.
    /// - Throws: `VaultError` with `rangeInvalid` for a range that does not lie within the content.
    public func pieces(_ range: Range<UInt64>? = nil) throws -> ItemPieces {
        let range = range ?? 0..<item.length
        try ItemReader(found).check(range)
        return ItemPieces(item: self, range: range)
    }

    fileprivate func bytes(_ range: Range<UInt64>) throws -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(range.count)
        try ItemReader(found).read(range) { bytes.append($0) }
        return bytes
    }
}

/// A range of an item's content. ``OpenItem/pieces(_:)`` returns it.
public struct ItemPieces: AsyncSequence, Sendable {
    let item: OpenItem
    let range: Range<UInt64>

    /// Begins a new iteration of the range.
    public func makeAsyncIterator() -> Iterator { Iterator(item: item, rest: range) }

    /// Reads the next bytes when it is asked for them.
    public struct Iterator: AsyncIteratorProtocol, Sendable {
        /// The most bytes of one element. It is a multiple of the chunk size that this library writes, so that no record
        /// is decrypted twice.
        private static let most: UInt64 = 1 << 18

        let item: OpenItem
        var rest: Range<UInt64>

        /// The next bytes, 256 KiB or less, in order; nil at the end of the range.
        ///
        /// - Throws: what ``ItemReader/read(_:to:)`` throws; `CancellationError`. An error ends the sequence.
        public mutating func next() async throws -> [UInt8]? {
            guard !rest.isEmpty else { return nil }
            let (end, isPast) = (rest.lowerBound / Self.most * Self.most).addingReportingOverflow(Self.most)
            let piece = rest.lowerBound..<(isPast ? rest.upperBound : Swift.min(end, rest.upperBound))
            rest = piece.upperBound..<rest.upperBound
            do {
                return try await ThreadExecutor.steps.run { [item] in try item.bytes(piece) }
            } catch {
                rest = rest.upperBound..<rest.upperBound
                throw error
            }
        }
    }
}
