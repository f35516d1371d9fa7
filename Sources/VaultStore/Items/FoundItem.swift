import SystemPackage
import VaultFile
import VaultFormat
import VaultStream

/// What opens items: the keys that are available, and the context of the store.
struct ItemOpener: Sendable {
    let context: Context
    let index: SymmetricKey
    let gate: KeyGate
    let handles: Handles
    let folder: StoreFolder

    init(_ card: StoreCard, _ gate: KeyGate, _ handles: Handles, _ folder: StoreFolder) {
        context = Context(unchecked: Array("vaultfile store item \(card.storeID)".utf8))
        index = card.index
        self.gate = gate
        self.handles = handles
        self.folder = folder
    }

    /// A header that a key has opened. Its keys are known to `Handles`, so that a lock finds them.
    struct Header: Sendable {
        let keys: ItemKeys
        let label: ItemName?
        /// The copy that counts.
        let copy: HeaderCopy
        /// Whether a slot of it is for a public key of the class `unlessOpen`, and that is the class of the item.
        let isUnsettled: Bool
        /// Whether a slot of it is neither of a class nor a label: someone has added it.
        let hasForeignSlot: Bool
        let health: Health
        /// What `Handles` calls the keys.
        let entry: UInt64
    }

    /// Opens the header of an item. Keys are used only here, where nothing is read, so `KeyGate.change` waits for no disk.
    func open(_ ends: ContainerEnds) throws -> Header {
        try gate.withKeys { available in
            var trials = SlotTrials(Credentials(available, context: context))
            let opening: ContainerOpening
            do {
                opening = try ContainerOpening(ends, trials: &trials)
            } catch let error as VaultError {
                throw self.error(try Self.header(ends), available, error)
            }
            let copy = opening.current
            guard let protection = available.protection(of: copy) else {
                // Not `storeForged`: a plain rotation leaves this for a moment, or when it is interrupted, between two
                // header copies. A `VaultError` is judged again (SEEK-18), and a repair moves no such item.
                throw VaultError(.wrongKey, "the item has no slot of a class of this store")
            }
            // An older copy of the header may have a slot of a weaker class.
            guard available.current[protection] != nil else { throw StoreError.locked(protection) }
            let label = try ItemLabel.name(in: copy, opening.fileKey)
            let isUnsettled =
                protection == .unlessOpen
                && copy.slots.contains { available.publics.have($0, under: copy.preamble) }
            let keys = ItemKeys(opening, protection)
            // Before a key of the class can be dropped: `lock` must find these keys.
            return Header(
                keys: keys, label: label, copy: copy, isUnsettled: isUnsettled,
                hasForeignSlot: !copy.slots.allSatisfy {
                    ItemLabel.isLabel($0) || available.protection(of: $0, under: copy.preamble) != nil
                },
                health: opening.health, entry: handles.add(keys))
        }
    }

    /// A header, for the error only: nothing has authenticated it.
    private static func header(_ ends: ContainerEnds) throws -> HeaderCopy? {
        let visible = try VisibleHeaders(ends)
        return visible.front ?? visible.tail
    }

    /// Why no key opens this header. A sealed process knows no IDs of the keybag, and one that has only what the system
    /// keeps may not know those of `complete`. Those of `unlessOpen` are in the card, or there is no such class.
    func error(_ header: HeaderCopy?, _ keys: borrowing AvailableKeys, _ error: VaultError) -> any Error {
        guard error.code == .wrongKey else { return error }
        if let header, let protection = keys.protection(of: header), keys.current[protection] == nil {
            return StoreError.locked(protection)
        }
        let known = Set(keys.classes.values).union([.unlessOpen])
        let unknown = ItemProtection.allCases.filter { !known.contains($0) }.min()
        return unknown.map { UnknownSlots(protection: $0) } ?? error
    }

    /// No slot of an item is of a key whose ID is known, and the IDs of this class are not known.
    private struct UnknownSlots: Error {
        let protection: ItemProtection
    }

    /// What an error of opening means. An item may be for a key that came after the card or the keybag was read.
    func meaning(of error: any Error) throws -> any Error {
        let unknown = error as? UnknownSlots
        guard unknown != nil || (error as? VaultError)?.code == .wrongKey else { return error }
        let (card, keybag) = gate.withKeys { ($0.cardFile, $0.keybagFile) }
        guard try folder.leads(to: card) else { return StoreError.keysChanged }
        if let keybag, try !folder.leads(to: keybag) { return StoreError.keysChanged }
        return unknown.map { StoreError.locked($0.protection) } ?? error
    }
}

/// A file that is read at once: most items are small, and each part of a container would take a call.
///
/// A second reading gives the same bytes (SEEK-18). That is right for a file of this size: a rotation does not change
/// it, but makes another file, because its headers have less than 4096 bytes.
private struct SmallFile: ByteSource {
    private static let most: UInt64 = 8191
    private let bytes: MemorySource

    /// Nil if the file is not small.
    init?(_ file: FileSource) throws {
        let size = try file.size()
        guard size <= Self.most else { return nil }
        bytes = MemorySource(try file.bytes(at: 0, count: Int(size)))
    }

    func size() -> UInt64 { bytes.size() }

    func read(at offset: UInt64, into buffer: inout MutableSpan<UInt8>) -> Int { bytes.read(at: offset, into: &buffer) }
}

/// An item that was found by its file name and opened.
struct FoundItem {
    let item: StoreItem
    let source: FileSource
    /// What its bytes are read from.
    let content: any ByteSource
    let keys: ItemKeys
    /// The SHA-256 of its content, if the manifest has one.
    let digest: [UInt8]?
    /// Whether its header has a label. Without one, its name is in the manifest only.
    let hasLabel: Bool
    /// Whether it has a slot for a public key of its class, as a program makes it that is sealed or locked (STORE-33).
    let isUnsettled: Bool
    /// The state of its header copies.
    let health: Health
    /// Whether it has slots or members that a store does not make. To encrypt it again would drop them, and with a slot
    /// the access of whom it is for.
    let hasForeignParts: Bool
    private let entries: [UInt64]
    private let handles: Handles

    /// Opens an item.
    ///
    /// - Parameter name: the name that leads to the file; nil for any.
    /// - Throws: `noSuchItem`, `locked`, `storeForged`; `VaultError` for what is wrong with the container.
    init(_ file: FilePath, in folder: FileDescriptor, expecting name: ItemName?, by opener: ItemOpener) throws {
        source = try Self.source(file, in: folder)
        content = try SmallFile(source) ?? source
        handles = opener.handles
        var entries: [UInt64] = []
        do {
            let opened = try ContainerEnds.judge(
                content, isFinal: { (found: ItemOpener.Header) in found.health == .intact }
            ) { ends in
                let header = try opener.open(ends)
                entries.append(header.entry)
                return header
            }
            let keys = opened.keys
            let place = try keys.placeOfEnd()
            let manifest = try keys.open(end: try content.bytes(at: place.offset, count: place.count), of: content)
            let found = try Self.name(opened.label, manifest, file, opener.index)
            guard name == nil || name == found else {
                throw StoreError(.storeForged, "the item has the name of another")
            }
            self.keys = keys
            self.entries = entries
            digest = manifest.digest
            hasLabel = opened.label != nil
            isUnsettled = opened.isUnsettled
            health = opened.health
            hasForeignParts =
                opened.hasForeignSlot
                || ![Metadata(), Metadata(itemPath: found.bytes)].contains(manifest.metadata)
            item = StoreItem(
                name: found.text, protection: keys.protection, length: manifest.plaintextLength,
                version: StoreItem.Version(opened.copy.preamble))
        } catch {
            handles.remove(entries)
            throw try opener.meaning(of: error)
        }
    }

    /// Drops the keys.
    func end() {
        keys.end()
        handles.remove(entries)
    }

    /// Opens the file of an item.
    static func source(_ file: FilePath, in folder: FileDescriptor) throws -> FileSource {
        do {
            return try FileSource(at: .name(file, in: folder))
        } catch {
            throw error.systemError == .noSuchFileOrDirectory ? StoreError.noSuchItem : error
        }
    }

    /// The name of an item, which must lead to its file (STORE-13). Otherwise an attacker who can write the folder could
    /// exchange two items.
    private static func name(
        _ label: ItemName?, _ manifest: Manifest, _ file: FilePath, _ index: SymmetricKey
    ) throws(StoreError) -> ItemName {
        guard let name = label ?? manifest.metadata.itemPath.flatMap({ ItemName(bytes: $0) }) else {
            throw StoreError(.storeForged, "the item has no name")
        }
        guard name.file(index) == file else { throw StoreError(.storeForged, "the item is not under its own name") }
        return name
    }
}
