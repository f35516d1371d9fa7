internal import ArgumentParser
internal import SystemPackage
internal import VaultFile

/// The options of the verbs that take many inputs: which inputs, and how many at once.
struct ManyInputs: ParsableArguments {
    @Flag(
        help: """
            Take the regular files below each folder that is named, in the order of their names. Links are not \
            followed. Each file is used in the folder where it was found, even if its path changes meanwhile. At most \
            65,536 names of each folder on the way down are in memory.
            """)
    var recursive = false

    @Option(
        name: .customLong("files-from"), parsing: .unconditional,
        help: ArgumentHelp(
            "Take the paths in this file too, one a line; - is standard input. There may be any number of them.",
            valueName: "file"))
    var filesFrom: PathArgument?

    @Flag(
        name: [.customShort("0"), .customLong("null")], help: "Names in --files-from end with a NUL, not a line end.")
    var null = false

    @OptionGroup var jobs: JobsOption

    init() {}

    /// For a verb that takes only the inputs that are named.
    init(jobs: JobsOption) {
        recursive = false
        filesFrom = nil
        null = false
        self.jobs = jobs
    }

    /// Whether inputs are found during the run, so that they cannot all be checked first.
    var isFleet: Bool { recursive || filesFrom != nil }

    /// How many inputs are processed at once, and how many threads each of them has.
    func threads(for operands: [PathArgument]) -> (inputs: Int, each: Int) {
        let threads = jobs.threads
        if isFleet { return (threads, 1) }
        // Named inputs are few and may be large. They are processed one after the other with all threads, unless --jobs
        // is given.
        return operands.count > 1 && jobs.number != nil ? (threads, 1) : (1, threads)
    }

    /// Uses of standard input by these options.
    var standardInputUses: [StandardInput.Use] {
        filesFrom.flatMap { $0.isStandardInput ? [.init(text: "--files-from \($0.escaped)")] : nil } ?? []
    }

    /// All operands; standard input if none is named and the verb reads it by default.
    ///
    /// - Throws: `Failure` if the options contradict each other or nothing is named.
    func operands(_ lists: [OperandList], standardInputByDefault: Bool = false) throws(Failure) -> [PathArgument] {
        if null, filesFrom == nil { throw .usage("--null", "is for --files-from") }
        try jobs.check()
        let operands = lists.flatMap(\.paths)
        guard operands.isEmpty, filesFrom == nil else { return operands }
        if standardInputByDefault, !recursive { return [.dash] }
        throw .usage("INPUT", "is missing", hint: .nameFiles)
    }
}
