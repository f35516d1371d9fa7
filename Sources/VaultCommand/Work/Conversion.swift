internal import SystemPackage
internal import VaultFile

/// Makes one output from one input: writes, finishes and reports it.
struct Conversion: Sendable {
    /// The outcome of an input that succeeds.
    let outcome: OutcomeName
    let options: DestinationOptions
    /// Whether the input is removed once its whole output is durable.
    var removesSource = false
    let outputs: Outputs
    /// Whether to remember each output of this run, so that none is written twice.
    var keepsList = true
    let console: Console

    /// The attributes of a complete output, and what is reported about it.
    struct Result {
        var permissions: FilePermissions
        var modified: Timestamp?
        var length: UInt64
        var health: Health?
        /// Why the output is incomplete, if it is kept nevertheless.
        var shortfall: Failure?
        /// Further members of the report.
        var recovery: RecoveryReport?
    }

    /// Makes one output.
    ///
    /// - Parameter work: Writes it.
    func make(
        _ destination: Destination, from input: Input, _ work: (FileDescriptor) throws -> Result
    ) throws -> Outcome {
        let output = try outputs.open(destination, replaces: options.force)
        let result: Result
        do {
            result = try work(output.descriptor)
        } catch let error as VaultError where error.code == .outputFailed {
            Signals.endIfClosedPipe(error)
            throw Failure(error, about: destination.subject)
        } catch let error as VaultError where ExitStatus(error.code) == .damaged {
            var failure = Failure(error, about: input.subject)
            if !destination.isFile { failure.hint = .incomplete }
            throw failure
        }
        try output.finish(permissions: result.permissions, modified: result.modified, synchronize: !options.noSync)
        if keepsList { outputs.note(output) }
        let done = "\(outcome.text) to \(destination.subject.escaped)"
        if removesSource { try input.remove(done: done) }
        let status = try report(result, input, destination, done: done)
        return Outcome(status: status, name: outcome, bytes: result.length)
    }

    private func report(
        _ result: Result, _ input: Input, _ destination: Destination, done: String
    ) throws -> ExitStatus {
        if let shortfall = result.shortfall { console.say(shortfall) }
        var report =
            result.shortfall.map { Report($0, about: input.subject) } ?? Report(.ok, about: input.subject)
        report.recovery = result.recovery
        report.length = result.length
        report.health = result.health?.rawValue
        report.name(output: destination.bytes)
        console.note(input.subject, "\(result.length) bytes, \(done)")
        if destination.isFile { console.tell("\(input.subject.escaped) -> \(destination.subject.escaped)") }
        let given = try console.give(report, about: input.subject, done: "was \(done)")
        return result.shortfall?.status ?? given
    }
}
