import Synchronization
import SystemPackage
public import VaultFile
import VaultFormat
public import VaultStream

/// New keys for a class (STORE-36).
extension VaultStore {
    /// What a rotation of the key of a class has done.
    public struct KeyRotation: Sendable {
        /// How many items were given a slot of the new key.
        public internal(set) var changed = 0
        /// The items that keep the old key, in the folders `items` and `lost`, and why. Until they are repaired or removed,
        /// the old key stays.
        public internal(set) var left: [(file: String, error: any Error)] = []
        /// What is left of the card or the keybag from before, whose unlock key was exchanged; nil if the old key is not
        /// destroyed, because items are left.
        public internal(set) var traces: Keyring.Traces?
    }

    /// Gives a class a new key, and destroys the old one: first each item of the class gets a slot of the new key in the
    /// place of that of the old key, which changes a few hundred bytes of a large item; a small one, and one with hard
    /// links, is copied. Nothing is encrypted again, so versions stay, and who has opened an item before has its file key.
    ///
    /// With the old key, the unlock key is exchanged too, if `keys` are all that unlocks it. Then older copies of the card
    /// or the keybag open only with what opened them then.
    ///
    /// The class `unlessOpen` gets a new public key, too. An item that is encrypted for the old one is encrypted for the
    /// new one then, and still has to be settled.
    ///
    /// If it is interrupted, or if items are left, all items open, and the same call finishes it. Other programs that
    /// have the store open have to open and unlock it again (`keysChanged`).
    ///
    /// - Parameters:
    ///   - protection: the class, which is available.
    ///   - device: the device key. It opens the card, which has the keys of `always` and the public keys of `unlessOpen`.
    ///   - keys: what unlocks the store. `always` does not need it.
    /// - Returns: what was done. The old key is destroyed if no item is left.
    /// - Throws: ``StoreError`` with `locked`, `noKeybag`, `noPublicKey`, `gone`, `storeForged`, `storeMalformed`;
    ///   `keysChanged` if another program changes the keys of the store too; `VaultError` with `wrongKey`, `outputFailed`,
    ///   `inUse`, and what changing a keyring throws.
    @discardableResult
    public func rotateKey(
        of protection: ItemProtection, device: SymmetricKey, unlocking keys: any KeyProvider = KeySet()
    ) throws -> KeyRotation {
        try folder.refuseGone()
        if protection != .always { try folder.requireKeybag() }
        guard canRead(protection) else {
            let isMissing = protection == .unlessOpen && canRead(.complete)
            throw isMissing ? StoreError.noPublicKey : StoreError.locked(protection)
        }
        if protection == .unlessOpen {
            // A wrong key is found before anything changes.
            _ = try Self.open(at: folder.path, device: device)
        }
        let begun = try begin(protection, device, keys)
        var result = try rotateItems(of: protection, from: begun.old)
        guard result.left.isEmpty else { return result }
        // Only then may the old key go: the new names must be durable.
        try folder.syncItems()
        if let lost = try folder.lostItems() {
            defer { lost.closeQuietly() }
            try lost.synchronizeFolder()
        }
        result.traces = try finish(begun, protection, device, keys)
        return result
    }

    /// The classes whose rotation is not finished: their old keys are still there. Of a class that was never available
    /// this is not known, except of `unlessOpen`.
    public var unfinishedRotations: Set<ItemProtection> { gate.withKeys { $0.unfinishedRotations } }

    // MARK: Card and keybag

    /// What is known when a class has its new key.
    private struct Begun {
        let old: OldKeys
        /// The new key of the class `unlessOpen` as in the card.
        var publicPart: ClassPublicKey?
    }

    /// Gives a class its new key, unless an earlier rotation has done that and was interrupted. The keybag first: one
    /// that lists more than the card is no forgery (STORE-8).
    private func begin(
        _ protection: ItemProtection, _ device: SymmetricKey, _ keys: any KeyProvider
    ) throws -> Begun {
        guard protection != .always else {
            return try changeCard(device) { card, new in
                if card.oldKeys.isEmpty {
                    try card.renewKey()
                    new.text = try card.encoded()
                }
                return Begun(old: card.oldKeys)
            }.result
        }
        let (done, file) = try changeKeybag(of: protection, keys) { keybag, new in
            if keybag.oldKeys(of: protection).isEmpty {
                try keybag.renewKey(of: protection)
                new.text = try keybag.encoded()
            }
            let part = protection == .unlessOpen ? UnlessOpenKeys(in: keybag)?.publicPart : nil
            return (Begun(old: keybag.oldKeys(of: protection), publicPart: part), keybag.publicIDs)
        }
        let (begun, publicIDs) = done.result
        guard let publicPart = begun.publicPart else { return begun }
        // Another program may have rotated the key meanwhile.
        let check = { [folder] in try folder.requireCurrent(file) }
        _ = try changeCard(device, if: check) { card, new in
            guard Set(card.publics.map(\.key.idInStore)).isSubset(of: publicIDs) else {
                throw StoreError(.storeForged, "the card has a public key that the keybag does not know")
            }
            if card.makeCurrent(publicPart) { new.text = try card.encoded() }
        }
        return begun
    }

    /// Destroys the old keys. The card first: the keybag lists all that the card has (STORE-8).
    private func finish(
        _ begun: Begun, _ protection: ItemProtection, _ device: SymmetricKey, _ keys: any KeyProvider
    ) throws -> Keyring.Traces {
        func changeCard(destroying isDestroying: Bool) throws -> Keyring.Traces {
            try self.changeCard(device) { card, new in
                guard card.drop(begun.old, current: begun.publicPart) else { return }
                new.text = try card.encoded()
                new.destroys = isDestroying
            }.traces
        }
        guard protection != .always else { return try changeCard(destroying: true) }
        // A public key is no secret, so the unlock key of the card stays.
        if protection == .unlessOpen { _ = try changeCard(destroying: false) }
        return try changeKeybag(of: protection, keys) { keybag, new in
            guard keybag.drop(begun.old, of: protection) else { return }
            new.text = try keybag.encoded()
            new.destroys = true
        }.done.traces
    }

    /// Changes the card, and takes over what is in it then.
    private func changeCard<R>(
        _ device: SymmetricKey, if check: @escaping () throws -> Void = {},
        _ body: (inout StoreCard, inout TextChange) throws -> R
    ) throws -> Keyring.Changed<R> {
        let known = card
        var found: StoreCard?
        let (done, file) = try folder.change(
            Self.cardPair, StoreFolder.card, unlocking: KeySet(keys: [device]), if: check
        ) { text, new in
            var card = try StoreCard(parsing: text)
            guard card.storeID == known.storeID, card.index.id == known.index.id else {
                throw StoreError(.storeForged, "the card is that of another store")
            }
            let result = try body(&card, &new)
            found = card
            return result
        }
        if let found {
            changes.withLock { _ in
                gate.change { $0.replace(with: found, of: file.source) }
                cardText.withLock { $0 = found }
            }
        }
        return done
    }

    /// Changes the keybag, and takes over the keys of the classes that are available. A lock that came first is kept.
    private func changeKeybag<R>(
        of protection: ItemProtection, _ keys: any KeyProvider,
        _ body: (inout StoreKeybag, inout TextChange) throws -> R
    ) throws -> (done: Keyring.Changed<R>, file: KeyFile) {
        var found: StoreKeybag?
        let (done, file) = try folder.change(Self.keybagPair, StoreFolder.keybag, unlocking: keys) { text, new in
            var keybag = try StoreKeybag(parsing: text)
            try check(keybag)
            let result = try body(&keybag, &new)
            found = keybag
            return result
        }
        if let found {
            changes.withLock { _ in
                gate.change { keys in
                    let available = ItemProtection.allCases.filter { keys.current[$0] != nil }
                    keys.replace(with: found, of: file.source, only: available)
                }
            }
        }
        guard canRead(protection) else { throw StoreError.locked(protection) }
        return (done, file)
    }

    // MARK: Items

    /// How often an item is tried that other programs keep replacing.
    private static let attempts = 5

    private func rotateItems(of protection: ItemProtection, from old: OldKeys) throws -> KeyRotation {
        var result = KeyRotation()
        let origin = gate.withKeys { $0.file(of: protection) }
        try folder.forEachFile { file, place in
            do {
                if try rotateItem(file, in: place, of: protection, from: old, origin) { result.changed += 1 }
            } catch {
                let ends: [StoreError.Code] = [.locked, .gone, .keysChanged, .noSuchItem]
                if let known = error as? StoreError, ends.contains(known.code) { throw known }
                if let known = error as? VaultError {
                    // A full disk is not about this item.
                    let isOfSystem = [.outputFailed, .memoryUnavailable, .cancelled].contains(known.code)
                    if isOfSystem || known.systemError == .noSuchFileOrDirectory { throw known }
                }
                let name = place.rawValue == folder.items.rawValue ? StoreFolder.itemsFolder : StoreFolder.lostFolder
                result.left.append(("\(name)/\(file)", error))
            }
        }
        return result
    }

    /// - Parameter origin: what the new key was read from.
    /// - Returns: whether it had a slot of an old key.
    private func rotateItem(
        _ file: FilePath, in place: FileDescriptor, of protection: ItemProtection, from old: OldKeys,
        _ origin: KeyFile?
    ) throws -> Bool {
        let isCurrent = { (ends: ContainerEnds) in old.slots(in: ends)?.isEmpty ?? false }
        for _ in 1..<Self.attempts {
            // Most items are of other classes, or done.
            if try isCurrent(ContainerEnds(reading: FoundItem.source(file, in: place))) { return false }
            do {
                return try update(file, in: place, of: protection, from: old, origin, unless: isCurrent)
            } catch {
                // Another program has put another file there, or is changing this one.
                guard (error as? VaultError)?.code == .inUse else { throw error }
            }
        }
        return try update(file, in: place, of: protection, from: old, origin, unless: isCurrent)
    }

    private func update(
        _ file: FilePath, in place: FileDescriptor, of protection: ItemProtection, from old: OldKeys,
        _ origin: KeyFile?, unless isCurrent: (ContainerEnds) -> Bool
    ) throws -> Bool {
        // The new key may be an old one by now.
        let check = { [folder] in try folder.requireCurrent(origin) }
        return try folder.naming(if: check) { naming in
            try HeaderUpdate.run(at: .name(file, in: place), naming: naming) { ends, source in
                guard let slots = old.slots(in: ends) else {
                    throw VaultError(.headerDamaged, "both header copies are damaged", offset: 0)
                }
                guard !isCurrent(ends) else { return nil }
                let copy = try verified(ends, of: source)
                // The keys are needed here alone. A lock waits for no disk.
                return try gate.withKeys { keys in
                    try HeaderUpdate.decide(
                        ends,
                        KeyChange(
                            adding: try keys.successors(of: copy, in: protection), removing: SlotSelection(ids: slots)),
                        with: Credentials(keys, context: opener.context))
                }
            }
        }
    }

    /// Opens an item and its manifest, as before each rotation (ROT-3).
    ///
    /// - Returns: the header copy that counts.
    private func verified(_ ends: ContainerEnds, of source: any ByteSource) throws -> HeaderCopy {
        let header: ItemOpener.Header
        do {
            header = try opener.open(ends)
        } catch {
            throw try opener.meaning(of: error)
        }
        defer {
            header.keys.end()
            handles.remove([header.entry])
        }
        let end = try header.keys.placeOfEnd()
        _ = try header.keys.open(end: source.bytes(at: end.offset, count: end.count), of: source)
        return header.copy
    }
}

extension StoreFolder {
    /// Calls `body` with the file of each item and its folder, in `items` first and then in `lost`: what a repair moves
    /// meanwhile is met in one of them. A file that is removed meanwhile is left out.
    func forEachFile(_ body: (FilePath, FileDescriptor) throws -> Void) throws {
        func call(_ names: [FilePath], _ folder: FileDescriptor) throws {
            for name in names {
                do {
                    try body(name, folder)
                } catch {
                    let isGone = (error as? VaultError)?.systemError == .noSuchFileOrDirectory
                    guard isGone || (error as? StoreError)?.code == .noSuchItem else { throw error }
                }
            }
        }
        try call(items.names(ItemName.isFile), items)
        guard let lost = try lostItems() else { return }
        defer { lost.closeQuietly() }
        try call(lost.names { !$0.starts(with: OutputFile.temporaryPrefix.utf8) }, lost)
    }
}
