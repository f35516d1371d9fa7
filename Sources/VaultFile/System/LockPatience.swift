import VaultFormat

/// How long a call waits for a lock that another program holds: two seconds. A reader holds its lock only for a moment,
/// a change of keys longer. No call waits for ever: everybody who may read a file may lock it, and keep the lock.
enum LockPatience {
    /// How often it tries to take the lock.
    static let attempts = 100
    /// The time between two tries.
    static let milliseconds: Int32 = 20

    /// - Throws: `cancelled`.
    static func pause() throws(VaultError) {
        try Cancellation.check()
        _ = SystemCalls.current.pause(milliseconds)
    }
}
