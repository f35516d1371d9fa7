import SystemPackage
import Testing
import VaultSystem
import VaultTestSupport

@testable import VaultArchive

/// Packing: what changes or is gone meanwhile, and how much of it is in memory.
@Suite struct PackingTests {
    private func open(_ folder: TemporaryFolder) throws -> FileDescriptor {
        try FileDescriptor.openForReading(folder.path, .folder)
    }

    @Test(
        "a file that grows, shrinks or is written to while it is read is reported; its length stays as it began",
        arguments: ["grows", "shrinks", "written"])
    func changes(_ how: String) throws {
        let folder = try TemporaryFolder()
        let length = 5 << 20
        try folder.write([UInt8](repeating: 7, count: length), to: "file")
        let root = try open(folder)
        defer { try? root.close() }
        var count = 0
        let path = folder["file"]
        let packer = try TarPacker { bytes in
            if count == 0 {
                let file = try FileDescriptor.open(path, .writeOnly)
                try file.closeAfter {
                    switch how {
                    case "grows": _ = try file.writeAll(toAbsoluteOffset: Int64(length), [1, 2, 3])
                    case "shrinks": try file.resize(to: 1 << 20)
                    default: _ = try file.writeAll(toAbsoluteOffset: 0, [1, 2, 3])
                    }
                }
            }
            count += bytes.count
        }
        #expect(try packer.add("file", in: root, as: Array("file".utf8)) == .changed)
        try packer.finish()
        // Two extension blocks, the header, the content and two blocks of zeros.
        #expect(count == length + 5 * 512)
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
        guard case .unsuitable = try packer.add(".", in: root, as: [3]) else {
            Issue.record("a folder is not added as a file")
            return
        }
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

    @Test("links to one file are found, and forgotten once all its names were seen") func links() {
        var table = LinkTable(most: 10)
        let (one, two) = (FileIdentity(device: 1, inode: 1), FileIdentity(device: 1, inode: 2))
        #expect(table.earlierPath(of: one, names: 1, at: [1]) == nil)
        #expect(table.earlierPath(of: one, names: 3, at: [1, 1]) == nil)
        #expect(table.earlierPath(of: one, names: 3, at: [2]) == [1, 1])
        #expect(table.earlierPath(of: one, names: 3, at: [3]) == [1, 1])
        // All three names were seen: the number may be that of another file now.
        #expect(table.earlierPath(of: one, names: 2, at: [4]) == nil)
        // No room: packed whole, each time.
        let long = [UInt8](repeating: 9, count: 10)
        #expect(table.earlierPath(of: two, names: 2, at: long) == nil)
        #expect(table.earlierPath(of: two, names: 2, at: [5]) == nil)
        #expect(table.earlierPath(of: two, names: 2, at: [6]) == [5])
    }
}
