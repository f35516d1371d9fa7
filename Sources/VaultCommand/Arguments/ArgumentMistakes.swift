extension Failure {
    /// A message for a common mistake that the parser refuses too. The parser would repeat the argument, which may be a
    /// passphrase. Nil if there is no such mistake.
    init?(mistakeIn arguments: [[UInt8]]) {
        for argument in arguments.prefix(while: { $0 != Array("--".utf8) }) {
            if argument.starts(with: Array("--passphrase=".utf8)) {
                self = .passphrase(in: "--passphrase")
                return
            }
            guard argument.first == UInt8(ascii: "-"), argument.dropFirst().first != UInt8(ascii: "-") else { continue }
            let flags = Array("fqvh".utf8)
            let rest = argument.dropFirst().drop { flags.contains($0) }
            // These are valid: short flags may be joined.
            guard rest.count > 1, !rest.allSatisfy({ (flags + Array("po".utf8)).contains($0) }) else { continue }
            if rest.first == UInt8(ascii: "p") {
                self = .passphrase(in: "-p")
                return
            }
            if rest.first == UInt8(ascii: "o"), rest.startIndex > 1 {
                self = .usage(
                    "-o", "takes a joined name only if no other option is joined before it",
                    hint: .shortOptionsApart)
                return
            }
        }
        return nil
    }

    /// The failure for an option that names public keys, with a verb that makes no slots for it. Nil if there is none.
    ///
    /// - Parameter reason: The parser's message.
    init?(recipientIn arguments: [[UInt8]], for names: [String], _ reason: String) {
        let verb = VerbName(rawValue: names.joined(separator: " "))
        guard let verb, !verb.isOfKeyring, !verb.isOfStore, reason.hasPrefix("unknown option '"),
            let option = ["-r", "-R", "--recipient", "--recipients-file"].first(where: { option in
                arguments.contains { $0 == Array(option.utf8) } && reason.hasPrefix("unknown option '\(option)'")
            })
        else { return nil }
        self = .usage(
            verb.rawValue, "unknown option '\(option)'",
            hint: verb.makesSlots ? .recipientsAreAdded : .recipientsOpenNothing)
    }

    private static func passphrase(in option: String) -> Failure {
        .usage(
            option, "takes no value: no passphrase is read from an argument, where others could see it",
            hint: .passphraseOptions)
    }
}
