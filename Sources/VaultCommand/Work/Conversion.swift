internal import SystemPackage
internal import VaultFile
internal import VaultSystem

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
        /// Whether the container has an index of a tar stream.
        var hasTarIndex = false
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
        if let removable, let (result, there) = try madeBefore(destination, from: input, check) {
            defer { there.close() }
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
        if let removable {
            let made = try held(output, for: input, done: done)
            defer { made.close() }
            try removable.remove(done: done, isForced: options.force)
        }
        return try end(result, input, destination, done: done)
    }

    /// Opens the output again, until the input is removed. A run in the opposite direction could take this run's input
    /// for its own output, and remove this run's output as its input: then both would be gone. It gets no lease on a
    /// file that this run has open.
    ///
    /// - Throws: `Failure` if the name of the output means another file by now, or if that cannot be found out.
    private func held(_ output: Output, for input: Input, done: String) throws(Failure) -> Input {
        func kept(_ why: String) -> Failure {
            Failure(.inputOutput, input.subject, "was \(done), and was not removed: \(why)")
        }
        let exchanged = "that name means another file by now"
        guard case .file(let place) = output.destination else { throw kept(exchanged) }
        let there: Input
        do throws(Failure) {
            there = try place.input()
        } catch {
            throw kept("that file cannot be opened: \(error.reason)")
        }
        do {
            guard try output.identityOfFile() == FileIdentity(there.stat), try place.means(there) else {
                throw kept(exchanged)
            }
        } catch {
            there.close()
            let why = Failure(error, about: input.subject)
            throw error as? Failure ?? kept("that file cannot be checked: \(why.reason)")
        }
        return there
    }

    /// What an earlier run returned that was ended before it removed the input, and its output; nil if there is no
    /// output yet, or if it is replaced. The output is made durable, which the earlier run may not have come to. It
    /// stays open, for the reason that `held` gives.
    ///
    /// - Throws: `Failure` if there is an output, and it is not what this run would make; what `check` throws.
    private func madeBefore(
        _ destination: Destination, from input: Input, _ check: (_ there: Input, Input) throws -> Result?
    ) throws -> (Result, there: Input)? {
        guard !options.force, case .file(let place) = destination else { return nil }
        func exists(_ what: String) -> Failure {
            Failure(.cannotCreate, destination.subject, "exists, and \(what)", hint: .forceReplaces)
        }
        do {
            _ = try place.stat()
        } catch Errno.noSuchFileOrDirectory, Errno.notDirectory, Errno.permissionDenied {
            return nil
        } catch {
            throw Failure(error, about: destination.subject, system: .cannotCreate)
        }
        let there: Input
        do throws(Failure) {
            there = try place.input()
        } catch {
            throw error.status == .noInput ? exists("cannot be compared with the input: \(error.reason)") : error
        }
        do {
            // Another user's file, or one with another name, may change after the input is gone.
            guard there.canSeek, try destination.subject.attempt({ try place.isOwn(there) }),
                let result = try check(there, input)
            else { throw exists("is not what this run would make of the input") }
            let calls = RemovalCalls.current
            try destination.subject.attempt {
                try calls.synchronize(there.descriptor)
                try calls.synchronizeFolder(place.openFolder())
            }
            return (result, there)
        } catch {
            there.close()
            throw error
        }
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
