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

            Pipes and devices get authenticated bytes before the end of the container is checked, and a container that \
            was cut short looks right until its end: TRUST SUCH OUTPUT ONLY AFTER STATUS 0.

            Without a key, the key file that VAULTFILE_KEY_FILE names is tried, else the keys of the keyring, and then \
            a passphrase is asked for.
            """)

    static var help: String {
        """
        Usage: vaultfile cat [options] [FILE.vault ...]

          vaultfile cat notes.txt.vault              shows a text on the terminal
          vaultfile cat january.csv.vault february.csv.vault | wc -l
          vaultfile cat --offset 1G --length 4K disk.img.vault > part

        Writes the contents of containers to standard output, in order. A terminal gets
        only text. Trust what goes to a pipe only after status 0.

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
        let pin = try expect.pin(for: operands, many)
        let options = OutputOptions(to: .dash)
        let rules = OutputRules(
            naming: .removing, output: .dash, replaces: false, inputs: try FileIdentity.all(of: operands),
            secrets: try keys.secretFiles())
        let transfer = Transfer(
            verb: Self.name, outcome: .decrypted, selection: .containers, rules: rules, options: options, many: many,
            console: console)
        let isShown = !force && Platform.isTerminal(.standardOutput)
        return try transfer.run(operands) { item, stat throws(Failure) in
            try rules.destination(for: item, stat)
        } with: {
            Opening(
                keys: try RunKeys(keys, KeyringSession(keys.unlocking, console)), context: context,
                threads: jobs.threads, console: console, expecting: pin)
        } _: { input, destination, opening in
            guard let destination else { return .passedOver }
            return try transfer.conversion.make(destination, from: input) { input, descriptor in
                guard isShown else { return try opening.decrypt(part, of: input, to: descriptor) }
                guard input.canSeek else {
                    throw Failure(
                        .usage, input.subject, "cannot be checked before a terminal shows it", hint: .forceShows)
                }
                let reader = try opening.seekableToWrite(input)
                try refuseUnlessText(reader, input)
                return try opening.write(part, of: reader, from: input, to: descriptor)
            }
        }
    }

    private static let pieceLength: UInt64 = 1 << 20

    /// Refuses contents that are not text. Nothing has been shown yet.
    private func refuseUnlessText(_ reader: SeekableVaultReader, _ input: Input) throws {
        let range = (part.range(of: reader.length) ?? 0..<reader.length).clamped(to: 0..<reader.length)
        var check = TextCheck(isPart: part.option != nil)
        var place = range.lowerBound
        while place < range.upperBound {
            let end = min(range.upperBound, place + Self.pieceLength)
            guard check.take(try reader.bytes(place..<end)) else { throw Self.notText(input) }
            place = end
        }
        if !check.isComplete { throw Self.notText(input) }
    }

    private static func notText(_ input: Input) -> Failure {
        Failure(.usage, input.subject, "is not text, and standard output is a terminal", hint: .forceShows)
    }
}
