package import SystemPackage
import VaultCrypto
import VaultFile

/// The contents of a disk and of the system's memory for it. It is a value, so a copy of it is the disk at that moment.
///
/// A sync of a file makes its bytes and its length durable and nothing else; a sync of a folder does this for its
/// names. A power failure may lose any part of what is not durable, in any order.
package struct DiskState: Sendable {
    package static let sector = 512

    /// The unit in which the system keeps, writes and drops memory.
    package static let page = 4096

    /// A regular file. For every page written since its last sync, the disk may have any of its sectors in any state
    /// since then.
    package struct File: Sendable {
        /// The contents that the system shows, and the pages written since the last sync.
        fileprivate struct View: Sendable {
            var bytes: [UInt8]
            var dirty: Set<Int>
        }

        package fileprivate(set) var bytes: [UInt8]
        /// The contents of the disk, except what was written since. They differ from what the system shows after a
        /// failed write: the system reports the failure once, and then treats the pages as written.
        package fileprivate(set) var onDisk: [UInt8]
        /// All states of the file since its last sync, in order.
        fileprivate var views: [View] = []
        package var permissions: FilePermissions = .ownerReadWrite
        package var owner: UInt32 = 0
        package var group: UInt32 = 0

        package init(bytes: [UInt8]) {
            self.bytes = bytes
            onDisk = bytes
        }
    }

    package struct Folder: Sendable {
        package fileprivate(set) var entries: [String: Int] = [:]
        fileprivate var durable: [String: Int] = [:]
        /// The changes since the last sync. Each one happens completely or not at all.
        fileprivate var changes: [[(name: String, inode: Int?)]] = []

        package init() {}

        fileprivate init(entries: [String: Int], durable: [String: Int]) {
            (self.entries, self.durable) = (entries, durable)
        }
    }

    package enum Node: Sendable {
        case file(File)
        case folder(Folder)
        /// The tested code never changes this, so it is always durable.
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

    /// Changes names in a folder, all at once; nil removes a name.
    package mutating func change(_ folder: Int, _ names: [(name: String, inode: Int?)]) {
        guard var changed = self[folder: folder] else { return }
        for (name, inode) in names { changed.entries[name] = inode }
        changed.changes.append(names)
        self[folder: folder] = changed
    }

    /// - Parameter range: The written part, whether its bytes change or not. Pages outside it stay as they are. By
    ///   default it is everything.
    package mutating func setBytes(_ bytes: [UInt8], of inode: Int, writing range: Range<Int>? = nil) {
        guard var file = self[file: inode] else { return }
        let range = range ?? 0..<max(bytes.count, file.bytes.count)
        var dirty = file.views.last?.dirty ?? []
        if !range.isEmpty { dirty.formUnion(range.lowerBound / Self.page...(range.upperBound - 1) / Self.page) }
        file.bytes = bytes
        file.views.append(File.View(bytes: bytes, dirty: dirty))
        self[file: inode] = file
    }

    package mutating func synchronize(_ inode: Int) {
        switch nodes[inode] {
        case .file(var file):
            file.onDisk = file.written
            file.views = []
            nodes[inode] = .file(file)
        case .folder(var folder):
            folder.durable = folder.entries
            folder.changes = []
            nodes[inode] = .folder(folder)
        case .link, nil: break
        }
    }

    /// The states that a failed sync can leave on the disk: any sectors of what is not durable, never all of them. If
    /// there are more than `limit`, a selection, which is always the same.
    package func afterFailedSync(_ inode: Int, limit: Int) -> (states: [[UInt8]], isSelection: Bool) {
        guard let file = self[file: inode], !file.views.isEmpty else { return ([], false) }
        // A length is not among the bytes, and is written by itself.
        let all = file.combinations(length: file.bytes.count)
        let isSelection = all.count > limit
        let states = isSelection ? all.selection(limit) : all.all
        return (states.filter { $0 != file.written }, isSelection)
    }

    /// A failed sync, as on Linux: the data counts as written, and readers still see it.
    package mutating func failToSynchronize(_ inode: Int, leaving bytes: [UInt8]) {
        guard var file = self[file: inode] else { return }
        file.onDisk = bytes
        file.views = []
        self[file: inode] = file
    }

    /// Drops the pages of a range that count as written from memory. From then on, readers see the disk. Pages that the
    /// range covers only partly stay, except the last one of the file; so do pages that are not written yet.
    package mutating func forget(_ inode: Int, _ range: Range<Int>) {
        guard var file = self[file: inode] else { return }
        let dirty = file.views.last?.dirty ?? []
        for page in 0..<(file.bytes.count + Self.page - 1) / Self.page where !dirty.contains(page) {
            let place = page * Self.page..<min((page + 1) * Self.page, file.bytes.count)
            guard range.contains(place.lowerBound), range.contains(place.upperBound - 1) else { continue }
            file.bytes.replaceSubrange(place, with: File.part(file.onDisk, place))
        }
        if let last = file.views.indices.last { file.views[last].bytes = file.bytes }
        self[file: inode] = file
    }

    /// Makes everything durable, for the beginning of a test.
    package mutating func synchronizeAll() {
        for inode in nodes.keys { synchronize(inode) }
    }

    // MARK: For tests

    /// A disk with one durable file in its root folder.
    package init(_ bytes: [UInt8], name: String) {
        put(bytes, name: name)
    }

    /// Adds a durable file to the root folder.
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

    /// Whether a power failure could still change a file that a name in the root folder leads to.
    package var isDurable: Bool {
        guard let folder = self[folder: Self.root], folder.changes.isEmpty else { return false }
        return folder.entries.values.allSatisfy {
            self[file: $0].map { $0.views.isEmpty && $0.bytes == $0.onDisk } ?? true
        }
    }

    /// Equal if the same bytes are under a name.
    package func digest(of name: String) -> [UInt8] {
        let bytes = bytes(name) ?? []
        return BLAKE2b.digest(count: 32, label: "crash state test", message: bytes.span)
    }
}

// MARK: Power failures

extension DiskState {
    /// Every state in which a power failure at this moment can leave the files under these names in the root folder:
    /// with any subset of the name changes that are not durable, and, of the files that then have the names, any subset
    /// of the sectors, each in any state since its last sync. Files under other names are as the system sees them. Each
    /// state occurs once.
    ///
    /// - Parameter limit: The most states of one file.
    /// - Returns: Nil if there are more.
    package func afterPowerFailure(_ names: String..., limit: Int = 1 << 14) -> [DiskState]? {
        guard let folder = self[folder: Self.root] else { return [] }
        var states: [DiskState] = []
        for entries in folder.afterPowerFailure {
            var state = self
            state[folder: Self.root] = Folder(entries: entries, durable: entries)
            let files = Set(names.compactMap { entries[$0] }).sorted()
            guard let found = contents(of: files, in: state.restarted, limit: limit) else { return nil }
            states += found
        }
        return states
    }

    /// Every state in which a power failure at this moment can leave all files and folders, as for some names of the
    /// root folder.
    ///
    /// - Parameter limit: The most states.
    /// - Returns: Nil if there are more.
    package func afterPowerFailureOfAll(limit: Int = 1 << 12) -> [DiskState]? {
        var states = [self]
        for inode in nodes.keys.sorted() {
            guard let folder = self[folder: inode], !folder.changes.isEmpty else { continue }
            let outcomes = folder.afterPowerFailure
            guard states.count * outcomes.count <= limit else { return nil }
            states = states.flatMap { state in
                outcomes.map { entries in
                    var state = state
                    state[folder: inode] = Folder(entries: entries, durable: entries)
                    return state
                }
            }
        }
        var all: [DiskState] = []
        for state in states {
            let restarted = state.restarted
            guard let found = contents(of: restarted.nodes.keys.sorted(), in: restarted, limit: limit) else {
                return nil
            }
            all += found
            guard all.count <= limit else { return nil }
        }
        return all
    }

    /// The given state, with these files in each of the states in which a power failure can leave them.
    ///
    /// - Parameter limit: The most states.
    /// - Returns: Nil if there are more.
    private func contents(of files: [Int], in state: DiskState, limit: Int) -> [DiskState]? {
        var found = [state]
        for inode in files {
            guard let file = self[file: inode] else { continue }
            guard let contents = file.afterPowerFailure(limit: limit), found.count * contents.count <= limit else {
                return nil
            }
            found = found.flatMap { state in
                contents.map { bytes in
                    var state = state
                    state[file: inode]?.bytes = bytes
                    state[file: inode]?.onDisk = bytes
                    return state
                }
            }
        }
        return found
    }

    private var restarted: DiskState {
        var state = self
        state.restart()
        return state
    }

    /// Memory is lost, and files without a name are gone.
    private mutating func restart() {
        var isStable = false
        while !isStable {
            let unnamed = nodes.keys.filter { $0 != Self.root && linkCount(of: $0) == 0 }
            for inode in unnamed { nodes[inode] = nil }
            isStable = unnamed.isEmpty
        }
        synchronizeAll()
        for inode in nodes.keys {
            if let onDisk = self[file: inode]?.onDisk { self[file: inode]?.bytes = onDisk }
        }
    }

    /// The same disk for the next process, after this one was killed. What is in memory stays.
    package func afterKill() -> DiskState {
        var named: Set<Int> = []
        for inode in nodes.keys {
            guard let folder = self[folder: inode] else { continue }
            named.formUnion(folder.entries.values)
            named.formUnion(folder.durable.values)
            for change in folder.changes { named.formUnion(change.compactMap(\.inode)) }
        }
        var state = self
        for inode in nodes.keys where inode != Self.root && !named.contains(inode) { state.nodes[inode] = nil }
        return state
    }
}

extension DiskState.Folder {
    /// All entries that a power failure can leave, each once: those that are durable, with any of the later changes.
    fileprivate var afterPowerFailure: [[String: Int]] {
        var outcomes: [[String: Int]] = []
        for subset in 0..<1 << changes.count {
            var entries = durable
            for (index, change) in changes.enumerated() where subset >> index & 1 == 1 {
                for (name, inode) in change { entries[name] = inode }
            }
            if !outcomes.contains(entries) { outcomes.append(entries) }
        }
        return outcomes
    }
}

extension DiskState.File {
    /// All states in which the file can be left: with any of its lengths since the last sync, and with each sector in
    /// any state since then; zeros where the file was shorter before.
    fileprivate func afterPowerFailure(limit: Int) -> [[UInt8]]? {
        guard !views.isEmpty else { return [onDisk] }
        var states: [[UInt8]] = []
        for length in Set([onDisk.count] + views.map(\.bytes.count)).sorted() {
            let combinations = combinations(length: length)
            guard combinations.count <= limit - states.count else { return nil }
            states += combinations.all
        }
        return states
    }

    /// The possible contents of each part of a file.
    fileprivate struct Combinations {
        var parts: [[[UInt8]]] = []

        var count: Int {
            parts.reduce(1) { count, choices in
                let (product, isMore) = count.multipliedReportingOverflow(by: choices.count)
                return isMore ? .max : product
            }
        }

        var all: [[UInt8]] {
            parts.reduce([[]]) { product, choices in product.flatMap { before in choices.map { before + $0 } } }
        }

        /// A selection, always the same: all old, all new, each with one part unlike the others, and random ones.
        func selection(_ count: Int) -> [[UInt8]] {
            let (old, new) = (parts.map { _ in 0 }, parts.map { $0.count - 1 })
            var chosen = [old, new]
            for place in parts.indices where parts[place].count > 1 {
                for (start, value) in [(old, new[place]), (new, 0)] {
                    var one = start
                    one[place] = value
                    chosen.append(one)
                }
            }
            var random = SeededRandom(seed: UInt64(parts.count))
            while chosen.count < count { chosen.append(parts.map { random.below($0.count) }) }
            var seen: Set<[Int]> = []
            return chosen.prefix(count).filter { seen.insert($0).inserted }.map { choice in
                zip(parts, choice).flatMap { $0[$1] }
            }
        }
    }

    /// The states of the file with one of its lengths.
    fileprivate func combinations(length: Int) -> Combinations {
        let all = [View(bytes: onDisk, dirty: [])] + views
        let last = all.lastIndex { $0.bytes.count == length } ?? 0
        // A file that was cut has a shorter length, not zeros at its end.
        let versions = all.enumerated().filter { $0.offset <= last || $0.element.bytes.count >= length }.map(\.element)
        var combinations = Combinations()
        // Sectors that are equal in all states are added in one piece.
        var start = 0
        while start < length {
            var end = min(start + DiskState.sector, length)
            var choices = variants(versions, start..<end)
            while choices.count == 1, end < length {
                let next = min(end + DiskState.sector, length)
                let more = variants(versions, end..<next)
                guard more.count == 1 else { break }
                choices[0] += more[0]
                end = next
            }
            combinations.parts.append(choices)
            start = end
        }
        return combinations
    }

    /// The possible contents of one sector: those on the disk, and those whenever its page was to be written.
    private func variants(_ versions: [View], _ range: Range<Int>) -> [[UInt8]] {
        var choices = [Self.part(onDisk, range)]
        for version in versions where version.dirty.contains(range.lowerBound / DiskState.page) {
            let part = Self.part(version.bytes, range)
            if !choices.contains(part) { choices.append(part) }
        }
        return choices
    }

    /// The contents of the disk after everything is written.
    fileprivate var written: [UInt8] {
        guard let dirty = views.last?.dirty else { return onDisk }
        let pageCount = (bytes.count + DiskState.page - 1) / DiskState.page
        guard !dirty.isSuperset(of: 0..<pageCount) else { return bytes }
        var written = Self.part(onDisk, 0..<bytes.count)
        for page in dirty where page * DiskState.page < bytes.count {
            let place = page * DiskState.page..<min((page + 1) * DiskState.page, bytes.count)
            written.replaceSubrange(place, with: bytes[place])
        }
        return written
    }

    fileprivate static func part(_ bytes: [UInt8], _ range: Range<Int>) -> [UInt8] {
        guard range != 0..<bytes.count else { return bytes }
        var part = [UInt8](bytes[range.clamped(to: 0..<bytes.count)])
        if part.count < range.count { part.pad(to: range.count) }
        return part
    }
}
