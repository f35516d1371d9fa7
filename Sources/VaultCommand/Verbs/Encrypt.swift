internal import ArgumentParser
internal import SystemPackage
internal import VaultFile
internal import VaultSystem

/// `vaultfile encrypt`.
struct Encrypt: Verb {
    static let name = VerbName.encrypt
    static let configuration = CommandConfiguration.verb(
        name,
        abstract: "Encrypt files into containers.",
        discussion: """
            Each INPUT F is encrypted to F.vault, with the file's mode, and is itself not changed. Without INPUT, \
            standard input is encrypted to standard output. Every key, passphrase and public key given gets a slot, and \
            any one of them opens the container. Without any, the key file that VAULTFILE_KEY_FILE names is used, else the \
            current key of the keyring. A passphrase is stretched again for each file, which takes most of a second: \
            for many files use a key.

            A public key (-r, -R) is that of a person who gave it to you: age1…, or the ssh-ed25519 line that their forge \
            shows. It encrypts and opens nothing, so a machine can encrypt for people without any secret; nothing on it \
            opens the containers then. An identity (-i) gets a slot for its public key. Everyone with a public key can \
            make a container with any content for it: that a container opens with your identity says nothing about who \
            made it. To find out who has access, inspect shows the slots. --remove-source needs no key: the container is \
            durable before the input is removed.

            An output file appears under its name only when it is complete and durable. If a run is killed, the next \
            one that writes into the same folder, and does not use --files-from, removes its unfinished files, except \
            those that it is told to read. Output to a pipe or a device may be \
            trusted only after status 0. INPUT FROM A PIPE ENDS WHERE THE PROGRAM BEFORE IT ENDS: if that program \
            fails, the container is complete and holds only what it wrote. Use `set -o pipefail` in scripts.

            A FOLDER becomes one container, FOLDER.tar.vault: a tar stream of all that is in it, with links, owners, \
            access control lists and extended attributes, and an index by which ls, cat and extract find a file \
            without reading the others. After decrypt, any tar reads it. Paths begin with the folder's own name. \
            Sockets are left out. A file that cannot be read, or is removed meanwhile, is reported, and the status \
            is 66; one that changes while it is read gives 75. The container is complete in both cases, but for these \
            files. --remove-source does not go with a FOLDER. --index makes the index for a tar stream that comes \
            through a pipe. If it is no tar stream, there is a warning and no index. There is a warning too if members \
            have absolute paths, as tar -P makes them: extract refuses them.

            With --recursive each file gets its own container, and containers, links, devices and empty \
            folders are passed over. A file counts as encrypted before, \
            and is also left out if a file that looks like its container is there and is not older. -v names such \
            files, -f encrypts them again. This is no backup tool: a file that has changed and has an older time \
            counts as encrypted before, and anyone who can write to the folder can create such a file.

            --update is for runs that are repeated: vaultfile encrypt --recursive --update -o BACKUP/ FOLDER. It opens \
            each container and compares the time and the length that it holds with those of the file. If both are the \
            same, the file is left out. If the file's time is later, or only its length differs, the file is \
            encrypted again, and the new container replaces the old one once it is complete and durable. If the \
            file's time is earlier, an old copy may have been put back: the container is kept, and the status is 73. \
            A container whose file is gone is kept. So is any other file under a container's name, and a container \
            that a key opens which this run does not have. With public keys alone nothing opens the containers, so \
            --update is refused. A file that was changed without a change of its time and \
            length is not noticed. A container that is kept keeps its keys: rotate changes them.

            Write -- before names that others may have chosen, as in: vaultfile encrypt -- *
            """)

    static var help: String {
        """
        Usage: vaultfile encrypt [options] [FILE ...]

          vaultfile encrypt -p letter.txt            asks for a passphrase
          vaultfile encrypt --recursive --update -o backup/ photos
          vaultfile encrypt -R team.txt photos       makes photos.tar.vault

        Encrypts each FILE to FILE.vault and each FOLDER to FOLDER.tar.vault, beside it.
        Each key opens the container. In scripts: set -o pipefail, and -- before names.

        Keys (if none is named: VAULTFILE_KEY_FILE, else the keyring's current key):
        \(HelpText.recipients)
        \(HelpText.keyOptions)
        Output:
        \(HelpText.output)
          --remove-source          remove each input once its container is durable
          --update                 only what is new or newer than its container
        Contents:
          --compress deflate       compress; the length then depends on the contents
          --context TEXT           the container opens only with the same text
          --index                  the input is a tar stream: store an index of it
          --digest, --no-metadata  store the SHA-256; store no name, time or mode
          --chunk-size SIZE, --header-capacity SIZE, --header FILE (see detach)
        \(HelpText.manyFiles)
        """
    }

    @OptionGroup(title: "Keys") var recipients: RecipientOptions
    @OptionGroup(title: "Keys") var keys: KeyOptions

    @Flag(help: RecipientOptions.anonymousHelp)
    var anonymous = false

    @Flag(help: RecipientOptions.allowClassicalHelp)
    var allowClassical = false

    @OptionGroup(title: "Output") var output: OutputOptions
    @OptionGroup var context: ContextOption
    @OptionGroup(title: "Many inputs") var many: ManyInputs

    @Option(
        name: .customLong("chunk-size"), parsing: .unconditional,
        help: ArgumentHelp(
            "Encrypt in chunks of this size, a power of two from 4K to 8M; 64K by default.", valueName: "size"))
    var chunkSize: ByteCount?

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp(
            "Compress: deflate. The container's length then depends on the contents: do not compress secrets together "
                + "with text that others choose.", valueName: "method"))
    var compress: CompressionMethod?

    @Option(
        name: .customLong("header-capacity"), parsing: .unconditional,
        help: ArgumentHelp(
            "Leave this much room for slots in the header, a power of two from 512 to 1M; less than 4K only for inputs "
                + "of less than 64 KiB.", valueName: "size"))
    var headerCapacity: ByteCount?

    @Option(
        name: .customLong("header"), parsing: .unconditional,
        help: ArgumentHelp(
            """
            Put what opens the container into this file, which must not exist, and not into the container. Without it \
            nobody opens the container: keep copies. To change keys, rotate this file. vaultfile detach --help says what \
            a lost, an old and a foreign header file do. For a single INPUT.
            """, valueName: "file"))
    var header: PathArgument?

    @Flag(
        help: """
            Encrypt files that have no container yet, and those that are newer than their container, which is then \
            replaced. For files that become files.
            """)
    var update = false

    @Flag(
        help: """
            Store an index of the tar stream that the input is, encrypted, by which ls, cat and extract find its files. \
            The container of a folder always has one.
            """)
    var index = false

    @Flag(help: "Store the SHA-256 of the plaintext, encrypted.")
    var digest = false

    @Flag(
        help:
            """
            Store no name, time or mode. (A name with control characters or a backslash, or one that is not UTF-8, \
            is never stored.)
            """)
    var noMetadata = false

    @OptionGroup(title: "Reporting") var common: CommonOptions

    @Argument(help: ArgumentHelp("A file to encrypt; - is standard input.", valueName: "input"))
    var operandLists: [OperandList] = []

    func execute(on console: Console) throws -> ExitStatus {
        try keys.check()
        try recipients.check(operandLists)
        let operands = try many.operands(
            operandLists, standardInputByDefault: output.output != nil || !Platform.isDialogue)
        try output.check(inputs: operands, many)
        try checkUpdate(operands)
        let made = try headerFile(operands)
        try keys.refuseSharedStandardInput(
            inputs: operands, others: many.standardInputUses + recipients.standardInputUses)
        let sealing = try sealOptions()
        let rules = OutputRules(
            naming: .adding, output: output.output, mirror: try output.mirror(many, keepingApart: update),
            replaces: output.force, continues: output.removeSource, updates: update,
            inputs: try FileIdentity.all(of: operands), secrets: try keys.secretFiles(beside: recipients),
            keyHolders: output.touchesFiles ? try .ofUser() : KeyHolders())
        let transfer = Transfer(
            verb: Self.name, outcome: .encrypted, selection: .plaintexts, rules: rules, options: output, many: many,
            takesFolders: !many.isFleet, console: console)
        let threads = many.threads(for: operands).each
        if let made, let operand = operands.first {
            let destination = try? rules.destination(
                for: InputItem(operand: operand), operand.statAsInput(takingFolders: true))
            if case .file(let place) = destination { made.noteContainer(place.path.path) }
        }
        var status: ExitStatus?
        defer { if status != .done { made?.removeIfUseless() } }
        status = try transfer.run(operands) { item, stat throws(Failure) in
            if item.found == nil { try refuseContainer(item.operand, stat) }
            if update, stat.type == .directory {
                throw Failure(.usage, item.subject, "is a folder, and --update compares files", hint: .updateFiles)
            }
            return try rules.destination(for: item, stat)
        } with: {
            let keyring = try KeyringSession(keys.unlocking, console)
            let secrets = try secrets(keyring)
            // Which files --update encrypts is known only when their containers are open.
            if !update, !secrets.plugins.isEmpty, let paths = PluginInputs.paths(operands, many) {
                for plugin in secrets.plugins { plugin.expect(paths.count) }
            }
            let updating =
                update
                ? Updating(
                    opening: Opening(
                        keys: try RunKeys(keys, keyring, reading: secrets), context: sealing.context, threads: 1,
                        console: console), publicKeys: anonymous ? [] : secrets.publicKeys)
                : nil
            return (secrets, updating)
        } _: { input, destination, needs in
            guard let destination else { return .passedOver }
            let (secrets, updating) = needs
            var (input, conversion) = (input, transfer.conversion)
            if let updating {
                switch try updating.look(at: destination, for: input, Self.metadata(of: input)) {
                case .nothing: break
                case .current: return transfer.encryptedBefore(input, "its container holds its time and length")
                case .outdated(let there): conversion.replaced = there
                }
                // A change that comes while the input is read must give it another time than the container holds.
                input = try SettledInput(input).input
            }
            return try conversion.make(destination, from: input) { there, input in
                try result(of: there, madeFrom: input, for: secrets, sealing)
            } _: { input, descriptor in
                try encrypt(
                    input, to: descriptor, for: try secrets.recipients(isHidden: anonymous), sealing, into: made,
                    threads: threads, console)
            }
        }
        return status ?? .done
    }

    /// The header file that the run makes; nil if the container has its own slots.
    private func headerFile(_ operands: [PathArgument]) throws(Failure) -> MadeHeaderFile? {
        guard let header else { return nil }
        guard operands.count == 1, !many.isFleet else { throw .usage("--header", "is for a single INPUT") }
        guard !header.isDash else { throw .usage("--header", "takes a file", hint: .nameFile) }
        if update { throw .usage("--update", "does not go with --header, which makes a new header file") }
        return MadeHeaderFile(at: header, isDurable: !output.noSync)
    }

    /// Refuses options that contradict --update.
    private func checkUpdate(_ operands: [PathArgument]) throws(Failure) {
        guard update else { return }
        if output.force { throw .usage("--update", "does not go with -f, which replaces every container") }
        if output.removeSource {
            throw .usage("--update", "does not go with --remove-source: a removed file has no later state")
        }
        if keys.isEmpty, !recipients.isEmpty {
            throw .usage(
                "--update", "opens the containers that are there, and a public key opens none",
                hint: .identityForUpdate)
        }
        if noMetadata { throw .usage("--update", "does not go with --no-metadata: it needs the file's time") }
        if output.noSync { throw .usage("--update", "does not go with --no-sync: a crash could lose both containers") }
        if many.filesFrom != nil, output.output != nil {
            throw .usage("--update", "does not go with --files-from and -o: one output could replace another")
        }
        if output.output?.isDash == true || operands.contains(where: \.isDash) {
            throw .usage("--update", "is for files that become files")
        }
    }

    private func secrets(_ keyring: KeyringSession) throws(Failure) -> [Secret] {
        guard keys.isEmpty, recipients.isEmpty else {
            let secrets = try keyring.secrets(recipients.arguments + keys.arguments, for: .sealing)
            if anonymous { try secrets.checkHidden() }
            return secrets
        }
        if anonymous { try [Secret]().checkHidden() }
        return [.key(try keyring.encryptionKey(orElse: .noKey(to: "", Self.name)))]
    }

    private func sealOptions() throws -> SealOptions {
        var options = SealOptions()
        options.context = try context.context()
        options.digest = digest
        options.tarIndex = index
        options.mayMixRecipients = allowClassical
        options.compression = compress?.compression ?? .none
        if let chunkSize {
            guard let size = ChunkSize(bytes: Int(chunkSize.value)) else {
                throw Failure.usage("--chunk-size", "must be a power of two from 4K to 8M")
            }
            options.chunkSize = size
        }
        if let headerCapacity {
            guard let capacity = HeaderCapacity(bytes: Int(headerCapacity.value)) else {
                throw Failure.usage("--header-capacity", "must be a power of two from 512 to 1M")
            }
            options.headerCapacity = capacity
        }
        return options
    }

    /// Refuses to encrypt a container: that is nearly always a mistake, for example when `encrypt *` is run again. A
    /// container that comes through a pipe is accepted.
    private func refuseContainer(_ input: PathArgument, _ stat: Stat) throws(Failure) {
        guard !input.isDash, stat.type == .regular else { return }
        let file = try Input(input)
        defer { file.close() }
        guard file.prefix().starts(with: Vault.beginning) else { return }
        throw Failure(.usage, input.subject, "is a container already", hint: .pipeContainer)
    }
}
