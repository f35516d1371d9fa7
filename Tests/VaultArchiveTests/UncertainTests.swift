import Synchronization
import Testing
import VaultFormat
import VaultTestSupport

@testable import VaultArchive
@testable import VaultTar

/// Look-ups where headers cannot be read, the index leads elsewhere, or the stream is too long.
extension LookupTests {
    /// A member twice, and a link to it behind both.
    private func versions() -> (tar: TarMaker, second: UInt64) {
        var tar = TarMaker()
        tar.add("a", [1])
        let second = tar.place
        tar.add("a", [2, 2])
        tar.add("b", type: "1", link: "a")
        tar.add("c", type: "1", link: "b")
        for number in 0..<5 { tar.add("d\(number)", [3]) }
        tar.add("e", type: "1", link: "d4")
        return (tar, second)
    }

    /// What the index of a stream says, in another order, so that the stream has to be read.
    private func unsorted(_ index: TarIndex) throws -> TarIndex {
        try #require(TarIndex(value: index.value[..<2] + [0] + index.value[3...]))
    }

    @Test(
        "a link behind a damaged header gets no older content of the name that it leads to", arguments: [0, 1, 2],
        [true, false])
    func olderTargets(_ stepExponent: Int, _ isSorted: Bool) throws {
        let (tar, second) = versions()
        var index = try index(tar.stream, leastStepExponent: stepExponent)
        #expect(index.isSorted)
        if !isSorted { index = try unsorted(index) }
        let log = Log()
        let whole = lookup(tar.stream, index, log)
        var links: [String: TarEntry] = [:]
        try whole.all { if $0.kind == .hardLink { links[String(decoding: $0.name, as: UTF8.self)] = $0 } }
        for link in ["b", "c"] { #expect(try whole.target(of: #require(links[link]))?.place == second) }
        #expect(log.notices.withLock(\.self) == [])
        let damage = second * 512..<second * 512 + 512
        for goesByStream in [false, true] {
            let damaged = lookup(tar.stream, index, log, damaged: damage, goesByStream: goesByStream)
            for link in ["b", "c"] {
                #expect(throws: VaultError.self) { try damaged.target(of: #require(links[link])) }
            }
            // No gap is between these two.
            #expect(try damaged.target(of: #require(links["e"])) != nil)
            #expect(try damaged.find(path("d2")) != nil && damaged.find(path("d4")) != nil)
        }
    }

    @Test("of a member that may have a later version the older one is found, with a notice")
    func olderMembers() throws {
        let (tar, second) = versions()
        let index = try index(tar.stream, leastStepExponent: 2)
        let damage = second * 512..<second * 512 + 512
        for index in try [index, unsorted(index)] {
            let log = Log()
            let damaged = lookup(tar.stream, index, log, damaged: damage)
            #expect(try damaged.find(path("d4")) != nil && log.notices.withLock(\.self) == [])
            #expect(try damaged.find(path("a"))?.place == 0)
            let notices = Set(log.notices.withLock(\.self))
            #expect(notices.count == 1 && notices.first?.hasPrefix("gap 1024 ") == true, "\(notices)")
        }
    }

    @Test("an index that knows all members says for certain which one a link behind a gap leads to")
    func certain() throws {
        var tar = TarMaker()
        tar.add("a", [1])
        let damage = tar.place * 512
        tar.add("b", [2])
        tar.add("c", type: "1", link: "a")
        let log = Log()
        let damaged = try lookup(tar.stream, index(tar.stream), log, damaged: damage..<damage + 512)
        let link = try #require(try damaged.find(path("c")))
        #expect(try damaged.target(of: link)?.place == 0)
        #expect(log.notices.withLock(\.self) == [])
    }

    @Test("the stream alone counts if a look-up goes by it", arguments: [UInt8(0), 1])
    func byStream(_ step: UInt8) throws {
        let (tar, second) = versions()
        // Its maker hides the second version.
        let index = try index([(0, "a"), (4, "b"), (6, "d0")], step: step)
        let link = try #require(try lookup(tar.stream, nil, Log()).find(path("b")))
        #expect(try lookup(tar.stream, index, Log(), goesByStream: true).target(of: link)?.place == second)
    }

    // MARK: Bounds

    @Test(
        "a stream with too many members for a table is read again, and no result is another", arguments: [nil, 0, 2],
        [true, false])
    func tooLong(_ stepExponent: Int?, _ isSorted: Bool) throws {
        let (tar, second) = versions()
        var index = try stepExponent.map { try self.index(tar.stream, leastStepExponent: $0) }
        if !isSorted { index = try index.map(unsorted) }
        let damage = second * 512..<second * 512 + 512
        let log = Log()
        for isDamaged in [false, true] {
            let lookup = lookup(
                tar.stream, index, log, damaged: isDamaged ? damage : 0..<0, goesByStream: stepExponent == 0,
                limits: MemberLookup.Limits(members: 3))
            for _ in 0..<2 {
                let link = try #require(try self.lookup(tar.stream, nil, log).find(path("b")))
                if isDamaged {
                    #expect(throws: VaultError.self) { try lookup.target(of: link) }
                } else {
                    #expect(try lookup.target(of: link)?.place == second && lookup.find(path("none")) == nil)
                    #expect(try lookup.find(path("a"))?.place == second && lookup.find(path("d4")) != nil)
                }
            }
        }
    }

    @Test("what all look-ups together read is limited", arguments: [nil, 0, 2])
    func budget(_ stepExponent: Int?) throws {
        var tar = TarMaker()
        let long = [UInt8](repeating: 0x30, count: 100_000)
        for _ in 0..<10 { tar.add("long", Array("100012 k=".utf8) + long + [0x30, 0x30, 0x0A], type: "x") }
        tar.add("a", [1])
        for number in 0..<100 { tar.add("b\(100 + number)", type: "1", link: "a") }
        let index = try stepExponent.map { try self.index(tar.stream, leastStepExponent: $0) }
        let limits = MemberLookup.Limits(bytes: 20_000_000)
        let lookup = lookup(tar.stream, index, Log(), limits: limits)
        var links: [TarEntry] = []
        try lookup.all { if $0.kind == .hardLink { links.append($0) } }
        var (found, refused) = (0, 0)
        for link in links {
            do {
                #expect(try lookup.target(of: link)?.place == 0)
                found += 1
            } catch let error as VaultError {
                #expect(error.code == .tooLarge)
                refused += 1
            }
        }
        #expect((5...25).contains(found), "\(found)")
        #expect(found + refused == 100)
        let (least, most) = (MemberLookup.Limits.linear(in: 0), MemberLookup.Limits.linear(in: .max))
        #expect(least.bytes < 1 << 30 && most.bytes > 1 << 60)
    }

    // MARK: An index that leads elsewhere

    /// An index of these places and paths, sorted, of each second member.
    private func index(_ entries: [(place: UInt64, path: String)], step: UInt8 = 1) throws -> TarIndex {
        var value: [UInt8] = [1, step, 1, 0, 0, 0, UInt8(entries.count), 0, 0, 0, 100]
        var last: UInt64 = 0
        for (place, path) in entries {
            var step = place - last
            while step > 127 {
                value.append(UInt8(step % 128) | 128)
                step /= 128
            }
            value += [UInt8(step), 0, UInt8(path.utf8.count)] + path.utf8
            last = place
        }
        return try #require(TarIndex(value: value))
    }

    /// `a` with two blocks of content, of which the first is a header of `fake` and the second is zeros; then `b`, `c`.
    private func inner() -> [UInt8] {
        var (fake, tar) = (TarMaker(), TarMaker())
        fake.add("fake")
        tar.add("a", Array(fake.bytes) + [UInt8](repeating: 0, count: 512))
        tar.add("b", [2])
        tar.add("c", [3])
        return tar.stream
    }

    @Test(
        "where the index leads into a content, the padding, or behind the end, the stream counts",
        arguments: [
            // The second block of `a`, zeros: the stream seems to end there.
            [(2, "a")], [(0, "a"), (2, "aa")], [(0, "a"), (2, "b")],
            // Within the content of `b`.
            [(0, "a"), (4, "c")], [(0, "a"), (4, "bb")],
            // The end, and behind it.
            [(0, "a"), (7, "c")], [(0, "a"), (60, "c")],
        ] as [[(UInt64, String)]])
    func elsewhere(_ entries: [(UInt64, String)]) throws {
        let stream = inner()
        for step in [UInt8(0), 1] {
            let index = try index(entries.map { (place: $0.0, path: $0.1) }, step: step)
            let walk = MemberWalk(lookup(stream, nil, Log()).source, index: index)
            for (name, place) in [("a", 0), ("b", 3), ("c", 5)] as [(String, UInt64)] {
                let log = Log()
                if step == 1 { #expect(try lookup(stream, index, log).find(path(name))?.place == place) }
                var found: [UInt64] = []
                do {
                    try walk.members(at: path(name)) { step in
                        if case .member(let entry) = step { found.append(entry.place) }
                        return true
                    }
                    #expect(found == [place])
                } catch let error as VaultError {
                    #expect(error.code == .indexMismatch && (found == [] || found == [place]))
                }
            }
            var all: [UInt64] = []
            try walk.all { step in
                if case .member(let entry) = step { all.append(entry.place) }
                return true
            }
            #expect(all == [0, 3, 5])
        }
    }

    @Test("behind a gap the walk goes on at the next member that the stream has where the index says")
    func elsewhereBehindGap() throws {
        let stream = inner()
        let log = Log()
        let index = try index([(0, "a"), (2, "aa"), (3, "b"), (4, "bb"), (5, "c"), (6, "d")])
        // The header of the first member.
        let source = lookup(stream, nil, log, damaged: 0..<512).source
        var steps: [String] = []
        try MemberWalk(source, index: index).all { step in
            switch step {
            case .member(let entry): steps.append("\(entry.path?.description ?? "") \(entry.place)")
            case .lost(let entry): steps.append("lost \(entry.path)")
            case .gap(let gap): steps.append("gap \(gap.start) \(gap.end ?? 0)")
            case .indexDiffers: steps.append("differs")
            }
            return true
        }
        #expect(steps == ["lost a", "differs", "gap 0 1536", "b 3", "c 5"])
    }

    @Test("long headers before a damaged place are not read once for each entry of the index")
    func triesInGaps() throws {
        var tar = TarMaker()
        for _ in 0..<200 { tar.add("././@LongLink", [UInt8](repeating: 0x61, count: 5000), type: "L") }
        let damage = tar.place * 512
        tar.add("a", [1])
        let last = tar.place
        tar.add("b", [2])
        // Each leads to one of the long names.
        let entries = (0..<40).map { (place: UInt64($0 * 11), path: "a") }
        let index = try index(entries + [(last, "b")])
        let log = Log()
        let source = lookup(tar.stream, nil, log, damaged: damage..<damage + 512).source
        for (least, isEnough) in [(UInt64(1) << 28, true), (0, false)] {
            var found: [String] = []
            let walk = MemberWalk(source, index: index, leastTried: least)
            func go() throws {
                try walk.all { step in
                    if case .member(let entry) = step { found.append(String(decoding: entry.name, as: UTF8.self)) }
                    return true
                }
            }
            if isEnough {
                try go()
                #expect(found == ["b"])
            } else {
                let error = #expect(throws: VaultError.self) { try go() }
                #expect(error?.code == .tooLarge && found == [])
            }
        }
    }
}
