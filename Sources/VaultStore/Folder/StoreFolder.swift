import Synchronization
import SystemPackage
import VaultCrypto
import VaultFile
import VaultFormat
import VaultStream
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

    /// The path of the card or the keybag.
    ///
    /// - Throws: `inputFailed` if it or its unlock file is a link. A file that a link leads to does not have its name in
    ///   the folder: the keys would count as changed at each look, and a wipe would not overwrite them.
    func placeOfPair(_ name: FilePath) throws(VaultError) -> FilePath {
        for file in [name, Keyring.unlockKeyPath(of: name)] where try root.status(of: file)?.kind == .link {
            throw VaultError(.inputFailed, "its file \(file) is a link")
        }
        return place(name)
    }

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
    ///   there is no lock, `outputFailed` if a missing one cannot be made again; what `body` throws.
    func withLock<R>(_ body: () throws -> R) throws -> R {
        try turn.withLock { _ in
            let file = try Self.lockFile(in: root)
            defer { file.closeQuietly() }
            try refuseGone()
            return try body()
        }
    }

    /// Opens and locks the file of the lock. Closing it releases the lock. A backup may have left the file out, because
    /// it is empty: then it is made again, if there is a store.
    ///
    /// - Throws: `inUse` if another process keeps the lock for ten seconds, `inputFailed` if there is no lock,
    ///   `outputFailed` if a missing one cannot be made again.
    static func lockFile(in root: FileDescriptor) throws(VaultError) -> FileDescriptor {
        let waits: [Int32] = Array(repeating: 1, count: 200) + Array(repeating: 20, count: 490)
        for wait in waits {
            let file: FileDescriptor
            do throws(VaultError) {
                file = try FileDescriptor.toUpdate(lock, in: root)
            } catch {
                guard error.systemError == .noSuchFileOrDirectory, try root.status(of: card) != nil,
                    try root.status(of: gone) == nil
                else { throw error }
                try makeLock(in: root)
                continue
            }
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

    /// Runs `body`, and each naming of a file in it under the lock of the store.
    ///
    /// - Parameters:
    ///   - check: called under the lock before each naming. If it throws, the file gets no name.
    ///   - finish: called under the lock after each naming.
    ///   - body: gets what runs a naming.
    /// - Throws: what `body` and `check` throw, `gone`, `inUse`.
    func naming<R>(
        if check: @escaping () throws -> Void = {}, then finish: @escaping () -> Void = {},
        _ body: (OutputFile.Naming) throws -> R
    ) throws -> R {
        var refusal: (any Error)?
        func run(_ name: () throws(VaultError) -> Void) throws(VaultError) {
            refusal = nil
            do {
                try withLock {
                    try check()
                    try name()
                    finish()
                }
            } catch {
                if let known = error as? VaultError { throw known }
                refusal = error
                throw VaultError(.inUse, "the store has changed")
            }
        }
        do {
            return try body(run)
        } catch {
            throw refusal ?? error
        }
    }

    /// Whether a name in the folder leads to the file that keys were read from.
    func leads(to file: KeyFile?) throws(VaultError) -> Bool {
        guard let file else { return false }
        return try root.status(of: file.name)?.identity == file.source.identity()
    }

    /// Refuses to go on with keys that may be gone: their file does not have its name any more.
    ///
    /// - Throws: `keysChanged`.
    func requireCurrent(_ file: KeyFile?) throws {
        guard try leads(to: file) else { throw StoreError.keysChanged }
    }

    /// Changes the text of the card or the keybag, or leaves it. Each file gets its name under the lock of the store.
    ///
    /// - Parameters:
    ///   - pair: that of the card or that of the keybag.
    ///   - name: of its file.
    ///   - keys: what opens it.
    ///   - check: called under the lock of the store before each naming. If it throws, the file gets no name.
    ///   - body: as for `SecretPair.change`.
    /// - Returns: what was done, and the file that has the name then.
    func change<R>(
        _ pair: SecretPair, _ name: FilePath, unlocking keys: any KeyProvider,
        if check: @escaping () throws -> Void = {}, _ body: (consuming SecretBuffer, inout TextChange) throws -> R
    ) throws -> (done: Keyring.Changed<R>, file: KeyFile) {
        // While a change of the pair holds its locks, the name means the file that was read or written.
        var seen: Result<FileSource, VaultError>?
        func look() { seen = Result { () throws(VaultError) in try FileSource(at: .name(name, in: root)) } }
        let done = try naming(if: check, then: look) { naming in
            try pair.change(at: placeOfPair(name), unlocking: keys, naming: naming) { text, new in
                look()
                return try body(text, &new)
            }
        }
        // The change is made. Without the file, nobody knows any more whether other programs change it.
        guard let source = try seen?.get() else { throw StoreError.keysChanged }
        return (done, KeyFile(name: name, source: source))
    }

    /// The folder of items that a repair has moved; nil if there is none.
    func lostItems() throws(VaultError) -> FileDescriptor? {
        guard try root.status(of: Self.lostFolder) != nil else { return nil }
        return try FileDescriptor.folder(Self.lostFolder, in: root)
    }

    /// Refuses a store that has only the class `always`.
    func requireKeybag() throws {
        if try root.status(of: Self.keybag) == nil { throw StoreError.noKeybag }
    }

    /// Makes the names in the folder of items durable.
    func syncItems() throws(VaultError) { try items.synchronizeFolder() }
}
