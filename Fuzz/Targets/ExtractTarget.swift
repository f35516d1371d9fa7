import CPlatform
import FoundationEssentials
import SystemPackage
import VaultArchive
import VaultFile
import VaultFormat
import VaultMount
import VaultSystem
import VaultTar
import VaultTestSupport

/// A tar stream of a hostile maker, in a container that a user lists, extracts or mounts. Nothing beside the folder
/// changes, and each file has the bytes of its own member.
enum ExtractTarget: FuzzTarget {
    static let name = "extract"

    /// A stream can name a member again and again, each time as a file of its own.
    private static let mostBytes = 1 << 16
    private static let mostMembers = 64
    /// What is deeper cannot be removed by its path.
    private static let longestPath = 1000

    static func run(_ input: [UInt8]) throws {
        let stream = [UInt8](input.prefix(mostBytes))
        let folder = try TemporaryFolder()
        var options = SealOptions(chunk: .minimum)
        options.tarIndex = true
        try folder.write(sealed(stream, options: options), to: "container")
        let container = try OpenContainer(
            FileDescriptor.open(folder["container"], .readOnly), cache: PlaintextCache(limit: 1 << 20)
        ) { try SeekableVaultReader($0, with: .key(testKey(1))) }
        let members = try list(stream, container)
        try look(members, stream, container)
        try extract(stream, container, folder, chosenBy: input.count)
    }

    /// The stream of a container.
    private static func window(_ container: OpenContainer) -> StreamWindow {
        StreamWindow(length: container.reader.length) { try container.reader.bytes($0) }
    }

    /// Lists the members.
    ///
    /// - Returns: the last one with each path; nil if the container shows no tar stream.
    private static func list(_ stream: [UInt8], _ container: OpenContainer) throws -> [TarPath: TarEntry]? {
        let index = container.reader.opened.manifest.tarIndex
        let source = window(container).source
        var (members, paths): ([TarPath: TarEntry], [TarPath]) = ([:], [])
        do {
            try MemberWalk(source, index: index) { _ in false }.all { step in
                if case .gap(let gap) = step, gap.error is NotTar, index == nil { return true }
                guard case .member(let entry) = step else { throw Broken("an index differs from its own stream") }
                guard let path = entry.path else { return true }
                members[path] = entry
                if paths.count < mostMembers { paths.append(path) }
                return true
            }
        } catch is NotTar {
            return nil
        }
        guard let index else { return members }
        for path in paths.prefix(8) {
            try require(
                try below(path, source, index) == below(path, source, nil),
                "an index finds other members below a path than the stream has")
        }
        return members
    }

    /// The last member with each path at a path and below it. An index leads to the last one alone.
    private static func below(
        _ path: TarPath, _ source: TarSource, _ index: TarIndex?
    ) throws -> [TarPath?: TarEntry] {
        var found: [TarPath?: TarEntry] = [:]
        try MemberWalk(source, index: index) { _ in false }.members(at: path) { step in
            if case .member(let entry) = step { found[entry.path] = entry }
            return true
        }
        return found
    }

    /// Looks at the members as a mount does.
    private static func look(
        _ members: [TarPath: TarEntry]?, _ stream: [UInt8], _ container: OpenContainer
    ) throws {
        let view: TarView
        do {
            view = try TarView(container, modified: Timestamp(seconds: 1))
        } catch is NotTar {
            return try require(members == nil, "a mount refuses a stream that ls lists")
        }
        guard let members else { throw Broken("a mount shows a stream that ls refuses") }
        for (path, entry) in members.prefix(mostMembers) {
            var node = rootNode
            let isFound = path.bytes.split(separator: UInt8(ascii: "/")).allSatisfy { name in
                guard let found = try? view.find([UInt8](name), in: node) else { return false }
                node = found.id
                return true
            }
            guard isFound else { continue }
            _ = try? view.target(of: node)
            try? view.list(node).list(after: 0) { _, _ in true }
            guard let content = try? view.open(node) else { continue }
            var bytes: [UInt8] = []
            guard let own = own(entry, stream) else {
                // What the stream does not have gives an error.
                try? unsafe content.read(at: 0, count: mostBytes) { _ in }
                continue
            }
            try unsafe content.read(at: 0, count: mostBytes) { unsafe bytes = [UInt8]($0) }
            try require(bytes == own, "a mount gives a file other bytes than its member has")
        }
    }

    /// The content of a member; nil if the stream does not have all of it.
    private static func own(_ entry: TarEntry, _ stream: [UInt8]) -> [UInt8]? {
        guard entry.contentOffset <= stream.count,
            entry.contentLength <= UInt64(stream.count) - entry.contentOffset
        else { return nil }
        return [UInt8](stream[Int(entry.contentOffset)...].prefix(Int(entry.contentLength)))
    }

    // MARK: Extraction

    /// Extracts the members into a folder that already has a file, and links that lead out of it.
    private static func extract(
        _ stream: [UInt8], _ container: OpenContainer, _ folder: TemporaryFolder, chosenBy number: Int
    ) throws {
        var options = Unpacker.Options()
        options.replaces = number & 1 != 0
        options.makesAllLinks = number & 2 != 0
        options.preserves = number & 4 != 0
        try folder.write(Array("beside".utf8), to: "beside")
        try folder.makeFolder("in")
        try folder.write(Array("old".utf8), to: "in/old")
        try folder.makeLink("in/out", to: "..")
        try folder.makeLink("in/b", to: "../beside")
        let before = try Beside(folder)
        let (chosen, inside) = (options, folder["in"])
        try onThreadWithOwnFolder { try extract(stream, container, into: inside, chosen) }
        if !chosen.replaces {
            try require(try folder.read("in/old") == Array("old".utf8), "a file was replaced that was to stay")
        }
        // This replaces files.
        try onThreadWithOwnFolder { try extractDamaged(stream, into: inside, chosen) }
        try require(try Beside(folder) == before, "something beside the folder was changed")
        makeRemovable(inside)
    }

    private static func extract(
        _ stream: [UInt8], _ container: OpenContainer, into inside: FilePath, _ options: Unpacker.Options
    ) throws {
        let window = window(container)
        let root = try FileDescriptor.open(inside, .readOnly)
        defer { try? root.close() }
        let unpacker = try Unpacker(into: root, options) { try window.bytes(at: $0, count: $1) }
        let lookup = MemberLookup(window, index: nil) { _ in }
        var count = 0
        do {
            try window.source.forEachEntry { entry in
                guard entry.name.count <= longestPath else { return true }
                do {
                    _ = try unpacker.add(entry) { try? lookup.target(of: $0) }
                    if let path = entry.path { try check(entry, entry, at: inside.appending(path.description), stream) }
                } catch is Refusal {
                } catch is ArchiveError {
                }
                count += 1
                return count < mostMembers
            }
        } catch is NotTar {
        }
        unpacker.finish { _, _ in }
    }

    /// Extracts the stream with a block that cannot be read, by an index of some members, as `extract` does.
    ///
    /// Each file has the bytes that it has without the damage, and so has each hard link: never those of an older member
    /// with the name that it leads to.
    private static func extractDamaged(
        _ stream: [UInt8], into inside: FilePath, _ options: Unpacker.Options
    ) throws {
        let (sum, count) = (stream.reduce(0) { $0 &+ UInt64($1) }, UInt64(stream.count / 512))
        var maker = TarIndexMaker(leastStepExponent: Int(sum % 3), largest: TarIndex.largestValue)
        maker.take(stream.span)
        guard count > 0, let index = (try? maker.finish()).flatMap(TarIndex.init(value:)) else { return }
        var entries: [TarEntry] = []
        try TarSource { offset, count in [UInt8](stream.dropFirst(Int(offset)).prefix(count)) }.forEachEntry { entry in
            entries.append(entry)
            return entries.count < mostMembers
        }
        let lost = sum / 3 % count * 512..<(sum / 3 % count + 1) * 512
        let window = StreamWindow(length: UInt64(stream.count)) { range in
            guard !range.overlaps(lost) else { throw VaultError(.recordDamaged, "a block is damaged") }
            return [UInt8](stream[Int(range.lowerBound)..<Int(range.upperBound)])
        }
        let root = try FileDescriptor.open(inside, .readOnly)
        defer { try? root.close() }
        var options = options
        options.replaces = true
        let unpacker = try Unpacker(into: root, options) { try window.bytes(at: $0, count: $1) }
        let lookup = MemberLookup(window, index: index, goesByStream: sum / 7 % 2 == 0) { _ in }
        try MemberWalk(window.source, index: index).all { step in
            switch step {
            case .gap(let gap): unpacker.pass(gapAt: gap.start)
            case .lost: break
            case .indexDiffers: throw Broken("an index differs from its own stream")
            case .member(let entry):
                guard entry.name.count <= longestPath else { return true }
                guard let known = entries.first(where: { $0.place == entry.place }) else { return false }
                do {
                    _ = try unpacker.add(entry) { try lookup.target(of: $0) }
                    guard let path = entry.path, let own = target(of: known, entries) else { return true }
                    try check(entry, own, at: inside.appending(path.description), stream)
                } catch is Refusal {
                } catch is ArchiveError {
                } catch  where MemberWalk.isDamage(error) {
                }
            }
            return true
        }
        unpacker.finish { _, _ in }
    }

    /// The member whose content a member has (TAR-12); nil if it has none, or is no file in the end.
    private static func target(of entry: TarEntry, _ entries: [TarEntry]) -> TarEntry? {
        var entry = entry
        while entry.kind == .hardLink {
            guard let path = TarPath(trimming: entry.linkTarget),
                let next = entries.last(where: { $0.place < entry.place && $0.path == path })
            else { return nil }
            entry = next
        }
        return entry.kind == .file && !entry.isSparse ? entry : nil
    }

    /// Whether a file that was just extracted has the bytes of a member: its own, or that which a hard link leads to.
    private static func check(_ entry: TarEntry, _ source: TarEntry, at path: FilePath, _ stream: [UInt8]) throws {
        // The path as text is that of another file if its bytes are not UTF-8.
        guard source.kind == .file, !source.isSparse, String(validating: entry.path?.bytes ?? [], as: UTF8.self) != nil
        else { return }
        let file: FileDescriptor
        do {
            file = try FileDescriptor.open(path, .readOnly, options: .noFollow)
        } catch Errno.permissionDenied {
            return
        }
        let bytes: [UInt8] = try file.closeAfter {
            try unsafe [UInt8](unsafeUninitializedCapacity: mostBytes + 1) { buffer, count in
                count = try unsafe file.read(into: UnsafeMutableRawBufferPointer(buffer))
            }
        }
        try require(bytes == own(source, stream), "a file has other bytes than its member")
    }

    /// What is beside the folder.
    private struct Beside: Equatable {
        let names: [String]
        let bytes: [UInt8]
        let modified: Timestamp?
        let permissions: FilePermissions
        let links: Int

        init(_ folder: TemporaryFolder) throws {
            names = try folder.names
            bytes = try folder.read("beside")
            modified = try folder.modified("beside")
            let stat = try folder["beside"].stat()
            (permissions, links) = (stat.permissions, stat.linkCount)
        }
    }

    /// Gives folders modes that let their owner remove them.
    private static func makeRemovable(_ folder: FilePath) {
        _ = unsafe folder.withPlatformString { unsafe chmod($0, 0o700) }
        for name in (try? FileManager.default.contentsOfDirectory(atPath: folder.string)) ?? [] {
            let path = folder.appending(name)
            guard let stat = try? Stat(path, flags: .symlinkNoFollow), stat.type == .directory else { continue }
            makeRemovable(path)
        }
    }

    // MARK: Mutation

    /// Most changes of a header make its checksum wrong, and what is behind it is not read any more. So most times the
    /// checksums are made right again.
    static func mutate(_ input: [UInt8], _ random: inout SeededRandom, change: ByteChange, limit: Int) -> [UInt8] {
        var bytes = change(input, limit)
        guard !Int.random(in: 0..<8, using: &random).isMultiple(of: 8) else { return bytes }
        var start = 0
        while start + 512 <= bytes.count, bytes[start..<start + 512].contains(where: { $0 != 0 }) {
            let sums = start + 148..<start + 156
            bytes.replaceSubrange(sums, with: repeatElement(0x20, count: 8))
            let sum = bytes[start..<start + 512].reduce(0) { $0 + Int($1) }
            let digits = String(sum, radix: 8)
            let text = String(repeating: "0", count: max(0, 6 - digits.count)) + digits + "\u{0} "
            bytes.replaceSubrange(sums, with: text.utf8)
            let size = bytes[start + 124..<start + 135].prefix { (0x30...0x37).contains($0) }
                .reduce(0) { $0 << 3 | Int($1 & 7) }
            start += 512 + (size + 511) / 512 * 512
        }
        return bytes
    }
}
