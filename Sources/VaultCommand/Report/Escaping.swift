/// Text from files, names first of all, made fit for one line of a terminal.
///
/// A name may hold escape sequences that move the cursor, line ends that fake a message of their own, and characters
/// that turn the direction of the text behind them.
enum Escaping {
    /// One line without a character that could do anything but be seen. No two texts give the same line.
    static func line(_ bytes: [UInt8]) -> String {
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

    /// The same for text that is known to be UTF-8.
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

    /// Whether a character shows nothing of itself: joiners, marks of direction, soft hyphens, tags, fillers.
    private static func isHidden(_ scalar: Unicode.Scalar) -> Bool {
        let properties = scalar.properties
        return properties.generalCategory == .format || properties.isDefaultIgnorableCodePoint
            || properties.isBidiControl
    }

    /// A text of JSON with all that could do anything but be seen as `\u`, which it may be wherever it stands.
    static func json(_ text: String) -> String {
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
