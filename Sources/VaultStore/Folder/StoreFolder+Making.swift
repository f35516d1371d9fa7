import SystemPackage
import VaultFile
import VaultFormat

extension StoreFolder {
    /// Makes the folders and the lock of a new store, or opens those of one that is not finished.
    ///
    /// - Parameter isOwned: whether a new folder of root gets the owner of the folder around it.
    /// - Throws: `storeExists`, `gone`; `VaultError` with `outputFailed`, `inputFailed`.
    static func make(at path: FilePath, keepingOwner isOwned: Bool) throws -> StoreFolder {
        let root = try FileDescriptor.madeFolder(path, keepingOwner: isOwned)
        defer { root.closeQuietly() }
        try refuseGone(root)
        try refuseForeign(root)
        if try root.status(of: lock) == nil { try makeLock(in: root) }
        try root.makeFolder(itemsFolder, keepingOwner: true)
        let folder = try StoreFolder(at: path)
        guard try folder.items.names({ _ in true }).isEmpty else {
            throw StoreError(.storeExists, "its folder has items already")
        }
        return folder
    }

    /// Makes the file of the lock. Of several programs that do this at once, one makes the file, and the others find it:
    /// two files would keep nobody out.
    static func makeLock(in root: FileDescriptor) throws(VaultError) {
        do throws(VaultError) {
            try makeEmpty(lock, in: root)
        } catch {
            guard error.code == .outputExists else { throw error }
        }
    }

    /// Makes an empty file.
    ///
    /// - Throws: `outputExists`, `outputFailed`.
    static func makeEmpty(_ name: FilePath, in root: FileDescriptor) throws(VaultError) {
        let file = try OutputFile(at: .name(name, in: root))
        try file.descriptor.takeOwner(of: root)
        try file.commit()
    }

    /// Refuses a folder with anything but an unfinished store in it.
    private static func refuseForeign(_ root: FileDescriptor) throws {
        let own: Set<String> = [
            lock.string, itemsFolder.string, keybag.string, keybag.string + ".key", card.string + ".key",
        ]
        if try root.status(of: card) != nil { throw StoreError(.storeExists, "there is a store already") }
        let others = try root.names { name in
            !own.contains(String(decoding: name, as: UTF8.self)) && !name.starts(with: OutputFile.temporaryPrefix.utf8)
        }
        guard others.isEmpty else { throw StoreError(.storeExists, "the folder is not empty") }
    }
}

extension FileDescriptor {
    /// Makes a folder, unless it is there, and opens it. The folder around it exists.
    ///
    /// - Parameter isOwned: whether a folder of root gets the owner of the folder around it.
    static func madeFolder(_ path: FilePath, keepingOwner isOwned: Bool = false) throws -> FileDescriptor {
        guard let last = path.lexicallyNormalized().lastComponent, last.kind == .regular else {
            throw VaultError(.outputFailed, "the path does not name a folder")
        }
        let parent = path.lexicallyNormalized().removingLastComponent()
        let around = try FileDescriptor.folder(parent.isEmpty ? "." : parent)
        defer { around.closeQuietly() }
        try around.makeFolder(FilePath(root: nil, [last]), keepingOwner: isOwned)
        return try FileDescriptor.folder(path)
    }
}
