internal import ArgumentParser
internal import SystemPackage
internal import VaultFile
internal import VaultSystem

/// `vaultfile decrypt`.
struct Decrypt: Verb {
    static let name = VerbName.decrypt
    static let configuration = CommandConfiguration.verb(
        name,
        abstract: "Decrypt containers.",
        discussion: """
            Each INPUT F.vault is decrypted to F, with the time and the mode that the container holds, and is itself \
            not changed. An INPUT with another name needs -o. decrypt --recursive -o FOLDER/ brings back a tree that \
            encrypt --recursive -o has made. Without INPUT, standard input is decrypted to standard \
            output. Plaintext goes to a terminal only with -o -. Without a key, the key file that VAULTFILE_KEY_FILE \
            names is tried, else the keys of the keyring, and then a passphrase is asked for.

            A file appears under its name only when all of it is authenticated. Standard output, pipes and devices get \
            authenticated bytes before the end of the container is checked, and a container that was cut short looks \
            right until its end: TRUST SUCH OUTPUT ONLY AFTER STATUS 0.

            Status 0 with a warning means that the plaintext is right, but the container is damaged or a change of its \
            keys was interrupted.
            """)

    static var help: String {
        """
        Usage: vaultfile decrypt [options] [FILE.vault ...]

          vaultfile decrypt letter.txt.vault         writes letter.txt
          vaultfile decrypt -o - photos.tar.vault | tar -x
          vaultfile decrypt --offset 1G --length 4K -o part disk.img.vault

        Decrypts each FILE.vault to FILE, with the stored time and mode. Trust what goes
        to a pipe only after status 0.

        \(HelpText.openingKeys)
        \(HelpText.expect)
        Output:
        \(HelpText.output)
          --restore-name           use the file name that the container holds
          --remove-source          remove each container once its output is durable
          --sparse                 make holes of zeros, as in a disk image
          --offset SIZE, --length SIZE
                                   only this part, to standard output without -o
        \(HelpText.manyFiles)
        """
    }

    @OptionGroup(title: "Keys") var keys: KeyOptions
    @OptionGroup(title: "Output") var output: OutputOptions
    @OptionGroup var context: ContextOption
    @OptionGroup var expect: ExpectOption
    @OptionGroup(title: "Many inputs") var many: ManyInputs

    @Flag(help: "Write to the file name that the container holds, beside the input or in -o FOLDER/.")
    var restoreName = false

    @Option(name: .customLong("offset"), parsing: .unconditional, help: RangeOptions.offsetHelp)
    var offset: ByteCount?

    @Option(name: .customLong("length"), parsing: .unconditional, help: RangeOptions.lengthHelp)
    var length: ByteCount?

    @Flag(help: DestinationOptions.sparseHelp)
    var sparse = false

    @OptionGroup(title: "Reporting") var common: CommonOptions

    @Argument(help: ArgumentHelp("A container to decrypt; - is standard input.", valueName: "input"))
    var operandLists: [OperandList] = []

    private var part: RangeOptions { RangeOptions(offset: offset, length: length) }

    func execute(on console: Console) throws -> ExitStatus {
        try keys.check()
        let operands = try many.operands(
            operandLists, standardInputByDefault: output.output != nil || !Platform.isDialogue)
        try output.check(inputs: operands, many)
        try check()
        try keys.refuseSharedStandardInput(inputs: operands, others: many.standardInputUses)
        let context = try context.context()
        let known = try expect.known(for: operands, many)
        let rules = OutputRules(
            naming: .removing, output: output.output, mirror: try output.mirror(many),
            replaces: output.force, continues: output.removeSource, standardOutputByDefault: part.option != nil,
            inputs: try FileIdentity.all(of: operands), secrets: try keys.secretFiles(),
            keyHolders: output.touchesFiles ? try .ofUser() : KeyHolders())
        let transfer = Transfer(
            verb: Self.name, outcome: .decrypted, selection: .containers, rules: rules, options: output, many: many,
            console: console)
        return try transfer.run(operands) { item, stat throws(Failure) in
            if restoreName || part.option != nil { try refuseUnseekable(item.operand, stat) }
            do throws(Failure) {
                return restoreName ? nil : try rules.destination(for: item, stat)
            } catch {
                throw Failure(notContainer: item, stat, insteadOf: error) ?? error
            }
        } with: {
            let opening = Opening(
                keys: try RunKeys(keys, KeyringSession(keys.unlocking, console)), context: context,
                threads: many.threads(for: operands).each, console: console, header: known,
                isSparse: sparse)
            opening.keys.prepare(operands, many, opening.credentials)
            return opening
        } _: { input, destination, opening in
            guard let destination else { return try decryptToStoredName(input, opening, transfer) }
            return try transfer.conversion.make(destination, from: input) { there, input in
                try Self.result(of: there, madeFrom: input, opening)
            } _: { input, descriptor in
                let result = try opening.decrypt(part, of: input, to: descriptor)
                if result.hasTarIndex, destination.isFile {
                    console.tell(
                        "vaultfile: hint: vaultfile extract \(input.subject.escaped) writes the files in it as files")
                }
                return result
            }
        }
    }

    private func check() throws(Failure) {
        if restoreName, let path = output.output, !path.endsWithSlash {
            throw .usage("--restore-name", "-o names the output already", hint: .outputFolderAlso)
        }
        guard let option = part.option else { return }
        if restoreName || output.removeSource {
            throw .usage(option, "does not go with \(restoreName ? "--restore-name" : "--remove-source")")
        }
        if many.isFleet { throw .usage(option, "does not go with --recursive and --files-from") }
    }

    private func refuseUnseekable(_ input: PathArgument, _ stat: Stat) throws(Failure) {
        guard stat.type != .regular else { return }
        throw Failure(
            .usage, input.subject, "is not a regular file",
            hint: .needsFile(restoreName ? "the stored name" : "a range"))
    }

    private func decryptToStoredName(_ input: Input, _ opening: Opening, _ transfer: Transfer) throws -> Outcome {
        let reader = try opening.seekable(input)
        guard let name = reader.opened.manifest.metadata.name, Metadata.isValidName(name) else {
            throw Failure(.cannotCreate, input.subject, "holds no file name", hint: .nameOutput)
        }
        let destination = try transfer.rules.place(for: [UInt8](name.utf8), of: input)
        try transfer.checkOnTheWay(destination)
        return try transfer.conversion.make(destination, from: input) { there, input in
            try Self.result(of: there, madeFrom: input, opening)
        } _: { input, descriptor in
            try opening.write(nil, of: reader, from: input, to: descriptor)
            return opening.result(reader.opened, input)
        }
    }

    /// The result that decrypting the input would have if `there` is the file that this run would make of it, with the
    /// same time and mode. Nil if it is not.
    private static func result(
        of there: Input, madeFrom input: Input, _ opening: Opening
    ) throws -> Conversion.Result? {
        let reader = try opening.seekable(input)
        guard try there.holds(plaintextOf: reader) else { return nil }
        let result = opening.result(reader.opened, input)
        let mask = FilePermissions(rawValue: CInterop.Mode(Platform.creationMask))
        guard there.stat.plainPermissions == result.permissions.subtracting(mask),
            result.modified == nil || result.modified == there.stat.modified
        else { return nil }
        return result
    }
}

extension Failure {
    /// Says that the input is no container, or which other tool's file it is. That helps more than saying that its name
    /// does not end in `.vault`.
    fileprivate init?(notContainer input: InputItem, _ stat: Stat, insteadOf failure: Failure) {
        guard !input.operand.isDash, stat.type == .regular, let file = try? Input(input) else { return nil }
        defer { file.close() }
        if let name = KnownFormats.name(of: file.prefix()) {
            self.init(
                .damaged, input.subject, "is \(name), not a vaultfile",
                hint: KnownFormats.hint(forFile: file.prefix()) ?? .silent)
            error = .notVaultfile
            return
        }
        // A name for the output does not help.
        guard failure.hint == .nameOutput, file.isNoContainer else { return nil }
        self = failure
        reason += ", and it neither begins nor ends like a vaultfile"
        hint = Hint.of(.notVaultfile, nil)
    }
}

extension Input {
    /// Whether neither of its ends is that of a container.
    fileprivate var isNoContainer: Bool {
        do {
            _ = try Inspection(FileSource(descriptor))
            return false
        } catch {
            return (error as? VaultError)?.code == .notVaultfile
        }
    }
}
