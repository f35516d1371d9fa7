internal import ArgumentParser
internal import SystemPackage
internal import VaultFile

/// How many inputs are named and worked on: the same for all verbs that take more than a few.
struct ManyInputs: ParsableArguments {
    @Flag(
        help: """
            Take the regular files below each folder that is named, in the order of their names; links are not \
            followed, and outputs are made in the folder where their input was found, whatever becomes of the path \
            to it. At most 65,536 names of each folder on the way down are in memory.
            """)
    var recursive = false

    @Option(
        name: .customLong("files-from"), parsing: .unconditional,
        help: ArgumentHelp(
            "Take the paths in this file too, one a line; - is standard input. There may be any number.",
            valueName: "file"))
    var filesFrom: PathArgument?

    @Flag(
        name: [.customShort("0"), .customLong("null")], help: "Names in --files-from end with a NUL, not a line end.")
    var null = false

    @OptionGroup var jobs: JobsOption

    /// Whether the inputs are found on the way, so that nobody can look at all of them beforehand.
    var isFleet: Bool { recursive || filesFrom != nil }

    /// How many inputs are worked on at once, and how many threads each of them has.
    func threads(for operands: [PathArgument]) -> (inputs: Int, each: Int) {
        let threads = jobs.threads
        if isFleet { return (threads, 1) }
        // Named one by one they are few, and may be large: so they are worked on one after the other, unless it is said
        // how.
        return operands.count > 1 && jobs.number != nil ? (threads, 1) : (1, threads)
    }

    /// Where this says standard input.
    var standardInputUses: [StandardInput.Use] {
        filesFrom.flatMap { $0.isStandardInput ? [.init(text: "--files-from \($0.escaped)")] : nil } ?? []
    }

    /// All operands, or standard input where a verb reads it too if nothing is named.
    ///
    /// - Throws: `Failure` where the options contradict each other, or nothing is named.
    func operands(_ lists: [OperandList], standardInputByDefault: Bool = false) throws(Failure) -> [PathArgument] {
        if null, filesFrom == nil { throw .usage("--null", "is for --files-from") }
        try jobs.check()
        let operands = lists.flatMap(\.paths)
        guard operands.isEmpty, filesFrom == nil else { return operands }
        if standardInputByDefault, !recursive { return [.dash] }
        throw .usage("INPUT", "is missing", hint: "name the files; - is standard input")
    }
}
