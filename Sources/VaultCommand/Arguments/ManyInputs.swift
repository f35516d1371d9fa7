internal import ArgumentParser
internal import SystemPackage
internal import VaultFile

/// Which inputs a run has, and how many at once: for all verbs that take many.
struct ManyInputs: ParsableArguments {
    @Flag(
        help: """
            Take the regular files below each folder that is named, in the order of their names. Links are not \
            followed. Outputs are made in the folder where their input was found, whatever becomes of its path. At \
            most 65,536 names of each folder on the way down are in memory.
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

    /// Whether the inputs are found on the way, so that not all can be checked beforehand.
    var isFleet: Bool { recursive || filesFrom != nil }

    /// How many inputs are processed at once, and how many threads each of them has.
    func threads(for operands: [PathArgument]) -> (inputs: Int, each: Int) {
        let threads = jobs.threads
        if isFleet { return (threads, 1) }
        // Inputs that are named are few and may be large: they are processed one after the other, unless --jobs says
        // otherwise.
        return operands.count > 1 && jobs.number != nil ? (threads, 1) : (1, threads)
    }

    /// Uses of standard input by these options.
    var standardInputUses: [StandardInput.Use] {
        filesFrom.flatMap { $0.isStandardInput ? [.init(text: "--files-from \($0.escaped)")] : nil } ?? []
    }

    /// All operands, or standard input if none is named and the verb reads that by default.
    ///
    /// - Throws: `Failure` if the options contradict each other or nothing is named.
    func operands(_ lists: [OperandList], standardInputByDefault: Bool = false) throws(Failure) -> [PathArgument] {
        if null, filesFrom == nil { throw .usage("--null", "is for --files-from") }
        try jobs.check()
        let operands = lists.flatMap(\.paths)
        guard operands.isEmpty, filesFrom == nil else { return operands }
        if standardInputByDefault, !recursive { return [.dash] }
        throw .usage("INPUT", "is missing", hint: Hint.nameFiles)
    }
}
