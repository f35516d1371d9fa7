internal import Synchronization
internal import SystemPackage
internal import VaultFile
internal import VaultSystem

/// The folder of `-o FOLDER/` in a run with `--recursive`: the outputs of a walk go into the same folders below it.
///
/// No output can leave it. Each folder below it is opened by its name in the folder above, and no link is followed.
/// Otherwise a link that someone puts there would decide where plaintext is written.
final class Mirror: Sendable {
    private let path: PathArgument
    private let folder: OpenFolder
    /// The path without links, to find out whether an input contains it.
    private let resolved: FilePath?
    /// Whether two folders of the inputs must not become one folder here, as on a disk that ignores case. A run that
    /// replaces files would replace the outputs of the one by those of the other.
    private let keepsApart: Bool
    private let synchronizes: Bool
    private let state = Mutex(State())

    private struct State {
        /// The folders that were used last, the latest at the end. Outputs of one folder follow one another.
        var recent: [(origin: [WalkedFolder], folder: OpenFolder)] = []
        /// The folders here, each with the one that it repeats. Kept only if they are kept apart.
        var origins: [FileIdentity: FileIdentity] = [:]
    }

    private static let mostRecent = 16

    /// - Parameters:
    ///   - path: The folder, which exists.
    ///   - keepsApart: Whether to refuse two folders of the inputs that would become one.
    ///   - synchronizes: Whether new folders are made durable.
    init(_ path: PathArgument, keepingApart keepsApart: Bool, synchronizes: Bool) throws(Failure) {
        self.path = path
        self.keepsApart = keepsApart
        self.synchronizes = synchronizes
        folder = try path.subject.attempt(system: .cannotCreate) { try OpenFolder(at: path.path) }
        resolved = Platform.resolved(path.path)
    }

    var identity: FileIdentity { folder.identity }

    // MARK: Inputs

    /// Refuses inputs that would become the same output.
    func refuseDoubles(among operands: [PathArgument]) throws(Failure) {
        var names: Set<[UInt8]> = []
        for operand in operands {
            let name = operand.folderName
            guard !name.isEmpty || operands.count == 1 else {
                throw .usage("-o", "takes \(operand.escaped) only alone: it has no name of its own")
            }
            guard names.insert(name).inserted else {
                throw Failure(.usage, .path(path.bytes + name), "two inputs would be written to it")
            }
        }
    }

    /// Whether it is below a folder that is an input.
    ///
    /// - Throws: `Failure` if the input is this folder or below it. Its outputs could be written beside it, over the
    ///   inputs of the same run.
    func isBelow(_ input: PathArgument) throws(Failure) -> Bool {
        guard let resolved, let target = Platform.resolved(input.path) else { return false }
        guard !target.starts(with: resolved) else {
            throw Failure(.usage, .path(path.bytes), "is or holds the input \(input.escaped)", hint: .outputBesideInput)
        }
        return resolved.starts(with: target)
    }

    // MARK: Folders

    /// The place of an output.
    ///
    /// - Parameter found: Its input.
    func place(_ name: [UInt8], for found: FoundFile) throws(Failure) -> MirroredFolder {
        let folder = MirroredFolder(mirror: self, folders: found.folders.filter { !$0.name.isEmpty })
        _ = try open(folder.folders, making: false)
        return folder
    }

    /// The path of a folder below this one, with a slash at its end.
    fileprivate func path(of folders: [WalkedFolder]) -> [UInt8] {
        folders.reduce(into: path.bytes) { $0 += $1.name + [UInt8(ascii: "/")] }
    }

    /// Opens a folder below this one.
    ///
    /// - Parameter isMade: Whether to make what is missing.
    /// - Returns: Nil if it is missing.
    fileprivate func open(_ folders: [WalkedFolder], making isMade: Bool) throws(Failure) -> OpenFolder? {
        var (current, depth) = (folder, 0)
        state.withLock { state in
            guard let index = state.recent.lastIndex(where: { folders.starts(with: $0.origin) }) else { return }
            (current, depth) = (state.recent[index].folder, state.recent[index].origin.count)
        }
        for next in folders.indices.dropFirst(depth) {
            let subject = Failure.Subject.path(Array(path(of: Array(folders[...next])).dropLast()))
            let parent = current
            let child = try subject.attempt(system: .cannotCreate) {
                try self.child(folders[next], of: parent, making: isMade, subject)
            }
            guard let child else { return nil }
            try keepApart(child, folders[next], subject)
            current = child
        }
        if depth < folders.count {
            let folder = current
            state.withLock { state in
                state.recent.append((folders, folder))
                if state.recent.count > Self.mostRecent { state.recent.removeFirst() }
            }
        }
        return current
    }

    private func child(
        _ walked: WalkedFolder, of parent: OpenFolder, making isMade: Bool, _ subject: Failure.Subject
    ) throws -> OpenFolder? {
        do {
            return try parent.folder(walked.name)
        } catch Errno.noSuchFileOrDirectory {
            guard isMade else { return nil }
        } catch Errno.notDirectory, Errno.tooManySymbolicLinkLevels {
            let isLink = (try? parent.stat(walked.name).type) == .symbolicLink
            throw Failure(
                .cannotCreate, subject, isLink ? "is a link, and --recursive follows no links" : "is not a folder")
        }
        // The run must be able to write into it, even if no one may write into the folder that it repeats.
        try parent.makeFolder(walked.name, walked.permissions.union(.ownerReadWriteExecute))
        if synchronizes { try parent.synchronize() }
        return try parent.folder(walked.name)
    }

    private func keepApart(
        _ folder: OpenFolder, _ origin: WalkedFolder, _ subject: Failure.Subject
    ) throws(Failure) {
        guard keepsApart else { return }
        let known = state.withLock { state in
            let known = state.origins[folder.identity] ?? origin.identity
            state.origins[folder.identity] = known
            return known
        }
        guard known == origin.identity else {
            throw Failure(.cannotCreate, subject, "is the place of another input folder too")
        }
    }
}

/// The folder of some outputs below a mirror. It is made when the first of them is opened for writing.
struct MirroredFolder: Equatable, Sendable {
    fileprivate let mirror: Mirror
    fileprivate let folders: [WalkedFolder]

    /// The path of a file in it.
    func path(_ name: [UInt8]) -> PathArgument {
        PathArgument(bytes: mirror.path(of: folders) + name)
    }

    /// Opens it.
    ///
    /// - Parameter isMade: Whether to make it if it is missing.
    /// - Returns: Nil if it is missing.
    func open(making isMade: Bool) throws(Failure) -> OpenFolder? {
        try mirror.open(folders, making: isMade)
    }

    static func == (one: MirroredFolder, other: MirroredFolder) -> Bool {
        one.mirror === other.mirror && one.folders == other.folders
    }
}

extension OutputOptions {
    /// The folder of `-o`, if the outputs go into the same folders below it.
    ///
    /// - Parameter keepsApart: Whether to refuse two folders of the inputs that would become one there.
    func mirror(_ many: ManyInputs, keepingApart keepsApart: Bool = false) throws(Failure) -> Mirror? {
        guard many.recursive, let output else { return nil }
        return try Mirror(output, keepingApart: keepsApart, synchronizes: !noSync)
    }
}
