internal import ArgumentParser

/// The options that name public keys, for the verbs that make containers.
struct RecipientOptions: ParsableArguments {
    @Option(
        name: [.customShort("r"), .customLong("recipient")], parsing: .unconditionalSingleValue,
        help: ArgumentHelp(
            """
            Make a slot for this public key: age1…, age1pq1…, or an ssh-ed25519 line in one argument. It opens nothing, \
            and no secret is needed. The name of a recipient, an identity or a group of the keyring stands for its \
            public keys.
            """, valueName: "public-key"))
    var recipients: [BytesArgument] = []

    @Option(
        name: [.customShort("R"), .customLong("recipients-file")], parsing: .unconditionalSingleValue,
        help: ArgumentHelp(
            """
            Make a slot for each public key in this file, one a line; - is standard input. Comments begin with #. \
            An authorized_keys file and the .keys page of a forge are such files: a key that cannot encrypt is passed \
            over with a warning.
            """, valueName: "file"))
    var recipientsFiles: [PathArgument] = []

    /// All public keys that are named.
    var arguments: [KeyArgument] {
        recipients.map { KeyArgument(.recipient($0.bytes), of: "-r") }
            + recipientsFiles.map { KeyArgument(.recipientsFile($0), of: "-R") }
    }

    /// Refuses mistakes that show without the keyring.
    ///
    /// - Parameter operands: The inputs. Without any, `-r FOLDER` is meant as `--recursive`.
    func check(_ operands: [OperandList]) throws(Failure) {
        for argument in arguments {
            if let mistake = argument.mistakeInRecipient { throw mistake }
            guard operands.isEmpty, argument.hintAtFileOfRecipients == .folderInput else { continue }
            throw Failure(.usage, argument.subject, "takes a public key, and this is a folder", hint: .folderInput)
        }
    }

    var isEmpty: Bool { recipients.isEmpty && recipientsFiles.isEmpty }

    /// The uses of standard input.
    var standardInputUses: [StandardInput.Use] { arguments.compactMap(\.standardInputUse) }

    /// For each verb with `--anonymous`. No group of options has it: each group makes the start of the program slower.
    static let anonymousHelp: ArgumentHelp = """
        Hide whose the new slots of public keys are. Each identity of their kind must be tried on them, and a header \
        holds 64 at most. Without it, everyone who has a public key can see that a container has a slot for it. Slots that \
        a container has already stay as they are.
        """
    static let allowClassicalHelp: ArgumentHelp = """
        Allow post-quantum public keys (age1pq1…) and others beside each other in one container. A quantum computer \
        opens it by the others.
        """
}
