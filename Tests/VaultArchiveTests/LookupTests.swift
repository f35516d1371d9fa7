import Synchronization
import Testing
import VaultFormat
import VaultTestSupport

@testable import VaultArchive
@testable import VaultTar

/// Members by their paths, and what hard links lead to.
@Suite struct LookupTests {
    final class Log: Sendable {
        let reads = Mutex(0)
        let notices = Mutex<[String]>([])

        func note(_ notice: MemberLookup.Notice) {
            let text =
                switch notice {
                case .indexMismatch: "mismatch"
                case .gap(let gap): "gap \(gap.start) \(gap.end ?? 0)"
                }
            notices.withLock { $0.append(text) }
        }
    }

    /// - Parameter damaged: a range that cannot be read.
    func lookup(
        _ stream: [UInt8], _ index: TarIndex?, _ log: Log, damaged: Range<UInt64> = 0..<0, goesByStream: Bool = false,
        limits: MemberLookup.Limits = .none
    ) -> MemberLookup {
        let window = StreamWindow(length: UInt64(stream.count)) { range in
            log.reads.withLock { $0 += 1 }
            guard !range.overlaps(damaged) else { throw VaultError(.recordDamaged, "a test damages it") }
            return Array(stream[Int(range.lowerBound)..<Int(range.upperBound)])
        }
        return MemberLookup(window, index: index, goesByStream: goesByStream, limits: limits, tell: log.note)
    }

    func index(_ stream: [UInt8], leastStepExponent: Int = 0) throws -> TarIndex {
        var maker = TarIndexMaker(leastStepExponent: leastStepExponent, largest: TarIndex.largestValue)
        maker.take(stream.span)
        return try #require(try TarIndex(value: maker.finish()))
    }

    func path(_ text: String) throws -> TarPath { try #require(TarPath(text.utf8)) }

    @Test(
        "each way finds the last member with a path before a place, however often it is asked",
        arguments: [0, 1, 3], [true, false])
    func ways(_ stepExponent: Int, _ isSorted: Bool) throws {
        var tar = TarMaker()
        var entries: [(name: String, place: UInt64)] = []
        for number in 0..<600 {
            // Each name three times.
            let name = "d/\(1000 + (isSorted ? number / 3 : number % 200))"
            entries.append((name, tar.place))
            tar.add(name)
        }
        let index = try index(tar.stream, leastStepExponent: stepExponent)
        #expect(index.isSorted == isSorted && index.stepExponent == stepExponent)
        let log = Log()
        for lookup in [lookup(tar.stream, index, log), lookup(tar.stream, nil, log)] {
            for round in 0..<3 {
                for number in stride(from: 0, to: 600, by: 7) {
                    let limit: UInt64? = round == 0 ? nil : entries[(number * 31) % 600].place
                    let wanted = entries.last { $0.name == entries[number].name && $0.place < limit ?? .max }
                    let found = try lookup.find(path(entries[number].name), before: limit)
                    #expect(found?.place == wanted?.place)
                }
                #expect(try lookup.find(path("d/2000")) == nil && lookup.find(path("c")) == nil)
            }
        }
        #expect(log.notices.withLock(\.self) == [])
    }

    @Test("links that lead to nothing do not cost the square", arguments: [0, 4, nil])
    func cost(_ stepExponent: Int?) throws {
        var tar = TarMaker()
        for number in 0..<4000 { tar.add("\(10_000 + number)", type: "1", link: "n\(number)") }
        let index = try stepExponent.map { try self.index(tar.stream, leastStepExponent: $0) }
        let log = Log()
        let lookup = lookup(tar.stream, index, log)
        var links: [TarEntry] = []
        try lookup.all { links.append($0) }
        log.reads.withLock { $0 = 0 }
        for link in links { #expect(try lookup.target(of: link) == nil) }
        // The stream is read once, and each look-up reads a piece or two at most.
        #expect(log.reads.withLock(\.self) < 9000)
    }

    @Test("a hard link leads to the member before it, also by other links, and not for ever") func links() throws {
        var tar = TarMaker()
        tar.add("b", type: "1", link: "a")
        tar.add("a", [1])
        tar.add("c", type: "1", link: "./a")
        tar.add("a", [2, 2])
        tar.add("d", type: "1", link: "c")
        tar.add("e", type: "1", link: "a")
        tar.add("e", type: "1", link: "e")
        tar.add("f", type: "1", link: "../a")
        tar.add("l0", [3])
        for number in 1...41 { tar.add("l\(number)", type: "1", link: "l\(number - 1)") }
        for index in try [nil, index(tar.stream)] {
            let lookup = lookup(tar.stream, index, Log())
            func length(_ name: String) throws -> UInt64? {
                let found = try #require(try lookup.find(path(name)))
                return try lookup.target(of: found)?.contentLength
            }
            #expect(try length("a") == 2 && length("b") == nil && length("c") == 1 && length("d") == 1)
            #expect(try length("e") == 2 && length("f") == nil && length("l40") == 1 && length("l41") == nil)
        }
    }

    @Test("an index that does not fit is reported once, and the stream is read") func mismatch() throws {
        var (tar, other) = (TarMaker(), TarMaker())
        for name in ["a", "b", "c"] {
            tar.add(name, [1])
            other.add(name + "x", [1])
        }
        let log = Log()
        let lookup = try lookup(tar.stream, index(other.stream), log)
        #expect(try lookup.find(path("ax"))?.place == nil)
        #expect(try lookup.find(path("b"))?.place == 2 && lookup.find(path("c"))?.place == 4)
        #expect(log.notices.withLock(\.self) == ["mismatch"])
        // By the table, too.
        let again = try self.lookup(tar.stream, index(other.stream), log)
        for _ in 0..<200_000 where log.notices.withLock(\.count) == 1 { _ = try again.find(path("b")) }
        #expect(try again.find(path("ax")) == nil && again.find(path("b"))?.place == 2)
    }

    @Test("headers that cannot be read hide no other member; what may be among them is an error") func gaps() throws {
        var tar = TarMaker()
        for number in 0..<40 { tar.add("f\(9 - number % 10)\(number)", [UInt8](repeating: 1, count: 20_000)) }
        // Not all names: the stream has to be read.
        let index = try index(tar.stream, leastStepExponent: 1)
        #expect(!index.isSorted)
        let log = Log()
        // Of a member that the index does not have.
        let header: UInt64 = 15 * 41 * 512
        let damaged = lookup(tar.stream, index, log, damaged: header..<header + 512)
        #expect(try damaged.find(path("f90"))?.place == 0 && damaged.find(path("f039"))?.place != nil)
        for _ in 0..<3 {
            #expect(throws: VaultError.self) { try damaged.find(path("f415")) }
            #expect(throws: VaultError.self) { try damaged.find(path("nothing")) }
        }
        let notices = Set(log.notices.withLock(\.self))
        #expect(notices.count == 1 && notices.first?.hasPrefix("gap ") == true, "\(notices)")
        // What is before the gap cannot be in it.
        #expect(try damaged.find(path("nothing"), before: 100) == nil)
    }

    @Test("a damaged header hides no other member from an index of some members") func gapsInOrder() throws {
        var tar = TarMaker()
        var places: [UInt64] = []
        for number in 0..<40 {
            places.append(tar.place)
            tar.add("f\(100 + number)", [UInt8](repeating: 1, count: 2000))
        }
        let index = try index(tar.stream, leastStepExponent: 3)
        // The second of eight members.
        let lost = places[17] * 512
        let log = Log()
        let damaged = lookup(tar.stream, index, log, damaged: lost..<lost + 512)
        for number in 0..<40 where !(17..<24).contains(number) {
            #expect(try damaged.find(path("f\(100 + number)"))?.place == places[number])
        }
        for number in 17..<24 { #expect(throws: VaultError.self) { try damaged.find(path("f\(100 + number)")) } }
        #expect(log.notices.withLock(\.count) > 0)
    }

    @Test("what is before the place where a stream breaks off is found") func brokenOff() throws {
        var tar = TarMaker()
        tar.add("a", [1])
        tar.add("b", type: "1", link: "a")
        let log = Log()
        let broken = lookup(tar.bytes + [UInt8](repeating: 7, count: 512), nil, log)
        let link = try #require(try broken.find(path("b")))
        #expect(try broken.target(of: link)?.place == 0 && broken.find(path("none"), before: 2) == nil)
        #expect(try broken.find(path("none")) == nil)
        #expect(Set(log.notices.withLock(\.self)) == ["gap 1536 0"])
        #expect(throws: NotTar.self) { try lookup([UInt8](repeating: 7, count: 512), nil, log).find(path("a")) }
    }
}

extension MemberLookup {
    /// The members of the stream.
    func all(_ body: (TarEntry) -> Void) throws {
        try source.forEachEntry { entry in
            body(entry)
            return true
        }
    }
}
