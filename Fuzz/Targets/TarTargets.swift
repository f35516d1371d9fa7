import VaultFormat

@testable import VaultTar

/// A tar stream. It is read the same however its bytes are cut, and as it passes or at its places; the index that is
/// made of it leads to its entries.
enum TarStreamTarget: FuzzTarget {
    static let name = "tarstream"

    static func run(_ input: [UInt8]) throws {
        let whole = walk(input, piece: input.count)
        try require(walk(input, piece: input.count % 700 + 1) == whole, "a stream in pieces is another one")
        let source = TarSource { offset, count in
            let start = Int(clamping: min(offset, UInt64(input.count)))
            return Array(input[start..<min(input.count, start + count)])
        }
        // The content of the last entry may be cut, which only a walk sees.
        var placed: [TarEntry] = []
        var hasEnded = true
        do {
            try source.forEachEntry { entry in
                placed.append(entry)
                return true
            }
        } catch is NotTar {
            hasEnded = false
        }
        try require(placed == whole.entries, "a stream has other entries when it is read at their places")
        try require(hasEnded == whole.hasEnded, "a stream ends otherwise when it is read at its places")

        var maker = TarIndexMaker(leastStepExponent: input.count % 3, largest: 1 << 14)
        maker.take(input.span)
        guard let value = try? maker.finish() else {
            return try require(!whole.hasEnded || whole.isFailed, "a stream that ends has no index")
        }
        try require(whole.hasEnded, "a stream that does not end has an index")
        guard let index = TarIndex(value: value) else { throw Broken("an index that was made is refused") }
        try require(value.count <= 1 << 14, "an index is too long")
        try require(index.streamCount == UInt32(whole.entries.count), "an index counts other entries")
        let paths = whole.entries.compactMap(\.path)
        try require(
            index.isSorted == zip(paths, paths.dropFirst()).allSatisfy { $0 <= $1 }, "an index has a wrong order")
        try index.forEach { entry in
            try require(try source.entry(at: entry).path == entry.path, "an index leads elsewhere")
            return true
        }
        for path in Set(paths.prefix(20)) {
            let found = try source.find(path, index: index)
            try require(found == whole.entries.last { $0.path == path }, "an index finds another entry")
            try require(try source.find(path, index: nil) == found, "a stream finds another entry")
        }
    }

    private struct Walk: Equatable {
        var entries: [TarEntry] = []
        var hasEnded = false
        var isFailed = false
    }

    private static func walk(_ input: [UInt8], piece: Int) -> Walk {
        var (walk, result) = (TarWalk(), Walk())
        var rest = input[...]
        do throws(NotTar) {
            while !rest.isEmpty {
                let bytes = Array(rest.prefix(max(piece, 1)))
                rest = rest.dropFirst(bytes.count)
                try walk.take(bytes.span) { result.entries.append($0) }
            }
        } catch {
            result.isFailed = true
        }
        result.hasEnded = walk.hasEnded
        return result
    }
}

/// The value of an index. An accepted one has only legal entries, whatever they lead to.
enum TarIndexTarget: FuzzTarget {
    static let name = "tarindex"

    static func run(_ input: [UInt8]) throws {
        guard let index = TarIndex(value: input) else { return }
        var entries: [TarIndex.Entry] = []
        index.forEach { entry in
            entries.append(entry)
            return true
        }
        try require(entries.count == index.count, "an index counts other entries than it has")
        try require(zip(entries, entries.dropFirst()).allSatisfy { $0.place < $1.place }, "places do not ascend")
        try require(
            !index.isSorted || zip(entries, entries.dropFirst()).allSatisfy { $0.path <= $1.path },
            "paths do not ascend")
        // A stream of nothing fits no index.
        let nothing = TarSource { _, _ in [] }
        for entry in entries.prefix(20) {
            do {
                let found = try nothing.find(entry.path, index: index)
                try require(found == nil, "an entry is found in nothing")
            } catch is NotTar {
            } catch let error as VaultError {
                try require(error.code == .indexMismatch, "an index causes the error \(error)")
            }
        }
    }
}
