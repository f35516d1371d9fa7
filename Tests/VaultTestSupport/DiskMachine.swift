internal import CPlatform
import SystemPackage
import VaultFile
import VaultSystem

/// The system of a `ModelDisk`: the state of its processes, and its calls.
struct Machine {
    /// An open file. It owns its locks and releases them when it is closed.
    struct Open {
        let inode: Int
        let canWrite: Bool
        var offset = 0
        var lock = LOCK_UN
    }

    private(set) var state: DiskState
    private let abilities: ModelDisk.Abilities
    private(set) var moments: [ModelDisk.Moment]
    private(set) var changeCount = 0
    private(set) var writeCount = 0
    private(set) var syncCount = 0
    private(set) var outcomeCount = 0
    private(set) var isSelection = false
    private(set) var deadlocks = 0
    private(set) var descriptors: [Int32: Open] = [:]
    /// Far above the descriptors of the test's own process, so that a call that bypasses the seam fails.
    private var nextDescriptor: Int32 = 1_000_000

    init(_ state: DiskState, _ abilities: ModelDisk.Abilities) {
        self.state = state
        self.abilities = abilities
        moments = [ModelDisk.Moment(call: .start, state: state)]
    }

    // MARK: Moments

    /// Counts a call that is about to change something, and makes it fail if the test wants that.
    private mutating func begin(_ call: ModelDisk.Moment.Call) throws(Errno) {
        let number = changeCount
        changeCount += 1
        if let error = abilities.failure?(call, number) { throw Errno(rawValue: error) }
    }

    private mutating func record(_ call: ModelDisk.Moment.Call) {
        moments.append(ModelDisk.Moment(call: call, state: state))
    }

    // MARK: Paths

    /// The most links that a path may contain, as on Linux.
    private static let mostLinks = 40

    private func opened(_ file: Int32) throws(Errno) -> Open {
        guard let open = descriptors[file] else { throw .badFileDescriptor }
        return open
    }

    private func folder(_ descriptor: Int32) throws(Errno) -> Int {
        descriptor == AT_FDCWD ? DiskState.root : try opened(descriptor).inode
    }

    /// The target of a path: its folder and name, and the inode if it exists.
    private func find(
        _ start: Int, _ path: FilePath, follows: Bool, links: Int = 0
    ) throws(Errno) -> (folder: Int, name: String, inode: Int?) {
        guard links < Self.mostLinks else { throw .tooManySymbolicLinkLevels }
        var place = path.isAbsolute ? DiskState.root : start
        var found = (folder: place, name: ".", inode: Optional(place))
        // To parse the components of a path takes as long as everything else in unoptimised code.
        let components = path.string.split(separator: "/").map(String.init)
        for (index, name) in components.enumerated() {
            guard let folder = state[folder: place] else { throw .notDirectory }
            guard name != ".", name != ".." else { continue }
            var inode = folder.entries[name]
            let isLast = index + 1 == components.count
            if let link = inode, case .link(let target) = state.nodes[link], follows || !isLast {
                let target = try find(place, target, follows: true, links: links + 1)
                if isLast { return target }
                inode = target.inode
            }
            found = (place, name, inode)
            if !isLast {
                guard let inode else { throw .noSuchFileOrDirectory }
                place = inode
            }
        }
        return found
    }

    private static let processes = "/proc/self/fd/"

    private func descriptor(_ path: FilePath) -> Open? {
        guard path.string.hasPrefix(Self.processes) else { return nil }
        return Int32(path.string.dropFirst(Self.processes.count)).flatMap { descriptors[$0] }
    }

    // MARK: Opening

    private static let nameless: Int32 = 0o20000000

    mutating func open(
        _ folder: Int32, _ path: FilePath, _ flags: Int32, _ mode: FilePermissions
    ) throws(Errno) -> Int32 {
        let start = try self.folder(folder)
        let canWrite = flags & O_ACCMODE != O_RDONLY
        if flags & Self.nameless != 0 {
            guard abilities.nameless else { throw .notSupported }
            guard let place = try find(start, path, follows: true).inode, state[folder: place] != nil else {
                throw .notDirectory
            }
            try begin(.make)
            return describe(state.add(.file(Self.file(mode))), canWrite: true)
        }
        let found = try find(start, path, follows: flags & (O_NOFOLLOW | O_EXCL) == 0)
        if let inode = found.inode {
            guard flags & (O_CREAT | O_EXCL) != O_CREAT | O_EXCL else { throw .fileExists }
            switch state.nodes[inode] {
            case .link: throw .tooManySymbolicLinkLevels
            case .folder where canWrite: throw .isDirectory
            case .file where flags & O_DIRECTORY != 0: throw .notDirectory
            default: return describe(inode, canWrite: canWrite)
            }
        }
        guard flags & O_CREAT != 0 else { throw .noSuchFileOrDirectory }
        try begin(.make)
        let inode = state.add(.file(Self.file(mode)))
        state.change(found.folder, [(found.name, inode)])
        record(.make)
        return describe(inode, canWrite: canWrite)
    }

    private static func file(_ mode: FilePermissions) -> DiskState.File {
        var file = DiskState.File(bytes: [])
        file.permissions = mode
        return file
    }

    private mutating func describe(_ inode: Int, canWrite: Bool) -> Int32 {
        defer { nextDescriptor += 1 }
        descriptors[nextDescriptor] = Open(inode: inode, canWrite: canWrite)
        return nextDescriptor
    }

    mutating func close(_ file: Int32) throws(Errno) -> Int32 {
        guard descriptors.removeValue(forKey: file) != nil else { throw .badFileDescriptor }
        return 0
    }

    // MARK: Reading and writing

    mutating func read(_ file: Int32, _ count: Int) throws(Errno) -> ArraySlice<UInt8> {
        let open = try opened(file)
        let bytes = try read(file, count, at: open.offset)
        descriptors[file]?.offset += bytes.count
        return bytes
    }

    func read(_ file: Int32, _ count: Int, at offset: Int) throws(Errno) -> ArraySlice<UInt8> {
        guard let bytes = state[file: try opened(file).inode]?.bytes else { throw .isDirectory }
        return bytes.dropFirst(offset).prefix(count)
    }

    /// Moves the offset of the open file, and returns it.
    mutating func seek(_ file: Int32, _ offset: Int, from origin: Int32) throws(Errno) -> Int64 {
        let open = try opened(file)
        guard let size = state[file: open.inode]?.bytes.count else { throw .isDirectory }
        let start = origin == SEEK_SET ? 0 : origin == SEEK_CUR ? open.offset : size
        guard start + offset >= 0 else { throw .invalidArgument }
        descriptors[file]?.offset = start + offset
        return Int64(start + offset)
    }

    /// Without an offset, this uses the one of the open file.
    mutating func write(_ file: Int32, _ bytes: [UInt8], at place: Int?) throws(Errno) -> Int {
        let open = try opened(file)
        guard open.canWrite, let old = state[file: open.inode]?.bytes else { throw .badFileDescriptor }
        try begin(.write)
        let count = min(bytes.count, abilities.writeCount)
        let start = place ?? open.offset
        if place == nil { descriptors[file]?.offset += count }
        defer { writeCount += 1 }
        guard !abilities.lostWrites.contains(writeCount) else { return count }
        var new = old
        if new.count < start + count { new.pad(to: start + count) }
        new.replaceSubrange(start..<start + count, with: bytes[..<count])
        // A process that is killed within a call leaves a part of its effect. Parts with equal results count as one.
        var known = [old, new]
        for end in stride(from: start / DiskState.sector * DiskState.sector, to: start + count, by: DiskState.sector)
        where end <= old.count {
            let part = [UInt8](new[..<end] + old[end...])
            guard !known.contains(part) else { continue }
            known.append(part)
            var torn = state
            torn.setBytes(part, of: open.inode, writing: start..<end)
            moments.append(ModelDisk.Moment(call: .partOfWrite, state: torn))
        }
        state.setBytes(new, of: open.inode, writing: start..<start + count)
        record(.write)
        return count
    }

    mutating func truncate(_ file: Int32, _ length: Int) throws(Errno) -> Int32 {
        let open = try opened(file)
        guard open.canWrite, let old = state[file: open.inode]?.bytes else { throw .badFileDescriptor }
        try begin(.truncate)
        var new = [UInt8](old.prefix(length))
        new.pad(to: length)
        state.setBytes(new, of: open.inode, writing: min(old.count, length)..<max(old.count, length))
        record(.truncate)
        return 0
    }

    mutating func sync(_ file: Int32) throws(Errno) -> Int32 {
        let open = try opened(file)
        let call: ModelDisk.Moment.Call = state[folder: open.inode] == nil ? .syncFile : .syncFolder
        try begin(call)
        defer { syncCount += 1 }
        if let failing = abilities.failingSync, failing.number == syncCount, call == .syncFile {
            // A sync that has nothing to write cannot fail.
            let outcomes = state.afterFailedSync(open.inode, limit: abilities.mostOutcomes)
            if !outcomes.states.isEmpty {
                outcomeCount = outcomes.states.count
                isSelection = outcomes.isSelection
                let left = outcomes.states[failing.outcome % outcomeCount]
                state.failToSynchronize(open.inode, leaving: left)
                record(call)
                throw .ioError
            }
        }
        if !abilities.deafSyncs.contains(syncCount) { state.synchronize(open.inode) }
        record(call)
        return 0
    }

    mutating func forget(_ file: Int32, _ offset: Int, _ length: Int) throws(Errno) -> Int32 {
        let open = try opened(file)
        // A length of 0 means everything from the offset on.
        let (end, isPast) = offset.addingReportingOverflow(length)
        if abilities.forgets { state.forget(open.inode, offset..<(length == 0 || isPast ? .max : end)) }
        return 0
    }

    mutating func lock(_ file: Int32, _ operation: Int32) throws(Errno) -> Int32 {
        let own = try opened(file)
        let wanted = operation & ~LOCK_NB
        let others = descriptors.filter { $0.key != file && $0.value.inode == own.inode && $0.value.lock != LOCK_UN }
        let isFree = wanted == LOCK_UN || others.values.allSatisfy { wanted == LOCK_SH && $0.lock == LOCK_SH }
        guard isFree else {
            if operation & LOCK_NB == 0 { deadlocks += 1 }
            throw operation & LOCK_NB == 0 ? .deadlock : .wouldBlock
        }
        descriptors[file]?.lock = wanted
        return 0
    }

    mutating func change(
        _ file: Int32, _ call: ModelDisk.Moment.Call, _ body: (inout DiskState.File) -> Void
    ) throws(Errno) -> Int32 {
        let inode = try opened(file).inode
        guard var changed = state[file: inode] else { throw .badFileDescriptor }
        try begin(call)
        body(&changed)
        state[file: inode] = changed
        return 0
    }

    // MARK: Names

    mutating func link(
        _ from: Int32, _ old: FilePath, _ to: Int32, _ new: FilePath, follows: Bool
    ) throws(Errno) -> Int32 {
        let inode: Int?
        if let open = descriptor(old) {
            guard follows else { throw .improperLink }
            inode = open.inode
        } else {
            inode = try find(try folder(from), old, follows: follows).inode
        }
        guard let inode else { throw .noSuchFileOrDirectory }
        let target = try find(try folder(to), new, follows: false)
        guard target.inode == nil else { throw .fileExists }
        try begin(.link)
        state.change(target.folder, [(target.name, inode)])
        record(.link)
        return 0
    }

    mutating func rename(
        _ folder: Int32, _ old: FilePath, _ new: FilePath, isExclusive: Bool
    ) throws(Errno) -> Int32 {
        guard !isExclusive || abilities.exclusiveRename else { throw .noFunction }
        let start = try self.folder(folder)
        let source = try find(start, old, follows: false)
        let target = try find(start, new, follows: false)
        guard let inode = source.inode else { throw .noSuchFileOrDirectory }
        guard !isExclusive || target.inode == nil else { throw .fileExists }
        try begin(.rename)
        state.change(target.folder, [(target.name, inode), (source.name, nil)])
        record(.rename)
        return 0
    }

    mutating func unlink(_ folder: Int32, _ path: FilePath) throws(Errno) -> Int32 {
        let found = try find(try self.folder(folder), path, follows: false)
        guard found.inode != nil else { throw .noSuchFileOrDirectory }
        try begin(.remove)
        state.change(found.folder, [(found.name, nil)])
        record(.remove)
        return 0
    }

    mutating func makeFolder(_ folder: Int32, _ path: FilePath) throws(Errno) -> Int32 {
        let target = try find(try self.folder(folder), path, follows: false)
        guard target.inode == nil else { throw .fileExists }
        try begin(.make)
        let inode = state.add(.folder(DiskState.Folder()))
        state.change(target.folder, [(target.name, inode)])
        record(.make)
        return 0
    }

    /// The names in a folder.
    func names(_ folder: Int32) throws(Errno) -> [(name: String, kind: EntryKind)] {
        guard let entries = state[folder: try opened(folder).inode]?.entries else { throw .notDirectory }
        return entries.sorted { $0.key < $1.key }.map { name, inode in
            switch state.nodes[inode] {
            case .file: (name, .regular)
            case .folder: (name, .folder)
            default: (name, .other)
            }
        }
    }

    func readLink(_ path: FilePath) throws(Errno) -> ArraySlice<UInt8> {
        guard let inode = try find(DiskState.root, path, follows: false).inode else { throw .noSuchFileOrDirectory }
        guard case .link(let target) = state.nodes[inode] else { throw .invalidArgument }
        return [UInt8](target.string.utf8)[...]
    }

    // MARK: Looking

    func status(_ file: Int32) throws(Errno) -> FileStatus {
        try status(inode: try opened(file).inode)
    }

    func status(_ folder: Int32, _ path: FilePath, follows: Bool) throws(Errno) -> FileStatus {
        if let open = descriptor(path) {
            return follows
                ? try status(inode: open.inode)
                : FileStatus(kind: .link, size: 64, identity: FileIdentity(device: 0, inode: UInt64(open.inode)))
        }
        guard let inode = try find(try self.folder(folder), path, follows: follows).inode else {
            throw .noSuchFileOrDirectory
        }
        return try status(inode: inode)
    }

    private func status(inode: Int) throws(Errno) -> FileStatus {
        guard let node = state.nodes[inode] else { throw .noSuchFileOrDirectory }
        let identity = FileIdentity(device: 1, inode: UInt64(inode))
        let count = state.linkCount(of: inode)
        switch node {
        case .file(let file):
            return FileStatus(
                kind: .regular, size: UInt64(file.bytes.count), identity: identity, linkCount: count,
                permissions: file.permissions, owner: file.owner, group: file.group)
        case .folder:
            return FileStatus(kind: .folder, size: 0, identity: identity, linkCount: count)
        case .link(let target):
            return FileStatus(
                kind: .link, size: UInt64(target.string.utf8.count), identity: identity, linkCount: count)
        }
    }
}
