public import SystemPackage
import VaultFile
import VaultFormat
import VaultSystem

extension VaultStore {
    /// Ends a store for good: first its keys, then its items. It needs no key, and reads nothing of what it removes.
    /// What cannot be removed stops nothing else. Call it again after a crash, or if it failed.
    ///
    /// What ``unlock(with:keepingFor:)`` has left for this user in the kernel's memory ends too. For other users it ends
    /// with its time, or with a restart.
    ///
    /// Overwriting is worth nothing on flash, on file systems with snapshots, and against backups. Destroying the
    /// device key helps there.
    ///
    /// - Parameters:
    ///   - path: the folder of the store, and no link to it. Two names, `gone` and `lock`, stay in it, and what is no
    ///     file of a store.
    ///   - onUnreadable: called if the system does not let this process see whether it keeps keys of the store, as in
    ///     many containers of programs. The second value says whether the same call, made where the system lets the
    ///     process, ends them. Otherwise a restart of the machine does.
    /// - Throws: `VaultError` with `inputFailed` if it is not the folder of a store; the first error of removing
    ///   something, also `outputFailed` and `inUse`. All that could be removed is removed then.
    public static func wipe(at path: FilePath, onUnreadable: (VaultError, Bool) -> Void = { _, _ in }) throws {
        // Someone who may make a link could point it at another store.
        let root = try FileDescriptor.folderItself(path)
        defer { root.closeQuietly() }
        try wipe(root, at: path, onUnreadable)
    }

    /// - Parameter path: where the folder is, for the digests of what is kept of its keybag.
    static func wipe(
        _ root: FileDescriptor, at path: FilePath, _ onUnreadable: (VaultError, Bool) -> Void = { _, _ in }
    ) throws {
        guard try isStore(root) else { throw VaultError(.inputFailed, "it is not the folder of a store") }
        let wipe = Wipe(root)
        do throws(VaultError) {
            try markGone(root)
        } catch {
            // What keeps the mark from being made must not save the keys. On a full disk, the card's unlock file makes
            // room for it.
            wipe.erase([Keyring.unlockKeyPath(of: StoreFolder.card)])
            wipe.attempt { () throws(VaultError) in try markGone(root) }
        }
        // What is kept of the keybag can be told by the keybag alone.
        wipe.attempt { () throws(VaultError) in
            do throws(VaultError) {
                try endKept(ofKeybag: path.appending(StoreFolder.keybag.components), in: root, onUnreadable)
            } catch {
                throw error.saying("keys that the system keeps of it may stay: \(error.message)")
            }
        }
        // The keys first: whatever fails later, nothing opens any more.
        wipe.erase(keyFiles)
        // An operation that has begun may still give a name. After this, none does.
        wipe.attempt { () throws(VaultError) in
            if try root.status(of: StoreFolder.lock)?.kind == .link {
                // Without the file, no operation gives a name.
                try root.remove(StoreFolder.lock)
            } else if try root.status(of: StoreFolder.lock) != nil {
                try StoreFolder.lockFile(in: root).closeQuietly()
            }
        }
        // A change that has held the lock may have given a name.
        wipe.erase(keyFiles)
        wipe.attempt { () throws(VaultError) in
            let names = try root.names { $0.starts(with: OutputFile.temporaryPrefix.utf8) }
            wipe.erase(names)
        }
        for folder in [StoreFolder.itemsFolder, StoreFolder.lostFolder] { wipe.empty(folder) }
        guard let failure = wipe.failure else { return }
        throw failure.saying(
            wipe.unwritten.isDisjoint(with: keyFiles)
                ? "its keys are destroyed, but \(failure.message)"
                : "its keys are not all destroyed: \(failure.message)")
    }

    /// The names of the files with keys. The unlock files come first: without them nothing opens.
    private static let keyFiles: [FilePath] = {
        let texts = [StoreFolder.card, StoreFolder.keybag]
        return texts.map(Keyring.unlockKeyPath(of:)) + texts
    }()

    /// Whether it is the folder of a store, or of one whose wipe has begun. A file `lock` alone shows no store: other
    /// programs make such files too, and theirs must not be destroyed. A restored store may lack `lock`, which is empty:
    /// it must not be saved by that. A link in the place of one of the names does not save a store either.
    static func isStore(_ root: FileDescriptor) throws(VaultError) -> Bool {
        if try root.status(of: StoreFolder.gone) != nil { return true }
        guard let items = try root.status(of: StoreFolder.itemsFolder), [.folder, .link].contains(items.kind) else {
            return false
        }
        if let lock = try root.status(of: StoreFolder.lock) {
            if lock.kind == .regular && lock.size == 0 || lock.kind == .link { return true }
        }
        return try hasKeys(root)
    }

    /// Whether one of the files with keys is there.
    static func hasKeys(_ root: FileDescriptor) throws(VaultError) -> Bool {
        for name in keyFiles where try root.status(of: name) != nil { return true }
        return false
    }

    private static func markGone(_ root: FileDescriptor) throws(VaultError) {
        do {
            try StoreFolder.makeEmpty(StoreFolder.gone, in: root)
        } catch {
            guard error.code == .outputExists else { throw error }
            // The wipe that made it may have stopped before it was durable.
            try root.synchronizeFolder()
        }
    }
}

/// A wipe, which goes on after each failure: someone who can make one name in the folder must not save the keys.
private final class Wipe {
    let root: FileDescriptor
    /// The first failure.
    private(set) var failure: VaultError?
    /// The files that could not be overwritten. Their bytes may stay under another name, or on the disk.
    private(set) var unwritten: Set<FilePath> = []

    init(_ root: FileDescriptor) { self.root = root }

    func attempt(_ body: () throws(VaultError) -> Void) {
        do {
            try body()
        } catch {
            failure = failure ?? error
        }
    }

    /// Overwrites files with zeros, durably, and then removes them. Hard links do not stop it: other names of a file
    /// then lead to zeros. A link is removed, and a folder stays.
    func erase(_ names: [FilePath]) {
        var isChanged = false
        for name in names {
            attempt { () throws(VaultError) in
                let wasWritten = unwritten.insert(name).inserted
                guard let status = try root.status(of: name), status.kind != .folder else {
                    // After a failure before, its name may be gone, and its bytes not.
                    if wasWritten { unwritten.remove(name) }
                    return
                }
                isChanged = true
                // If it cannot be overwritten, it is removed all the same: that is better than a key that stays.
                attempt { () throws(VaultError) in
                    if status.kind == .regular { try overwrite(name) }
                    unwritten.remove(name)
                }
                try remove(name, from: root, as: name)
            }
        }
        if isChanged { attempt(root.synchronizeFolder) }
    }

    private func overwrite(_ name: FilePath) throws(VaultError) {
        let file = try FileDescriptor.toUpdate(name, in: root)
        defer { file.closeQuietly() }
        try file.overwrite()
    }

    /// - Parameter path: what an error calls it.
    private func remove(_ name: FilePath, from folder: FileDescriptor, as path: FilePath) throws(VaultError) {
        do {
            try folder.remove(name)
        } catch {
            throw error.saying("its file \(path) stays: \(error.message)")
        }
    }

    /// Removes all files in a folder of the store. A link in its place is removed.
    func empty(_ name: FilePath) {
        attempt { () throws(VaultError) in
            guard let status = try root.status(of: name) else { return }
            guard status.kind == .folder else {
                if status.kind == .link { try remove(name, from: root, as: name) }
                return
            }
            let folder = try FileDescriptor.folder(name, in: root)
            defer { folder.closeQuietly() }
            for file in try folder.names({ _ in true }) {
                attempt { () throws(VaultError) in
                    guard try folder.status(of: file)?.kind != .folder else { return }
                    try remove(file, from: folder, as: name.appending(file.components))
                }
            }
            try folder.synchronizeFolder()
        }
    }
}

extension VaultError {
    /// The same error with another message.
    fileprivate func saying(_ message: String) -> VaultError {
        VaultError(code, message, errorNumber: errorNumber)
    }
}
