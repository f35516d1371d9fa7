internal import ArgumentParser

/// What unlocks the keyring.
struct UnlockOptions: ParsableArguments {
    @Option(
        name: .customLong("unlock"), parsing: .unconditionalSingleValue,
        help: ArgumentHelp(
            "Unlock the keyring with this: file:PATH, command:COMMAND, passphrase, passphrase-file:PATH or "
                + "passphrase-fd:N.", valueName: "k"))
    var unlock: [KeyArgument] = []

    /// All that the command line names.
    var arguments: [KeyArgument] { unlock.map { $0.given(to: "--unlock") } }

    /// All that the command line names, else what the environment names.
    var argumentsOrVariable: [KeyArgument] {
        guard unlock.isEmpty, let text = Variable.value(Variable.unlock) else { return arguments }
        return [KeyArgument(bytes: text, for: Variable.unlock)]
    }
}

/// The options of the verbs that make the keyring if there is none.
struct NewKeyringOptions: ParsableArguments {
    @OptionGroup var unlocking: UnlockOptions

    @Flag(help: "Make the keyring without a passphrase: everybody who can read its two files has its keys.")
    var unprotected = false
}
