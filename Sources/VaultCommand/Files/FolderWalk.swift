internal import SystemPackage
internal import VaultFile

/// A file where a walk found it: reached from its folder, so that neither a link that is put in the way meanwhile nor a
/// path longer than the system takes leads elsewhere.
struct FoundFile: Equatable, Sendable {
    let folder: OpenFolder
    let name: [UInt8]

    /// Whether there still is a file. What has gone meanwhile, or has become something else, is no input.
    var isThere: Bool { (try? folder.stat(name).type) == .regular }

    /// Lends its place.
    ///
    /// - Parameter path: The path that led to it.
    func withPlace<R>(_ path: PathArgument, _ body: (FilePlace) throws -> R) rethrows -> R {
        // Not through the path's components, which are all gone through one by one.
        let folderPath = FilePath(bytes: [UInt8](path.bytes.dropLast(path.lastComponent.count)))
        // The place holds no more than the number of the folder's descriptor.
        return try withExtendedLifetime(folder) { try body(folder.place(name, path: folderPath)) }
    }
}

/// All that is below a folder, links not followed: folders and files in the order of their names' bytes.
///
/// Memory holds `namesAtOnce` names of each folder on the way down, and `foldersHeldOpen` descriptors, however large
/// and deep the folders are. Names that come and go meanwhile are met or not; all others are met once.
struct FolderWalk {
    enum Step {
        case file(PathArgument, FoundFile)
        /// What is neither a folder nor a regular file.
        case passedOver
        case failed(Failure)
    }

    /// A larger folder is read once for so many names, each time for the next ones in order.
    private let namesAtOnce: Int
    /// The folders farther down are closed on the way, and come back to by `..`.
    private let foldersHeldOpen: Int

    private var path: [UInt8]
    private var levels: [Level] = []
    private var identities: Set<FileIdentity> = []
    private let leftOut: Set<FileIdentity>

    private typealias Entry = (name: [UInt8], kind: OpenFolder.Kind)

    /// One folder on the way down.
    private struct Level {
        var folder: OpenFolder?
        let identity: FileIdentity
        /// How much of the walk's path leads here, its slash included.
        let pathLength: Int
        /// What is to come, in reverse.
        var entries: [Entry] = []
        /// The last name that was read; nil before the first.
        var last: [UInt8]?
        var isReadToItsEnd = false
    }

    /// - Parameter leftOut: Folders below the root that are passed over.
    /// - Throws: `Failure` where the folder cannot be opened.
    init(
        _ root: PathArgument, leavingOut leftOut: Set<FileIdentity> = [], namesAtOnce: Int = 1 << 16,
        foldersHeldOpen: Int = 32
    ) throws(Failure) {
        self.leftOut = leftOut
        self.namesAtOnce = namesAtOnce
        self.foldersHeldOpen = foldersHeldOpen
        path = root.bytes
        do {
            enter(try OpenFolder(at: root.path))
        } catch {
            throw Failure(error, about: root.subject, system: .noInput)
        }
    }

    /// What comes next; nil at the end.
    mutating func next() -> Step? {
        while let depth = levels.indices.last {
            guard let (name, kind) = levels[depth].entries.popLast() else {
                if let failure = levels[depth].isReadToItsEnd ? climb() : readOn(depth) { return .failed(failure) }
                continue
            }
            // A level that is reached again without its folder has been given up by `climb`.
            guard let folder = levels[depth].folder else { continue }
            path.removeSubrange(levels[depth].pathLength...)
            path += name
            switch kind {
            case .regular: return .file(PathArgument(bytes: path), FoundFile(folder: folder, name: name))
            case .other: return .passedOver
            case .folder: if let step = descend(from: folder, to: name) { return step }
            }
        }
        return nil
    }

    private mutating func descend(from parent: OpenFolder, to name: [UInt8]) -> Step? {
        do {
            let folder = try parent.folder(name)
            guard !identities.contains(folder.identity) else {
                return .failed(Failure(.noInput, .path(path), "is a folder that contains itself"))
            }
            if !leftOut.contains(folder.identity) { enter(folder) }
            return nil
        } catch Errno.noSuchFileOrDirectory {
            return nil
        } catch Errno.notDirectory, Errno.tooManySymbolicLinkLevels {
            return .passedOver
        } catch {
            return .failed(Failure(error, about: .path(path), system: .noInput))
        }
    }

    private mutating func enter(_ folder: OpenFolder) {
        if path.last != UInt8(ascii: "/") { path.append(UInt8(ascii: "/")) }
        if levels.count > foldersHeldOpen { levels[levels.count - 1].folder = nil }
        identities.insert(folder.identity)
        levels.append(Level(folder: folder, identity: folder.identity, pathLength: path.count))
    }

    /// Reads the next names of a folder.
    private mutating func readOn(_ depth: Int) -> Failure? {
        let last = levels[depth].last
        var entries: [Entry] = []
        var isWhole = true
        let limit = namesAtOnce
        let keepFirst = { (entries: inout [Entry], isWhole: inout Bool) in
            entries.sort { $0.name.lexicographicallyPrecedes($1.name) }
            guard entries.count > limit else { return }
            entries.removeSubrange(limit...)
            isWhole = false
        }
        var failure: Failure?
        do {
            try levels[depth].folder?.forEachName { name, kind in
                if let last, !last.lexicographicallyPrecedes(name) { return }
                entries.append((name, kind))
                if entries.count == 2 * limit { keepFirst(&entries, &isWhole) }
            }
        } catch {
            let folder = Array(path.prefix(max(1, levels[depth].pathLength - 1)))
            failure = Failure(error, about: .path(folder), system: .noInput)
        }
        keepFirst(&entries, &isWhole)
        levels[depth].last = entries.last?.name ?? last
        levels[depth].entries = entries.reversed()
        levels[depth].isReadToItsEnd = isWhole || failure != nil
        return failure
    }

    /// Goes back up.
    private mutating func climb() -> Failure? {
        let left = levels.removeLast()
        identities.remove(left.identity)
        guard let depth = levels.indices.last, levels[depth].folder == nil else { return nil }
        if let parent = try? left.folder?.folder(Array("..".utf8)), parent.identity == levels[depth].identity {
            levels[depth].folder = parent
            return nil
        }
        // Whoever moved the folder that was left has cut the way back; what is still held open can be gone on with.
        let folder = Array(path.prefix(max(1, levels[depth].pathLength - 1)))
        while let lost = levels.last, lost.folder == nil {
            identities.remove(lost.identity)
            levels.removeLast()
        }
        return Failure(.noInput, .path(folder), "was moved while it was read, and so was left out in part")
    }
}
