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
        /// The files of items that were moved to `lost/`, with their names there.
        public internal(set) var moved: [(file: String, place: String)] = []
        /// Unfinished files that killed programs have left, and that were removed.
        public internal(set) var removed: [String] = []
    }

    /// Reads and authenticates every item whose class is available. Writes nothing.
    ///
    /// - Returns: what was found. It is not an error if items are damaged.
    /// - Throws: ``StoreError`` with `gone`; `VaultError` with `inputFailed`.
    public func check() throws -> Findings {
        try folder.refuseGone()
        var findings = Findings()
        for file in try folder.items.names(ItemName.isFile) {
            do {
                let found = try FoundItem(file, in: folder.items, expecting: nil, by: opener)
                defer { found.end() }
                try ItemReader(found).readAll { _ in }
                findings.intact += 1
            } catch let error as StoreError where error.code == .locked {
                findings.lockedCount += 1
            } catch let error as StoreError where error.code == .noSuchItem {
                continue
            } catch {
                findings.damaged.append((file.string, error))
            }
        }
        return findings
    }

    /// Checks every item, moves those that are not under their own name to the folder `lost`, and removes the unfinished
    /// files of killed programs. It deletes no item, and an item that no key opens stays where it is.
    ///
    /// - Returns: what was found and done.
    /// - Throws: what `check` throws; `VaultError` with `outputFailed`, `inUse`.
    public func repair() throws -> Findings {
        var findings = try check()
        for (file, error) in findings.damaged {
            guard (error as? StoreError)?.code == .storeForged else { continue }
            let name = FilePath(file)
            let seen = try FoundItem.source(name, in: folder.items).identity()
            let place: FilePath? = try folder.withLock {
                // Another program may have written the item anew meanwhile.
                guard try folder.items.status(of: name)?.identity == seen else { return nil }
                return try moveToLost(name)
            }
            if let place { findings.moved.append((file, place.string)) }
        }
        findings.removed = try folder.withLock {
            LeftoverFiles.remove(in: folder.items, keeping: { _ in false }).map(\.string)
        }
        return findings
    }

    /// Gives an item its new name first: at every moment it has one.
    private func moveToLost(_ file: FilePath) throws -> FilePath {
        try folder.root.makeFolder(StoreFolder.lostFolder)
        let lost = try FileDescriptor.folder(StoreFolder.lostFolder, in: folder.root)
        defer { lost.closeIgnoringErrors() }
        var number = 0
        var place = file
        while try !folder.items.link(file, as: place, in: lost) {
            number += 1
            place = FilePath("\(file.string).\(number)")
        }
        try lost.synchronizeFolder()
        try folder.items.remove(file)
        try folder.syncItems()
        return place
    }
}
