import SystemPackage
import VaultTestSupport

@testable import VaultCommand

/// A list of paths for `--files-from`. The first byte chooses the separator, and how often the list repeats the rest.
/// Each path must be the one in the list. Each invalid one must be an error of its own, and the list must go on after
/// it.
enum PathListTarget: FuzzTarget {
    static let name = "pathlist"
    private static let longest = 1 << 16
    /// Enough for several reads, and for some paths that are too long. More only takes time.
    private static let longestList = 1 << 18

    static func run(_ input: [UInt8]) throws {
        guard let first = input.first else { return }
        let separator = first & 1 == 0 ? UInt8(ascii: "\n") : 0
        let times = min(1 + Int(first >> 3), max(1, Self.longestList / input.count))
        let list = [UInt8]((0..<times).map { _ in input.dropFirst() }.joined())
        let folder = try TemporaryFolder()
        let path = try folder.write(list, to: "list")
        let reader = try LineReader(PathArgument(bytes: [UInt8](path.string.utf8)), separator: separator)
        var items = list.split(separator: separator, omittingEmptySubsequences: false)
        // The part after the last separator is an item, unless it is empty.
        if items.last?.isEmpty ?? false { items.removeLast() }
        for item in items {
            let isPath = !item.isEmpty && item.count <= longest && !item.contains(0)
            do {
                let found = try reader.next()
                try require(isPath, "a path of \(item.count) bytes was taken that is none")
                let bytes = item == [UInt8(ascii: "-")] ? [UInt8]("./-".utf8) : [UInt8](item)
                try require(found?.bytes == bytes, "a path of \(item.count) bytes has become another")
                try checkEscaping(bytes)
            } catch let failure as Failure {
                try require(!isPath && failure.status == .usage, "a path of \(item.count) bytes: \(failure)")
            }
        }
        try require(try reader.next() == nil, "there is more in a list than was put into it")
    }

    /// A path is shown on one line, and no two paths look the same.
    private static func checkEscaping(_ path: [UInt8]) throws {
        let line = Escaping.line(path)
        try require(line.unicodeScalars.allSatisfy(Printing.isSeen), "a path is shown as \(Array(line.utf8))")
        try require(Printing.unescaped(line) == path, "a path is shown as another: \(Array(line.utf8))")
    }
}
