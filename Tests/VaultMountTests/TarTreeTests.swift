import Testing
import VaultTar

@testable import VaultMount

/// The names of a tar stream as a tree.
@Suite struct TarTreeTests {
    private func tree(_ paths: [String], largest: Int = 1000) throws -> TarTree {
        var tree = TarTree(largest: largest)
        for (place, path) in paths.enumerated() {
            try tree.insert(#require(TarPath(trimming: path.utf8)), at: UInt64(place))
        }
        return tree
    }

    private func children(_ tree: TarTree, _ folder: Int = 0) -> [String] {
        var names: [String] = []
        var next = tree.firstChild(folder)
        while let child = next {
            names.append(String(decoding: tree.name(child), as: UTF8.self))
            next = tree.nextSibling(child)
        }
        return names
    }

    @Test("a path makes the folders that it goes through") func folders() throws {
        let tree = try tree(["a/b/c", "a/d", "e"])
        #expect(children(tree) == ["a", "e"])
        let a = try #require(tree.child(Array("a".utf8)[...], of: 0))
        #expect(children(tree, a) == ["b", "d"])
        #expect(tree.place(a) == nil && tree.hasChildren(a))
        let d = try #require(tree.child(Array("d".utf8)[...], of: a))
        #expect(tree.place(d) == 1 && !tree.hasChildren(d) && tree.depth(d) == 1 && tree.depth(a) == 0)
        #expect(tree.path(d) == TarPath("a/d".utf8) && tree.path(0) == nil)
        #expect(tree.child(Array("d".utf8)[...], of: 0) == nil)
    }

    @Test("of several entries with a path the last one counts, and the name is there once") func repeated() throws {
        let tree = try tree(["a", "b/", "./a", "b/c"])
        #expect(children(tree) == ["a", "b"])
        #expect(tree.child(Array("a".utf8)[...], of: 0).flatMap(tree.place) == 2)
    }

    @Test("many names are all found") func many() throws {
        let tree = try tree((0..<5000).map { "folder\($0 % 7)/file\($0)" }, largest: 6000)
        #expect(children(tree).count == 7 && tree.count == 5008)
        for number in stride(from: 0, to: 5000, by: 97) {
            let folder = try #require(tree.child(Array("folder\(number % 7)".utf8)[...], of: 0))
            let file = try #require(tree.child(Array("file\(number)".utf8)[...], of: folder))
            #expect(tree.place(file) == UInt64(number))
        }
    }

    @Test("a name that no file system has is left out, with what is below it") func long() throws {
        let name = String(repeating: "n", count: 255)
        let tree = try tree([name, name + "n", "a/\(name)n/b"])
        #expect(children(tree) == [name] && tree.leftOut == 2)
    }

    @Test("it grows up to its limits") func limits() throws {
        #expect(throws: TarTree.TooLarge.self) { try tree((0..<10).map { "f\($0)" }, largest: 10) }
        #expect(try tree((0..<9).map { "f\($0)" }, largest: 10).count == 10)
        let long = String(repeating: "n", count: 250)
        #expect(throws: TarTree.TooLarge.self) { try tree((100..<300).map { "\(long)\($0)" }, largest: 1000) }
    }

    @Test("each path is found at its place, however much of it the path before has") func shared() throws {
        let names = ["a", "b", "ab", "c"]
        var paths: [String] = []
        for number in 0..<400 {
            let depth = 1 + number % 5
            paths.append((0..<depth).map { names[(number >> ($0 * 2)) & 3] }.joined(separator: "/"))
        }
        paths.insert("a/b/" + String(repeating: "n", count: 300) + "/c", at: 50)
        let tree = try tree(paths, largest: 5000)
        #expect(tree.leftOut == 1)
        for (place, path) in paths.enumerated() where path.utf8.count < 300 {
            let wanted = try #require(TarPath(path.utf8))
            let node = try #require(tree.find(wanted))
            #expect(tree.place(node) == paths.lastIndex(of: path).map(UInt64.init), "\(place) \(path)")
            #expect(tree.path(node) == wanted)
        }
        #expect(tree.find(try #require(TarPath("a/nothing".utf8))) == nil)
    }
}
