extension Failure {
    /// A message for a common mistake that the parser refuses too. The parser would repeat the argument, which may be a
    /// passphrase. Nil if there is no such mistake.
    init?(mistakeIn arguments: [[UInt8]]) {
        if let mistake = Self.mountOption(in: arguments) {
            self = mistake
            return
        }
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

    /// The failure for an operand or an option in the form that another verb has. Nil if there is none.
    ///
    /// - Parameter reason: The parser's message.
    init?(formIn arguments: [[UInt8]], for names: [String], _ reason: String) {
        let subject = names.isEmpty ? "usage" : names.joined(separator: " ")
        if reason.contains("invalid for '--for ") {
            self = .usage("--for", "takes a time such as 90s, 15m or 1h30m; at most 24h")
            return
        }
        let unknown = reason.split(separator: "'", omittingEmptySubsequences: false)
        let word = unknown.count > 1 ? String(unknown[1]) : ""
        var hint: Hint?
        if reason.hasPrefix("unexpected argument '"), let verb = VerbName(rawValue: subject) {
            if verb.isOfStore { hint = .nameStore(word) }
            if verb == .keyGenerate { hint = .nameKeyFile(word) }
        } else if reason.hasPrefix("unknown option '") {
            switch (subject, word) {
            case ("extract", "-o"), ("extract", "--output"): hint = .extractInto
            // What follows may be a passphrase, and is not repeated.
            case ("usage", "-p"), ("usage", "--passphrase"): hint = .commandFirst
            case (_, "--pass"), (_, "--password"):
                if let verb = VerbName(rawValue: subject), !verb.isOfKeyring, !verb.isOfStore {
                    hint = .passphraseOptions
                }
            default: break
            }
        }
        guard let hint else { return nil }
        let isOption = reason.hasPrefix("unknown option '")
        self = .usage(subject, isOption ? "unknown option '\(word)'" : "unexpected argument '\(word)'", hint: hint)
    }

    /// The failure for an option of the system's `mount` and `umount`. Nil if there is none.
    private static func mountOption(in arguments: [[UInt8]]) -> Failure? {
        guard arguments.first == Array("mount".utf8) else { return nil }
        let words = arguments.dropFirst().prefix { $0 != Array("--".utf8) }
        for (place, word) in zip(words.indices, words) {
            switch String(decoding: word, as: UTF8.self) {
            case "-u", "--unmount", "--umount":
                let point = words[(place + 1)...].first { $0.first != UInt8(ascii: "-") }
                return .usage(
                    "mount", "unknown option '\(Escaping.line(word))'", hint: .unmount(point.map { Escaping.line($0) }))
            case "-o", "--options", "--ro", "--read-only":
                return .usage("mount", "unknown option '\(Escaping.line(word))'", hint: .mountIsReadOnly)
            default: continue
            }
        }
        return nil
    }

    private static func passphrase(in option: String) -> Failure {
        .usage(
            option, "takes no value: no passphrase is read from an argument, where others could see it",
            hint: .passphraseOptions)
    }
}
