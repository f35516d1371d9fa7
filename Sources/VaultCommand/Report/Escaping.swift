/// Escapes text from outside, above all file names, for one line of a terminal.
///
/// A name may hold escape sequences that move the cursor, line ends that fake another message, and characters that
/// reverse the direction of the text after them.
enum Escaping {
    /// The bytes as one line of visible characters. Different bytes give different lines.
    static func line(_ bytes: [UInt8]) -> String {
        // Nothing in visible ASCII is escaped but the backslash.
        let isPlain = bytes.allSatisfy { (0x20..<0x7F).contains($0) && $0 != UInt8(ascii: "\\") }
        guard !isPlain else { return String(decoding: bytes, as: UTF8.self) }
        var line = ""
        var rest = bytes[...]
        while let first = rest.first {
            if let scalar = leadingScalar(of: rest) {
                line += shown(scalar)
                rest = rest.dropFirst(UTF8.width(scalar))
            } else {
                line += hexadecimal(first)
                rest = rest.dropFirst()
            }
        }
        return line
    }

    /// The text as one line of visible characters.
    static func line(_ text: String) -> String {
        line([UInt8](text.utf8))
    }

    private static func leadingScalar(of bytes: ArraySlice<UInt8>) -> Unicode.Scalar? {
        var decoder = UTF8()
        var iterator = bytes.makeIterator()
        guard case .scalarValue(let scalar) = decoder.decode(&iterator) else { return nil }
        return scalar
    }

    private static func shown(_ scalar: Unicode.Scalar) -> String {
        switch scalar {
        case "\n": return "\\n"
        case "\t": return "\\t"
        case "\\": return "\\\\"
        default: break
        }
        switch scalar.properties.generalCategory {
        case .control where scalar.isASCII: return hexadecimal(UInt8(truncatingIfNeeded: scalar.value))
        case .control, .lineSeparator, .paragraphSeparator: return named(scalar)
        default: return isHidden(scalar) ? named(scalar) : String(scalar)
        }
    }

    /// Whether a character is invisible: joiners, direction marks, soft hyphens, tags, fillers.
    private static func isHidden(_ scalar: Unicode.Scalar) -> Bool {
        let properties = scalar.properties
        return properties.generalCategory == .format || properties.isDefaultIgnorableCodePoint
            || properties.isBidiControl
    }

    /// JSON text with every invisible character as `\u`. Such characters occur only in strings, where `\u` is valid.
    static func json(_ text: String) -> String {
        // Nothing in visible ASCII is escaped. A list has a million such lines, and asking for the properties of each
        // character takes ten times as long as all the rest.
        guard !text.utf8.allSatisfy({ (0x20..<0x7F).contains($0) }) else { return text }
        var escaped = ""
        for scalar in text.unicodeScalars {
            switch scalar.properties.generalCategory {
            case .control, .lineSeparator, .paragraphSeparator: break
            default:
                guard isHidden(scalar) else {
                    escaped.unicodeScalars.append(scalar)
                    continue
                }
            }
            for unit in UTF16.encode(scalar).map(Array.init) ?? [] {
                escaped += "\\u" + String(String(0x10000 + Int(unit), radix: 16).dropFirst())
            }
        }
        return escaped
    }

    private static func hexadecimal(_ byte: UInt8) -> String {
        "\\x" + (byte < 16 ? "0" : "") + String(byte, radix: 16)
    }

    private static func named(_ scalar: Unicode.Scalar) -> String {
        "\\u{" + String(scalar.value, radix: 16) + "}"
    }
}
