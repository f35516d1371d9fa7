/// Whether bytes are text that a terminal shows as it is: UTF-8 without control characters other than tabs and line
/// ends. An escape sequence could move the cursor over what was shown before, or make the terminal answer as if the
/// user had typed.
struct TextCheck {
    /// Whether the bytes are a part of a text, which may begin and end inside a character.
    let isPart: Bool
    private var isAtStart = true
    /// The beginning of a character whose end comes with the next bytes.
    private var rest: [UInt8] = []

    init(isPart: Bool) {
        self.isPart = isPart
    }

    /// Whether the next bytes are text.
    mutating func take(_ bytes: some Collection<UInt8>) -> Bool {
        var text = rest + bytes
        if isAtStart, isPart {
            let inside = text.prefix(Self.longest - 1).prefix { $0 & 0xC0 == 0x80 }
            text.removeFirst(inside.count)
        }
        isAtStart = isAtStart && bytes.isEmpty
        let end = text.count - Self.incomplete(text)
        rest = Array(text[end...])
        guard let string = String(validating: text[..<end], as: UTF8.self) else { return false }
        return string.unicodeScalars.allSatisfy { scalar in
            switch scalar.value {
            case 0x09, 0x0A, 0x0D: true
            case 0..<0x20, 0x7F..<0xA0: false
            default: true
            }
        }
    }

    /// Whether the text may end here.
    var isComplete: Bool { rest.isEmpty || isPart }

    /// The most bytes that a character has.
    private static let longest = 4

    /// How many bytes at the end are the beginning of a character.
    private static func incomplete(_ text: [UInt8]) -> Int {
        for (count, byte) in text.suffix(longest - 1).reversed().enumerated() where byte & 0xC0 != 0x80 {
            let length = byte >= 0xF0 ? 4 : byte >= 0xE0 ? 3 : byte >= 0xC0 ? 2 : 1
            return count + 1 < length ? count + 1 : 0
        }
        return 0
    }
}
