/// A point in time, counted from 1970-01-01 00:00 UTC without leap seconds (MAN-9).
public struct Timestamp: Hashable, Comparable, Sendable {
    /// Seconds; negative before 1970.
    public let seconds: Int64
    /// The nanoseconds after ``seconds``, below 10⁹.
    public let nanoseconds: UInt32

    /// A time in whole seconds.
    public init(seconds: Int64) {
        self.seconds = seconds
        nanoseconds = 0
    }

    /// Returns nil for 10⁹ nanoseconds or more.
    public init?(seconds: Int64, nanoseconds: UInt32) {
        guard nanoseconds < 1_000_000_000 else { return nil }
        self.seconds = seconds
        self.nanoseconds = nanoseconds
    }

    /// Orders the earlier time first.
    public static func < (left: Timestamp, right: Timestamp) -> Bool {
        (left.seconds, left.nanoseconds) < (right.seconds, right.nanoseconds)
    }
}

extension Timestamp {
    /// The seconds of the years 0000 to 9999.
    private static let secondsWritten: ClosedRange<Int64> = -62_167_219_200...253_402_300_799
    private static let shape = [UInt8]("0000-00-00T00:00:00Z".utf8)
    /// The number of bytes of ``utc``.
    package static var utcCount: Int { shape.count }

    /// The time in UTC to the second in ISO 8601: `2026-11-21T10:00:00Z`.
    ///
    /// Nil if the year does not have four digits. The maker of a container chooses the times in its manifest, so such
    /// years occur.
    public var utc: String? {
        guard Self.secondsWritten.contains(seconds) else { return nil }
        let (day, second) = Self.divide(seconds, by: 86_400)
        let (year, month, date) = Self.civil(ofDay: day)
        let numbers = [(year, 4), (month, 2), (date, 2), (second / 3600, 2), (second / 60 % 60, 2), (second % 60, 2)]
        var digits = numbers.flatMap { number, width in
            Array("\(number)".utf8.reversed() + [UInt8](repeating: 0x30, count: width)).prefix(width).reversed()
        }[...]
        let text = Self.shape.map { letter in letter == 0x30 ? digits.popFirst() ?? letter : letter }
        return String(decoding: text, as: UTF8.self)
    }

    /// Parses exactly the form of ``utc``. Nil for any other text.
    package init?(utc text: [UInt8]) {
        var numbers = [Int64](repeating: 0, count: 6)
        var field = 0
        for (letter, expected) in zip(text, Self.shape) {
            if expected == 0x30 {
                guard (0x30...0x39).contains(letter) else { return nil }
                numbers[field] = numbers[field] * 10 + Int64(letter - 0x30)
            } else {
                field += 1
            }
        }
        let seconds = (numbers[3] * 60 + numbers[4]) * 60 + numbers[5]
        self.init(seconds: Self.day(numbers[0], numbers[1], numbers[2]) * 86_400 + seconds)
        // A text of another shape, or a date that does not exist, gives another text here.
        guard let back = utc, Array(back.utf8) == text else { return nil }
    }

    private static func divide(_ number: Int64, by divisor: Int64) -> (Int64, Int64) {
        let (quotient, remainder) = number.quotientAndRemainder(dividingBy: divisor)
        return remainder < 0 ? (quotient - 1, remainder + divisor) : (quotient, remainder)
    }

    /// Year, month and day of the month, from the number of days since 1970. Years begin in March here, so that the
    /// leap day is the last day of a year.
    private static func civil(ofDay day: Int64) -> (Int64, Int64, Int64) {
        let (era, dayOfEra) = divide(day + 719_468, by: 146_097)
        let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let month = (5 * dayOfYear + 2) / 153
        let isNextYear: Int64 = month < 10 ? 0 : 1
        return (
            yearOfEra + era * 400 + isNextYear, month + (month < 10 ? 3 : -9), dayOfYear - (153 * month + 2) / 5 + 1
        )
    }

    /// The number of days since 1970, for a year of at most four digits and a month and day of at most two.
    private static func day(_ year: Int64, _ month: Int64, _ date: Int64) -> Int64 {
        let (era, yearOfEra) = divide(month > 2 ? year : year - 1, by: 400)
        let dayOfYear = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + date - 1
        return era * 146_097 + yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear - 719_468
    }
}
