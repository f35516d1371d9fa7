import SystemPackage
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
    /// - Throws: ``StoreError`` with `storeExists` if the account has a store, and `invalidName`; `VaultError` with
    ///   `invalidArgument` if its shard has no room for another line; what changing a keyring and making a store throw.
    public func createStore(of account: String, unlockers: [Recipient] = []) throws -> VaultStore {
        let lines = try lines(of: account)
        // What an erasure that was interrupted has left.
        for place in lines.erased { try Self.finishErasure(place) }
        let device = try lines.device ?? addLine(lines.now)
        return try VaultStore.create(at: lines.now.store, device: device, unlockers: unlockers)
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

    /// Opens the store of an account, sealed. Writes nothing.
    ///
    /// - Parameter account: 1 to 255 bytes.
    /// - Throws: ``StoreError`` with `noSuchAccount`, `invalidName`, and what ``VaultStore/open(at:device:)`` throws; what
    ///   opening a keyring throws.
    public func openStore(of account: String) throws -> VaultStore {
        let lines = try lines(of: account)
        guard let device = lines.device else { throw StoreError.noSuchAccount }
        return try VaultStore.open(at: lines.now.store, device: device)
    }

    /// Erases an account: destroys its device key, and then wipes its store. Once the key is destroyed, no item of the
    /// class `always` opens any more, and the names of the items are lost; the wipe removes the rest. Call it again after
    /// a crash, or if it failed.
    ///
    /// Older copies of the shard still hold the key: with them and with what unlocked them, copies of the store open.
    ///
    /// - Parameter account: 1 to 255 bytes.
    /// - Returns: what is left of the old shard, and whether its unlock key was exchanged. If it was not, call
    ///   ``renew(with:)``. Nil if the account was erased before, and this call only finished that.
    /// - Throws: ``StoreError`` with `noSuchAccount` if there never was this account, `invalidName`; what changing a
    ///   keyring and ``VaultStore/wipe(at:)`` throw.
    @discardableResult
    public func erase(_ account: String) throws -> Keyring.Traces? {
        let lines = try lines(of: account)
        guard lines.device != nil || !lines.erased.isEmpty else { throw StoreError.noSuchAccount }
        var traces: Keyring.Traces?
        if lines.device != nil {
            traces = try Keyring.change(at: lines.now.shard, unlocking: keys) { change in
                try change.destroy(lines.now.name)
            }.traces
            try Self.finishErasure(lines.now)
        }
        for place in lines.erased { try Self.finishErasure(place) }
        return traces
    }

    /// Wipes the store of a destroyed line. Its making may have stopped before it had a lock.
    private static func finishErasure(_ place: Place) throws {
        guard try exists(place.store) else { return }
        let root = try FileDescriptor.folder(place.store)
        defer { root.closeQuietly() }
        guard try root.status(of: StoreFolder.lock) != nil || root.status(of: StoreFolder.gone) != nil else { return }
        try VaultStore.wipe(at: place.store)
    }

    /// Exchanges the unlock keys of all shards that have erased accounts. After that, older copies of these shards open
    /// only with the unlock files from before. An erasure does this itself if it has everything that unlocks the shard.
    ///
    /// - Parameter unlockers: the keys that will unlock these shards: name all of them.
    /// - Returns: the number of shards whose unlock key was exchanged.
    /// - Throws: what `Keyring.protect` throws. Some shards may be renewed then; call it again.
    @discardableResult
    public func renew(with unlockers: [SymmetricKey]) throws -> Int {
        var count = 0
        for shard in try shards() {
            guard try Keyring.open(at: shard, unlocking: keys).entries.contains(where: { $0.state == .destroyed })
            else {
                continue
            }
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
