internal import SystemPackage
internal import VaultArchive
internal import VaultFile
internal import VaultSystem

/// A folder that a walk went through.
struct WalkedFolder: Equatable, Sendable {
    /// Its name; empty for a folder that was named as `.`, `..` or `/`.
    let name: [UInt8]
    let permissions: FilePermissions
    let identity: FileIdentity
}

/// A file that a walk found. It is reached through its open folder: replacing the folder by a link does not redirect
/// it, and its path may be longer than the system allows.
struct FoundFile: Equatable, Sendable {
    let folder: OpenFolder
    let name: [UInt8]
    /// The folders from the one that was named down to its own.
    var folders: [WalkedFolder] = []

    /// Whether it is still a regular file.
    var isThere: Bool { (try? folder.stat(name).type) == .regular }

    /// Calls `body` with its place.
    func withPlace<R>(_ body: (FilePlace) throws -> R) rethrows -> R {
        // The place does not keep the folder's descriptor open.
        try withExtendedLifetime(folder) { try body(folder.place(name)) }
    }
}

/// All files below a folder, in the byte order of their names. Links are not followed.
///
/// However large and deep the folders are, the walk holds in memory about `namesAtOnce` names of each folder on the way
/// down, and keeps about `foldersHeldOpen` folders open. A name that is added or removed during the walk may or may not
/// be found. Every other name is found once.
struct FolderWalk {
    /// An entry that is neither a folder nor a regular file.
    enum Irregular {
        case link
        /// A device, a pipe or a socket.
        case special
    }

    enum Step {
        case file(PathArgument, FoundFile)
        /// A folder, before what is in it. Only a walk of everything has these two.
        case folder(PathArgument, OpenFolder)
        case other(PathArgument, FoundFile)
        case passedOver(Irregular)
        case failed(Failure)
    }

    /// A folder with more names than this is listed several times, each time for the next names in order.
    private let namesAtOnce: Int
    /// In deeper trees, upper folders are closed on the way down and opened again through `..`.
    private let foldersHeldOpen: Int

    private var path: [UInt8]
    private var folders: [WalkedFolder] = []
    private var levels: [Level] = []
    private var identities: Set<FileIdentity> = []
    private let leftOut: Set<FileIdentity>
    private let isRecursive: Bool
    private let takesAll: Bool

    private typealias Entry = (name: [UInt8], kind: OpenFolder.Kind)

    /// One folder on the way down.
    private struct Level {
        var folder: OpenFolder?
        let identity: FileIdentity
        /// The length of the path to here, with its slash.
        let pathLength: Int
        /// The next names, in reverse order.
        var entries: [Entry] = []
        /// The last name of the last listing; nil before the first.
        var last: [UInt8]?
        var isReadToItsEnd = false
    }

    /// - Parameters:
    ///   - leftOut: Folders below the root to leave out.
    ///   - isRecursive: Whether the walk enters the folders below the root.
    ///   - takesAll: Whether folders and irregular entries are steps too, and what is gone when it is opened is a
    ///     failure.
    /// - Throws: `Failure` if the folder cannot be opened.
    init(
        _ root: PathArgument, leavingOut leftOut: Set<FileIdentity> = [], isRecursive: Bool = true,
        takesAll: Bool = false, namesAtOnce: Int = 1 << 16, foldersHeldOpen: Int = 32
    ) throws(Failure) {
        self.leftOut = leftOut
        self.isRecursive = isRecursive
        self.takesAll = takesAll
        self.namesAtOnce = namesAtOnce
        self.foldersHeldOpen = foldersHeldOpen
        path = root.bytes
        enter(try root.subject.attempt(system: .noInput) { try OpenFolder(at: root.path) }, root.folderName)
    }

    /// The next step; nil at the end.
    mutating func next() -> Step? {
        while let depth = levels.indices.last {
            guard let (name, kind) = levels[depth].entries.popLast() else {
                if let failure = levels[depth].isReadToItsEnd ? climb() : readOn(depth) { return .failed(failure) }
                continue
            }
            // `climb` could not open this folder again.
            guard let folder = levels[depth].folder else { continue }
            path.removeSubrange(levels[depth].pathLength...)
            path += name
            switch kind {
            case .regular:
                return .file(PathArgument(bytes: path), FoundFile(folder: folder, name: name, folders: folders))
            case .other where takesAll:
                return .other(PathArgument(bytes: path), FoundFile(folder: folder, name: name))
            case .other: return .passedOver(Self.kind(of: name, in: folder))
            case .folder where !isRecursive: continue
            case .folder: if let step = descend(from: folder, to: name) { return step }
            }
        }
        return nil
    }

    /// Leaves out what is in the folder of the last step.
    mutating func passOver() {
        guard let depth = levels.indices.last else { return }
        levels[depth].isReadToItsEnd = true
    }

    private static func kind(of name: [UInt8], in folder: OpenFolder) -> Irregular {
        (try? folder.stat(name).type) == .symbolicLink ? .link : .special
    }

    private mutating func descend(from parent: OpenFolder, to name: [UInt8]) -> Step? {
        do {
            let folder = try parent.folder(name)
            guard !identities.contains(folder.identity) else {
                return .failed(Failure(.noInput, .path(path), "is a folder that contains itself"))
            }
            guard !leftOut.contains(folder.identity) else { return nil }
            // A running extract writes what is in it, and a killed one has left it: it is no file of the user.
            if !takesAll, folder.withDescriptor({ Workshops.isWorkshop(name, $0) }) { return nil }
            let path = PathArgument(bytes: path)
            enter(folder, name)
            return takesAll ? .folder(path, folder) : nil
        } catch Errno.noSuchFileOrDirectory where !takesAll {
            return nil
        } catch Errno.notDirectory, Errno.tooManySymbolicLinkLevels {
            guard !takesAll else {
                return .other(PathArgument(bytes: path), FoundFile(folder: parent, name: name))
            }
            return .passedOver(Self.kind(of: name, in: parent))
        } catch {
            return .failed(Failure(error, about: .path(path), system: .noInput))
        }
    }

    private mutating func enter(_ folder: OpenFolder, _ name: [UInt8]) {
        if path.last != UInt8(ascii: "/") { path.append(UInt8(ascii: "/")) }
        if levels.count > foldersHeldOpen { levels[levels.count - 1].folder = nil }
        identities.insert(folder.identity)
        folders.append(WalkedFolder(name: name, permissions: folder.permissions, identity: folder.identity))
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

    /// Leaves the deepest folder.
    private mutating func climb() -> Failure? {
        let left = levels.removeLast()
        identities.remove(left.identity)
        folders.removeLast()
        guard let depth = levels.indices.last, levels[depth].folder == nil else { return nil }
        if let parent = try? left.folder?.folder(Array("..".utf8)), parent.identity == levels[depth].identity {
            levels[depth].folder = parent
            return nil
        }
        // The folder was moved, so `..` does not lead back. The walk continues in the nearest upper folder that is
        // open.
        let folder = Array(path.prefix(max(1, levels[depth].pathLength - 1)))
        while let lost = levels.last, lost.folder == nil {
            identities.remove(lost.identity)
            levels.removeLast()
            folders.removeLast()
        }
        return Failure(.noInput, .path(folder), "was moved while it was read, so some of its files were left out")
    }
}
