internal import ArgumentParser
internal import VaultFile

/// Where a key is written as a key file, and how.
struct KeyOutputOptions: ParsableArguments {
    @Option(
        name: [.customShort("o", allowingJoined: true), .customLong("output")], parsing: .unconditional,
        help: ArgumentHelp("Write the key to this new file, mode 0600; - is standard output.", valueName: "output"))
    var output: PathArgument?

    @Flag(help: "Do not wait until the key file is durable.")
    var noSync = false
}

/// What a key that comes into the keyring is called.
struct KeyNameOption: ParsableArguments {
    @Option(
        name: .customLong("name"), parsing: .unconditional,
        help: ArgumentHelp("Call the key this; key- and the day when it was made if not given.", valueName: "name"))
    var text: BytesArgument?

    /// The name; nil where none is given.
    func name() throws(Failure) -> KeyName? {
        guard let text else { return nil }
        if let name = KeyName(bytes: text.bytes) { return name }
        throw .usage(
            "--name", "is no name for a key",
            hint: "ASCII letters, digits and . _ - + @, 1 to \(KeyName.longest), a letter or a digit first; no ID, and "
                + "none of " + KeyName.reserved.sorted().joined(separator: ", "))
    }
}
