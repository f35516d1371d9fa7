import Synchronization
import SystemPackage
import VaultFile
import VaultFormat
import VaultSystem

/// The folder of a store, and its lock (STORE-1, STORE-14).
final class StoreFolder: Sendable {
    static let card: FilePath = "store.vault"
    static let keybag: FilePath = "keys.vault"
    static let lock: FilePath = "lock"
    static let gone: FilePath = "gone"
    static let itemsFolder: FilePath = "items"
    static let lostFolder: FilePath = "lost"

    let path: FilePath
    let root: FileDescriptor
    let items: FileDescriptor
    /// Threads of this process wait here, and not by trying the lock of the file again and again.
    private let turn = Mutex<Void>(())

    /// Opens the folder of a store.
    ///
    /// - Throws: `gone`; `VaultError` with `inputFailed` if it is no store or cannot be read.
    init(at path: FilePath) throws {
        self.path = path
        let root = try FileDescriptor.folder(path)
        do {
            try Self.refuseGone(root)
            items = try FileDescriptor.folder(Self.itemsFolder, in: root)
        } catch {
            root.closeQuietly()
            throw error
        }
        self.root = root
    }

    deinit {
        items.closeQuietly()
        root.closeQuietly()
    }

    /// The path of a file of the store.
    func place(_ name: FilePath) -> FilePath { path.appending(name.components) }

    /// Refuses a store that was wiped, or whose wipe has begun.
    func refuseGone() throws { try Self.refuseGone(root) }

    static func refuseGone(_ root: FileDescriptor) throws {
        if try root.status(of: gone) != nil { throw StoreError.gone }
    }

    // MARK: The lock

    /// Runs `body` while no other thread and no other process gives or removes a name in the store.
    ///
    /// A lock belongs to an open file, so each call opens the file anew. `body` is short, and waits for nothing but the
    /// folder.
    ///
    /// - Throws: `gone`; `VaultError` with `inUse` if another process keeps the lock for ten seconds, `inputFailed` if
    ///   there is no lock; what `body` throws.
    func withLock<R>(_ body: () throws -> R) throws -> R {
        try turn.withLock { _ in
            let file = try heldLock()
            defer { file.closeQuietly() }
            return try body()
        }
    }

    /// Locks the store, as long as what this returns is open. For changes that are not within one closure.
    ///
    /// - Throws: as `withLock`.
    func heldLock() throws -> FileDescriptor {
        let file = try Self.lockFile(in: root)
        do {
            try refuseGone()
        } catch {
            file.closeQuietly()
            throw error
        }
        return file
    }

    /// Opens and locks the file of the lock. Closing it releases the lock.
    ///
    /// - Throws: `inUse` if another process keeps the lock for ten seconds, `inputFailed` if there is no lock.
    static func lockFile(in root: FileDescriptor) throws(VaultError) -> FileDescriptor {
        let waits: [Int32] = Array(repeating: 1, count: 200) + Array(repeating: 20, count: 490)
        for wait in waits {
            let file = try FileDescriptor.toUpdate(lock, in: root)
            do throws(VaultError) {
                // A lock on a file that has lost its name keeps no program out: another file has the name now.
                if try file.locksExclusively(), try root.status(of: lock)?.identity == file.identity() { return file }
            } catch {
                file.closeQuietly()
                throw error
            }
            file.closeQuietly()
            SystemCalls.pause(wait)
        }
        throw VaultError(.inUse, "another program is changing the store")
    }

    /// Refuses a store that has only the class `always`.
    func requireKeybag() throws {
        if try root.status(of: Self.keybag) == nil { throw StoreError.noKeybag }
    }

    /// Makes the names in the folder of items durable.
    func syncItems() throws(VaultError) { try items.synchronizeFolder() }
}
