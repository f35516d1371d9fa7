internal import ArgumentParser
internal import SystemPackage
internal import VaultFile

/// `vaultfile verify`.
struct Verify: Verb {
    static let name = VerbName.verify
    static let configuration = CommandConfiguration.verb(
        name,
        abstract: "Read and authenticate every byte of containers.",
        discussion: """
            Names every damaged range of the plaintext, and fails unless every byte of the container is intact, \
            including its second header copy. Nothing is written. A header file whose name ends with .hdr is opened by \
            itself. A container that comes through a pipe is read up to \
            the first damage. What another program read from the same pipe may be trusted only after status 0.

            Without a key, the key file that VAULTFILE_KEY_FILE names is tried, else the keys of the keyring, and then \
            a passphrase is asked for.
            """)

    static var help: String {
        """
        Usage: vaultfile verify [options] FILE ...

          vaultfile verify backup.vault
          vaultfile verify --recursive --json /backups
          vaultfile verify --quick --key-file key.txt disk.img.vault

        Reads and authenticates every byte, and names every damaged range. Writes
        nothing. The status is 65 if anything is damaged.

        \(HelpText.openingKeys)
        \(HelpText.expect)
        What:
          --quick                  headers, manifest and footer, not the contents
        \(HelpText.manyFiles)
        """
    }

    @OptionGroup(title: "Keys") var keys: KeyOptions
    @OptionGroup var context: ContextOption
    @OptionGroup var expect: ExpectOption
    @OptionGroup(title: "Many inputs") var many: ManyInputs

    @Flag(help: "Check only headers, manifest and footer, not the contents.")
    var quick = false

    @OptionGroup(title: "Reporting") var common: CommonOptions

    @Argument(help: ArgumentHelp("A container; - is standard input.", valueName: "input"))
    var operandLists: [OperandList] = []

    func execute(on console: Console) throws -> ExitStatus {
        try keys.check()
        let operands = try many.operands(operandLists)
        try keys.refuseSharedStandardInput(inputs: operands, others: many.standardInputUses)
        let context = try context.context()
        let opening = Opening(
            keys: try RunKeys(keys, KeyringSession(keys.unlocking, console)), context: context,
            threads: many.threads(for: operands).each, console: console,
            header: try expect.known(for: operands, many))
        opening.keys.prepare(operands, many, opening.credentials)
        let manner = Fleet.Manner(countsBytes: !quick)
        return try Fleet(Self.name, operands, many, takes: .containersAndHeaderFiles, manner, on: console)
            .run { item in
                try item.withInput { input in
                    if let file = try input.headerFile(input.source(console)) {
                        return try verify(file, input, opening)
                    }
                    var found = Findings()
                    let opened = try verify(input, opening, &found)
                    let status = try report(opened, &found, input, console)
                    return Outcome(status: status, name: .intact, bytes: opened.manifest.plaintextLength)
                }
            }
    }

    /// Opens a header file by itself: its container need not be there.
    private func verify(_ file: HeaderFile, _ input: Input, _ opening: Opening) throws -> Outcome {
        let summary: HeaderSummary
        do {
            summary = try opening.summary(of: file, input)
        } catch let error as VaultError {
            throw Failure(ofHeaderFile: error, about: input.subject)
        }
        var report = Report(.ok, about: input.subject)
        report.header = CopyReport(file) { SlotReport($0) }
        report.pin = summary.pin.text
        report.extent = "full"
        let verdict = "the header file is intact"
        let status = try opening.console.give(
            report, lines: ["\(input.subject.escaped): \(verdict)"], about: input.subject, done: verdict)
        return Outcome(status: status, name: .intact, bytes: UInt64(summary.capacity.bytes))
    }

    /// What was found. It is reported at once, not collected: there may be more damage than memory can hold, and an
    /// interruption must not lose the report.
    private struct Findings {
        private(set) var first: Failure?
        private var statuses: Set<ExitStatus> = []

        mutating func add(_ failure: Failure, _ console: Console) {
            console.say(failure)
            if first == nil { first = failure }
            statuses.insert(failure.status)
        }

        /// 65 if anything is damaged, even if something else failed too.
        var status: ExitStatus {
            if statuses.contains(.damaged) { return .damaged }
            return first?.status ?? .done
        }
    }

    private func verify(_ input: Input, _ opening: Opening, _ found: inout Findings) throws -> OpenedContainer {
        guard input.canSeek else {
            guard !quick else {
                throw Failure(.usage, input.subject, "is not a regular file", hint: .needsFile("the end"))
            }
            return try opening.stream(input, to: nil)
        }
        let reader: SeekableVaultReader
        do {
            reader = try opening.seekable(input)
        } catch let error as VaultError {
            guard !quick, error.isOfTheEnd else { throw error }
            throw searched(input, opening, after: error)
        }
        guard !quick else { return reader.opened }
        var progress = ProgressLine(input.subject, total: reader.length, on: opening.console)
        defer { progress.finish() }
        try reader.verify(jobs: opening.threads) {
            progress.update($0)
        } onDamage: {
            var failure = Failure($0, about: input.subject)
            if found.first == nil, failure.status == .damaged { failure.hint = .recover }
            found.add(failure, opening.console)
        }
        return reader.opened
    }

    /// Names the damage of a container that cannot be opened from its end. Its front header must be readable.
    ///
    /// - Returns: The verdict, with a hint.
    private func searched(_ input: Input, _ opening: Opening, after error: VaultError) -> Failure {
        var failure = Failure(error, about: input.subject)
        var options = RecoveryOptions()
        options.headerOffset = 0
        var progress = ProgressLine(input.subject, total: input.size, on: opening.console)
        defer { progress.finish() }
        do {
            let found = try opening.withKeys(for: input, prefix: []) { keys in
                try opening.withCredentials(keys, for: input) {
                    try Recovery(input.source(opening.console), with: $0, options: options)
                }
            }
            let result = try found.read(jobs: opening.threads) { _ in
            } onDamage: {
                opening.console.say(Failure($0, about: input.subject))
            } onProgress: {
                progress.update($0)
            }
            failure.hint = result.isComplete ? .repairEndOnly : .recoverCut
            if result.manifest == nil {
                failure.reason += "; nothing is left after byte \(result.length) of the contents"
            }
        } catch {
            // The first error is reported alone.
        }
        return failure
    }

    private func report(
        _ opened: OpenedContainer, _ found: inout Findings, _ input: Input, _ console: Console
    ) throws -> ExitStatus {
        let contentsAreWhole = found.first == nil
        if let trouble = opened.trouble {
            var failure = Failure(.damaged, input.subject, trouble, hint: contentsAreWhole ? nil : .silent)
            failure.health = opened.health
            found.add(failure, console)
        }
        var report = Report(.ok, about: input.subject)
        if let first = found.first { report = Report(first, about: input.subject) }
        report.exit = found.status.rawValue
        // `health` describes the headers only. In a failed result, "intact" would be mistaken for the verdict.
        if contentsAreWhole || opened.health != .intact { report.health = opened.health.rawValue }
        report.length = opened.manifest.plaintextLength
        report.extent = quick ? "quick" : "full"
        let verdict = quick ? "headers, manifest and footer are intact" : "intact"
        let isWhole = found.first == nil
        let given = try console.give(
            report, lines: isWhole ? ["\(input.subject.escaped): \(verdict)"] : [], about: input.subject,
            done: isWhole ? (quick ? verdict : "is intact") : nil)
        return isWhole ? given : found.status
    }
}

extension VaultError {
    /// Whether only what follows the contents may be damaged or missing.
    fileprivate var isOfTheEnd: Bool {
        [.footerDamaged, .paddingNotZero, .trailingData, .truncated].contains(code)
    }
}

extension Failure {
    /// One damaged range.
    init(_ damage: Damage, about subject: Subject) {
        self.init(damage.error, about: subject)
        // No hint for each range: there may be very many.
        hint = .silent
        guard let range = damage.plaintextRange else { return }
        self.range = range
        let verb = status == .damaged ? "are lost" : "cannot be read"
        reason = "bytes \(range.lowerBound)..<\(range.upperBound) of the contents \(verb): \(reason)"
    }
}
