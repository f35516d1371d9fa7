internal import Synchronization
internal import VaultFormat
public import VaultTar

/// Finds members of a tar stream by their paths, and what hard links lead to. It is made for many calls: it does not
/// read all headers, nor decode the index, once for each.
public final class MemberLookup: Sendable {
    /// What a caller may want to tell its user. The same can come again.
    public enum Notice {
        /// The index does not fit the stream, which is read instead from now on.
        case indexMismatch
        /// Headers cannot be read. A member with the path that is looked for may be there.
        case gap(MemberWalk.Gap)
    }

    /// What a lookup may cost, for a stream of a stranger.
    public struct Limits: Sendable {
        /// The most members of a table, which takes 16 bytes for each. A longer stream is read again for each call.
        var members = 8 << 20
        /// The most bytes of headers and of the index that are read for all calls together.
        var bytes = UInt64.max

        /// For one who looks up each member of a stream: what a maker can put into a small stream, such as a million
        /// links to a member with headers of a gigabyte, must not cost the product of the two.
        public static func linear(in length: UInt64) -> Limits {
            Limits(bytes: (1 << 28) + 16 * min(length, 1 << 58))
        }

        /// For one who looks up what its user asks for.
        public static var none: Limits { Limits() }
    }

    private struct State {
        /// Nil once it was seen that it does not fit the stream.
        var index: TarIndex?
        var table: PlaceTable?
        /// The gaps of the stream, as blocks, in ascending order.
        var gaps: [(start: UInt64, end: UInt64?)] = []
        /// The last one, if the stream breaks off there.
        var cut: MemberWalk.Gap?
        /// Whether the stream has too many members for a table.
        var isTooLong = false
        /// How many bytes of the index were decoded without a table.
        var decoded: UInt64 = 0
    }

    /// More links behind each other lead to nothing, as those that a system follows.
    private static let mostLinks = 40

    private let window: StreamWindow
    private let goesByStream: Bool
    private let limits: Limits
    private let tell: @Sendable (Notice) -> Void
    private let state: Mutex<State>
    /// The stream, and what calls have read of it.
    private let counted: TarSource
    private let reads: ReadCount
    private let bytes: ReadCount

    /// - Parameters:
    ///   - window: the stream.
    ///   - index: its index; nil if it has none.
    ///   - goesByStream: whether to find members by the stream alone. The index then says only where it goes on behind
    ///     headers that cannot be read.
    ///   - tell: takes notices.
    public init(
        _ window: StreamWindow, index: TarIndex?, goesByStream: Bool = false, limits: Limits = .none,
        tell: @escaping @Sendable (Notice) -> Void
    ) {
        self.window = window
        self.goesByStream = goesByStream
        self.limits = limits
        self.tell = tell
        state = Mutex(State(index: index))
        let (reads, bytes) = (ReadCount(), ReadCount())
        (self.reads, self.bytes) = (reads, bytes)
        counted = window.source.noting { count in
            reads.add(1)
            try bytes.add(UInt64(count), atMost: limits.bytes)
        }
    }

    /// The stream, for reading headers.
    var source: TarSource { window.source }

    /// Finds the last member with a path (TAR-9). A gap where a later one may be is a notice.
    ///
    /// - Parameter path: the path.
    /// - Returns: nil if there is none.
    /// - Throws: ``NotTar`` if the stream is no tar stream; `VaultError` with `tooLarge` if it costs too much; what
    ///   reading throws, also if there is none, and headers cannot be read that may be its.
    public func find(_ path: TarPath) throws -> TarEntry? { try find(path, before: nil) }

    /// Finds the last member with a path that begins before a block.
    ///
    /// - Throws: as above, and also if there may be a later one in a gap before that block.
    func find(_ path: TarPath, before limit: UInt64?) throws -> TarEntry? {
        try state.withLock { state in
            if !goesByStream, let index = state.index {
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
    /// - Throws: as `find`, and also if headers before the link cannot be read, and a later member with the path may be
    ///   among them: the content of an older one is not that of the link.
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
        let mostReads = Self.leastReads + window.length >> 16
        let isCheap = state.decoded < mostDecoded && reads.value < mostReads
        if isWhole || index.isSorted, isCheap || state.isTooLong {
            state.decoded += UInt64(index.value.count)
            try bytes.add(UInt64(index.value.count), atMost: limits.bytes)
            do {
                return try counted.find(path, index: index, before: limit)
            } catch  where !isWhole && MemberWalk.isDamage(error) {
                return try walk(to: path, before: limit, index, isByIndex: true)
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

    /// Finds a path by reading headers, past those that are damaged.
    ///
    /// - Parameter isByIndex: whether to read only those near the path, by a sorted index.
    private func walk(
        to path: TarPath, before limit: UInt64?, _ index: TarIndex?, isByIndex: Bool
    ) throws -> TarEntry? {
        // The last member with the path, and what may hide a later one.
        var (found, gap): (TarEntry?, MemberWalk.Gap?)
        func take(_ step: MemberWalk.Step) -> Bool {
            switch step {
            case .member(let entry):
                if entry.path == path, entry.place < limit ?? .max { (found, gap) = (entry, nil) }
            case .lost(let entry): if entry.path == path, entry.place < limit ?? .max { found = nil }
            case .gap(let new): if new.start / 512 < limit ?? .max { gap = new }
            case .indexDiffers: break
            }
            return true
        }
        let walk = MemberWalk(counted, index: index)
        if isByIndex { try walk.members(at: path, take) } else { try walk.all(take) }
        if let gap { try pass(gap, isError: found == nil || limit != nil) }
        return found
    }

    /// Enough for a few calls with the largest index.
    private static let leastDecoded: UInt64 = 1 << 22
    private static let leastReads: UInt64 = 1 << 16

    private func findByStream(_ path: TarPath, before limit: UInt64?, _ state: inout State) throws -> TarEntry? {
        if state.table == nil, !state.isTooLong { try readAll(&state) }
        guard state.table == nil else { return try look(path, before: limit, state) }
        return try walk(to: path, before: limit, state.index, isByIndex: false)
    }

    /// Makes the table by the headers of the stream.
    private func readAll(_ state: inout State) throws {
        var table = PlaceTable()
        var gaps: [(start: UInt64, end: UInt64?)] = []
        var cut: MemberWalk.Gap?
        try MemberWalk(source, index: state.index).all { step in
            switch step {
            case .member(let entry): if let path = entry.path { table.add(path, entry.place) }
            // To read its headers gives the error again.
            case .lost(let entry): table.add(entry.path, entry.place)
            case .gap(let gap):
                gaps.append((gap.start / 512, gap.end.map { $0 / 512 }))
                if gap.error is NotTar { cut = gap }
            case .indexDiffers: break
            }
            return table.count <= limits.members
        }
        state.isTooLong = table.count > limits.members
        guard !state.isTooLong else { return }
        table.sort()
        (state.table, state.gaps, state.cut) = (table, gaps, cut)
    }

    /// Finds a path by the table.
    private func look(_ path: TarPath, before limit: UInt64?, _ state: State) throws -> TarEntry? {
        guard let table = state.table else { return nil }
        var found: TarEntry?
        for place in table.places(of: path, before: limit) {
            let entry: TarEntry?
            do {
                entry = try counted.entry(at: place)
            } catch is NotTar {
                entry = nil
            }
            // The places can be those of an index (TAR-8).
            guard let entry, let its = entry.path, its.hashValue == path.hashValue else { throw TarIndex.mismatch }
            if its == path {
                found = entry
                break
            }
        }
        // A later member with the path may be lost in a gap behind it.
        let gaps = state.gaps.prefix(state.gaps.countOfFirst { $0.start < limit ?? .max })
        guard let (start, end) = gaps.last, start >= found?.place ?? 0
        else { return found }
        if let cut = state.cut, cut.start / 512 == start {
            try pass(cut, isError: false)
            return found
        }
        do {
            _ = try counted.entry(at: start)
        } catch  where MemberWalk.isDamage(error) {
            let gap = MemberWalk.Gap(error: error, start: start * 512, end: end.map { $0 * 512 })
            try pass(gap, isError: found == nil || limit != nil)
            return found
        }
        throw VaultError(.contentMismatch, "headers that could not be read before can be read now")
    }

    /// Reports a gap.
    ///
    /// - Parameter isError: whether the caller must not go on. Where a stream breaks off nothing is damaged: a member
    ///   that may be missing there is not looked for any longer.
    private func pass(_ gap: MemberWalk.Gap, isError: Bool) throws {
        tell(.gap(gap))
        if isError, !(gap.error is NotTar) { throw gap.error }
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
        let start = entries.countOfFirst { ($0.hash, $0.place) < wanted }
        return sequence(state: start) { [entries] next -> UInt64? in
            guard next > 0, entries[next - 1].hash == wanted.0 else { return nil }
            next -= 1
            return entries[next].place
        }
    }
}

extension Array {
    /// How many elements at the beginning have a property that none has behind one without it.
    fileprivate func countOfFirst(_ has: (Element) -> Bool) -> Int {
        var (start, end) = (0, count)
        while start < end {
            let middle = start + (end - start) / 2
            if has(self[middle]) { start = middle + 1 } else { end = middle }
        }
        return start
    }
}
