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
    private let saysFailures: Bool
    private let passing: @Sendable (Input) -> Void
    private let threads: Int
    private let inputs: Mutex<Numbered>
    private let order: InputOrder
    private let progress: RunProgress?
    private let tally = Mutex(Tally())

    private struct Numbered: ~Copyable {
        var list: InputList
        var count = 0
    }

    private struct Tally {
        var outcomes: [OutcomeName: UInt64] = [:]
        var passedOver: UInt64 = 0
        var bytes: UInt64 = 0
        var status = ExitStatus.done

        mutating func add(_ outcome: Outcome, _ status: ExitStatus) {
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
    ///   - oneByOne: Whether the inputs share an output, so that they are always processed one after the other.
    ///   - listsFolders: Whether the files in folders that are named are inputs, even without `--recursive`.
    ///   - saysFailures: Whether the text results have a line for each input that failed.
    ///   - passing: Called for a regular file that a walk finds and the verb does not take.
    /// - Throws: `Failure` if the list of inputs cannot be opened.
    init(
        _ verb: VerbName, _ operands: [PathArgument], _ options: ManyInputs, takes selection: Selection,
        oneByOne: Bool = false, listsFolders: Bool = false, saysFailures: Bool = false, on console: Console,
        passing: @escaping @Sendable (Input) -> Void = { _ in }
    ) throws(Failure) {
        self.verb = verb
        self.passing = passing
        self.saysFailures = saysFailures
        self.console = console
        self.selection = selection
        isFleet = options.isFleet
        threads = oneByOne ? 1 : options.threads(for: operands).inputs
        inputs = Mutex(Numbered(list: try InputList(operands, options, listsFolders: listsFolders)))
        order = InputOrder(window: 64 * threads)
        progress = isFleet || threads > 1 ? RunProgress(on: console) : nil
    }

    /// Calls `work` for each input, on several threads.
    ///
    /// - Returns: 65 if any input has that status, else the first failure.
    func run(_ work: @escaping @Sendable (InputItem) throws -> Outcome) throws -> ExitStatus {
        let ended = Monitor(0)
        let started = Thread.start(atMost: threads - 1) { [self] in
            workOn(work)
            ended.withLock { $0 += 1 }
        }
        workOn(work)
        ended.wait { $0 == started ? () : nil }
        progress?.finish()
        let tally = tally.withLock { $0 }
        if isFleet { try sumUp(tally) }
        return tally.status
    }

    /// Processes inputs until there are no more. Each thread runs this.
    private func workOn(_ work: (InputItem) throws -> Outcome) {
        while let (number, entry) = next() {
            let messages = InputMessages(number, about: entry.subject, in: order, progress: progress)
            let outcome = InputMessages.$current.withValue(messages) { self.outcome(of: entry, work) }
            order.end(number) { [self] in
                let written = messages.write()
                outcome.inOrder?()
                tally.withLock { $0.add(outcome, outcome.status == .done ? written : outcome.status) }
            }
            progress?.add(files: 1)
        }
    }

    private func next() -> (Int, InputList.Entry)? {
        inputs.withLock { inputs in
            // Waits while holding the lock, so that later inputs do not start either.
            order.waitToBegin(inputs.count)
            while let entry = inputs.list.next() {
                if case .passedOver = entry {
                    tally.withLock { $0.passedOver += 1 }
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
            let lines = saysFailures ? ["\(OutcomeName.failed.text)\t\(subject.escaped)"] : []
            return Outcome(status: console.report(error, about: subject, lines: lines), name: .failed)
        }
    }

    private func outcome(of item: InputItem, _ work: (InputItem) throws -> Outcome) throws -> Outcome {
        guard let found = item.found else { return try work(item) }
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
            passing(input)
            return .passedOver
        }
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
        report.bytes = tally.bytes
        var parts = tally.outcomes.sorted { $0.key.rawValue < $1.key.rawValue }.map { "\($0.value) \($0.key.text)" }
        if parts.isEmpty { parts = ["nothing to do"] }
        if tally.passedOver > 0 { parts.append("\(tally.passedOver) \(OutcomeName.passedOver.text)") }
        if tally.bytes > 0 { parts.append(tally.bytes.counted("byte")) }
        try console.sum(up: report, line: "\(verb.rawValue): \(parts.joined(separator: ", "))")
    }
}
