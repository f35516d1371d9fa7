import Testing
import VaultFile
import VaultTestSupport

@testable import VaultStore

/// Locks that are announced, and what listeners get.
@Suite struct GraceTests {
    @Test func events() async throws {
        let box = try TestStore()
        defer { box.keep() }
        let store = try box.open()
        let events = store.events()
        store.lock()
        try store.unlock(with: owner)
        try store.unlock(with: owner)
        store.lock(after: .seconds(3600))
        #expect(store.state == .closing)
        try store.put("a", "one", .complete)
        #expect(try store.text("a") == "one")
        try store.unlock(with: owner)
        #expect(store.state == .unlocked)
        store.lock(after: .seconds(3600))
        store.lock()
        store.lock()
        store.lock(after: .seconds(3600))
        #expect(store.state == .locked)
        store.lock(after: .zero)
        // Later listeners get later events only.
        let later = store.events()
        try store.unlock(with: owner)
        let expected = [
            "didBecomeAvailable", "willBecomeUnavailable", "didBecomeAvailable", "willBecomeUnavailable",
            "didBecomeUnavailable", "didBecomeAvailable",
        ]
        var found: [String] = []
        for await event in events {
            found.append("\(event)".prefix { $0 != "(" }.description)
            if found.count == expected.count { break }
        }
        #expect(found == expected)
        for await event in later {
            #expect(event == .didBecomeAvailable)
            break
        }
    }

    @Test func theDeadlineComes() async throws {
        let box = try TestStore()
        defer { box.keep() }
        let store = try box.open(unlocked: true)
        try store.put("a", "one", .complete)
        let events = store.events()
        store.lock(after: .milliseconds(20))
        var isAnnounced = false
        for await event in events {
            if case .willBecomeUnavailable = event { isAnnounced = true }
            if event == .didBecomeUnavailable { break }
        }
        #expect(isAnnounced && store.state == .locked)
        #expect(throws: StoreError.locked(.complete)) { try store.text("a") }
    }

    /// A deadline that was cancelled does not lock later.
    @Test func aCancelledDeadline() async throws {
        let box = try TestStore()
        defer { box.keep() }
        let store = try box.open(unlocked: true)
        store.lock(after: .milliseconds(30))
        try store.unlock(with: owner)
        try await Task.sleep(for: .milliseconds(200))
        #expect(store.state == .unlocked)
        // Of two deadlines, the later call counts.
        store.lock(after: .milliseconds(30))
        store.lock(after: .seconds(3600))
        try await Task.sleep(for: .milliseconds(200))
        #expect(store.state == .closing)
    }

    /// The stream ends with the store.
    @Test func theStreamEnds() async throws {
        let box = try TestStore()
        defer { box.keep() }
        var store: VaultStore? = try box.open()
        let events = try #require(store?.events())
        store = nil
        var count = 0
        for await _ in events { count += 1 }
        #expect(count == 0 && store == nil)
    }
}
