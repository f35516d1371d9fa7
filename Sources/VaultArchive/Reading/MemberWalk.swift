internal import SystemPackage
internal import VaultFormat
public import VaultTar

/// Goes through the members of a tar stream: all of them, or those that some paths name.
///
/// It goes on after damage at the next member that the index has.
public struct MemberWalk {
    /// A part of the stream whose headers cannot be read.
    public struct Gap: Sendable {
        /// Why: ``NotTar`` if the stream breaks off, or has no header where one must be.
        public let error: any Error
        /// Where it begins, in bytes of the stream.
        public let start: UInt64
        /// Where the walk goes on; nil if it does not.
        public let end: UInt64?
        /// The last member of a stream that breaks off. The end of its content can be missing.
        public var last: TarEntry?
    }

    /// What the walk finds.
    public enum Step {
        /// A member.
        case member(TarEntry)
        /// The index has a member in a gap. There may be more in it.
        case lost(TarIndex.Entry)
        /// The end of a gap, behind the members in it.
        case gap(Gap)
        /// The index differs from the stream at a member, for the first time.
        case indexDiffers
    }

    private let source: TarSource
    /// The stream, where the walk tries what the index has in a gap.
    private let tried: TarSource
    private let index: TarIndex?
    private let isDamage: (any Error) -> Bool

    /// What a walk may read of gaps in vain: headers of some length for each entry of the index. Without a limit, one gap
    /// at the end of headers of a gigabyte, with a million entries of the index in them, would be read a million times.
    private static let leastTried: UInt64 = 1 << 28
    private static let triedForEntry: UInt64 = 1 << 14

    /// - Parameters:
    ///   - source: the stream.
    ///   - index: its index.
    ///   - isDamage: whether the walk goes on after an error of reading.
    public init(_ source: TarSource, index: TarIndex?, isDamage: @escaping (any Error) -> Bool = isDamage) {
        self.init(source, index: index, leastTried: Self.leastTried, isDamage: isDamage)
    }

    init(
        _ source: TarSource, index: TarIndex?, leastTried: UInt64, isDamage: @escaping (any Error) -> Bool = isDamage
    ) {
        let (bytes, most) = (ReadCount(), leastTried + UInt64(index?.count ?? 0) * Self.triedForEntry)
        self.source = source
        tried = source.noting { try bytes.add(UInt64($0), atMost: most) }
        self.index = index
        self.isDamage = isDamage
    }

    /// Whether an error of reading a container means that bytes are lost, and others may not be.
    public static func isDamage(_ error: any Error) -> Bool {
        guard let error = error as? VaultError else { return false }
        switch error.code {
        case .headerDamaged, .headerMalformed, .headerForged, .unexpectedState, .recordDamaged, .manifestMalformed,
            .manifestMismatch, .contentMismatch, .packingMalformed, .paddingNotZero, .footerDamaged, .truncated,
            .trailingData:
            return true
        // A bad sector is damage too. The other sectors may be good.
        case .inputFailed: return error.errorNumber == Errno.ioError.rawValue
        default: return false
        }
    }

    /// Passes every member of the stream to `body`, from the first header on, until it returns false. What is missing of
    /// a stream that breaks off is a gap.
    ///
    /// - Returns: the number of the block of zeros that ends the stream; nil if the walk does not come to it.
    /// - Throws: ``NotTar`` if there is no member before the place where the stream has no header; what reading throws,
    ///   unless it is damage; what `body` throws.
    @discardableResult
    public func all(_ body: (Step) throws -> Bool) throws -> UInt64? {
        var run = Run(self, from: 0)
        var number: UInt64 = 0
        // After a gap the numbers of the members are not known.
        var isCompared = index != nil
        var last: TarEntry?
        while true {
            let step: Run.Step
            do {
                step = try run.next(body)
            } catch let error as NotTar {
                guard let last else { throw error }
                _ = try body(.gap(Gap(error: error, start: last.nextPlace * 512, end: nil, last: last)))
                return nil
            }
            switch step {
            case .stopped: return nil
            case .gap: isCompared = false
            case .end:
                if isCompared, run.ahead?.next != nil { _ = try body(.indexDiffers) }
                return run.place
            case .entry(let entry):
                if isCompared, let differs = run.ahead?.differs(from: entry, number), differs {
                    isCompared = false
                    guard try run.ahead?.note() != true || body(.indexDiffers) else { return nil }
                }
                number += 1
                last = entry
                run.ahead?.drop(before: entry.nextPlace)
                guard try body(.member(entry)) else { return nil }
            }
        }
    }

    /// The way from header to header.
    private struct Run {
        enum Step {
            case entry(TarEntry)
            /// A gap was passed over.
            case gap
            case end
            /// Nothing behind a gap can be read, or the caller wants no more.
            case stopped
        }

        private let walk: MemberWalk
        private(set) var place: UInt64
        /// The entries of the index that were not reached.
        lazy var ahead = walk.index.map { IndexCursor($0) }

        init(_ walk: MemberWalk, from place: UInt64) {
            self.walk = walk
            self.place = place
        }

        /// - Parameter path: the members at it and below it are looked for, in a sorted stream; nil for all.
        mutating func next(at path: TarPath? = nil, _ body: (MemberWalk.Step) throws -> Bool) throws -> Step {
            do {
                guard let entry = try walk.source.entry(at: place) else { return .end }
                place = entry.nextPlace
                return .entry(entry)
            } catch  where walk.isDamage(error) {
                guard let next = try walk.pass(from: place, &ahead, at: path, error, body) else { return .stopped }
                place = next
                return .gap
            }
        }
    }

    /// Passes over a gap.
    ///
    /// - Parameter path: the members at it and below it are looked for, in a sorted stream; nil for all.
    /// - Returns: the place of the next member that can be read; nil if there is none, or `body` wants no more.
    private func pass(
        from place: UInt64, _ ahead: inout IndexCursor?, at path: TarPath?, _ error: any Error,
        _ body: (Step) throws -> Bool
    ) throws -> UInt64? {
        let start = place * 512
        // What an index of all members does not have below a path is not in the gap either.
        var isConcerned = path == nil || index?.stepExponent != 0
        ahead?.drop(before: place)
        while let next = ahead?.next {
            let isBelow = path.map(next.path.isBelow(orEqualTo:)) ?? true
            if let path, !isBelow, next.path > path {
                if isConcerned { _ = try body(.gap(Gap(error: error, start: start, end: next.place * 512))) }
                return nil
            }
            var (isReadable, isThere) = (false, true)
            if next.place > place {
                do {
                    _ = try tried.entry(at: next)
                    isReadable = true
                } catch let error as VaultError where error.code == .indexMismatch && path == nil {
                    // The stream can be read there, and has no such member. The walk must not go on within a content.
                    isThere = false
                    let isFirst = ahead?.note() == true
                    guard try !isFirst || body(.indexDiffers) else { return nil }
                } catch  where isDamage(error) {
                }
            }
            if isReadable {
                let gap = Gap(error: error, start: start, end: next.place * 512)
                return try !isConcerned || body(.gap(gap)) ? next.place : nil
            }
            if isBelow, isThere {
                isConcerned = true
                guard try body(.lost(next)) else { return nil }
            }
            ahead?.drop(before: next.place + 1)
        }
        if isConcerned { _ = try body(.gap(Gap(error: error, start: start, end: nil))) }
        return nil
    }

    /// Passes the members with a path, and those below it, to `body`. With a sorted index it reads the headers of these
    /// and a few before them; without one, every header. It passes gaps only where members at the path may be lost.
    ///
    /// - Throws: `VaultError` with `indexMismatch` if the index does not fit the stream: before anything was passed if
    ///   the member that the index names is another one; what `all` throws.
    public func members(at path: TarPath, _ body: (Step) throws -> Bool) throws {
        guard let index, index.isSorted else {
            try all { step in
                if case .member(let entry) = step, entry.path?.isBelow(orEqualTo: path) != true { return true }
                if case .lost(let lost) = step, !lost.path.isBelow(orEqualTo: path) { return true }
                return try body(step)
            }
            return
        }
        let before = index.neighbours(of: path).before
        var run = Run(self, from: before?.place ?? 0)
        var last: TarPath?
        while true {
            let step: Run.Step
            do {
                step = try run.next(at: path, body)
            } catch is NotTar {
                throw TarIndex.mismatch
            }
            switch step {
            case .stopped: return
            case .end:
                // The index has a member where the stream has ended. The place before it may be within a content.
                let end = run.place
                if run.ahead?.first(from: end) != nil { throw TarIndex.mismatch }
                return
            case .gap: continue
            case .entry(let entry):
                if run.ahead?.contradicts(entry) == true { throw TarIndex.mismatch }
                // The order does not count a path that is not legal.
                guard let found = entry.path else { continue }
                if let last, found < last { throw TarIndex.mismatch }
                last = found
                if found.isBelow(orEqualTo: path) {
                    guard try body(.member(entry)) else { return }
                } else if found > path {
                    return
                }
            }
        }
    }
}

/// The next entry of an index, while the stream is read in order.
private struct IndexCursor {
    private var cursor: TarIndex.Cursor
    private let step: UInt64
    private(set) var next: TarIndex.Entry?
    private var isWrong = false

    init(_ index: TarIndex) {
        cursor = TarIndex.Cursor(index)
        step = 1 << UInt64(index.stepExponent)
        next = cursor.next()
    }

    mutating func drop(before place: UInt64) {
        while let next, next.place < place { self.next = cursor.next() }
    }

    /// Takes note that the index differs from the stream.
    ///
    /// - Returns: whether that was not known.
    mutating func note() -> Bool { !exchange(&isWrong, with: true) }

    mutating func first(from place: UInt64) -> TarIndex.Entry? {
        drop(before: place)
        return next
    }

    /// Whether the index has another member at the place of this one, or one within its headers and its content.
    mutating func contradicts(_ entry: TarEntry) -> Bool {
        if let here = first(from: entry.place), here.place == entry.place {
            guard here.path == entry.path else { return true }
            drop(before: entry.place + 1)
        }
        return next.map { $0.place < entry.nextPlace } ?? false
    }

    /// Whether the index and the stream differ up to this entry of the stream (TAR-4).
    func differs(from entry: TarEntry, _ number: UInt64) -> Bool {
        guard number.isMultiple(of: step), let path = entry.path else { return next?.place == entry.place }
        return next?.place != entry.place || next?.path != path
    }
}
