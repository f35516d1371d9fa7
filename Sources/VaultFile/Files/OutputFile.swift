public import SystemPackage
public import VaultFormat
internal import VaultSystem

/// A file that gets its name when it is complete, or not at all.
///
/// Before `commit`, it has no name, or a temporary name `.vaultfile-*` in the same folder if the system has no files
/// without names. Its mode is 0600. If it is dropped before `commit`, it is removed, and an existing file with the name
/// is not changed. A file with a temporary name is locked, so that ``LeftoverFiles`` can tell it from a file that a
/// killed program has left.
///
/// It does not check what is written to it. Finish a `VaultWriter` before you commit its file, or use `Vault.write`,
/// which does both.
public struct OutputFile: ~Copyable, Sendable {
    /// The open file. Closed by `commit`, or when the value is dropped.
    public let descriptor: FileDescriptor
    let folder: FileDescriptor
    let name: FilePath
    private var isReplacing: Bool
    /// The temporary name that only this file may have.
    let reserved: FilePath?
    var temporary: TemporaryName?
    /// Whether another value closes the file and its folder.
    private var isHandedOver = false
    /// Whether the caller keeps the folder open, and closes it.
    private let isFolderLent: Bool
    /// Whether it is overwritten if it is dropped before it has its name.
    private var holdsKeys = false

    /// Prepares a file at `path`.
    ///
    /// - Parameters:
    ///   - path: the name that the file gets when it is committed.
    ///   - isReplacing: whether `commit` replaces a regular file that has this path, directly or through links.
    /// - Throws: `VaultError` with
    ///   - `outputExists` if something has the name, and `isReplacing` is false;
    ///   - `outputNotReplaceable` if a folder, a device, a broken link or the like has the name;
    ///   - `outputFailed` if no file can be made there, or if the name has the form of a temporary name.
    public init(at path: FilePath, replacing isReplacing: Bool = false) throws(VaultError) {
        var target = path
        if let status = try Self.standing(SystemCalls.current.statusAt(OpenFlags.currentDirectory, path, false)) {
            guard isReplacing else { throw Self.exists }
            // A broken link is not followed: the person who made it would choose the place of the file.
            // mutant: without a link, both calls give the same status
            guard let found = status.kind == .link ? try? path.status() : status, found.kind == .regular else {
                throw VaultError(.outputNotReplaceable, "the name belongs to something that is not a regular file")
            }
            // mutant: a path without a link leads to itself
            if status.kind == .link { target = try Self.target(of: path, found.identity) }
        }
        // mutant: the system gives a file no such name either
        guard let last = target.lastComponent, last.kind == .regular else {
            throw VaultError(.outputFailed, "the path does not name a file")
        }
        try Self.refuseTemporaryName(target)
        let parent = target.removingLastComponent()
        try self.init(
            in: try Self.open(Self.currentFolder, parent.isEmpty ? "." : parent, OpenFlags.directory),
            name: FilePath(root: nil, [last]), isReplacing: isReplacing)
    }

    /// Prepares a file at a place.
    ///
    /// - Parameters:
    ///   - place: the name that the file gets when it is committed.
    ///   - isReplacing: whether a regular file there is replaced by `commit`. In an open folder no link is followed.
    /// - Throws: as for a path.
    public init(at place: FilePlace, replacing isReplacing: Bool = false) throws(VaultError) {
        switch place {
        case .path(let path):
            try self.init(at: path, replacing: isReplacing)
        case .name(let name, in: let folder):
            try Self.check(name, in: folder, replacing: isReplacing)
            try self.init(
                in: try Self.open(folder, ".", OpenFlags.directory), name: name, isReplacing: isReplacing)
        }
    }

    /// Prepares a file in an open folder, which the caller keeps open as long as this value. So many files take one
    /// descriptor each.
    ///
    /// - Parameters:
    ///   - name: the name that the file gets when it is committed.
    ///   - folder: the folder.
    ///   - isReplacing: whether a regular file there is replaced by `commit`. No link is followed.
    /// - Throws: as for a path.
    package init(
        _ name: FilePath, inLentFolder folder: FileDescriptor, replacing isReplacing: Bool = false
    ) throws(VaultError) {
        try Self.check(name, in: folder, replacing: isReplacing)
        try self.init(in: folder, name: name, isReplacing: isReplacing, isFolderLent: true)
    }

    private static func check(
        _ name: FilePath, in folder: FileDescriptor, replacing isReplacing: Bool
    ) throws(VaultError) {
        try refuseTemporaryName(name)
        guard let status = try standing(SystemCalls.current.statusAt(folder.rawValue, name, false)) else { return }
        guard isReplacing else { throw exists }
        guard status.kind == .regular else {
            throw VaultError(.outputNotReplaceable, "the name belongs to something that is not a regular file")
        }
    }

    private static func refuseTemporaryName(_ path: FilePath) throws(VaultError) {
        guard !hasTemporaryName(path) else {
            throw VaultError(.outputFailed, "the name is one of those that unfinished files have")
        }
    }

    /// The path of the file that a link leads to. It must be the file that was found before. Otherwise an attacker who
    /// exchanges the link in between would choose the place of the new file.
    private static func target(of link: FilePath, _ identity: FileIdentity) throws(VaultError) -> FilePath {
        do throws(Errno) {
            let target = try link.followingLinks()
            if try target.status(followingLinks: false).identity == identity { return target }
        } catch {
            guard error == .noSuchFileOrDirectory else { throw failed("its path cannot be followed", error) }
        }
        throw VaultError(.outputNotReplaceable, "the file there was exchanged meanwhile")
    }

    /// The status of an existing file with the name; nil if there is none. Any other failure is an error: otherwise a
    /// link of that name would be replaced instead of the file that it leads to.
    private static func standing(_ found: Result<FileStatus, Errno>) throws(VaultError) -> FileStatus? {
        switch found {
        case .success(let status): return status
        // If the folder cannot be entered, opening it fails later.
        case .failure(.noSuchFileOrDirectory), .failure(.notDirectory), .failure(.permissionDenied): return nil
        case .failure(let error): throw failed("its place cannot be checked", error)
        }
    }

    /// Prepares a file that replaces another one, in the same folder and with the same owner. It is locked too: a
    /// program that finds it under the name waits until everything is done (ROT-27).
    ///
    /// - Parameter holdsKeys: as ``holdKeys()`` says.
    static func replacing(
        _ old: borrowing LockedFile, holdingKeys holdsKeys: Bool = false
    ) throws(VaultError) -> ReplacementFile {
        var file = try OutputFile(
            in: try open(old.folder, ".", OpenFlags.directory), name: old.name, isReplacing: true,
            reserved: reservedName(for: old.name))
        if holdsKeys { file.holdKeys() }
        try file.lock(withOwnerOf: old.status())
        return ReplacementFile(file)
    }

    /// Prepares a new file that is locked and has the owner of another one. Nothing may have the name when it is
    /// committed.
    static func locked(at place: FilePlace, withOwnerOf status: FileStatus) throws(VaultError) -> OutputFile {
        let file = try OutputFile(at: place)
        try file.lock(withOwnerOf: status)
        return file
    }

    private borrowing func lock(withOwnerOf status: FileStatus) throws(VaultError) {
        do {
            try descriptor.lockExclusively()
        } catch {
            throw Self.failed("it cannot be locked", error)
        }
        let (descriptor, own) = (descriptor, try? descriptor.status())
        guard own?.owner != status.owner || own?.group != status.group else { return }
        do throws(Errno) {
            try retrying { SystemCalls.current.setOwner(descriptor.rawValue, status.owner, status.group) }
        } catch {
            // Someone may own a file of a group that they are not in. If the file is for its owner alone, the group
            // gives nobody access, and none is lost.
            let isOwn = own?.owner == status.owner
            guard error == .notPermitted, isOwn, status.permissions.isSubset(of: .ownerReadWriteExecute) else {
                let why = isOwn ? " (its group is none of yours)" : ""
                throw Self.failed("the file's owner cannot be kept\(why)", error)
            }
        }
    }

    private init(
        in folder: FileDescriptor, name: FilePath, isReplacing: Bool, reserved: FilePath? = nil,
        isFolderLent: Bool = false
    ) throws(VaultError) {
        do throws(VaultError) {
            (descriptor, temporary) = try Self.create(in: folder, reserved)
        } catch {
            if !isFolderLent { folder.closeQuietly() }
            throw error
        }
        self.isFolderLent = isFolderLent
        self.folder = folder
        self.name = name
        self.isReplacing = isReplacing
        self.reserved = reserved
    }

    /// From here on its bytes are keys, or what unlocks them: if it is dropped before it has its name, they are
    /// overwritten, as those of a file that it replaces. A program that is killed leaves them (KEYRING-14).
    mutating func holdKeys() { holdsKeys = true }

    deinit {
        if holdsKeys { try? descriptor.overwrite() }
        if let temporary {
            temporary.end { _ = try? retrying { SystemCalls.current.unlinkAt(folder.rawValue, temporary.name) } }
        }
        if !isHandedOver {
            descriptor.closeQuietly()
            if !isFolderLent { folder.closeQuietly() }
        }
    }

    /// Writes the next bytes.
    ///
    /// - Throws: `VaultError` with `outputFailed`.
    public func write(_ bytes: Span<UInt8>) throws(VaultError) {
        try descriptor.writeFully(bytes)
    }

    /// Gives the file its name, its permissions and its time.
    ///
    /// - Parameters:
    ///   - permissions: exactly these. The umask has no effect.
    ///   - modified: the modification time; nil for the present one.
    ///   - synchronize: whether file and folder are durable when this returns.
    /// - Returns: the permissions that the file has. They differ from those that were asked for if its file system
    ///   keeps none, such as exFAT: then others may be able to read the file.
    /// - Throws: `VaultError` with `outputExists` if another file has got the name and must not be replaced;
    ///   `outputFailed`. After an error, the new file is removed, and an existing file with the name is unchanged, with
    ///   one exception: if only the folder could not be synced, the file is complete under its name, and may be lost
    ///   in a power failure.
    @discardableResult
    public consuming func commit(
        permissions: FilePermissions = .ownerReadWrite, modified: Timestamp? = nil, synchronize: Bool = true
    ) throws(VaultError) -> FilePermissions {
        try complete(permissions, modified, synchronize)
        if isReplacing {
            try replace { () throws(VaultError) in }
        } else {
            try appear()
        }
        holdsKeys = false
        if synchronize { try folder.synchronizeFolder() }
        return (try? descriptor.status().permissions) ?? permissions
    }

    /// Whether `commit` replaces a file that has the name.
    package mutating func replaces(_ isReplacing: Bool) { self.isReplacing = isReplacing }

    /// Runs what gives a file its name, while it keeps out whoever must not change that name.
    package typealias Naming = (() throws(VaultError) -> Void) throws(VaultError) -> Void

    /// Keeps nobody out.
    package static func directly(_ name: () throws(VaultError) -> Void) throws(VaultError) { try name() }

    /// Takes the name of a file, if that still has it, and stays locked.
    ///
    /// - Parameters:
    ///   - naming: runs the check and the rename.
    ///   - isFolderSynced: whether the name is durable when this returns.
    consuming func commitLocked(
        permissions: FilePermissions, inPlaceOf file: borrowing LockedFile, naming: Naming,
        synchronizingFolder isFolderSynced: Bool
    ) throws(VaultError) -> LockedFile {
        // Before the rename: after it, nothing but the folder may fail.
        let identity = try LockedFile.status(descriptor).identity
        try complete(permissions, nil, true)
        try take(placeOf: file, naming: naming)
        holdsKeys = false
        if isFolderSynced { try folder.synchronizeFolder() }
        isHandedOver = true
        return LockedFile(locked: descriptor, identity, in: folder, name)
    }

    /// Takes its name, if nothing has it, and stays locked.
    ///
    /// - Throws: `outputExists`, `outputFailed`.
    consuming func commitLocked(permissions: FilePermissions) throws(VaultError) -> LockedFile {
        let identity = try LockedFile.status(descriptor).identity
        try complete(permissions, nil, true)
        try appear()
        holdsKeys = false
        do throws(VaultError) {
            try folder.synchronizeFolder()
        } catch {
            // Nothing needs it yet, and what needed it has failed.
            removeOwn(name)
            throw error
        }
        isHandedOver = true
        return LockedFile(locked: descriptor, identity, in: folder, name)
    }

    /// Removes a name if it is that of this file.
    func removeOwn(_ name: FilePath) {
        let (calls, folder) = (SystemCalls.current, folder.rawValue)
        guard let own = try? descriptor.status().identity,
            (try? calls.statusAt(folder, name, false).get().identity) == own
        else { return }
        _ = try? retrying { calls.unlinkAt(folder, name) }
    }

    private mutating func take(placeOf file: borrowing LockedFile, naming: Naming) throws(VaultError) {
        try naming { () throws(VaultError) in
            try replace { () throws(VaultError) in
                // Checked after the sync, which may take long: a file that another program puts there between this
                // check and the rename is lost.
                switch try file.standing() {
                case .inPlace: break
                case .removed: throw VaultError(.inUse, "it was removed meanwhile, and nothing was put in its place")
                case .replaced:
                    throw VaultError(.inUse, "another file has its name by now; that file was left alone")
                }
            }
        }
    }

    // MARK: Calls

    private static let currentFolder = FileDescriptor(rawValue: OpenFlags.currentDirectory)

    static func open(
        _ folder: FileDescriptor, _ path: FilePath, _ flags: Int32, mode: FilePermissions = []
    ) throws(VaultError) -> FileDescriptor {
        let calls = SystemCalls.current
        do {
            return FileDescriptor(
                rawValue: try retrying { calls.openAt(folder.rawValue, path, flags, mode.rawValue) })
        } catch {
            throw failed("no file can be created in its folder", error)
        }
    }

    static func procPath(of descriptor: FileDescriptor) -> FilePath {
        FilePath("/proc/self/fd/\(descriptor.rawValue)")
    }

    static let exists = VaultError(.outputExists, "it exists already")

    static func failed(_ what: String, _ error: Errno) -> VaultError {
        VaultError(.outputFailed, "\(what): \(error)", systemError: error)
    }

    static func call(_ failure: String, _ body: () -> Int32) throws(VaultError) {
        do {
            try retrying(body)
        } catch {
            throw failed(failure, error)
        }
    }
}
