internal import ArgumentParser

/// The options that say what gets a slot, and which slots are removed.
struct KeyChangeOptions: ParsableArguments {
    @Option(
        name: .customLong("add"), parsing: .unconditionalSingleValue,
        help: ArgumentHelp(
            "Make a slot for K, unless K has one that opens. K is also tried to open.", valueName: "k"))
    var add: [KeyArgument] = []

    @Option(
        name: .customLong("remove"), parsing: .unconditionalSingleValue,
        help: ArgumentHelp(
            """
            Remove the slots of K. K may also be the ID of a slot, as inspect shows it, which needs no secret, or \
            the word others: all slots that are not added here.
            """, valueName: "k"))
    var remove: [KeyArgument] = []

    @Flag(help: RecipientOptions.anonymousHelp)
    var anonymous = false

    @Flag(help: RecipientOptions.allowClassicalHelp)
    var allowClassical = false

    var added: [KeyArgument] { add.map { $0.given(to: "--add") } }
    var removed: [KeyArgument] { remove.map { $0.given(to: "--remove") } }

    /// Whether nothing is named.
    var isEmpty: Bool { add.isEmpty && remove.isEmpty }

    /// Whether any K is looked up in the keyring. The ID of a slot to remove is not.
    var usesKeyring: Bool { (add + remove.filter { $0.id == nil }).contains(where: \.mayUseKeyring) }

    /// Refuses words that name nothing, before any secret is read or asked for.
    func check() throws(Failure) {
        let wrong = added.first { !$0.canHaveSlot } ?? removed.first { !$0.canHaveSlot && $0.source != .others }
        if let wrong { throw wrong.refusal }
        for argument in added + removed { if let mistake = argument.mistakeInRecipient { throw mistake } }
    }

    /// The uses of standard input.
    var standardInputUses: [StandardInput.Use] { (added + removed).compactMap(\.standardInputUse) }
}
