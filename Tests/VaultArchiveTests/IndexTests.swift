import Testing
import VaultTestSupport

@testable import VaultTar

/// The index of a tar stream, of which only the new bytes of each path are looked at.
@Suite struct IndexTests {
    /// The value of an index whose entries are given by the bytes that they share with the path before, and the others.
    private func index(_ entries: [(shared: Int, rest: String)], isSorted: Bool = false) -> TarIndex? {
        func varint(_ number: Int) -> [UInt8] {
            number < 0x80 ? [UInt8(number)] : [UInt8(number & 0x7F) | 0x80] + varint(number >> 7)
        }
        let count = [0, 0, UInt8(entries.count >> 8), UInt8(entries.count & 0xFF)]
        var value: [UInt8] = [1, 0, isSorted ? 1 : 0] + count + count
        for (shared, rest) in entries { value += [1] + varint(shared) + varint(rest.utf8.count) + rest.utf8 }
        return TarIndex(value: value)
    }

    @Test(
        "a path that is made of a beginning and an end is judged as a whole",
        arguments: [
            ("ab", 1, ""), ("a/b", 2, "c"), ("a/..x", 4, "y"), ("..x", 3, "."), ("...", 2, "."), ("a/b", 1, "/c"),
            ("abc/..", 5, "b"), ("abcdef", 6, "/g"), ("a", 0, "b"), ("x/...", 5, ""),
        ] as [(String, Int, String)])
    func legal(_ first: String, _ shared: Int, _ rest: String) {
        let start = TarPath(first.utf8) == nil ? first + "x" : first
        let whole = Array(start.utf8.prefix(shared)) + rest.utf8
        #expect(TarPath(whole) != nil)
        #expect(index([(0, start), (shared, rest)]) != nil)
    }

    @Test(
        "an end that makes it another path than a legal one is refused",
        arguments: [
            ("ab", 0, ""), ("a/b", 2, ""), ("a/..x", 4, ""), ("..x", 2, ""), (".x", 1, ""), ("..x", 1, "."),
            ("a/b", 2, "/c"), ("a/b", 1, "//c"), ("a/b", 3, "/"), ("a", 0, "/b"), ("a/.x", 3, "/b"), ("a.b", 2, "\0"),
            ("a", 1, String(repeating: "x", count: 4096)), ("abc", 3, "/.."), ("abc", 4, "d"),
        ] as [(String, Int, String)])
    func illegal(_ first: String, _ shared: Int, _ rest: String) {
        #expect(index([(0, first)]) != nil && index([(0, first), (shared, rest)]) == nil)
    }

    @Test("random paths are those that a plain reader sees, and their order is seen, too") func random() throws {
        var random = SeededRandom(seed: 7)
        for _ in 0..<300 {
            var entries: [(shared: Int, rest: String)] = []
            var (paths, last): ([TarPath], [UInt8]) = ([], [])
            for _ in 0..<Int.random(in: 1...8, using: &random) {
                let shared = Int.random(in: 0...last.count, using: &random)
                let rest = String(
                    String.UnicodeScalarView((0..<random.below(5)).map { _ in random.pick(["a", "b", ".", "/"]) }))
                last = [UInt8](last.prefix(shared)) + rest.utf8
                guard let path = TarPath(last) else { break }
                paths.append(path)
                entries.append((shared, rest))
                last = path.bytes
            }
            guard !paths.isEmpty else { continue }
            let found = try #require(index(entries))
            var seen: [TarPath] = []
            found.forEach { entry in
                seen.append(entry.path)
                return true
            }
            #expect(seen == paths)
            let ascends = zip(paths, paths.dropFirst()).allSatisfy { $0 <= $1 }
            #expect((index(entries, isSorted: true) != nil) == ascends)
            for wanted in paths + ["a", "ab", "b/a", "a.b"].compactMap({ TarPath($0.utf8) }) {
                let (before, after) = found.neighbours(of: wanted)
                #expect(before?.path == paths.last { $0 == wanted } && after == nil)
                guard ascends, let sorted = index(entries, isSorted: true) else { continue }
                let around = sorted.neighbours(of: wanted)
                #expect(around.before?.path == paths.last { $0 <= wanted })
                #expect(around.after?.path == paths.first { $0 > wanted })
            }
        }
    }

    @Test("a place whose offset no number has is none", arguments: [1 << 54, 1 << 55, UInt64.max])
    func farPlaces(_ place: UInt64) {
        let source = TarSource { _, count in [UInt8](repeating: 0, count: count) }
        #expect(throws: NotTar.self) { _ = try source.entry(at: place) }
    }
}
