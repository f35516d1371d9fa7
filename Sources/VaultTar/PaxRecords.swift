import VaultFormat

/// The records of a pax header (TAR-1): `LENGTH KEY=VALUE`, each with LF at its end. Of several with one key the last
/// counts. Only those that are used here are kept.
struct PaxRecords {
    private(set) var path: [UInt8]?
    private(set) var linkPath: [UInt8]?
    private(set) var size: UInt64?
    private(set) var modified: Timestamp?
    private(set) var userID: UInt64?
    private(set) var groupID: UInt64?
    /// The name of a sparse file: its `path` is made up by the program that packed it.
    private(set) var sparseName: [UInt8]?
    private(set) var sparseLength: UInt64?
    private(set) var isSparse = false
    /// The names of extended attributes in the form of star, which most programs write, without the prefix.
    private(set) var attributeNames: Set<[UInt8]> = []

    init() {}

    init(parsing data: [UInt8]) throws(NotTar) {
        var rest = data[...]
        while !rest.isEmpty {
            let digits = rest.prefix { $0 != UInt8(ascii: " ") }
            guard let count = Self.decimal(digits).flatMap(Int.init(exactly:)), count >= digits.count + 3,
                count <= rest.count
            else { throw NotTar("a pax record has a wrong length") }
            let record = rest.prefix(count)
            guard record.last == UInt8(ascii: "\n") else { throw NotTar("a pax record does not end with LF") }
            let content = record.dropFirst(digits.count + 1).dropLast()
            guard let equals = content.firstIndex(of: UInt8(ascii: "=")) else {
                throw NotTar("a pax record has no =")
            }
            try take(content[..<equals], content[(equals + 1)...])
            rest = rest.dropFirst(count)
        }
    }

    private mutating func take(_ key: ArraySlice<UInt8>, _ value: ArraySlice<UInt8>) throws(NotTar) {
        // A key that is not UTF-8 is none of these.
        switch String(decoding: key, as: UTF8.self) {
        case "path": path = [UInt8](value)
        case "linkpath": linkPath = [UInt8](value)
        case "size": size = try Self.size(value)
        case "mtime": modified = Self.time(value)
        case "uid": userID = Self.decimal(value)
        case "gid": groupID = Self.decimal(value)
        case "GNU.sparse.name":
            sparseName = [UInt8](value)
            isSparse = true
        case "GNU.sparse.realsize", "GNU.sparse.size":
            sparseLength = Self.decimal(value)
            isSparse = true
        case let key where key.hasPrefix("GNU.sparse."): isSparse = true
        default:
            let prefix = "SCHILY.xattr.".utf8
            if key.starts(with: prefix) { attributeNames.insert([UInt8](key.dropFirst(prefix.count))) }
        }
    }

    /// A size that is no number is that of the header. One that no stream can have is no size.
    private static func size(_ value: ArraySlice<UInt8>) throws(NotTar) -> UInt64? {
        guard !value.isEmpty, value.allSatisfy(isDigit) else { return nil }
        guard let size = decimal(value) else { throw NotTar("a size is too large") }
        return size
    }

    private static func isDigit(_ byte: UInt8) -> Bool {
        (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
    }

    /// Nil for what is not all digits, and above 2⁶⁴ − 1.
    private static func decimal(_ text: ArraySlice<UInt8>) -> UInt64? {
        guard !text.isEmpty else { return nil }
        var sum: UInt64 = 0
        for byte in text {
            guard isDigit(byte) else { return nil }
            let (product, first) = sum.multipliedReportingOverflow(by: 10)
            let (next, second) = product.addingReportingOverflow(UInt64(byte - UInt8(ascii: "0")))
            guard !first, !second else { return nil }
            sum = next
        }
        return sum
    }

    /// Seconds, perhaps with a minus before them and a fraction behind them, of which nine digits count.
    private static func time(_ text: ArraySlice<UInt8>) -> Timestamp? {
        let isNegative = text.first == UInt8(ascii: "-")
        let parts = text.dropFirst(isNegative ? 1 : 0).split(
            separator: UInt8(ascii: "."), maxSplits: 1, omittingEmptySubsequences: false)
        guard let whole = parts.first.flatMap(decimal).flatMap(Int64.init(exactly:)) else { return nil }
        var nanoseconds: UInt32 = 0
        if parts.count > 1 {
            let digits = parts[1].prefix(9)
            guard parts[1].allSatisfy(isDigit), let value = digits.isEmpty ? 0 : decimal(digits) else { return nil }
            let scale = (digits.count..<9).reduce(UInt64(1)) { product, _ in product * 10 }
            nanoseconds = UInt32(value * scale)
        }
        guard isNegative else { return Timestamp(seconds: whole, nanoseconds: nanoseconds) }
        // The fraction of a timestamp counts forward from its second.
        return nanoseconds == 0
            ? Timestamp(seconds: -whole) : Timestamp(seconds: -whole - 1, nanoseconds: 1_000_000_000 - nanoseconds)
    }
}
