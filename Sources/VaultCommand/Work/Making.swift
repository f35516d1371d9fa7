internal import SystemPackage
internal import VaultFile

/// How one input becomes one output: written, finished, reported.
struct Making: Sendable {
    let verb: String
    let options: DestinationOptions
    /// Whether the input is removed once its whole output is durable.
    var removesSource = false
    let outputs: Outputs
    /// Whether this run remembers what it wrote, to write nothing twice.
    var keepsList = true
    let console: Console

    /// What an output gets when it is complete, and what is said of it.
    struct Made {
        var permissions: FilePermissions
        var modified: Timestamp?
        var length: UInt64
        var health: Health?
        /// What the output lacks, where it is kept all the same.
        var shortfall: Failure?
        /// What else there is to report.
        var recovery: RecoveryReport?
    }

    /// Makes one output.
    ///
    /// - Parameter work: Writes it.
    func make(
        _ destination: Destination, from input: Input, _ work: (FileDescriptor) throws -> Made
    ) throws -> Outcome {
        let output = try outputs.open(destination, replaces: options.force)
        let made: Made
        do {
            made = try work(output.descriptor)
        } catch let error where Self.isOfOutput(error) {
            Signals.endIfClosedPipe(error)
            throw Failure(error, about: destination.subject)
        } catch let error as VaultError where ExitStatus(error.code) == .damaged {
            var failure = Failure(error, about: input.subject)
            if !destination.isFile { failure.hint = "what was written is not the whole: do not use it as such" }
            throw failure
        }
        try output.finish(permissions: made.permissions, modified: made.modified, synchronize: !options.noSync)
        if keepsList { outputs.note(output) }
        let done = "\(verb)ed to \(destination.subject.escaped)"
        if removesSource { try input.remove(done: done) }
        let status = try report(made, input, destination, done: done)
        return Outcome(status: status, word: "\(verb)ed", bytes: made.length)
    }

    /// Whether an error is about what is written, not about what is read: those of the system that come from reading
    /// say so.
    private static func isOfOutput(_ error: any Error) -> Bool {
        (error as? VaultError)?.code == .outputFailed
    }

    private func report(
        _ result: Made, _ input: Input, _ destination: Destination, done: String
    ) throws -> ExitStatus {
        if let shortfall = result.shortfall { console.say(shortfall) }
        var report =
            result.shortfall.map { Report($0, verb: verb, about: input.subject) }
            ?? Report(.ok, verb: verb, about: input.subject)
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
