internal import CPlatform
internal import SystemPackage
internal import VaultFile
internal import VaultSystem

/// Where an output file goes: to a path that was named, into the open folder in which a walk found its input, or into a
/// folder below a mirror. Of the last two, the path is not used again: replacing a folder by a link would then decide
/// where plaintext is written.
struct OutputPlace: Equatable, Sendable {
    let path: PathArgument
    private let site: Site
    private let name: [UInt8]

    private enum Site: Equatable, Sendable {
        case named
        case open(OpenFolder)
        case mirrored(MirroredFolder)
    }

    /// - Parameter found: The input beside which the output goes, if a walk found that input; nil if the path was
    ///   named.
    init(_ path: PathArgument, beside found: FoundFile? = nil) {
        self.path = path
        name = path.lastComponent
        site = found.map { .open($0.folder) } ?? .named
    }

    /// A place below a mirror.
    init(_ name: [UInt8], in folder: MirroredFolder) {
        path = folder.path(name)
        self.name = name
        site = .mirrored(folder)
    }

    /// The open folder; nil if the path was named.
    ///
    /// - Parameter isMade: Whether to make it if it is missing.
    /// - Throws: `Errno.noSuchFileOrDirectory` if it is missing.
    private func folder(making isMade: Bool = false) throws -> OpenFolder? {
        switch site {
        case .named: return nil
        case .open(let folder): return folder
        case .mirrored(let mirrored):
            guard let folder = try mirrored.open(making: isMade) else { throw Errno.noSuchFileOrDirectory }
            return folder
        }
    }

    /// The status of the file at this place. Links are followed only if the path was named.
    func stat() throws -> Stat {
        if let folder = try folder() { return try folder.stat(name) }
        return try path.path.stat()
    }

    /// Whether the name still means an open file.
    ///
    /// - Throws: the system's error if that cannot be found out.
    func means(_ there: Input) throws -> Bool {
        FileIdentity(try stat()) == FileIdentity(there.stat)
    }

    /// Whether an open file has this name and no other, and belongs to this user.
    ///
    /// - Throws: the system's error if that cannot be found out.
    func isOwn(_ there: Input) throws -> Bool {
        let named = try folder()?.stat(name) ?? path.path.stat(followTargetSymlink: false)
        guard FileIdentity(named) == FileIdentity(there.stat) else { return false }
        return named.type == .regular && named.linkCount == 1 && named.userID.rawValue == geteuid()
    }

    /// Opens the file at this place for reading.
    func input() throws(Failure) -> Input {
        let folder = try path.subject.attempt(system: .noInput) { try self.folder() }
        return try Input(InputItem(operand: path, found: folder.map { FoundFile(folder: $0, name: name) }))
    }

    /// Opens the folder of the file at this place. Links are followed if the path was named.
    func openFolder() throws -> OpenFolder {
        if let folder = try folder() { return folder }
        let folder = (Platform.resolved(path.path) ?? path.path).removingLastComponent()
        return try OpenFolder(at: folder.isEmpty ? "." : folder)
    }

    /// Calls `body` with the place in the library's type. Makes its folder if that is below a mirror.
    func withPlace<R>(_ body: (FilePlace) throws -> R) throws -> R {
        guard let folder = try folder(making: true) else { return try body(.path(path.path)) }
        return try FoundFile(folder: folder, name: name).withPlace(body)
    }

    /// Checks that a file can be created here: the folder accepts new files, and an existing file is not immutable. The
    /// mode of an existing file does not matter, because it is replaced and not written to.
    func checkWritable() throws {
        let change: Result<Void, Errno>
        if site != .named {
            // A missing folder is checked when it is made.
            guard let folder = try? folder() else { return }
            try folder.checkWritable()
            change = Result { () throws(Errno) in try folder.checkWritable(name) }
        } else {
            let target = Platform.resolved(path.path) ?? path.path
            let folder = target.removingLastComponent()
            try Platform.checkWritable(folder.isEmpty ? "." : folder)
            change = Result { () throws(Errno) in try Platform.checkWritable(target) }
        }
        // EPERM means that the file is immutable. A mode that forbids writing gives EACCES, which does not matter.
        if case .failure(.notPermitted) = change { throw Errno.notPermitted }
    }
}
