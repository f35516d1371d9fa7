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
        let card = try open(at: path, device: device).card
        let folder = try StoreFolder(at: path)
        try folder.requireKeybag()
        // The keybag first: one that lists more than the card is no forgery (STORE-8).
        let added = try change(keybagPair, StoreFolder.keybag, of: folder, unlocking: keys) { text, write in
            let keybag = try StoreKeybag(parsing: text)
            try keybag.check(card)
            if let present = UnlessOpenKeys(in: keybag) { return present }
            let made = try UnlessOpenKeys.generate(kind)
            try write(try keybag.adding(made).encoded())
            return made
        }
        return try change(cardPair, StoreFolder.card, of: folder, unlocking: KeySet(keys: [device])) { text, write in
            let card = try StoreCard(parsing: text)
            guard card.publics.isEmpty else { return false }
            try write(try card.adding(added).encoded())
            return true
        }
    }

    private static func change<R>(
        _ pair: SecretPair, _ name: FilePath, of folder: StoreFolder, unlocking keys: any KeyProvider,
        _ body: (_ text: consuming SecretBuffer, _ write: (consuming SecretBuffer) throws -> Void) throws -> R
    ) throws -> R {
        try pair.change(
            at: folder.place(name), unlocking: keys, atMost: TextLines.longest,
            orElse: { StoreError.malformed("\(name): \($0)") }, whileHolding: folder.heldLock, body)
    }
}
