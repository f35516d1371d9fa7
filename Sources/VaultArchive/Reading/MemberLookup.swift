internal import Synchronization
internal import VaultFormat
public import VaultTar

/// Finds members of a tar stream by their paths, and what hard links lead to. It is made for many calls: it does not
/// read all headers, nor decode the index, once for each.
public final class MemberLookup: Sendable {
    /// What a caller may want to tell its user.
    public enum Notice {
        /// The index does not fit the stream, which is read instead from now on.
        case indexMismatch
        /// Headers cannot be read. Members with a path that is looked for may be there.
        case gap(MemberWalk.Gap)
    }

    private struct State {
        /// Nil once it was seen that it does not fit the stream.
        var index: TarIndex?
        var table: PlaceTable?
        /// The first gap of the stream.
        var gap: MemberWalk.Gap?
        /// Whether the stream has too many members for a table.
        var isTooLong = false
        /// How many bytes of the index were decoded without a table.
        var decoded: UInt64 = 0
    }

    /// More links behind each other lead to nothing, as those that a system follows.
    private static let mostLinks = 40
    /// The most entries of a table, which takes 16 bytes for each.
    private static let mostEntries = 8 << 20

    private let window: StreamWindow
    private let tell: @Sendable (Notice) -> Void
    private let state: Mutex<State>
    /// The stream for calls without a table, and how many reads they have made.
    private let counted: TarSource
    private let reads: Count

    /// - Parameters:
    ///   - window: the stream.
    ///   - index: its index; nil to go by the stream.
    ///   - tell: takes notices.
    public init(_ window: StreamWindow, index: TarIndex?, tell: @escaping @Sendable (Notice) -> Void) {
        self.window = window
        self.tell = tell
        state = Mutex(State(index: index))
        let reads = Count()
        self.reads = reads
        counted = TarSource { offset, count in
            reads.value.add(1, ordering: .relaxed)
            return try window.bytes(at: offset, count: count)
        }
    }

    /// The stream, for reading headers.
    var source: TarSource { window.source }

    /// Finds the last member with a path (TAR-9).
    ///
    /// - Parameters:
    ///   - path: the path.
    ///   - limit: only members that begin before this block count; nil for all.
    /// - Returns: nil if there is none.
    /// - Throws: ``NotTar`` if the stream breaks off; what reading throws, also if there is none, and headers cannot be
    ///   read that may be its.
    public func find(_ path: TarPath, before limit: UInt64? = nil) throws -> TarEntry? {
        try state.withLock { state in
            if let index = state.index {
                do {
                    return try find(path, before: limit, by: index, &state)
                } catch let error as VaultError where error.code == .indexMismatch {
                    tell(.indexMismatch)
                    (state.index, state.table) = (nil, nil)
                }
            }
            return try findByStream(path, before: limit, &state)
        }
    }

    /// The member that a hard link leads to: the last one with its target's path that is before it. If that is a hard
    /// link too, what it leads to (TAR-12).
    ///
    /// - Returns: nil if it leads to nothing; the member itself if it is no hard link.
    /// - Throws: as `find`.
    public func target(of member: TarEntry) throws -> TarEntry? {
        var member = member
        for _ in 0..<Self.mostLinks where member.kind == .hardLink {
            guard let path = TarPath(trimming: member.linkTarget), let next = try find(path, before: member.place)
            else {
                return nil
            }
            member = next
        }
        return member.kind == .hardLink ? nil : member
    }

    private func find(
        _ path: TarPath, before limit: UInt64?, by index: TarIndex, _ state: inout State
    ) throws -> TarEntry? {
        if state.table != nil { return try look(path, before: limit, state) }
        // What a maker can put into a small stream must not cost the square of its length. In a long one, to decode the
        // index again is cheap beside reading all headers.
        let isWhole = index.stepExponent == 0
        let mostDecoded = Self.leastDecoded + (isWhole ? 0 : window.length / 4)
        let mostReads = Self.leastReads + Int(clamping: window.length >> 16)
        if isWhole || index.isSorted, state.decoded < mostDecoded, reads.value.load(ordering: .relaxed) < mostReads {
            state.decoded += UInt64(index.value.count)
            do {
                return try counted.find(path, index: index, before: limit)
            } catch  where !isWhole && MemberWalk.isDamage(error) {
                return try findPastDamage(path, before: limit, by: index, error)
            }
        }
        guard isWhole else { return try findByStream(path, before: limit, &state) }
        var table = PlaceTable()
        index.forEach { entry in
            table.add(entry.path, entry.place)
            return true
        }
        table.sort()
        state.table = table
        return try look(path, before: limit, state)
    }

    /// Finds a path by an index of some members, where a header on the way to it is damaged.
    private func findPastDamage(
        _ path: TarPath, before limit: UInt64?, by index: TarIndex, _ error: any Error
    ) throws -> TarEntry? {
        var found: TarEntry?
        try MemberWalk(source, index: index).members(at: path) { step in
            switch step {
            case .member(let entry): if entry.path == path, entry.place < limit ?? .max { found = entry }
            case .lost(let entry): if entry.path == path, entry.place < limit ?? .max { found = nil }
            case .gap(let gap): tell(.gap(gap))
            case .indexDiffers: break
            }
            return true
        }
        guard let found else { throw error }
        return found
    }

    /// Enough for a few calls with the largest index.
    private static let leastDecoded: UInt64 = 1 << 22
    private static let leastReads = 1 << 16

    private func findByStream(_ path: TarPath, before limit: UInt64?, _ state: inout State) throws -> TarEntry? {
        if state.table == nil, !state.isTooLong { try readAll(&state) }
        guard state.table == nil else { return try look(path, before: limit, state) }
        return try source.find(path, index: nil, before: limit)
    }

    /// Makes the table by the headers of the stream.
    private func readAll(_ state: inout State) throws {
        var table = PlaceTable()
        var (gap, end): (MemberWalk.Gap?, UInt64) = (nil, 0)
        func pass(_ found: MemberWalk.Gap) {
            gap = gap ?? found
            tell(.gap(found))
        }
        do {
            try MemberWalk(source, index: state.index).all { step in
                switch step {
                case .member(let entry):
                    if let path = entry.path { table.add(path, entry.place) }
                    end = entry.nextPlace
                // To read its headers gives the error again.
                case .lost(let entry): table.add(entry.path, entry.place)
                case .gap(let found): pass(found)
                case .indexDiffers: break
                }
                return table.count <= Self.mostEntries
            }
        } catch let error as NotTar where end > 0 {
            // It breaks off. What is before that can still be found.
            pass(MemberWalk.Gap(error: error, start: end * 512, end: nil))
        }
        state.isTooLong = table.count > Self.mostEntries
        guard !state.isTooLong else { return }
        table.sort()
        (state.table, state.gap) = (table, gap)
    }

    /// Finds a path by the table.
    private func look(_ path: TarPath, before limit: UInt64?, _ state: State) throws -> TarEntry? {
        guard let table = state.table else { return nil }
        for place in table.places(of: path, before: limit) {
            let entry: TarEntry?
            do {
                entry = try source.entry(at: place)
            } catch is NotTar {
                entry = nil
            }
            // The places can be those of an index (TAR-8).
            guard let entry, let found = entry.path, found.hashValue == path.hashValue else { throw Self.mismatch }
            if found == path { return entry }
        }
        if let gap = state.gap, limit.map({ gap.start / 512 < $0 }) ?? true { throw gap.error }
        return nil
    }

    private static var mismatch: VaultError {
        VaultError(.indexMismatch, "the index of the tar stream does not fit the stream")
    }
}

/// The places of entries by the hashes of their paths. The paths themselves can take a thousand times the memory.
private struct PlaceTable {
    private var entries: [(hash: Int, place: UInt64)] = []

    var count: Int { entries.count }

    mutating func add(_ path: TarPath, _ place: UInt64) { entries.append((path.hashValue, place)) }

    /// Makes the table ready, when all entries are in it.
    mutating func sort() { entries.sort { ($0.hash, $0.place) < ($1.hash, $1.place) } }

    /// The places where a path can be, from the last one on. Hashes have a seed that no maker knows, so another path is
    /// hardly ever among them.
    func places(of path: TarPath, before limit: UInt64?) -> some Sequence<UInt64> {
        let wanted = (path.hashValue, limit ?? UInt64.max)
        var (start, end) = (0, entries.count)
        while start < end {
            let middle = start + (end - start) / 2
            if (entries[middle].hash, entries[middle].place) < wanted { start = middle + 1 } else { end = middle }
        }
        return sequence(state: start) { [entries] next -> UInt64? in
            guard next > 0, entries[next - 1].hash == wanted.0 else { return nil }
            next -= 1
            return entries[next].place
        }
    }
}

/// Counts reads of several threads.
private final class Count: Sendable {
    let value = Atomic(0)
}
