internal import Synchronization
internal import SystemPackage
internal import VaultFile
internal import VaultSystem

/// Reads keys and passphrases from files, commands, descriptors and the terminal. Each source is read once per run.
final class SecretReader: Sendable {
    private let console: Console
    private let known = Mutex<[Source: Secret]>([:])

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

    /// Asks for a passphrase on the terminal. A new one is asked for twice, because a typing mistake is not visible.
    func ask(for purpose: SecretPurpose) throws(Failure) -> Passphrase {
        try attempt(about: .text("passphrase")) { subject in
            guard let terminal = Terminal() else {
                throw Failure(.noKey, subject, "there is no terminal to ask on", hint: purpose.withoutTerminal)
            }
            defer { terminal.close() }
            let name = purpose.subject.map { " for \($0)" } ?? ""
            guard purpose.makesSlot else { return try terminal.ask("Passphrase\(name): ").typedPassphrase() }
            for _ in 0..<Self.maximumAttempts {
                let first = try terminal.ask("New passphrase\(name): ").typedPassphrase()
                if try terminal.ask("Repeat it: ").typedPassphrase() == first { return first }
                try terminal.say("The two differ.")
            }
            throw Failure(.noKey, subject, "the two were different each time")
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

    func contents(
        of path: PathArgument, holding what: String, tooLong: VaultError.Code? = nil
    ) throws -> SecretText {
        let descriptor = try path.opened()
        defer { if !path.isDash { try? descriptor.close() } }
        let text = try SecretText(contentsOf: descriptor, tooLong: tooLong)
        // Only a warning: service managers provide secrets with modes that a strict check would refuse.
        let stat = try descriptor.stat()
        if stat.type == .regular, stat.othersCanRead {
            console.warn(path.subject, "others can read this \(what)", hint: .keepToOwner)
        }
        return text
    }
}

extension SecretText {
    fileprivate func typedPassphrase() throws -> Passphrase {
        guard count > 0 else { throw Malformed(reason: "nothing was typed") }
        return try passphrase()
    }
}
