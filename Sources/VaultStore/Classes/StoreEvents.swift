import Synchronization

/// What happens to the classes `complete` and `unlessOpen`, which a lock takes together. No event holds a name.
public enum StoreEvent: Sendable, Hashable {
    /// They will be locked at this time, unless the store is unlocked before. Programs save what they have open.
    case willBecomeUnavailable(ContinuousClock.Instant)
    /// They are available, or stay available after all.
    case didBecomeAvailable
    /// They are locked: all keys of the classes are wiped, and all readers of `complete` are revoked.
    case didBecomeUnavailable
}

/// Those who listen to the events of a store.
final class Listeners: Sendable {
    private struct State {
        var listeners: [UInt64: AsyncStream<StoreEvent>.Continuation] = [:]
        var next: UInt64 = 0
    }

    private let state = Mutex(State())

    deinit {
        for listener in state.withLock({ Array($0.listeners.values) }) { listener.finish() }
    }

    func stream() -> AsyncStream<StoreEvent> {
        let (stream, continuation) = AsyncStream.makeStream(of: StoreEvent.self)
        let id = state.withLock { state in
            state.next += 1
            state.listeners[state.next] = continuation
            return state.next
        }
        continuation.onTermination = { [weak self] _ in
            self?.state.withLock { _ = $0.listeners.removeValue(forKey: id) }
        }
        return stream
    }

    func send(_ event: StoreEvent) {
        for listener in state.withLock({ Array($0.listeners.values) }) { listener.yield(event) }
    }
}
