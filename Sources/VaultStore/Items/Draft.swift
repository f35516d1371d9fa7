import SystemPackage
import VaultFile
import VaultFormat
import VaultStream

/// What is under the name of an item before it is written.
enum Standing {
    case nothing
    /// It opens, and has this class.
    case open(FileSource, ItemProtection, StoreItem.Version)
    /// It does not open, for this reason.
    case closed(FileSource, StoreItem.Version?, any Error)

    init(_ name: ItemName, _ file: FilePath, in folder: FileDescriptor, by opener: ItemOpener) throws {
        do {
            let found = try FoundItem(file, in: folder, expecting: name, by: opener)
            found.end()
            self = .open(found.source, found.item.protection, found.item.version)
        } catch let error as StoreError where error.code == .noSuchItem {
            self = .nothing
        } catch {
            let source: FileSource
            do {
                source = try FoundItem.source(file, in: folder)
            } catch let missing as StoreError where missing.code == .noSuchItem {
                // It is gone only now. The caller asks why the first look failed.
                throw error
            }
            self = .closed(source, try StoreItem.Version(claimedBy: source), error)
        }
    }

    /// The open file. While it is open, no other file can get its identity.
    var source: FileSource? {
        switch self {
        case .nothing: nil
        case .open(let source, _, _), .closed(let source, _, _): source
        }
    }

    private var version: StoreItem.Version? {
        switch self {
        case .nothing: nil
        case .open(_, _, let version): version
        case .closed(_, let version, _): version
        }
    }

    /// Judges a condition.
    ///
    /// - Throws: `itemExists`, `itemChanged`.
    func check(_ condition: WriteCondition) throws {
        try condition.check(isThere: source != nil) { version }
    }

    /// The class of the item that takes this place.
    ///
    /// - Parameters:
    ///   - asked: the class that the caller names.
    ///   - maySet: whether the caller agrees to another class than the item has.
    /// - Throws: `protectionNeeded`, `itemExists`, `locked`; the reason why an item does not open.
    func protection(_ asked: ItemProtection?, maySet: Bool) throws -> ItemProtection {
        switch self {
        case .nothing:
            guard let asked else { throw StoreError(.protectionNeeded, "a new item needs a class") }
            return asked
        case .open(_, let present, _):
            // Otherwise a program that names the wrong class by mistake would weaken an item.
            guard asked == nil || asked == present || maySet else {
                throw StoreError(.itemExists, "the item has another class")
            }
            return asked ?? present
        case .closed(_, _, let error as StoreError) where error.code == .locked:
            if error.protection == .unlessOpen {
                guard let asked else {
                    throw StoreError(.protectionNeeded, "the class of the item cannot be read, so it has to be named")
                }
                // Who cannot read it may still write it.
                if asked == .unlessOpen { return asked }
            }
            // Its class is not certain: a sealed program does not know the keys of the keybag. So it is not `itemExists`,
            // after which a person may remove the item.
            throw error
        case .closed(_, _, let error):
            // Nobody reads what is damaged. For another reason, such as keys that have changed, others may read it, and it
            // may have a stronger class.
            guard let asked, maySet, Self.isDamage(error) else { throw error }
            return asked
        }
    }

    private static let damage: Set<VaultError.Code> = [
        .notVaultfile, .headerDamaged, .headerMalformed, .headerForged, .copiesDisagree, .copiesConflict,
        .unexpectedState, .recordDamaged, .manifestMalformed, .manifestMismatch, .contentMismatch, .packingMalformed,
        .paddingNotZero, .indexMismatch, .footerDamaged, .truncated, .trailingData,
    ]

    private static func isDamage(_ error: any Error) -> Bool {
        if let error = error as? StoreError { return error.code == .storeForged }
        return (error as? VaultError).map { damage.contains($0.code) } ?? false
    }
}

extension StoreItem.Version {
    /// The version that a file claims to have; nil if it does not begin like a container.
    init?(claimedBy source: any ByteSource) throws {
        let bytes = try source.bytes(at: 0, count: Preamble.count)
        guard bytes.count == Preamble.count, bytes.starts(with: Preamble.magic) else { return nil }
        commitment = Array(bytes.suffix(32))
    }
}

/// An item that is written and has no name yet.
struct Draft {
    let name: ItemName
    let file: FilePath
    let pending: PendingFile
    let protection: ItemProtection
    private(set) var standing: Standing
    /// What the key of its class slot was read from.
    var origin: KeyFile?
    /// How often the store had been locked when the write began.
    let lockCount: Int
    private let asked: ItemProtection?
    private let maySet: Bool
    private let condition: WriteCondition

    init(
        _ name: ItemName, _ asked: ItemProtection?, maySet: Bool, if condition: WriteCondition, in folder: StoreFolder,
        by opener: ItemOpener, since lockCount: Int
    ) throws {
        self.name = name
        self.lockCount = lockCount
        self.asked = asked
        self.maySet = maySet
        self.condition = condition
        file = name.file(opener.index)
        standing = try Standing(name, file, in: folder.items, by: opener)
        try standing.check(condition)
        protection = try standing.protection(asked, maySet: maySet)
        let output = try OutputFile(file, inLentFolder: folder.items, replacing: true)
        try output.descriptor.takeOwner(of: folder.root)
        pending = PendingFile(output, in: folder)
    }

    /// Gives the item its name. The caller holds the lock of the store.
    ///
    /// - Returns: false if something else has the name than when this was judged. Then nothing has changed.
    /// - Throws: `keysChanged` if the key of its class slot may be gone.
    func appear(in folder: StoreFolder) throws -> Bool {
        try folder.requireCurrent(origin)
        let there = try folder.items.status(of: file)?.identity
        guard there == (try standing.source?.identity()) else { return false }
        try pending.appear(replacing: there != nil)
        return true
    }

    /// Judges again what has the name now.
    ///
    /// - Throws: `itemExists`, `itemChanged`; what the first judgement throws.
    mutating func judgeAgain(in folder: StoreFolder, by opener: ItemOpener) throws {
        standing = try Standing(name, file, in: folder.items, by: opener)
        try standing.check(condition)
        guard try standing.protection(asked, maySet: maySet) == protection else {
            throw StoreError(.itemChanged, "the item has another class than when the write began")
        }
    }
}
