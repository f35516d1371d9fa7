internal import Synchronization
internal import SystemPackage
internal import VaultFile

/// What became of one input.
struct Outcome {
    var status: ExitStatus
    /// The word for it in the sum of the run, like `encrypted`; of what failed another is taken.
    var word: String
    /// How many bytes that was about.
    var bytes: UInt64 = 0
    /// Done in the order of the inputs, whichever ends first: for sums that depend on it.
    var inOrder: (() -> Void)?

    /// Nothing was to be done.
    static var passedOver: Outcome { Outcome(status: .done, word: passedOverWord) }

    /// Nothing was done, since it looks as if an earlier run has: counted apart, for that is a guess.
    static var encryptedBefore: Outcome { Outcome(status: .done, word: encryptedBeforeWord) }

    fileprivate static let passedOverWord = "passed over"
    private static let encryptedBeforeWord = "encryptedBefore"

    /// A word of an outcome, as people read it.
    static func text(of word: String) -> String {
        word == encryptedBeforeWord ? "encrypted before" : word
    }
}

/// The work of a verb on its inputs, one or a million: several at once where that is asked for, reported in their
/// order. One that fails does not stop the rest.
///
/// Memory holds what is worked on and a bounded number of results that wait for their turn, not the inputs.
final class Fleet: Sendable {
    private let verb: String
    private let console: Console
    private let selection: Selection
    private let isFleet: Bool
    private let saysFailures: Bool
    private let threads: Int
    private let inputs: Mutex<Numbered>
    private let order: SpeakingOrder
    private let progress: RunProgress?
    private let tally = Mutex(Tally())

    private struct Numbered: ~Copyable {
        var list: InputList
        var count = 0
    }

    private struct Tally {
        var outcomes: [String: UInt64] = [:]
        var passedOver: UInt64 = 0
        var bytes: UInt64 = 0
        var status = ExitStatus.done

        mutating func add(_ outcome: Outcome, _ status: ExitStatus) {
            guard outcome.word != Outcome.passedOverWord else {
                passedOver += 1
                return
            }
            self.status = self.status.followed(by: status)
            let word = status == .done ? outcome.word : status == .damaged ? "damaged" : "failed"
            outcomes[word, default: 0] += 1
            bytes &+= outcome.bytes
        }
    }

    /// - Parameters:
    ///   - selection: What a walk finds that the verb takes.
    ///   - oneByOne: Whether it is one after the other, whatever was asked for: where they share an output.
    ///   - saysFailures: Whether there is a line for what failed among the results, too.
    /// - Throws: `Failure` where the list of inputs cannot be opened.
    init(
        _ verb: String, _ operands: [PathArgument], _ options: ManyInputs, takes selection: Selection,
        oneByOne: Bool = false, saysFailures: Bool = false, on console: Console
    ) throws(Failure) {
        self.verb = verb
        self.saysFailures = saysFailures
        self.console = console
        self.selection = selection
        isFleet = options.isFleet
        threads = oneByOne ? 1 : options.threads(for: operands).inputs
        inputs = Mutex(Numbered(list: try InputList(operands, options)))
        order = SpeakingOrder(window: 64 * threads)
        progress = isFleet || threads > 1 ? RunProgress(on: console) : nil
    }

    /// Does something for each input.
    ///
    /// - Parameter work: Does it, on several threads at once, and says what became of it.
    /// - Returns: 65 if any input gave that, else the first failure.
    func run(_ work: @escaping @Sendable (InputItem) throws -> Outcome) throws -> ExitStatus {
        let ended = Monitor(0)
        let calls = SystemCalls.current
        let started = Thread.start(atMost: threads - 1) { [self] in
            SystemCalls.$current.withValue(calls) { workOn(work) }
            ended.withLock { $0 += 1 }
        }
        workOn(work)
        ended.wait { $0 == started ? () : nil }
        progress?.finish()
        let tally = tally.withLock { $0 }
        if isFleet { try sumUp(tally) }
        return tally.status
    }

    /// Takes one input after the other until there are no more.
    private func workOn(_ work: (InputItem) throws -> Outcome) {
        while let (number, entry) = next() {
            let turn = Turn(number, in: order, progress: progress)
            let outcome = Turn.$current.withValue(turn) { self.outcome(of: entry, work) }
            order.end(number) { [self] in
                let spoken = turn.speak()
                outcome.inOrder?()
                tally.withLock { $0.add(outcome, outcome.status == .done ? spoken : outcome.status) }
            }
            progress?.add(files: 1)
        }
    }

    private func next() -> (Int, InputList.Entry)? {
        inputs.withLock { inputs in
            // Waited for with the lock: who comes later may not begin either.
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
        var subject = Failure.Subject.text(verb)
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
            let lines = saysFailures ? ["failed\t\(subject.escaped)"] : []
            let status = console.report(error, verb: verb, about: subject, lines: lines)
            return Outcome(status: status, word: "failed")
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
        guard try input.stat.type == .regular && selection.takes(input) else { return .passedOver }
        var item = item
        item.opened = input
        do {
            return try work(item)
        } catch is InputHasGone {
            return .passedOver
        }
    }

    /// Says what became of all.
    private func sumUp(_ tally: Tally) throws {
        var report = Report(.summary, tally.status == .done ? .ok : .failed)
        report.verb = verb
        report.exit = tally.status.rawValue
        report.outcomes = tally.outcomes
        report.passedOver = tally.passedOver
        report.bytes = tally.bytes
        var parts = tally.outcomes.sorted { $0.key < $1.key }.map { "\($0.value) \(Outcome.text(of: $0.key))" }
        if parts.isEmpty { parts = ["nothing to do"] }
        if tally.passedOver > 0 { parts.append("\(tally.passedOver) \(Outcome.passedOverWord)") }
        if tally.bytes > 0 { parts.append("\(tally.bytes) bytes") }
        try console.sum(up: report, line: "\(verb): \(parts.joined(separator: ", "))")
    }
}
