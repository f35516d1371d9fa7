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
    func end() {
        guard isMine.exchange(false, ordering: .relaxed) else { return }
        messages?.isAwaited.store(false, ordering: .relaxed)
        Self.isGoingOn.withLock { $0 = false }
    }

    deinit {
        end()
    }
}
