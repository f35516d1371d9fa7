/// A stanza as age v1 writes it: arguments, and a body of bytes (Spec 4.6, SLOT-29).
///
///     -> TYPE ARGUMENT ARGUMENT
///     BASE64BASE64BASE64
///
/// The slots of type 5 hold stanzas, and the protocol of age plugins consists of them.
public struct AgeStanza: Hashable, Sendable {
    /// The arguments, each of one or more characters 0x21 to 0x7E. The first one is the type; there is at least one.
    public let arguments: [String]
    /// The body; it may be empty.
    public let body: [UInt8]

    /// The number of letters in every line of the body but the last.
    package static let lineCount = 64

    /// A stanza.
    ///
    /// - Returns: nil if there is no argument, or if one is empty or has another character than 0x21 to 0x7E.
    public init?(_ arguments: [String], body: [UInt8] = []) {
        guard !arguments.isEmpty, arguments.allSatisfy({ !$0.isEmpty && $0.utf8.allSatisfy(Self.isPlain) }) else {
            return nil
        }
        self.arguments = arguments
        self.body = body
    }

    private init(checked arguments: [String], body: [UInt8]) {
        self.arguments = arguments
        self.body = body
    }

    /// The type: the first argument.
    public var type: String { arguments.first ?? "" }

    /// The stanza's bytes, as age writes them.
    public var encoded: [UInt8] {
        Self.firstLine(arguments[...]) + Self.encodedBody(body)
    }

    /// The line `-> ARGUMENT ARGUMENT`, with its end.
    package static func firstLine(_ arguments: ArraySlice<String>) -> [UInt8] {
        [UInt8]("->".utf8) + arguments.flatMap { [0x20] + $0.utf8 } + [0x0A]
    }

    private static func encodedBody(_ body: [UInt8]) -> [UInt8] {
        var letters = [UInt8](repeating: 0, count: Base64.letterCount(of: body.count))
        var span = letters.mutableSpan
        _ = Base64.encodeUnpadded(body.span, into: &span, at: 0)
        var lines: [UInt8] = []
        var rest = letters[...]
        while rest.count >= lineCount {
            lines += rest.prefix(lineCount) + [0x0A]
            rest = rest.dropFirst(lineCount)
        }
        return lines + rest + [0x0A]
    }

    private static func isPlain(_ letter: UInt8) -> Bool { (0x21...0x7E).contains(letter) }

    // MARK: Reading

    /// Reads stanzas and nothing else (SLOT-29).
    ///
    /// - Parameters:
    ///   - text: the bytes.
    ///   - most: the most stanzas.
    /// - Returns: at least one stanza; nil if the bytes are anything else.
    package static func parse(_ text: ArraySlice<UInt8>, atMost most: Int) -> [AgeStanza]? {
        var stanzas: [AgeStanza] = []
        var lines = Lines(rest: text)
        while !lines.rest.isEmpty {
            guard stanzas.count < most, let stanza = AgeStanza(&lines) else { return nil }
            stanzas.append(stanza)
        }
        return stanzas.isEmpty ? nil : stanzas
    }

    private init?(_ lines: inout Lines) {
        guard let line = lines.next(), let arguments = Self.arguments(in: line) else { return nil }
        var letters: [UInt8] = []
        while true {
            guard let line = lines.next(), line.count <= Self.lineCount else { return nil }
            letters += line
            if line.count < Self.lineCount { break }
        }
        guard let body = Base64.decodeUnpadded(letters[...]) else { return nil }
        self.init(checked: arguments, body: body)
    }

    /// The arguments in a first line without its end; nil if it is none.
    package static func arguments(in line: ArraySlice<UInt8>) -> [String]? {
        guard line.starts(with: [0x2D, 0x3E, 0x20]) else { return nil }
        let words = line.dropFirst(3).split(separator: 0x20, omittingEmptySubsequences: false)
        guard words.allSatisfy({ !$0.isEmpty && $0.allSatisfy(isPlain) }) else { return nil }
        return words.map { String(decoding: $0, as: UTF8.self) }
    }

    private struct Lines {
        var rest: ArraySlice<UInt8>

        /// The next line without its LF; nil if no LF is left.
        mutating func next() -> ArraySlice<UInt8>? {
            guard let end = rest.firstIndex(of: 0x0A) else { return nil }
            defer { rest = rest[(end + 1)...] }
            return rest[..<end]
        }
    }
}
