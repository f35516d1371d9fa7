internal import ArgumentParser
internal import SystemPackage
internal import VaultFile
internal import VaultSystem

/// `vaultfile cat`.
struct Cat: Verb {
    static let name = VerbName.cat
    static let configuration = CommandConfiguration.verb(
        name,
        abstract: "Write the contents of containers to standard output.",
        discussion: """
            Decrypts each INPUT to standard output, one after the other; without INPUT, standard input. It is decrypt \
            -o - with one difference: on a terminal, contents are shown only if they are text, which is UTF-8 without \
            control characters other than tabs and line ends. Other bytes could change the terminal's settings or hide \
            what it shows. All contents of an INPUT are checked before its first byte is shown. --force shows them \
            anyway.

            If the first INPUT is a container with an index of a tar stream, as encrypt makes it of a folder, the \
            other INPUTs are paths of members, and only these are decrypted. Without an index, they are paths of members \
            if none of them is a container on the disk; all headers of the tar stream are read then. A hard link stands \
            for what it leads to; a symbolic link does not.

            Pipes and devices get authenticated bytes before the end of the container is checked, and a container that \
            was cut short looks right until its end: TRUST SUCH OUTPUT ONLY AFTER STATUS 0.

            Without a key, the key file that VAULTFILE_KEY_FILE names is tried, else the keys of the keyring, and then \
            a passphrase is asked for.
            """)

    static var help: String {
        """
        Usage: vaultfile cat [options] [FILE.vault ...]

          vaultfile cat notes.txt.vault              shows a text on the terminal
          vaultfile cat photos.tar.vault photos/2024/beach.jpg > beach.jpg
          vaultfile cat --offset 1G --length 4K disk.img.vault > part

        Writes the contents of containers to standard output, in order. Paths after the
        container of a folder are files in it. A terminal gets only text. Trust what
        goes to a pipe only after status 0.

        \(HelpText.openingKeys)
        \(HelpText.expect)
        Output:
          --offset SIZE, --length SIZE
                                   only this part of each
          -f, --force              show on a terminal even what is not text
        \(HelpText.jobs)
        """
    }

    @OptionGroup(title: "Keys") var keys: KeyOptions
    @OptionGroup var context: ContextOption
    @OptionGroup var expect: ExpectOption
    @Option(name: .customLong("offset"), parsing: .unconditional, help: RangeOptions.offsetHelp)
    var offset: ByteCount?

    @Option(name: .customLong("length"), parsing: .unconditional, help: RangeOptions.lengthHelp)
    var length: ByteCount?

    @Flag(name: .shortAndLong, help: "Show contents on a terminal even if they are not text.")
    var force = false

    @OptionGroup var jobs: JobsOption
    @OptionGroup(title: "Reporting") var common: CommonOptions

    @Argument(help: ArgumentHelp("A container; - is standard input.", valueName: "input"))
    var operandLists: [OperandList] = []

    private var part: RangeOptions { RangeOptions(offset: offset, length: length) }

    func execute(on console: Console) throws -> ExitStatus {
        try keys.check()
        let many = ManyInputs(jobs: jobs)
        let operands = try many.operands(operandLists, standardInputByDefault: !Platform.isDialogue)
        try keys.refuseSharedStandardInput(inputs: operands)
        let context = try context.context()
        let known = try expect.known(for: operands, many)
        let options = OutputOptions(to: .dash)
        let rules = OutputRules(
            naming: .removing, output: .dash, replaces: false, inputs: try FileIdentity.all(of: operands),
            secrets: try keys.secretFiles())
        let transfer = Transfer(
            verb: Self.name, outcome: .decrypted, selection: .containers, rules: rules, options: options, many: many,
            console: console)
        let isShown = !force && Platform.isTerminal(.standardOutput)
        let opening = try Self.first(operands) ? makeOpening(context, known, console) : nil
        if let opening, let first = operands.first,
            let status = try MemberOutput(opening: opening, part: part, isShown: isShown, console: console)
                .write(operands.dropFirst(), of: first, rules)
        {
            return status
        }
        return try transfer.run(operands) { item, stat throws(Failure) in
            try rules.destination(for: item, stat)
        } with: {
            try opening ?? makeOpening(context, known, console)
        } _: { input, destination, opening in
            guard let destination else { return .passedOver }
            return try transfer.conversion.make(destination, from: input) { input, descriptor in
                guard isShown else { return try opening.decrypt(part, of: input, to: descriptor) }
                guard input.canSeek else {
                    throw Failure(
                        .usage, input.subject, "cannot be checked before a terminal shows it", hint: .forceShows)
                }
                let reader = try opening.seekableToWrite(input)
                try TextCheck.refuse(
                    unlessText: part.range(of: reader.length) ?? 0..<reader.length, isPart: part.option != nil,
                    of: reader,
                    input.subject)
                return try opening.write(part, of: reader, from: input, to: descriptor)
            }
        }
    }

    private func makeOpening(_ context: Context, _ known: KnownHeader, _ console: Console) throws -> Opening {
        Opening(
            keys: try RunKeys(keys, KeyringSession(keys.unlocking, console)), context: context,
            threads: jobs.threads, console: console, header: known)
    }

    /// Whether the first of several operands may be a container with members.
    private static func first(_ operands: [PathArgument]) throws(Failure) -> Bool {
        guard operands.count > 1, let first = operands.first, !first.isDash,
            let stat = try? first.path.stat(), stat.type == .regular
        else { return false }
        let input = try Input(first)
        defer { input.close() }
        return (try? input.beginsWithMagic) == true || (try? input.endsWithMagic) == true
    }
}
