import ArgumentParser
import VaultTestSupport

@testable import VaultCommand

/// A command line of any bytes, with arguments separated by NUL. It is accepted or refused; nothing is executed.
enum CommandTarget: FuzzTarget {
    static let name = "command"

    static func run(_ input: [UInt8]) throws {
        let arguments = input.split(separator: 0, omittingEmptySubsequences: false).prefix(40).map([UInt8].init)
        let texts = ArgumentText.encode(arguments)
        try require(texts.flatMap(ArgumentText.split) == arguments, "what the parser gets is not what was given")
        for argument in arguments { try checkNumber(String(decoding: argument, as: UTF8.self)) }
        _ = Failure(mistakeIn: arguments)
        do {
            let command = try Program.parse(arguments)
            let whole = Result { try Vaultfile.parseAsRoot(texts) }.map { type(of: $0) }
            guard case .success(let other) = whole else { return }
            try require(other == type(of: command), "\(command) is not what the whole says")
        } catch {
            // Requested help, or status 64 for a wrong command line, is right. Any other result is a bug.
            let status = Vaultfile.exitCode(for: error)
            try require(status == .success || status == .validationFailure, "the parser ends with \(error)")
        }
    }

    /// A size is accepted exactly if its digits and its unit are right and its value is below 2⁶³.
    private static func checkNumber(_ text: String) throws {
        let size = ByteCount(argument: text)?.value
        try require(size == number(text), "\(text) is \(String(describing: size))")
    }

    private static func number(_ text: String) -> UInt64? {
        let digits = text.prefix { $0.isASCII && $0.isNumber }
        var unit = text.dropFirst(digits.count)
        if unit.hasSuffix("iB") {
            unit = unit.dropLast(2)
            guard !unit.isEmpty else { return nil }
        }
        let units: [Substring: UInt64] = ["": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40]
        guard let number = UInt64(digits), let factor = units[unit] else { return nil }
        let (product, overflow) = number.multipliedReportingOverflow(by: factor)
        return overflow || product > UInt64(Int64.max) ? nil : product
    }
}
