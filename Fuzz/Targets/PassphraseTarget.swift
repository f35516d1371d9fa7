import SystemPackage
import VaultCrypto
import VaultFile
import VaultStream
import VaultTestSupport

@testable import VaultCommand

/// The text of a passphrase. Every way to write the same characters must give the same passphrase: another one would
/// lock its user out.
enum PassphraseTarget: FuzzTarget {
    static let name = "passphrase"

    /// The same characters in two encodings: composed and decomposed, a letter and its twin, marks in both orders.
    private static let twins: [(String, String)] = [
        ("\u{E4}", "a\u{308}"), ("\u{C5}", "\u{212B}"), ("\u{3A9}", "\u{2126}"), ("\u{1E69}", "s\u{307}\u{323}"),
        ("\u{1E69}", "s\u{323}\u{307}"), ("\u{AC01}", "\u{1100}\u{1161}\u{11A8}"), ("\u{AC00}", "\u{1100}\u{1161}"),
        ("\u{F900}", "\u{8C48}"), ("\u{2F800}", "\u{4E3D}"), ("\u{958}", "\u{915}\u{93C}"), ("\u{387}", "\u{B7}"),
        ("\u{1D15E}", "\u{1D157}\u{1D165}"), ("\u{344}", "\u{308}\u{301}"),
        ("\u{1F82}", "\u{3B1}\u{313}\u{300}\u{345}"),
    ]

    static func run(_ input: [UInt8]) throws {
        guard let passphrase = try passphrase(input) else { return }
        let bytes = passphrase.secret.withBytes { [UInt8](copying: $0) }
        guard let text = line(of: input), let result = String(validating: bytes, as: UTF8.self) else {
            throw Broken("bytes that are not UTF-8 are a passphrase")
        }
        // Swift compares strings by canonical equivalence, with tables of its own.
        try require(result == text, "a passphrase has become another")
        for decomposed in ["a\u{308}", "\u{1100}\u{1161}"] {
            try require(
                replacing(Array(decomposed.utf8), by: [], in: bytes) == nil, "a passphrase is not in the composed form")
        }
        try require(try Self.passphrase(bytes) == passphrase, "a passphrase changes when it is read again")
        for (one, other) in twins {
            for (from, to) in [(one, other), (other, one)] {
                guard let twin = replacing(Array(from.utf8), by: Array(to.utf8), in: Array(text.utf8)) else { continue }
                // A longer way to write it may be longer than a line.
                guard let found = try Self.passphrase(twin) else { continue }
                try require(found == passphrase, "one passphrase has two forms: \(from) and \(to)")
            }
        }
    }

    /// Reads a text as the command does, or refuses it.
    private static func passphrase(_ text: [UInt8]) throws -> Passphrase? {
        let (reader, writer) = try FileDescriptor.pipe()
        defer { try? reader.close() }
        do {
            defer { try? writer.close() }
            // More than a pipe holds is refused anyway.
            try writer.writeAll(text.prefix(SymmetricKey.largestKeyFile + 1))
        }
        do {
            return try SecretText(contentsOf: reader).passphrase()
        } catch is SecretText.Malformed {
            return nil
        } catch let error as VaultError where error.code == .badPassphrase {
            return nil
        }
    }

    /// The text of an accepted input, without the end of its line.
    private static func line(of input: [UInt8]) -> String? {
        var line = input[...]
        if line.last == UInt8(ascii: "\n") { line = line.dropLast() }
        if line.last == UInt8(ascii: "\r") { line = line.dropLast() }
        return String(validating: line, as: UTF8.self)
    }

    /// The text with every occurrence replaced; nil if there is none.
    private static func replacing(_ old: [UInt8], by new: [UInt8], in text: [UInt8]) -> [UInt8]? {
        var (result, start, isChanged) = ([UInt8](), 0, false)
        while start < text.count {
            if text[start...].starts(with: old) {
                result += new
                start += old.count
                isChanged = true
            } else {
                result.append(text[start])
                start += 1
            }
        }
        return isChanged ? result : nil
    }
}
