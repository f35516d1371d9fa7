internal import ArgumentParser
internal import VaultFile

/// How long a keyring stays unlocked: a number with `s`, `m` or `h` after it, or several such numbers, as in `1h30m`.
struct UnlockTime: ExpressibleByArgument, Sendable {
    let seconds: UInt64

    static let standard = UnlockTime(seconds: 15 * 60)

    private init(seconds: UInt64) {
        self.seconds = seconds
    }

    init?(argument: String) {
        var sum: UInt64 = 0
        var rest = argument[...]
        repeat {
            let digits = rest.prefix { ("0"..."9").contains($0) }
            guard let number = UInt64(digits), let unit = rest.dropFirst(digits.count).first,
                let scale = Self.scales[unit]
            else { return nil }
            let (product, isTooLarge) = number.multipliedReportingOverflow(by: scale)
            let (total, isSumTooLarge) = sum.addingReportingOverflow(product)
            guard !isTooLarge, !isSumTooLarge else { return nil }
            sum = total
            rest = rest.dropFirst(digits.count + 1)
        } while !rest.isEmpty
        seconds = sum
    }

    private static let scales: [Character: UInt64] = ["s": 1, "m": 60, "h": 3600]

    /// In words, in the largest unit that gives a whole number.
    var words: String {
        switch seconds {
        case let seconds where seconds % 3600 == 0: (seconds / 3600).counted("hour")
        case let seconds where seconds % 60 == 0: (seconds / 60).counted("minute")
        default: seconds.counted("second")
        }
    }

    /// The time, if a keyring can be unlocked for so long.
    func checked() throws(Failure) -> Duration {
        guard let number = Int64(exactly: seconds), number >= 1, .seconds(number) <= Keyring.longestUnlocking else {
            throw .usage("--for", "takes 1s to \(Keyring.longestUnlocking.components.seconds / 3600)h")
        }
        return .seconds(number)
    }
}

/// The option for the time for which something is unlocked.
struct UnlockTimeOption: ParsableArguments {
    @Option(
        name: .customLong("for"), parsing: .unconditional,
        help: ArgumentHelp(
            "How long: a number with s, m or h, such as 90s, 15m or 8h; at most 24h. Without this, 15m.",
            valueName: "time"))
    private var time: UnlockTime?

    /// The time that is given, or the usual one.
    var given: UnlockTime { time ?? .standard }
}
