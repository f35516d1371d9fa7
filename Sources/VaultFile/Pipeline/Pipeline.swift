import Synchronization
import VaultStream

/// One thread's part in a pipeline: it owns a piece from the first step to the last, in memory of its own, so that no
/// byte is handed from thread to thread.
protocol PipelineWorker: AnyObject, SendableMetatype {
    /// Takes the next piece: pieces are taken in their order, by one worker at a time. False at the end.
    func take() throws -> Bool
    /// Does what can be done to any piece at any time.
    func work() throws
    /// Whether the pieces have to be passed, and so wait for their turn.
    var isOrdered: Bool { get }
    /// Does the rest, in no order.
    func finish() throws
    /// How many bytes the piece is about, for progress.
    var progress: UInt64 { get }
}

extension PipelineWorker {
    func finish() throws {}
}

/// Work on a row of pieces by several threads at once: taken in order, worked on at once, passed in order. Whatever
/// seals or opens all records of a file goes through it, with one thread or with many, so that results and errors are
/// the same.
///
/// What a caller hands in as closures is called on his own thread, and what has to be done in order is done there.
/// Memory is what the workers hold, whatever the row's length is.
struct Pipeline {
    /// How many threads work beside the calling one; with one, it works alone.
    let jobs: Int
    /// What the pieces are read from, where that may make one wait.
    var input: PipelineInput?

    /// Runs it to its end.
    ///
    /// - Parameters:
    ///   - makeWorker: makes one for each thread.
    ///   - pass: does what has to be done in the order of the pieces, if they are ordered. Nothing behind a piece that
    ///     failed is passed.
    ///   - onProgress: called now and then and at the end, with the bytes that are done.
    /// - Throws: what failed first in the order of the pieces, and what `onProgress` throws, unless the first piece
    ///   failed.
    func run<Worker: PipelineWorker>(
        _ makeWorker: @escaping @Sendable () -> Worker, pass: (Worker) throws -> Void = { _ in },
        onProgress: (UInt64) throws -> Void = { _ in }
    ) throws {
        let row = Row<Worker>(input)
        let (calls, engine) = (SystemCalls.current, RecordCipher.engineOfThisTask)
        let cancellation = Cancellation.current
        let wanted = jobs > 1 ? jobs : 0
        row.state.withLock { $0.threadCount = wanted }
        let started = Thread.start(atMost: wanted) {
            SystemCalls.$current.withValue(calls) {
                RecordCipher.withEngine(engine) {
                    Cancellation.$current.withValue(cancellation) { row.work(makeWorker) }
                }
            }
            row.state.withLock { $0.threadCount -= 1 }
        }
        row.state.withLock { $0.threadCount -= wanted - started }
        if started > 0 {
            try row.serve(pass, onProgress)
        } else {
            try workAlone(makeWorker(), pass, onProgress)
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
private final class Row<Worker: PipelineWorker>: Sendable {
    /// A worker that waits until its piece is passed, and touches nothing meanwhile.
    struct Ready: @unchecked Sendable {
        let worker: Worker
    }

    struct State {
        /// Which piece is taken next; nil when there are no more.
        var next: UInt64? = 0
        /// Which piece is passed next.
        var turn: UInt64 = 0
        var ready: [UInt64: Ready] = [:]
        var done: UInt64 = 0
        var threadCount = 0
        /// The first piece that failed, and why: in the order of the pieces, whichever failed first in time.
        var failure: (index: UInt64, error: any Error)?

        func isOver(at index: UInt64) -> Bool {
            failure.map { $0.index <= index } ?? false
        }

        mutating func fail(_ index: UInt64, _ error: any Error) {
            if failure.map({ index < $0.index }) ?? true { failure = (index, error) }
        }
    }

    let state = Monitor(State())
    /// Held while a piece is taken, which may take as long as a pipe's other end likes.
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
    func work(_ makeWorker: () -> Worker) {
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

    /// The number of the piece that a worker has taken; nil at the end, or where something has failed.
    ///
    /// A worker is made when there may be a piece for it: whoever made a container says how much memory each takes, and
    /// one that has a single large record is not to cost it for every processor.
    private func take(_ worker: inout Worker?, _ makeWorker: () -> Worker) -> UInt64? {
        taking.withLock { _ in
            guard let index = state.look({ $0.failure == nil ? $0.next : nil }) else { return nil }
            do {
                let taker = worker ?? makeWorker()
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

    /// Does the calling thread's part until all others have ended.
    func serve(_ pass: (Worker) throws -> Void, _ onProgress: (UInt64) throws -> Void) throws {
        var told: UInt64?
        while true {
            let event = state.wait { state -> Event? in
                // Before the pieces, which always are some where this thread is the slowest.
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
                    fail(index, error)
                }
            case .progress(let done):
                told = done
                do {
                    try onProgress(done)
                } catch {
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
