/// Measures how long the work takes, without the time in which the process is stopped.
struct WorkClock {
    private(set) var worked = Duration.zero
    private var last: ContinuousClock.Instant
    private var stops: Int
    /// A long time without a look. The process may have been stopped then, and the thread that notices it may be late.
    /// So it counts only if no stop is noticed until the next look.
    private var doubtful = Duration.zero

    private static let longGap = Duration.milliseconds(500)

    init(at now: ContinuousClock.Instant = .now, stops: Int = Signals.stops) {
        last = now
        self.stops = stops
    }

    /// Counts the time since the last look.
    ///
    /// - Parameter stops: How often the process was stopped or continued until now.
    mutating func look(at now: ContinuousClock.Instant = .now, stops: Int = Signals.stops) {
        let gap = last.duration(to: now)
        last = now
        defer { self.stops = stops }
        let isWork = stops == self.stops
        if isWork { worked += doubtful }
        doubtful = isWork && gap > Self.longGap ? gap : .zero
        if isWork, gap <= Self.longGap { worked += gap }
    }
}
