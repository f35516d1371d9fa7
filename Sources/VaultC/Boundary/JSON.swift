/// A value of a report. Reports are small, and the library that Swift has for JSON is larger than all of this one.
enum JSON {
    case text(String)
    case number(Int64)
    case flag(Bool)
    case list([JSON])
    /// Members without a value are left out.
    case object([(name: String, value: JSON?)])

    static func number(_ value: some BinaryInteger) -> JSON { .number(Int64(clamping: value)) }

    /// The value on one line. Everything but printable ASCII is escaped.
    var text: String {
        var text = ""
        write(to: &text)
        return text
    }

    private func write(to text: inout String) {
        switch self {
        case .text(let value): Self.write(value, to: &text)
        case .number(let value): text += "\(value)"
        case .flag(let value): text += value ? "true" : "false"
        case .list(let values):
            text += "["
            for (index, value) in values.enumerated() {
                if index > 0 { text += "," }
                value.write(to: &text)
            }
            text += "]"
        case .object(let members):
            text += "{"
            var isFirst = true
            for case (let name, let value?) in members {
                if !isFirst { text += "," }
                isFirst = false
                Self.write(name, to: &text)
                text += ":"
                value.write(to: &text)
            }
            text += "}"
        }
    }

    private static func write(_ value: String, to text: inout String) {
        text += "\""
        for unit in value.utf16 {
            switch unit {
            case 0x22: text += "\\\""
            case 0x5C: text += "\\\\"
            case 0x20..<0x7F: text.unicodeScalars.append(Unicode.Scalar(UInt8(unit)))
            default:
                let digits = String(unit, radix: 16)
                text += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
            }
        }
        text += "\""
    }

    /// Bytes as hexadecimal digits.
    static func hexadecimal(_ bytes: [UInt8]) -> JSON {
        let digits = Array("0123456789abcdef")
        return .text(String(bytes.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }))
    }
}
