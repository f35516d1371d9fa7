import SystemPackage
import VaultCrypto
import VaultFile
import VaultFormat
import VaultStream

extension VaultStore {
    func found(_ name: String) throws -> FoundItem {
        let name = try ItemName(name)
        try folder.refuseGone()
        return try FoundItem(name.file(card.index), in: folder.items, expecting: name, by: opener)
    }

    /// Opens an item for reading. Writes nothing.
    ///
    /// - Parameters:
    ///   - name: of the item.
    ///   - body: gets a reader that is valid until `body` returns.
    /// - Returns: what `body` returns.
    /// - Throws: ``StoreError`` with `noSuchItem`, `locked`, `storeForged`, `keysChanged`, `gone` or `invalidName`; what
    ///   opening a container throws; what `body` throws.
    public func withReader<R>(_ name: String, _ body: (ItemReader) throws -> R) throws -> R {
        let found = try found(name)
        defer { found.end() }
        return try body(ItemReader(found))
    }

    /// Reads a whole item into guarded memory.
    ///
    /// - Parameters:
    ///   - name: of the item.
    ///   - limit: the most bytes that it may have.
    /// - Throws: what `withReader` throws; `VaultError` with `limitExceeded` for a longer item, `memoryUnavailable`.
    public func read(_ name: String, atMost limit: Int) throws -> ItemBytes {
        try withReader(name) { reader in
            guard let count = Int(exactly: reader.item.length), count <= limit else {
                throw VaultError(.limitExceeded, "the item has \(reader.item.length) bytes, more than \(limit)")
            }
            var buffer = try SecretBuffer(count: count)
            var filled = 0
            try reader.readAll { piece in
                buffer.withMutableBytes { $0.replace(at: filled, with: piece) }
                filled += piece.count
            }
            return ItemBytes(buffer)
        }
    }

    /// What is known of an item without reading its content.
    ///
    /// - Parameter name: of the item.
    /// - Throws: what `withReader` throws.
    public func item(_ name: String) throws -> StoreItem {
        try withReader(name) { $0.item }
    }

    /// Whether there is an item of this name. It needs no key of its class.
    ///
    /// - Parameter name: of the item.
    /// - Throws: ``StoreError`` with `gone` or `invalidName`; `VaultError` with `inputFailed`.
    public func contains(_ name: String) throws -> Bool {
        try size(name) != nil
    }

    /// The bytes that an item takes on the disk; nil if there is no item of this name. It needs no key of its class.
    ///
    /// - Parameter name: of the item.
    /// - Throws: ``StoreError`` with `gone` or `invalidName`; `VaultError` with `inputFailed`.
    public func size(_ name: String) throws -> UInt64? {
        let name = try ItemName(name)
        try folder.refuseGone()
        return try folder.items.status(of: name.file(card.index))?.size
    }

    /// How many items there are, of all classes.
    ///
    /// - Throws: ``StoreError`` with `gone`; `VaultError` with `inputFailed`.
    public func count() throws -> Int {
        try folder.refuseGone()
        return try folder.items.names(ItemName.isFile).count
    }

    /// The items of a store, or of a part of it.
    public struct Listing: Sendable {
        /// Those whose names can be read, in the order of the bytes of their names. Only opening an item authenticates
        /// its length.
        public internal(set) var items: [StoreItem] = []
        /// How many items of classes that are not available there are. Their names cannot be read, so they are counted
        /// whatever `prefix` is.
        public internal(set) var lockedCount = 0
        /// The files of items that do not open for another reason, and why.
        public internal(set) var damaged: [(file: String, error: any Error)] = []
    }

    /// Lists items. Writes nothing.
    ///
    /// - Parameter prefix: what the names begin with; empty for all.
    /// - Throws: ``StoreError`` with `gone` or `keysChanged`; `VaultError` with `inputFailed`.
    public func list(prefix: String = "") throws -> Listing {
        let wanted = Array(prefix.utf8)
        var listing = Listing()
        (listing.lockedCount, listing.damaged) = try forEachItem { file in
            let item = try ListedItem.read(file, in: folder.items, by: opener)
            if item.name.utf8.starts(with: wanted) { listing.items.append(item) }
        }
        listing.items.sort { $0.name.utf8.lexicographicallyPrecedes($1.name.utf8) }
        return listing
    }

    /// Calls `body` with the file of each item.
    ///
    /// - Returns: for how many files it threw `locked`, and what it threw for others.
    func forEachItem(
        _ body: (FilePath) throws -> Void
    ) throws -> (lockedCount: Int, damaged: [(file: String, error: any Error)]) {
        try folder.refuseGone()
        var (lockedCount, damaged): (Int, [(file: String, error: any Error)]) = (0, [])
        for file in try folder.items.names(ItemName.isFile) {
            do {
                try body(file)
            } catch let error as StoreError where error.code == .locked {
                lockedCount += 1
            } catch let error as StoreError where error.code == .noSuchItem {
                // It was removed after the folder was read.
                continue
            } catch let error as StoreError where error.code == .keysChanged {
                throw error
            } catch {
                damaged.append((file.string, error))
            }
        }
        return (lockedCount, damaged)
    }
}
