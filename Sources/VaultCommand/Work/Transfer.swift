internal import SystemPackage
internal import VaultFile
internal import VaultSystem

/// The common part of encrypt and decrypt: it turns each input into its output, in order.
struct Transfer: Sendable {
    let verb: VerbName
    /// The outcome of an input that succeeds.
    let outcome: OutcomeName
    /// Which files of a walk are inputs.
    let selection: Selection
    let rules: OutputRules
    let options: OutputOptions
    let many: ManyInputs
    /// Whether a folder that is named is an input itself.
    private let takesFolders: Bool
    let console: Console
    private let outputs: Outputs

    init(
        verb: VerbName, outcome: OutcomeName, selection: Selection, rules: OutputRules, options: OutputOptions,
        many: ManyInputs, takesFolders: Bool = false, console: Console
    ) {
        self.verb = verb
        self.takesFolders = takesFolders
        self.outcome = outcome
        self.selection = selection
        self.rules = rules
        self.options = options
        self.many = many
        self.console = console
        // The inputs that --files-from lists are not known yet.
        outputs = Outputs(keeping: rules.inputs.union(rules.secrets), areAll: many.filesFrom == nil)
    }

    private typealias Plan = Result<Destination?, Failure>

    /// Does the work. Named inputs are all checked first. Inputs that a walk finds are checked when found.
    ///
    /// - Parameters:
    ///   - choose: Returns where the output of an input goes; nil if that depends on its contents. Throws if the input
    ///     is refused.
    ///   - prepare: Returns what the work also needs, such as keys. Not called if there is nothing to do.
    ///   - work: Processes one open input.
    func run<Needs: Sendable>(
        _ operands: [PathArgument], to choose: @escaping @Sendable (InputItem, Stat) throws(Failure) -> Destination?,
        with prepare: () throws -> Needs,
        _ work: @escaping @Sendable (Input, Destination?, Needs) throws -> Outcome
    ) throws -> ExitStatus {
        var plans: [PathArgument: Plan] = [:]
        var destinations: [Destination] = []
        var needs: Needs?
        if many.isFleet {
            try checkMirror(operands)
            needs = try prepare()
        } else {
            try refuseOutputAsInput(operands)
            for operand in operands {
                let item = InputItem(operand: operand)
                let plan = Result { () throws(Failure) in
                    try self.plan(item, try operand.statAsInput(takingFolders: takesFolders), choose)
                }
                plans[operand] = plan
                if case .success(let destination) = plan { destination.map { destinations.append($0) } }
            }
            try Outputs.refuseDoubles(among: destinations)
            console.standardOutputHoldsData = destinations.contains(.standardOutput)
            if plans.values.contains(where: \.isPossible) { needs = try prepare() }
        }
        let fleet = try Fleet(
            verb, operands, many, takes: selection, into: rules.mirror,
            oneByOne: !destinations.allSatisfy(\.isFile), Fleet.Manner(resumption: resumption), on: console,
            passing: { [self] input in _ = staysForItsKeys(input, isContainer: true) })
        return try fleet.run { [plans, needs] item in
            if let plan = plans[item.operand] { _ = try plan.get() }
            return try item.withInput(takingFolders: takesFolders) { input in
                guard let needs else { return .passedOver }
                if let plan = plans[item.operand] { return try work(input, try plan.get(), needs) }
                if staysForItsKeys(input) { return .passedOver }
                if isDone(input, item) { return encryptedBefore(input, "its container is there and is not older") }
                return try work(input, try planOnTheWay(item, input, choose), needs)
            }
        }
    }

    /// Refuses two operands of which only the second does not exist, before anything is written: people name an output
    /// so who know `cp`.
    private func refuseOutputAsInput(_ operands: [PathArgument]) throws(Failure) {
        // A program that reads JSON gets a result for each operand.
        guard !console.json else { return }
        if verb == .decrypt { try refuseMembers(operands) }
        guard options.output == nil, operands.count == 2, operands.allSatisfy({ !$0.isDash }),
            KeyringPlace.exists(operands[0]), !KeyringPlace.exists(operands[1])
        else { return }
        throw Failure(
            .noInput, operands[1].subject, Errno.noSuchFileOrDirectory.words, hint: .nameOutput(operands[1].escaped))
    }

    /// Refuses the container of a folder with paths behind it that are no inputs: its whole contents would come out where
    /// members were meant.
    private func refuseMembers(_ operands: [PathArgument]) throws(Failure) {
        let rest = operands.dropFirst()
        guard let first = operands.first, let path = rest.first, !first.isDash, first.isNamedAsFolder,
            KeyringPlace.exists(first), !rest.contains(where: { $0.isInput(takingFolders: many.isFleet) })
        else { return }
        throw Failure(
            .noInput, path.subject, "is no container, and decrypt takes only whole containers",
            hint: .extractMember(path.escaped, of: first.escaped))
    }

    /// Refuses inputs that would become the same output, and says if the folder of the outputs is left out.
    private func checkMirror(_ operands: [PathArgument]) throws(Failure) {
        guard let mirror = rules.mirror, let output = options.output else { return }
        try mirror.refuseDoubles(among: operands)
        for operand in operands where try mirror.isBelow(operand) {
            console.announce(.path(output.bytes), "is in the input \(operand.escaped), and is left out of it")
        }
    }

    /// The outcome of an input that an earlier run has encrypted.
    func encryptedBefore(_ input: Input, _ why: String) -> Outcome {
        console.note(input.subject, "encrypted before: \(why)")
        return Outcome(status: .done, name: .encryptedBefore)
    }

    private var resumption: Fleet.Resumption {
        if options.force { return .beginsAgain }
        return outcome == .encrypted || options.removeSource ? .continues : .reportsOutputs
    }

    private func plan(
        _ item: InputItem, _ stat: Stat, _ choose: (InputItem, Stat) throws(Failure) -> Destination?
    ) throws(Failure) -> Destination? {
        let destination = try choose(item, stat)
        try checkRemoval(of: item, stat, to: destination)
        return destination
    }

    /// Plans the output of an input that a walk found. Later inputs are not known yet.
    private func planOnTheWay(
        _ item: InputItem, _ input: Input, _ choose: (InputItem, Stat) throws(Failure) -> Destination?
    ) throws(Failure) -> Destination? {
        let destination = try plan(item, input.stat, choose)
        if let destination { try checkOnTheWay(destination) }
        return destination
    }

    /// If inputs are found during the run, refuses an output that is not a file or that would replace a later input.
    func checkOnTheWay(_ destination: Destination) throws(Failure) {
        guard many.isFleet else { return }
        guard case .file(let place) = destination else {
            throw Failure(
                .cannotCreate, destination.subject, "is not a regular file, which each of many outputs must be")
        }
        guard options.force, (try? place.stat()) != nil else { return }
        let there: Input
        do throws(Failure) {
            there = try place.input()
        } catch {
            throw Failure(
                .cannotCreate, destination.subject, "cannot be read, so it is not replaced: \(error.reason)")
        }
        defer { there.close() }
        guard try !selection.takes(there) else {
            throw Failure(.cannotCreate, destination.subject, "is to be \(outcome.text) itself, so it is not replaced")
        }
    }

    /// Whether a run that removes its inputs leaves out a file that it was not given by name, because it holds keys:
    /// inside a container it would open nothing, not even that container. Warns if so.
    ///
    /// - Parameter isContainer: Whether it is left out in any case.
    private func staysForItsKeys(_ input: Input, isContainer: Bool = false) -> Bool {
        guard case .plaintexts = selection, options.removeSource, let what = rules.keyHolders.what(input) else {
            return false
        }
        let reason = isContainer ? "" : ": --remove-source would leave its keys only inside a container"
        console.warn(
            input.subject, "\(what), and was skipped\(reason)", hint: isContainer ? nil : .encryptKeysByName)
        return true
    }

    /// Whether an earlier run seems to have encrypted a file that a walk found: its container is there and is not older.
    /// This is not authenticated: anyone who can write to the folder can put such a file there.
    private func isDone(_ input: Input, _ item: InputItem) -> Bool {
        guard case .plaintexts = selection, item.found != nil, !options.force, !options.removeSource, !rules.updates,
            let there = try? rules.place(for: item, input.stat)?.input()
        else { return false }
        defer { there.close() }
        guard let own = input.stat.modified, let its = there.stat.modified else { return false }
        return (try? there.beginsWithMagic) == true && its >= own
    }

    private func checkRemoval(of item: InputItem, _ stat: Stat, to destination: Destination?) throws(Failure) {
        guard options.removeSource else { return }
        if let destination, !destination.isFile {
            throw Failure(.usage, destination.subject, "is not a regular file, which --remove-source needs")
        }
        // A walk finds no links.
        if item.found == nil, let named = try? item.operand.path.stat(followTargetSymlink: false),
            named.type != .regular
        {
            let kind =
                switch named.type {
                case .symbolicLink: "a link"
                case .directory: "a folder"
                default: "not a regular file"
                }
            throw Failure(.usage, item.subject, "is \(kind); --remove-source removes only regular files")
        }
        if rules.secrets.contains(FileIdentity(stat)) {
            throw Failure(.usage, item.subject, "holds a key of this run, and --remove-source would remove it")
        }
        if rules.keyHolders.isOwn(stat) {
            throw Failure(.usage, item.subject, "belongs to a keyring, and --remove-source would remove it")
        }
    }

    /// How one output is made. If inputs are found during the run, no list of outputs is kept: a run that replaces
    /// nothing cannot write an output twice.
    var conversion: Conversion {
        Conversion(
            outcome: outcome, options: options.destination, removesSource: options.removeSource, outputs: outputs,
            keepsList: !many.isFleet, console: console)
    }
}

extension Result {
    fileprivate var isPossible: Bool {
        if case .success = self { true } else { false }
    }
}
