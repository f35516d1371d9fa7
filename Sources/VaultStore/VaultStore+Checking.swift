import SystemPackage
import VaultFile
import VaultFormat

extension VaultStore {
    /// What a check has found.
    public struct Findings: Sendable {
        /// How many items are intact.
        public internal(set) var intact = 0
        /// How many items of classes that are not available there are. Nothing of them was checked.
        public internal(set) var lockedCount = 0
        /// The files of items that are not as they should be, and why.
        public internal(set) var damaged: [(file: String, error: any Error)] = []
        /// The files of items whose two header copies are not both intact, and how. Their content is right, and they are
        /// among the intact ones.
        public internal(set) var unhealthy: [(file: String, health: Health)] = []
        /// The files of those whose header copies were made equal again.
        public internal(set) var mended: [String] = []
        /// The names of items without a label that opens, as after a plain `rotate --remove others`. They open and are
        /// among the intact ones, but each list has to open them.
        public internal(set) var unlabelled: [String] = []
        /// The names of those that were given a label.
        public internal(set) var labelled: [String] = []
        /// The names of items of the class `unlessOpen` that a sealed or locked program has written. They open and are
        /// among the intact ones; ``VaultStore/settle()`` encrypts them with the key of the class.
        public internal(set) var unsettled: [String] = []
        /// The names of those that were settled.
        public internal(set) var settled: [String] = []
        /// The names of those without a label or not settled that a repair leaves as they are: they have slots or members
        /// that a store does not make, and to encrypt them again would drop these, and with a slot someone's access.
        public internal(set) var foreign: [String] = []
        /// The files of items that were moved to `lost/`, with their names there.
        public internal(set) var moved: [(file: String, place: String)] = []
        /// The files of items that should have been moved, encrypted again or mended, and why they were not.
        public internal(set) var failed: [(file: String, error: any Error)] = []
        /// The paths, in the folder of the store, of unfinished files that killed programs have left, and that were
        /// removed.
        public internal(set) var removed: [String] = []
    }

    /// Reads and authenticates every item whose class is available. Writes nothing.
    ///
    /// - Returns: what was found. It is not an error if items are damaged.
    /// - Throws: ``StoreError`` with `gone` or `keysChanged`; `VaultError` with `inputFailed`.
    public func check() throws -> Findings {
        var findings = Findings()
        (findings.lockedCount, findings.damaged) = try forEachItem { file in
            let found = try FoundItem(file, in: folder.items, expecting: nil, by: opener)
            defer { found.end() }
            try ItemReader(found).readAll { _ in }
            findings.intact += 1
            if found.health != .intact { findings.unhealthy.append((file.string, found.health)) }
            if !found.hasLabel { findings.unlabelled.append(found.item.name) }
            if found.isUnsettled { findings.unsettled.append(found.item.name) }
            let isWanted = !found.hasLabel || found.isUnsettled
            if isWanted, found.hasForeignParts { findings.foreign.append(found.item.name) }
        }
        return findings
    }

    /// Checks every item, moves those that are not under their own name to the folder `lost`, encrypts those without a
    /// label and those that are not settled again, and removes the unfinished files of killed programs. It deletes no
    /// item, and an item that no key opens stays where it is. An item that has slots of others is not encrypted again.
    ///
    /// - Returns: what was found and done. What fails for one item keeps no other from its repair.
    /// - Throws: what `check` throws; `VaultError` with `outputFailed`, `inUse`.
    public func repair() throws -> Findings {
        var findings = try check()
        for (file, error) in findings.damaged {
            guard (error as? StoreError)?.code == .storeForged else { continue }
            try attempt(file, &findings) { findings in
                let place = try moveIfForged(FilePath(file))
                if let place { findings.moved.append((file, place.string)) }
            }
        }
        let (unlabelled, unsettled) = (Set(findings.unlabelled), Set(findings.unsettled))
        let unhealthy = Set(findings.unhealthy.map(\.file))
        for name in unlabelled.union(unsettled).subtracting(findings.foreign).sorted() {
            let file = try fileName(of: name)
            try attempt(file, &findings) { findings in
                guard try renew(name) else { return }
                if unlabelled.contains(name) { findings.labelled.append(name) }
                if unsettled.contains(name) { findings.settled.append(name) }
                // Its new container has two equal copies.
                if unhealthy.contains(file) { findings.mended.append(file) }
            }
        }
        let renewed = Set(findings.mended)
        for (file, health) in findings.unhealthy where health != .copiesConflict && !renewed.contains(file) {
            try attempt(file, &findings) { findings in
                if try mend(FilePath(file)) { findings.mended.append(file) }
            }
        }
        findings.removed = try folder.withLock {
            try removeLeftovers()
        }
        return findings
    }

    /// Repairs one item. An error is one of this item, unless it would come back with each other one.
    private func attempt(_ file: String, _ findings: inout Findings, _ body: (inout Findings) throws -> Void) throws {
        do {
            try body(&findings)
        } catch {
            let endsAll: [StoreError.Code] = [.gone, .keysChanged]
            if (error as? StoreError).map({ endsAll.contains($0.code) }) == true { throw error }
            if (error as? VaultError)?.code == .cancelled { throw error }
            findings.failed.append((file, error))
        }
    }

    /// Removes what killed programs have left in the three folders. One of these files may be a whole copy of an item that
    /// is removed later, and the key of its class opens it.
    ///
    /// The change of a card or a keybag erases what it finds under its own reserved name, with the locks of the pair, so
    /// these names stay in the root.
    private func removeLeftovers() throws -> [String] {
        func remove(_ name: FilePath, _ place: FileDescriptor, reserved: Bool) -> [String] {
            LeftoverFiles.remove(in: place, reserved: reserved, keeping: { _ in false })
                .map { name.appending($0.components).string }
        }
        let removed =
            remove("", folder.root, reserved: false) + remove(StoreFolder.itemsFolder, folder.items, reserved: true)
        guard let lost = try folder.lostItems() else { return removed }
        defer { lost.closeQuietly() }
        return removed + remove(StoreFolder.lostFolder, lost, reserved: true)
    }

    /// What ``settle()`` has done.
    public struct Settlement: Sendable {
        /// The names of the items that were settled.
        public internal(set) var settled: [String] = []
        /// The names of those that are left as they are, because they have slots or members that a store does not make.
        public internal(set) var foreign: [String] = []
        /// The files of items that do not open, and why. Those of locked classes are not among them.
        public internal(set) var damaged: [(file: String, error: any Error)] = []
    }

    /// Encrypts the items again that sealed or locked programs have written for the public key of the class
    /// `unlessOpen`, with the symmetric key of the class. Call it some time after an `unlock`, which writes nothing.
    /// Until then such items open with the private key. Each item is settled by itself, durably; call it again after a
    /// crash.
    ///
    /// - Returns: what was done. An item that another program changes meanwhile is left for the next time.
    /// - Throws: ``StoreError`` with `locked` if the store is not unlocked, `gone`; `VaultError` with `inputFailed`,
    ///   `outputFailed`, `inUse`.
    @discardableResult
    public func settle() throws -> Settlement {
        var settlement = Settlement()
        var names: [String] = []
        guard [.unlocked, .closing].contains(state) else { throw StoreError.locked(.unlessOpen) }
        (_, settlement.damaged) = try forEachItem { file in
            let found = try FoundItem(file, in: folder.items, expecting: nil, by: opener)
            defer { found.end() }
            guard found.isUnsettled else { return }
            guard !found.hasForeignParts else { return settlement.foreign.append(found.item.name) }
            names.append(found.item.name)
        }
        for name in names.sorted() {
            guard canRead(.unlessOpen) else { throw StoreError.locked(.unlessOpen) }
            do {
                if try renew(name) { settlement.settled.append(name) }
            } catch let error as VaultError where error.code != .outputFailed && error.code != .inUse {
                settlement.damaged.append((try fileName(of: name), error))
            }
        }
        return settlement
    }

    /// - Returns: the name in `lost`; nil if another program has written the item anew meanwhile.
    private func moveIfForged(_ file: FilePath) throws -> FilePath? {
        // Open until the end, so that no other file gets its identity.
        let source = try FoundItem.source(file, in: folder.items)
        let isForged = code { try FoundItem(file, in: folder.items, expecting: nil, by: opener).end() } == .storeForged
        guard isForged else { return nil }
        do {
            return try whileUnchanged(source, file) { check in
                try folder.withLock {
                    try check()
                    return try moveToLost(file, if: check)
                }
            }
        } catch let error as StoreError where error.code == .itemChanged {
            return nil
        }
    }

    /// Encrypts an item again that has no label or is not settled.
    ///
    /// - Returns: false if another program has changed the item meanwhile, or its class was locked.
    private func renew(_ name: String) throws -> Bool {
        do {
            let found = try found(name)
            defer { found.end() }
            guard !found.hasLabel || found.isUnsettled, !found.hasForeignParts else { return false }
            try rewrite(found, as: found.item.protection)
            return true
        } catch let error as StoreError where [.noSuchItem, .itemChanged, .locked].contains(error.code) {
            return false
        }
    }

    /// Makes the header copies of an item equal, as a plain repair does (13.2).
    ///
    /// - Returns: false if another program has changed the item meanwhile, its class was locked, or its keys cannot tell
    ///   which copy counts.
    private func mend(_ file: FilePath) throws -> Bool {
        do {
            let isMended = try folder.naming { naming in
                try HeaderUpdate.run(at: .name(file, in: folder.items), naming: naming) { ends, _ in
                    let header = try opener.open(ends)
                    defer {
                        header.keys.end()
                        handles.remove([header.entry])
                    }
                    guard header.health != .intact else { return nil }
                    return try gate.withKeys { keys in
                        try HeaderUpdate.decide(ends, nil, with: Credentials(keys, context: opener.context))
                    }
                }
            }
            try folder.syncItems()
            return isMended
        } catch let error as StoreError where [.noSuchItem, .locked].contains(error.code) {
            return false
        } catch let error as VaultError {
            let isLeft = [.inUse, .wrongKey, .rotationUnfinished, .copiesConflict].contains(error.code)
            guard isLeft || error.systemError == .noSuchFileOrDirectory else { throw error }
            return false
        }
    }

    private func code(_ body: () throws -> Void) -> StoreError.Code? {
        do {
            try body()
            return nil
        } catch {
            return (error as? StoreError)?.code
        }
    }

    /// Gives an item its new name first: at every moment it has one.
    ///
    /// - Parameter check: called before the old name is removed. If it throws, the item keeps both names.
    private func moveToLost(_ file: FilePath, if check: () throws -> Void) throws -> FilePath {
        try folder.root.makeFolder(StoreFolder.lostFolder, keepingOwner: true)
        let lost = try FileDescriptor.folder(StoreFolder.lostFolder, in: folder.root)
        defer { lost.closeQuietly() }
        var number = 0
        var place = file
        while try !folder.items.link(file, as: place, in: lost) {
            number += 1
            place = FilePath("\(file.string).\(number)")
        }
        try lost.synchronizeFolder()
        try check()
        try folder.items.remove(file)
        try folder.syncItems()
        return place
    }
}
