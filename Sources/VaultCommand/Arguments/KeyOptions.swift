internal import ArgumentParser

/// The options that name key files.
struct KeyFileOptions: ParsableArguments {
    @Option(
        name: .customLong("key-file"), parsing: .unconditionalSingleValue,
        help: ArgumentHelp("Read a key from this key file; - is standard input.", valueName: "path"))
    var keyFiles: [PathArgument] = []

    @Option(
        name: .customLong("key-command"), parsing: .unconditionalSingleValue,
        help: ArgumentHelp(
            """
            Run this command with /bin/sh -c and read a key file from its output. The command ends when its shell \
            ends, even if that leaves a program in the background.
            """, valueName: "command"))
    var keyCommands: [BytesArgument] = []

    /// All keys that are named.
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
    @Flag(
        name: .shortAndLong,
        help: """
            Ask for a passphrase on the terminal. A new one is asked for twice; if nothing is typed, a random one is \
            offered: five groups of four characters, 100 bits.
            """)
    var passphrase: Int

    @Option(
        name: .customLong("passphrase-file"), parsing: .unconditionalSingleValue,
        help: ArgumentHelp(
            "Read a passphrase from this file: exactly one line of UTF-8. It is converted to NFC.", valueName: "path"))
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
        help: ArgumentHelp("Take this key of the keyring, by its name or its ID.", valueName: "name-or-id"),
        completion: KeyCompletion.ofName)
    var keyringKeys: [KeyArgument] = []

    @OptionGroup var unlocking: UnlockOptions

    @Option(
        name: [.customShort("i"), .customLong("identity")], parsing: .unconditionalSingleValue,
        help: ArgumentHelp(
            """
            Read identities, the private halves of public keys, from this file: a file of age-keygen, or an OpenSSH \
            private key of type ed25519 without a passphrase. - is standard input. The file may be a container that \
            the keyring or a passphrase opens.
            """, valueName: "file"))
    var identities: [PathArgument] = []

    @Option(
        name: .customLong("identity-command"), parsing: .unconditionalSingleValue,
        help: ArgumentHelp(
            "Run this command like that of --key-command, and read identities from its output.", valueName: "command"))
    var identityCommands: [BytesArgument] = []

    /// The files and commands that give identities.
    var identityArguments: [KeyArgument] {
        identities.map { KeyArgument(KeyArgument.identityFile($0), of: "-i") }
            + identityCommands.map { KeyArgument(.identityCommand($0.bytes), of: "--identity-command") }
    }

    /// Everything that is named to open with, in the order in which it is read. Descriptors come first, because
    /// --unlock reads the lines after theirs; questions come last.
    var arguments: [KeyArgument] {
        passphraseDescriptors.map { KeyArgument(.passphraseDescriptor($0), of: "--passphrase-fd") }
            + files.arguments + keyringKeys.map { $0.given(to: "-k") } + identityArguments
            + passphraseFiles.map { KeyArgument(.passphraseFile($0), of: "--passphrase-file") }
            + (0..<passphrase).map { _ in KeyArgument(.passphrase, of: "-p") }
    }

    /// Whether nothing is named to open with, so that the defaults apply.
    var isEmpty: Bool { arguments.isEmpty }

    /// Whether keys may come from the keyring. It may also open a container of identities.
    var usesKeyring: Bool { isEmpty || !keyringKeys.isEmpty || !identities.isEmpty }

    /// Whether any passphrase is named.
    var mayStretch: Bool { arguments.contains(where: \.isPassphrase) }

    /// Refuses what cannot unlock a keyring, a `-k` that does not name a key of it, and an identity in place of its file.
    func check() throws(Failure) {
        try unlocking.check()
        guard keyringKeys.allSatisfy({ $0.name != nil }) else {
            throw .usage("-k", "takes the name or the ID of a key of the keyring", hint: .otherKeyOptions)
        }
        if let wrong = identityArguments.first(where: { !$0.canHaveSlot }) { throw wrong.refusal }
    }

    /// Refuses two uses of standard input.
    ///
    /// - Parameter others: Uses by the verb's own options.
    func refuseSharedStandardInput(inputs: [PathArgument], others: [StandardInput.Use] = []) throws(Failure) {
        let inputs = inputs.filter(\.isStandardInput).map {
            StandardInput.Use(text: $0.isDash ? "the data" : $0.escaped)
        }
        let secrets = (arguments + unlocking.arguments).compactMap(\.standardInputUse)
        try StandardInput.refuseShared(secrets + others + inputs)
    }
}
