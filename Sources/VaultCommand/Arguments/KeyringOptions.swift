internal import ArgumentParser

/// The option that names what unlocks the keyring.
struct UnlockOptions: ParsableArguments {
    @Option(
        name: .customLong("unlock"), parsing: .unconditionalSingleValue,
        help: ArgumentHelp(
            "Unlock the keyring with this: \(Hint.unlockWord.text).", valueName: "k"))
    var unlock: [KeyArgument] = []

    init() {}

    init(unlock: [KeyArgument]) {
        self.unlock = unlock
    }

    /// All that the command line names.
    var arguments: [KeyArgument] { unlock.map { $0.unlocking(as: "--unlock") } }

    /// All that the command line names; if it names nothing, what the environment names.
    var argumentsOrVariable: [KeyArgument] {
        guard unlock.isEmpty, let text = Variable.value(Variable.unlock) else { return arguments }
        return [KeyArgument(bytes: text).unlocking(as: Variable.unlock)]
    }

    /// Refuses words that cannot unlock a keyring, before anything is read. Also refuses secrets beside the word that
    /// says that none are needed: a keyring that they unlock could be replaced by one that nothing protects.
    func check() throws(Failure) {
        let named = argumentsOrVariable
        for argument in named { try argument.checkUnlocks() }
        guard named.count > 1, let word = named.first(where: { $0.source == .unprotected }) else { return }
        throw .usage(word.option, "unprotected does not go with anything else that unlocks the keyring")
    }
}

/// The options of the verbs that can make the keyring.
struct NewKeyringOptions: ParsableArguments {
    @OptionGroup var unlocking: UnlockOptions

    @Flag(
        help: """
            Make the keyring without a passphrase: everyone who can read its two files has its keys. Each later use \
            needs --unlock unprotected.
            """)
    var unprotected = false
}
