internal import ArgumentParser

/// Where key files come from, for the verbs that need a key with an ID.
struct KeyFileOptions: ParsableArguments {
    @Option(
        name: .customLong("key-file"), parsing: .unconditionalSingleValue,
        help: ArgumentHelp("Read a key from this key file; - is standard input.", valueName: "path"))
    var keyFiles: [PathArgument] = []

    @Option(
        name: .customLong("key-command"), parsing: .unconditionalSingleValue,
        help: ArgumentHelp(
            """
            Run this command with /bin/sh -c and read a key file from what it prints. The end of the shell is the end \
            of the command, whatever it leaves in the background.
            """, valueName: "command"))
    var keyCommands: [BytesArgument] = []

    /// All that is named.
    var arguments: [KeyArgument] {
        keyFiles.map { KeyArgument(.file($0), of: "--key-file") }
            + keyCommands.map { KeyArgument(.command($0.bytes), of: "--key-command") }
    }

    /// Refuses two uses of standard input.
    func refuseSharedStandardInput(_ unlocking: UnlockOptions) throws(Failure) {
        try StandardInput.refuseShared((arguments + unlocking.arguments).compactMap(\.standardInputUse))
    }
}

/// The keys of a run. Each option may be given more than once.
struct KeyOptions: ParsableArguments {
    @Flag(name: .shortAndLong, help: "Ask for a passphrase on the terminal, twice when encrypting.")
    var passphrase: Int

    @Option(
        name: .customLong("passphrase-file"), parsing: .unconditionalSingleValue,
        help: ArgumentHelp(
            "Read a passphrase from this file: exactly one line of UTF-8, which is brought to NFC.", valueName: "path"))
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

    /// All that is named, in the order in which it is read: descriptors come first, so that what unlocks the keyring
    /// reads the lines after theirs, and questions come last.
    var arguments: [KeyArgument] {
        passphraseDescriptors.map { KeyArgument(.passphraseDescriptor($0), of: "--passphrase-fd") }
            + files.arguments + keyringKeys.map { $0.given(to: "-k") }
            + passphraseFiles.map { KeyArgument(.passphraseFile($0), of: "--passphrase-file") }
            + (0..<passphrase).map { _ in KeyArgument(.passphrase, of: "-p") }
    }

    /// Whether no key is named, so that the defaults count.
    var isEmpty: Bool { arguments.isEmpty }

    /// Whether keys may come from the keyring.
    var usesKeyring: Bool { isEmpty || !keyringKeys.isEmpty }

    /// Whether any passphrase is named.
    var mayStretch: Bool { arguments.contains(where: \.isPassphrase) }

    /// Refuses what names no key of the keyring behind `-k`, and the options of a later version.
    func check() throws(Failure) {
        guard keyringKeys.allSatisfy({ $0.name != nil }) else {
            throw .usage(
                "-k", "takes the name or the ID of a key of the keyring",
                hint: "--key-file, --key-command, -p, --passphrase-file and --passphrase-fd take the others")
        }
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
        let inputs = inputs.filter(\.isStandardInput).map {
            StandardInput.Use(text: $0.isDash ? "the data" : $0.escaped)
        }
        let secrets = (arguments + unlocking.arguments).compactMap(\.standardInputUse)
        try StandardInput.refuseShared(secrets + others + inputs)
    }
}
