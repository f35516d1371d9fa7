import VaultFormat

/// A tar stream of which any part can be read, such as the plaintext of a container.
public struct TarSource: Sendable {
    private let bytes: @Sendable (_ offset: UInt64, _ count: Int) throws -> [UInt8]

    /// - Parameter bytes: reads a part of the stream: `count` bytes from `offset` on, fewer only at its end. It is asked
    ///   for at most 2²⁰ bytes at a time.
    /// - Throws: nothing itself. What `bytes` throws comes out of the calls that read.
    public init(reading bytes: @escaping @Sendable (_ offset: UInt64, _ count: Int) throws -> [UInt8]) {
        self.bytes = bytes
    }

    /// The same stream. Before each read, `note` is told how many bytes it asks for; what it throws takes the place of the
    /// read.
    package func noting(_ note: @escaping @Sendable (Int) throws -> Void) -> TarSource {
        TarSource { [bytes] offset, count in
            try note(count)
            return try bytes(offset, count)
        }
    }

    /// Reads the headers of the entry that begins at a place.
    ///
    /// - Parameter place: the number of a 512-byte block.
    /// - Returns: the entry; nil at the end of the stream.
    /// - Throws: ``NotTar`` if there are no headers; what reading throws.
    public func entry(at place: UInt64) throws -> TarEntry? {
        guard place < TarIndex.placeLimit else { throw NotTar("the place is too far") }
        var parser = TarEntryParser(at: place)
        var offset = place * UInt64(TarBlock.count)
        while true {
            let wanted = parser.wanted
            let found = try bytes(offset, wanted)
            guard found.count == wanted else {
                let isEnd = found.isEmpty && offset == place * UInt64(TarBlock.count)
                throw NotTar(isEnd ? "its end mark is missing" : "it ends within a header")
            }
            offset += UInt64(wanted)
            switch try parser.take(found.span) {
            case .more: continue
            case .end: return nil
            case .entry(let entry): return entry
            }
        }
    }

    /// Passes the entries of the stream to `body`, until it returns false. This reads every header, and no content.
    ///
    /// - Parameters:
    ///   - places: the place of the first of these entries, and the place where they end; without an upper bound, the end
    ///     of the stream.
    ///   - body: takes an entry, and says whether to go on.
    /// - Throws: ``NotTar`` if the stream breaks off or has no header where one must be; what reading and `body` throw.
    public func forEachEntry(
        from start: UInt64 = 0, to end: UInt64? = nil, _ body: (TarEntry) throws -> Bool
    ) throws {
        var place = start
        while end.map({ place < $0 }) ?? true {
            guard let entry = try entry(at: place), try body(entry) else { return }
            place = entry.nextPlace
        }
    }

    /// Reads the headers at an entry of the index (TAR-8).
    ///
    /// - Throws: `VaultError` with `indexMismatch` if the stream has another entry there, or none; what reading throws.
    public func entry(at indexed: TarIndex.Entry) throws -> TarEntry {
        let found: TarEntry?
        do {
            found = try entry(at: indexed.place)
        } catch is NotTar {
            found = nil
        }
        guard let found, found.path == indexed.path else { throw TarIndex.mismatch }
        return found
    }

    /// Finds the last entry with a path (TAR-9).
    ///
    /// - Parameters:
    ///   - path: the path.
    ///   - index: the index of the stream; nil to read every header of the stream instead. The stream then wins where
    ///     the two differ (TAR-10).
    ///   - limit: only entries that begin before this block are looked for, such as those that a hard link at it can
    ///     lead to (TAR-12); nil for all.
    /// - Returns: the entry; nil if the stream has none with this path.
    /// - Throws: `VaultError` with `indexMismatch` if the index does not fit the stream; ``NotTar`` if there is no index
    ///   and the stream breaks off; what reading throws.
    public func find(_ path: TarPath, index: TarIndex?, before limit: UInt64? = nil) throws -> TarEntry? {
        // An index of some entries of a stream in no order helps to find none of them.
        guard let index, index.stepExponent == 0 || index.isSorted else {
            return try last(with: path, from: 0, to: limit)
        }
        let (before, after) = index.neighbours(of: path, before: limit)
        if index.stepExponent == 0 {
            guard let before, before.path == path else { return nil }
            return try entry(at: before)
        }
        if let before { _ = try entry(at: before) }
        do {
            return try last(
                with: path, from: before?.place ?? 0, to: [after?.place, limit].compactMap(\.self).min())
        } catch is NotTar {
            throw TarIndex.mismatch
        }
    }

    /// - Throws: ``NotTar`` if the entries do not lead to the place where they are to end: one of the two places is
    ///   within the content of an entry then, or behind the end of the stream.
    private func last(with path: TarPath, from start: UInt64, to end: UInt64?) throws -> TarEntry? {
        var (last, next): (TarEntry?, UInt64) = (nil, start)
        try forEachEntry(from: start, to: end) { entry in
            if entry.path == path { last = entry }
            next = entry.nextPlace
            return true
        }
        guard end.map({ next == $0 }) ?? true else { throw NotTar("no entry begins where one must") }
        return last
    }
}

extension TarIndex {
    /// The last entry from which on a path is to be looked for, and the first one behind which it cannot be.
    ///
    /// Without an order, with every entry of the stream, it is the last entry with this path.
    ///
    /// - Parameter limit: the place before which entries count; nil for all.
    package func neighbours(of path: TarPath, before limit: UInt64? = nil) -> (before: Entry?, after: Entry?) {
        var (before, after): (Entry?, Entry?)
        var (cursor, match) = (Cursor(self), PathMatch(path))
        while after == nil, let entry = cursor.next() {
            if let limit, entry.place >= limit { break }
            switch match.order(of: cursor.path, sharing: cursor.shared) {
            case .equal: before = entry
            case .before: if isSorted { before = entry }
            case .after: if isSorted { after = entry }
            }
        }
        return (before, after)
    }
}
