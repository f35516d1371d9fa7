import Testing
import VaultFormat

/// Times as text: every year of four digits, each in only one form.
@Suite struct UTCTimeTests {
    @Test(
        arguments: [
            (0, "1970-01-01T00:00:00Z"), (-1, "1969-12-31T23:59:59Z"), (1_795_255_200, "2026-11-21T10:00:00Z"),
            (951_782_399, "2000-02-28T23:59:59Z"), (951_782_400, "2000-02-29T00:00:00Z"),
            (4_107_542_400, "2100-03-01T00:00:00Z"), (-62_167_219_200, "0000-01-01T00:00:00Z"),
            (253_402_300_799, "9999-12-31T23:59:59Z"),
        ] as [(Int64, String)])
    func known(_ seconds: Int64, _ text: String) {
        #expect(Timestamp(seconds: seconds).utc == text)
        #expect(Timestamp(utc: Array(text.utf8)) == Timestamp(seconds: seconds))
    }

    @Test(arguments: [Int64.min, -62_167_219_201, 253_402_300_800, .max])
    func withoutAYearOfFourDigits(_ seconds: Int64) {
        #expect(Timestamp(seconds: seconds).utc == nil)
    }

    @Test func thereAndBack() {
        // Two cycles of the calendar, each at another time of the day, and every day of the years around three turns of
        // a century.
        let centuries: [Int64] = [-25_567, 10_957, 47_482]
        let days = centuries.flatMap { Array($0 - 500...$0 + 500) }
        for day in days + Array(stride(from: Int64(-140_000), through: 152_000, by: 37)) {
            let time = Timestamp(seconds: day * 86_400 + (day & 0xFFFF))
            #expect(time.utc.flatMap { Timestamp(utc: Array($0.utf8)) } == time)
        }
    }

    @Test(arguments: [
        "", "2026-11-21", "2026-11-21T10:00:00", "2026-11-21T10:00:00z", "2026-11-21 10:00:00Z",
        "2026-13-21T10:00:00Z", "2026-00-21T10:00:00Z", "2026-11-31T10:00:00Z", "2026-11-00T10:00:00Z",
        "2026-02-29T10:00:00Z", "1900-02-29T10:00:00Z", "2026-11-21T24:00:00Z", "2026-11-21T10:60:00Z",
        "2026-11-21T10:00:60Z", "2026-11-21T10:00:00ZZ", "-026-11-21T10:00:00Z", "2026-11-2 T10:00:00Z",
    ])
    func refused(_ text: String) {
        #expect(Timestamp(utc: Array(text.utf8)) == nil)
    }
}
