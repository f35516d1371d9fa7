import ArgumentParser
import VaultTestSupport

@testable import VaultCommand

/// A command line of any bytes, its arguments parted by NUL: it is taken or refused, and nothing is done.
enum CommandTarget: FuzzTarget {
    static let name = "command"

    static func run(_ input: [UInt8]) throws {
        let arguments = input.split(separator: 0, omittingEmptySubsequences: false).prefix(40).map([UInt8].init)
        let texts = ArgumentText.encode(arguments)
        try require(
            texts.flatMap(ArgumentText.split) == arguments || arguments.contains([UInt8(ascii: " ")]),
            "what the parser gets is not what was given")
        for argument in arguments { try checkNumbers(String(decoding: argument, as: UTF8.self)) }
        _ = try? Vaultfile.parseAsRoot(texts)
    }

    /// A size is what its digits and its unit say, and below 2⁶³.
    private static func checkNumbers(_ text: String) throws {
        guard let size = ByteCount(argument: text) else { return }
        let digits = text.prefix { $0.isASCII && $0.isNumber }
        let units: [Substring: Double] = ["": 1, "K": 0x1p10, "M": 0x1p20, "G": 0x1p30, "T": 0x1p40]
        let unit = text.dropFirst(digits.count)
        guard let number = Double(digits), let factor = units[unit.hasSuffix("iB") ? unit.dropLast(2) : unit] else {
            throw Broken("\(text) is a size")
        }
        try require(
            size.value <= UInt64(Int64.max) && abs(Double(size.value) - number * factor) <= number * factor * 0x1p-50,
            "\(text) is \(size.value)")
    }
}
