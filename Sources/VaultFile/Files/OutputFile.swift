public import SystemPackage
import VaultCrypto
public import VaultFormat

/// A file that appears under its name complete, or not at all.
///
/// It is written without a name where the system can do that, else as `.vaultfile-*` beside its place with mode 0600,
/// and gets its name by `commit`. Dropped before, it leaves nothing behind, and what stood under the name is untouched.
///
/// It does not know what is written to it: finish a `VaultWriter` before you commit its file, or take `Vault.write`,
/// which does both.
public struct OutputFile: ~Copyable, Sendable {
    /// Where to write. Closed by `commit` or when the value is dropped.
    public let descriptor: FileDescriptor
    private let folder: FileDescriptor
    private let name: FilePath
    private let isReplacing: Bool
    /// The temporary name that only this file may have.
    private let reserved: FilePath?
    private var temporary: TemporaryName?
    /// Whether another value closes it and its folder.
    private var isHandedOver = false

    /// Prepares a file at `path`.
    ///
    /// - Parameter isReplacing: whether a regular file that stands there, or that links lead to from there, is replaced
    ///   by `commit`.
    /// - Throws: `VaultError` with
    ///   - `outputExists` if something has the name, and `isReplacing` is false;
    ///   - `outputNotReplaceable` if what has the name is not a regular file (a link that leads nowhere is not);
    ///   - `outputFailed` if no file can be made there.
    public init(at path: FilePath, replacing isReplacing: Bool = false) throws(VaultError) {
        var target = path
        if let status = try Self.standing(SystemCalls.current.statusAt(OpenFlags.currentDirectory, path, false)) {
            guard isReplacing else { throw Self.exists }
            // A link that leads nowhere is not followed: whoever made it would choose where the file comes to stand.
            guard let found = status.kind == .link ? try? path.status() : status, found.kind == .regular else {
                throw VaultError(.outputNotReplaceable, "what stands there is not a regular file")
            }
            if status.kind == .link { target = try Self.target(of: path, found.identity) }
        }
        guard let last = target.lastComponent, last.kind == .regular else {
            throw VaultError(.outputFailed, "the path does not name a file")
        }
        let parent = target.removingLastComponent()
        try self.init(
            in: try Self.open(Self.currentFolder, parent.isEmpty ? "." : parent, OpenFlags.directory),
            name: FilePath(root: nil, [last]), isReplacing: isReplacing)
    }

    /// Prepares a file at a place.
    ///
    /// - Parameter isReplacing: whether a regular file there is replaced by `commit`. In an open folder no link is
    ///   followed.
    /// - Throws: as for a path.
    public init(at place: FilePlace, replacing isReplacing: Bool = false) throws(VaultError) {
        switch place {
        case .path(let path):
            try self.init(at: path, replacing: isReplacing)
        case .name(let name, in: let folder):
            if let status = try Self.standing(SystemCalls.current.statusAt(folder.rawValue, name, false)) {
                guard isReplacing else { throw Self.exists }
                guard status.kind == .regular else {
                    throw VaultError(.outputNotReplaceable, "what stands there is not a regular file")
                }
            }
            try self.init(
                in: try Self.open(folder, ".", OpenFlags.directory), name: name, isReplacing: isReplacing)
        }
    }

    /// The path of what a link leads to: of the very file that was found, or whoever exchanges the link meanwhile would
    /// choose where the file comes to stand.
    private static func target(of link: FilePath, _ identity: FileStatus.Identity) throws(VaultError) -> FilePath {
        do throws(Errno) {
            let target = try link.followingLinks()
            if try target.status(followingLinks: false).identity == identity { return target }
        } catch {
            guard error == .noSuchFileOrDirectory else { throw failed("its path cannot be followed", error) }
        }
        throw VaultError(.outputNotReplaceable, "what stands there has been exchanged")
    }

    /// What stands where the file is to come, if anything does. A look that fails is none that has found nothing: the
    /// link that stands there would be replaced, and not what it leads to.
    private static func standing(_ found: Result<FileStatus, Errno>) throws(VaultError) -> FileStatus? {
        switch found {
        case .success(let status): return status
        // Where its folder cannot be entered, that is said when the folder is opened.
        case .failure(.noSuchFileOrDirectory), .failure(.notDirectory), .failure(.permissionDenied): return nil
        case .failure(let error): throw failed("its place cannot be looked at", error)
        }
    }

    /// Prepares the file that takes the place of another, in its folder and with its owner. It is locked like the
    /// other, so that whoever finds it under the name waits until all is done (ROT-25).
    static func replacing(_ old: borrowing LockedFile) throws(VaultError) -> ReplacementFile {
        let file = try OutputFile(
            in: try open(old.folder, ".", OpenFlags.directory), name: old.name, isReplacing: true,
            reserved: reservedName(for: old.name))
        let descriptor = file.descriptor
        do {
            try descriptor.lockExclusively()
        } catch {
            throw failed("it cannot be locked", error)
        }
        let (status, own) = (try old.status(), try? descriptor.status())
        if own?.owner != status.owner || own?.group != status.group {
            try call("the file's owner cannot be kept") {
                SystemCalls.current.setOwner(descriptor.rawValue, status.owner, status.group)
            }
        }
        return ReplacementFile(file)
    }

    private init(
        in folder: FileDescriptor, name: FilePath, isReplacing: Bool, reserved: FilePath? = nil
    ) throws(VaultError) {
        do throws(VaultError) {
            (descriptor, temporary) = try Self.create(in: folder, reserved)
        } catch {
            folder.closeQuietly()
            throw error
        }
        self.folder = folder
        self.name = name
        self.isReplacing = isReplacing
        self.reserved = reserved
    }

    deinit {
        if let temporary {
            temporary.end { _ = try? retrying { SystemCalls.current.unlinkAt(folder.rawValue, temporary.name) } }
        }
        if !isHandedOver {
            descriptor.closeQuietly()
            folder.closeQuietly()
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
    ///   - permissions: exactly these, whatever the umask.
    ///   - modified: the modification time; nil leaves the present one.
    ///   - synchronize: whether file and folder are durable when this returns.
    /// - Throws: `VaultError` with `outputExists` if something has come to stand under the name that is not to be
    ///   replaced; `outputFailed`. Nothing is left behind then, and what stood there is untouched; but if only the
    ///   folder cannot be synced, the file stands complete under its name and may be gone after a power failure.
    public consuming func commit(
        permissions: FilePermissions = .ownerReadWrite, modified: Timestamp? = nil, synchronize: Bool = true
    ) throws(VaultError) {
        try appear(permissions, modified, synchronize) { () throws(VaultError) in }
    }

    /// The same of one that is locked, which stays so.
    ///
    /// - Parameter check: called right before the name changes hands, when nothing is left that takes long.
    consuming func commitLocked(
        permissions: FilePermissions, _ check: () throws(VaultError) -> Void
    ) throws(VaultError) -> LockedFile {
        let identity = try LockedFile.status(descriptor).identity
        try appear(permissions, nil, true, check)
        isHandedOver = true
        return LockedFile(locked: descriptor, identity, in: folder, name)
    }

    private mutating func appear(
        _ permissions: FilePermissions, _ modified: Timestamp?, _ synchronize: Bool,
        _ check: () throws(VaultError) -> Void
    ) throws(VaultError) {
        let calls = SystemCalls.current
        let file = descriptor.rawValue
        try Self.call("its mode cannot be set") { calls.setPermissions(file, permissions.rawValue) }
        if let modified { try Self.call("its time cannot be set") { calls.setModified(file, modified) } }
        if synchronize { try Self.call("it cannot be synced") { calls.sync(file) } }
        if isReplacing {
            try replace(check)
        } else {
            try appear()
        }
        if synchronize { try Self.syncFolder(folder) }
    }

    /// Takes the name from whatever has it.
    private mutating func replace(_ check: () throws(VaultError) -> Void) throws(VaultError) {
        let calls = SystemCalls.current
        let (folder, name) = (folder.rawValue, name)
        let named: TemporaryName
        if let temporary {
            named = temporary
        } else {
            named = try linkNameless(reserved)
            temporary = named
        }
        try check()
        try named.end { () throws(VaultError) in
            try Self.call("it cannot be renamed") { calls.renameAt(folder, named.name, name) }
        }
        temporary = nil
    }

    /// Takes the name if nothing has it: a file that came to stand there meanwhile is left alone.
    private mutating func appear() throws(VaultError) {
        let calls = SystemCalls.current
        let (folder, name) = (folder.rawValue, name)
        guard let temporary else { return try linkNameless(to: name) }
        let named = temporary.name
        try temporary.end { () throws(VaultError) in
            do throws(Errno) {
                try retrying { calls.renameExclusiveAt(folder, named, name) }
                return
            } catch {
                guard error != .fileExists else { throw Self.exists }
                guard Self.isMissingCall(error) else { throw Self.failed("it cannot be renamed", error) }
            }
            // A hard link replaces nothing either. The old name goes before the folder is synced, or a crash could
            // leave both.
            do throws(Errno) {
                try retrying { calls.linkAt(folder, named, folder, name, 0) }
            } catch {
                throw error == .fileExists ? Self.exists : Self.failed("it cannot be renamed", error)
            }
            try Self.call("its temporary name cannot be removed") { calls.unlinkAt(folder, named) }
        }
        self.temporary = nil
    }

    /// Gives it the temporary name that is reserved for it, or another if that one is not free.
    private func linkNameless(_ reserved: FilePath?) throws(VaultError) -> TemporaryName {
        if let reserved {
            do throws(VaultError) {
                return try linkNameless(as: reserved)
            } catch {
                guard error.code == .outputExists else { throw error }
            }
        }
        return try linkNameless(as: Self.temporaryName())
    }

    private func linkNameless(as name: FilePath) throws(VaultError) -> TemporaryName {
        try TemporaryName.make(name, in: folder) { () throws(VaultError) in try linkNameless(to: name) }.1
    }

    private func linkNameless(to name: FilePath) throws(VaultError) {
        let calls = SystemCalls.current
        let (folder, source) = (folder.rawValue, Self.procPath(of: descriptor))
        do {
            try retrying { calls.linkAt(OpenFlags.currentDirectory, source, folder, name, OpenFlags.followLinks) }
        } catch {
            throw error == .fileExists ? Self.exists : Self.failed("it cannot be given its name", error)
        }
    }

    /// Some file systems have nothing to sync in a folder and say so by an error.
    static func syncFolder(_ folder: FileDescriptor) throws(VaultError) {
        do {
            try folder.synchronize()
        } catch {
            guard isMissingCall(error) else { throw failed("its folder cannot be synced", error) }
        }
    }

    private static func isMissingCall(_ error: Errno) -> Bool {
        [.noFunction, .invalidArgument, .notSupported, .notSupportedOnSocket].contains(error)
    }

    // MARK: Making the file

    private static let currentFolder = FileDescriptor(rawValue: OpenFlags.currentDirectory)

    private static func create(
        in folder: FileDescriptor, _ reserved: FilePath?
    ) throws(VaultError) -> (FileDescriptor, TemporaryName?) {
        if let flags = OpenFlags.nameless, let descriptor = try? open(folder, ".", flags, mode: .ownerReadWrite) {
            // It gets its name through /proc; without that it would never have one.
            if (try? procPath(of: descriptor).status(followingLinks: false)) != nil { return (descriptor, nil) }
            descriptor.closeQuietly()
        }
        let make = { (name: FilePath) throws(VaultError) in
            try TemporaryName.make(name, in: folder) { () throws(VaultError) in
                try open(folder, name, OpenFlags.exclusive, mode: .ownerReadWrite)
            }
        }
        if let reserved {
            do throws(VaultError) {
                return try make(reserved)
            } catch {
                guard error.systemError == .fileExists else { throw error }
            }
        }
        return try make(temporaryName())
    }

    private static func open(
        _ folder: FileDescriptor, _ path: FilePath, _ flags: Int32, mode: FilePermissions = []
    ) throws(VaultError) -> FileDescriptor {
        let calls = SystemCalls.current
        do {
            return FileDescriptor(
                rawValue: try retrying { calls.openAt(folder.rawValue, path, flags, mode.rawValue) })
        } catch {
            throw failed("no file can be made in its folder", error)
        }
    }

    /// What the temporary names of unfinished files begin with.
    public static let temporaryPrefix = ".vaultfile-"

    private static func temporaryName() -> FilePath {
        FilePath(temporaryPrefix + RandomBytes.array(count: 8).hexadecimal)
    }

    /// The one temporary name of what is to take the place of a file of this name. Whoever holds that file's lock gives
    /// it to something, and nobody else: so he can tell what was left by somebody who was killed (KEYRING-14) from what
    /// another program is writing into the same folder now.
    package static func reservedName(for name: FilePath) -> FilePath {
        let digest = BLAKE2b.digest(count: 16, label: "vaultfile beside", message: name.bytes.span)
        return FilePath(temporaryPrefix + digest.hexadecimal)
    }

    private static func procPath(of descriptor: FileDescriptor) -> FilePath {
        FilePath("/proc/self/fd/\(descriptor.rawValue)")
    }

    private static let exists = VaultError(.outputExists, "it exists already")

    private static func failed(_ what: String, _ error: Errno) -> VaultError {
        VaultError(.outputFailed, "\(what): \(error)", systemError: error)
    }

    private static func call(_ failure: String, _ body: () -> Int32) throws(VaultError) {
        do {
            try retrying(body)
        } catch {
            throw failed(failure, error)
        }
    }
}
