internal import ArgumentParser

/// How a keyring is unlocked.
struct UnlockOptions: ParsableArguments {
    @Option(
        name: .customLong("unlock"), parsing: .unconditionalSingleValue,
        help: ArgumentHelp(
            "Unlock the keyring with this: file:PATH, command:COMMAND, passphrase, passphrase-file:PATH or "
                + "passphrase-fd:N.", valueName: "k"))
    var unlock: [KeyArgument] = []

    /// Where these say standard input.
    var standardInputUses: [StandardInput.Use] { unlock.compactMap { $0.standardInputUse("--unlock") } }
}

/// What the verbs have that make the keyring where there is none.
struct KeyringMaking: ParsableArguments {
    @OptionGroup var unlocking: UnlockOptions

    @Flag(help: "Make the keyring without a passphrase: whoever can read its two files has its keys.")
    var unprotected = false
}
