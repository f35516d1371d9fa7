import Synchronization
import SystemPackage
import VaultFile
import VaultFormat
import VaultStream

extension VaultStore {
    /// How often a write begins again because other programs write the same item.
    private static let patience = 20

    /// Writes an item. It is durable when this returns.
    ///
    /// - Parameters:
    ///   - name: of the item.
    ///   - bytes: its content.
    ///   - protection: its class. A new item needs one. An item that is replaced keeps its class if this is nil.
    ///   - setProtection: whether an item of another class may be replaced.
    ///   - condition: when to write.
    /// - Returns: the item.
    /// - Throws: what `withWriter` throws.
    @discardableResult
    public func write(
        _ name: String, _ bytes: Span<UInt8>, protection: ItemProtection? = nil, setProtection: Bool = false,
        if condition: WriteCondition = .any
    ) throws -> StoreItem {
        try withWriter(name, protection: protection, setProtection: setProtection, if: condition) {
            try $0.write(bytes)
        }
    }

    /// Writes an item piece by piece. It appears, durable, when `body` has returned. If `body` throws, nothing changes.
    ///
    /// - Parameters:
    ///   - name: of the item.
    ///   - asked: its class, as for `write`.
    ///   - setProtection: whether an item of another class may be replaced.
    ///   - condition: when to write. It is judged at the beginning and at the end.
    ///   - body: gets a writer that is valid until `body` returns.
    /// - Returns: the item.
    /// - Throws: ``StoreError`` with `locked`, `noKeybag`, `noPublicKey`, `itemExists`, `itemChanged`, `protectionNeeded`,
    ///   `gone` or `invalidName`; `keysChanged` if another program has changed the keys of the store meanwhile; the reason
    ///   why an item that is there does not open, unless a class is named and `setProtection`
    ///   is given; `VaultError` with `outputFailed`, `inUse`; what `body` throws. If only the folder could not be
    ///   synced, the item is written, and may be lost in a power failure.
    public func withWriter(
        _ name: String, protection asked: ItemProtection? = nil, setProtection: Bool = false,
        if condition: WriteCondition = .any, _ body: (ItemWriter) throws -> Void
    ) throws -> StoreItem {
        var draft = try draft(name, asked, setProtection, condition)
        defer { draft.pending.drop() }
        let item = try fill(&draft, body)
        try draft.pending.sync()
        try appear(&draft)
        try folder.syncItems()
        return item
    }

    func draft(
        _ name: String, _ protection: ItemProtection?, _ maySet: Bool, _ condition: WriteCondition
    ) throws -> Draft {
        let name = try ItemName(name)
        try folder.refuseGone()
        let lockCount = changes.withLock { $0.lockCount }
        return try Draft(name, protection, maySet: maySet, if: condition, in: folder, by: opener, since: lockCount)
    }

    /// Encrypts a content into the file of a draft.
    func fill(_ draft: inout Draft, _ body: (ItemWriter) throws -> Void) throws -> StoreItem {
        let (writer, version, entry) = try writer(&draft)
        defer {
            writer.end()
            handles.remove([entry])
        }
        try body(writer)
        let length = try writer.finish()
        return StoreItem(name: draft.name.text, protection: draft.protection, length: length, version: version)
    }

    /// A writer that `lock` can revoke, and what `Handles` calls it.
    func writer(_ draft: inout Draft) throws -> (ItemWriter, StoreItem.Version, UInt64) {
        // The key is needed only for the slot.
        let made = try gate.withKeys { [draft] keys -> (ItemWriter, StoreItem.Version, UInt64, KeyFile?)? in
            guard draft.protection.states(for: .write).contains(keys.state),
                let (recipient, origin) = keys.recipient(for: draft.protection)
            else { return nil }
            var options = SealOptions()
            options.context = opener.context
            options.metadata = Metadata(itemPath: draft.name.bytes)
            let writer = try VaultWriter(for: [recipient, ItemLabel.recipient(draft.name)], options: options)
            let version = StoreItem.Version(writer.preamble)
            let item = ItemWriter(writer, draft.protection, to: draft.pending)
            return (item, version, handles.add(item), origin)
        }
        if let (item, version, entry, origin) = made {
            draft.origin = origin
            return (item, version, entry)
        }
        try folder.requireKeybag()
        throw draft.protection == .unlessOpen ? StoreError.noPublicKey : StoreError.locked(draft.protection)
    }

    /// Gives an item its name, unless its class was locked meanwhile: nothing may appear after that. `lock` does not wait
    /// for a disk, so an item whose rename has begun may still appear.
    ///
    /// - Parameters:
    ///   - check: called under the lock of the store before the item has its name.
    ///   - finish: called under the lock of the store when the item has its name.
    func appear(_ draft: inout Draft, if check: () throws -> Void = {}, then finish: () throws -> Void = {}) throws {
        for _ in 1..<Self.patience {
            let hasAppeared = try folder.withLock { [draft] in
                try check()
                guard try appearOnce(draft) else { return false }
                try finish()
                return true
            }
            if hasAppeared { return }
            try draft.judgeAgain(in: folder, by: opener)
        }
        throw StoreError(.itemChanged, "other programs keep writing this item")
    }

    /// - Returns: false if something else has the name than when it was judged.
    private func appearOnce(_ draft: Draft) throws -> Bool {
        // A lock that was followed by an unlock has ended the write, too.
        let wasLocked = draft.protection == .complete && changes.withLock { $0.lockCount } != draft.lockCount
        guard canWrite(draft.protection), !wasLocked else { throw StoreError.locked(draft.protection) }
        return try draft.appear(in: folder)
    }

    // MARK: Removing

    /// Removes an item. It needs no key of its class. The removal is durable when this returns.
    ///
    /// - Parameters:
    ///   - name: of the item.
    ///   - condition: when to remove it.
    /// - Throws: ``StoreError`` with `noSuchItem`, `itemExists`, `itemChanged`, `gone` or `invalidName`; `VaultError` with
    ///   `outputFailed`, `inUse`.
    public func remove(_ name: String, if condition: WriteCondition = .any) throws {
        let name = try ItemName(name)
        let file = name.file(card.index)
        let isThere = try folder.withLock {
            guard try folder.items.status(of: file) != nil else { return false }
            try condition.check(isThere: true) {
                try StoreItem.Version(claimedBy: FoundItem.source(file, in: folder.items))
            }
            return try folder.items.remove(file)
        }
        // Also if there is none: an earlier removal may have failed here.
        try folder.syncItems()
        guard isThere else { throw StoreError.noSuchItem }
    }

    // MARK: Many at once

    /// Many writes with few syncs.
    public struct Batch: ~Copyable {
        /// The most items that get their names together. Each has two open files: many systems allow a program 1024.
        static let most = 128

        private let store: VaultStore
        private var drafts: [Draft] = []
        private var files: Set<FilePath> = []

        fileprivate init(_ store: VaultStore) {
            self.store = store
        }

        /// Adds an item to the batch. The parameters are those of ``VaultStore/write(_:_:protection:setProtection:if:)``.
        ///
        /// - Parameters:
        ///   - name: of the item.
        ///   - bytes: its content.
        ///   - protection: its class.
        ///   - setProtection: whether an item of another class may be replaced.
        ///   - condition: when to write.
        /// - Returns: the item, as it will be.
        /// - Throws: what `write` throws; also what giving earlier items their names throws.
        @discardableResult
        public mutating func write(
            _ name: String, _ bytes: Span<UInt8>, protection: ItemProtection? = nil, setProtection: Bool = false,
            if condition: WriteCondition = .any
        ) throws -> StoreItem {
            // Two drafts of one item would each take the other for a change by another program.
            if let file = try? ItemName(name).file(store.card.index), files.contains(file) { try finish() }
            var draft = try store.draft(name, protection, setProtection, condition)
            let item = try store.fill(&draft) { try $0.write(bytes) }
            drafts.append(draft)
            files.insert(draft.file)
            if drafts.count == Self.most { try finish() }
            return item
        }

        /// Gives the items so far their names, durably.
        fileprivate mutating func finish() throws {
            guard !drafts.isEmpty else { return }
            let group = exchange(&drafts, with: [])
            files = []
            defer { for draft in group { draft.pending.drop() } }
            for draft in group { try draft.pending.sync() }
            var late: [Draft] = []
            try store.folder.withLock {
                late = try group.filter { try !store.appearOnce($0) }
            }
            for var draft in late {
                try draft.judgeAgain(in: store.folder, by: store.opener)
                try store.appear(&draft)
            }
            try store.folder.syncItems()
        }
    }

    /// Writes many items with few syncs: about one for each item and one for each 128 items. All are durable when this
    /// returns. It is not one transaction: if it fails, any of the items may have been written, each as a whole.
    ///
    /// - Parameter body: writes the items.
    /// - Throws: what `write` throws, and what `body` throws.
    public func batch(_ body: (inout Batch) throws -> Void) throws {
        var batch = Batch(self)
        try body(&batch)
        try batch.finish()
    }
}
