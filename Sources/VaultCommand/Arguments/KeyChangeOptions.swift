internal import ArgumentParser

/// Who is to open a container, and who no longer.
struct KeyChangeOptions: ParsableArguments {
    @Option(
        name: .customLong("add"), parsing: .unconditionalSingleValue,
        help: ArgumentHelp(
            "Make a slot for K, unless there is one that opens. What is added also opens.", valueName: "k"))
    var add: [KeyArgument] = []

    @Option(
        name: .customLong("remove"), parsing: .unconditionalSingleValue,
        help: ArgumentHelp(
            """
            Remove the slots of K. It may also be the ID of a slot, as inspect shows it, for which no secret is \
            needed, or others: all that are not added here.
            """, valueName: "k"))
    var remove: [KeyArgument] = []

    /// Whether nothing is named.
    var isEmpty: Bool { add.isEmpty && remove.isEmpty }

    /// Whether any of it is looked up in the keyring: of what is removed an ID is not.
    var usesKeyring: Bool {
        (add + remove.filter { $0.id == nil }).contains { if case .named = $0.source { true } else { false } }
    }

    /// Refuses what can be no secret, before any is read or asked for.
    func check() throws(Failure) {
        if let word = add.first(where: { !$0.isSecret }) { throw Failure(noSecret: word) }
        if let word = remove.first(where: { !$0.isSecret && $0.source != .others }) { throw Failure(noSecret: word) }
    }

    /// Where these say standard input.
    var standardInputUses: [StandardInput.Use] {
        add.compactMap { $0.standardInputUse("--add") } + remove.compactMap { $0.standardInputUse("--remove") }
    }
}
