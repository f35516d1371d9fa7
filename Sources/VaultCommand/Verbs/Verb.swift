internal import ArgumentParser
internal import SystemPackage
internal import VaultFile

/// What a command of this program does once its arguments are read.
protocol Verb: ParsableCommand {
    var common: CommonOptions { get }

    /// Does it.
    ///
    /// - Throws: what keeps it from beginning at all.
    func execute(on console: Console) throws -> ExitStatus
}

extension Console {
    /// Does something for each input, in order; one that fails does not stop the rest.
    ///
    /// - Parameter work: Returns the report on success.
    func forEach<Item>(
        _ items: [Item], verb: String, about subject: (Item) -> Failure.Subject, do work: (Item) throws -> ExitStatus
    ) throws -> ExitStatus {
        var statuses: [ExitStatus] = []
        for item in items {
            do {
                statuses.append(try work(item))
            } catch {
                Signals.endIfClosedPipe(error)
                let failure = Failure(error, about: subject(item))
                say(failure)
                statuses.append(failure.status)
                _ = try give(Report(failure, verb: verb, about: subject(item)), about: subject(item))
            }
        }
        return .ofAll(statuses)
    }
}

extension Signals {
    /// Ends the process where an error says that nobody reads its output any more.
    static func endIfClosedPipe(_ error: any Error) {
        if let error = error as? Errno { endIfClosedPipe(error) }
        if let error = error as? VaultError, error.code == .outputFailed, let number = error.systemError {
            endIfClosedPipe(Errno(rawValue: number))
        }
    }
}
