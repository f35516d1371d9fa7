internal import CPlatform
internal import CUTF8Proc
internal import Synchronization
internal import SystemPackage

/// The progress of the work on one input. If standard error is a terminal and the work takes more than a second, it is
/// shown there as one line that is rewritten.
struct ProgressLine {
    private let name: String
    private let total: UInt64?
    private let shown: Bool
    /// The progress of the run, if the run shows one line for all inputs.
    private let run: RunProgress?
    private var counted: UInt64 = 0
    /// When the first bytes were done, and how many those were. Time before that, for keys and passphrases, does not
    /// count towards the rate.
    private var start: (time: ContinuousClock.Instant, done: UInt64)?
    private var next = ContinuousClock.now

    /// - Parameter total: How many bytes there will be, if known.
    init(_ subject: Failure.Subject, total: UInt64?, on console: Console) {
        name = subject.escaped
        self.total = total
        run = InputMessages.current?.progress
        shown = run == nil && console.showsProgress
    }

    /// - Parameter done: How many bytes are done.
    mutating func update(_ done: UInt64) {
        if let run {
            run.add(bytes: done - min(counted, done))
            counted = done
        }
        guard shown else { return }
        let now = ContinuousClock.now
        guard let start else {
            start = (now, done)
            next = now + .seconds(1)
            return
        }
        guard now >= next else { return }
        next = now + .milliseconds(200)
        Self.show { columns in
            Self.line(
                name: name, done: done, since: start.done, total: total, elapsed: start.time.duration(to: now),
                columns: columns)
        }
    }

    /// Clears the line.
    func finish() {
        if shown { Self.clear() }
    }

    /// Replaces the line.
    fileprivate static func show(_ line: (_ columns: Int) -> String) {
        let columns = Int(vaultfile_terminal_columns(FileDescriptor.standardError.rawValue))
        let line = line(columns > 1 ? columns - 1 : 79)
        // Not written while the lock of `Signals` is held: on a halted terminal, the thread that ends the program would
        // wait for the lock.
        Console.speaking.withLock { _ in
            Signals.undo.withLock { $0.progressShown = true }
            FileDescriptor.standardError.writeText("\r\(line)\u{1B}[K")
        }
    }

    /// Clears the line that is shown, if any.
    static func clear() {
        Signals.undo.withLock { state in
            if state.progressShown { Terminal.clearLine() }
            state.progressShown = false
        }
    }

    /// The text of the line.
    ///
    /// - Parameters:
    ///   - first: How many bytes were done when the time began to count.
    ///   - columns: The greatest width: a line that wraps cannot be cleared.
    static func line(
        name: String, done: UInt64, since first: UInt64 = 0, total: UInt64?, elapsed: Duration, columns: Int = 79
    ) -> String {
        let seconds = Double(elapsed.components.seconds) + Double(elapsed.components.attoseconds) / 1e18
        let rate = seconds > 0 ? Double(done - min(first, done)) / seconds : 0
        var line = ": \(size(Double(done)))"
        if let total, total > 0 {
            line += " of \(size(Double(total))), \(min(100, Int(100 * (Double(done) / Double(total)))))%"
        }
        line += ", \(size(rate))/s"
        if let total, rate >= 1, total >= done {
            line += ", \(time(UInt64((Double(total - done) / rate).rounded(.up)))) left"
        }
        let room = max(0, columns - line.count)
        return clipped(clipped(name, to: max(8, min(room, 24)), fromItsEnd: true) + line, to: columns)
    }

    /// As much of the text as fits into this many columns.
    private static func clipped(_ text: String, to columns: Int, fromItsEnd: Bool = false) -> String {
        let width = { (scalar: Unicode.Scalar) in
            max(0, Int(utf8proc_charwidth(utf8proc_int32_t(bitPattern: scalar.value))))
        }
        guard text.unicodeScalars.reduce(0, { $0 + width($1) }) > columns else { return text }
        var kept: [Unicode.Scalar] = []
        // One column is for the ellipsis.
        var room = columns - 1
        for scalar in fromItsEnd ? Array(text.unicodeScalars.reversed()) : Array(text.unicodeScalars) {
            room -= width(scalar)
            guard room >= 0 else { break }
            kept.append(scalar)
        }
        let part = String(String.UnicodeScalarView(fromItsEnd ? kept.reversed() : kept))
        return fromItsEnd ? "…" + part : part + "…"
    }

    static func size(_ bytes: Double) -> String {
        var value = bytes
        var unit = "B"
        for larger in ["KiB", "MiB", "GiB", "TiB"] where value >= 1024 {
            value /= 1024
            unit = larger
        }
        guard unit != "B" else { return "\(Int(value)) B" }
        let tenths = Int((value * 10).rounded())
        return "\(tenths / 10).\(tenths % 10) \(unit)"
    }

    private static func time(_ seconds: UInt64) -> String {
        let twoDigits = { (number: UInt64) in number < 10 ? "0\(number)" : "\(number)" }
        let (hours, minutes) = (seconds / 3600, seconds / 60 % 60)
        let tail = twoDigits(seconds % 60)
        return hours > 0 ? "\(hours):\(twoDigits(minutes)):\(tail)" : "\(minutes):\(tail)"
    }
}

/// The progress of a run over many inputs, as one line for all of them.
final class RunProgress: Sendable {
    private struct State {
        var files = 0
        var bytes: UInt64 = 0
        var next: ContinuousClock.Instant
    }

    private let start = ContinuousClock.now
    private let shown: Bool
    private let state: Mutex<State>

    init(on console: Console) {
        shown = console.showsProgress
        state = Mutex(State(next: start + .seconds(1)))
    }

    /// Adds to what was done.
    func add(files: Int = 0, bytes: UInt64 = 0) {
        guard shown else { return }
        let now = ContinuousClock.now
        // Written after the lock is released, so that no other thread waits for a halted terminal.
        let due = state.withLock { state -> State? in
            state.files += files
            state.bytes &+= bytes
            guard now >= state.next else { return nil }
            state.next = now + .milliseconds(200)
            return state
        }
        guard let due else { return }
        ProgressLine.show { columns in
            ProgressLine.line(
                name: due.files.counted("file"), done: due.bytes, total: nil, elapsed: start.duration(to: now),
                columns: columns)
        }
    }

    /// Clears the line.
    func finish() {
        if shown { ProgressLine.clear() }
    }
}

extension Console {
    fileprivate var showsProgress: Bool {
        verbosity != .quiet && !json && Platform.isTerminal(.standardError)
    }
}
