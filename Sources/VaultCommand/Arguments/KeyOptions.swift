internal import ArgumentParser

/// Where key files come from: of the verbs that want a key with an ID.
struct KeyFileOptions: ParsableArguments {
    @Option(
        name: .customLong("key-file"), parsing: .unconditionalSingleValue,
        help: ArgumentHelp("Read a key from this key file; - is standard input.", valueName: "path"))
    var keyFiles: [PathArgument] = []

    @Option(
        name: .customLong("key-command"), parsing: .unconditionalSingleValue,
        help: ArgumentHelp(
            "Run this command with /bin/sh -c and read a key file from what it prints until the shell ends.",
            valueName: "command"))
    var keyCommands: [BytesArgument] = []

    /// Where these say standard input.
    var standardInputUses: [StandardInput.Use] {
        keyFiles.filter(\.isStandardInput).map { .init(text: "--key-file \($0.escaped)", secret: .file($0)) }
    }

    /// Whether any key is named.
    var isEmpty: Bool { keyFiles.isEmpty && keyCommands.isEmpty }
}

/// The keys of a run. Each option may be given more than once.
struct KeyOptions: ParsableArguments {
    @Flag(name: .shortAndLong, help: "Ask for a passphrase on the terminal, twice when encrypting.")
    var passphrase: Int

    @Option(
        name: .customLong("passphrase-file"), parsing: .unconditionalSingleValue,
        help: ArgumentHelp(
            "Read a passphrase from this file: one line of UTF-8, which is brought to NFC. Two lines, or none, are an "
                + "error.", valueName: "path"))
    var passphraseFiles: [PathArgument] = []

    @Option(
        name: .customLong("passphrase-fd"), parsing: .unconditionalSingleValue,
        help: ArgumentHelp(
            "Read a passphrase from this open file descriptor, to the end of the line and no further.",
            valueName: "number"))
    var passphraseDescriptors: [Int32] = []

    @OptionGroup var files: KeyFileOptions

    @Option(
        name: [.customShort("k"), .customLong("key")], parsing: .unconditionalSingleValue,
        help: ArgumentHelp("Take this key of the keyring, by its name or its ID.", valueName: "name-or-id"))
    var keyringKeys: [KeyArgument] = []

    @OptionGroup var unlocking: UnlockOptions

    @Option(name: [.customShort("r"), .customLong("recipient")], parsing: .unconditionalSingleValue, help: .private)
    var recipients: [BytesArgument] = []

    @Option(
        name: [.customShort("R"), .customLong("recipients-file")], parsing: .unconditionalSingleValue, help: .private)
    var recipientsFiles: [PathArgument] = []

    @Option(name: [.customShort("i"), .customLong("identity")], parsing: .unconditionalSingleValue, help: .private)
    var identities: [PathArgument] = []

    /// Whether no key is named, so that the defaults count.
    var isEmpty: Bool {
        passphrase == 0 && passphraseFiles.isEmpty && passphraseDescriptors.isEmpty && files.isEmpty
            && keyringKeys.isEmpty
    }

    /// Whether keys may come from the keyring.
    var usesKeyring: Bool { isEmpty || !keyringKeys.isEmpty }

    /// The name or ID that `-k` gives.
    func name(in argument: KeyArgument) throws(Failure) -> String {
        if case .named(let name) = argument.source { return name }
        throw .usage(
            "-k", "takes the name or the ID of a key of the keyring",
            hint: "--key-file, --key-command, -p and their kin take the others")
    }

    /// Whether any passphrase is named.
    var mayStretch: Bool { passphrase > 0 || !passphraseFiles.isEmpty || !passphraseDescriptors.isEmpty }

    /// Refuses what a later version will know, by name.
    func refuseLater() throws(Failure) {
        let later = [
            (recipients.isEmpty, "--recipient"), (recipientsFiles.isEmpty, "--recipients-file"),
            (identities.isEmpty, "--identity"),
        ]
        guard let (_, option) = later.first(where: { !$0.0 }) else { return }
        throw Failure(
            .unsupported, .text(option), "this version has no public keys", hint: "use --key-file or -p")
    }

    /// Refuses two uses of standard input.
    ///
    /// - Parameter others: Uses by options of the verb's own.
    func refuseSharedStandardInput(inputs: [PathArgument], others: [StandardInput.Use] = []) throws(Failure) {
        var uses = files.standardInputUses + unlocking.standardInputUses + others
        uses += passphraseFiles.filter(\.isStandardInput).map {
            .init(text: "--passphrase-file \($0.escaped)", secret: .passphraseFile($0))
        }
        uses += passphraseDescriptors.filter(StandardInput.isShared).map {
            .init(text: "--passphrase-fd \($0)", secret: .passphraseDescriptor($0))
        }
        uses += inputs.filter(\.isStandardInput).map { .init(text: $0.isDash ? "the data" : $0.escaped) }
        try StandardInput.refuseShared(uses)
    }
}
