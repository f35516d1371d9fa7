internal import ArgumentParser
internal import VaultFile

/// The options that every verb has.
struct CommonOptions: ParsableArguments {
    @Flag(help: "Report as JSON, one object per line.")
    var json = false

    @Flag(name: .shortAndLong, help: "Write only warnings and errors.")
    var quiet = false

    @Flag(name: .shortAndLong, help: "Also write what is done.")
    var verbose = false
}

/// The context of a run.
struct ContextOption: ParsableArguments {
    @Option(
        name: .customLong("context"), parsing: .unconditional,
        help: ArgumentHelp(
            "The context. A container opens only with the text that encrypt was given here.", valueName: "string"))
    var text: BytesArgument?

    /// The context; `none` if none is given.
    func context() throws -> Context {
        try Failure.Subject.text("--context").attempt { try text.map { try Context($0.bytes) } ?? .none }
    }
}

/// How many threads a run has.
struct JobsOption: ParsableArguments {
    @Option(
        name: .customLong("jobs"), parsing: .unconditional,
        help: ArgumentHelp(
            """
            Use this many threads, at most \(maximum); by default one for each processor. Of many inputs, each has \
            one thread; a single input has all. Without this option, several named inputs are processed one after \
            the other, each with all threads. Results and their order do not depend on it.
            """, valueName: "number"))
    var number: Int?

    private static let maximum = 256

    /// The number of threads in all.
    var threads: Int { number ?? min(Self.maximum, Vault.processorCount) }

    /// Refuses an invalid number of threads.
    func check() throws(Failure) {
        guard let number, !(1...Self.maximum).contains(number) else { return }
        throw .usage("--jobs", "must be a number from 1 to \(Self.maximum)")
    }
}

/// Where outputs go, and how.
struct DestinationOptions: ParsableArguments {
    @Option(
        name: [.customShort("o", allowingJoined: true), .customLong("output")], parsing: .unconditional,
        help: ArgumentHelp(
            "Write to this file; - is standard output; FOLDER/, with the slash, writes into a folder that exists. With "
                + "--recursive, the outputs go into the same folders below FOLDER: those of D/E/F go into FOLDER/D/E.",
            valueName: "output"))
    var output: PathArgument?

    @Flag(name: .shortAndLong, help: "Replace an output file that exists.")
    var force = false

    @Flag(help: "Do not wait until the output is durable.")
    var noSync = false

    /// For the verbs with `--sparse`. No group of options has it: each group makes the start of the program slower.
    static let sparseHelp: ArgumentHelp = """
        Make holes of blocks of zeros in an output file. They take no room on the disk, as in a disk image. The output \
        reads the same.
        """

    init() {}

    /// For a verb whose output is not the user's choice.
    init(to output: PathArgument) {
        self.output = output
        force = false
        noSync = false
    }
}

/// Where outputs go, and whether inputs are removed.
struct OutputOptions: ParsableArguments {
    @OptionGroup var destination: DestinationOptions

    @Flag(
        help: """
            Remove each input once its whole output is a durable regular file. The input is unlinked, not wiped. A \
            link is refused. An input stays if it changed meanwhile (status 74), if another program has it open (75), \
            or if the system cannot tell, as on macOS, on overlay, FUSE and network file systems, or for a file of \
            another user (74); with -f this last one is removed. If the output exists because an earlier run was ended \
            before it removed the input, the two are compared, and the input is removed.
            """)
    var removeSource = false

    init() {}

    /// For a verb whose output is not the user's choice.
    init(to output: PathArgument) {
        destination = DestinationOptions(to: output)
        removeSource = false
    }

    var output: PathArgument? { destination.output }
    var force: Bool { destination.force }
    var noSync: Bool { destination.noSync }

    /// Whether the run may replace or remove files.
    var touchesFiles: Bool { force || removeSource }

    /// Refuses options that contradict each other.
    func check(inputs: [PathArgument], _ many: ManyInputs) throws(Failure) {
        if let output, many.isFleet {
            guard output.endsWithSlash else {
                throw .usage("-o", "is one output for many inputs", hint: .outputFolder)
            }
            // A long list may hold the same name twice, and a disk may ignore case. The outputs are not kept in memory
            // to notice that.
            if force {
                let option = many.recursive ? "--recursive" : "--files-from"
                throw .usage("-f", "does not go with \(option) and -o: one output could replace another")
            }
        }
        if inputs.count > 1, let output, !output.endsWithSlash {
            throw .usage("-o", "is one output for \(inputs.count) inputs", hint: .outputFolder)
        }
        guard removeSource else { return }
        if noSync { throw .usage("--remove-source", "does not go with --no-sync") }
        if output?.isDash == true || inputs.contains(where: \.isDash) {
            throw .usage("--remove-source", "is for files that become files")
        }
    }
}
