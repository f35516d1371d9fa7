internal import SystemPackage
internal import VaultFile

/// The work that encrypt and decrypt share: from each input to its output, in order.
struct Transfer: Sendable {
    let verb: String
    /// What a walk finds that is taken.
    let selection: Selection
    let rules: OutputRules
    let options: OutputOptions
    let many: ManyInputs
    let console: Console
    let outputs = Outputs()

    private typealias Plan = Result<Destination?, Failure>

    /// Does the work. What is named is looked at first, all of it; what is found on the way, when it is found.
    ///
    /// - Parameters:
    ///   - choose: Says where the output of an input goes, nil if only its contents say that, or why it may not be
    ///     taken.
    ///   - prepare: Gets what the work needs besides, as keys; not called where there is nothing to do.
    ///   - work: Does one, with its open input.
    func run<Needs: Sendable>(
        _ operands: [PathArgument], to choose: @escaping @Sendable (InputItem, Stat) throws(Failure) -> Destination?,
        with prepare: () throws -> Needs,
        _ work: @escaping @Sendable (Input, Destination?, Needs) throws -> Outcome
    ) throws -> ExitStatus {
        var plans: [PathArgument: Plan] = [:]
        var destinations: [Destination] = []
        var needs: Needs?
        if many.isFleet {
            needs = try prepare()
        } else {
            for operand in operands {
                let item = InputItem(operand: operand)
                let plan = Result { () throws(Failure) in try self.plan(item, try operand.statAsInput(), choose) }
                plans[operand] = plan
                if case .success(let destination) = plan { destination.map { destinations.append($0) } }
            }
            try Outputs.refuseDoubles(among: destinations)
            console.standardOutputHoldsData = destinations.contains(.standardOutput)
            if plans.values.contains(where: \.isPossible) { needs = try prepare() }
        }
        let fleet = try Fleet(
            verb, operands, many, takes: selection, oneByOne: !destinations.allSatisfy(\.isFile), on: console)
        return try fleet.run { [plans, needs] item in
            if let plan = plans[item.operand] { _ = try plan.get() }
            return try item.withInput { input in
                guard let needs else { return .passedOver }
                if let plan = plans[item.operand] { return try work(input, try plan.get(), needs) }
                if isDone(input, item) {
                    console.note(input.subject, "passed over: a container of it stands beside it, and is not older")
                    return .encryptedBefore
                }
                return try work(input, try planOnTheWay(item, input, choose), needs)
            }
        }
    }

    private func plan(
        _ item: InputItem, _ stat: Stat, _ choose: (InputItem, Stat) throws(Failure) -> Destination?
    ) throws(Failure) -> Destination? {
        let destination = try choose(item, stat)
        try checkRemoval(of: item, stat, to: destination)
        return destination
    }

    /// The same where nobody can know what comes later.
    private func planOnTheWay(
        _ item: InputItem, _ input: Input, _ choose: (InputItem, Stat) throws(Failure) -> Destination?
    ) throws(Failure) -> Destination? {
        let destination = try plan(item, input.stat, choose)
        if let destination { try checkOnTheWay(destination) }
        return destination
    }

    /// Refuses, where many inputs are worked on, what would be no file or the end of an input that is still to come.
    func checkOnTheWay(_ destination: Destination) throws(Failure) {
        guard many.isFleet else { return }
        guard case .file(let place) = destination else {
            throw Failure(
                .cannotCreate, destination.subject, "is no regular file, and of many inputs each becomes one")
        }
        guard options.force, let there = try? place.input() else { return }
        defer { there.close() }
        guard try !selection.takes(there) else {
            throw Failure(.cannotCreate, destination.subject, "is to be \(verb)ed itself, and so is not replaced")
        }
    }

    /// Whether an earlier run has encrypted what a walk found: its container is there, and is not older. Nobody vouches
    /// for that: whoever can write to the folder can have put it there.
    private func isDone(_ input: Input, _ item: InputItem) -> Bool {
        guard case .plaintexts = selection, item.found != nil, !options.force, !options.removeSource,
            let there = try? OutputPlace(
                PathArgument(bytes: item.operand.bytes + OutputRules.suffix), beside: item.found
            ).input()
        else { return false }
        defer { there.close() }
        guard let own = input.stat.modified, let its = there.stat.modified else { return false }
        return (try? there.beginsWithMagic) == true && its >= own
    }

    private func checkRemoval(of item: InputItem, _ stat: Stat, to destination: Destination?) throws(Failure) {
        guard options.removeSource else { return }
        if let destination, !destination.isFile {
            throw Failure(.usage, destination.subject, "is no regular file, and --remove-source wants one")
        }
        // A walk finds no links.
        if item.found == nil, let named = try? item.operand.path.stat(followTargetSymlink: false),
            named.type != .regular
        {
            let kind = named.type == .symbolicLink ? "a link" : "no regular file"
            throw Failure(.usage, item.subject, "is \(kind), and --remove-source removes none")
        }
        if rules.secrets.contains(FileIdentity(stat)) {
            throw Failure(.usage, item.subject, "holds a key of this run, and --remove-source would remove it")
        }
    }

    typealias Made = Making.Made

    /// Makes one output.
    ///
    /// - Parameter work: Writes it.
    func make(
        _ destination: Destination, from input: Input, _ work: (FileDescriptor) throws -> Made
    ) throws -> Outcome {
        // Of many, nobody keeps a list: where nothing is replaced, none is written twice.
        let making = Making(
            verb: verb, options: options.destination, removesSource: options.removeSource,
            outputs: outputs, keepsList: !many.isFleet, console: console)
        return try making.make(destination, from: input, work)
    }
}

extension Result {
    fileprivate var isPossible: Bool {
        if case .success = self { true } else { false }
    }
}
