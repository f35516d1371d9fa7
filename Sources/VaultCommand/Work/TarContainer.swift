internal import Synchronization
internal import SystemPackage
internal import VaultArchive
internal import VaultFile

/// A container whose contents are a tar stream, for the verbs that take members out of it.
struct TarContainer: Sendable {
    let subject: Failure.Subject
    let reader: SeekableVaultReader
    /// Nil if the container has none, or one that breaks its form.
    let index: TarIndex?
    let window: StreamWindow
    private let goesByStream: Bool
    private let lookup: MemberLookup
    private let gaps: Gaps
    private let console: Console

    /// What was reported as lost. A walk and a look-up, or two walks, can come to the same gap and the same member.
    private final class Gaps: Sendable {
        private let starts = Mutex<Set<UInt64>>([])
        private let lost = Mutex<Set<UInt64>>([])

        var isEmpty: Bool { starts.withLock(\.isEmpty) }

        /// Whether a member was not reported before.
        func isNew(_ entry: TarIndex.Entry) -> Bool { lost.withLock { $0.insert(entry.place).inserted } }

        func report(
            _ gap: MemberWalk.Gap, in container: (subject: Failure.Subject, length: UInt64), on console: Console
        ) {
            guard starts.withLock({ $0.insert(gap.start).inserted }) else { return }
            console.say(TarContainer.failure(gap, about: container.subject, ofLength: container.length))
        }
    }

    /// - Parameter goesByStream: Whether to read every header from the first one on. Otherwise a maker who lies in the
    ///   index can hide members, or make a member of bytes that are the content of another.
    init(_ reader: SeekableVaultReader, of input: Input, goesByStream: Bool = false, on console: Console) {
        self.reader = reader
        self.goesByStream = goesByStream
        self.console = console
        let subject = input.subject
        self.subject = subject
        let gaps = Gaps()
        self.gaps = gaps
        index = reader.opened.manifest.tarIndex
        let length = reader.length
        window = StreamWindow(length: length) { try reader.bytes($0) }
        lookup = MemberLookup(window, index: index, goesByStream: goesByStream, limits: .linear(in: length)) { notice in
            switch notice {
            case .indexMismatch: console.warn(subject, Self.mismatch)
            case .gap(let gap): gaps.report(gap, in: (subject, length), on: console)
            }
        }
        if index == nil, reader.opened.manifest.hasTarIndexMember {
            console.warn(subject, "its index of the tar stream is malformed, and is not used")
        }
    }

    /// The paths of members that the user named, each once. `a//b` and `a/./b` mean `a/b`, as for the system.
    ///
    /// - Parameter container: the one that they are in, for messages.
    /// - Throws: `Failure` for one that no member can have.
    static func paths(
        _ operands: some Collection<PathArgument>, in container: Failure.Subject
    ) throws(Failure) -> [TarPath] {
        var (paths, known): ([TarPath], Set<TarPath>) = ([], [])
        for operand in operands {
            let parts = operand.bytes.split(separator: UInt8(ascii: "/")).filter { $0 != [UInt8(ascii: ".")] }
            let root = operand.bytes.first == UInt8(ascii: "/") ? [UInt8(ascii: "/")] : []
            guard let path = TarPath(root + parts.joined(separator: [UInt8(ascii: "/")])) else {
                guard root.isEmpty else {
                    throw Failure(
                        .usage, .path(operand.bytes),
                        "is absolute, and no member that can be taken out has such a path",
                        hint: .tarTakesOut(container.escaped))
                }
                throw Failure(.usage, .path(operand.bytes), "is no path of a member", hint: .listMembers)
            }
            if known.insert(path).inserted { paths.append(path) }
        }
        return paths
    }

    private static let mismatch =
        "its index does not fit its tar stream; the stream is read instead (indexMismatch)"

    /// What a visit has found out.
    struct Visit {
        /// The paths without a member.
        var missing: [TarPath] = []
        /// The number of members that are lost, as far as they are known.
        var lost: UInt64 = 0
    }

    /// Passes the members at some paths and below them to `body`. What is lost is reported.
    ///
    /// - Parameters:
    ///   - paths: None for all members.
    ///   - gap: Takes each part of the stream whose headers cannot be read, before the members behind it.
    /// - Throws: ``NotTar`` if the contents are no tar stream; what reading and `body` throw.
    func visit(
        _ paths: [TarPath], passing gap: (MemberWalk.Gap) -> Void = { _ in }, _ body: (TarEntry) throws -> Void
    ) throws -> Visit {
        var visit = Visit()
        guard !paths.isEmpty, !goesByStream, index?.isSorted == true else {
            try visitStream(paths, &visit, gap, body)
            return visit
        }
        let walk = MemberWalk(window.source, index: index)
        var missing = Set(paths)
        // What is below another of the paths comes with that one.
        let tops = paths.filter { [missing] path in path.folder?.isBelow(anyOf: missing) != true }
        for (number, path) in tops.enumerated() {
            var isFound = false
            do {
                try walk.members(at: path) { step in
                    guard case .member(let entry) = step else {
                        tell(step, &visit, &missing, gap)
                        return true
                    }
                    isFound = true
                    if let found = entry.path, !missing.isEmpty { missing.subtract(found.withFolders) }
                    try body(entry)
                    return true
                }
            } catch let error as VaultError where error.code == .indexMismatch && !isFound {
                console.warn(subject, Self.mismatch)
                let rest = paths.filter { [left = Set(tops[number...])] in $0.isBelow(anyOf: left) }
                missing.subtract(rest)
                try visitStream(rest, &visit, gap, body)
                visit.missing += paths.filter(missing.contains)
                return visit
            }
        }
        visit.missing += paths.filter(missing.contains)
        return visit
    }

    private func visitStream(
        _ paths: [TarPath], _ visit: inout Visit, _ gap: (MemberWalk.Gap) -> Void, _ body: (TarEntry) throws -> Void
    ) throws {
        let wanted = Set(paths)
        var missing = wanted
        var found = visit
        let end = try MemberWalk(window.source, index: index).all { step in
            switch step {
            case .member(let entry):
                if paths.isEmpty {
                    try body(entry)
                } else if let path = entry.path, path.isBelow(anyOf: wanted) {
                    if !missing.isEmpty { missing.subtract(path.withFolders) }
                    try body(entry)
                }
            case .lost(let entry) where !paths.isEmpty && !entry.path.isBelow(anyOf: wanted): break
            case .lost, .gap, .indexDiffers: tell(step, &found, &missing, gap)
            }
            return true
        }
        found.missing += paths.filter(missing.contains)
        visit = found
        if let end { try warnOfRest(behind: end * 512) }
    }

    /// Warns if more than zeros follows the end mark of the stream.
    ///
    /// `recover` writes zeros in the place of a header that is lost, and they look like an end mark. All members behind
    /// it would be missing, and nothing would say so. It is a warning only: other streams may have such bytes, too, as two
    /// that were put together have them.
    ///
    /// - Parameter end: where the end mark begins.
    private func warnOfRest(behind end: UInt64) throws {
        var place = end
        do {
            while place < reader.length {
                let bytes = try window.bytes(at: place, count: Self.piece)
                guard !bytes.isEmpty else { return }
                if let first = bytes.firstIndex(where: { $0 != 0 }) {
                    let count = reader.length - (place + UInt64(first)) / 512 * 512
                    return console.warn(
                        subject,
                        "\(count.counted("byte")) behind the end mark of its tar stream are not read: "
                            + "members may be there",
                        hint: .tarReadsOn(subject.escaped))
                }
                place += UInt64(bytes.count)
            }
        } catch  where MemberWalk.isDamage(error) {
            let reason = Failure(error, about: subject).reason
            console.warn(subject, "what follows the end mark of its tar stream cannot be read: \(reason)")
        }
    }

    private static let piece = 1 << 20

    /// Reports what a walk finds beside members.
    private func tell(
        _ step: MemberWalk.Step, _ visit: inout Visit, _ missing: inout Set<TarPath>, _ pass: (MemberWalk.Gap) -> Void
    ) {
        switch step {
        case .member: break
        case .lost(let entry):
            missing.subtract(entry.path.withFolders)
            guard gaps.isNew(entry) else { return }
            visit.lost += 1
            console.say(Failure(.damaged, .path(entry.path.bytes), "is lost"))
        case .gap(let gap):
            pass(gap)
            gaps.report(gap, in: (subject, reader.length), on: console)
        case .indexDiffers:
            console.warn(subject, "its index differs from its tar stream; this goes by the stream")
        }
    }

    /// The failure for a part of the stream whose headers cannot be read.
    ///
    /// - Parameter length: That of the stream.
    static func failure(_ gap: MemberWalk.Gap, about subject: Failure.Subject, ofLength length: UInt64) -> Failure {
        if let error = gap.error as? NotTar {
            // A tar program that was killed leaves such a stream, also without damage to the container.
            let cut = gap.last.flatMap { Self.isCut($0, atLength: length) ? $0 : nil }
            let place =
                cut.map { "within \(Escaping.line(Self.name(of: $0)))" } ?? "at byte \(gap.start): \(error.reason)"
            return Failure(.damaged, subject, "its tar stream breaks off \(place); members may be missing")
        }
        var failure = Failure(gap.error, about: subject)
        let place = gap.end.map { "to byte \($0)" } ?? "on"
        failure.reason +=
            ": the tar stream cannot be read from byte \(gap.start) \(place); members there are lost, also "
            + "those that were not named"
        return failure
    }

    /// Whether parts of the stream were reported as lost.
    var hasGaps: Bool { !gaps.isEmpty }

    /// Whether the end of a member's content is missing in the stream.
    func isCut(_ entry: TarEntry) -> Bool { Self.isCut(entry, atLength: reader.length) }

    private static func isCut(_ entry: TarEntry, atLength length: UInt64) -> Bool {
        entry.contentOffset > length || entry.contentLength > length - entry.contentOffset
    }

    /// The failure for a member whose content is cut.
    static func isCutFailure(_ subject: Failure.Subject) -> Failure {
        Failure(.damaged, subject, "is longer than the rest of the tar stream")
    }

    /// The path of a member for messages. A name that is no path may have a million bytes.
    static func name(of entry: TarEntry) -> [UInt8] { entry.path?.bytes ?? Array(entry.name.prefix(256)) }

    /// Reports that a member is lost.
    func report(lost path: TarPath, because error: any Error) {
        var failure = Failure(error, about: .path(path.bytes))
        failure.reason = "is lost: " + failure.reason
        failure.hint = .silent
        console.say(failure)
    }

    /// Reports the paths without a member, and gives the status of the visit.
    func status(of visit: Visit) -> ExitStatus {
        for path in visit.missing {
            console.say(isMissing(path))
        }
        if visit.lost > 0 || hasGaps { return .damaged }
        return visit.missing.isEmpty ? .done : .noInput
    }

    /// The failure if the contents are no tar stream.
    ///
    /// - Parameter path: the member that was looked for; nil for all of them.
    func failure(_ error: NotTar, lookingFor path: TarPath? = nil) -> Failure {
        guard let path else {
            return Failure(
                .usage, subject, "its contents are not a tar stream: \(error.reason)", hint: .decryptWhole)
        }
        return Failure(
            .noInput, .path(path.bytes),
            "is no container, and no member of \(subject.escaped), whose contents are not a tar stream: \(error.reason)"
        )
    }

    /// The last member with a path.
    ///
    /// - Throws: `Failure` if there is none; what reading throws, also if it may be in a gap.
    func find(_ path: TarPath) throws -> TarEntry {
        guard let found = try lookup.find(path) else { throw isMissing(path) }
        return found
    }

    /// The member that a hard link leads to; nil if it leads to nothing.
    func target(of link: TarEntry) throws -> TarEntry? { try lookup.target(of: link) }

    /// The failure for a path without a member. It suggests a member below another folder.
    private func isMissing(_ path: TarPath) -> Failure {
        var failure = Failure(
            .noInput, .path(path.bytes), "is no member of \(subject.escaped)", hint: .listMembers)
        guard !path.bytes.contains(where: { "*?[".utf8.contains($0) }) else {
            failure.hint = .noPatterns
            return failure
        }
        if path.bytes.contains(UInt8(ascii: "\\")) { failure.hint = .escapedPath }
        let end = Array("/".utf8) + path.bytes
        // An index that is wrong suggests nothing.
        index?.forEach { entry in
            guard entry.path.bytes.suffix(end.count) == end[...] else { return true }
            failure.hint = .didYouMean(Escaping.line(entry.path.bytes))
            return false
        }
        return failure
    }
}

extension TarPath {
    /// Whether it is one of these paths or below one.
    func isBelow(anyOf folders: Set<TarPath>) -> Bool {
        // A path of a stranger can have thousands of folders, and a user mostly names a few.
        folders.count < 100
            ? folders.contains { isBelow(orEqualTo: $0) } : withFolders.contains(where: folders.contains)
    }
}
