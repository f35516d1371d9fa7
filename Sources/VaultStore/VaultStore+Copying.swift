import SystemPackage
import VaultFile
import VaultFormat
import VaultStream

/// Changes that encrypt the content of an item again, under a new file key: its name and its label are made once, with
/// the container (STORE-25, STORE-26).
extension VaultStore {
    /// Gives an item another name. It keeps its class. Its content is encrypted again, so this costs as much as writing
    /// it. The move is durable when this returns.
    ///
    /// If the machine fails meanwhile, the item can have both names. Then this call says `itemExists` when it is made
    /// again; remove one of the two.
    ///
    /// - Parameters:
    ///   - name: of the item.
    ///   - other: its new name.
    ///   - condition: what the new name must mean.
    /// - Returns: the item under its new name. It has another version.
    /// - Throws: ``StoreError`` with `noSuchItem`, `locked`, `storeForged`, `gone`, `invalidName`; `itemExists` if both
    ///   names are the same, or something has the new name and `condition` does not allow that; `itemChanged` if the item
    ///   was changed meanwhile; what reading the item and writing it throws.
    @discardableResult
    public func move(_ name: String, to other: String, if condition: WriteCondition = .absent) throws -> StoreItem {
        let found = try found(name)
        defer { found.end() }
        guard try ItemName(other) != ItemName(name) else {
            throw StoreError(.itemExists, "the item has this name already")
        }
        let old = try ItemName(name).file(card.index)
        var draft = try draft(other, found.item.protection, true, condition)
        defer { draft.pending.drop() }
        let item = try copy(found, into: &draft)
        try whileUnchanged(found.source, old) { check in
            try appear(&draft) {
                try requireReadable(found)
                try check()
            } then: {
                // Until the new name is durable, the item keeps the old one.
                try folder.syncItems()
                try check()
                try folder.items.remove(old)
            }
        }
        try folder.syncItems()
        return item
    }

    /// Runs `body`, which removes the name of an item, while no program of vaultfile changes the item. The store's lock
    /// alone does not keep out a plain rotation or edit: its change would be removed with the name, after it was
    /// reported to be durable. The lock of the item comes before that of the store, as in a rotation.
    ///
    /// - Parameter body: gets a check that the file still has its name, for programs that take no lock.
    /// - Throws: `itemChanged`; `VaultError` with `inUse` if another program is changing the item.
    func whileUnchanged<R>(
        _ source: FileSource, _ file: FilePath, _ body: (() throws -> Void) throws -> R
    ) throws -> R {
        try source.withSharedLock { isLocked in
            guard isLocked else { throw VaultError(.inUse, "another program is changing the item") }
            return try body {
                guard try folder.items.status(of: file)?.identity == source.identity() else {
                    throw StoreError(.itemChanged, "the item was changed meanwhile")
                }
            }
        }
    }

    /// Gives an item another class, stronger or weaker. Its content is encrypted again, so this costs as much as writing
    /// it: someone who could open it before has its old file key. The change is durable when this returns.
    ///
    /// Who has a copy of the old file and the key of the old class still opens that copy.
    ///
    /// - Parameters:
    ///   - protection: the new class. If the item has it already, nothing is done.
    ///   - name: of the item.
    ///   - condition: when to do it.
    /// - Returns: the item. Unless nothing was done, it has another version.
    /// - Throws: ``StoreError`` with `noSuchItem`, `locked` for the old or the new class, `noKeybag`, `storeForged`,
    ///   `gone`, `invalidName`, `itemExists`; `itemChanged` also if the item was changed meanwhile; what reading the item
    ///   and writing it throws.
    @discardableResult
    public func setProtection(
        _ protection: ItemProtection, of name: String, if condition: WriteCondition = .any
    ) throws -> StoreItem {
        let found = try found(name)
        defer { found.end() }
        try condition.check(isThere: true) { found.item.version }
        guard found.item.protection != protection else { return found.item }
        return try rewrite(found, as: protection)
    }

    /// Encrypts an item again, with a new label. Nothing changes if another program changes it meanwhile.
    @discardableResult
    func rewrite(_ found: FoundItem, as protection: ItemProtection) throws -> StoreItem {
        var draft = try draft(found.item.name, protection, true, .version(found.item.version))
        defer { draft.pending.drop() }
        let item = try copy(found, into: &draft)
        // After a lock nothing may become weaker, although its content was read before.
        try appear(&draft) { try requireReadable(found) }
        try folder.syncItems()
        return item
    }

    private func requireReadable(_ found: FoundItem) throws {
        guard canRead(found.item.protection) else { throw StoreError.locked(found.item.protection) }
    }

    private func copy(_ found: FoundItem, into draft: inout Draft) throws -> StoreItem {
        let item = try fill(&draft) { writer in
            try ItemReader(found).readAll { try writer.write($0) }
        }
        try draft.pending.sync()
        return item
    }
}
