internal import Synchronization
internal import SystemPackage
internal import VaultFile

/// The output of the program: results go to standard output, messages to standard error.
///
/// A message is one line, `vaultfile: WHAT: WHY`, and a second line if there is a hint. With `--json`, each message is
/// one object. Everything is written above the line of progress. If several threads work on inputs, their output is
/// written in the order of the inputs.
final class Console: Sendable {
    /// How much is written.
    enum Verbosity: Sendable {
        case quiet, normal, verbose
    }

    /// The verb that runs; nil before the arguments are understood.
    let verb: VerbName?
    let verbosity: Verbosity
    let json: Bool
    private let holdsData = Mutex(false)

    /// Set if data goes to standard output: results then go to standard error.
    var standardOutputHoldsData: Bool {
        get { holdsData.withLock { $0 } }
        set { holdsData.withLock { $0 = newValue } }
    }

    private let onlyInput = Mutex<Failure.Subject?>(nil)

    /// Names the input of a verb that takes a single one, for messages about other files.
    func work(on input: Failure.Subject) {
        onlyInput.withLock { $0 = input }
    }

    /// Whether results appear on a terminal, where they must not be mixed with the line of progress.
    private static let resultsAreSeen = Platform.isTerminal(.standardOutput)

    /// Lines of a list that wait to be written together.
    private struct Waiting {
        var lines: [String] = []
        var subject = Failure.Subject.standardOutput
        var status = ExitStatus.done
    }

    private let waiting = Mutex(Waiting())

    /// A system call for each line would take longer than to make it. A person sees each line at once.
    private static let linesAtOnce = resultsAreSeen ? 1 : 512

    /// The hints that were written. Each is written once: with many inputs it would hide the messages.
    private let hinted = Mutex<Set<String>>([])

    /// Something to write.
    struct Text: Sendable {
        let text: String
        /// What to do about it, unless the run has said so already.
        var hint: String?
        /// Nil for a message, which goes to standard error.
        var result: Result?

        /// What a result is about.
        struct Result: Sendable {
            let subject: Failure.Subject
            /// What was done, for the message if the result cannot be written.
            let done: String?
        }
    }

    init(verb: VerbName? = nil, verbosity: Verbosity = .normal, json: Bool = false) {
        self.verb = verb
        self.verbosity = verbosity
        self.json = json
    }

    /// Reports a failure.
    func say(_ failure: Failure) {
        say(.error, failure)
    }

    /// Reports that an input failed, as a message and as its result.
    ///
    /// - Parameter lines: The result as text.
    func report(_ error: any Error, about subject: Failure.Subject, lines: [String] = []) -> ExitStatus {
        Signals.endIfClosedPipe(error)
        let failure = Failure(error, about: subject)
        say(failure)
        _ = try? give(Report(failure, about: subject), lines: lines, about: subject)
        return failure.status
    }

    /// Writes a warning: something the user should know that does not stop the run.
    func warn(_ subject: Failure.Subject, _ text: String, hint: Hint? = nil) {
        say(.warning, Failure(.done, subject, text, hint: hint))
    }

    /// Writes a note about what was done, only with `--verbose`.
    func note(_ subject: Failure.Subject, _ text: String) {
        guard verbosity == .verbose else { return }
        say(.note, Failure(.done, subject, text))
    }

    /// Writes a note that the reader of the results needs. `--quiet` silences it, except with `--json`.
    func announce(_ subject: Failure.Subject, _ text: String) {
        guard json || verbosity != .quiet else { return }
        say(.note, Failure(.done, subject, text))
    }

    /// Says that another program has locked an input, when it is called for the first time.
    func waitNote(about subject: Failure.Subject) -> @Sendable () -> Void {
        let hasSaid = Mutex(false)
        return {
            guard !hasSaid.withLock({ exchange(&$0, with: true) }) else { return }
            self.announce(subject, "another program has locked it; waiting a few seconds at most")
        }
    }

    private func say(_ status: Report.Status, _ failure: Failure) {
        _ = say(message(status, failure))
    }

    private func message(_ status: Report.Status, _ failure: Failure) -> Text {
        let subject = failure.subject.escaped
        let text = (subject.isEmpty ? "" : subject + ": ") + (status == .warning ? "warning: " : "") + failure.reason
        var hint = failure.hint ?? failure.error.flatMap { Hint.of($0, verb) } ?? failure.health.flatMap(Hint.of)
        hint = hint ?? failure.storeError.flatMap(Hint.of)
        hint = hint == .silent ? nil : hint?.fitting(verb).fitting(failure.subject, verb)
        if hint == .silent { hint = nil }
        guard json else { return Text(text: "vaultfile: " + text, hint: hint?.text) }
        var report = Report(.message, status)
        report.name(failure.subject)
        report.name(input: InputMessages.current?.input ?? onlyInput.withLock { $0 })
        report.exit = status == .error ? failure.status.rawValue : nil
        report.error = failure.code
        report.offset = failure.offset
        report.range = failure.range.map { [$0.lowerBound, $0.upperBound] }
        report.headerOffsets = failure.headerOffsets
        report.message = text
        report.hint = hint?.text
        return Text(text: (try? report.line(verb)) ?? "")
    }

    /// Writes a line about what was made, if standard error is a terminal.
    func tell(_ line: String) {
        guard verbosity == .normal, !json, Platform.isTerminal(.standardError) else { return }
        sayOnStandardError(line)
    }

    /// Writes a result: `report` with `--json`, else `lines`, and nothing with `--quiet`.
    ///
    /// - Parameter done: What was done, for the message if the result cannot be written. Nil if another message has
    ///   reported the outcome already.
    /// - Returns: `done`, or the program's status if the result cannot be written.
    func give(
        _ report: Report, lines: [String] = [], about subject: Failure.Subject, done: String? = nil
    ) throws -> ExitStatus {
        let lines = json ? [try report.line(verb)] : verbosity == .quiet ? [] : lines
        guard !lines.isEmpty else { return .done }
        return say(Text(text: lines.joined(separator: "\n"), result: Text.Result(subject: subject, done: done)))
    }

    /// Writes a line of a list: `report` with `--json`, else `line`, and nothing with `--quiet`. It may wait for others,
    /// but no message overtakes it. `endList` writes those that wait.
    func list(
        _ report: @autoclosure () -> Report, line: @autoclosure () -> String, about subject: Failure.Subject
    ) throws {
        guard json || verbosity != .quiet else { return }
        let text = json ? try report().line(verb) : line()
        let isFull = waiting.withLock { waiting in
            waiting.subject = subject
            waiting.lines.append(text)
            return waiting.lines.count >= Self.linesAtOnce
        }
        if isFull { writeList() }
    }

    /// Writes the lines that wait.
    ///
    /// - Returns: `done`, or the program's status if a line of the list could not be written.
    func endList() -> ExitStatus {
        writeList()
        return waiting.withLock { exchange(&$0.status, with: .done) }
    }

    private func writeList() {
        let (lines, subject) = waiting.withLock { (exchange(&$0.lines, with: []), $0.subject) }
        guard !lines.isEmpty else { return }
        let status = put(Text(text: lines.joined(separator: "\n"), result: Text.Result(subject: subject, done: nil)))
        waiting.withLock { $0.status = $0.status.followed(by: status) }
    }

    /// Writes the sum of a run over many inputs: an object with `--json`, else a line, and nothing with `--quiet`.
    func sum(up report: Report, line: String) throws {
        if json {
            sayOnStandardError(try report.line(verb))
        } else if verbosity != .quiet {
            sayOnStandardError("vaultfile: " + line)
        }
    }

    /// The last message of a run that a signal ends; nil with `--quiet`.
    func interruption(_ verb: VerbName, _ text: String) -> String? {
        guard json || verbosity != .quiet else { return nil }
        return message(.note, Failure(.done, .text(verb.rawValue), text)).text
    }

    /// Writes a text, in the order of the inputs if several threads work on them.
    private func say(_ text: Text) -> ExitStatus {
        guard let messages = InputMessages.current else { return put(text) }
        messages.add(text, on: self)
        return .done
    }

    /// Writes a text at once.
    ///
    /// - Returns: `done`, or the program's status if a result cannot be written.
    func put(_ text: Text) -> ExitStatus {
        guard let result = text.result else {
            putOnStandardError(text)
            return .done
        }
        do {
            if standardOutputHoldsData {
                putOnStandardError(Text(text: text.text))
            } else if Self.resultsAreSeen {
                try StatusLine.above { try Self.write(text.text + "\n") }
            } else {
                try Self.write(text.text + "\n")
            }
            return .done
        } catch {
            guard let done = result.done else { return .inputOutput }
            let words = Failure(error, about: result.subject).reason
            let failure = Failure(
                .inputOutput, result.subject,
                "\(done), but the result cannot be written to standard output: \(words)")
            putOnStandardError(message(.error, failure))
            return failure.status
        }
    }

    /// Writes text to standard output.
    static func write(_ text: String) throws {
        do {
            try FileDescriptor.standardOutput.writeFully(Array(text.utf8).span)
        } catch {
            Signals.endIfClosedPipe(error)
            throw error
        }
    }

    /// Closes standard output if data went to it: some file systems report a write error only then.
    func finish() throws {
        guard standardOutputHoldsData else { return }
        try Failure.Subject.standardOutput.attempt { try FileDescriptor.standardOutput.close() }
    }

    private func sayOnStandardError(_ text: String) {
        _ = say(Text(text: text))
    }

    private func putOnStandardError(_ text: Text) {
        writeList()
        var lines = text.text + "\n"
        if let hint = text.hint, hinted.withLock({ $0.insert(hint).inserted }) { lines += "vaultfile: hint: \(hint)\n" }
        StatusLine.above { FileDescriptor.standardError.writeText(lines) }
    }
}
