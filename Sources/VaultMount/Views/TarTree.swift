import VaultTar

/// The names of a tar stream as a tree. It has no links and no sizes: who needs these reads the headers at a place.
///
/// A million members take about 60 MB. The tree of an index can never be larger than a few hundred bytes for each of
/// its at most 2²⁰ bytes, whatever its maker wrote: a node takes a byte of the index at least, because a name that
/// paths share is one node.
struct TarTree: Sendable {
    /// The number of a node. The root is 0.
    typealias Index = Int

    /// There are too many names.
    struct TooLarge: Error {}

    private struct Node {
        var parent: UInt32
        var name: UInt32
        var nameCount: UInt8
        /// The next child of its parent, and its own first and last child; 0 for none.
        var next: UInt32 = 0
        var first: UInt32 = 0
        var last: UInt32 = 0
        /// The place of the last entry with this path; `none` for a folder that only other paths name.
        var place: UInt64 = none

        static let none = UInt64.max
    }

    private var nodes: [Node]
    private var names: [UInt8] = []
    /// Numbers of nodes by the hashes of folder and name; 0 where there is none. Its length is a power of two.
    private var table = [UInt32](repeating: 0, count: 64)
    private let largest: Int
    /// The most bytes of names for each node, on average.
    private static let averageName = 32
    /// How many entries have no place in the tree: a component of their path is longer than file systems have.
    private(set) var leftOut = 0
    /// The path of the last entry, and the nodes on the way to it, each with the number of bytes of its own path.
    private var last: (path: [UInt8], nodes: [(end: Int, index: Index)]) = ([], [])

    /// - Parameter largest: the most nodes.
    init(largest: Int = 4 << 20) {
        self.largest = min(largest, Int(UInt32.max))
        nodes = [Node(parent: 0, name: 0, nameCount: 0)]
    }

    /// The count of its nodes, with the root.
    var count: Int { nodes.count }

    /// Adds an entry. Of several with one path the last one counts (TAR-9).
    mutating func insert(_ path: TarPath, at place: UInt64) throws(TooLarge) {
        let bytes = path.bytes
        // Entries that follow each other are near each other. Without this, a path of a thousand components, which takes
        // three bytes of an index, would cost a thousand look-ups.
        var shared = 0
        while shared < min(bytes.count, last.path.count), bytes[shared] == last.path[shared] { shared += 1 }
        let slash = UInt8(ascii: "/")
        while let node = last.nodes.last, node.end > shared || (node.end < bytes.count && bytes[node.end] != slash) {
            last.nodes.removeLast()
        }
        last.path = bytes
        var (here, end) = last.nodes.last.map { ($0.index, $0.end) } ?? (0, 0)
        let components = bytes[end...].split(separator: slash)
        guard components.allSatisfy({ $0.count <= longestName }) else {
            leftOut += 1
            return
        }
        for component in components {
            if let known = child(component, of: here) { here = known } else { here = try add(component, to: here) }
            end = component.endIndex
            last.nodes.append((end, here))
        }
        nodes[here].place = place
    }

    /// The node with a path.
    func find(_ path: TarPath) -> Index? {
        var here = 0
        for component in path.bytes.split(separator: UInt8(ascii: "/")) {
            guard let next = child(component, of: here) else { return nil }
            here = next
        }
        return here
    }

    private mutating func add(_ name: ArraySlice<UInt8>, to parent: Index) throws(TooLarge) -> Index {
        let start = names.count
        guard nodes.count < largest, start < largest * Self.averageName, let offset = UInt32(exactly: start),
            let count = UInt8(exactly: name.count)
        else { throw TooLarge() }
        let index = nodes.count
        names += name
        nodes.append(Node(parent: UInt32(parent), name: offset, nameCount: count))
        let last = Int(nodes[parent].last)
        if last == 0 {
            nodes[parent].first = UInt32(index)
        } else {
            nodes[last].next = UInt32(index)
        }
        nodes[parent].last = UInt32(index)
        if nodes.count * 2 > table.count { grow() } else { enter(index) }
        return index
    }

    /// The child of a folder with this name.
    func child(_ name: ArraySlice<UInt8>, of folder: Index) -> Index? {
        var slot = slot(name, folder)
        while table[slot] != 0 {
            let index = Int(table[slot])
            if nodes[index].parent == UInt32(folder), nameSlice(index) == name { return index }
            slot = (slot + 1) & (table.count - 1)
        }
        return nil
    }

    private func slot(_ name: ArraySlice<UInt8>, _ folder: Index) -> Int {
        // The seed of the hash is random: a stream cannot be made so that its names have one hash.
        var hasher = Hasher()
        hasher.combine(folder)
        unsafe name.withUnsafeBytes { unsafe hasher.combine(bytes: $0) }
        return hasher.finalize() & (table.count - 1)
    }

    private mutating func enter(_ index: Index) {
        var slot = slot(nameSlice(index), Int(nodes[index].parent))
        while table[slot] != 0 { slot = (slot + 1) & (table.count - 1) }
        table[slot] = UInt32(index)
    }

    private mutating func grow() {
        table = [UInt32](repeating: 0, count: table.count * 2)
        for index in nodes.indices.dropFirst() { enter(index) }
    }

    private func nameSlice(_ index: Index) -> ArraySlice<UInt8> {
        let node = nodes[index]
        return names[Int(node.name)..<Int(node.name) + Int(node.nameCount)]
    }

    /// Whether there is a node with this number.
    func has(_ index: Index) -> Bool { nodes.indices.contains(index) }

    func name(_ index: Index) -> [UInt8] { [UInt8](nameSlice(index)) }

    /// The place of the last entry with its path; nil for a folder that only other paths name.
    func place(_ index: Index) -> UInt64? { nodes[index].place == Node.none ? nil : nodes[index].place }

    /// Whether other paths go through it. It is a folder then, whatever its own headers say: a link that a path goes
    /// through would lead an extraction elsewhere.
    func hasChildren(_ index: Index) -> Bool { nodes[index].first != 0 }

    func firstChild(_ index: Index) -> Index? { nodes[index].first == 0 ? nil : Int(nodes[index].first) }

    func nextSibling(_ index: Index) -> Index? { nodes[index].next == 0 ? nil : Int(nodes[index].next) }

    func parent(_ index: Index) -> Index { Int(nodes[index].parent) }

    /// Its path; nil for the root.
    func path(_ index: Index) -> TarPath? {
        var components: [ArraySlice<UInt8>] = []
        var here = index
        while here != 0 {
            components.append(nameSlice(here))
            here = Int(nodes[here].parent)
        }
        return TarPath(Array(components.reversed().joined(separator: [UInt8(ascii: "/")])))
    }

    /// How many folders are above it. The root and its children have none.
    func depth(_ index: Index) -> Int {
        var (here, depth) = (index, 0)
        while here != 0, nodes[here].parent != 0 {
            here = Int(nodes[here].parent)
            depth += 1
        }
        return depth
    }
}
