import Synchronization
public import SystemPackage
public import VaultFile
import VaultFormat
public import VaultStream

/// A folder of encrypted items that can be locked while a program runs (Spec, appendix E).
///
/// Each item has a class, ``ItemProtection``. The key of the class `always` is at hand while the store is open. The other
/// keys come with ``unlock(with:)``, and ``lock()`` drops those of the classes `complete` and
/// `unlessOpen`.
///
///     let store = try VaultStore.open(at: folder, device: deviceKey)
///     try store.unlock(with: KeySet(passphrases: [passphrase]))
///     try store.write("tokens/mail", token.span, protection: .complete)
///     store.lock()
///
/// Several threads, tasks and processes may use one store at once.
public final class VaultStore: Sendable {
    static let cardPair = SecretPair(
        context: "vaultfile store card", contentType: "application/x-vaultfile-store-card", noun: "card",
        longest: TextLines.longest, malformed: { StoreError.malformed("the card: \($0)") },
        check: { _ = try StoreCard(parsing: $0) })
    static let keybagPair = SecretPair(
        context: "vaultfile store keys", contentType: "application/x-vaultfile-store-keys", noun: "keybag",
        longest: TextLines.longest, malformed: { StoreError.malformed("the keybag: \($0)") },
        forget: { try? endKept(ofKeybag: $0) },
        check: { _ = try StoreKeybag(parsing: $0) })

    let folder: StoreFolder
    /// The card as it was read last. Its store ID and its index key never change.
    let cardText: Mutex<StoreCard>
    let gate: KeyGate
    let handles = Handles()
    let opener: ItemOpener
    let listeners = Listeners()
    /// Held while the state changes, so that events come in the order of the changes.
    let changes = Mutex(Changes())

    struct Changes {
        /// Counts the calls of `lock`. An `unlock` that a `lock` has overtaken must not unlock.
        var lockCount = 0
        /// Counts what ends a time of grace.
        var graceCount = 0
    }

    private init(_ folder: StoreFolder, _ card: StoreCard, of source: FileSource) {
        self.folder = folder
        cardText = Mutex(card)
        var keys = AvailableKeys()
        keys.replace(with: card, of: source)
        gate = KeyGate(keys, shardCount: Vault.processorCount)
        opener = ItemOpener(card, gate, handles, folder)
    }

    var card: StoreCard { cardText.withLock { $0 } }

    // MARK: Opening

    /// Opens a store, sealed. Writes nothing.
    ///
    /// - Parameters:
    ///   - path: the folder of the store.
    ///   - device: the device key.
    /// - Throws: ``StoreError`` with `gone` or `storeMalformed`; `VaultError` with `wrongKey` for another device key,
    ///   `inputFailed` if the files of the store cannot be read, and what opening a keyring throws.
    public static func open(at path: FilePath, device: SymmetricKey) throws -> VaultStore {
        let folder = try StoreFolder(at: path)
        return try cardPair.open(at: folder.placeOfPair(StoreFolder.card), unlocking: KeySet(keys: [device])) {
            VaultStore(folder, try StoreCard(parsing: $0), of: $1)
        }
    }

    /// The ID of the store: 16 random bytes, in hexadecimal.
    public var id: String { card.storeID.description }

    /// The context of its items. `vaultfile` can verify and decrypt an item with it and with the key of its class.
    public var itemContext: Context { opener.context }

    // MARK: Locking

    /// Whether it is sealed, unlocked, about to be locked, or locked.
    public var state: StoreState { gate.state }

    /// Makes the keys of all classes available. Writes nothing.
    ///
    /// - Parameter keys: the passphrases and keys of a person. A passphrase is stretched, which takes half a second and
    ///   256 MiB of memory with this library's default cost.
    /// - Throws: ``StoreError`` with `gone`, `noKeybag`, `storeForged`, `storeMalformed`, or `locked` if `lock` was called
    ///   meanwhile; `keysChanged` if another program has changed the card, so that the store has to be opened again;
    ///   `VaultError` with `wrongKey`, `badKey` if the store has a key of X-Wing and this build does not, and what opening
    ///   a keyring throws; what `keys` throws. Then the store is as it was.
    public func unlock(with keys: any KeyProvider) throws {
        let before = changes.withLock { $0.lockCount }
        try folder.refuseGone()
        try folder.requireKeybag()
        let (keybag, source) = try Self.openKeybag(folder, keys)
        try check(keybag)
        try finishUnlocking([keybag], of: source, since: before)
    }

    /// Compares a keybag with the card (STORE-8).
    ///
    /// - Throws: `storeForged`; `keysChanged` if the card has changed since it was read.
    func check(_ keybag: StoreKeybag) throws {
        do {
            try keybag.check(card)
        } catch {
            try folder.requireCurrent(gate.withKeys { $0.cardFile })
            throw error
        }
    }

    /// Whether items of a class can be opened now.
    public func canRead(_ protection: ItemProtection) -> Bool {
        gate.withKeys { protection.states(for: .open).contains($0.state) && $0.current[protection] != nil }
    }

    /// Whether items of a class can be written now.
    public func canWrite(_ protection: ItemProtection) -> Bool {
        gate.withKeys { protection.states(for: .write).contains($0.state) && $0.recipient(for: protection) != nil }
    }

    static func openKeybag(_ folder: StoreFolder, _ keys: any KeyProvider) throws -> (StoreKeybag, FileSource) {
        try keybagPair.open(at: folder.placeOfPair(StoreFolder.keybag), unlocking: keys) {
            (try StoreKeybag(parsing: $0), $1)
        }
    }

    // MARK: Making

    /// Makes a store, or finishes one whose making was interrupted, if what is there opens with these keys.
    ///
    /// A store that has only the class `always` gets the other classes later by the same call, with its device key and
    /// with unlockers.
    ///
    /// - Parameters:
    ///   - path: the folder, which is new, empty or holds an unfinished store. The folder around it exists.
    ///   - device: the device key. It opens the card, and with it the items of the class `always`. Keep it apart from
    ///     the folder.
    ///   - unlockers: what unlocks the other classes, each by itself: passphrases and keys of a person. If there are
    ///     none, the store has only the class `always`.
    /// - Returns: the store, sealed.
    /// - Throws: ``StoreError`` with `storeExists` if there is a store or anything else, or if a store has lost what
    ///   unlocked it; `gone`; `VaultError` with `wrongKey` if an unfinished store does not open, or if another device key
    ///   opens the store, `outputFailed`, and what making a keyring throws.
    public static func create(
        at path: FilePath, device: SymmetricKey, unlockers: [Recipient] = []
    ) throws -> VaultStore {
        try create(at: path, device: device, unlockers: unlockers, unlessOpen: UnlessOpenKeys.defaultKind)
    }

    /// - Parameters:
    ///   - kind: of the public key of the class `unlessOpen`; nil for a store without this class.
    ///   - isOwned: whether a new folder of root gets the owner of the folder around it, as in a group.
    static func create(
        at path: FilePath, device: SymmetricKey, unlockers: [Recipient], unlessOpen kind: SlotDescription.Kind?,
        keepingOwner isOwned: Bool = false
    ) throws -> VaultStore {
        if !unlockers.isEmpty, try addKeybag(at: path, device: device, for: unlockers, unlessOpen: kind) {
            return try open(at: path, device: device)
        }
        let folder = try StoreFolder.make(at: path, keepingOwner: isOwned)
        let unlessOpen = try unlockers.isEmpty ? nil : kind.map(UnlessOpenKeys.generate)
        try folder.withLock { try makeKeys(folder, device, unlockers, unlessOpen) }
        return try open(at: path, device: device)
    }

    private static func makeKeys(
        _ folder: StoreFolder, _ device: SymmetricKey, _ unlockers: [Recipient], _ unlessOpen: UnlessOpenKeys?
    ) throws {
        guard try folder.root.status(of: StoreFolder.card) == nil else {
            throw StoreError(.storeExists, "there is a store already")
        }
        let card = try StoreCard.generate(unlessOpen)
        let keybagPath = folder.place(StoreFolder.keybag)
        let hasKeybag = try folder.root.status(of: StoreFolder.keybag) != nil
        let hasUnlockFile = try folder.root.status(of: Keyring.unlockKeyPath(of: StoreFolder.keybag)) != nil
        if !unlockers.isEmpty {
            if hasKeybag {
                // Nothing was ever encrypted with its keys, and the index key that it names is lost.
                _ = try openKeybag(folder, SecretsAtHand(KeySet(), adding: unlockers, removing: .none))
                try folder.root.remove(StoreFolder.keybag)
                try folder.root.synchronizeFolder()
            }
            try StoreKeybag.generate(for: card, unlessOpen).encoded().withBytes {
                try keybagPair.make(
                    at: keybagPath, $0, for: unlockers, usingUnlockFile: true, ownedAs: folder.root)
            }
        } else if hasKeybag || hasUnlockFile {
            throw StoreError(.storeExists, "an unfinished store is there that something unlocks; name it again")
        }
        try card.encoded().withBytes {
            try cardPair.make(
                at: folder.place(StoreFolder.card), $0, for: [.key(device)], usingUnlockFile: true,
                ownedAs: folder.root)
        }
    }
}
