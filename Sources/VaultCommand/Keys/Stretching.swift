internal import Synchronization
internal import VaultFile

/// The stretching of passphrases, one at a time in the process: each takes the memory that its slot asks for, and several
/// at once could take all there is.
final class Stretching: Sendable {
    private static let isGoingOn = Monitor(false)
    private let isMine = Atomic(false)
    private let messages = InputMessages.current

    /// Waits until no other thread stretches. May be called again.
    func begin() {
        guard !isMine.exchange(true, ordering: .relaxed) else { return }
        Self.isGoingOn.wait { isGoingOn -> Void? in
            guard !isGoingOn else { return nil }
            isGoingOn = true
            return ()
        }
        messages?.isAwaited.store(true, ordering: .relaxed)
    }

    /// Lets others stretch. May be called again, and without `begin`.
    func end() {
        guard isMine.exchange(false, ordering: .relaxed) else { return }
        messages?.isAwaited.store(false, ordering: .relaxed)
        Self.isGoingOn.withLock { $0 = false }
    }

    deinit {
        end()
    }
}
