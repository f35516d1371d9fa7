public import SystemPackage
public import VaultFile
import VaultFormat
public import VaultStream

extension StoreGroup {
    /// Makes the store of an account, or finishes one whose making was interrupted. An account that was erased may come
    /// back: it gets a new key and a new, empty store.
    ///
    /// - Parameters:
    ///   - account: 1 to 255 bytes.
    ///   - unlockers: what unlocks the other classes, as in ``VaultStore/create(at:device:unlockers:)``.
    /// - Returns: the store, sealed.
    /// - Throws: ``StoreError`` with `storeExists` if the account has a store, or if its shard is older than its store;
    ///   `invalidName`;
    ///   `noSuchAccount` if another program has erased the account meanwhile; `VaultError` with
    ///   `invalidArgument` if its shard has no room for another line; what changing a keyring and making a store throw.
    public func createStore(of account: String, unlockers: [Recipient] = []) throws -> VaultStore {
        let lines = try lines(of: account)
        // What an erasure that was interrupted has left.
        for place in lines.erased { try Self.finishErasure(place) }
        let device = try lines.device ?? newLine(lines.now)
        let made = Result {
            try VaultStore.create(
                at: lines.now.store, device: device, unlockers: unlockers, unlessOpen: UnlessOpenKeys.defaultKind,
                keepingOwner: true)
        }
        // Another program may have erased the account, and seen no store to wipe. Then nobody has the key of this one.
        let keyring = try Keyring.open(at: lines.now.shard, unlocking: keys)
        guard keyring.entries.contains(where: { $0.name == lines.now.name && $0.isKey }) else {
            try Self.finishErasure(lines.now)
            throw StoreError.noSuchAccount
        }
        return try made.get()
    }

    private func newLine(_ place: Place) throws -> SymmetricKey {
        // The line comes before the store, so this store has lost its line. A new one would have another key, and an
        // erasure of the account would wipe a store that the newer shard opens.
        let isThere = try Self.exists(place.store)
        // Another program may have made both meanwhile.
        let line = try Keyring.open(at: place.shard, unlocking: keys).entries.first { $0.name == place.name }
        guard !isThere || line != nil else {
            throw StoreError(
                .storeExists, "the account has a store, and its shard is older: put the newer shard back")
        }
        return try addLine(place)
    }

    private func addLine(_ place: Place) throws -> SymmetricKey {
        _ = try Keyring.change(at: place.shard, unlocking: keys) { change in
            // Another program may have made it meanwhile.
            guard change.entry(place.name.description) == nil else { return }
            try change.generate(named: place.name, created: .now)
        }
        let keyring = try Keyring.open(at: place.shard, unlocking: keys)
        guard let id = keyring.entries.first(where: { $0.name == place.name && $0.isKey })?.id else {
            throw VaultError(.inUse, "another program has erased the account meanwhile")
        }
        return try keyring.key(id)
    }

    /// Where the store of an account is, and what opens it.
    public struct Account: Sendable {
        /// The folder of the store. It does not tell the name of the account.
        public let store: FilePath
        /// The device key of the store, for the calls of ``VaultStore`` that need it. The group destroys it when the
        /// account is erased: keep it nowhere else.
        public let device: SymmetricKey
    }

    /// Finds an account. Writes nothing.
    ///
    /// - Parameter account: 1 to 255 bytes.
    /// - Throws: ``StoreError`` with `noSuchAccount`, `invalidName`; what opening a keyring throws.
    public func find(_ account: String) throws -> Account {
        let lines = try lines(of: account)
        guard let device = lines.device else { throw StoreError.noSuchAccount }
        return Account(store: lines.now.store, device: device)
    }

    /// Opens the store of an account, sealed. Writes nothing.
    ///
    /// - Parameter account: 1 to 255 bytes.
    /// - Throws: what ``find(_:)`` and ``VaultStore/open(at:device:)`` throw.
    public func openStore(of account: String) throws -> VaultStore {
        let found = try find(account)
        return try VaultStore.open(at: found.store, device: found.device)
    }

    /// Erases an account: destroys its device key, and then wipes its store. Once the key is destroyed, no item of the
    /// class `always` opens any more, and the names of the items are lost; the wipe removes the rest. Call it again after
    /// a crash, or if it failed.
    ///
    /// Older copies of the shard still hold the key: with them and with what unlocked them, copies of the store open.
    /// The items of the other classes in copies of the store open without the device key, with what unlocked the store.
    ///
    /// - Parameters:
    ///   - account: 1 to 255 bytes.
    ///   - onUnreadable: as for ``VaultStore/wipe(at:onUnreadable:)``.
    /// - Returns: what is left of the old shard, and whether its unlock key was exchanged. If it was not, call
    ///   ``renew(with:all:)``. Nil if the account was erased before, and this call only finished that.
    /// - Throws: ``StoreError`` with `noSuchAccount` if there never was this account, `invalidName`; what changing a
    ///   keyring and ``VaultStore/wipe(at:onUnreadable:)`` throw.
    @discardableResult
    public func erase(
        _ account: String, onUnreadable: (VaultError, Bool) -> Void = { _, _ in }
    ) throws -> Keyring.Traces? {
        let lines = try lines(of: account)
        guard lines.device != nil || !lines.erased.isEmpty else { throw StoreError.noSuchAccount }
        var traces: Keyring.Traces?
        if lines.device != nil {
            traces = try Keyring.change(at: lines.now.shard, unlocking: keys) { change in
                try change.destroy(lines.now.name)
            }.traces
            try Self.finishErasure(lines.now, onUnreadable)
        }
        for place in lines.erased { try Self.finishErasure(place, onUnreadable) }
        return traces
    }

    /// Wipes the store of a destroyed line. Its making may have stopped before it was one: then it has no key.
    /// No link is followed: someone who can write the group could point it at another store.
    private static func finishErasure(
        _ place: Place, _ onUnreadable: (VaultError, Bool) -> Void = { _, _ in }
    ) throws {
        guard let name = place.store.lastComponent else { return }
        let group = try FileDescriptor.folder(place.store.removingLastComponent().removingLastComponent())
        defer { group.closeQuietly() }
        let stores = try FileDescriptor.folder(storesFolder, in: group)
        defer { stores.closeQuietly() }
        guard try stores.status(of: FilePath(root: nil, [name])) != nil else { return }
        let root = try FileDescriptor.folder(FilePath(root: nil, [name]), in: stores)
        defer { root.closeQuietly() }
        guard try VaultStore.isStore(root) else {
            // Silence would leave what opens with a passphrase alone.
            guard try !VaultStore.hasKeys(root) else {
                throw VaultError(.inputFailed, "the store of the account has keys but no folder items: remove it")
            }
            return
        }
        try VaultStore.wipe(root, at: place.store, onUnreadable)
    }

    /// Exchanges the unlock keys of shards. After that, older copies of these shards open only with the unlock files from
    /// before. An erasure does this itself if it has everything that unlocks the shard.
    ///
    /// To give the group another key, open it with both keys, and call this with the new one for all shards. If it fails,
    /// do the same again.
    ///
    /// - Parameters:
    ///   - unlockers: the keys that will unlock these shards: name all of them.
    ///   - all: whether to renew every shard. Otherwise only those with erased accounts are renewed.
    /// - Returns: the number of shards whose unlock key was exchanged.
    /// - Throws: what `Keyring.protect` throws. Some shards may be renewed then; call it again.
    @discardableResult
    public func renew(with unlockers: [SymmetricKey], all: Bool = false) throws -> Int {
        var count = 0
        for shard in try shards() {
            let isWanted =
                try all || Keyring.open(at: shard, unlocking: keys).entries.contains { $0.state == .destroyed }
            guard isWanted else { continue }
            _ = try Keyring.protect(
                at: shard, renewing: true, unlocking: keys, with: unlockers.map(Recipient.key))
            count += 1
        }
        return count
    }

    /// The paths of the shards.
    private func shards() throws -> [FilePath] {
        try (0..<Self.shardCount).map { Self.shard($0, of: path) }.filter { try Self.exists($0) }
    }

    /// Changes what unlocks all shards. If it fails, some shards may be changed; call it again. Afterwards open the group
    /// with what unlocks it then.
    ///
    /// - Parameters:
    ///   - adding: the keys to add.
    ///   - removing: the IDs of the keys to remove.
    /// - Throws: what `Keyring.changeUnlockers` throws.
    public func changeUnlockers(adding: [SymmetricKey], removing: Set<KeyID> = []) throws {
        let change = KeyChange(adding: adding.map(Recipient.key), removing: SlotSelection(ids: removing))
        for shard in try shards() { _ = try Keyring.changeUnlockers(at: shard, change, unlocking: keys) }
    }
}
