/// Turns arguments into the text that the parser needs, and back.
///
/// The parser works on characters: it would join a `=` with a combining accent behind it, take two spellings of one
/// character for the same, and could not hold bytes that are not UTF-8. So each byte but printable ASCII becomes a
/// character of its own from the private use area, and comes back exactly as the user gave it.
enum ArgumentText {
    /// The private character for byte 0; the others follow it.
    private static let base: UInt32 = 0xF700
    /// Stands for no byte: the parser takes `--option=` for `--option` and would take the argument behind it as the value.
    private static let nothing: Unicode.Scalar = "\u{F6FF}"

    private static let dash = [UInt8(ascii: "-")]

    /// Separates operands that the parser gets as one argument.
    private static let separator: Unicode.Scalar = "\u{F6FE}"
    /// So many words in a row stay apart: the first may be the value of an option, and some may be verbs.
    private static let separateWords = 8

    /// All arguments, before and after `--`.
    ///
    /// The parser's time grows with the square of the number of its arguments: 0.7 s for 5,000, 11.6 s for 20,000, minutes
    /// for the 100,000 that a `*` can give. So the words in a row that can only be operands become one argument.
    static func encode(_ arguments: [[UInt8]]) -> [String] {
        var optionsEnded = false
        var wordsInRow = 0
        var texts: [String] = []
        for argument in arguments {
            let text = encode(argument, mayBeOption: !optionsEnded)
            if !optionsEnded, argument.starts(with: dash), argument != dash {
                wordsInRow = 0
                optionsEnded = argument == dash + dash
                texts.append(text)
            } else if wordsInRow < separateWords {
                wordsInRow += 1
                texts.append(text)
            } else {
                texts[texts.count - 1].unicodeScalars.append(separator)
                texts[texts.count - 1] += text
            }
        }
        return texts
    }

    /// The operands that became one argument.
    static func split(_ text: String) -> [[UInt8]] {
        text.unicodeScalars.split(separator: separator, omittingEmptySubsequences: false).map { decode(String($0)) }
    }

    private static func encode(_ argument: [UInt8], mayBeOption: Bool) -> String {
        guard !argument.isEmpty else { return String(nothing) }
        // `-oFILE` takes all that follows, as GNU's does: a `=` in it belongs to the name.
        let isShort = mayBeOption && argument.starts(with: dash) && !argument.starts(with: dash + dash)
        var text = String.UnicodeScalarView()
        for byte in argument {
            text.append(byte == UInt8(ascii: "=") && isShort ? carrier(byte) : scalar(byte))
        }
        if mayBeOption, argument.starts(with: dash + dash), argument.last == UInt8(ascii: "=") {
            text.append(nothing)
        }
        return String(text)
    }

    /// The bytes that the text stands for.
    static func decode(_ text: String) -> [UInt8] {
        var bytes: [UInt8] = []
        for scalar in text.unicodeScalars where scalar != nothing {
            switch scalar.value {
            case separator.value: bytes.append(UInt8(ascii: " "))
            case base...(base + 255): bytes.append(UInt8(scalar.value - base))
            default: bytes.append(contentsOf: UTF8.encode(scalar).map(Array.init) ?? [])
            }
        }
        return bytes
    }

    private static func scalar(_ byte: UInt8) -> Unicode.Scalar {
        (0x20...0x7E).contains(byte) ? Unicode.Scalar(byte) : carrier(byte)
    }

    private static func carrier(_ byte: UInt8) -> Unicode.Scalar {
        Unicode.Scalar(base + UInt32(byte)) ?? nothing
    }
}
