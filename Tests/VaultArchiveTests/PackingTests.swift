import SystemPackage
import Testing
import VaultFormat
import VaultSystem
import VaultTar
import VaultTestSupport

@testable import VaultArchive

/// Packing: what changes or is gone meanwhile, and how much of it is in memory.
@Suite struct PackingTests {
    private func open(_ folder: TemporaryFolder) throws -> FileDescriptor {
        try FileDescriptor.openForReading(folder.path, .folder)
    }

    private static let mebibyte = 1 << 20

    /// Makes a file of five mebibytes: of sevens, or with holes in the place of the second and the fourth one.
    private func write(_ name: String, withHoles hasHoles: Bool, in folder: TemporaryFolder) throws {
        let file = try FileDescriptor.open(
            folder[name], .writeOnly, options: [.create, .truncate], permissions: .ownerReadWrite)
        try file.closeAfter {
            for part in 0..<5 where !hasHoles || part.isMultiple(of: 2) {
                let bytes = [UInt8](repeating: 7, count: Self.mebibyte)
                _ = try file.writeAll(toAbsoluteOffset: Int64(part * Self.mebibyte), bytes)
            }
        }
    }

    @Test(
        "a file that grows, shrinks or is written to while it is read is reported; its length stays as it began",
        arguments: ["grows", "shrinks", "written"], [false, true])
    func changes(_ how: String, _ hasHoles: Bool) throws {
        let folder = try TemporaryFolder()
        let length = 5 * Self.mebibyte
        try write("file", withHoles: hasHoles, in: folder)
        let root = try open(folder)
        defer { try? root.close() }
        var stream: [UInt8] = []
        let path = folder["file"]
        let packer = try TarPacker { bytes in
            if stream.isEmpty {
                let file = try FileDescriptor.open(path, .writeOnly)
                try file.closeAfter {
                    switch how {
                    case "grows": _ = try file.writeAll(toAbsoluteOffset: Int64(length), [1, 2, 3])
                    case "shrinks": try file.resize(to: Int64(Self.mebibyte))
                    default: _ = try file.writeAll(toAbsoluteOffset: 0, [1, 2, 3])
                    }
                }
            }
            for index in bytes.indices { stream.append(bytes[index]) }
        }
        #expect(try packer.add("file", in: root, as: Array("file".utf8)) == .changed)
        try packer.finish()
        // Two extension blocks, the header, the content and two blocks of zeros. The map of holes is one block more.
        let parts = hasHoles ? 3 * Self.mebibyte + 512 : length
        #expect(stream.count == parts + 5 * 512)
        let entries = try entries(stream)
        #expect(entries.map(\.fileLength) == [UInt64(length)] && entries[0].isSparse == hasHoles)
        let content = try content(entries[0], of: stream)
        let last = how == "shrinks" ? 0 : 7
        #expect(content.count == length && content[length - 1] == UInt8(last))
    }

    /// A file can become shorter and grow again between two reads. No test can do that at the right moment.
    @Test("bytes that are missing in one part of a file with holes move no other part") func shorterPart() throws {
        let folder = try TemporaryFolder()
        try write("file", withHoles: true, in: folder)
        let root = try open(folder)
        defer { try? root.close() }
        var stream: [UInt8] = []
        let packer = try TarPacker { bytes in for index in bytes.indices { stream.append(bytes[index]) } }
        let (read, second) = unsafe (packer.read, Int64(2 * Self.mebibyte)..<Int64(3 * Self.mebibyte))
        unsafe packer.read = { file, offset, buffer in
            unsafe second.contains(offset) ? 0 : try read(file, offset, buffer)
        }
        #expect(try packer.add("file", in: root, as: Array("file".utf8)) == .packed)
        try packer.finish()
        let entry = try #require(try entries(stream).first)
        let content = try content(entry, of: stream)
        let firsts = content.enumerated().filter { $0.offset.isMultiple(of: Self.mebibyte) }.map(\.element)
        #expect(entry.isSparse && firsts == [7, 0, 0, 0, 7], "\(firsts)")
    }

    /// The content of a member, with its holes.
    private func content(_ entry: TarEntry, of stream: [UInt8]) throws -> [UInt8] {
        guard entry.isSparse else {
            return Array(stream.dropFirst(Int(entry.contentOffset)).prefix(Int(entry.contentLength)))
        }
        var content: [UInt8] = []
        try MemberContent.read(0..<entry.fileLength, of: entry) { offset, count in
            Array(stream.dropFirst(Int(offset)).prefix(count))
        } _: { bytes in
            for index in bytes.indices { content.append(bytes[index]) }
        }
        return content
    }

    @Test("what libarchive warns of is told, but for names that are no UTF-8") func warnings() {
        let attribute = ArchiveError("Couldn't read extended attribute", systemError: .ioError)
        let name = ArchiveError("Can't translate pathname", systemError: .illegalByteSequence)
        #expect(TarPacker.outcome(reading: nil, writing: nil) == .packed)
        #expect(TarPacker.outcome(reading: nil, writing: name) == .packed)
        #expect(TarPacker.outcome(reading: attribute, writing: nil) == .incomplete(attribute))
        #expect(TarPacker.outcome(reading: attribute, writing: name) == .incomplete(attribute))
        #expect(TarPacker.outcome(reading: nil, writing: attribute) == .incomplete(attribute))
        // When the system is asked, it is no question of text.
        #expect(TarPacker.outcome(reading: name, writing: nil) == .incomplete(name))
    }

    @Test func kinds() throws {
        let folder = try TemporaryFolder()
        try folder.write([1], to: "file")
        let root = try open(folder)
        defer { try? root.close() }
        let packer = try TarPacker { _ in }
        #expect(try packer.add("none", in: root, as: [1]) == .vanished)
        #expect(try packer.add("file", in: root, as: [1]) == .packed)
        #expect(try packer.add("file", in: root, as: [1]) { _ in true } == nil)
        #expect(try packer.add(folder: root, as: [2]) == .packed)
        // A folder is not added as a file: it was one a moment ago.
        #expect(try packer.add(".", in: root, as: [3]) == .changedKind)
    }

    @Test("what writing throws comes out, and the stream gets no end after it") func failure() throws {
        struct Full: Error {}
        let folder = try TemporaryFolder()
        try folder.write([UInt8](repeating: 1, count: 3 << 20), to: "file")
        let root = try open(folder)
        defer { try? root.close() }
        var calls = 0
        do {
            let packer = try TarPacker { _ in
                calls += 1
                throw Full()
            }
            #expect(throws: Full.self) { try packer.add("file", in: root, as: [1]) }
            #expect(throws: Full.self) { try packer.finish() }
        }
        #expect(calls == 1)
    }

    /// A file as a packer finds it.
    private func file(
        _ inode: UInt64, names: UInt64, size: Int64 = 1, seconds: Int64 = 1, birth: UInt64 = 1
    ) -> LinkTable.File {
        LinkTable.File(
            identity: FileIdentity(device: 1, inode: inode), names: names, size: size,
            modified: Timestamp(seconds: seconds), birth: birth)
    }

    @Test("links to one file are found, and forgotten once all its names were seen") func links() {
        var table = LinkTable(most: 10)
        let (a, b) = (Array("a/a".utf8), Array("b".utf8))
        table.note(file(1, names: 1), at: b)
        #expect(table.earlierPath(of: file(1, names: 3)) == nil)
        table.note(file(1, names: 3), at: a)
        // A link to what was packed again is one to its first name.
        table.note(file(1, names: 3), at: b)
        #expect(table.earlierPath(of: file(1, names: 3)) == a)
        #expect(table.earlierPath(of: file(1, names: 3)) == a)
        // All three names were seen: the number may be that of another file now.
        #expect(table.earlierPath(of: file(1, names: 3)) == nil)
        // No room: packed whole, each time.
        table.note(file(2, names: 2), at: [UInt8](repeating: 0x39, count: 11))
        #expect(table.earlierPath(of: file(2, names: 2)) == nil)
        table.note(file(2, names: 2), at: b)
        #expect(table.earlierPath(of: file(2, names: 2)) == b)
        // No member can have this path, so no link can lead to it.
        var roomy = LinkTable()
        roomy.note(file(2, names: 2), at: [UInt8](repeating: 0x39, count: 4097))
        #expect(roomy.earlierPath(of: file(2, names: 2)) == nil)
    }

    @Test("a new file with the number of a removed one is no link to it") func numbersAgain() {
        let (a, b) = (Array("a".utf8), Array("b".utf8))
        let others = [
            file(1, names: 1), file(1, names: 2, size: 2), file(1, names: 2, seconds: 2), file(1, names: 2, birth: 2),
        ]
        for other in others {
            var table = LinkTable(most: 1)
            table.note(file(1, names: 2), at: a)
            #expect(table.earlierPath(of: other) == nil, "\(other)")
            // What was known of the first one is gone, and its room is free again.
            #expect(table.earlierPath(of: file(1, names: 2)) == nil, "\(other)")
            table.note(file(1, names: 2), at: b)
            #expect(table.earlierPath(of: file(1, names: 2)) == b, "\(other)")
        }
    }

    @Test("a name whose file was written to, or has lost its other name, gets the contents", arguments: [true, false])
    func changedNames(_ isRemoved: Bool) throws {
        let folder = try TemporaryFolder()
        try folder.write([1, 2, 3], to: "a")
        try folder.link("a", to: "b")
        let root = try open(folder)
        defer { try? root.close() }
        var stream: [UInt8] = []
        let packer = try TarPacker { bytes in stream += bytes.indices.map { bytes[$0] } }
        #expect(try packer.add("a", in: root, as: Array("a".utf8)) == .packed)
        if isRemoved { try folder.remove("a") } else { try folder.write([1, 2, 3, 4], to: "b") }
        #expect(try packer.add("b", in: root, as: Array("b".utf8)) == .packed)
        try packer.finish()
        let entries = try entries(stream)
        #expect(entries.map(\.kind) == [.file, .file])
        #expect(entries.map(\.fileLength) == [3, isRemoved ? 3 : 4])
    }

    private func entries(_ stream: [UInt8]) throws -> [TarEntry] {
        var entries: [TarEntry] = []
        try source(stream).forEachEntry { entry in
            entries.append(entry)
            return true
        }
        return entries
    }

    private func source(_ stream: [UInt8]) -> TarSource {
        TarSource { offset, count in Array(stream.dropFirst(Int(offset)).prefix(count)) }
    }
}
