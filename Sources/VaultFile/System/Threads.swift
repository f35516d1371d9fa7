internal import CPlatform
package import SystemPackage

#if canImport(Darwin)
import Darwin
#elseif canImport(Musl)
import Musl
#else
import Glibc
#endif

/// A thread of the system. Swift's own concurrency would run signal handling, and work that waits for disks and for
/// other threads, on its few threads.
package enum Thread {
    /// At least so much: some C libraries give threads other than the first a hundredth of what that has.
    private static let stackSize = 1 << 20

    /// Starts `body` on a thread of its own.
    ///
    /// - Throws: what the system says that has none to give.
    package static func start(_ body: @escaping @Sendable () -> Void) throws(Errno) {
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

    /// Starts `body` on each of so many threads, or of as many as the system has to give: fewer do the same work.
    ///
    /// - Returns: how many were started.
    package static func start(atMost count: Int, _ body: @escaping @Sendable () -> Void) -> Int {
        var started = 0
        while started < count, (try? start(body)) != nil { started += 1 }
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

/// State that threads share, and on which they wait for one another: what `Mutex` alone cannot.
@safe package final class Monitor<State>: @unchecked Sendable {
    private var state: State
    private let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
    private let changed = UnsafeMutablePointer<pthread_cond_t>.allocate(capacity: 1)

    package init(_ state: State) {
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

    /// Looks at the state, or changes it and wakes those who wait.
    package func withLock<R>(_ body: (inout State) throws -> R) rethrows -> R {
        unsafe pthread_mutex_lock(mutex)
        defer {
            unsafe pthread_cond_broadcast(changed)
            unsafe pthread_mutex_unlock(mutex)
        }
        return try body(&state)
    }

    /// Looks at the state and leaves it as it is.
    package func look<R>(_ body: (State) -> R) -> R {
        unsafe pthread_mutex_lock(mutex)
        defer { unsafe pthread_mutex_unlock(mutex) }
        return body(state)
    }

    /// Waits until the state is such that `body` returns something; it may change it then.
    package func wait<R>(for body: (inout State) -> R?) -> R {
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
