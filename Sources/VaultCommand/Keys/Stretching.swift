internal import Synchronization
internal import VaultFile
internal import VaultSystem

/// Lets only one thread of the process stretch a passphrase at a time. Each stretching takes the memory that its slot
/// asks for, and several at once could exhaust the memory.
final class Stretching: Sendable {
    private static let isGoingOn = Monitor(false)
    private let isMine = Atomic(false)
    private let messages = InputMessages.current

    /// Waits until no other thread stretches. Further calls before `end` do nothing.
    func begin() {
        guard !isMine.exchange(true, ordering: .relaxed) else { return }
        Self.isGoingOn.wait { isGoingOn -> Void? in
            guard !isGoingOn else { return nil }
            isGoingOn = true
            return ()
        }
        messages?.isAwaited.store(true, ordering: .relaxed)
    }

    /// Lets other threads stretch. Does nothing if `begin` was not called.
    ///
    /// - Returns: Whether it was called.
    @discardableResult
    func end() -> Bool {
        guard isMine.exchange(false, ordering: .relaxed) else { return false }
        messages?.isAwaited.store(false, ordering: .relaxed)
        Self.isGoingOn.withLock { $0 = false }
        return true
    }

    /// Lets other threads stretch while `body` waits for something else, then waits for the turn again if it had come.
    func pause<R>(_ body: () throws -> R) rethrows -> R {
        let wasMine = end()
        defer { if wasMine { begin() } }
        return try body()
    }

    deinit {
        end()
    }
}
