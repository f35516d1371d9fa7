internal import VaultFile

/// Asking a person for a passphrase.
enum PassphraseDialogue {
    /// How often a new passphrase may be mistyped.
    private static let attempts = 3
    private static let subject = Failure.Subject.text("passphrase")

    /// Asks on the terminal: once to open, twice to seal, since nobody sees what he types.
    ///
    /// - Parameter name: What it is for, escaped, where it is for one thing.
    static func ask(for purpose: KeySources.Purpose, name: String? = nil) throws(Failure) -> Passphrase {
        guard let terminal = Terminal() else {
            throw Failure(
                .noKey, subject, "there is no terminal to ask on", hint: "--passphrase-file or --passphrase-fd reads it"
            )
        }
        defer { terminal.close() }
        do {
            switch purpose {
            case .opening:
                return try terminal.ask(name.map { "Passphrase for \($0): " } ?? "Passphrase: ").typed()
            case .sealing:
                return try askTwice(on: terminal, name)
            }
        } catch {
            throw Failure(error, about: subject, system: .noKey)
        }
    }

    private static func askTwice(on terminal: Terminal, _ name: String?) throws -> Passphrase {
        for _ in 0..<attempts {
            let first = try terminal.ask(name.map { "New passphrase for \($0): " } ?? "New passphrase: ").typed()
            let second = try terminal.ask("The same once more: ").typed()
            if first == second { return first }
            try terminal.say("These differ.")
        }
        throw Failure(.noKey, subject, "was typed differently each time")
    }
}

extension SecretText {
    /// The passphrase that was typed.
    fileprivate func typed() throws -> Passphrase {
        guard count > 0 else { throw Malformed(reason: "none was typed") }
        return try passphrase()
    }
}
