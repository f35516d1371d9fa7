internal import SystemPackage
internal import VaultFile
internal import VaultSystem

/// An input whose status shows every change that is made after it was taken.
///
/// A store through a shared mapping changes the file's times only if the page was clean before. So the file is synced
/// before its status is taken. A change in the same step of the system's clock gives no other time. So this waits until
/// the file's times are older than a step.
struct SettledInput {
    /// The input, with its status from before it is read.
    let input: Input
    /// Whether every change since that status shows in the file's times. False if the file changes all the time.
    let isSettled: Bool

    private static let attempts = 5

    /// Syncs the input and takes its status. Waits a moment if the file has just been changed.
    init(_ input: Input) throws(Failure) {
        let calls = RemovalCalls.current
        var input = input
        var isSettled = false
        for _ in 0..<Self.attempts {
            try Self.synchronize(input, calls)
            input.stat = try input.subject.attempt { try calls.stat(input.descriptor) }
            guard let time = Self.wait(for: input.stat, at: calls.now()) else {
                isSettled = true
                break
            }
            calls.pause(time)
        }
        self.input = input
        self.isSettled = isSettled
    }

    private static func synchronize(_ input: Input, _ calls: RemovalCalls) throws(Failure) {
        do throws(Errno) {
            try calls.synchronize(input.descriptor)
        } catch {
            guard !error.isMissingCall else { return }
            throw Failure(.inputOutput, input.subject, "cannot be synced, and is left alone: \(error.words)")
        }
    }

    /// How long to wait until a change of the file would give it other times; nil if one would already.
    private static func wait(for stat: Stat, at now: Timestamp) -> Duration? {
        wait(for: [stat.modified, stat.changed].compactMap(\.self), at: now)
    }

    static func wait(for times: [Timestamp], at now: Timestamp) -> Duration? {
        // Systems count time in steps of up to 10 ms, exFAT too, and FAT in steps of 2 seconds.
        let step: Duration = times.allSatisfy { $0.nanoseconds == 0 } ? .milliseconds(2100) : .milliseconds(30)
        let isNew = times.contains { time in
            let age = now.sinceBeginning - time.sinceBeginning
            return age < step && age > .zero - step
        }
        return isNew ? step : nil
    }
}

extension Timestamp {
    fileprivate var sinceBeginning: Duration { .seconds(seconds) + .nanoseconds(nanoseconds) }
}
