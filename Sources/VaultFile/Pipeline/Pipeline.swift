import Synchronization
import VaultStream

/// One thread's part in a pipeline: it owns a piece from the first step to the last, in memory of its own, so that no byte
/// is handed from thread to thread.
protocol PipelineWorker: AnyObject {
    /// Takes the next piece: pieces are taken in their order, by one worker at a time. False at the end.
    func take() throws -> Bool
    /// Does what can be done to any piece at any time.
    func work() throws
    /// Whether `pass` has anything to do, so that it has to wait for its turn.
    var isOrdered: Bool { get }
    /// Does what has to be done in the order of the pieces; nothing of a piece behind one that failed is passed.
    func pass() throws
    /// Does the rest, in no order.
    func finish() throws
    /// How many bytes the piece is about, for progress.
    var progress: UInt64 { get }
}

extension PipelineWorker {
    func finish() throws {}
}

/// Work on a row of pieces by several threads at once: taken in order, worked on at once, passed in order. Every operation
/// on whole files goes through it, with one thread or with many, so that results and errors are the same.
///
/// Memory is what the workers hold, whatever the row's length is.
struct Pipeline {
    /// How many threads work, the calling one among them.
    let jobs: Int

    private struct State {
        /// Which piece is passed next.
        var turn: UInt64 = 0
        /// The first piece that failed, and why: in the order of the pieces, whichever failed first in time.
        var failure: (index: UInt64, error: any Error)?

        func isOver(before index: UInt64) -> Bool {
            failure.map { $0.index < index } ?? false
        }

        mutating func fail(_ index: UInt64, _ error: any Error) {
            if failure.map({ index < $0.index }) ?? true { failure = (index, error) }
        }
    }

    private final class Shared: Sendable {
        let next = Mutex<UInt64?>(0)
        let state = Monitor(State())
        let progress = Atomic<UInt64>(0)
        let threads = Monitor(0)
    }

    /// Runs it to its end.
    ///
    /// - Parameters:
    ///   - makeWorker: makes one for each thread.
    ///   - onProgress: called on the calling thread now and then and at the end, with the bytes that are done.
    /// - Throws: what failed first in the order of the pieces.
    func run<Worker: PipelineWorker>(
        _ makeWorker: @escaping @Sendable () -> Worker, onProgress: (UInt64) throws -> Void
    ) throws {
        let shared = Shared()
        let (calls, engine) = (SystemCalls.current, RecordCipher.engineOfThisTask)
        for _ in 1..<max(1, jobs) {
            shared.threads.withLock { $0 += 1 }
            do {
                try Thread.start {
                    SystemCalls.$current.withValue(calls) {
                        RecordCipher.withEngine(engine) { Self.work(makeWorker(), shared) { _ in } }
                    }
                    shared.threads.withLock { $0 -= 1 }
                }
            } catch {
                // Fewer do the same.
                shared.threads.withLock { $0 -= 1 }
                break
            }
        }
        Self.work(makeWorker(), shared, onProgress)
        shared.threads.wait { $0 == 0 ? () : nil }
        if let failure = shared.state.look({ $0.failure }) { throw failure.error }
        // The others may have done it all.
        try onProgress(shared.progress.load(ordering: .relaxed))
    }

    private static func work(
        _ worker: some PipelineWorker, _ shared: Shared, _ onProgress: (UInt64) throws -> Void
    ) {
        while let index = take(worker, shared) {
            do {
                try worker.work()
                if worker.isOrdered {
                    let isMine = shared.state.wait { state -> Bool? in
                        state.isOver(before: index) ? false : state.turn == index ? true : nil
                    }
                    guard isMine else { return }
                    try worker.pass()
                    shared.state.withLock { $0.turn += 1 }
                }
                try worker.finish()
                let done = shared.progress.add(worker.progress, ordering: .relaxed).newValue
                try onProgress(done)
            } catch {
                shared.state.withLock { $0.fail(index, error) }
                return
            }
        }
    }

    /// The number of the piece that a worker has taken; nil at the end, or where something has failed.
    private static func take(_ worker: some PipelineWorker, _ shared: Shared) -> UInt64? {
        shared.next.withLock { next in
            guard let index = next, !shared.state.look({ $0.failure != nil }) else { return nil }
            do {
                if try worker.take() {
                    next = index + 1
                    return index
                }
            } catch {
                shared.state.withLock { $0.fail(index, error) }
            }
            next = nil
            return nil
        }
    }
}
