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

    init(_ card: StoreCard, _ gate: KeyGate, _ handles: Handles) {
        context = Context(unchecked: Array("vaultfile store item \(card.storeID)".utf8))
        index = card.index
        self.gate = gate
        self.handles = handles
    }

    /// The class of an item with these slots, of those whose IDs are known: the weakest, because its holders can open
    /// the item.
    func protection(_ slots: [Slot], _ keys: borrowing AvailableKeys) -> ItemProtection? {
        slots.filter { $0.kind == .symmetric }.compactMap { keys.classes[$0.keyID] }.min()
    }

    /// Why no key opens a header with these slots. A sealed process knows no IDs of the keybag, and one that has only
    /// what the system keeps may not know those of `complete`.
    func error(_ slots: [Slot], _ keys: borrowing AvailableKeys, _ error: VaultError) -> any Error {
        guard error.code == .wrongKey else { return error }
        if let protection = protection(slots, keys), keys.current[protection] == nil {
            return StoreError.locked(protection)
        }
        let known = Set(keys.classes.values)
        return ItemProtection.allCases.filter { !known.contains($0) }.min().map(StoreError.locked) ?? error
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
            var label: ItemName?
            var preamble: Preamble?
            // Keys are used only where nothing is read, so `KeyGate.change` waits for no disk.
            let keys = try ContainerEnds.judge(content, isFinal: { (found: (ItemKeys, Health)) in found.1 == .intact })
            {
                ends in
                try opener.gate.withKeys { available in
                    var trials = SlotTrials(Credentials(available, context: opener.context))
                    let opening: ContainerOpening
                    do {
                        opening = try ContainerOpening(ends, trials: &trials)
                    } catch let error as VaultError {
                        throw opener.error(try Self.slots(ends), available, error)
                    }
                    guard let protection = opener.protection(opening.current.slots, available) else {
                        throw StoreError(.storeForged, "the item has no slot of a class of this store")
                    }
                    // An older copy of the header may have a slot of a weaker class.
                    guard available.current[protection] != nil else { throw StoreError.locked(protection) }
                    label = try ItemLabel.name(in: opening.current, opening.fileKey)
                    preamble = opening.current.preamble
                    let health = opening.health
                    let keys = ItemKeys(opening, protection)
                    // Before a key of the class can be dropped: `lock` must find these keys.
                    entries.append(opener.handles.add(keys))
                    return (keys, health)
                }
            }.0
            let place = try keys.placeOfEnd()
            let manifest = try keys.open(end: try content.bytes(at: place.offset, count: place.count), of: content)
            let found = try Self.name(label, manifest, file, opener.index)
            guard name == nil || name == found, let preamble else {
                throw StoreError(.storeForged, "the item has the name of another")
            }
            self.keys = keys
            self.entries = entries
            digest = manifest.digest
            hasLabel = label != nil
            item = StoreItem(
                name: found.text, protection: keys.protection, length: manifest.plaintextLength,
                version: StoreItem.Version(preamble))
        } catch {
            handles.remove(entries)
            throw error
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

    /// The slots of a header, for the error only: nothing has authenticated them.
    private static func slots(_ ends: ContainerEnds) throws -> [Slot] {
        let visible = try VisibleHeaders(ends)
        return (visible.front ?? visible.tail)?.slots ?? []
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
