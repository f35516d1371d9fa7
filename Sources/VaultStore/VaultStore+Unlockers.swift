public import SystemPackage
public import VaultFile
import VaultFormat
public import VaultStream

/// What unlocks a store, and what opens its card.
extension VaultStore {
    /// Changes what unlocks a store. The device key is not needed. A person who has a copy of the store from before the
    /// change still opens that copy with what opened it then; ``renew(at:unlocking:with:)`` is against that.
    ///
    /// - Parameters:
    ///   - path: the folder of the store.
    ///   - change: what to add and what to remove.
    ///   - keys: what unlocks the store now.
    /// - Returns: what was done. An exchange of the unlock key that was interrupted is finished first; what is left of it
    ///   is there too.
    /// - Throws: ``StoreError`` with `gone`, `noKeybag` or `storeMalformed`; what changing a keyring and `Vault.rotate`
    ///   throw.
    public static func changeUnlockers(
        at path: FilePath, _ change: KeyChange, unlocking keys: any KeyProvider
    ) throws -> Keyring.Changed<Rotation> {
        let folder = try StoreFolder(at: path)
        try folder.requireKeybag()
        return try folder.naming {
            try keybagPair.changeUnlockers(
                at: folder.placeOfPair(StoreFolder.keybag), change, unlocking: keys, naming: $0)
        }
    }

    /// Exchanges the key between what unlocks a store and its keys, for example after a passphrase was changed because
    /// it had leaked. From then on only `unlockers` unlock the store, and an older copy of what unlocked it opens nothing
    /// of what comes after. The keys of the classes stay: who has read them already has them. ``rotateKey(of:device:unlocking:)``
    /// is against that.
    ///
    /// Programs that have the store unlocked have to unlock it again before they write (`keysChanged`).
    ///
    /// - Parameters:
    ///   - path: the folder of the store.
    ///   - keys: what unlocks the store now.
    ///   - unlockers: all that will unlock it; at least one.
    /// - Returns: what is left of the files that were replaced.
    /// - Throws: ``StoreError`` with `gone`, `noKeybag` or `storeMalformed`; what `Keyring.protect` throws.
    @discardableResult
    public static func renew(
        at path: FilePath, unlocking keys: any KeyProvider, with unlockers: [Recipient]
    ) throws -> Keyring.Traces {
        let folder = try StoreFolder(at: path)
        try folder.requireKeybag()
        return try renew(keybagPair, StoreFolder.keybag, of: folder, keys, unlockers)
    }

    /// The same for the card: exchanges the key between the device key and the card. The device key can become another
    /// one with this.
    ///
    /// Programs that have the store open have to open it again before they write (`keysChanged`).
    ///
    /// - Parameters:
    ///   - path: the folder of the store.
    ///   - device: the device key.
    ///   - other: the device key from then on; the same or another one.
    /// - Returns: what is left of the files that were replaced.
    /// - Throws: ``StoreError`` with `gone` or `storeMalformed`; what `Keyring.protect` throws.
    @discardableResult
    public static func renewCard(
        at path: FilePath, device: SymmetricKey, with other: SymmetricKey
    ) throws -> Keyring.Traces {
        try renew(
            cardPair, StoreFolder.card, of: StoreFolder(at: path), KeySet(keys: [device]), [.key(other)])
    }

    private static func renew(
        _ pair: SecretPair, _ name: FilePath, of folder: StoreFolder, _ keys: any KeyProvider, _ unlockers: [Recipient]
    ) throws -> Keyring.Traces {
        try folder.naming {
            try pair.renew(at: folder.placeOfPair(name), unlocking: keys, with: unlockers, naming: $0)
        }
    }

    // MARK: The other classes, later

    /// Gives a store that is there the keybag that it lacks, or finishes that if it was interrupted.
    ///
    /// - Parameter kind: of the public key of the class `unlessOpen`; nil for none.
    /// - Returns: false if it lacks nothing, or there is none.
    static func addKeybag(
        at path: FilePath, device: SymmetricKey, for unlockers: [Recipient], unlessOpen kind: SlotDescription.Kind?
    ) throws -> Bool {
        let (hasCard, hasKeybag) = try files(of: path)
        guard hasCard else { return false }
        guard hasKeybag else {
            try open(at: path, device: device).addKeybag(for: unlockers, device: device, unlessOpen: kind)
            return true
        }
        let store: VaultStore
        do {
            store = try open(at: path, device: device)
        } catch let error as VaultError where error.code == .wrongKey {
            return false
        }
        // The keybag has the class, and a crash has kept the card from it.
        guard store.card.publics.isEmpty else { return false }
        let (keybag, source) = try openKeybag(
            store.folder, SecretsAtHand(KeySet(), adding: unlockers, removing: .none))
        try store.check(keybag)
        guard let publicPart = UnlessOpenKeys(in: keybag)?.publicPart else { return false }
        return try store.addToCard(
            publicPart, of: KeyFile(name: StoreFolder.keybag, source: source), device: device)
    }

    /// Whether the card and the keybag are there.
    private static func files(of path: FilePath) throws -> (card: Bool, keybag: Bool) {
        let root: FileDescriptor
        do throws(VaultError) {
            root = try FileDescriptor.folder(path)
        } catch {
            guard error.systemError == .noSuchFileOrDirectory else { throw error }
            return (false, false)
        }
        defer { root.closeQuietly() }
        return (try root.status(of: StoreFolder.card) != nil, try root.status(of: StoreFolder.keybag) != nil)
    }

    /// Makes the keybag of a store that has none (STORE-38), and then the class `unlessOpen` as in a new store.
    ///
    /// - Parameter kind: of the public key of that class; nil for a store without it.
    private func addKeybag(
        for unlockers: [Recipient], device: SymmetricKey, unlessOpen kind: SlotDescription.Kind?
    ) throws {
        // Only a keybag has the private key.
        guard card.publics.isEmpty else {
            throw StoreError(
                .storeExists, "the card has a public key: the keybag was lost, and a new one does not help")
        }
        let own = Set(card.keys.map(\.key.id))
        // Without a keybag, nobody writes an item of another class meanwhile.
        try folder.forEachFile { file, folder in
            let ids = try ItemSlots.ids(ContainerEnds(reading: FoundItem.source(file, in: folder)))
            guard ids.map({ own.isDisjoint(with: $0) }) != false else { return }
            throw StoreError(
                .storeExists,
                "the card does not have the key of an item: the keybag was lost, and a new one does not help")
        }
        let (card, cardFile) = (card, gate.withKeys { $0.cardFile })
        let unlessOpen = try kind.map(UnlessOpenKeys.generate)
        let keybag = try folder.withLock {
            try folder.requireCurrent(cardFile)
            guard try folder.root.status(of: StoreFolder.keybag) == nil else {
                throw StoreError(.storeExists, "something unlocks the store already")
            }
            try StoreKeybag.generate(for: card, unlessOpen).encoded().withBytes {
                try Self.keybagPair.make(
                    at: folder.place(StoreFolder.keybag), $0, for: unlockers, usingUnlockFile: true,
                    ownedAs: folder.root)
            }
            return KeyFile(
                name: StoreFolder.keybag, source: try FileSource(at: .name(StoreFolder.keybag, in: folder.root)))
        }
        guard let unlessOpen else { return }
        _ = try addToCard(unlessOpen.publicPart, of: keybag, device: device)
    }
}
