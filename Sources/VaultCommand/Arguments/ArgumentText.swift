/// Converts arguments to the text that the parser needs, and back.
///
/// The parser works on characters: it would join a `=` with a combining accent after it, treat two encodings of one
/// character as equal, and could not hold bytes that are not UTF-8. So every byte except printable ASCII is encoded as
/// one character from the private use area, which `decode` turns back into exactly that byte.
enum ArgumentText {
    /// The private character for byte 0. Those for the other bytes follow it.
    private static let base: UInt32 = 0xF700
    /// Represents no byte. It marks an empty value: the parser treats `--option=` as `--option` and would take the next
    /// argument as its value.
    private static let nothing: Unicode.Scalar = "\u{F6FF}"

    private static let dash = [UInt8(ascii: "-")]

    /// Separates operands that the parser gets as one argument.
    private static let separator: Unicode.Scalar = "\u{F6FE}"
    /// How many words in a row stay separate: the first may be the value of an option, and some may be verbs.
    private static let separateWords = 8

    /// All arguments, before and after `--`.
    ///
    /// The parser's time grows with the square of the number of its arguments: 0.7 s for 5,000, 11.6 s for 20,000,
    /// minutes for the 100,000 to which a `*` can expand. So words that can only be operands are joined to one
    /// argument.
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

    /// The operands that were joined to one argument.
    static func split(_ text: String) -> [[UInt8]] {
        text.unicodeScalars.split(separator: separator, omittingEmptySubsequences: false).map { decode(String($0)) }
    }

    /// The most unexpected arguments that a message repeats: a pattern of the shell can give thousands.
    private static let mostRepeated = 3

    /// The parser's message about unexpected arguments with the first of them and their true number: it knows joined ones
    /// as one. Any other message as it is.
    static func shortened(_ message: String) -> String {
        let number = Int(message.prefix { ("0"..."9").contains($0) }) ?? 0
        let lead = " unexpected arguments: '"
        guard message.hasPrefix("\(number)\(lead)") else { return message }
        let list = message.dropFirst("\(number)\(lead)".count).dropLast()
        let count = number + list.unicodeScalars.count { $0 == separator }
        guard count > mostRepeated else { return message }
        let first = list.split(separator: "', '", maxSplits: mostRepeated, omittingEmptySubsequences: false)
            .prefix(mostRepeated).flatMap { $0.unicodeScalars.split(separator: separator) }.prefix(mostRepeated)
        return "\(count)\(lead)" + first.map { String($0) }.joined(separator: "', '")
            + "' and \(count - first.count) more"
    }

    private static func encode(_ argument: [UInt8], mayBeOption: Bool) -> String {
        guard !argument.isEmpty else { return String(nothing) }
        // In `-oFILE` all that follows is the name, as in GNU tools, even if it contains a `=`.
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

    /// The bytes that the text represents.
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
