internal import Synchronization
internal import SystemPackage
internal import VaultFile
internal import VaultSystem

/// The outcome of one input.
struct Outcome {
    var status: ExitStatus
    /// Its name if the status is `done`.
    var name: OutcomeName
    /// How many bytes were processed.
    var bytes: UInt64 = 0
    /// Called in the order of the inputs, even if they finish in another order: for sums that depend on the order.
    var inOrder: (() -> Void)?

    /// There was nothing to do.
    static var passedOver: Outcome { Outcome(status: .done, name: .passedOver) }

    /// Whether the end of the run decides what became of it.
    var isPostponed = false

    static var postponed: Outcome { Outcome(status: .done, name: .passedOver, isPostponed: true) }
}

/// The work of a verb on its inputs, which may be a million. Several are processed at once if that is asked for, and
/// are reported in their order. An input that fails does not stop the others.
///
/// Memory holds the inputs being processed and a bounded number of waiting results, not all inputs.
final class Fleet: Sendable {
    private let verb: VerbName
    private let console: Console
    private let selection: Selection
    private let isFleet: Bool
    private let manner: Manner
    private let passing: @Sendable (Input) -> Void
    private let threads: Int
    private let inputs: Mutex<Numbered>
    private let order: InputOrder
    /// Nil if no progress is shown.
    private let progress: RunProgress?
    /// Nil if the inputs cannot be counted ahead.
    private let census: Census?
    private let tally = Mutex(Tally())

    /// How a verb works on its inputs, as far as reports say it.
    struct Manner: Sendable {
        /// Whether the text results have a line for each input that failed.
        var saysFailures = false
        /// Whether the work depends on the size of the inputs.
        var countsBytes = true
        /// Whether nothing is changed.
        var isDryRun = false
        /// What the same command does after an interruption.
        var resumption = Resumption.beginsAgain
    }

    enum Resumption: String {
        case continues = "the same command continues"
        case beginsAgain = "the same command begins again"
        case reportsOutputs = "the same command does the rest, and reports the files that exist"
    }

    private struct Numbered: ~Copyable {
        var list: InputList
        var count = 0
    }

    private struct Tally {
        var outcomes: [OutcomeName: UInt64] = [:]
        /// All entries that are not inputs, with those that are counted apart.
        var passedOver: UInt64 = 0
        var links: UInt64 = 0
        var specialFiles: UInt64 = 0
        var bytes: UInt64 = 0
        var status = ExitStatus.done

        mutating func passOver(_ kind: FolderWalk.Irregular) {
            passedOver += 1
            switch kind {
            case .link: links += 1
            case .special: specialFiles += 1
            }
        }

        mutating func add(_ outcome: Outcome, _ status: ExitStatus) {
            guard !outcome.isPostponed else { return }
            guard outcome.name != .passedOver else {
                passedOver += 1
                return
            }
            self.status = self.status.followed(by: status)
            outcomes[status == .done ? outcome.name : status == .damaged ? .damaged : .failed, default: 0] += 1
            bytes &+= outcome.bytes
        }
    }

    /// - Parameters:
    ///   - selection: Which files of a walk the verb takes.
    ///   - mirror: Where outputs go, if they go into the same folders as the inputs.
    ///   - oneByOne: Whether the inputs share an output, so that they are always processed one after the other.
    ///   - listsFolders: Whether the files in folders that are named are inputs, even without `--recursive`.
    ///   - passing: Called for a regular file that a walk finds and the verb does not take.
    /// - Throws: `Failure` if the list of inputs cannot be opened.
    init(
        _ verb: VerbName, _ operands: [PathArgument], _ options: ManyInputs, takes selection: Selection,
        into mirror: Mirror? = nil, oneByOne: Bool = false, listsFolders: Bool = false, _ manner: Manner = Manner(),
        on console: Console, passing: @escaping @Sendable (Input) -> Void = { _ in }
    ) throws(Failure) {
        self.verb = verb
        self.passing = passing
        self.manner = manner
        self.console = console
        self.selection = selection
        isFleet = options.isFleet
        threads = oneByOne ? 1 : options.threads(for: operands).inputs
        inputs = Mutex(
            Numbered(list: try InputList(operands, options, listsFolders: listsFolders, into: mirror)))
        order = InputOrder(window: 64 * threads)
        let progress = isFleet || operands.count > 1 ? RunProgress(on: console, countsBytes: manner.countsBytes) : nil
        self.progress = progress?.isShown == true ? progress : nil
        census =
            options.filesFrom == nil && !listsFolders
            ? progress.map {
                Census(
                    operands: operands, isRecursive: options.recursive, selection: selection, leftOut: mirror?.identity,
                    progress: $0)
            } : nil
    }

    /// Calls `work` for each input, on several threads.
    ///
    /// - Parameter postponed: says at the end what became of the inputs that were postponed.
    /// - Returns: 65 if any input has that status, else the first failure.
    func run(
        postponed: () -> (passedOver: UInt64, failures: [Failure]) = { (0, []) },
        _ work: @escaping @Sendable (InputItem) throws -> Outcome
    ) throws -> ExitStatus {
        census?.start()
        if isFleet { Signals.undo.withLock { $0.interruption = { self.interruption } } }
        defer { Signals.undo.withLock { $0.interruption = nil } }
        let ended = Monitor(0)
        let started = Thread.start(atMost: threads - 1) { [self] in
            workOn(work)
            ended.withLock { $0 += 1 }
        }
        workOn(work)
        ended.wait { $0 == started ? () : nil }
        let (passedOver, failures) = postponed()
        tally.withLock { $0.passedOver += passedOver }
        for failure in failures { run(.failed(failure), begin(), work) }
        progress?.finish()
        let tally = tally.withLock { $0 }
        if isFleet { try sumUp(tally) }
        return tally.status
    }

    /// Processes inputs until there are no more. Each thread runs this.
    private func workOn(_ work: (InputItem) throws -> Outcome) {
        while let (number, entry) = next() { run(entry, number, work) }
    }

    private func run(_ entry: InputList.Entry, _ number: Int, _ work: (InputItem) throws -> Outcome) {
        let part = progress.map { InputProgress(in: $0) }
        let messages = InputMessages(number, about: entry.subject, in: order, progress: part)
        let outcome = InputMessages.$current.withValue(messages) { self.outcome(of: entry, work) }
        order.end(number) { [self] in
            let written = messages.write()
            outcome.inOrder?()
            tally.withLock { $0.add(outcome, outcome.status == .done ? written : outcome.status) }
        }
        part?.end(isInput: outcome.name != .passedOver)
    }

    /// The number of one more entry, which has waited for its turn.
    private func begin() -> Int {
        inputs.withLock { inputs in
            order.waitToBegin(inputs.count)
            defer { inputs.count += 1 }
            return inputs.count
        }
    }

    private func next() -> (Int, InputList.Entry)? {
        inputs.withLock { inputs in
            // Waits while holding the lock, so that later inputs do not start either.
            order.waitToBegin(inputs.count)
            while let entry = inputs.list.next() {
                if case .passedOver(let kind) = entry {
                    tally.withLock { $0.passOver(kind) }
                    continue
                }
                defer { inputs.count += 1 }
                return (inputs.count, entry)
            }
            return nil
        }
    }

    private func outcome(of entry: InputList.Entry, _ work: (InputItem) throws -> Outcome) -> Outcome {
        var subject = Failure.Subject.text(verb.rawValue)
        do {
            switch entry {
            case .item(let item):
                subject = item.subject
                return try outcome(of: item, work)
            case .failed(let failure):
                subject = failure.subject
                throw failure
            case .passedOver:
                return .passedOver
            }
        } catch {
            let lines = manner.saysFailures ? ["\(OutcomeName.failed.text)\t\(subject.escaped)"] : []
            return Outcome(status: console.report(error, about: subject, lines: lines), name: .failed)
        }
    }

    private func outcome(of item: InputItem, _ work: (InputItem) throws -> Outcome) throws -> Outcome {
        let progress = InputMessages.current?.progress
        guard let found = item.found else {
            if item.isListed, try selection.passesOver(listed: item) { return .passedOver }
            progress?.begin(item.subject, size: item.size)
            return try work(item)
        }
        let input: Input
        do {
            input = try Input(item)
        } catch {
            guard found.isThere else { return .passedOver }
            throw error
        }
        defer { input.close() }
        guard input.stat.type == .regular else { return .passedOver }
        guard try selection.takes(input) else {
            if selection == .containersAndHeaderFiles, item.operand.isNamedHeaderFile {
                console.announce(item.subject, "does not begin as a header file does, and is passed over")
            }
            passing(input)
            return .passedOver
        }
        progress?.begin(item.subject, size: input.size)
        var item = item
        item.opened = input
        do {
            return try work(item)
        } catch is InputHasGone {
            return .passedOver
        }
    }

    /// Writes the sum of all outcomes.
    private func sumUp(_ tally: Tally) throws {
        var report = Report(.summary, tally.status == .done ? .ok : .failed)
        report.exit = tally.status.rawValue
        report.outcomes = Dictionary(uniqueKeysWithValues: tally.outcomes.map { ($0.key.rawValue, $0.value) })
        report.passedOver = tally.passedOver
        report.links = tally.links
        report.specialFiles = tally.specialFiles
        report.bytes = tally.bytes
        try console.sum(up: report, line: "\(verb.rawValue): \(words(tally, orElse: "nothing to do"))")
    }

    private func words(_ tally: Tally, orElse nothing: String) -> String {
        var parts = tally.outcomes.sorted { $0.key.rawValue < $1.key.rawValue }
            .map { "\($0.value) \($0.key.text(isDryRun: manner.isDryRun))" }
        if parts.isEmpty { parts = [nothing] }
        if tally.passedOver > 0 {
            var apart = tally.links > 0 ? [tally.links.counted("link")] : []
            if tally.specialFiles > 0 { apart.append(tally.specialFiles.counted("special file")) }
            let text = apart.isEmpty ? "" : " (\(apart.joined(separator: ", ")))"
            parts.append("\(tally.passedOver) \(OutcomeName.passedOver.text)\(text)")
        }
        if tally.bytes > 0 { parts.append(tally.bytes.counted("byte")) }
        return parts.joined(separator: ", ")
    }

    /// How far the run is, for the message of an interruption; nil if another thread is just counting.
    private var interruption: String? {
        guard let tally = tally.withLockIfAvailable({ $0 }) else { return nil }
        let text = "interrupted: \(words(tally, orElse: "nothing done yet")); \(manner.resumption.rawValue)"
        return console.interruption(verb, text)
    }
}
