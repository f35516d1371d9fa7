import Synchronization
public import SystemPackage
public import VaultFile
public import VaultFormat
public import VaultStream
import VaultSystem

/// What commands of one user need, which each open the store anew.
extension VaultStore {
    /// The classes whose keys the system keeps under one name, by the class that names them.
    private static let keptTogether: [(ItemProtection, [ItemProtection])] = [
        (.afterFirstUnlock, [.afterFirstUnlock]), (.complete, [.unlessOpen, .complete]),
    ]

    /// The longest time for which the system keeps keys of the class `complete`: 24 hours.
    public static let longestKeeping = Keyring.longestUnlocking

    /// Unlocks the store, and has the system keep its keys for all programs of this user, in every session. They call
    /// ``unlockKept(onUnreadable:)``.
    ///
    /// The kernel's memory keeps the keys of the classes, never a passphrase. Programs of the same user can read them,
    /// and so can root. Those of `complete` and `unlessOpen` end with the time, those of `afterFirstUnlock` with a restart of
    /// the machine; both end with ``lockKept(sealing:)``, and when what unlocks the store changes. Log-out does not end
    /// them.
    ///
    /// - Parameters:
    ///   - time: how long the keys of the class `complete` are kept, at least a second and at most ``longestKeeping``.
    ///   - keys: the passphrases and keys of a person.
    /// - Throws: what ``unlock(with:)`` throws; `VaultError` with `invalidArgument` for another time, `inUse` if another
    ///   program changes what unlocks the store meanwhile, `keyStoreUnavailable` if the system is not Linux, or keeps
    ///   this process from its keys, as many containers of programs do; `outputFailed` if it has no room for the keys.
    public func unlock(with keys: any KeyProvider, keepingFor time: Duration) throws {
        guard time >= .seconds(1), time <= Self.longestKeeping else {
            throw VaultError(.invalidArgument, "keys are kept for a second at least, and for 24 hours at most")
        }
        let before = changes.withLock { $0.lockCount }
        try folder.refuseGone()
        try folder.requireKeybag()
        // Before a passphrase is asked for in vain.
        try kept(.complete).check()
        let digest = try kept(.complete).digest()
        let (keybag, source) = try Self.openKeybag(folder, keys)
        try check(keybag)
        // The digest must be of the files that were opened.
        guard try kept(.complete).digest() == digest else {
            throw VaultError(.inUse, "another program is changing what unlocks the store")
        }
        // Kept first: after an error the store is as it was.
        var new: [ItemProtection] = []
        do {
            // What has a time comes last: if the other fails, an earlier unlock keeps its time.
            for (name, classes) in Self.keptTogether {
                let text = try keybag.encoded(of: classes)
                if try kept(name).read(atMost: Self.longestText) == nil { new.append(name) }
                try kept(name).keep(
                    text, digest, seconds: name == .complete ? UInt32(clamping: time.components.seconds) : nil)
            }
        } catch {
            // What was kept before belongs to an unlock that has not failed.
            for name in new { kept(name).drop() }
            throw error
        }
        do {
            // A wipe that began meanwhile has looked for what is kept before this was.
            try folder.refuseGone()
            try finishUnlocking([keybag], of: source, since: before)
        } catch {
            for (name, _) in Self.keptTogether { kept(name).drop() }
            throw error
        }
    }

    /// Makes those keys available that the system keeps. They are compared with the card as in ``unlock(with:)``. If the
    /// key of the class `complete` is not kept any more, the store is locked afterwards, and not sealed.
    ///
    /// - Parameter onUnreadable: called if it cannot be found out whether keys are kept. Then the store stays as it is.
    /// - Returns: the classes whose keys were kept.
    /// - Throws: ``StoreError`` with `gone`, `storeForged` or `storeMalformed`, `locked` if `lock` was called meanwhile,
    ///   `keysChanged` if another program has changed the card;
    ///   `VaultError` with `memoryUnavailable`.
    @discardableResult
    public func unlockKept(onUnreadable: (VaultError) -> Void = { _ in }) throws -> Set<ItemProtection> {
        let before = changes.withLock { $0.lockCount }
        try folder.refuseGone()
        // What unlocks a store without a keybag was lost, or the store has none: nothing is kept.
        guard try folder.root.status(of: StoreFolder.keybag) != nil else { return [] }
        let source = try FileSource(at: .name(StoreFolder.keybag, in: folder.root))
        var keybags: [StoreKeybag] = []
        for (name, classes) in Self.keptTogether {
            guard let text = try text(of: name, onUnreadable) else { continue }
            let keybag = try StoreKeybag(parsing: text, of: classes)
            try check(keybag)
            keybags.append(keybag)
        }
        // The keys must be of the keybag that was opened.
        guard !keybags.isEmpty, try folder.leads(to: KeyFile(name: StoreFolder.keybag, source: source))
        else { return [] }
        try finishUnlocking(keybags, of: source, since: before)
        return Set(keybags.flatMap(\.keys).map(\.protection))
    }

    private func text(of protection: ItemProtection, _ onUnreadable: (VaultError) -> Void) throws(VaultError)
        -> SecretBuffer?
    {
        do throws(VaultError) {
            guard let found = try kept(protection).read(atMost: Self.longestText) else { return nil }
            return found.take()
        } catch {
            switch error.code {
            case .keyStoreUnavailable, .keyringMalformed: return nil
            case .inputFailed:
                onUnreadable(error)
                return nil
            default: throw error
            }
        }
    }

    /// Ends what ``unlock(with:keepingFor:)`` began, for all programs of this user. A store that is open stays as it is.
    ///
    /// - Parameter isSealing: whether the keys of the class `afterFirstUnlock` end too.
    /// - Returns: whether keys were kept that are not kept any more.
    /// - Throws: `VaultError` with `keyStoreUnavailable`; `inputFailed` if the system does not tell whether it keeps
    ///   keys; `outputFailed` if they are still kept.
    @discardableResult
    public func lockKept(sealing isSealing: Bool = false) throws(VaultError) -> Bool {
        let wasUnlocked = try kept(.complete).end()
        guard isSealing else { return wasUnlocked }
        let wasSealed = try !kept(.afterFirstUnlock).end()
        return wasUnlocked || !wasSealed
    }

    /// More bytes than the kernel keeps under one name.
    private static let longestText = 1 << 15

    /// What the system keeps of a class. The name does not depend on the path, so a store that was moved stays unlocked.
    private func kept(_ protection: ItemProtection) -> KeptSecret {
        let files = [StoreFolder.keybag, Keyring.unlockKeyPath(of: StoreFolder.keybag)].map(folder.place)
        return KeptSecret("vaultfile:\(id):\(protection == .complete ? "complete" : "first")", of: files)
    }

    /// Drops what the system keeps for this user of the keybag as it is now. It needs no key: the digests of the files
    /// show what belongs to them. Where the system keeps nothing, nothing is to be dropped.
    ///
    /// If that fails in a wipe, the digests are written into the file `gone`: a wipe overwrites the keybag all the same, and the
    /// next one could not tell any more what is kept of it.
    ///
    /// - Parameters:
    ///   - path: of the keybag.
    ///   - root: the folder of a store that is wiped, with a file `gone`; nil for no wipe.
    ///   - onUnreadable: called if the system has such a memory, and does not let this process look into it: a process
    ///     outside of its container may have put keys there. The second value says whether the digests are noted.
    /// - Throws: `VaultError` with `inputFailed`, `outputFailed`, `keyringMalformed`, `memoryUnavailable`.
    static func endKept(
        ofKeybag path: FilePath, in root: FileDescriptor? = nil,
        _ onUnreadable: (VaultError, Bool) -> Void = { _, _ in }
    ) throws(VaultError) {
        let files = [path, Keyring.unlockKeyPath(of: path)]
        let mark = try root.flatMap { root throws(VaultError) in try markOfWipe(in: root) }
        defer { mark?.closeQuietly() }
        var noted: [UInt8]?
        if let mark { noted = try KeptSecret.notedDigest(of: files.count, in: mark) }
        var digests = noted.map { [$0] } ?? []
        do throws(VaultError) {
            digests.append(try KeptSecret.digest(of: files))
        } catch {
            guard error.systemError == .noSuchFileOrDirectory else { throw error }
        }
        for digest in digests {
            do throws(VaultError) {
                try KeptSecret.endAll(with: digest, atMost: longestText)
            } catch {
                let isUnavailable = error.code == .keyStoreUnavailable
                let isHidden = [.notPermitted, .permissionDenied].contains(error.systemError)
                guard !isUnavailable || isHidden else { return }
                if let mark, (try? root?.status(of: StoreFolder.gone))??.size == 0 {
                    try? mark.writeFully(digest.span, at: 0)
                    try? mark.synchronizeFile()
                }
                guard isUnavailable else { throw error }
                let size = mark == nil ? nil : (try? root?.status(of: StoreFolder.gone))??.size
                return onUnreadable(error, size == UInt64(digest.count))
            }
        }
        guard noted != nil, let mark else { return }
        do {
            try retrying { SystemCalls.current.truncate(mark.rawValue, 0) }
        } catch {
            throw VaultError(.outputFailed, "its mark cannot be emptied: \(error)")
        }
    }

    /// Opens the file `gone` of a wipe; nil if it cannot be written, or if someone who can write the folder has put
    /// something else there: a pipe, or a second name of another file.
    private static func markOfWipe(in root: FileDescriptor) throws(VaultError) -> FileDescriptor? {
        let status = try root.status(of: StoreFolder.gone)
        guard let status, status.kind == .regular, status.linkCount == 1 else { return nil }
        return try? FileDescriptor.toUpdate(StoreFolder.gone, in: root)
    }

    // MARK: What unlocks a store

    /// What the file shows that unlocks a store. Nothing authenticates it.
    ///
    /// - Parameter path: the folder of the store.
    /// - Returns: nil if the file is no container.
    /// - Throws: ``StoreError`` with `gone` or `noKeybag`; what `Inspection` throws.
    public static func inspectUnlocking(at path: FilePath) throws -> Inspection? {
        let folder = try StoreFolder(at: path)
        try folder.requireKeybag()
        return try Keyring.inspectUnlockKey(at: folder.place(StoreFolder.keybag))
    }

    /// Checks that these keys unlock a store, before anything is changed. The device key is not needed.
    ///
    /// - Parameters:
    ///   - path: the folder of the store.
    ///   - keys: the passphrases and keys of a person.
    /// - Throws: ``StoreError`` with `gone`, `noKeybag` or `storeMalformed`; `VaultError` with `wrongKey`, and what opening
    ///   a keyring throws; what `keys` throws.
    public static func checkUnlocking(at path: FilePath, with keys: any KeyProvider) throws {
        let folder = try StoreFolder(at: path)
        try folder.requireKeybag()
        _ = try openKeybag(folder, keys)
    }

    /// The name of the file of an item, in the folder `items`. A message can name an item by its first digits: they do
    /// not tell the name.
    ///
    /// - Parameter name: of the item.
    /// - Throws: ``StoreError`` with `invalidName`.
    public func fileName(of name: String) throws -> String {
        try ItemName(name).file(card.index).string
    }
}
