internal import ArgumentParser
internal import VaultFile

/// `vaultfile ls`.
struct Ls: Verb {
    static let name = VerbName.ls
    static let configuration = CommandConfiguration.verb(
        name,
        abstract: "List containers, or what is in the container of a folder.",
        discussion: """
            Lists each INPUT, and the containers in each INPUT that is a folder; without INPUT, those in the working \
            folder. Other files are passed over. Needs no key. What is shown is NOT AUTHENTICATED: anyone who can \
            write the file can change it. inspect shows more.

            If the first INPUT is named F.tar.vault, or a key is named, and it is a container with an index of a tar \
            stream, what is in it is listed instead, and the other INPUTs are paths in it: each member with such a \
            path, and all below it. So it is if none of the other INPUTs is a container on the disk, or a folder with \
            containers in it, whatever the name of the first: without an index, all headers of the tar stream are read. This needs a \
            key, and is authenticated. -l shows kind, mode, owner, size and time. -d shows the container itself.

            With an index of all members, ls without -l, --json and --scan takes their paths from the index, and says \
            so: it reads no other part of the container. The index is the word of the container's maker. --scan goes \
            by the tar stream itself, and warns if the index differs. It also lists a tar without an index.

            The size of a container is that of the contents; of compressed contents, what they take in the container. A key is \
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
          vaultfile ls -l photos.tar.vault photos/2024

        Lists containers: the size of their contents, what opens them, their names.
        Needs no key, and nothing of it is authenticated. Of FILE.tar.vault it lists
        what is in it, or what is at the paths that follow, and needs a key.

        \(HelpText.openingKeys)
        Options:
          -l, --long               sizes in bytes, whole IDs; of members all there is
          -d, --containers         list containers themselves, not what is in them
          --scan                   list members by the stream, not by its index
        \(HelpText.manyFiles)
        """
    }

    @Flag(
        name: .shortAndLong, help: "Show sizes in bytes, and whole IDs; of members also kinds, modes, owners and times."
    )
    var long = false

    @Flag(name: [.customShort("d"), .long], help: "List containers themselves, and not what is in them.")
    var containers = false

    @Flag(help: "List members by the tar stream from its beginning on, and not by the index.")
    var scan = false

    @OptionGroup(title: "Keys") var keys: KeyOptions
    @OptionGroup var context: ContextOption
    @OptionGroup(title: "Many inputs") var many: ManyInputs
    @OptionGroup(title: "Reporting") var common: CommonOptions

    @Argument(help: ArgumentHelp("A container or a folder; - is standard input.", valueName: "input"))
    var operandLists: [OperandList] = []

    func execute(on console: Console) throws -> ExitStatus {
        try keys.check()
        let keyring = try KeyringSession(keys.unlocking, console)
        let isHere = operandLists.isEmpty && many.filesFrom == nil
        let here = PathArgument(bytes: [UInt8(ascii: ".")])
        let operands = try many.operands(isHere ? [OperandList(here)] : operandLists)
        try keys.refuseSharedStandardInput(inputs: operands, others: many.standardInputUses)
        if !containers, !many.isFleet,
            let status = try MemberList(
                keys: keys, context: try context.context(), isLong: long, byStream: scan, keyring: keyring,
                console: console
            ).list(operands)
        {
            return status
        }
        if scan { throw Failure.usage("--scan", "is for a container of a tar stream, which comes first") }
        let identities = try keyring.secrets(keys.identityArguments, for: .opening).identities
        try keyring.openForNames()
        let fleet = try Fleet(
            Self.name, operands, many, takes: .containersAndHeaderFiles, listsFolders: true,
            Fleet.Manner(countsBytes: false), on: console)
        return try fleet.run { [long] item in
            try item.withInput { input in
                let name = isHere ? Escaping.line(Array(input.operand.bytes.dropFirst(2))) : input.subject.escaped
                if let file = try input.headerFile(input.source(console)) {
                    return try list(file, input, name, keyring, identities, console)
                }
                let seen = try input.inspected(input.source(console))
                var report = Report(.ok, about: input.subject)
                let owners = SlotOwners(of: seen, among: identities, context: .none)
                let slot = { SlotReport($0, name: keyring.name(of: $0, in: seen.headers), identity: owners[$0]) }
                report.container = ContainerReport(seen, slot: slot)
                report.slots = seen.slots.map(slot)
                let failure = seen.problem.map { input.failure(ofRest: $0) ?? Failure($0, about: input.subject) }
                if let failure {
                    console.say(failure)
                    report.fail(failure)
                }
                let openers =
                    seen.problem == nil
                    ? Self.openers(seen.slots, seen.headers, keyring, owners, isLong: long) : "damaged"
                let line = Self.line(seen.streamLength, openers, isLong: long) + name
                let given = try console.give(
                    report, lines: [line], about: input.subject, done: failure == nil ? "was listed" : nil)
                return Outcome(status: failure?.status ?? given, name: .listed, bytes: seen.containerLength)
            }
        }
    }

    /// Lists a header file. The size of the contents is not in it.
    private func list(
        _ file: HeaderFile, _ input: Input, _ name: String, _ keyring: KeyringSession, _ identities: [LoadedIdentity],
        _ console: Console
    ) throws -> Outcome {
        let owners = SlotOwners(of: file, among: identities, context: .none)
        let (slots, headers) = (file.summary.slots, [file.summary])
        var report = Report(.ok, about: input.subject)
        let header = CopyReport(file) {
            SlotReport($0, name: keyring.name(of: $0, in: headers), identity: owners[$0])
        }
        report.header = header
        report.slots = header.slots
        let openers = "header file: " + Self.openers(slots, headers, keyring, owners, isLong: long)
        let given = try console.give(
            report, lines: [Self.line(nil, openers, isLong: long) + name], about: input.subject, done: "was listed")
        return Outcome(status: given, name: .listed, bytes: UInt64(file.summary.capacity.bytes))
    }

    /// The columns before the name.
    private static func line(_ size: UInt64?, _ openers: String, isLong: Bool) -> String {
        let size = size.map { isLong ? "\($0)" : ProgressText.size(Double($0)) } ?? "?"
        func padding(_ text: String, _ width: Int) -> String {
            String(repeating: " ", count: max(0, width - text.count))
        }
        return padding(size, isLong ? 14 : 10) + size + "  " + openers + padding(openers, 24) + "  "
    }

    /// What opens it.
    private static func openers(
        _ slots: [SlotDescription], _ headers: [HeaderSummary], _ keyring: KeyringSession, _ owners: SlotOwners,
        isLong: Bool
    ) -> String {
        // A change that was interrupted leaves slots in one copy, and they open it.
        let elsewhere = headers.contains(where: \.isDetached) ? ["slots in a header file"] : []
        let ofCopies = Set(headers.filter { !$0.isDetached }.flatMap(\.slots))
        let own = slots.filter(ofCopies.contains).map { slot in
            let id = "\(slot.keyID)"
            if let name = keyring.name(of: slot, in: headers) { return isLong ? "\(name) (\(id))" : name }
            let noun = (slot.isHidden ? "hidden " : "") + (slot.kind.isOfPublicKey ? slot.kind.name : slot.kind.noun)
            let owner = owners[slot].map { " (\($0.name))" } ?? ""
            guard isLong || slot.kind.idNamesSecret else { return noun + owner }
            return "\(noun) \(isLong ? id : String(id.prefix(8)))" + owner
        }
        return (own + elsewhere).joined(separator: ", ")
    }
}
