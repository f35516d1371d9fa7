internal import ArgumentParser

/// What every verb has that works in place.
struct InPlaceOptions: ParsableArguments {
    @OptionGroup(title: "Keys") var keys: KeyOptions
    @OptionGroup var context: ContextOption

    @Flag(
        help: """
            Go on where a new file has to take the place of one that has other names (hard links), which will go on to \
            mean the old container with its old keys.
            """)
    var breakLinks = false

    @OptionGroup(title: "Inputs") var many: ManyInputs
    @OptionGroup(title: "Reporting") var common: CommonOptions

    @Argument(help: ArgumentHelp("A container, changed in its place.", valueName: "input"))
    var operandLists: [OperandList] = []

    /// All operands.
    ///
    /// - Parameter others: Uses of standard input by options of the verb's own.
    /// - Throws: `Failure` for standard input, which has no place.
    func operands(others: [StandardInput.Use] = []) throws(Failure) -> [PathArgument] {
        try keys.check()
        let operands = try many.operands(operandLists)
        if operands.contains(where: \.isDash) {
            throw Failure(.usage, .standardInput, "cannot be changed in its place", hint: "name the file")
        }
        try keys.refuseSharedStandardInput(inputs: operands, others: many.standardInputUses + others)
        return operands
    }
}

/// What a verb that changes a header may do only if it is told to.
struct ChangeConsent: ParsableArguments {
    @Flag(help: "Go on where none of the keys and passphrases given here opens the container afterwards.")
    var giveUpAccess = false
}
