internal import SystemPackage
internal import VaultFile

/// The work that encrypt and decrypt share: from each input to its output, looked at first, done in order.
struct Transfer {
    /// One input and where it goes, or why not.
    struct Job {
        let input: PathArgument
        /// Nil where the name is known only once the input is open.
        let destination: Result<Destination?, Failure>

        var subject: Failure.Subject { input.subject }
    }

    let verb: String
    let rules: OutputRules
    let options: OutputOptions
    let console: Console
    let outputs = Outputs()

    /// Looks at all inputs and where they would go, before anything is done.
    ///
    /// - Parameter choose: Says where the output of an input goes, or why it may not be taken.
    func plan(
        _ inputs: [PathArgument], _ choose: (PathArgument, Stat) throws(Failure) -> Destination?
    ) throws(Failure) -> [Job] {
        let jobs = inputs.map { input in
            let destination = Result { () throws(Failure) -> Destination? in
                let stat = try input.statAsInput()
                let destination = try choose(input, stat)
                try checkRemoval(of: input, to: destination)
                return destination
            }
            return Job(input: input, destination: destination)
        }
        let destinations = jobs.compactMap { (try? $0.destination.get()) ?? nil }
        try Outputs.refuseDoubles(among: destinations)
        console.standardOutputHoldsData = destinations.contains(.standardOutput)
        return jobs
    }

    private func checkRemoval(of input: PathArgument, to destination: Destination?) throws(Failure) {
        guard options.removeSource else { return }
        if let destination, !destination.isFile {
            throw Failure(.usage, destination.subject, "is no regular file, and --remove-source wants one")
        }
        if let stat = try? input.path.stat(followTargetSymlink: false), stat.type != .regular {
            throw Failure(.usage, input.subject, "is a link, and --remove-source removes none")
        }
        if let stat = try? input.path.stat(), rules.secrets.contains(FileIdentity(stat)) {
            throw Failure(.usage, input.subject, "holds a key of this run, and --remove-source would remove it")
        }
    }

    /// Whether any of the jobs can be done, so that keys are worth asking for.
    static func isAnyPossible(_ jobs: [Job]) -> Bool {
        jobs.contains { job in
            if case .success = job.destination { true } else { false }
        }
    }

    /// What an output gets when it is complete, and what is said of it.
    struct Made {
        var permissions: FilePermissions
        var modified: Timestamp?
        var length: UInt64
        var health: Health?
    }

    /// Does the jobs.
    ///
    /// - Parameter work: Does one, with its open input.
    func run(_ jobs: [Job], _ work: (Job, Input) throws -> ExitStatus) throws -> ExitStatus {
        try console.forEach(jobs, verb: verb, about: \.subject) { job in
            _ = try job.destination.get()
            let input = try Input(job.input)
            defer { input.close() }
            return try work(job, input)
        }
    }

    /// Makes one output.
    ///
    /// - Parameter work: Writes it.
    /// - Returns: What it ends with, `done` unless the result could not be reported.
    func make(
        _ destination: Destination, from input: Input, _ work: (FileDescriptor) throws -> Made
    ) throws -> ExitStatus {
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
        outputs.note(output)
        let done = "\(verb)ed to \(destination.subject.escaped)"
        if options.removeSource { try input.remove(done: done) }
        return try report(made, input, destination, done: done)
    }

    /// Whether an error is about what is written, not about what is read: those of the system that come from reading
    /// say so.
    private static func isOfOutput(_ error: any Error) -> Bool {
        (error as? VaultError)?.code == .outputFailed
    }

    private func report(
        _ result: Made, _ input: Input, _ destination: Destination, done: String
    ) throws -> ExitStatus {
        var report = Report(.ok, verb: verb, about: input.subject)
        report.length = result.length
        report.health = result.health?.rawValue
        report.name(output: destination.bytes)
        console.note(input.subject, "\(result.length) bytes, \(done)")
        if destination.isFile { console.tell("\(input.subject.escaped) -> \(destination.subject.escaped)") }
        return try console.give(report, about: input.subject, done: "was \(done)")
    }
}
