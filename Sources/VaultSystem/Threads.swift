internal import CPlatform
public import SystemPackage

/// A thread of the system. Swift's own concurrency has few threads, and work that waits for disks, pipes and other
/// threads would hold them up.
public enum Thread {
    /// The least stack in bytes. Some C libraries give later threads a hundredth of the first thread's stack.
    private static let stackSize = 1 << 20
    /// What must be left beside the stack of a thread that is not needed. The work on it takes memory in small pieces,
    /// and Swift ends the process if it gets none.
    private static let headroom = 24 << 20

    /// Starts `body` on a thread of its own.
    ///
    /// - Throws: the system's error if it has no more threads.
    public static func start(_ body: @escaping @Sendable () -> Void) throws(Errno) {
        let box = unsafe Unmanaged.passRetained(Body(run: body)).toOpaque()
        let attributes = UnsafeMutablePointer<pthread_attr_t>.allocate(capacity: 1)
        unsafe pthread_attr_init(attributes)
        var size = 0
        unsafe pthread_attr_getstacksize(attributes, &size)
        unsafe pthread_attr_setstacksize(attributes, max(size, stackSize))
        unsafe pthread_attr_setdetachstate(attributes, Int32(PTHREAD_CREATE_DETACHED))
        defer {
            unsafe pthread_attr_destroy(attributes)
            unsafe attributes.deallocate()
        }
        #if canImport(Darwin)
        var thread: pthread_t?
        let status = unsafe pthread_create(&thread, attributes, { unsafe Body.run($0) }, box)
        #else
        var thread = pthread_t()
        let status = unsafe pthread_create(&thread, attributes, { unsafe Body.run($0) }, box)
        #endif
        guard status == 0 else {
            unsafe Unmanaged<Body>.fromOpaque(box).release()
            throw Errno(rawValue: status)
        }
    }

    /// Starts `body` on each of `count` threads, or on fewer if the system has no more: fewer threads do the same work.
    ///
    /// - Returns: the count of threads that were started.
    public static func start(atMost count: Int, _ body: @escaping @Sendable () -> Void) -> Int {
        var started = 0
        while started < count, vaultfile_has_room(headroom) != 0, (try? start(body)) != nil { started += 1 }
        return started
    }

    private final class Body: Sendable {
        let run: @Sendable () -> Void

        init(run: @escaping @Sendable () -> Void) {
            self.run = run
        }

        static func run(_ context: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
            guard let context = unsafe context else { return nil }
            unsafe Unmanaged<Body>.fromOpaque(context).takeRetainedValue().run()
            return nil
        }
    }
}

/// State that threads share and wait on. `Mutex` has no way to wait for a change.
@safe public final class Monitor<State>: @unchecked Sendable {
    private var state: State
    private let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
    private let changed = UnsafeMutablePointer<pthread_cond_t>.allocate(capacity: 1)

    /// State that begins as `state`.
    public init(_ state: State) {
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

    /// Reads or changes the state, and wakes the threads that wait on it.
    public func withLock<R>(_ body: (inout State) throws -> R) rethrows -> R {
        unsafe pthread_mutex_lock(mutex)
        defer {
            unsafe pthread_cond_broadcast(changed)
            unsafe pthread_mutex_unlock(mutex)
        }
        return try body(&state)
    }

    /// Reads the state, and wakes no thread.
    public func look<R>(_ body: (State) -> R) -> R {
        unsafe pthread_mutex_lock(mutex)
        defer { unsafe pthread_mutex_unlock(mutex) }
        return body(state)
    }

    /// Waits until `body` returns a value for the state. `body` may change the state when it does.
    public func wait<R>(for body: (inout State) -> R?) -> R {
        unsafe pthread_mutex_lock(mutex)
        defer {
            unsafe pthread_cond_broadcast(changed)
            unsafe pthread_mutex_unlock(mutex)
        }
        while true {
            if let result = body(&state) { return result }
            unsafe pthread_cond_wait(changed, mutex)
        }
    }
}
