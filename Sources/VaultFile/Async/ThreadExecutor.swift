import SystemPackage
internal import VaultSystem

/// Threads of the library for asynchronous calls. They may wait for disks and pipes, and stretch passphrases. Swift has
/// only one thread per processor for all tasks of a program. A call that waits on such a thread would hold up other
/// tasks.
package final class ThreadExecutor: TaskExecutor {
    /// For steps that read or write one piece and end soon. Their number is limited, so that a server with thousands of
    /// requests does not start thousands of threads.
    package static let steps = ThreadExecutor(most: Swift.min(Swift.max(4, 2 * ThreadCount.processors), 64))
    /// For calls that may take long, or wait for another program or another call. With a limit, they could wait for
    /// each other for ever.
    package static let calls = ThreadExecutor(most: .max)

    private struct State {
        var jobs: [UnownedJob] = []
        /// How many of `jobs` have been started.
        var taken = 0
        var threadCount = 0
        var idleCount = 0

        var waitingCount: Int { jobs.count - taken }

        mutating func next() -> UnownedJob? {
            guard taken < jobs.count else { return nil }
            defer {
                taken += 1
                if taken == jobs.count || taken > 1024 {
                    jobs.removeFirst(taken)
                    taken = 0
                }
            }
            return jobs[taken]
        }
    }

    private enum Turn {
        case job(UnownedJob)
        case end
    }

    private let state = Monitor(State())
    private let most: Int
    /// The most threads that stay when there is no work.
    private let mostIdle = ThreadCount.processors

    init(most: Int) {
        self.most = most
    }

    package func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        let needsThread = state.withLock { state in
            state.jobs.append(job)
            guard state.waitingCount > state.idleCount, state.threadCount < most else { return false }
            state.threadCount += 1
            return true
        }
        guard needsThread else { return }
        do {
            try Thread.start { [self] in work() }
        } catch {
            // The system has no more threads, so this thread runs the job now. Another thread of this executor may come
            // to it never: it may wait for the bytes that this job is going to write.
            state.withLock { $0.threadCount -= 1 }
            if let job = state.withLock({ $0.next() }) {
                unsafe job.runSynchronously(on: asUnownedTaskExecutor())
            }
        }
    }

    private func work() {
        while case .job(let job) = next() {
            unsafe job.runSynchronously(on: asUnownedTaskExecutor())
        }
    }

    private func next() -> Turn {
        var isIdle = false
        return state.wait { state in
            if let job = state.next() {
                if isIdle { state.idleCount -= 1 }
                return .job(job)
            }
            guard !isIdle else { return nil }
            guard state.idleCount < mostIdle else {
                state.threadCount -= 1
                return .end
            }
            state.idleCount += 1
            isIdle = true
            return nil
        }
    }

    /// Runs `body` on a thread of this executor, and waits for its end.
    ///
    /// - Throws: what `body` throws; `CancellationError` if `body` ended because the task was cancelled.
    package func run<R: Sendable>(_ body: @Sendable () throws -> R) async throws -> R {
        let cancellation = Cancellation()
        return try await withTaskCancellationHandler {
            try await withTaskExecutorPreference(self) {
                try await Self.perform(body, cancellation)
            }
        } onCancel: {
            cancellation.cancel()
        }
    }

    /// It is `@concurrent`, because a call from an actor would otherwise run on that actor's executor.
    @concurrent private static func perform<R: Sendable>(
        _ body: @Sendable () throws -> R, _ cancellation: Cancellation
    ) async throws -> R {
        do {
            return try Cancellation.$current.withValue(cancellation) {
                try cancellation.check()
                return try body()
            }
        } catch let error as VaultError {
            let isCancelled = error.code == .cancelled || error.systemError == .canceled
            guard isCancelled, cancellation.isCancelled else { throw error }
            throw CancellationError()
        }
    }
}
