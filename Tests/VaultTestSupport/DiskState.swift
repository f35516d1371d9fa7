package import SystemPackage
import VaultCrypto
import VaultFile

/// What stands on a disk and what the system still keeps in memory for it: a value, so that a copy of it is the disk as
/// it was at that moment.
///
/// A sync of a file makes its bytes and its length durable and nothing else; a sync of a folder its names and nothing
/// else. What is not durable may be lost at a power failure, in any part and whatever its order was.
package struct DiskState: Sendable {
    package static let sector = 512

    /// A regular file. What it was at its last sync, and at every moment since, any of its sectors may be on the disk.
    package struct File: Sendable {
        package fileprivate(set) var bytes: [UInt8]
        /// Everything that the file was before, since its last sync, in order.
        fileprivate var earlier: [[UInt8]] = []
        package var permissions: FilePermissions = .ownerReadWrite
        package var owner: UInt32 = 0
        package var group: UInt32 = 0

        package init(bytes: [UInt8]) {
            self.bytes = bytes
        }
    }

    package struct Folder: Sendable {
        package fileprivate(set) var entries: [String: Int] = [:]
        fileprivate var durable: [String: Int] = [:]
        /// The changes since the last sync, each of which happens as a whole or not at all.
        fileprivate var changes: [[(name: String, inode: Int?)]] = []
    }

    package enum Node: Sendable {
        case file(File)
        case folder(Folder)
        /// Never changed by what is tested, so always durable.
        case link(FilePath)
    }

    package static let root = 1
    package private(set) var nodes: [Int: Node] = [root: .folder(Folder())]
    private var next = root + 1

    package init() {}

    // MARK: What the system does to it

    package subscript(file inode: Int) -> File? {
        get { if case .file(let file) = nodes[inode] { file } else { nil } }
        set { nodes[inode] = newValue.map { .file($0) } }
    }

    package subscript(folder inode: Int) -> Folder? {
        get { if case .folder(let folder) = nodes[inode] { folder } else { nil } }
        set { nodes[inode] = newValue.map { .folder($0) } }
    }

    package func linkCount(of inode: Int) -> Int {
        nodes.values.reduce(0) { count, node in
            guard case .folder(let folder) = node else { return count }
            return count + folder.entries.values.count { $0 == inode }
        }
    }

    package mutating func add(_ node: Node) -> Int {
        defer { next += 1 }
        nodes[next] = node
        return next
    }

    /// Changes names of a folder, all at once; nil takes a name away.
    package mutating func change(_ folder: Int, _ names: [(name: String, inode: Int?)]) {
        guard var changed = self[folder: folder] else { return }
        for (name, inode) in names { changed.entries[name] = inode }
        changed.changes.append(names)
        self[folder: folder] = changed
    }

    package mutating func setBytes(_ bytes: [UInt8], of inode: Int) {
        guard var file = self[file: inode] else { return }
        file.earlier.append(file.bytes)
        file.bytes = bytes
        self[file: inode] = file
    }

    package mutating func synchronize(_ inode: Int) {
        switch nodes[inode] {
        case .file(var file):
            file.earlier = []
            nodes[inode] = .file(file)
        case .folder(var folder):
            folder.durable = folder.entries
            folder.changes = []
            nodes[inode] = .folder(folder)
        case .link, nil: break
        }
    }

    /// Makes everything durable, as what a test starts from is.
    package mutating func synchronizeAll() {
        for inode in nodes.keys { synchronize(inode) }
    }

    // MARK: For tests

    /// A disk with one file in its root folder, all of it durable.
    package init(_ bytes: [UInt8], name: String) {
        put(bytes, name: name)
    }

    /// Puts a durable file into the root folder.
    @discardableResult
    package mutating func put(_ bytes: [UInt8], name: String) -> Int {
        let inode = add(.file(File(bytes: bytes)))
        change(Self.root, [(name, inode)])
        synchronizeAll()
        return inode
    }

    package var names: [String] { (self[folder: Self.root]?.entries.keys).map { $0.sorted() } ?? [] }

    package func bytes(_ name: String) -> [UInt8]? {
        self[folder: Self.root]?.entries[name].flatMap { self[file: $0]?.bytes }
    }

    /// Whether a power failure could still change anything that a name of the root folder leads to.
    package var isDurable: Bool {
        guard let folder = self[folder: Self.root], folder.changes.isEmpty else { return false }
        return folder.entries.values.allSatisfy { self[file: $0]?.earlier.isEmpty ?? true }
    }

    /// The same wherever the same bytes stand under a name.
    package func digest(of name: String) -> [UInt8] {
        let bytes = bytes(name) ?? []
        return BLAKE2b.digest(count: 32, label: "crash state test", message: bytes.span)
    }
}

// MARK: Power failures

extension DiskState {
    /// Every state in which a power failure at this moment can leave the disk, as far as the file under `name` in the
    /// root folder goes: any subset of the changes of names that are not durable, and any subset of the sectors of the
    /// file that then has the name, each as it was at any moment since its last sync. What other names lead to is left
    /// as the system sees it. Each state once.
    ///
    /// - Parameter limit: how many states of one file are made at most.
    /// - Returns: nil if there were more.
    package func afterPowerFailure(_ name: String, limit: Int = 1 << 14) -> [DiskState]? {
        guard let folder = self[folder: Self.root] else { return [] }
        var states: [DiskState] = []
        var seen: Set<[String: Int]> = []
        for subset in 0..<1 << folder.changes.count {
            var entries = folder.durable
            for (index, change) in folder.changes.enumerated() where subset >> index & 1 == 1 {
                for (name, inode) in change { entries[name] = inode }
            }
            guard seen.insert(entries).inserted else { continue }
            var state = self
            state[folder: Self.root] = Folder(entries: entries, durable: entries)
            state.synchronizeAll()
            state.forget()
            guard let inode = entries[name], let file = self[file: inode] else {
                states.append(state)
                continue
            }
            guard let contents = file.afterPowerFailure(limit: limit) else { return nil }
            for bytes in contents {
                state[file: inode]?.bytes = bytes
                states.append(state)
            }
        }
        return states
    }

    /// Files without a name are gone.
    private mutating func forget() {
        for inode in nodes.keys where inode != Self.root && linkCount(of: inode) == 0 { nodes[inode] = nil }
    }

    /// The same disk for the next process after this one was killed: what is in memory stays.
    package func afterKill() -> DiskState {
        guard let folder = self[folder: Self.root] else { return self }
        var named = Set(folder.entries.values).union(folder.durable.values)
        for change in folder.changes { named.formUnion(change.compactMap(\.inode)) }
        var state = self
        for inode in nodes.keys where inode != Self.root && !named.contains(inode) { state.nodes[inode] = nil }
        return state
    }
}

extension DiskState.File {
    /// Everything that can be left of the file: any of its lengths since the last sync, and each sector as it was at any
    /// moment since; zeros where the file was shorter before.
    fileprivate func afterPowerFailure(limit: Int) -> [[UInt8]]? {
        guard !earlier.isEmpty else { return [bytes] }
        let versions = earlier + [bytes]
        var states: [[UInt8]] = []
        for length in Set(versions.map(\.count)).sorted() {
            let last = versions.lastIndex { $0.count == length } ?? 0
            // What a file was cut to is not shorter by zeros, but by its length.
            let versions = versions.enumerated().filter { $0.offset <= last || $0.element.count >= length }.map(
                \.element)
            var product: [[UInt8]] = [[]]
            // Sectors that are the same in all are added in one piece.
            var start = 0
            while start < length {
                var end = min(start + DiskState.sector, length)
                var choices = Self.choices(versions, start..<end)
                while choices.count == 1, end < length {
                    let next = min(end + DiskState.sector, length)
                    let more = Self.choices(versions, end..<next)
                    guard more.count == 1 else { break }
                    choices[0] += more[0]
                    end = next
                }
                product = product.flatMap { before in choices.map { before + $0 } }
                guard states.count + product.count <= limit else { return nil }
                start = end
            }
            states += product
        }
        return states
    }

    private static func choices(_ versions: [[UInt8]], _ range: Range<Int>) -> [[UInt8]] {
        var choices: [[UInt8]] = []
        for version in versions {
            let part = part(version, range)
            if !choices.contains(part) { choices.append(part) }
        }
        return choices
    }

    private static func part(_ bytes: [UInt8], _ range: Range<Int>) -> [UInt8] {
        var part = [UInt8](bytes[range.clamped(to: 0..<bytes.count)])
        part.pad(to: range.count)
        return part
    }
}
