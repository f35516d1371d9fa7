internal import ArgumentParser
internal import VaultFile

/// `vaultfile ls`.
struct Ls: Verb {
    static let name = VerbName.ls
    static let configuration = CommandConfiguration.verb(
        name,
        abstract: "List containers: size, what opens them, name.",
        discussion: """
            Lists each INPUT, and the containers in each INPUT that is a folder; without INPUT, those in the working \
            folder. Other files are passed over. Needs no key. What is shown is NOT AUTHENTICATED: anyone who can \
            write the file can change it. inspect shows more.

            The size is that of the contents; of compressed contents, what they take in the container. A key is \
            shown by its name in the keyring, or by the first digits of its ID. The names are inside the keyring. For \
            them it is unlocked only by --unlock, by key unlock, or if VAULTFILE_UNLOCK names a key file or unprotected. \
            So ls asks for a passphrase only with --unlock passphrase. Slots of public keys are shown by their kind, x25519 \
            or x-wing, and with -i by the identity that they belong to.
            """)

    static var help: String {
        """
        Usage: vaultfile ls [options] [FILE-OR-FOLDER ...]

          vaultfile ls
          vaultfile ls --recursive --unlock passphrase /backups
          vaultfile ls --json | jq -r .path

        Lists containers: the size of their contents, what opens them, their names.
        Needs no key, and nothing of it is authenticated.

        Options:
          -l, --long               sizes in bytes, and whole IDs
          --unlock K               unlock the keyring with this, to show keys by name
          -i, --identity FILE      show the slots of these identities
        \(HelpText.manyFiles)
        """
    }

    @Flag(name: .shortAndLong, help: "Show sizes in bytes, and whole IDs.")
    var long = false

    @Option(
        name: [.customShort("i"), .customLong("identity")], parsing: .unconditionalSingleValue,
        help: ArgumentHelp("Show which slots belong to the identities in this file.", valueName: "file"))
    var identities: [PathArgument] = []

    @OptionGroup(title: "Keyring") var unlocking: UnlockOptions
    @OptionGroup(title: "Many inputs") var many: ManyInputs
    @OptionGroup(title: "Reporting") var common: CommonOptions

    @Argument(help: ArgumentHelp("A container or a folder; - is standard input.", valueName: "input"))
    var operandLists: [OperandList] = []

    func execute(on console: Console) throws -> ExitStatus {
        let keyring = try KeyringSession(unlocking, console)
        let isHere = operandLists.isEmpty && many.filesFrom == nil
        let here = PathArgument(bytes: [UInt8(ascii: ".")])
        let operands = try many.operands(isHere ? [OperandList(here)] : operandLists)
        let inputs = operands.filter(\.isStandardInput).map { StandardInput.Use(text: $0.escaped) }
        let named = identities.map { KeyArgument(KeyArgument.identityFile($0), of: "-i") }
        if let wrong = named.first(where: { !$0.canHaveSlot }) { throw wrong.refusal }
        try StandardInput.refuseShared(
            (unlocking.arguments + named).compactMap(\.standardInputUse) + many.standardInputUses + inputs)
        let identities = try keyring.secrets(named, for: .opening).identities
        try keyring.openForNames()
        let fleet = try Fleet(
            Self.name, operands, many, takes: .containers, listsFolders: true, Fleet.Manner(countsBytes: false),
            on: console)
        return try fleet.run { [long] item in
            try item.withInput { input in
                let seen = try input.inspected(input.source(console))
                var report = Report(.ok, about: input.subject)
                let owners = SlotOwners(of: seen, among: identities, context: .none)
                let slot = { SlotReport($0, name: keyring.name(of: $0, in: seen.headers), identity: owners[$0]) }
                report.container = ContainerReport(seen, slot: slot)
                report.slots = seen.slots.map(slot)
                let failure = seen.problem.map { Failure($0, about: input.subject) }
                if let failure {
                    console.say(failure)
                    report.fail(failure)
                }
                let name = isHere ? Escaping.line(Array(input.operand.bytes.dropFirst(2))) : input.subject.escaped
                let line = Self.line(seen, keyring, owners, isLong: long) + name
                let given = try console.give(
                    report, lines: [line], about: input.subject, done: failure == nil ? "was listed" : nil)
                return Outcome(status: failure?.status ?? given, name: .listed, bytes: seen.containerLength)
            }
        }
    }

    /// The columns before the name.
    private static func line(
        _ seen: Inspection, _ keyring: KeyringSession, _ owners: SlotOwners, isLong: Bool
    ) -> String {
        let size = seen.streamLength.map { isLong ? "\($0)" : ProgressText.size(Double($0)) } ?? "?"
        let keys = seen.slots.map { slot in
            let id = "\(slot.keyID)"
            if let name = keyring.name(of: slot, in: seen.headers) { return isLong ? "\(name) (\(id))" : name }
            let noun = (slot.isHidden ? "hidden " : "") + (slot.kind.isOfPublicKey ? slot.kind.name : slot.kind.noun)
            let owner = owners[slot].map { " (\($0.name))" } ?? ""
            guard isLong || slot.kind.idNamesSecret else { return noun + owner }
            return "\(noun) \(isLong ? id : String(id.prefix(8)))" + owner
        }
        let openers = seen.problem == nil ? keys.joined(separator: ", ") : "damaged"
        func padding(_ text: String, _ width: Int) -> String {
            String(repeating: " ", count: max(0, width - text.count))
        }
        return padding(size, isLong ? 14 : 10) + size + "  " + openers + padding(openers, 24) + "  "
    }
}
