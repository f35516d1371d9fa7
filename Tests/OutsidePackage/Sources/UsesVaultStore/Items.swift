import VaultStore

/// The table of classes, and errors.
func values() throws {
    try check(ItemProtection.always < .afterFirstUnlock && .unlessOpen < ItemProtection.complete)
    try check(ItemProtection(rawValue: "complete") == .complete && ItemProtection.allCases.count == 4)
    try check(ItemProtection.complete.states(for: .remove) == Set(StoreState.allCases))
    try check(ItemProtection.unlessOpen.states(for: .write).contains(.sealed))
    let reading: [ItemOperation] = [.open, .readOn, .move, .protectFrom]
    let writing: [ItemOperation] = [.write, .finish, .protectTo]
    try check(Set(reading + writing + [.remove]) == Set(ItemOperation.allCases))
    for operation in reading + writing {
        try check(ItemProtection.complete.states(for: operation) == [.unlocked, .closing])
    }
    try check(StoreState(rawValue: "locked") == .locked && ItemOperation(rawValue: "move") == .move)
    let codes: Set<StoreError.Code> = [
        .locked, .gone, .noSuchItem, .itemExists, .itemChanged, .storeForged, .keysChanged, .storeMalformed,
        .storeExists, .noKeybag, .noPublicKey, .invalidName, .noSuchAccount, .protectionNeeded,
    ]
    try check(codes.count == 14 && StoreError.Code.gone.name == StoreError.Code.gone.description)
}

let deviceKey = KeyBox()
let ownerKey = KeyBox()

/// A key that several functions use.
struct KeyBox: Sendable {
    let key: SymmetricKey?

    init() { key = try? SymmetricKey.generate() }

    func callAsFunction() throws -> SymmetricKey {
        guard let key else { throw Unexpected(line: #line) }
        return key
    }
}

func owner() throws -> KeySet { KeySet(keys: [try ownerKey()]) }

/// A store that a person has unlocked.
func unlocked(_ name: String, in folder: FilePath) throws -> VaultStore {
    let store = try VaultStore.create(
        at: folder.appending(name), device: deviceKey(), unlockers: [.key(ownerKey())])
    try store.unlock(with: owner())
    return store
}

/// Writing, reading, listing, locking and wiping.
func items(in folder: FilePath) throws {
    let store = try unlocked("items", in: folder)
    let path = folder.appending("items")
    try check(store.state == .unlocked && store.canRead(.complete) && store.canWrite(.complete))
    try store.put("config", "host", .always)
    try store.put("mail/token", "s3cret", .complete)
    try check(store.text("mail/token") == "s3cret")
    try check(store.contains("config") && !store.contains("other") && store.count() == 2)
    try check(store.size("config") ?? 0 > 4 && store.size("other") == nil)
    try check(store.fileName(of: "config").hasSuffix(".vault"))
    let listing: VaultStore.Listing = try store.list(prefix: "mail/")
    try check(listing.items.map(\.name) == ["mail/token"] && listing.lockedCount == 0 && listing.damaged.isEmpty)
    let item = listing.items[0]
    try check(item.protection == .complete && item.length == 6 && item == store.item("mail/token"))

    let large = (0..<100_000).map { UInt8(truncatingIfNeeded: $0 &* 31) }
    let whole = try store.withWriter("large", protection: .afterFirstUnlock) { (writer: ItemWriter) in
        try writer.write(large.span.extracting(0..<1000))
        try writer.write(large.span.extracting(1000..<large.count))
    }
    try check(whole.length == 100_000)
    try store.withReader("large") { (reader: ItemReader) in
        var part: [UInt8] = []
        try reader.read(70_000..<70_010) { part.take($0) }
        try check(part == Array(large[70_000..<70_010]) && reader.item == whole)
        var all: [UInt8] = []
        try reader.readAll { all.take($0) }
        try check(all == large)
    }
    try store.batch { (batch: inout VaultStore.Batch) in
        for number in 0..<3 { try batch.write("many/\(number)", [1, 2].span, protection: .always) }
    }
    try check(store.list().items.count == 6)

    let moved = try store.move("mail/token", to: "mail/old")
    try check(store.setProtection(.afterFirstUnlock, of: "mail/old").protection == .afterFirstUnlock)
    try check(moved.name == "mail/old" && store.text("mail/old") == "s3cret")
    try store.put("mail/new", "s3cret", .complete)
    store.lock()
    try check(store.state == .locked && !store.canRead(.complete) && store.text("mail/old") == "s3cret")
    do {
        _ = try store.text("mail/new")
        throw Unexpected(line: #line)
    } catch let error as StoreError {
        try check(error.code == .locked && error.protection == .complete && !error.message.isEmpty)
    }
    let sealed = try VaultStore.open(at: path, device: deviceKey())
    try check(sealed.state == .sealed && sealed.id == store.id && sealed.itemContext == store.itemContext)
    try check(sealed.list().lockedCount == 3)
    try store.remove("mail/new")
    try check(code { try store.remove("mail/new") } == .noSuchItem)
    try VaultStore.wipe(at: path)
    try check(code { _ = try store.count() } == .gone)
}

/// Writes that other programs must not cross.
func conditions(in folder: FilePath) throws {
    let store = try unlocked("conditions", in: folder)
    let first = try store.put("a", "1", .complete, .absent)
    try check(code { try store.put("a", "2", .complete, .absent) } == .itemExists)
    let second = try store.put("a", "2", nil, .version(first.version))
    try check(second.protection == .complete)
    try check(StoreItem.Version(second.version.description) == second.version && StoreItem.Version("x") == nil)
    let version: StoreItem.Version = first.version
    let stale = WriteCondition.version(version)
    try check(code { try store.put("a", "3", nil, stale) } == .itemChanged)
    try check(code { try store.remove("a", if: stale) } == .itemChanged)
    try check(code { try store.put("a", "3", .always) } == .itemExists)
    try check(code { try store.put("b", "3") } == .protectionNeeded && code { try store.put("/", "") } == .invalidName)
    try store.remove("a", if: .any)
}

/// Items of the class `unlessOpen`, and checks.
func written(in folder: FilePath) throws {
    let path = folder.appending("written")
    _ = try unlocked("written", in: folder)
    let recorder = try VaultStore.open(at: path, device: deviceKey())
    try recorder.put("call", "hello", .unlessOpen)
    try check(code { _ = try recorder.text("call") } == .locked)
    let reader = try VaultStore.open(at: path, device: deviceKey())
    try reader.unlock(with: owner())
    try check(reader.text("call") == "hello")
    let before: VaultStore.Findings = try reader.check()
    try check(before.intact == 1 && before.lockedCount == 0 && before.unsettled == ["call"])
    let settlement: VaultStore.Settlement = try reader.settle()
    try check(settlement.settled == ["call"] && settlement.damaged.isEmpty && settlement.foreign.isEmpty)
    let after = try reader.repair()
    try check(after.damaged.isEmpty && after.unlabelled.isEmpty && after.labelled.isEmpty && after.settled.isEmpty)
    try check(before.unhealthy.isEmpty && after.mended.isEmpty && after.failed.isEmpty)
    try check(after.moved.isEmpty && after.removed.isEmpty && after.foreign.isEmpty)
    // It has the class already.
    try check(!VaultStore.addUnlessOpen(at: path, device: deviceKey(), unlocking: owner()))
}

/// New keys of classes, of the device, and of a person.
func keys(in folder: FilePath) throws {
    let path = folder.appending("keys")
    let store = try unlocked("keys", in: folder)
    try store.put("a", "1", .complete)
    let rotation: VaultStore.KeyRotation = try store.rotateKey(
        of: .complete, device: deviceKey(), unlocking: owner())
    try check(rotation.changed == 1 && rotation.left.isEmpty && rotation.traces != nil)
    try check(store.unfinishedRotations.isEmpty)
    let (other, device) = (try SymmetricKey.generate(), try SymmetricKey.generate())
    let changed = try VaultStore.changeUnlockers(at: path, KeyChange(adding: [.key(other)]), unlocking: owner())
    try check(changed.result.added.count == 1)
    try VaultStore.checkUnlocking(at: path, with: KeySet(keys: [other]))
    try check(VaultStore.inspectUnlocking(at: path) != nil)
    try VaultStore.renew(at: path, unlocking: owner(), with: [.key(ownerKey())])
    try VaultStore.renewCard(at: path, device: deviceKey(), with: device)
    try check(code { try store.put("a", "2") } == .keysChanged)
    let again = try VaultStore.open(at: path, device: device)
    try again.unlock(with: owner())
    try check(again.text("a") == "1")
    try VaultStore.create(at: folder.appending("always"), device: device).put("a", "1", .always)
    try check(code { try VaultStore.checkUnlocking(at: folder.appending("always"), with: owner()) } == .noKeybag)
}

/// Keys that the kernel keeps for other programs of the user.
func kept(in folder: FilePath) throws {
    let store = try unlocked("kept", in: folder)
    try check(VaultStore.longestKeeping >= .seconds(3600))
    do {
        try store.unlock(with: owner(), keepingFor: .seconds(60))
    } catch let error as VaultError where error.code == .keyStoreUnavailable {
        // Some containers of a kernel forbid it.
        return print("the kernel keeps no keys here: \(error)")
    }
    let other = try VaultStore.open(at: folder.appending("kept"), device: deviceKey())
    try check(other.unlockKept(onUnreadable: { _ in }).contains(.complete))
    try check(other.lockKept(sealing: true))
}

/// Stores of many accounts.
func groups(in folder: FilePath) async throws {
    let path = folder.appending("group")
    let (key, other) = (try SymmetricKey.generate(), try SymmetricKey.generate())
    let group = try StoreGroup.create(at: path, unlocker: key)
    try group.createStore(of: "4711").put("a", "1", .always)
    try group.createStore(of: "4712", unlockers: [.key(ownerKey())]).put("a", "2", .always)
    let found: StoreGroup.Account = try await group.perform { try $0.find("4711") }
    try check(VaultStore.open(at: found.store, device: found.device).text("a") == "1")
    try check(group.erase("4711")?.exchange == .done)
    try check(code { _ = try group.openStore(of: "4711") } == .noSuchAccount)
    try check(group.renew(with: [key], all: false) == 1)
    try group.changeUnlockers(adding: [other])
    try check(
        StoreGroup.open(at: path, unlocking: KeySet(keys: [other])).openStore(of: "4712").text("a") == "2")
}
