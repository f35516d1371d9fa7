public import SystemPackage
import VaultFile
import VaultFormat
public import VaultStream

extension VaultStore {
    /// Gives a store the class `unlessOpen`, if an older program has made it without. Both the device key and what
    /// unlocks the store are needed. Older programs do not open the store afterwards. Call it again after a crash.
    ///
    /// A store that is open already has the class when it is opened anew.
    ///
    /// - Parameters:
    ///   - path: the folder of the store.
    ///   - device: the device key.
    ///   - keys: the passphrases and keys of a person. If other programs change the store meanwhile, they are asked
    ///     several times.
    /// - Returns: false if it has the class already.
    /// - Throws: ``StoreError`` with `noKeybag` if nothing unlocks the store, `storeForged`, `storeMalformed` or `gone`;
    ///   `keysChanged` if another program changes the keys of the store too;
    ///   `VaultError` with `wrongKey`, `inUse`, `outputFailed`, and what opening a keyring throws; what `keys` throws.
    @discardableResult
    public static func addUnlessOpen(
        at path: FilePath, device: SymmetricKey, unlocking keys: any KeyProvider
    ) throws -> Bool {
        try addUnlessOpen(UnlessOpenKeys.defaultKind, at: path, device: device, unlocking: keys)
    }

    /// - Parameter kind: of the public key.
    static func addUnlessOpen(
        _ kind: SlotDescription.Kind, at path: FilePath, device: SymmetricKey, unlocking keys: any KeyProvider
    ) throws -> Bool {
        let store = try open(at: path, device: device)
        let folder = store.folder
        try folder.requireKeybag()
        // The keybag first: one that lists more than the card is no forgery (STORE-8).
        let (added, keybag) = try folder.change(keybagPair, StoreFolder.keybag, unlocking: keys) { text, new in
            let keybag = try StoreKeybag(parsing: text)
            try store.check(keybag)
            if let present = UnlessOpenKeys(in: keybag) { return present.publicPart }
            let made = try UnlessOpenKeys.generate(kind)
            new.text = try keybag.adding(made).encoded()
            return made.publicPart
        }
        return try store.addToCard(added.result, of: keybag, device: device)
    }

    /// Adds the class `unlessOpen` to the card of a store whose keybag has it.
    ///
    /// - Parameter keybag: the file that the public key is from.
    /// - Returns: false if the card has the class already.
    func addToCard(_ publicPart: ClassPublicKey, of keybag: KeyFile, device: SymmetricKey) throws -> Bool {
        // Another program may have exchanged the key meanwhile.
        let check = { [folder] in try folder.requireCurrent(keybag) }
        return try folder.change(
            Self.cardPair, StoreFolder.card, unlocking: KeySet(keys: [device]), if: check
        ) { text, new in
            var card = try StoreCard(parsing: text)
            guard card.publics.isEmpty, card.makeCurrent(publicPart) else { return false }
            new.text = try card.encoded()
            return true
        }.done.result
    }
}
