internal import CPlatform
internal import SystemPackage

/// A thread of the system. Swift's own concurrency has few threads, and work that waits for disks, signals and other
/// threads would hold them up.
enum Thread {
    /// The least stack in bytes. Some C libraries give later threads a hundredth of the first thread's stack.
    private static let stackSize = 1 << 20

    /// Starts `body` on a thread of its own.
    ///
    /// - Throws: The system's error if it has no thread to give.
    static func start(_ body: @escaping @Sendable () -> Void) throws(Errno) {
        let box = unsafe Unmanaged.passRetained(Body(run: body)).toOpaque()
        let attributes = UnsafeMutablePointer<pthread_attr_t>.allocate(capacity: 1)
        unsafe pthread_attr_init(attributes)
        defer {
            unsafe pthread_attr_destroy(attributes)
            unsafe attributes.deallocate()
        }
        var size = 0
        unsafe pthread_attr_getstacksize(attributes, &size)
        unsafe pthread_attr_setstacksize(attributes, max(size, stackSize))
        unsafe pthread_attr_setdetachstate(attributes, Int32(PTHREAD_CREATE_DETACHED))
        #if canImport(Darwin)
        var thread: pthread_t?
        #else
        var thread = pthread_t()
        #endif
        let status = unsafe pthread_create(&thread, attributes, { unsafe Body.run($0) }, box)
        guard status == 0 else {
            unsafe Unmanaged<Body>.fromOpaque(box).release()
            throw Errno(rawValue: status)
        }
    }

    private final class Body: Sendable {
        private let body: @Sendable () -> Void

        init(run body: @escaping @Sendable () -> Void) {
            self.body = body
        }

        static func run(_ context: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
            guard let context = unsafe context else { return nil }
            unsafe Unmanaged<Body>.fromOpaque(context).takeRetainedValue().body()
            return nil
        }
    }
}

/// State that threads share, and whose changes they can wait for, as they cannot with `Mutex`.
@safe final class Monitor<State>: @unchecked Sendable {
    private var state: State
    private let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
    private let changed = UnsafeMutablePointer<pthread_cond_t>.allocate(capacity: 1)

    init(_ state: State) {
        self.state = state
        unsafe pthread_mutex_init(mutex, nil)
        unsafe pthread_cond_init(changed, nil)
    }

    deinit {
        unsafe pthread_cond_destroy(changed)
        unsafe pthread_mutex_destroy(mutex)
        unsafe changed.deallocate()
        unsafe mutex.deallocate()
    }

    /// Uses the state, and wakes the threads that wait.
    func withLock<R>(_ body: (inout State) throws -> R) rethrows -> R {
        unsafe pthread_mutex_lock(mutex)
        defer {
            unsafe pthread_cond_broadcast(changed)
            unsafe pthread_mutex_unlock(mutex)
        }
        return try body(&state)
    }

    /// Waits until `body` returns something. It may change the state then.
    func wait<R>(for body: (inout State) -> R?) -> R {
        unsafe pthread_mutex_lock(mutex)
        defer {
            unsafe pthread_cond_broadcast(changed)
            unsafe pthread_mutex_unlock(mutex)
        }
        while true {
            // Each call is an access of its own to the state, which others change in between.
            if let result = body(&state) { return result }
            unsafe pthread_cond_wait(changed, mutex)
        }
    }
}
