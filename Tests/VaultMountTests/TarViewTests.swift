import SystemPackage
import Testing
import VaultArchive
import VaultFile
import VaultFormat
import VaultTar
import VaultTestSupport

@testable import VaultMount

/// The members of a tar stream in a container, without FUSE.
@Suite struct TarViewTests {
    private let time = Timestamp(seconds: 1_700_000_000)

    private func view(
        _ folder: TemporaryFolder, _ stream: [UInt8], indexed: Bool = true, chunk: ChunkSize = .minimum
    ) throws -> TarView {
        try folder.seal(stream, to: "t.vault", options: .indexed(indexed, chunk: chunk))
        return try TarView(folder.container("t.vault"), modified: Timestamp(seconds: 1))
    }

    @Test("members are files, folders and links, by the index and by the stream", arguments: [true, false])
    func members(_ isIndexed: Bool) throws {
        let folder = try TemporaryFolder()
        var tar = TarMaker()
        tar.add("d/", type: "5", mode: 0o755)
        tar.add("d/run", Array("#!/bin/sh".utf8), mode: 0o4755)
        tar.add("d/sub/deep", [7, 8])
        tar.add("hard", type: "1", link: "d/run")
        tar.add("d/sub/hard", type: "1", link: "./d/run")
        tar.add("link", type: "2", link: "/etc/passwd")
        let view = try view(folder, tar.stream, indexed: isIndexed)
        #expect(view.names == (isIndexed ? .index : .stream))
        #expect(try view.names() == ["d", "hard", "link"])
        #expect(try view.names(view.find(path: "d").id, atOnce: 1) == ["run", "sub"])
        #expect(
            try view.find(path: "d/run").attributes
                == NodeAttributes(kind: .file, size: 9, permissions: 0o500, modified: time))
        #expect(try view.find(path: "d").attributes == .folder(time))
        // No header names this folder.
        #expect(try view.find(path: "d/sub").attributes == .folder(Timestamp(seconds: 1)))
        #expect(try view.bytes(view.find(path: "d/sub/deep").id) == [7, 8])
        #expect(try view.bytes(view.find(path: "d/run").id, at: 2) == Array("/bin/sh".utf8))
        let link = try view.find(path: "link")
        #expect(link.attributes.kind == .link && link.attributes.size == 11)
        #expect(try view.target(of: link.id) == Array("/etc/passwd".utf8))
        #expect(try view.target(of: view.find(path: "hard").id) == Array("d/run".utf8))
        #expect(try view.target(of: view.find(path: "d/sub/hard").id) == Array("../../d/run".utf8))
        #expect(number { _ = try view.find(path: "link/x") } == .noSuchFileOrDirectory)
        #expect(number { _ = try view.find(path: "nothing") } == .noSuchFileOrDirectory)
        #expect(number { _ = try view.open(link.id) } == .invalidArgument)
        #expect(number { _ = try view.open(rootNode) } == .isDirectory)
        #expect(number { _ = try view.list(link.id) } == .notDirectory)
        #expect(number { _ = try view.attributes(of: 0) } == ViewError.noSuchNode.number)
        #expect(number { _ = try view.attributes(of: 1000) } == ViewError.noSuchNode.number)
    }

    @Test(
        "what cannot be given out right has a name, and opening it is an error", arguments: ["S", "3", "4", "6", "V"])
    func noContent(_ type: Character) throws {
        let folder = try TemporaryFolder()
        var tar = TarMaker()
        tar.add("x", type == "S" ? [UInt8](repeating: 1, count: 512) : [], type: type) { header in
            if type == "S" { header.replaceSubrange(483..<494, with: Array("00000040000".utf8)) }
        }
        let view = try view(folder, tar.stream)
        let found = try view.find(path: "x")
        #expect(found.attributes.kind == .file && found.attributes.permissions == 0)
        #expect(found.attributes.size == (type == "S" ? 0o40000 : 0))
        #expect(number { _ = try view.open(found.id) } == .notSupported)
    }

    @Test("many links to a member with long headers give EIO in the end, and cost no more than the stream allows")
    func costlyLinks() throws {
        let folder = try TemporaryFolder()
        var tar = TarMaker()
        for _ in 0..<4 { tar.add("g", [UInt8](repeating: 0x20, count: 1 << 20), type: "g") }
        tar.add("t", [1])
        for number in 0..<100 { tar.add("\(number)", type: "1", link: "t") }
        // A later member has the name, so the view looks for the one that each link leads to.
        tar.add("t", [2])
        let view = try view(folder, tar.stream)
        #expect(try view.bytes(view.find(path: "0").id) == [1])
        let errors = (1..<100).map { link in number { _ = try view.find(path: "\(link)") } }
        // At most 2²⁸ bytes and 16 times the length of the stream, of which each look reads 2²².
        let first = try #require(errors.firstIndex { $0 != nil })
        #expect((60..<90).contains(first) && errors[first...].allSatisfy { $0 == .ioError }, "\(first)")
        // What needs no look stays readable.
        #expect(try view.bytes(view.find(path: "t").id) == [2])
    }

    /// The data of a pax header.
    private func records(_ pairs: (String, String)...) -> [UInt8] {
        pairs.flatMap { key, value in
            let rest = " \(key)=\(value)\n".utf8
            let length = (rest.count...).first { "\($0)".utf8.count + rest.count == $0 } ?? 0
            return Array("\(length)".utf8) + rest
        }
    }

    @Test("of several extension headers before a member the last one counts, as a whole", arguments: [true, false])
    func extensions(_ isIndexed: Bool) throws {
        let folder = try TemporaryFolder()
        var tar = TarMaker()
        tar.add("pax", records(("path", "first"), ("size", "0000001")), type: "x")
        tar.add("pax", records(("path", "global")), type: "g")
        tar.add("pax", records(("path", "second")), type: "x")
        tar.add("long", Array("third".utf8) + [0], type: "L")
        tar.add("header", [1, 2, 3])
        tar.add("after", [4])
        let view = try view(folder, tar.stream, indexed: isIndexed)
        #expect(try view.names() == ["second", "after"])
        // The size of the first header would end the content early, and read the next header at a wrong place.
        #expect(try view.bytes(view.find(path: "second").id) == [1, 2, 3])
        #expect(try view.bytes(view.find(path: "after").id) == [4])
    }

    @Test("a stream that ends behind an extension header shows what is before it") func cutExtension() throws {
        for (data, cut) in [(records(("path", "lost")), 0), (records(("path", "lost")), 512), ([0x39], 0)] {
            let folder = try TemporaryFolder()
            var tar = TarMaker()
            tar.add("file", [1])
            tar.add("pax", data, type: "x")
            let stream = cut == 0 ? tar.stream : [UInt8](tar.bytes.dropLast(cut))
            let view = try view(folder, stream, indexed: false)
            #expect(try view.names() == ["file"] && view.bytes(view.find(path: "file").id) == [1])
            #expect(view.firstGap?.error is NotTar && view.firstGap?.start == 1024)
        }
    }

    @Test("hostile names lead nowhere") func hostile() throws {
        let folder = try TemporaryFolder()
        var tar = TarMaker()
        for name in ["../up", "/root", "a/../b", "a//b", "./", "."] { tar.add(name, [1]) }
        tar.add("ok", [2])
        tar.add("ok", [3])
        // A link with something below it is a folder: nothing goes through links.
        tar.add("trap", type: "2", link: "/etc")
        tar.add("trap/passwd", [4])
        tar.add("empty", type: "2", link: "")
        tar.add("up", type: "1", link: "../x")
        for isIndexed in [true, false] {
            let view = try view(folder, tar.stream, indexed: isIndexed)
            #expect(try view.names() == ["ok", "trap", "empty", "up"])
            #expect(try view.bytes(view.find(path: "ok").id) == [3])
            #expect(try view.find(path: "trap").attributes.kind == .folder)
            #expect(try view.bytes(view.find(path: "trap/passwd").id) == [4])
            #expect(number { _ = try view.open(view.find(path: "empty").id) } == .notSupported)
            #expect(number { _ = try view.open(view.find(path: "up").id) } == .notSupported)
        }
    }

    @Test("a member is used only if its headers are at its place and give its path") func mismatch() throws {
        let folder = try TemporaryFolder()
        var tar = TarMaker()
        tar.add("aa", [1])
        tar.add("bb", [2])
        let right = tar.stream
        var other = TarMaker()
        other.add("aa", [1])
        other.add("cc", [3])
        // The index of one stream, over another one.
        try folder.seal(right, to: "right.vault", options: .indexed())
        try folder.seal(other.stream, to: "t.vault", options: .indexed())
        let index = try folder.container("right.vault").reader.opened.manifest.tarIndex
        let view = try TarView(folder.container("t.vault"), index: index, modified: time, largest: 100)
        #expect(try view.names() == ["aa", "bb"])
        #expect(try view.bytes(view.find(path: "aa").id) == [1])
        #expect(number { _ = try view.find(path: "bb") } == .ioError)
    }

    @Test("content beyond the end of the stream is an error, and nothing else is") func beyond() throws {
        let folder = try TemporaryFolder()
        var tar = TarMaker()
        tar.add("a", [1])
        tar.add("b", [2]) { $0.replaceSubrange(124..<135, with: Array("77777777777".utf8)) }
        // A stream that does not end as it should has no index.
        let view = try view(folder, tar.stream, indexed: false)
        #expect(view.gapCount == 1 && view.firstGap?.error is NotTar && view.firstGap?.last?.path?.description == "b")
        #expect(try view.names() == ["a", "b"] && view.bytes(view.find(path: "a").id) == [1])
        let found = try view.find(path: "b")
        #expect(found.attributes.size == 0o77777777777)
        #expect(try view.bytes(found.id, count: 1) == [2])
        #expect(number { _ = try view.bytes(found.id, at: 1 << 20, count: 1) } == .ioError)
        #expect(number { _ = try view.bytes(found.id, count: 1 << 20) } == .ioError)
    }

    @Test("a stream that breaks off shows its members, and an error where content is lost") func breaksOff() throws {
        let folder = try TemporaryFolder()
        var tar = TarMaker()
        tar.add("first", [1])
        tar.add("last", [UInt8](repeating: 2, count: 5000))
        tar.add("gone", [3])
        // Within the content of the second member; within the header of the third; behind it.
        for (count, names, isLost) in [(2736, 2, true), (6756, 2, false), (7169, 3, false)] {
            let view = try view(folder, [UInt8](tar.bytes.prefix(count)), indexed: false)
            #expect(try view.names() == Array(["first", "last", "gone"].prefix(names)))
            #expect(view.firstGap?.error is NotTar)
            #expect(try view.bytes(view.find(path: "first").id) == [1])
            let last = try view.find(path: "last")
            #expect(last.attributes.size == 5000)
            #expect(try view.bytes(last.id, count: 900) == [UInt8](repeating: 2, count: 900))
            #expect(number { _ = try view.bytes(last.id, at: 900) } == (isLost ? .ioError : nil))
        }
        // What does not begin like a tar is none.
        #expect(throws: NotTar.self) { _ = try view(folder, [UInt8](tar.bytes.prefix(511)), indexed: false) }
    }

    @Test("an index that leads into zeros or behind the end gives errors for those members alone")
    func lyingIndex() throws {
        let folder = try TemporaryFolder()
        var (tar, short, zeros) = (TarMaker(), TarMaker(), TarMaker())
        tar.add("aa", [1])
        tar.add("bb", [2])
        tar.add("cc", [3])
        short.add("aa", [1])
        zeros.add("aa", [UInt8](repeating: 0, count: 2048))
        zeros.add("cc", [3])
        try folder.seal(tar.stream, to: "right.vault", options: .indexed())
        let index = try folder.container("right.vault").reader.opened.manifest.tarIndex
        for (stream, size) in [(short.stream, 1), (zeros.stream, 2048)] {
            try folder.seal(stream, to: "t.vault", options: .indexed())
            let view = try TarView(folder.container("t.vault"), index: index, modified: time, largest: 100)
            #expect(try view.names() == ["aa", "bb", "cc"])
            #expect(try view.bytes(view.find(path: "aa").id).count == size)
            for name in ["bb", "cc"] { #expect(number { _ = try view.find(path: name) } == .ioError, "\(name)") }
        }
    }

    @Test("what is no tar is refused, and so are too many names") func refused() throws {
        let folder = try TemporaryFolder()
        try folder.seal([UInt8](repeating: 1, count: 5000), to: "no.vault")
        #expect(throws: NotTar.self) { try TarView(folder.container("no.vault"), modified: time) }
        var tar = TarMaker()
        for name in 0..<20 { tar.add("\(name)", []) }
        for isIndexed in [true, false] {
            try folder.seal(tar.stream, to: "t.vault", options: .indexed(isIndexed))
            #expect(try TarView(folder.container("t.vault"), modified: time, largest: 21).names().count == 20)
            #expect(throws: VaultError.self) {
                try TarView(folder.container("t.vault"), modified: time, largest: 20)
            }
        }
    }

    @Test("a damaged header or record is lost alone") func damage() throws {
        let folder = try TemporaryFolder()
        var tar = TarMaker()
        let content = [UInt8](repeating: 9, count: 3 * 4096)
        for name in ["a", "b", "c"] { tar.add(name, content) }
        var container = try sealed(tar.stream, options: .indexed())
        // In the content of the second member.
        container[container.count / 2] ^= 1
        try folder.write(container, to: "t.vault")
        let view = try TarView(folder.container("t.vault"), modified: time)
        #expect(try view.bytes(view.find(path: "a").id) == content)
        #expect(try view.bytes(view.find(path: "c").id) == content)
        let b = try view.open(view.find(path: "b").id)
        #expect(number { _ = try b.bytes() } == .ioError)
        #expect(try b.bytes(count: 1) == [9] && b.bytes(at: UInt64(content.count) - 1) == [9])
    }

    @Test("a hard link leads to the member before it, also if a later one has its name", arguments: [true, false])
    func hardLinks(_ isIndexed: Bool) throws {
        let folder = try TemporaryFolder()
        var tar = TarMaker()
        tar.add("early", type: "1", link: "d/a")
        tar.add("d/a", [1])
        tar.add("d/link", type: "1", link: "d/a")
        tar.add("chain", type: "1", link: "d/link")
        tar.add("d/a", [2, 2])
        tar.add("last", type: "1", link: "d/a")
        tar.add("none", type: "1", link: "d/none")
        let view = try view(folder, tar.stream, indexed: isIndexed)
        let link = try view.find(path: "d/link")
        #expect(link.attributes.kind == .file && link.attributes.size == 1)
        #expect(try view.bytes(link.id) == [1])
        #expect(try view.target(of: view.find(path: "chain").id) == Array("d/link".utf8))
        #expect(try view.target(of: view.find(path: "last").id) == Array("d/a".utf8))
        #expect(try view.target(of: view.find(path: "none").id) == Array("d/none".utf8))
        #expect(number { _ = try view.open(view.find(path: "early").id) } == .notSupported)
    }

    @Test("a hard link behind a damaged header is no link to an older member of that name") func olderTargets() throws {
        let folder = try TemporaryFolder()
        var tar = TarMaker()
        let content = [UInt8](repeating: 9, count: 3 * 4096)
        tar.add("a", [1])
        tar.add("pad", content)
        tar.add("pad2", content)
        let second = Int(tar.place) * 512
        tar.add("a", content)
        tar.add("b", type: "1", link: "a")
        tar.add("c", [3])
        tar.add("d", type: "1", link: "c")
        // An index without the second version.
        var maker = TarIndexMaker(leastStepExponent: 1, largest: TarIndex.largestValue)
        maker.take(tar.stream.span)
        let index = try #require(try TarIndex(value: maker.finish()))
        var container = try sealed(tar.stream, options: .indexed())
        let header: UInt32 = container[64..<68].bigEndian()
        container[Int(header) + second / 4096 * (4096 + 20) + 4] ^= 1
        try folder.write(container, to: "t.vault")
        let view = try TarView(folder.container("t.vault"), index: index, modified: time, largest: 100)
        #expect(view.gapCount == 1)
        #expect(try view.bytes(view.find(path: "a").id) == [1])
        #expect(number { _ = try view.find(path: "b") } == .ioError)
        #expect(try view.target(of: view.find(path: "d").id) == Array("c".utf8))
    }

    @Test("headers that are damaged hide no other member, and those in them are errors") func gaps() throws {
        let folder = try TemporaryFolder()
        var tar = TarMaker()
        for number in 0..<20 { tar.add("f\(number)", [UInt8](repeating: UInt8(number), count: 3000)) }
        var container = try sealed(tar.stream, options: .indexed())
        let whole = try SeekableVaultReader(MemorySource(container), with: .key(testKey(1)))
        let index = try #require(whole.opened.manifest.tarIndex)
        container[container.count / 2] ^= 1
        try folder.write(container, to: "t.vault")
        // Without an index of all names.
        let other = try #require(TarIndex(value: [1, 1] + index.value[2..<7] + [0, 0, 0, 40] + index.value[11...]))
        let view = try TarView(folder.container("t.vault"), index: other, modified: time, largest: 100)
        #expect(view.names == .stream && view.gapCount == 1 && view.firstGap != nil)
        #expect(try view.names().count == 20)
        var lost = 0
        for number in 0..<20 {
            do {
                let found = try view.find(path: "f\(number)")
                let bytes = try view.bytes(found.id)
                #expect(bytes == [UInt8](repeating: UInt8(number), count: 3000))
            } catch {
                #expect(errorNumber(for: error) == .ioError)
                lost += 1
            }
        }
        #expect((1...3).contains(lost))
    }

    /// What a program reads at a path, which may be a link.
    private func shown(_ path: String, _ view: TarView) throws -> [UInt8] {
        var found = try view.find(path: path)
        while found.attributes.kind == .link {
            found = try view.find(path: String(decoding: view.target(of: found.id), as: UTF8.self))
        }
        return try view.bytes(found.id)
    }

    /// A container with one bit changed, in the record that has a byte of the plaintext.
    private func damaged(_ container: [UInt8], at offset: UInt64) throws -> [UInt8] {
        for place in stride(from: 0, to: container.count, by: 1000) {
            var changed = container
            changed[place] ^= 1
            guard let reader = try? SeekableVaultReader(MemorySource(changed), with: .key(testKey(1))),
                (try? reader.bytes(0..<1)) != nil
            else { continue }
            if (try? reader.bytes(offset..<offset + 1)) == nil { return changed }
        }
        throw Errno.invalidArgument
    }

    @Test("a hard link behind a damaged header never shows an older file", arguments: [false, true])
    func linkBehindGap(_ isReplaced: Bool) throws {
        let folder = try TemporaryFolder()
        let fill = [UInt8](repeating: 7, count: 3 * 4096)
        var tar = TarMaker()
        tar.add("a", [1])
        tar.add("before", type: "1", link: "a")
        tar.add("fill1", fill)
        let offset = tar.bytes.count
        tar.add("a", [2, 2])
        tar.add("fill2", fill)
        tar.add("fill3", fill)
        tar.add("link", type: "1", link: "a")
        tar.add("chain", type: "1", link: "link")
        if isReplaced { tar.add("a", [3, 3, 3]) }
        let container = try damaged(sealed(tar.stream, options: .indexed()), at: UInt64(offset))
        try folder.write(container, to: "t.vault")
        let opened = try folder.container("t.vault")
        var maker = TarIndexMaker(leastStepExponent: 1, largest: TarIndex.largestValue)
        maker.take(tar.stream.span)
        // An index of all members, one of every second, from which the walk finds the next one behind the gap, and none.
        for (index, error) in [
            (opened.reader.opened.manifest.tarIndex, Errno.ioError), (TarIndex(value: try maker.finish()), .ioError),
            (nil, .noSuchFileOrDirectory),
        ] {
            let view = try TarView(opened, index: index, modified: time, largest: 100)
            #expect(try shown("before", view) == [1])
            for name in ["link", "chain"] {
                #expect(number { _ = try shown(name, view) } == error, "\(name) \(view.names)")
            }
        }
    }

    @Test("the headers that are kept are bounded, and a link that no system has is not shown as one")
    func bounds() throws {
        let folder = try TemporaryFolder()
        var tar = TarMaker()
        for number in 0..<10_000 { tar.add("\(number)") }
        tar.add("pax", records(("linkpath", String(repeating: "l", count: 4096))), type: "x")
        tar.add("long", type: "2", link: "l")
        tar.add("pax", records(("linkpath", String(repeating: "l", count: 4095))), type: "x")
        tar.add("short", type: "2", link: "l")
        let view = try view(folder, tar.stream, chunk: .standard)
        for name in try view.names() { _ = try view.find(path: name) }
        #expect((4096...8192).contains(view.headersHeld))
        #expect(number { _ = try view.open(view.find(path: "long").id) } == .notSupported)
        #expect(try view.target(of: view.find(path: "short").id).count == 4095)
    }

    @Test(
        "times before 1970 are read as GNU tar writes them",
        arguments: [
            ([UInt8](repeating: 0xFF, count: 8) + [0xED, 0x30, 0x0B, 0x80], -315_618_432),
            ([UInt8](repeating: 0xFF, count: 12), -1), ([0xFF, 0xFF, 0xFF, 0xFF, 0x80] + [0, 0, 0, 0, 0, 0, 0], .min),
            ([0x80] + [UInt8](repeating: 0, count: 7) + [1, 0, 0, 0], 1 << 24),
            ([0xC0] + [UInt8](repeating: 0, count: 11), 9),
            ([0xFF, 0xFF, 0xFF, 0xFF, 0x7F] + [UInt8](repeating: 0, count: 7), 9),
        ] as [([UInt8], Int64)])
    func oldTimes(_ field: [UInt8], _ seconds: Int64) throws {
        let folder = try TemporaryFolder()
        var tar = TarMaker()
        tar.add("x", [1]) { $0.replaceSubrange(136..<148, with: field) }
        // A number that no time has is none: the file then has the time of the container.
        let view = try TarView(
            { () in
                try folder.seal(tar.stream, to: "t.vault", options: .indexed())
                return try folder.container("t.vault")
            }(), modified: Timestamp(seconds: 9))
        #expect(try view.find(path: "x").attributes.modified == Timestamp(seconds: seconds))
    }
}
