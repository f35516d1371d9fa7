import Synchronization
import VaultStream
internal import VaultSystem

/// The work of one thread in a pipeline. A worker owns a piece from the first step to the last, in its own memory. No
/// byte moves from thread to thread.
protocol PipelineWorker: AnyObject, SendableMetatype {
    /// Takes the next piece. One worker at a time takes one, in the order of the pieces.
    ///
    /// - Returns: false at the end.
    func take() throws -> Bool
    /// Does the work on a piece that needs no order.
    func work() throws
    /// Whether each piece is then passed to the calling thread, in the order of the pieces.
    var isOrdered: Bool { get }
    /// Does the rest of the work after that, in any order.
    func finish() throws
    /// The size of the piece in bytes, for progress.
    var progress: UInt64 { get }
}

extension PipelineWorker {
    func finish() throws {}
}

/// Several threads work on a sequence of pieces: they take pieces in order, work on them at the same time, and pass
/// them in order. All code that seals or opens all records of a file uses it, with one thread or with many. So results
/// and errors do not depend on the number of threads.
///
/// The calling thread does all work that needs an order, and calls the caller's closures. Only the workers take memory,
/// so the number of pieces does not matter.
struct Pipeline {
    /// How many threads work beside the calling thread. With one, the calling thread works alone.
    let jobs: ThreadCount
    /// The input of the pieces, if reading it may have to wait.
    var input: PipelineInput?

    /// Works on all pieces.
    ///
    /// - Parameters:
    ///   - makeWorker: makes the worker of a thread.
    ///   - pass: gets the pieces in their order, if they are ordered. No piece after one that failed is passed.
    ///   - onProgress: called now and then, and at the end, with the count of bytes that are done.
    /// - Throws: the error of the first piece that failed, in the order of the pieces; what `onProgress` throws, unless
    ///   the very first piece failed. After a closure has thrown, neither is called again.
    func run<Worker: PipelineWorker>(
        _ makeWorker: @escaping @Sendable () throws -> Worker, pass: (Worker) throws -> Void = { _ in },
        onProgress: (UInt64) throws -> Void = { _ in }
    ) throws {
        let shared = SharedWork<Worker>(input)
        let (calls, engine) = (SystemCalls.current, RecordCipher.engineOfThisTask)
        let cancellation = Cancellation.current
        let wanted = jobs.count > 1 ? jobs.count : 0
        shared.state.withLock { $0.threadCount = wanted }
        let started = Thread.start(atMost: wanted) {
            SystemCalls.$current.withValue(calls) {
                RecordCipher.withEngine(engine) {
                    Cancellation.$current.withValue(cancellation) { shared.work(makeWorker) }
                }
            }
            shared.state.withLock { $0.threadCount -= 1 }
        }
        shared.state.withLock { $0.threadCount -= wanted - started }
        if started > 0 {
            try shared.serve(pass, onProgress)
        } else {
            try workAlone(try makeWorker(), pass, onProgress)
        }
    }

    private func workAlone<Worker: PipelineWorker>(
        _ worker: Worker, _ pass: (Worker) throws -> Void, _ onProgress: (UInt64) throws -> Void
    ) throws {
        var done: UInt64 = 0
        while true {
            try Cancellation.check()
            guard try worker.take() else { break }
            try worker.work()
            if worker.isOrdered { try pass(worker) }
            try worker.finish()
            done += worker.progress
            try onProgress(done)
        }
        if done == 0 { try onProgress(done) }
    }
}

/// What the threads of one pipeline share.
private final class SharedWork<Worker: PipelineWorker>: Sendable {
    /// A worker that waits until its piece is passed. It does no work until then, so another thread may use it.
    struct Ready: @unchecked Sendable {
        let worker: Worker
    }

    struct State {
        /// The number of the next piece to be taken; nil when there are no more.
        var next: UInt64? = 0
        /// The number of the next piece to be passed.
        var turn: UInt64 = 0
        var ready: [UInt64: Ready] = [:]
        var done: UInt64 = 0
        var threadCount = 0
        /// The first piece that failed, in the order of the pieces and not of time, and its error.
        var failure: (index: UInt64, error: any Error)?

        func isOver(at index: UInt64) -> Bool {
            failure.map { $0.index <= index } ?? false
        }

        mutating func fail(_ index: UInt64, _ error: any Error) {
            if failure.map({ index < $0.index }) ?? true { failure = (index, error) }
        }
    }

    let state = Monitor(State())
    /// Held while a piece is taken. The writer of a pipe chooses how long that takes.
    private let taking = Mutex(())
    private let input: PipelineInput?

    init(_ input: PipelineInput?) {
        self.input = input
    }

    private func fail(_ index: UInt64, _ error: any Error) {
        state.withLock { $0.fail(index, error) }
        input?.giveUp()
    }

    /// What one thread does.
    func work(_ makeWorker: () throws -> Worker) {
        var worker: Worker?
        while let index = take(&worker, makeWorker), let worker {
            do {
                try worker.work()
                if worker.isOrdered {
                    let ready = Ready(worker: worker)
                    state.withLock { $0.ready[index] = ready }
                    let isPassed = state.wait { state in
                        state.isOver(at: index) ? false : state.turn > index ? true : nil
                    }
                    guard isPassed else { return }
                }
                try worker.finish()
                let progress = worker.progress
                state.withLock { $0.done += progress }
            } catch {
                fail(index, error)
                return
            }
        }
    }

    /// Takes a piece for a worker. It makes the worker only if there may be a piece for it: the maker of a container
    /// chooses how much memory a worker takes, and one large record must not cost that once per processor.
    ///
    /// - Returns: the number of the piece; nil at the end, or after a failure. A lack of memory for the worker is one.
    private func take(_ worker: inout Worker?, _ makeWorker: () throws -> Worker) -> UInt64? {
        taking.withLock { _ in
            guard let index = state.look({ $0.failure == nil ? $0.next : nil }) else { return nil }
            do {
                let taker = try worker ?? makeWorker()
                worker = taker
                try Cancellation.check()
                let isTaken = try taker.take()
                state.withLock { $0.next = isTaken ? index + 1 : nil }
                return isTaken ? index : nil
            } catch {
                fail(index, error)
                return nil
            }
        }
    }

    private enum Event {
        case pass(Ready, UInt64)
        case progress(UInt64)
        case end((any Error)?)
    }

    /// Does the calling thread's part until all other threads have ended. After a closure of the caller has thrown,
    /// they finish their current pieces. The closure is not called for those.
    func serve(_ pass: (Worker) throws -> Void, _ onProgress: (UInt64) throws -> Void) throws {
        var told: UInt64?
        var hasThrown = false
        while true {
            let event = state.wait { state -> Event? in
                guard !hasThrown else { return state.threadCount == 0 ? .end(state.failure?.error) : nil }
                // Progress comes first: if this thread is the slowest, there is always another piece to pass.
                if state.done > told ?? 0 { return .progress(state.done) }
                if !state.isOver(at: state.turn), let ready = state.ready.removeValue(forKey: state.turn) {
                    return .pass(ready, state.turn)
                }
                return state.threadCount == 0 ? .end(state.failure?.error) : nil
            }
            switch event {
            case .pass(let ready, let index):
                do {
                    try pass(ready.worker)
                    state.withLock { $0.turn = index + 1 }
                } catch {
                    hasThrown = true
                    fail(index, error)
                }
            case .progress(let done):
                told = done
                do {
                    try onProgress(done)
                } catch {
                    hasThrown = true
                    fail(0, error)
                }
            case .end(let error?):
                throw error
            case .end(nil):
                if told == nil { try onProgress(0) }
                return
            }
        }
    }
}
