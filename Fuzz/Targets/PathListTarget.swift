import SystemPackage
import VaultTestSupport

@testable import VaultCommand

/// A list of paths for `--files-from`. The first byte says what parts them, and how often the rest stands in the list.
/// Each path is what stands there, and each that is none is an error of its own, behind which the list goes on.
enum PathListTarget: FuzzTarget {
    static let name = "pathlist"
    private static let longest = 1 << 16
    /// Some pieces of those that are read at once, and some paths that are too long. More only takes time.
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
        // What stands behind the last separator is an item where there is anything.
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

    /// A path is shown on one line, and no two are shown alike.
    private static func checkEscaping(_ path: [UInt8]) throws {
        let line = Escaping.line(path)
        try require(line.unicodeScalars.allSatisfy(Printing.isSeen), "a path is shown as \(Array(line.utf8))")
        try require(Printing.unescaped(line) == path, "a path is shown as another: \(Array(line.utf8))")
    }
}
