internal import Synchronization
internal import SystemPackage
internal import VaultFile

/// Where the program talks: results on standard output, all else on standard error.
///
/// One message is one line, `vaultfile: WHAT: WHY`, and a second one with a hint where there is one. With `--json` each
/// is one object. A line of progress is taken away before anything else is said. What threads say that work on several
/// inputs comes in the order of the inputs.
final class Console: Sendable {
    /// How much is said.
    enum Verbosity: Sendable {
        case quiet, normal, verbose
    }

    let verbosity: Verbosity
    let json: Bool
    private let holdsData = Mutex(false)

    /// Set where data goes to standard output: results are then said on standard error.
    var standardOutputHoldsData: Bool {
        get { holdsData.withLock { $0 } }
        set { holdsData.withLock { $0 = newValue } }
    }

    /// Held while something is written, so that no line of progress comes in between.
    static let speaking = Mutex(())

    /// Something to say.
    struct Text: Sendable {
        let text: String
        /// Nil where it is no result and goes to standard error.
        var result: Result?

        /// What it is the result of.
        struct Result: Sendable {
            let subject: Failure.Subject
            /// What was done, for the message where the result cannot be written.
            let done: String?
        }
    }

    init(verbosity: Verbosity = .normal, json: Bool = false) {
        self.verbosity = verbosity
        self.json = json
    }

    /// Says why something failed.
    func say(_ failure: Failure) {
        say(.error, failure)
    }

    /// Says something that the user should know and that keeps nothing from being done.
    func warn(_ subject: Failure.Subject, _ text: String, hint: String? = nil) {
        say(.warning, Failure(.done, subject, text, hint: hint))
    }

    /// Says what was done, to those who asked for it.
    func note(_ subject: Failure.Subject, _ text: String) {
        guard verbosity == .verbose else { return }
        say(.note, Failure(.done, subject, text))
    }

    /// Says what whoever reads the results has to know, unless with `--quiet`.
    func announce(_ subject: Failure.Subject, _ text: String) {
        guard json || verbosity != .quiet else { return }
        say(.note, Failure(.done, subject, text))
    }

    private func say(_ status: Report.Status, _ failure: Failure) {
        sayOnStandardError(line(status, failure))
    }

    private func line(_ status: Report.Status, _ failure: Failure) -> String {
        var text = "\(failure.subject.escaped): \(status == .warning ? "warning: " : "")\(failure.reason)"
        if json {
            var report = Report(.message, status)
            report.name(failure.subject)
            report.exit = status == .error ? failure.status.rawValue : nil
            report.error = failure.code
            report.offset = failure.offset
            report.range = failure.range.map { [$0.lowerBound, $0.upperBound] }
            report.headerOffsets = failure.headerOffsets
            report.message = text
            report.hint = failure.hint
            text = (try? report.line()) ?? ""
        } else {
            text = "vaultfile: " + text
            if let hint = failure.hint { text += "\nvaultfile: hint: " + hint }
        }
        return text
    }

    /// Says what was made, to a person who watches; a script that succeeds says nothing.
    func tell(_ line: String) {
        guard verbosity == .normal, !json, Platform.isTerminal(.standardError) else { return }
        sayOnStandardError(line)
    }

    /// Gives a result: `lines` to people, who get none with `--quiet`, and `report` to programs.
    ///
    /// - Parameter done: What was done, for the message where the result cannot be written: it stays done. Nil
    ///   where a message says already what there is to say.
    /// - Returns: `done`, or what the program is to end with where the result cannot be written.
    func give(
        _ report: Report, lines: [String] = [], about subject: Failure.Subject, done: String? = nil
    ) throws -> ExitStatus {
        let lines = json ? [try report.line()] : verbosity == .quiet ? [] : lines
        guard !lines.isEmpty else { return .done }
        return say(Text(text: lines.joined(separator: "\n"), result: Text.Result(subject: subject, done: done)))
    }

    /// Gives the sum of a run over many inputs: a line to people, who get none with `--quiet`, an object to programs.
    func sum(up report: Report, line: String) throws {
        if json {
            sayOnStandardError(try report.line())
        } else if verbosity != .quiet {
            sayOnStandardError("vaultfile: " + line)
        }
    }

    /// Says it, at its turn where several threads speak.
    private func say(_ text: Text) -> ExitStatus {
        guard let turn = Turn.current else { return put(text) }
        turn.say(text, on: self)
        return .done
    }

    /// Writes it now.
    ///
    /// - Returns: `done`, or what the program is to end with where a result cannot be written.
    func put(_ text: Text) -> ExitStatus {
        guard let result = text.result else {
            putOnStandardError(text.text)
            return .done
        }
        do {
            try Self.speaking.withLock { _ throws(VaultError) in
                ProgressLine.takeAway()
                if standardOutputHoldsData {
                    FileDescriptor.standardError.writeText(text.text + "\n")
                } else {
                    try Self.write(text.text + "\n")
                }
            }
            return .done
        } catch {
            guard let done = result.done else { return .inputOutput }
            let words = error.systemError.map { Failure.words($0) } ?? error.message
            let failure = Failure(
                .inputOutput, result.subject,
                "\(done), but the result cannot be written to standard output: \(words)")
            putOnStandardError(line(.error, failure))
            return failure.status
        }
    }

    /// Text that is a result, or the whole of it, like a help text.
    static func write(_ text: String) throws(VaultError) {
        do {
            try FileDescriptor.standardOutput.writeFully(Array(text.utf8).span)
        } catch {
            Signals.endIfClosedPipe(error)
            throw error
        }
    }

    /// Closes standard output where data went to it: some file systems say only then that it was not written.
    func finish() throws {
        guard standardOutputHoldsData else { return }
        do {
            try FileDescriptor.standardOutput.close()
        } catch {
            throw Failure(error, about: .standardOutput)
        }
    }

    private func sayOnStandardError(_ text: String) {
        _ = say(Text(text: text))
    }

    private func putOnStandardError(_ text: String) {
        Self.speaking.withLock { _ in
            ProgressLine.takeAway()
            FileDescriptor.standardError.writeText(text + "\n")
        }
    }
}
