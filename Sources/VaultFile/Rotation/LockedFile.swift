import SystemPackage
import VaultFormat

#if canImport(Darwin)
import Darwin
#elseif canImport(Musl)
import Musl
#else
import Glibc
#endif

/// A file that nobody else rotates, repairs or re-encrypts meanwhile (ROT-1, ROT-2). The lock goes with the value.
struct LockedFile: ~Copyable {
    static let exclusive = LOCK_EX | LOCK_NB
    /// A reader that looks twice holds its lock for a moment; somebody who changes keys holds it longer.
    private static let patience = 100
    private static let milliseconds: Int32 = 20

    let descriptor: FileDescriptor
    /// The folder that the file stands in, links resolved, and its name there.
    let folder: FileDescriptor
    let folderPath: FilePath
    let name: FilePath
    /// What it was when it was locked.
    let status: FileStatus

    /// Opens and locks the file that a path leads to.
    ///
    /// - Throws: `inputFailed` if it is no regular file that can be read and written, `inUse` if somebody else goes on
    ///   holding it.
    init(at path: FilePath) throws(VaultError) {
        let calls = SystemCalls.current
        for attempt in 0..<Self.patience {
            let target: FilePath
            do { target = try path.followingLinks() } catch { throw Self.failed("its path cannot be followed", error) }
            guard let last = target.lastComponent, last.kind == .regular else {
                throw VaultError(.inputFailed, "the path does not name a file", systemError: EISDIR)
            }
            let parent = target.removingLastComponent()
            let folderPath = parent.isEmpty ? "." : parent
            let name = FilePath(root: nil, [last])
            let folder = try Self.open(OpenFlags.currentDirectory, folderPath, OpenFlags.directory)
            let file: FileDescriptor
            do throws(VaultError) {
                file = try Self.open(folder.rawValue, name, OpenFlags.updating)
            } catch {
                folder.closeQuietly()
                throw error
            }
            do throws(VaultError) {
                let status = try Self.status(file)
                // What another process has put under the name while this one waited is what is meant now.
                if try Self.lock(file), (try? path.status())?.identity == status.identity {
                    // It may have grown or got another name meanwhile.
                    self.status = try Self.status(file)
                    self.folder = folder
                    self.folderPath = folderPath
                    self.name = name
                    descriptor = file
                    return
                }
            } catch {
                file.closeQuietly()
                folder.closeQuietly()
                throw error
            }
            file.closeQuietly()
            folder.closeQuietly()
            if attempt + 1 < Self.patience { _ = calls.pause(Self.milliseconds) }
        }
        throw VaultError(.inUse, "somebody else is changing it")
    }

    deinit {
        // Closing gives the lock back.
        descriptor.closeQuietly()
        folder.closeQuietly()
    }

    private static func open(
        _ folder: Int32, _ path: FilePath, _ flags: Int32
    ) throws(VaultError) -> FileDescriptor {
        do {
            return FileDescriptor(rawValue: try retrying { SystemCalls.current.openAt(folder, path, flags, 0) })
        } catch {
            throw failed("it cannot be opened to be changed", error)
        }
    }

    private static func status(_ file: FileDescriptor) throws(VaultError) -> FileStatus {
        let status: FileStatus
        do { status = try file.status() } catch { throw failed("it cannot be looked at", error) }
        guard status.kind == .regular else {
            throw VaultError(.inputFailed, "it is not a regular file, and cannot be changed in its place")
        }
        return status
    }

    /// Whether nobody else holds a lock.
    private static func lock(_ file: FileDescriptor) throws(VaultError) -> Bool {
        do {
            try retrying { SystemCalls.current.lock(file.rawValue, exclusive) }
            return true
        } catch {
            guard error == .wouldBlock || error == .resourceTemporarilyUnavailable else {
                throw failed("it cannot be locked, and without a lock two changes at once could destroy it", error)
            }
            return false
        }
    }

    private static func failed(_ what: String, _ error: Errno) -> VaultError {
        VaultError(.inputFailed, "\(what): \(error)", systemError: error.rawValue)
    }

    // MARK: Changing it

    /// Makes durable whatever an earlier run has left in the system's memory: before anything is read, or what is read
    /// would be trusted although a power failure could still tear both copies (ROT-2).
    func synchronizeAll() throws(VaultError) {
        try synchronize()
        try OutputFile.syncFolder(folder)
    }

    func synchronize() throws(VaultError) {
        do {
            try descriptor.synchronize()
        } catch {
            throw VaultError(.outputFailed, "it cannot be synced: \(error)", systemError: error.rawValue)
        }
    }

    /// Whether the path's folder still gives this file its name: what is not there any more must not be replaced.
    func isInPlace() -> Bool {
        let there = try? SystemCalls.current.statusAt(folder.rawValue, name, false).get()
        return there?.identity == status.identity
    }

    /// Refuses to have a new file take the place of one that has other names (ROT-25).
    func refuseLinks(unless mayBreakLinks: Bool) throws(VaultError) {
        guard status.linkCount > 1, !mayBreakLinks else { return }
        throw VaultError(
            .hardLinks,
            "it has \(status.linkCount) names, and a new file has to take its place: the others would go on to mean the "
                + "old one with its old keys")
    }

    /// One write, and a sync (ROT-18, ROT-22).
    func write(_ bytes: [UInt8], at offset: UInt64) throws(VaultError) {
        try descriptor.writeFully(bytes.span, at: offset)
        try synchronize()
    }

    /// Cuts off what stands behind.
    func truncate(to length: UInt64) throws(VaultError) {
        do throws(Errno) {
            guard let length = Int64(exactly: length) else { throw Errno.fileTooLarge }
            try retrying { SystemCalls.current.truncate(descriptor.rawValue, length) }
        } catch {
            throw VaultError(.outputFailed, "it cannot be cut to its length: \(error)", systemError: error.rawValue)
        }
    }
}
