internal import SystemPackage
internal import VaultFile

/// Makes one output from one input: writes, finishes and reports it.
struct Conversion: Sendable {
    /// The outcome of an input that succeeds.
    let outcome: OutcomeName
    let options: DestinationOptions
    /// Whether the input is removed once its whole output is durable.
    var removesSource = false
    /// The existing file that the output may replace, and no other; nil if the options decide.
    var replaced: Stat?
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
    /// - Parameters:
    ///   - check: Returns what `work` would return if an existing file is what it would make; nil if it is not. Throws
    ///     if that cannot be found out.
    ///   - work: Reads the input and writes the output.
    func make(
        _ destination: Destination, from original: Input,
        unless check: (_ there: Input, Input) throws -> Result? = { _, _ in nil },
        _ work: (Input, FileDescriptor) throws -> Result
    ) throws -> Outcome {
        let removable = removesSource ? try RemovableInput(original) : nil
        let input = removable?.input ?? original
        let done = "\(outcome.text) to \(destination.subject.escaped)"
        if let removable, let result = try madeBefore(destination, from: input, check) {
            try removable.remove(done: done, isForced: options.force)
            console.announce(input.subject, "was \(done) by an earlier run; the two agree, and the input is removed")
            return try end(result, input, destination, done: done)
        }
        let output = try outputs.open(destination, replaces: options.force || replaced != nil)
        output.reportLeftovers(on: console)
        let result: Result
        do {
            result = try work(input, output.descriptor)
        } catch let error as VaultError where error.code == .outputFailed {
            Signals.endIfClosedPipe(error)
            throw Failure(error, about: destination.subject)
        } catch let error as VaultError where ExitStatus(error.code) == .damaged {
            var failure = Failure(error, about: input.subject)
            if !destination.isFile { failure.hint = .incomplete }
            throw failure
        }
        try output.finish(
            permissions: result.permissions, modified: result.modified, synchronize: !options.noSync,
            replacing: replaced)
        if keepsList { outputs.note(output) }
        try removable?.remove(done: done, isForced: options.force)
        return try end(result, input, destination, done: done)
    }

    /// What an earlier run returned that was ended before it removed the input; nil if there is no output yet, or if it
    /// is replaced. The output is made durable, which the earlier run may not have come to.
    ///
    /// - Throws: `Failure` if there is an output, and it is not what this run would make; what `check` throws.
    private func madeBefore(
        _ destination: Destination, from input: Input, _ check: (_ there: Input, Input) throws -> Result?
    ) throws -> Result? {
        guard !options.force, case .file(let place) = destination, (try? place.stat()) != nil else { return nil }
        let exists = Failure(.cannotCreate, destination.subject, "exists", hint: .forceReplaces)
        let there: Input
        do throws(Failure) {
            there = try place.input()
        } catch {
            throw error.status == .noInput ? exists : error
        }
        defer { there.close() }
        guard there.canSeek, let result = try check(there, input) else { throw exists }
        let calls = RemovalCalls.current
        try destination.subject.attempt {
            try calls.synchronize(there.descriptor)
            try calls.synchronizeFolder(place.openFolder())
        }
        return result
    }

    private func end(_ result: Result, _ input: Input, _ destination: Destination, done: String) throws -> Outcome {
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
