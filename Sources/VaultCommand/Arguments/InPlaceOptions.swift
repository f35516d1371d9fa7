internal import ArgumentParser

/// The options of the verbs that change containers in place.
struct InPlaceOptions: ParsableArguments {
    @OptionGroup(title: "Keys") var keys: KeyOptions
    @OptionGroup var context: ContextOption
    @OptionGroup var expect: ExpectOption

    @Flag(
        help: """
            Continue if a new file has to replace one that has other names (hard links). Those names keep the old \
            container with its old keys.
            """)
    var breakLinks = false

    @OptionGroup(title: "Inputs") var many: ManyInputs
    @OptionGroup(title: "Reporting") var common: CommonOptions

    @Argument(help: ArgumentHelp("A container, changed where it is.", valueName: "input"))
    var operandLists: [OperandList] = []

    /// All operands.
    ///
    /// - Parameter others: Uses of standard input by the verb's own options.
    /// - Throws: `Failure` for standard input, which cannot be changed.
    func operands(others: [StandardInput.Use] = []) throws(Failure) -> [PathArgument] {
        try keys.check()
        let operands = try many.operands(operandLists)
        if operands.contains(where: \.isDash) {
            throw Failure(.usage, .standardInput, "cannot be changed in place", hint: .nameFile)
        }
        try keys.refuseSharedStandardInput(inputs: operands, others: many.standardInputUses + others)
        return operands
    }
}

/// Consent to changes of a header that need it.
struct ChangeConsent: ParsableArguments {
    @Flag(help: "Continue even if none of the keys and passphrases given here will open the container afterwards.")
    var giveUpAccess = false
}
