import Synchronization
import Testing
import VaultFile
import VaultSystem
import VaultTestSupport

@testable import VaultStore

/// Calls for tasks, and the lock before a sleep.
@Suite struct StoreAsyncTests {
    private struct Broken: Error {}

    /// Pieces, with a step before each.
    private func pieces(
        _ pieces: [[UInt8]], _ step: @escaping @Sendable (Int) throws -> Void = { _ in }
    ) -> AsyncThrowingStream<[UInt8], any Error> {
        let next = Mutex(0)
        return AsyncThrowingStream {
            let index = next.withLock { next in
                defer { next += 1 }
                return next
            }
            try step(index)
            return index < pieces.count ? pieces[index] : nil
        }
    }

    @Test func writesAndReads() async throws {
        let box = try TestStore()
        defer { box.keep() }
        let store = try box.open(unlocked: true)
        let content = (0..<700_001).map { UInt8(truncatingIfNeeded: $0 / 251) }
        let parts = [Array(content[..<5]), [], Array(content[5..<600_000]), Array(content[600_000...])]
        let item = try await store.write("a", from: pieces(parts), protection: .complete)
        #expect(item.length == 700_001)
        let open = try await store.openItem("a")
        #expect(open.item == item)
        for range in [nil, 0..<0, 3..<9, 262_143..<262_145, 700_000..<700_001] as [Range<UInt64>?] {
            var found: [UInt8] = []
            for try await piece in try open.pieces(range) { found += piece }
            #expect(found == Array(content[Int(range?.lowerBound ?? 0)..<Int(range?.upperBound ?? 700_001)]))
        }
        #expect(throws: VaultError.self) { try open.pieces(0..<700_002) }
        #expect(try await store.perform { try $0.count() } == 1)
        #expect(try await store.write("none", from: pieces([]), protection: .always).length == 0)
    }

    @Test func nothingAppearsAfterAnError() async throws {
        let box = try TestStore()
        defer { box.keep() }
        let store = try box.open(unlocked: true)
        try store.put("a", "before", .complete)
        await #expect(throws: Broken.self) {
            try await store.write("a", from: pieces([[1], [2]]) { if $0 == 1 { throw Broken() } })
        }
        // The lock comes while the program waits for its client, and does not wait for it.
        let locking = pieces([[1], [2]]) { if $0 == 1 { store.lock() } }
        await #expect(throws: StoreError.self) { try await store.write("a", from: locking) }
        try store.unlock(with: owner)
        #expect(try store.text("a") == "before")
        let names = try store.folder.items.names { _ in true }
        #expect(names.count == 1, "no unfinished file stays: \(names)")
    }

    @Test func aLockEndsReading() async throws {
        let box = try TestStore()
        defer { box.keep() }
        let store = try box.open(unlocked: true)
        let content = [UInt8](repeating: 7, count: 600_000)
        for protection in [ItemProtection.complete, .unlessOpen] {
            try store.write(protection.rawValue, content.span, protection: protection)
        }
        let complete = try await store.openItem("complete")
        let recorded = try await store.openItem("unlessOpen")
        var iterator = try complete.pieces().makeAsyncIterator()
        #expect(try await iterator.next()?.count == 262_144)
        store.lock()
        await #expect(throws: StoreError.self) { _ = try await iterator.next() }
        #expect(try await iterator.next() == nil)
        var count = 0
        for try await piece in try recorded.pieces() { count += piece.count }
        #expect(count == 600_000, "what was open goes on")
        await #expect(throws: StoreError.self) { _ = try await store.openItem("complete") }
    }

    /// More writers than the pool has threads wait for the lock of the store. The task that releases it gets a thread.
    @Test func thePoolGoesOn() async throws {
        let box = try TestStore()
        defer { box.keep() }
        let store = try box.open()
        let held = try StoreFolder.lockFile(in: store.folder.root)
        let count = 4 * Vault.processorCount
        let (ends, continuation) = AsyncStream.makeStream(of: Void.self)
        try await withThrowingTaskGroup { group in
            for number in 0..<count {
                let pieces = pieces([[1]]) { if $0 == 1 { continuation.yield() } }
                group.addTask { _ = try await store.write("\(number)", from: pieces, protection: .always) }
            }
            group.addTask {
                // All have their bytes, and need the lock next. If they kept the threads of the pool until they have
                // it, they would end with `inUse`, before this goes on.
                var iterator = ends.makeAsyncIterator()
                for _ in 0..<count { await iterator.next() }
                held.closeQuietly()
            }
            try await group.waitForAll()
        }
        #expect(try store.count() == count)
    }

    @Test(.timeLimit(.minutes(1))) func locksForSleep() async throws {
        let box = try TestStore()
        defer { box.keep() }
        let store = try box.open(unlocked: true)
        // A listener that is done ends the time.
        let events = store.events()
        let listener = Task {
            for await event in events {
                guard case .willBecomeUnavailable = event else { continue }
                try store.put("saved", "text", .complete)
                store.lock()
                return
            }
        }
        await store.lockForSleep(within: .seconds(3600))
        try await listener.value
        #expect(store.state == .locked)
        // Who unlocks the store meanwhile does not keep it open.
        try store.unlock(with: owner)
        #expect(try store.text("saved") == "text")
        let stubborn = store.events()
        let sleeping = Task { await store.lockForSleep(within: .seconds(3600)) }
        for await event in stubborn {
            guard case .willBecomeUnavailable = event else { continue }
            try store.unlock(with: owner)
            #expect(store.state == .unlocked)
            break
        }
        sleeping.cancel()
        await sleeping.value
        #expect(store.state == .locked)
        // A task that is cancelled locks at once.
        store.lock()
        try store.unlock(with: owner)
        let cancelled = Task { await store.lockForSleep(within: .seconds(3600)) }
        cancelled.cancel()
        await cancelled.value
        #expect(store.state == .locked)
        await store.lockForSleep(within: .seconds(3600))
        #expect(store.state == .locked, "what is locked needs no time")
    }
}
