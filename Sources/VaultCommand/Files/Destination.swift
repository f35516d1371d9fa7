internal import SystemPackage
internal import VaultFile
internal import VaultSystem

/// Where an output goes.
enum Destination: Equatable, Sendable {
    case standardOutput
    /// Something other than a regular file, such as a device or a pipe: written to, never replaced.
    case special(PathArgument)
    /// A regular file. It appears under its name only when it is complete.
    case file(OutputPlace)

    /// Whether it becomes visible only when it is complete.
    var isFile: Bool {
        if case .file = self { true } else { false }
    }

    /// The name for a report.
    var bytes: [UInt8] {
        switch self {
        case .standardOutput: PathArgument.dash.bytes
        case .special(let path): path.bytes
        case .file(let place): place.path.bytes
        }
    }

    /// What messages call it.
    var subject: Failure.Subject {
        switch self {
        case .standardOutput: .standardOutput
        case .special(let path): .path(path.bytes)
        case .file(let place): .path(place.path.bytes)
        }
    }
}

/// How the outputs of a run get their names.
struct OutputRules: Sendable {
    /// How an output is named after its input.
    enum Naming: Sendable {
        /// `F` gives `F.vault`.
        case adding
        /// `F.vault` gives `F`.
        case removing
        /// Only `-o` names it.
        case none
    }

    /// The suffix of containers.
    static let suffix = Array(".vault".utf8)
    /// What follows the name of a folder in the name of the stream that holds it.
    static let tarSuffix = Array(".tar".utf8)

    var naming: Naming
    /// The argument of `-o`.
    var output: PathArgument?
    /// The folder that `-o` names, if the outputs of a walk go into the same folders below it.
    var mirror: Mirror?
    /// Whether an existing file may be replaced.
    var replaces: Bool
    /// Whether an existing file may be the output of an earlier run that was ended before it removed its input.
    var continues = false
    /// Whether an existing file may be an older container of the same input.
    var updates = false
    /// Whether outputs go to standard output if `-o` is not given.
    var standardOutputByDefault = false
    /// All inputs of the run. None of them may become an output.
    var inputs: Set<FileIdentity> = []
    /// All files with secrets of the run. None of them may become an output: a container would overwrite its own key.
    var secrets: Set<FileIdentity> = []
    /// Recognises other files with keys. None of them is replaced.
    var keyHolders = KeyHolders()

    /// Where an output without an input goes.
    func destination() throws(Failure) -> Destination {
        guard let output, !output.isDash else { return .standardOutput }
        return try look(at: OutputPlace(output))
    }

    /// Where the output for an input goes. The place is checked now, before any work is done.
    func destination(for input: InputItem, _ stat: Stat) throws(Failure) -> Destination {
        guard let place = try place(for: input, stat) else { return try standardOutput() }
        return try look(at: place)
    }

    /// The place of the output for an input; nil for standard output.
    func place(for input: InputItem, _ stat: Stat) throws(Failure) -> OutputPlace? {
        let operand = input.operand
        guard let output else {
            if operand.isDash || standardOutputByDefault { return nil }
            guard stat.type == .regular || stat.type == .directory else {
                throw Failure(.usage, operand.subject, "is not a regular file", hint: .nameOutput)
            }
            let path = operand.withoutSlashes.replacingLastComponent(with: try name(after: operand, stat))
            return OutputPlace(path, beside: input.found)
        }
        if output.isDash { return nil }
        guard output.endsWithSlash else { return OutputPlace(output) }
        guard !operand.isDash else {
            throw Failure(.usage, .path(output.bytes), "standard input has no name", hint: .outputName)
        }
        return try place(in: output, name(after: operand, stat), for: input.found)
    }

    /// The place for the name that a container holds: in the folder that `-o` names, or in the input's folder.
    func place(for name: [UInt8], of input: Input) throws(Failure) -> Destination {
        if let output {
            guard output.endsWithSlash else {
                throw .usage("--restore-name", "-o names the output already", hint: .outputFolderAlso)
            }
            return try lookForFile(at: try place(in: output, name, for: input.found))
        }
        let (operand, named) = (input.operand, PathArgument(bytes: name))
        let path = operand.isDash ? named : operand.replacingLastComponent(with: name)
        return try lookForFile(at: OutputPlace(path, beside: input.found))
    }

    /// The creator of the container chose the name. It must not select a device or a pipe.
    private func lookForFile(at place: OutputPlace) throws(Failure) -> Destination {
        let destination = try look(at: place)
        guard destination.isFile else {
            throw Failure(.cannotCreate, destination.subject, "is the name in the container, and is not a regular file")
        }
        return destination
    }

    /// The place of an output in the folder that `-o` names.
    ///
    /// - Parameter found: The input, if a walk found it.
    private func place(
        in folder: PathArgument, _ name: [UInt8], for found: FoundFile?
    ) throws(Failure) -> OutputPlace {
        if let mirror, let found { return OutputPlace(name, in: try mirror.place(name, for: found)) }
        try folder.subject.attempt(system: .cannotCreate) {
            guard try folder.path.stat().type == .directory else { throw Errno.notDirectory }
        }
        return OutputPlace(PathArgument(bytes: folder.bytes + name))
    }

    private func name(after input: PathArgument, _ stat: Stat) throws(Failure) -> [UInt8] {
        let isFolder = stat.type == .directory
        let folder = input.folderName
        let name = isFolder ? folder.isEmpty ? [] : folder + Self.tarSuffix : input.lastComponent
        switch naming {
        case .adding where !name.isEmpty:
            return name + Self.suffix
        case .removing where name.count > Self.suffix.count && name.suffix(Self.suffix.count) == Self.suffix[...]:
            return Array(name.dropLast(Self.suffix.count))
        default:
            let reason = naming == .removing ? "its name does not end in .vault" : "it has no file name"
            throw Failure(.usage, input.subject, reason, hint: .nameOutput)
        }
    }

    private func standardOutput() throws(Failure) -> Destination {
        if output == nil, Platform.isTerminal(.standardOutput) {
            let hint = inputs.count > 1 ? Hint.outputFolder : .outputFileOrTerminal
            throw Failure(.usage, .standardOutput, "is a terminal", hint: hint)
        }
        if let own = try? FileDescriptor.standardOutput.stat() { try refuseInput(own, .standardOutput) }
        return .standardOutput
    }

    private func look(at place: OutputPlace) throws(Failure) -> Destination {
        let path = place.path
        guard !OutputFile.hasTemporaryName(path.path) else {
            throw Failure(
                .cannotCreate, .path(path.bytes), "is a name of unfinished files, which later runs remove",
                hint: output?.endsWithSlash == false ? nil : .nameOutput)
        }
        let there: Stat
        do {
            there = try place.stat()
        } catch Errno.noSuchFileOrDirectory {
            try refuseUnwritable(place)
            return .file(place)
        } catch {
            throw Failure(error, about: .path(path.bytes), system: .cannotCreate)
        }
        try refuseInput(there, .path(path.bytes))
        if there.type == .directory {
            throw Failure(.cannotCreate, .path(path.bytes), "is a folder", hint: .outputIntoFolder)
        }
        guard there.type != .symbolicLink else {
            throw Failure(.cannotCreate, .path(path.bytes), "is a link, and --recursive follows no links")
        }
        guard there.type == .regular else { return .special(path) }
        guard replaces || continues || updates else {
            throw Failure(.cannotCreate, .path(path.bytes), "exists", hint: .forceReplaces)
        }
        if replaces { try refuseKeys(there, place) }
        try refuseUnwritable(place)
        return .file(place)
    }

    /// With a file of keys, everything that only these keys open would be lost.
    private func refuseKeys(_ there: Stat, _ place: OutputPlace) throws(Failure) {
        let input = try? place.input()
        defer { input?.close() }
        guard let what = keyHolders.isOwn(there) ? "belongs to a keyring" : input.flatMap(keyHolders.what) else {
            return
        }
        throw Failure(
            .cannotCreate, .path(place.path.bytes), "\(what), and -f replaces no keys", hint: .keysAreNotReplaced)
    }

    private func refuseUnwritable(_ place: OutputPlace) throws(Failure) {
        try Failure.Subject.path(place.path.bytes).attempt(system: .cannotCreate) { try place.checkWritable() }
    }

    /// An output that is also an input would destroy data before it is read.
    private func refuseInput(_ output: Stat, _ subject: Failure.Subject) throws(Failure) {
        guard output.isStorage else { return }
        let identity = FileIdentity(output)
        if inputs.contains(identity) { throw Failure(.cannotCreate, subject, "is an input of this run") }
        if secrets.contains(identity) { throw Failure(.cannotCreate, subject, "holds a key of this run") }
    }
}
