import Synchronization
import VaultFile
import VaultFormat
import VaultStream

/// Something that holds keys of one item, and loses them when the class of the item is locked.
protocol Revocable: AnyObject, Sendable {
    var protection: ItemProtection { get }

    /// Wipes the keys. When it returns, no thread uses them.
    func revoke()
}

/// The open readers and writers of a store.
final class Handles: Sendable {
    private struct Entry: Sendable {
        weak var handle: (any Revocable)?
    }

    private struct State {
        var entries: [UInt64: Entry] = [:]
        var next: UInt64 = 0
    }

    private let state = Mutex(State())

    /// Remembers a handle until `remove`.
    func add(_ handle: any Revocable) -> UInt64 {
        state.withLock { state in
            state.next += 1
            state.entries[state.next] = Entry(handle: handle)
            return state.next
        }
    }

    func remove(_ ids: [UInt64]) {
        state.withLock { state in
            for id in ids { state.entries[id] = nil }
        }
    }

    /// Revokes the handles of a class.
    func revoke(_ protection: ItemProtection) {
        let handles = state.withLock { $0.entries.values.compactMap(\.handle) }
        for handle in handles where handle.protection == protection { handle.revoke() }
    }
}
