import Synchronization
import VaultFile

extension VaultStore {
    /// Drops the keys of the classes `complete` and `unlessOpen`. When it returns, the process has no key of `complete`,
    /// no key of an item of `complete`, and no private key of `unlessOpen`. Readers of `complete` throw `locked`, and its
    /// writers are dropped. Readers and writers of `unlessOpen` that are open keep the keys of their items until they end.
    ///
    /// A store of another program may have a private key of X-Wing. Here it is in guarded memory and is wiped, but the
    /// library that computes with it may leave copies in memory that it has freed. Stores that this library makes have
    /// X25519.
    ///
    /// It does not wait for a disk. There is one exception: an item that another program has compressed, while it is
    /// being read.
    ///
    /// What the program has read stays with the program. Other processes lock themselves.
    public func lock() {
        changes.withLock { changes in
            changes.lockCount += 1
            lock(&changes)
        }
    }

    /// Announces that the classes `complete` and `unlessOpen` will be locked, and locks them when the time is over. Until then everything
    /// works as before. An `unlock` before the deadline cancels it, and `lock()` ends it at once. If they are not
    /// available, nothing happens.
    ///
    /// The time goes on while the machine sleeps. A program that must not be found unlocked after a sleep calls
    /// ``lockForSleep(within:)`` before it.
    ///
    /// - Parameter grace: the time until the lock. Zero or less locks now.
    public func lock(after grace: Duration) {
        guard grace > .zero else { return lock() }
        let deadline = ContinuousClock.now + grace
        let number: Int? = changes.withLock { changes in
            guard [.unlocked, .closing].contains(state) else { return nil }
            changes.graceCount += 1
            gate.change { $0.state = .closing }
            listeners.send(.willBecomeUnavailable(deadline))
            return changes.graceCount
        }
        guard let number else { return }
        // The task keeps the store: if the program drops it, its readers are still revoked in time.
        Task.detached { [self] in
            try? await Task.sleep(until: deadline, clock: .continuous)
            changes.withLock { changes in
                guard changes.graceCount == number else { return }
                changes.lockCount += 1
                lock(&changes)
            }
        }
    }

    /// Locks the store before the machine sleeps: what is in memory then may reach a disk, or be read while nobody is
    /// there. Keep the machine awake until this returns.
    ///
    /// Those who listen to the events get `willBecomeUnavailable`, save what they have open, and call ``lock()`` when they
    /// are done, which ends this call early. Otherwise the store is locked when the time is over. An `unlock` meanwhile
    /// does not prevent that. If the task is cancelled, the store is locked at once.
    ///
    /// When it returns, the store is locked as after ``lock()``, and `didBecomeUnavailable` was sent.
    ///
    /// - Parameter grace: the longest time until the lock. logind lets programs delay a sleep by 5 seconds by default.
    public func lockForSleep(within grace: Duration) async {
        // It is made first, so that no event is missed.
        let events = events()
        let deadline = ContinuousClock.now + grace
        lock(after: grace)
        if state == .closing {
            await withTaskGroup { group in
                group.addTask { try? await Task.sleep(until: deadline, clock: .continuous) }
                group.addTask {
                    for await event in events where event == .didBecomeUnavailable { return }
                }
                await group.next()
                group.cancelAll()
            }
        }
        lock()
    }

    private func lock(_ changes: inout Changes) {
        changes.graceCount += 1
        var wasAvailable = false
        gate.change { keys in
            keys.remove(.complete)
            keys.remove(.unlessOpen)
            wasAvailable = [.unlocked, .closing].contains(keys.state)
            if wasAvailable { keys.state = .locked }
        }
        handles.revoke(.complete)
        if wasAvailable { listeners.send(.didBecomeUnavailable) }
    }

    /// The end of `unlock`.
    ///
    /// - Parameters:
    ///   - keybags: the keys that it brings. Without one of the class `complete`, a sealed store is locked afterwards.
    ///   - source: the keybag that they were read from.
    ///   - count: how often the store had been locked when `unlock` began.
    func finishUnlocking(_ keybags: [StoreKeybag], of source: FileSource, since count: Int) throws {
        try changes.withLock { changes in
            guard changes.lockCount == count else { throw StoreError.locked(.complete) }
            let isWhole = keybags.contains { $0.keys.contains { $0.protection == .complete } }
            if isWhole { changes.graceCount += 1 }
            var wasUnlocked = false
            gate.change { keys in
                wasUnlocked = keys.state == .unlocked
                for keybag in keybags { keys.replace(with: keybag, of: source) }
                if isWhole {
                    keys.state = .unlocked
                } else if keys.state == .sealed {
                    keys.state = .locked
                }
            }
            if isWhole, !wasUnlocked { listeners.send(.didBecomeAvailable) }
        }
    }

    /// The events from now on, in order. Each call makes a stream of its own. It ends with the store.
    public func events() -> AsyncStream<StoreEvent> {
        listeners.stream()
    }
}
