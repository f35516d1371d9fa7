import SystemPackage
import Testing
import VaultFile
import VaultFormat
import VaultTestSupport

@testable import VaultMount

/// A folder of containers as a tree of files, without FUSE.
@Suite struct FolderViewTests {
    private let stale = Errno(rawValue: ViewError.replaced.number.rawValue)

    private func view(_ folder: TemporaryFolder, _ opener: @escaping ContainerOpener = openWithTestKey) throws
        -> FolderView
    {
        try FolderView(folder.opened()) { source, _ in try opener(source) }
    }

    @Test("containers have their names without .vault; other files and links are not there") func names() throws {
        let folder = try TemporaryFolder()
        try folder.seal([1, 2, 3], to: "a.vault")
        try folder.seal([4], to: "b.c.vault")
        try folder.write([1], to: "plain")
        try folder.write([1], to: ".vault")
        try folder.write([1], to: "...vault")
        try folder.makeLink("link.vault", to: "a.vault")
        try folder.makeLink("other", to: ".")
        try folder.makeFolder("sub")
        try folder.seal([5], to: "sub/d.vault")
        let view = try view(folder)
        for count in [1, 2, .max] { #expect(try view.names(atOnce: count).sorted() == ["a", "b.c", "sub"]) }
        #expect(try view.names(view.find(path: "sub").id) == ["d"])
        #expect(try view.bytes(view.find(path: "a").id) == [1, 2, 3])
        #expect(try view.bytes(view.find(path: "sub/d").id) == [5])
        for name in [
            "plain", "link", "other", "a.vault", "", ".", "..", "a/b", "no", String(repeating: "n", count: 300),
        ] {
            #expect(number { _ = try view.find(Array(name.utf8), in: rootNode) } == .noSuchFileOrDirectory, "\(name)")
        }
        #expect(number { _ = try view.find(Array("x".utf8), in: view.find(path: "a").id) } == .notDirectory)
        #expect(number { _ = try view.open(view.find(path: "sub").id) } == .isDirectory)
        #expect(number { _ = try view.list(view.find(path: "a").id) } == .notDirectory)
        #expect(number { _ = try view.target(of: view.find(path: "a").id) } == .invalidArgument)
        #expect(number { _ = try view.attributes(of: 999) } == stale)
    }

    @Test("a folder hides the container that would have its name") func collision() throws {
        let folder = try TemporaryFolder()
        try folder.seal([1], to: "a.vault")
        try folder.makeFolder("a")
        let view = try view(folder)
        #expect(try view.names() == ["a"])
        #expect(try view.find(path: "a").attributes.kind == .folder)
    }

    @Test("size, time and mode are those of the contents") func attributes() throws {
        let folder = try TemporaryFolder()
        var options = SealOptions(chunk: .minimum)
        let time = try #require(Timestamp(seconds: 1_600_000_000, nanoseconds: 5))
        options.metadata.modified = time
        options.metadata.permissions = 0o755
        try folder.seal([UInt8](repeating: 7, count: 10_000), to: "a.vault", options: options)
        try folder.seal([], to: "b.vault")
        let view = try view(folder)
        #expect(
            try view.find(path: "a").attributes
                == NodeAttributes(kind: .file, size: 10_000, permissions: 0o500, modified: time))
        let found = try view.find(path: "b")
        #expect(found.attributes.size == 0 && found.attributes.permissions == 0o400)
        let modified = try folder.modified("b.vault")
        #expect(found.attributes.modified == modified)
        #expect(try view.bytes(found.id) == [])
    }

    @Test("the time of a folder is the one that it has now, by its name and by its node") func folderTimes() throws {
        let folder = try TemporaryFolder()
        try folder.makeFolder("sub")
        try folder.setTime("sub", seconds: 1000)
        let view = try view(folder)
        let sub = try view.find(path: "sub")
        #expect(sub.attributes == .folder(Timestamp(seconds: 1000)))
        try folder.setTime("sub", seconds: 2000)
        #expect(try view.attributes(of: sub.id) == .folder(Timestamp(seconds: 2000)))
        try folder.setTime("sub", seconds: 3000)
        // The same node: what the system has open in it stays.
        let again = try view.find(path: "sub")
        #expect(again.id == sub.id && again.attributes == .folder(Timestamp(seconds: 3000)))
        try folder.setTime(".", seconds: 4000)
        #expect(try view.attributes(of: rootNode) == .folder(Timestamp(seconds: 4000)))
        // Another folder has its place. The old one keeps what was seen last, and its files are out of reach.
        folder.move("sub", to: "moved")
        try folder.makeFolder("sub")
        #expect(try view.attributes(of: sub.id) == .folder(Timestamp(seconds: 3000)))
        #expect(try view.find(path: "sub").id != sub.id)
    }

    @Test("what no key opens has no size and gives EACCES, and is tried once; what is damaged gives EIO") func refused()
        throws
    {
        let folder = try TemporaryFolder()
        try folder.seal([1], to: "other.vault", key: 9)
        try folder.write([UInt8](repeating: 3, count: 2000), to: "garbage.vault")
        let tries = Counter()
        let view = try view(folder) { source in
            tries.add()
            return try openWithTestKey(source)
        }
        for (name, error) in [("other", Errno.permissionDenied), ("garbage", .ioError)] {
            for _ in 0..<2 {
                let found = try view.find(path: name)
                #expect(found.attributes.size == 0 && found.attributes.permissions == 0o400)
                #expect(number { _ = try view.open(found.id) } == error)
            }
        }
        #expect(tries.count == 2)
        // Another container has come in its place: it is tried again.
        try folder.seal([1, 2], to: "other.vault")
        #expect(try view.find(path: "other").attributes.size == 2)
    }

    /// Without descriptors, a second try follows at once: what was held open has given way.
    @Test("a medium that fails is tried again", arguments: [Errno.ioError, .tooManyOpenFiles])
    func passing(_ error: Errno) throws {
        let folder = try TemporaryFolder()
        try folder.seal([1], to: "a.vault")
        let failures = Counter()
        let tries = error == .tooManyOpenFiles ? 2 : 1
        let view = try view(folder) { source in
            guard failures.count >= tries else {
                failures.add()
                throw VaultError.inputFailed("a fault", systemError: error)
            }
            return try openWithTestKey(source)
        }
        #expect(number { _ = try view.find(path: "a") } == error)
        #expect(view.nodeCount == 0 && failures.count == tries)
        #expect(try view.bytes(view.find(path: "a").id) == [1])
    }

    @Test("a container that is replaced is another node; what is open goes on") func replaced() throws {
        let folder = try TemporaryFolder()
        let old = [UInt8](repeating: 1, count: 20_000)
        try folder.seal(old, to: "a.vault")
        let view = try view(folder)
        let first = try view.find(path: "a")
        let open = try view.open(first.id)
        try folder.seal([2, 2], to: "new")
        folder.move("new", to: "a.vault")
        let second = try view.find(path: "a")
        #expect(second.id != first.id && second.attributes.size == 2)
        #expect(try view.bytes(second.id) == [2, 2])
        #expect(try open.bytes() == old)
        // The old node has what it had. Once its container is closed, it is gone.
        #expect(try view.attributes(of: first.id).size == 20_000)
        try folder.remove("a.vault")
        #expect(try open.bytes(at: 19_999) == [1])
        #expect(number { _ = try view.find(path: "a") } == .noSuchFileOrDirectory)
    }

    @Test("a rotation under an open file does no harm") func rotated() throws {
        let folder = try TemporaryFolder()
        let content = [UInt8](repeating: 1, count: 20_000)
        try folder.seal(content, to: "a.vault")
        let view = try FolderView(folder.opened()) { source, _ in
            try SeekableVaultReader(source, with: Credentials(KeySet(keys: [testKey(1), testKey(2)])))
        }
        let open = try view.open(view.find(path: "a").id)
        try Vault.rotate(
            at: folder["a.vault"], KeyChange(adding: [.key(testKey(2))]), with: .key(testKey(1)))
        #expect(try open.bytes() == content)
        #expect(try view.bytes(view.find(path: "a").id) == content)
    }

    @Test("a folder that becomes a link leads nowhere") func links() throws {
        let folder = try TemporaryFolder()
        try folder.makeFolder("sub")
        try folder.makeFolder("elsewhere")
        try folder.seal([1], to: "sub/a.vault")
        try folder.seal([2], to: "elsewhere/a.vault")
        let view = try view(folder)
        let sub = try view.find(path: "sub")
        let known = try view.find(path: "sub/a")
        // The folder that is open stays what it was. More folders than are held open make the view open it again.
        for number in 0..<50 {
            try folder.makeFolder("f\(number)")
            _ = try view.list(view.find(path: "f\(number)").id)
        }
        folder.move("sub", to: "moved")
        try folder.makeLink("sub", to: "elsewhere")
        #expect(number { _ = try view.find(Array("a".utf8), in: sub.id) } == stale)
        #expect(number { _ = try view.list(sub.id) } == stale)
        #expect(number { _ = try view.find(path: "sub") } == .noSuchFileOrDirectory)
        #expect(try view.attributes(of: known.id).size == 1)
    }

    @Test("nodes that the system gives back are forgotten") func forgotten() throws {
        let folder = try TemporaryFolder()
        try folder.makeFolder("sub")
        for number in 0..<40 { try folder.seal([UInt8(number)], to: "sub/\(number).vault") }
        let view = try view(folder)
        var nodes: [NodeID] = []
        for number in 0..<40 {
            let found = try view.find(path: "sub/\(number)")
            nodes.append(found.id)
            // Many more than are held open.
            #expect(try view.bytes(found.id) == [UInt8(number)])
        }
        #expect(view.nodeCount == 41)
        let sub = try view.find(path: "sub")
        view.forget(sub.id, count: 40)
        #expect(try view.attributes(of: sub.id).kind == .folder)
        view.forget(sub.id, count: 1)
        for node in nodes.dropLast() { view.forget(node, count: 1) }
        #expect(view.nodeCount == 1)
        // A node does not need the kernel to know the folders above it.
        #expect(try view.bytes(#require(nodes.last)) == [39])
        for node in nodes { view.forget(node, count: 1) }
        #expect(view.nodeCount == 0)
    }

    @Test("folders deeper than the limit are not shown") func deepest() throws {
        let folder = try TemporaryFolder()
        var path = "d"
        for _ in 0..<501 {
            try folder.makeFolder(path)
            path += "/d"
        }
        let view = try view(folder)
        var here = rootNode
        for _ in 0..<500 { here = try view.find(Array("d".utf8), in: here).id }
        #expect(try view.names(here) == ["d"])
        // The view keeps an object for each level. When the last level goes, those above it go too, each in a nested call.
        // Without the limit, someone who makes very deep folders could overflow the stack.
        #expect(number { _ = try view.find(Array("d".utf8), in: here) } == .fileNameTooLong)
    }

    @Test("a container that is replaced again and again is looked for a few times") func replacing() throws {
        let folder = try TemporaryFolder()
        try folder.seal([1], to: "a.vault")
        let view = try view(folder)
        var looks = 0
        func look(until last: Int) throws -> NodeID {
            try view.withNode(Array("a".utf8), in: rootNode) { node in
                looks += 1
                guard looks == last else { throw ViewError.replaced }
                return node.id
            }
        }
        #expect(number { _ = try look(until: 100) } == stale)
        #expect(looks == 8 && view.nodeCount == 0)
        looks = 0
        #expect(try view.bytes(look(until: 8)) == [1])
        #expect(view.nodeCount == 1)
    }

    @Test("only the damaged range gives an error") func damage() throws {
        let folder = try TemporaryFolder()
        let content = (0..<100_000).map { UInt8(truncatingIfNeeded: $0 / 7) }
        var container = try sealed(content, options: SealOptions(chunk: .minimum))
        let layout = try #require(try Inspection(MemorySource(container)).streamLength)
        #expect(layout == 100_000)
        // Somewhere in the record with the middle of the contents.
        container[container.count / 2] ^= 1
        try folder.write(container, to: "a.vault")
        let view = try view(folder)
        let file = try view.open(view.find(path: "a").id)
        var lost: [Int] = []
        for page in 0..<100_000 / 4096 + 1 {
            let start = page * 4096
            let error = number {
                let bytes = try file.bytes(at: UInt64(start), count: 4096)
                #expect(bytes == Array(content[start..<min(100_000, start + 4096)]))
            }
            if let error {
                #expect(error == .ioError)
                lost.append(page)
            }
        }
        #expect(lost.count == 1)
        #expect(number { _ = try file.bytes() } == .ioError)
    }

    @Test("many threads read at once") func threads() async throws {
        let folder = try TemporaryFolder()
        for number in 0..<8 { try folder.seal([UInt8](repeating: UInt8(number), count: 50_000), to: "\(number).vault") }
        let view = try view(folder)
        try await withThrowingTaskGroup { group in
            for task in 0..<32 {
                group.addTask {
                    for round in 0..<20 {
                        let number = (task + round) % 8
                        let found = try view.find(path: "\(number)")
                        let bytes = try view.bytes(found.id, at: UInt64(round * 1000), count: 1000)
                        #expect(bytes == [UInt8](repeating: UInt8(number), count: 1000))
                        view.forget(found.id, count: 1)
                    }
                }
            }
            try await group.waitForAll()
        }
        #expect(view.nodeCount == 0)
    }
}
