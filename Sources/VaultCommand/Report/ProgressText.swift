internal import CUTF8Proc
internal import SystemPackage

/// The text of the line of progress, within a number of columns.
enum ProgressText {
    /// A text and its width in columns.
    typealias Line = (text: String, width: Int)

    /// The progress on one input.
    ///
    /// - Parameters:
    ///   - first: How many bytes were done when the time began to count.
    ///   - total: How many bytes there will be, if known.
    static func ofInput(
        _ name: String, done: UInt64, since first: UInt64 = 0, total: UInt64?, worked: Duration, columns: Int = 79,
        ellipsis: String = ProgressText.ellipsis
    ) -> Line {
        let rate = perSecond(done - min(first, done), worked)
        var amount = size(Double(done))
        var percent: String?
        var left: String?
        if let total, total > 0 {
            amount += " of \(size(Double(total)))"
            percent = "\(min(100, Int(100 * (Double(done) / Double(total)))))%"
        }
        if let total, rate >= 1, total >= done { left = time(left: Double(total - done) / rate) }
        let variants = [
            [amount, percent, "\(size(rate))/s", left], [amount, percent, left], [amount, left], [amount],
        ]
        .map { ": " + $0.compactMap(\.self).joined(separator: ", ") }
        let least = min(8, width(name))
        let rest = variants.first { width($0) + least <= columns } ?? variants[variants.count - 1]
        let room = max(least, min(columns - width(rest), 24))
        return clipped(clipped(name, to: room, ellipsis, fromItsEnd: true).text + rest, to: columns, ellipsis)
    }

    /// How far a run over many inputs is.
    struct Run {
        var files: UInt64 = 0
        /// How many files there are; nil until they are counted.
        var totalFiles: UInt64?
        /// How many bytes of the inputs are done; nil if the work does not depend on their size.
        var bytes: UInt64?
        var totalBytes: UInt64 = 0
        /// How many bytes were read or written for them. Inputs that need no work have none.
        var processed: UInt64 = 0
        /// The name of an input that is worked on.
        var name = ""
    }

    /// The progress of a run over many inputs.
    static func ofRun(
        _ run: Run, worked: Duration, columns: Int = 79, ellipsis: String = ProgressText.ellipsis
    ) -> Line {
        var files = run.files.counted("file")
        var bytes = run.bytes.map { size(Double($0)) }
        var left: String?
        if let total = run.totalFiles {
            files = "\(run.files)/\(max(run.files, total).counted("file"))"
            let (done, all) = run.bytes.map { ($0, run.totalBytes) } ?? (run.files, total)
            bytes = run.bytes.map { size($0, of: run.totalBytes) }
            let rate = perSecond(done, worked)
            if rate > 0, all >= done { left = time(left: Double(all - done) / rate) }
        }
        let rate =
            run.bytes == nil
            ? "\(Int(perSecond(run.files, worked))) files/s" : "\(size(perSecond(run.processed, worked)))/s"
        let variants = [[files, bytes, rate, left], [files, bytes, left]].map { $0.compactMap(\.self) }
        let least = run.name.isEmpty ? 0 : min(8, width(run.name)) + 2
        for parts in variants {
            let text = parts.joined(separator: ", ")
            let room = columns - width(text)
            guard room >= least else { continue }
            let name = run.name.isEmpty ? "" : ", " + clipped(run.name, to: room - 2, ellipsis, fromItsEnd: true).text
            return clipped(text + name, to: columns, ellipsis)
        }
        let short = [variants[1], [files, left].compactMap(\.self), [files]].map { $0.joined(separator: ", ") }
        return clipped(short.first { width($0) <= columns } ?? files, to: columns, ellipsis)
    }

    // MARK: Parts

    private static func perSecond(_ count: UInt64, _ worked: Duration) -> Double {
        let seconds = worked / .seconds(1)
        return seconds > 0 ? Double(count) / seconds : 0
    }

    private static let units = ["B", "KiB", "MiB", "GiB", "TiB"]

    private static func power(_ bytes: Double) -> Int {
        var (value, power) = (bytes, 0)
        while value >= 1024, power < units.count - 1 { (value, power) = (value / 1024, power + 1) }
        return power
    }

    private static func number(_ bytes: Double, _ power: Int) -> String {
        guard power > 0 else { return "\(Int(bytes))" }
        let tenths = Int((bytes / Double(1 << (10 * power)) * 10).rounded())
        return "\(tenths / 10).\(tenths % 10)"
    }

    static func size(_ bytes: Double) -> String {
        let power = power(bytes)
        return "\(number(bytes, power)) \(units[power])"
    }

    /// Both numbers in the unit of the second.
    private static func size(_ bytes: UInt64, of total: UInt64) -> String {
        let all = Double(max(bytes, total))
        let power = power(all)
        return "\(number(Double(bytes), power))/\(number(all, power)) \(units[power])"
    }

    private static func time(left: Double) -> String {
        let seconds = UInt64(min(left.rounded(.up), 1e9))
        let twoDigits = { (number: UInt64) in number < 10 ? "0\(number)" : "\(number)" }
        let (hours, minutes) = (seconds / 3600, seconds / 60 % 60)
        let tail = twoDigits(seconds % 60)
        return (hours > 0 ? "\(hours):\(twoDigits(minutes)):\(tail)" : "\(minutes):\(tail)") + " left"
    }

    // MARK: Columns

    /// What shows that a text was cut: three dots where the locale may have no ellipsis.
    static func ellipsis(_ environment: (String) -> [UInt8]?) -> String {
        let locale = ["LC_ALL", "LC_CTYPE", "LANG"].lazy.compactMap(environment).first { !$0.isEmpty } ?? []
        let name = String(decoding: locale, as: UTF8.self).uppercased()
        return name.contains("UTF-8") || name.contains("UTF8") ? "\u{2026}" : "..."
    }

    static let ellipsis = ellipsis(Platform.environment)

    private static func width(_ scalar: Unicode.Scalar) -> Int {
        max(0, Int(utf8proc_charwidth(utf8proc_int32_t(bitPattern: scalar.value))))
    }

    private static func width(_ text: String) -> Int {
        text.unicodeScalars.reduce(0) { $0 + width($1) }
    }

    /// As much of the text as fits into this many columns.
    private static func clipped(
        _ text: String, to columns: Int, _ ellipsis: String, fromItsEnd: Bool = false
    ) -> Line {
        let whole = width(text)
        guard whole > columns else { return (text, whole) }
        var kept: [Unicode.Scalar] = []
        var room = max(0, columns - width(ellipsis))
        for scalar in fromItsEnd ? Array(text.unicodeScalars.reversed()) : Array(text.unicodeScalars) {
            guard width(scalar) <= room else { break }
            room -= width(scalar)
            kept.append(scalar)
        }
        let part = String(String.UnicodeScalarView(fromItsEnd ? kept.reversed() : kept))
        let line = fromItsEnd ? ellipsis + part : part + ellipsis
        return (line, width(line))
    }
}
