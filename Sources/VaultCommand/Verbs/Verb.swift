internal import ArgumentParser
internal import SystemPackage
internal import VaultFile

/// What a command of this program does once its arguments are read.
protocol Verb: ParsableCommand, Sendable {
    var common: CommonOptions { get }

    /// Does it.
    ///
    /// - Throws: what keeps it from beginning at all.
    func execute(on console: Console) throws -> ExitStatus
}

extension CommandConfiguration {
    /// That of a verb, which the parser can be handed as its root: where a command is said to stand below another it
    /// does not look for requests of completion scripts first, which takes a millisecond. The name of that other is
    /// never shown, for what fails is parsed again from the real root.
    static func verb(_ name: String, abstract: String, discussion: String) -> CommandConfiguration {
        CommandConfiguration(
            commandName: name, _superCommandName: "vaultfile", abstract: abstract, discussion: discussion)
    }
}

extension Console {
    /// Reports that something failed for one input, as a message and as its result.
    ///
    /// - Parameter lines: The result for people.
    func report(
        _ error: any Error, verb: String, about subject: Failure.Subject, lines: [String] = []
    ) -> ExitStatus {
        Signals.endIfClosedPipe(error)
        let failure = Failure(error, about: subject)
        say(failure)
        _ = try? give(Report(failure, verb: verb, about: subject), lines: lines, about: subject)
        return failure.status
    }
}

extension Signals {
    /// Ends the process where an error says that nobody reads its output any more.
    static func endIfClosedPipe(_ error: any Error) {
        if let error = error as? Errno { endIfClosedPipe(error) }
        if let error = error as? VaultError, error.code == .outputFailed, let number = error.systemError {
            endIfClosedPipe(number)
        }
    }
}
