public import SystemPackage
import VaultFile
import VaultFormat
import VaultSystem

extension VaultStore {
    /// Ends a store for good: first its keys, then its items. It needs no key, and reads nothing of what it removes.
    /// Call it again after a crash, or if it failed.
    ///
    /// Overwriting is worth nothing on flash, on file systems with snapshots, and against backups. Destroying the
    /// device key helps there.
    ///
    /// - Parameter path: the folder of the store. Two names, `gone` and `lock`, stay in it.
    /// - Throws: `VaultError` with `inputFailed`, `outputFailed`, `inUse`.
    public static func wipe(at path: FilePath) throws {
        let root = try FileDescriptor.folder(path)
        defer { root.closeQuietly() }
        guard try root.status(of: StoreFolder.lock) != nil || root.status(of: StoreFolder.gone) != nil else {
            throw VaultError(.inputFailed, "it is not the folder of a store")
        }
        do throws(VaultError) {
            try markGone(root)
        } catch {
            guard error.systemError == .noSpace else { throw error }
            // A full disk must not keep the store alive: the card's unlock file makes room for the mark.
            try erase([Keyring.unlockKeyPath(of: StoreFolder.card)], in: root)
            try markGone(root)
        }
        // An operation that has begun may still give a name. After this, none does.
        if try root.status(of: StoreFolder.lock) != nil { try StoreFolder.lockFile(in: root).closeQuietly() }
        try erase(root.names { $0.suffix(4).elementsEqual(".key".utf8) }, in: root)
        let keys = [StoreFolder.card, StoreFolder.keybag]
        let temporary = try root.names { $0.starts(with: OutputFile.temporaryPrefix.utf8) }
        try erase(keys.filter { try root.status(of: $0) != nil } + temporary, in: root)
        for folder in [StoreFolder.itemsFolder, StoreFolder.lostFolder] {
            guard try root.status(of: folder) != nil else { continue }
            let items = try FileDescriptor.folder(folder, in: root)
            defer { items.closeQuietly() }
            for name in try items.names({ _ in true }) { try items.remove(name) }
            try items.synchronizeFolder()
        }
    }

    private static func markGone(_ root: FileDescriptor) throws(VaultError) {
        do {
            try OutputFile(at: .name(StoreFolder.gone, in: root)).commit()
        } catch {
            guard error.code == .outputExists else { throw error }
            // The wipe that made it may have stopped before it was durable.
            try root.synchronizeFolder()
        }
    }

    /// Overwrites files with zeros, durably, and then removes them. Hard links do not stop it: other names of a file
    /// then lead to zeros.
    private static func erase(_ names: [FilePath], in root: FileDescriptor) throws(VaultError) {
        for name in names {
            guard let status = try root.status(of: name) else { continue }
            if status.kind == .regular {
                let file = try FileDescriptor.toUpdate(name, in: root)
                defer { file.closeQuietly() }
                let zeros = [UInt8](repeating: 0, count: 1 << 16)
                var done: UInt64 = 0
                while done < status.size {
                    let count = Int(min(UInt64(zeros.count), status.size - done))
                    try file.writeFully(zeros.span.extracting(0..<count), at: done)
                    done += UInt64(count)
                }
                try file.synchronizeFile()
            }
            try root.remove(name)
        }
        try root.synchronizeFolder()
    }
}
