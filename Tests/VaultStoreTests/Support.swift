import VaultFile
import VaultFormat
import VaultStream
import VaultTestSupport

@testable import VaultStore

let deviceKey = testKey(0x31)
let ownerKey = testKey(0x32)
/// The passphrases of tests would take too long to stretch, so a key unlocks.
let owner = KeySet(keys: [ownerKey])

func bytes(_ text: String) -> [UInt8] { Array(text.utf8) }

/// A store in a folder of its own.
struct TestStore {
    let folder: TemporaryFolder
    let path: FilePath

    /// - Parameter kind: of the public key of the class `unlessOpen`; nil for a store without it.
    init(
        unlockers: [Recipient] = [.key(ownerKey)], unlessOpen kind: SlotDescription.Kind? = UnlessOpenKeys.defaultKind
    ) throws {
        folder = try TemporaryFolder()
        path = folder["s"]
        _ = try VaultStore.create(at: path, device: deviceKey, unlockers: unlockers, unlessOpen: kind)
    }

    /// Keeps the folder until here. It is removed with the last reference.
    func keep() { withExtendedLifetime(folder) {} }

    func open(unlocked: Bool = false) throws -> VaultStore {
        let store = try VaultStore.open(at: path, device: deviceKey)
        if unlocked { try store.unlock(with: owner) }
        return store
    }

    /// A store in this state.
    func open(_ state: StoreState) throws -> VaultStore {
        let store = try open(unlocked: state != .sealed)
        if state == .locked { store.lock() }
        if state == .closing { store.lock(after: .seconds(3600)) }
        return store
    }

    var items: FilePath { path.appending("items") }
}

extension VaultStore {
    @discardableResult
    func put(
        _ name: String, _ text: String, _ protection: ItemProtection? = nil, set: Bool = false,
        if condition: WriteCondition = .any
    ) throws -> StoreItem {
        try write(name, bytes(text).span, protection: protection, setProtection: set, if: condition)
    }

    /// Writes an item whose header is changed in place, which otherwise only larger ones have.
    func putInPlace(_ name: String, _ text: String, _ protection: ItemProtection) throws {
        guard let key = gate.withKeys({ $0.current[protection] }) else { throw StoreError.locked(protection) }
        let itemName = try ItemName(name)
        var options = SealOptions()
        options.context = itemContext
        options.metadata = Metadata(itemPath: itemName.bytes)
        options.headerCapacity = HeaderCapacity(bytes: 4096)
        var writer = try VaultWriter(for: [.key(key), ItemLabel.recipient(itemName)], options: options)
        let file = try OutputFile(at: .name(itemName.file(card.index), in: folder.items))
        try writer.write(bytes(text).span) { try file.write($0) }
        try writer.finish { try file.write($0) }
        try file.commit()
    }

    func text(_ name: String) throws -> String {
        try read(name, atMost: 1 << 24).withBytes { span in
            String(decoding: [UInt8](copying: span), as: UTF8.self)
        }
    }
}

extension StoreState {
    /// The class that `locked` names if an item of a class does not open. A sealed process does not know the IDs of the
    /// keys in the keybag, but those of `unlessOpen`.
    func named(_ protection: ItemProtection) -> ItemProtection {
        self == .sealed && protection != .unlessOpen ? .afterFirstUnlock : protection
    }
}

/// The code of the error that `body` throws.
func code(_ body: () throws -> Void) -> StoreError.Code? {
    do {
        try body()
        return nil
    } catch let error as StoreError {
        return error.code
    } catch {
        return nil
    }
}
