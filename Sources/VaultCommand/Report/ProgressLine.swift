internal import Synchronization
internal import SystemPackage

/// The progress of the work on one input. If standard error is a terminal and the work takes more than a second, it is
/// shown there as one line that is rewritten.
struct ProgressLine {
    private let name: String
    private let total: UInt64?
    private let shown: Bool
    /// The progress of the input within the run, if the run shows one line for all inputs.
    private let part: InputProgress?
    private var counted: UInt64 = 0
    /// How many bytes were done when the time began to count. Time before that, for keys and passphrases, does not count
    /// towards the rate.
    private var first: UInt64?
    private var clock = WorkClock()
    private var next = ContinuousClock.now

    /// - Parameter total: How many bytes there will be, if known.
    init(_ subject: Failure.Subject, total: UInt64?, on console: Console) {
        name = subject.escaped
        self.total = total
        part = InputMessages.current?.progress
        shown = part == nil && console.showsProgress
    }

    /// - Parameter done: How many bytes are done.
    mutating func update(_ done: UInt64) {
        if let part {
            part.add(bytes: done - min(counted, done))
            counted = done
        }
        guard shown else { return }
        let now = ContinuousClock.now
        guard let first else {
            first = done
            clock = WorkClock(at: now)
            next = now + .seconds(1)
            return
        }
        clock.look(at: now)
        guard now >= next else { return }
        next = now + .milliseconds(200)
        StatusLine.show { [name, total, clock] columns in
            ProgressText.ofInput(name, done: done, since: first, total: total, worked: clock.worked, columns: columns)
        }
    }

    /// Clears the line.
    func finish() {
        if shown { StatusLine.clear() }
    }
}

/// The progress of a run over many inputs, as one line for all of them.
final class RunProgress: Sendable {
    private struct State {
        var run = ProgressText.Run()
        var clock = WorkClock()
        var next = ContinuousClock.now + .seconds(1)
        var isFinished = false
    }

    let isShown: Bool
    private let state = Mutex(State())

    /// - Parameter countsBytes: Whether the work depends on the size of the inputs.
    init(on console: Console, countsBytes: Bool) {
        isShown = console.showsProgress
        if countsBytes { state.withLock { $0.run.bytes = 0 } }
    }

    var isFinished: Bool { state.withLock { $0.isFinished } }

    /// Says how many inputs there are.
    func count(files: UInt64, bytes: UInt64) {
        state.withLock { ($0.run.totalFiles, $0.run.totalBytes) = (files, bytes) }
    }

    fileprivate func update(_ change: (inout ProgressText.Run) -> Void) {
        guard isShown else { return }
        let now = ContinuousClock.now
        // Written after the lock is released, so that no other thread waits for a halted terminal.
        let due = state.withLock { state -> (ProgressText.Run, Duration)? in
            change(&state.run)
            state.clock.look(at: now)
            guard now >= state.next, !state.isFinished else { return nil }
            state.next = now + .milliseconds(200)
            return (state.run, state.clock.worked)
        }
        guard let (run, worked) = due else { return }
        StatusLine.show { ProgressText.ofRun(run, worked: worked, columns: $0) }
    }

    /// Clears the line.
    func finish() {
        state.withLock { $0.isFinished = true }
        if isShown { StatusLine.clear() }
    }
}

/// The progress on one of many inputs.
final class InputProgress: Sendable {
    private struct State {
        var counted: UInt64 = 0
        var size: UInt64?
    }

    private let run: RunProgress
    private let state = Mutex(State())

    init(in run: RunProgress) {
        self.run = run
    }

    /// The work on the input begins.
    func begin(_ subject: Failure.Subject, size: UInt64?) {
        state.withLock { $0.size = size }
        run.update { $0.name = subject.escaped }
    }

    /// Adds bytes that are done.
    fileprivate func add(bytes: UInt64) {
        // A compressed container has fewer bytes than come out of it.
        let new = state.withLock { state in
            let before = min(state.counted, state.size ?? .max)
            state.counted &+= bytes
            return min(state.counted, state.size ?? .max) - before
        }
        run.update { run in
            run.processed &+= bytes
            run.bytes? &+= new
        }
    }

    /// The input is done. One that needed no work counts as a whole.
    ///
    /// - Parameter isInput: Whether it was an input of the verb.
    func end(isInput: Bool) {
        guard isInput else { return }
        let rest = state.withLock { state in (state.size ?? 0) - min(state.counted, state.size ?? 0) }
        run.update { run in
            run.files += 1
            run.bytes? &+= rest
        }
    }
}

extension Console {
    fileprivate var showsProgress: Bool {
        verbosity != .quiet && !json && Platform.isTerminal(.standardError)
    }
}
