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

    /// Has not looked anywhere yet.
    public init() {}

    /// Removes the files in the folder of an output file that have the form of its temporary names, are regular, belong
    /// to this user, have no other name and are not locked. Does nothing if this value has looked there before.
    ///
    /// - Returns: the names of the files that were removed.
    public func remove(beside file: borrowing OutputFile) -> [FilePath] {
        guard let identity = try? file.folder.status().identity else { return [] }
        let isNew = seen.withLock { seen in
            if seen.count >= Self.mostFolders { seen = [] }
            return seen.insert(identity).inserted
        }
        return isNew ? Self.remove(in: file.folder) : []
    }

    package static func remove(in folder: FileDescriptor) -> [FilePath] {
        var names: [FilePath] = []
        _ = SystemCalls.current.forEachName(folder.rawValue) { name, kind in
            if kind == nil || kind == .regular, OutputFile.isTemporaryName(name) { names.append(FilePath(bytes: name)) }
        }
        return names.filter { remove($0, in: folder) }
    }

    private static func remove(_ name: FilePath, in folder: FileDescriptor) -> Bool {
        let calls = SystemCalls.current
        // Checked before it is opened too: opening some devices does something.
        guard isLeft(calls.statusAt(folder.rawValue, name, false)),
            let file = try? FileDescriptor.openToRead(name, in: folder, .storage)
        else { return false }
        defer { file.closeQuietly() }
        guard (try? file.lockExclusively()) != nil, let own = try? file.status() else { return false }
        // The lock may have become free because the file has got its name. Then this name is gone.
        let there = calls.statusAt(folder.rawValue, name, false)
        guard isLeft(there), (try? there.get().identity) == own.identity else { return false }
        return (try? retrying { calls.unlinkAt(folder.rawValue, name) }) != nil
    }

    private static func isLeft(_ found: Result<FileStatus, Errno>) -> Bool {
        guard let status = try? found.get() else { return false }
        return status.kind == .regular && status.owner == SystemCalls.current.userID() && status.linkCount == 1
    }
}
