import SystemPackage
import VaultFormat
internal import VaultSystem

/// A file that is locked, so that no other program rotates, repairs or re-encrypts it (ROT-1, ROT-2). The lock is
/// released when the value goes.
struct LockedFile: ~Copyable {
    let descriptor: FileDescriptor
    /// The file's folder, with links resolved, and its name there.
    let folder: FileDescriptor
    let name: FilePath
    /// The identity of the file, whatever names it has.
    let identity: FileIdentity

    /// Opens and locks the file at a path.
    init(at path: FilePath) throws(VaultError) {
        try self.init(at: .path(path))
    }

    /// Opens and locks a file.
    ///
    /// - Parameters:
    ///   - place: the place of the file.
    ///   - onWaiting: called once, before it waits for a lock that another program holds.
    /// - Throws: `inputFailed` if it is not a regular file that can be read and written, `inUse` if another program
    ///   keeps it locked.
    init(at place: FilePlace, onWaiting: () -> Void = {}) throws(VaultError) {
        var hasWaited = false
        for attempt in 0..<LockPatience.attempts {
            if attempt > 0 { try LockPatience.pause() }
            let (folder, name) = try Self.folder(of: place)
            let file: FileDescriptor
            do throws(VaultError) {
                file = try Self.open(folder.rawValue, name, OpenFlags.updating)
            } catch {
                folder.closeQuietly()
                throw error
            }
            do throws(VaultError) {
                let identity = try Self.status(file).identity
                let isLocked = try file.locksExclusively()
                if isLocked, try Self.leads(place, folder, name, to: identity) {
                    self.identity = identity
                    self.folder = folder
                    self.name = name
                    descriptor = file
                    return
                }
                if !isLocked, !hasWaited {
                    hasWaited = true
                    onWaiting()
                }
            } catch {
                file.closeQuietly()
                folder.closeQuietly()
                throw error
            }
            file.closeQuietly()
            folder.closeQuietly()
        }
        throw VaultError(.inUse, "another program is changing it")
    }

    /// Takes over a file that is locked, and its folder.
    init(
        locked descriptor: FileDescriptor, _ identity: FileIdentity, in folder: FileDescriptor, _ name: FilePath
    ) {
        self.descriptor = descriptor
        self.identity = identity
        self.folder = folder
        self.name = name
    }

    private static func folder(of place: FilePlace) throws(VaultError) -> (FileDescriptor, FilePath) {
        switch place {
        case .path(let path):
            let target: FilePath
            do { target = try path.followingLinks() } catch { throw Self.failed("its path cannot be followed", error) }
            // mutant: the system does not open a folder for writing either
            guard let last = target.lastComponent, last.kind == .regular else {
                throw VaultError(.inputFailed, "the path does not name a file", systemError: .isDirectory)
            }
            let parent = target.removingLastComponent()
            let folder = try open(OpenFlags.currentDirectory, parent.isEmpty ? "." : parent, OpenFlags.directory)
            return (folder, FilePath(root: nil, [last]))
        case .name(let name, in: let folder):
            return (try open(folder.rawValue, ".", OpenFlags.directory), name)
        }
    }

    /// Whether the place still leads to this file. If another process has put another file there while this one waited
    /// for the lock, that file has to be changed.
    private static func leads(
        _ place: FilePlace, _ folder: FileDescriptor, _ name: FilePath, to identity: FileIdentity
    ) throws(VaultError) -> Bool {
        do {
            let there =
                switch place {
                case .path(let path): try path.status()
                case .name: try SystemCalls.current.statusAt(folder.rawValue, name, false).get()
                }
            return there.identity == identity
        } catch {
            guard error == .noSuchFileOrDirectory else { throw failed("its status cannot be read", error) }
            return false
        }
    }

    deinit {
        // Closing releases the lock.
        descriptor.closeQuietly()
        folder.closeQuietly()
    }

    /// Releases the lock. A call keeps the value, and so the lock, alive until here.
    consuming func unlock() {}

    private static func open(
        _ folder: Int32, _ path: FilePath, _ flags: Int32
    ) throws(VaultError) -> FileDescriptor {
        do {
            return FileDescriptor(rawValue: try retrying { SystemCalls.current.openAt(folder, path, flags, 0) })
        } catch {
            throw failed("it cannot be opened for writing", error)
        }
    }

    static func status(_ file: FileDescriptor) throws(VaultError) -> FileStatus {
        let status: FileStatus
        do { status = try file.status() } catch { throw failed("its status cannot be read", error) }
        guard status.kind == .regular else {
            throw VaultError(.inputFailed, "it is not a regular file, and cannot be changed in place")
        }
        return status
    }

    private static func failed(_ what: String, _ error: Errno) -> VaultError {
        VaultError(.inputFailed, "\(what): \(error)", systemError: error)
    }

    // MARK: Changing it

    /// Makes durable what an earlier run may have left in the system's cache, before anything is read. Otherwise what
    /// is read would be trusted, although a power failure could still damage both copies (ROT-2).
    ///
    /// Then both ends are dropped from the cache. After a failed sync, some systems keep pages that never reached the
    /// disk as if they were written, and the next sync succeeds.
    func synchronizeAll() throws(VaultError) {
        try synchronize()
        try folder.synchronizeFolder()  // mutant: the cache of this file has nothing to do with its folder
        forgetEnds()
    }

    func synchronize() throws(VaultError) {
        do {
            try descriptor.synchronize()
        } catch {
            forgetEnds()
            throw VaultError(
                .outputFailed, "it cannot be synced, and its storage may be failing; copy it elsewhere first: \(error)",
                systemError: error)
        }
    }

    private func forgetEnds() {
        // More bytes than the zeros, the header copy and the footer at an end can have.
        let end: Int64 = 3 << 20
        let size = Int64(clamping: (try? status().size) ?? 0)
        let forget = SystemCalls.current.forget
        _ = forget(descriptor.rawValue, 0, end)  // mutant: the two ends may be dropped in any order
        _ = forget(descriptor.rawValue, max(0, size - end), end)
    }

    /// The file's present status: its mode, its owner and its names may change while it is locked.
    func status() throws(VaultError) -> FileStatus {
        try Self.status(descriptor)
    }

    /// Which file has the name now.
    enum Standing {
        case inPlace
        /// Another file has the name now, and must not be replaced.
        case replaced
        case removed
    }

    /// Whether the file still has its name in its folder.
    func standing() throws(VaultError) -> Standing {
        switch SystemCalls.current.statusAt(folder.rawValue, name, false) {
        case .success(let there): return there.identity == identity ? .inPlace : .replaced
        case .failure(.noSuchFileOrDirectory): return .removed
        case .failure(let error): throw Self.failed("its name cannot be checked", error)
        }
    }

    /// Removes the file's name in its folder, durably. A file that another program has put there stays.
    ///
    /// - Throws: `inUse`, `outputFailed`.
    func remove() throws(VaultError) {
        switch try standing() {
        case .removed: return
        case .replaced:
            throw VaultError(.inUse, "another file has its name by now; that file was left alone")
        case .inPlace: break
        }
        do {
            try retrying { SystemCalls.current.unlinkAt(folder.rawValue, name) }
        } catch {
            throw VaultError(.outputFailed, "it cannot be removed: \(error)", systemError: error)
        }
        try folder.synchronizeFolder()
    }

    /// Refuses a file that has other names, before a new file takes its place (ROT-27).
    func refuseLinks(unless mayBreakLinks: Bool) throws(VaultError) {
        try Self.refuseLinks(try status().linkCount, unless: mayBreakLinks)
    }

    static func refuseLinks(_ count: Int, unless mayBreakLinks: Bool) throws(VaultError) {
        guard count > 1, !mayBreakLinks else { return }
        throw VaultError(
            .hardLinks,
            "it has \(count) names, and a new file has to take its place: the other names would still mean the "
                + "old file with its old keys")
    }

    /// One write, and a sync (ROT-20, ROT-24).
    func write(_ bytes: [UInt8], at offset: UInt64) throws(VaultError) {
        try descriptor.writeFully(bytes.span, at: offset)
        try synchronize()
    }

    /// Cuts off the bytes after `length`.
    func truncate(to length: UInt64) throws(VaultError) {
        do throws(Errno) {
            guard let length = Int64(exactly: length) else { throw Errno.fileTooLarge }
            try retrying { SystemCalls.current.truncate(descriptor.rawValue, length) }
        } catch {
            throw VaultError(.outputFailed, "it cannot be truncated to its length: \(error)", systemError: error)
        }
    }
}
