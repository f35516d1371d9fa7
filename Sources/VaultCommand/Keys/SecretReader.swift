internal import Synchronization
internal import SystemPackage
internal import VaultFile
internal import VaultSystem

/// Reads keys and passphrases from files, commands, descriptors and the terminal. Each source is read once per run.
final class SecretReader: Sendable {
    private let console: Console
    private let known = Mutex<[Source: Secret]>([:])
    /// How often each purpose was answered with a passphrase that does not fit.
    private let wrong = Mutex<[SecretPurpose: Int]>([:])
    /// What is said before the next question of each purpose.
    private let remarks = Mutex<[SecretPurpose: String]>([:])

    /// A source that gives the same secret each time.
    private struct Source: Hashable {
        let source: KeyArgument.Source
        /// Why a passphrase is asked for: a new passphrase and one that opens are different secrets. Nil for other
        /// sources.
        let purpose: SecretPurpose?
    }

    init(console: Console) {
        self.console = console
    }

    /// The key or passphrase that `argument` names. It is read once per run, except that a descriptor gives its next
    /// line each time.
    func secret(_ argument: KeyArgument, for purpose: SecretPurpose) throws(Failure) -> Secret {
        if argument.descriptor != nil { return try read(argument, for: purpose) }
        let source = Source(source: argument.source, purpose: argument.source == .passphrase ? purpose : nil)
        if let secret = known.withLock({ $0[source] }) { return secret }
        let secret = try read(argument, for: purpose)
        known.withLock { $0[source] = secret }
        return secret
    }

    private static let maximumAttempts = 3

    /// Says on the terminal that the typed passphrase is wrong, and forgets it, so that the next call asks again.
    ///
    /// - Parameter words: The line that the user sees. Nil says that the passphrase is wrong: only for a caller who knows it.
    /// - Returns: False if there is no terminal, or if it was the last try.
    func asksAgain(for purpose: SecretPurpose, saying words: String? = nil) -> Bool {
        let count = wrong.withLock { wrong in
            wrong[purpose, default: 0] += 1
            return wrong[purpose, default: 0]
        }
        guard count < Self.maximumAttempts else { return false }
        let isSaid = Terminal.use { terminal in
            terminal.map { (try? $0.say(words ?? "Wrong passphrase.")) != nil } ?? false
        }
        guard isSaid else { return false }
        known.withLock { $0[Source(source: .passphrase, purpose: purpose)] = nil }
        return true
    }

    /// Says something before the next question of a purpose, on the terminal that it is asked on.
    func remark(_ text: String, beforeAsking purpose: SecretPurpose) {
        remarks.withLock { $0[purpose] = text }
    }

    /// Asks for a passphrase on the terminal. A new one is asked for twice, because a typing mistake is not visible.
    func ask(for purpose: SecretPurpose) throws(Failure) -> Passphrase {
        try attempt(about: .text("passphrase")) { subject in
            try Terminal.use { try ask(for: purpose, subject, on: $0) }
        }
    }

    private func ask(
        for purpose: SecretPurpose, _ subject: Failure.Subject, on terminal: Terminal?
    ) throws -> Passphrase {
        guard let terminal else {
            throw Failure(.noKey, subject, "there is no terminal to ask on", hint: purpose.withoutTerminal)
        }
        if let remark = remarks.withLock({ $0.removeValue(forKey: purpose) }) { try terminal.say(remark) }
        let name = purpose.subject.map { " for \($0)" } ?? ""
        guard purpose.makesSlot else { return try terminal.ask("Passphrase\(name): ").typedPassphrase() }
        return try terminal.silently {
            for _ in 0..<Self.maximumAttempts {
                let typed = try terminal.askSilenced("New passphrase\(name): ")
                let first = try typed.isEmptyLine ? offered(on: terminal) : typed.typedPassphrase()
                let second = try terminal.askSilenced("Repeat it: ")
                if !second.isEmptyLine, try second.typedPassphrase() == first { return first }
                try terminal.say("The two differ.")
            }
            throw Failure(.noKey, subject, "the two were different each time")
        }
    }

    /// Shows a generated passphrase, which the user repeats if they take it.
    private func offered(on terminal: Terminal) throws -> Passphrase {
        let text = try GeneratedPassphrase()
        try terminal.say("Nothing was typed. Here is a random passphrase; write it down, then type it:")
        try text.withBytes { try terminal.show($0) }
        return try text.withBytes { try Passphrase(bytes: $0) }
    }

    /// What a command prints. With --json, its messages become objects: standard error then has one on each line.
    func printed(
        by command: [UInt8], _ subject: Failure.Subject, atMost limit: Int = SecretText.longestFile
    ) throws -> SecretText {
        guard console.json else { return try SecretText.printed(by: command, atMost: limit) }
        return try SecretText.printed(by: command, atMost: limit) { [console] line in
            console.announce(subject, Escaping.line(line))
        }
    }

    func attempt<R>(
        about subject: Failure.Subject, _ body: (Failure.Subject) throws -> R
    ) throws(Failure) -> R {
        do {
            return try body(subject)
        } catch let malformed as SecretText.Malformed {
            var failure = Failure(.noKey, subject, malformed.reason)
            failure.error = malformed.error
            throw failure
        } catch {
            throw Failure(error, about: subject, system: .noKey)
        }
    }

    /// The text of a file.
    ///
    /// - Parameters:
    ///   - what: The secret in it; nil for none.
    ///   - isSealed: Whether others may read this text.
    func contents(
        of path: PathArgument, holding what: String? = nil, tooLong: VaultError.Code? = nil,
        atMost limit: Int = SecretText.longestFile, unless isSealed: (Span<UInt8>) -> Bool = { _ in false }
    ) throws -> SecretText {
        let descriptor = try path.opened()
        defer { if !path.isDash { try? descriptor.close() } }
        func read() throws -> SecretText { try SecretText(contentsOf: descriptor, tooLong: tooLong, atMost: limit) }
        // A secret that is typed or pasted must not stay on the screen.
        let isTyped = what != nil && path.isDash && Platform.isTerminal(.standardInput)
        let text = isTyped ? try Terminal.use { try $0?.silently(read) ?? read() } : try read()
        // Only a warning: service managers provide secrets with modes that a strict check would refuse.
        let stat = try descriptor.stat()
        if let what, stat.type == .regular, stat.othersCanRead, try !text.withBytes(isSealed) {
            console.warn(path.subject, "others can read this \(what)", hint: .keepToOwner)
        }
        return text
    }
}

extension SecretText {
    /// Whether it is only a line end. Without one, the terminal has no more input.
    fileprivate var isEmptyLine: Bool { count == 1 && (try? withBytes { $0[0] == UInt8(ascii: "\n") }) == true }

    fileprivate func typedPassphrase() throws -> Passphrase {
        guard count > 0 else { throw Malformed(reason: "nothing was typed") }
        return try passphrase()
    }
}
