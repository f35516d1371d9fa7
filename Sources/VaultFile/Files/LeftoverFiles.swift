import Synchronization
public import SystemPackage
internal import VaultSystem

/// Finds and removes the unfinished output files that killed programs have left. Such a file may hold a whole plaintext
/// under a temporary name, and nothing else would ever remove it.
///
/// A file that an `OutputFile` of a running program writes stays: it is locked. On a network file system whose locks
/// keep out only programs of the same machine, a file that another machine is writing can be removed. Its program then
/// fails, and nothing is lost.
///
/// A value looks once into each folder, so make one for each run.
public final class LeftoverFiles: Sendable {
    /// So many folders are remembered. A run through more of them looks into some of them again.
    private static let mostFolders = 4096
    private let seen = Mutex<Set<FileIdentity>>([])
    private let isKept: @Sendable (FileDescriptor) -> Bool

    /// Has not looked anywhere yet.
    ///
    /// - Parameter isKept: called with each unfinished file before it is removed, and returns whether it stays. Keep
    ///   every file that the program reads: a user who wants to save an unfinished file gives it as the input.
    public init(keeping isKept: @escaping @Sendable (FileDescriptor) -> Bool = { _ in false }) {
        self.isKept = isKept
    }

    /// Removes the files in the folder of an output file that have the form of its temporary names, are regular, belong
    /// to this user, have no other name and are not locked. Does nothing if this value has looked there before.
    ///
    /// - Returns: the names of the files that were removed.
    public func remove(beside file: borrowing OutputFile) -> [FilePath] {
        guard let identity = try? file.folder.status().identity else { return [] }
        let isNew = seen.withLock { seen in
            // mutant: the bound only saves memory
            if seen.count >= Self.mostFolders { seen = [] }
            return seen.insert(identity).inserted
        }
        return isNew ? Self.remove(in: file.folder, keeping: isKept) : []
    }

    /// - Parameter isReserved: whether the files with the names go too that are reserved for the replacement of one
    ///   file. Such a file may be a whole container, which keys open that were removed since. A running program holds
    ///   its lock, as it does for the other names.
    package static func remove(
        in folder: FileDescriptor, reserved isReserved: Bool = false, keeping isKept: (FileDescriptor) -> Bool
    ) -> [FilePath] {
        var names: [FilePath] = []
        _ = SystemCalls.current.forEachName(folder.rawValue) { name, kind in
            // mutant: a listed kind only saves calls; the status decides
            guard kind == nil || kind == .regular else { return }
            let path = FilePath(bytes: name)
            let isWanted = isReserved ? OutputFile.hasTemporaryName(path) : OutputFile.isTemporaryName(name)
            if isWanted { names.append(path) }
        }
        return names.filter { Leftover(name: $0, folder: folder).remove(unless: isKept) }
    }
}

/// What may be an unfinished file of a killed program.
private struct Leftover {
    let name: FilePath
    let folder: FileDescriptor
    /// Its possible owners; nil for this user.
    var owners: Set<UInt32>?

    /// - Returns: whether it was one, and is removed.
    func remove(unless isKept: (FileDescriptor) -> Bool = { _ in false }) -> Bool {
        // Checked before it is opened too: opening some devices does something.
        guard let status, let file = open(status) else { return false }
        defer { file.closeQuietly() }
        // The lock may have become free because the file has got its name. Then this name is gone.
        guard let own = try? file.status(), self.status?.identity == own.identity, !isKept(file) else { return false }
        return (try? retrying { SystemCalls.current.unlinkAt(folder.rawValue, name) }) != nil
    }

    /// The status of the file; nil if it is to stay.
    private var status: FileStatus? {
        let calls = SystemCalls.current
        guard let status = try? calls.statusAt(folder.rawValue, name, false).get(), status.kind == .regular,
            (owners ?? [calls.userID()]).contains(status.owner), status.linkCount == 1
        else { return nil }
        return status
    }

    private enum Opened {
        case locked(FileDescriptor), running, refused
    }

    /// Opens and locks the file. Nil if a running program holds it, or if it cannot be opened.
    private func open(_ status: FileStatus) -> FileDescriptor? {
        switch open() {
        case .locked(let file): return file
        case .running: return nil
        case .refused: break
        }
        // It has got its final mode already, and that forbids even its owner to open it.
        let calls = SystemCalls.current
        let setMode = { (mode: FilePermissions) in
            (try? retrying { calls.setPermissionsAt(folder.rawValue, name, mode.rawValue) }) != nil
        }
        // mutant: the second try fails as the first did
        guard setMode(.ownerReadWrite) else { return nil }
        if case .locked(let file) = open() { return file }
        _ = setMode(status.permissions)
        return nil
    }

    private func open() -> Opened {
        // On network file systems, only a file that is open for writing can be locked.
        // mutant: either way of opening is tried; the order only saves calls
        for flags in [OpenFlags.updating, OpenFlags.reading] {
            guard let file = try? OutputFile.open(folder, name, flags) else { continue }
            do {
                try file.lockExclusively()
                return .locked(file)
            } catch {
                file.closeQuietly()
                // mutant: the two are one number on Linux
                if error == .wouldBlock || error == .resourceTemporarilyUnavailable { return .running }
            }
        }
        return .refused
    }
}

extension LockedFile {
    /// Removes the unfinished file that a killed program left when it replaced this file. It may be a whole container,
    /// which keys open that were removed since.
    ///
    /// Only the holder of this file's lock makes a file with this name, and locks it too.
    func removeLeftover() {
        var owners: Set<UInt32> = [SystemCalls.current.userID()]
        // The new file gets the owner of the old one.
        if let status = try? status() { owners.insert(status.owner) }
        _ = Leftover(name: OutputFile.reservedName(for: name), folder: folder, owners: owners).remove()
    }
}
