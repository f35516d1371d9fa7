internal import ArgumentParser
internal import VaultFile

/// Where a key file is written, and how.
struct KeyOutputOptions: ParsableArguments {
    @Option(
        name: [.customShort("o", allowingJoined: true), .customLong("output")], parsing: .unconditional,
        help: ArgumentHelp("Write the key to this new file, mode 0600; - is standard output.", valueName: "output"))
    var output: PathArgument?

    @Flag(help: "Do not wait until the key file is durable.")
    var noSync = false
}

/// The name of a new key of the keyring.
struct KeyNameOption: ParsableArguments {
    @Option(
        name: .customLong("name"), parsing: .unconditional,
        help: ArgumentHelp(
            "Name the key this; without it the name is key- and the day when the key was made.", valueName: "name"))
    var text: BytesArgument?

    /// The name; nil if none is given.
    func name() throws(Failure) -> KeyName? {
        guard let text else { return nil }
        if let name = KeyName(bytes: text.bytes) { return name }
        throw .usage("--name", "is not a valid name for a key", hint: .keyName)
    }
}
