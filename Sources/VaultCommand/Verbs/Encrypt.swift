internal import ArgumentParser
internal import SystemPackage
internal import VaultFile

/// `vaultfile encrypt`.
struct Encrypt: Verb {
    static let name = VerbName.encrypt
    static let configuration = CommandConfiguration.verb(
        name,
        abstract: "Encrypt files into containers.",
        discussion: """
            Each INPUT F becomes F.vault, with the file's mode, and is left as it is. Without INPUT, standard input is \
            encrypted to standard output. Every key and passphrase given gets a slot, and any one of them opens the \
            container; without any, the key file that VAULTFILE_KEY_FILE names is taken, else the current key of the \
            keyring. Every file stretches a passphrase anew, which takes a good part of a second: for many files use a \
            key.

            The output appears under its name when it is complete and durable, or not at all. Written to a pipe or a \
            device it may be trusted only after status 0.

            With --recursive, containers are passed over. So is a file beside which stands what looks like its \
            container, and is not older, as encrypted before: -v names each, -f encrypts it anew. Whoever can write to \
            the folder can make it so.

            Write -- before names that are not yours, as in: vaultfile encrypt -- *
            """)

    @OptionGroup(title: "Keys") var keys: KeyOptions
    @OptionGroup(title: "Output") var output: OutputOptions
    @OptionGroup var context: ContextOption
    @OptionGroup(title: "Many inputs") var many: ManyInputs

    @Option(
        name: .customLong("chunk-size"), parsing: .unconditional,
        help: ArgumentHelp(
            "Encrypt in chunks of this size, a power of two from 4K to 8M; 64K if not given.", valueName: "size"))
    var chunkSize: ByteCount?

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp(
            "Compress: deflate. The container's length then depends on the contents: do not compress secrets together "
                + "with what others choose.", valueName: "method"))
    var compress: CompressionMethod?

    @Option(
        name: .customLong("header-capacity"), parsing: .unconditional,
        help: ArgumentHelp(
            "Leave this much room for slots in the header, a power of two from 512 to 1M; less than 4K only for inputs "
                + "of less than 64 KiB.", valueName: "size"))
    var headerCapacity: ByteCount?

    @Flag(help: "Store the SHA-256 of the plaintext, encrypted.")
    var digest = false

    @Flag(
        help:
            """
            Store neither name nor time nor mode. (A name with control characters or a backslash, or one that is no \
            UTF-8, is never stored.)
            """)
    var noMetadata = false

    @OptionGroup(title: "Reporting") var common: CommonOptions

    @Argument(help: ArgumentHelp("A file to encrypt; - is standard input.", valueName: "input"))
    var operandLists: [OperandList] = []

    func execute(on console: Console) throws -> ExitStatus {
        try keys.check()
        let operands = try many.operands(operandLists, standardInputByDefault: true)
        try output.check(inputs: operands, many)
        try keys.refuseSharedStandardInput(inputs: operands, others: many.standardInputUses)
        let sealing = try sealOptions()
        let rules = OutputRules(
            naming: .adding, output: output.output, replaces: output.force, inputs: try FileIdentity.all(of: operands),
            secrets: try keys.secretFiles())
        let transfer = Transfer(
            verb: Self.name, outcome: .encrypted, selection: .plaintexts, rules: rules, options: output, many: many,
            console: console)
        let threads = many.threads(for: operands).each
        return try transfer.run(operands) { item, stat throws(Failure) in
            if item.found == nil { try refuseContainer(item.operand, stat) }
            return try rules.destination(for: item.operand, stat, beside: item.found)
        } with: {
            try recipients(KeyringSession(keys.unlocking, console))
        } _: { input, destination, recipients in
            guard let destination else { return .passedOver }
            return try transfer.conversion.make(destination, from: input) { descriptor in
                try encrypt(input, to: descriptor, for: recipients, sealing, threads: threads, console)
            }
        }
    }

    private func encrypt(
        _ input: Input, to output: FileDescriptor, for recipients: [Recipient], _ sealing: SealOptions, threads: Int,
        _ console: Console
    ) throws -> Conversion.Result {
        var sealing = sealing
        if !noMetadata { sealing.metadata = Self.metadata(of: input) }
        var progress = ProgressLine(input.subject, total: input.size, on: console)
        defer { progress.finish() }
        let stretching = Stretching()
        defer { stretching.end() }
        if keys.mayStretch { stretching.begin() }
        let manifest = try Vault.encrypt(
            from: input.descriptor, to: output, for: recipients, options: sealing, jobs: threads
        ) {
            // Slots are made before the first byte is read.
            stretching.end()
            progress.update($0)
        }
        warnIfResized(input, read: manifest.plaintextLength, console)
        let permissions = input.stat.type == .regular ? input.stat.plainPermissions : FilePermissions(rawValue: 0o666)
        return Conversion.Result(permissions: permissions, modified: nil, length: manifest.plaintextLength, health: nil)
    }

    /// What was read from a file that others write to meanwhile may be no state that it ever had.
    private func warnIfResized(_ input: Input, read length: UInt64, _ console: Console) {
        // --remove-source makes an error of it.
        guard !output.removeSource, input.canSeek, let before = input.size, let now = try? input.descriptor.stat(),
            // Files of /proc have no size at any time.
            now.size != input.stat.size || before > 0 && length != before
        else { return }
        console.warn(
            input.subject, "its size changed while it was read: \(length) bytes are in the container",
            hint: Hint.encryptAgain)
    }

    private static func metadata(of input: Input) -> Metadata {
        var metadata = Metadata()
        guard input.stat.type == .regular else { return metadata }
        // A name that the format cannot hold is left out: the file is worth more than its name.
        let name = input.operand.lastComponent
        if !input.operand.isDash, let name = String(validating: name, as: UTF8.self), Metadata.isValidName(name) {
            metadata.name = name
        }
        metadata.modified = input.stat.modificationTime
        metadata.permissions = UInt16(truncatingIfNeeded: input.stat.plainPermissions.rawValue)
        return metadata
    }

    private func recipients(_ keyring: KeyringSession) throws(Failure) -> [Recipient] {
        guard keys.isEmpty else { return try keyring.secrets(keys.arguments, for: .sealing).recipients }
        return [.key(try keyring.encryptionKey(orElse: .noKey(to: "", Self.name)).key)]
    }

    private func sealOptions() throws -> SealOptions {
        var options = SealOptions()
        options.context = try context.context()
        options.digest = digest
        options.compression = compress?.compression ?? .none
        if let chunkSize {
            guard let size = ChunkSize(bytes: Int(chunkSize.value)) else {
                throw Failure.usage("--chunk-size", "is a power of two from 4K to 8M")
            }
            options.chunkSize = size
        }
        if let headerCapacity {
            guard let capacity = HeaderCapacity(bytes: Int(headerCapacity.value)) else {
                throw Failure.usage("--header-capacity", "is a power of two from 512 to 1M")
            }
            options.headerCapacity = capacity
        }
        return options
    }

    /// A container in a container is nearly always a mistake, as when `encrypt *` is run again; through a pipe it is meant.
    private func refuseContainer(_ input: PathArgument, _ stat: Stat) throws(Failure) {
        guard !input.isDash, stat.type == .regular else { return }
        let file = try Input(input)
        defer { file.close() }
        guard file.prefix().starts(with: Vault.beginning) else { return }
        throw Failure(
            .usage, input.subject, "is a container already", hint: Hint.pipeContainer)
    }
}
