internal import Synchronization
internal import SystemPackage

/// How far the work is: one line on standard error, written again and again, where that is a terminal and the work
/// lasts over a second.
struct ProgressLine {
    private let name: String
    private let total: UInt64?
    private let shown: Bool
    private let start = ContinuousClock.now
    private var next: ContinuousClock.Instant

    /// - Parameter total: How many bytes there will be, where that is known.
    init(_ subject: Failure.Subject, total: UInt64?, on console: Console) {
        let name = subject.escaped
        // The line has to fit into 80 columns: a longer one could not be taken back.
        self.name = name.count <= 24 ? name : "…" + name.suffix(23)
        self.total = total
        shown = console.verbosity != .quiet && !console.json && SystemCalls.isTerminal(.standardError)
        next = start + .seconds(1)
    }

    /// So many bytes are done.
    mutating func update(_ done: UInt64) {
        guard shown else { return }
        let now = ContinuousClock.now
        guard now >= next else { return }
        next = now + .milliseconds(200)
        let line = Self.line(name: name, done: done, total: total, elapsed: start.duration(to: now))
        Signals.undo.withLock { state in
            state.progressShown = true
            FileDescriptor.standardError.writeText("\r\(line)\u{1B}[K")
        }
    }

    /// Takes the line away.
    func finish() {
        guard shown else { return }
        Signals.undo.withLock { state in
            if state.progressShown { Terminal.clearLine() }
            state.progressShown = false
        }
    }

    /// What the line says.
    static func line(name: String, done: UInt64, total: UInt64?, elapsed: Duration) -> String {
        let seconds = Double(elapsed.components.seconds) + Double(elapsed.components.attoseconds) / 1e18
        let rate = seconds > 0 ? Double(done) / seconds : 0
        var line = "\(name): \(size(Double(done)))"
        if let total, total > 0 {
            line += " of \(size(Double(total))), \(min(100, done / max(1, total / 100)))%"
        }
        line += ", \(size(rate))/s"
        if let total, rate >= 1, total >= done {
            line += ", \(time(UInt64((Double(total - done) / rate).rounded(.up)))) left"
        }
        return line
    }

    private static func size(_ bytes: Double) -> String {
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
