import VaultStore

/// A lock with a grace, and who hears of it.
func events(in folder: FilePath) async throws {
    let store = try VaultStore.create(
        at: folder.appending("events"), device: deviceKey(), unlockers: [.key(ownerKey())])
    var events: AsyncStream<StoreEvent>.Iterator = store.events().makeAsyncIterator()
    try store.unlock(with: owner())
    try await check(events.next() == .didBecomeAvailable)
    store.lock(after: .seconds(3600))
    try check(store.state == .closing)
    guard case .willBecomeUnavailable(let deadline) = await events.next() else { throw Unexpected(line: #line) }
    try check(deadline > .now)
    store.lock()
    try await check(events.next() == .didBecomeUnavailable)
    try store.unlock(with: owner())
    await store.lockForSleep(within: .milliseconds(10))
    try check(store.state == .locked)
}

/// Calls of a program with tasks.
func tasks(in folder: FilePath) async throws {
    let store = try unlocked("tasks", in: folder)
    let pieces = AsyncStream<[UInt8]> { continuation in
        for number in 0..<100 { continuation.yield([UInt8](repeating: UInt8(number), count: 5000)) }
        continuation.finish()
    }
    let item = try await store.write("upload", from: pieces, protection: .complete)
    try check(item.length == 500_000)
    let open: OpenItem = try await store.openItem("upload")
    try check(open.item == item)
    let part: ItemPieces = try open.pieces(4999..<5001)
    var iterator: ItemPieces.Iterator = part.makeAsyncIterator()
    var bytes: [UInt8] = []
    while let piece = try await iterator.next() { bytes += piece }
    try check(bytes == [0, 1])
    var count = 0
    for try await piece in try open.pieces() { count += piece.count }
    try check(count == 500_000)
    try await check(store.perform { try $0.count() } == 1)
}
