internal import SystemPackage
internal import VaultFile

/// Where an output goes.
enum Destination: Equatable, Sendable {
    case standardOutput
    /// Something that is no regular file: written to, never replaced.
    case special(PathArgument)
    /// A regular file: complete under its name, or not there at all.
    case file(OutputPlace)

    /// Whether nothing of it is visible before it is complete.
    var isFile: Bool {
        if case .file = self { true } else { false }
    }

    /// The name in a report.
    var bytes: [UInt8] {
        switch self {
        case .standardOutput: PathArgument.dash.bytes
        case .special(let path): path.bytes
        case .file(let place): place.path.bytes
        }
    }

    /// What a message about it names.
    var subject: Failure.Subject {
        switch self {
        case .standardOutput: .standardOutput
        case .special(let path): .path(path.bytes)
        case .file(let place): .path(place.path.bytes)
        }
    }
}

/// Where an output file goes: where a path leads, or into the folder in which a walk found its input, whatever has become
/// of the folder's path. Otherwise anyone who replaces the folder by a link would choose where plaintext is written.
struct OutputPlace: Equatable, Sendable {
    let path: PathArgument
    private let entry: FoundFile?

    /// - Parameter found: The input beside which it is, if a walk found that; nil if the path was named.
    init(_ path: PathArgument, beside found: FoundFile? = nil) {
        self.path = path
        entry = found.map { FoundFile(folder: $0.folder, name: path.lastComponent) }
    }

    /// What is there. Links are followed only if the path was named.
    func stat() throws(Errno) -> Stat {
        if let entry { return try entry.folder.stat(entry.name) }
        return try path.path.stat()
    }

    /// Opens what is there.
    func input() throws(Failure) -> Input {
        try Input(InputItem(operand: path, found: entry))
    }

    /// Lends the place to the library.
    func withPlace<R>(_ body: (FilePlace) throws -> R) rethrows -> R {
        guard let entry else { return try body(.path(path.path)) }
        return try entry.withPlace(body)
    }

    /// Checks whether a file can be made there: not in a folder that takes none, not in place of an immutable one. The
    /// mode of a file that is replaced does not matter.
    func checkWritable() throws(Errno) {
        let change: Result<Void, Errno>
        if let entry {
            try entry.folder.checkWritable()
            change = Result { () throws(Errno) in try entry.folder.checkWritable(entry.name) }
        } else {
            let target = Platform.resolved(path.path) ?? path.path
            let folder = target.removingLastComponent()
            try Platform.checkWritable(folder.isEmpty ? "." : folder)
            change = Result { () throws(Errno) in try Platform.checkWritable(target) }
        }
        // Only an immutable file is "not permitted"; a mode that forbids writing is another error, and no obstacle.
        if case .failure(.notPermitted) = change { throw Errno.notPermitted }
    }
}

/// How outputs get their names, for all inputs of a run.
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

    var naming: Naming
    /// What `-o` says.
    var output: PathArgument?
    /// Whether an existing file may be replaced.
    var replaces: Bool
    /// Whether outputs go to standard output without `-o`.
    var standardOutputByDefault = false
    /// All inputs of the run, none of which may become an output.
    var inputs: Set<FileIdentity> = []
    /// All files that the run's secrets come from. None may become an output either: a container would overwrite its own
    /// key.
    var secrets: Set<FileIdentity> = []

    /// Where an output goes that has no input.
    func destination() throws(Failure) -> Destination {
        guard let output, !output.isDash else { return .standardOutput }
        return try look(at: OutputPlace(output))
    }

    /// Where the output for `input` goes. The place is checked before any work is done in vain.
    ///
    /// - Parameter found: Where a walk found the input.
    func destination(
        for input: PathArgument, _ stat: Stat, beside found: FoundFile? = nil
    ) throws(Failure) -> Destination {
        guard let output else {
            if input.isDash || standardOutputByDefault { return try standardOutput() }
            guard stat.type == .regular else {
                throw Failure(.usage, input.subject, "is no regular file", hint: Hint.sayOutput)
            }
            let path = input.replacingLastComponent(with: try name(after: input))
            return try look(at: OutputPlace(path, beside: found))
        }
        if output.isDash { return try standardOutput() }
        guard output.endsWithSlash else { return try look(at: OutputPlace(output)) }
        guard !input.isDash else {
            throw Failure(.usage, .path(output.bytes), "standard input has no name", hint: Hint.outputName)
        }
        return try look(at: OutputPlace(try inFolder(output, name(after: input))))
    }

    /// The place of a name in a folder that `-o` names, or in that of the input.
    func place(for name: [UInt8], of input: Input) throws(Failure) -> Destination {
        if let output {
            guard output.endsWithSlash else {
                throw .usage("--restore-name", "-o names the output already", hint: Hint.outputFolderAlso)
            }
            return try lookForFile(at: OutputPlace(try inFolder(output, name)))
        }
        let (operand, named) = (input.operand, PathArgument(bytes: name))
        let path = operand.isDash ? named : operand.replacingLastComponent(with: name)
        return try lookForFile(at: OutputPlace(path, beside: input.found))
    }

    /// The maker of a container chose the name: it must not select a device or a pipe.
    private func lookForFile(at place: OutputPlace) throws(Failure) -> Destination {
        let destination = try look(at: place)
        guard destination.isFile else {
            throw Failure(
                .cannotCreate, destination.subject, "is the name that the container holds, and no regular file")
        }
        return destination
    }

    private func inFolder(_ folder: PathArgument, _ name: [UInt8]) throws(Failure) -> PathArgument {
        do {
            guard try folder.path.stat().type == .directory else { throw Errno.notDirectory }
        } catch {
            throw Failure(error, about: .path(folder.bytes), system: .cannotCreate)
        }
        return PathArgument(bytes: folder.bytes + name)
    }

    private func name(after input: PathArgument) throws(Failure) -> [UInt8] {
        let name = input.lastComponent
        switch naming {
        case .adding where !name.isEmpty:
            return name + Self.suffix
        case .removing where name.count > Self.suffix.count && name.suffix(Self.suffix.count) == Self.suffix[...]:
            return Array(name.dropLast(Self.suffix.count))
        default:
            let reason = naming == .removing ? "its name does not end in .vault" : "it has no name to add to"
            throw Failure(.usage, input.subject, reason, hint: Hint.sayOutput)
        }
    }

    private func standardOutput() throws(Failure) -> Destination {
        if output == nil, Platform.isTerminal(.standardOutput) {
            throw Failure(
                .usage, .standardOutput, "is a terminal", hint: Hint.outputFileOrTerminal)
        }
        if let own = try? FileDescriptor.standardOutput.stat() { try refuseInput(own, .standardOutput) }
        return .standardOutput
    }

    private func look(at place: OutputPlace) throws(Failure) -> Destination {
        let path = place.path
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
            throw Failure(
                .cannotCreate, .path(path.bytes), "is a folder", hint: Hint.outputIntoFolder)
        }
        guard there.type != .symbolicLink else {
            throw Failure(.cannotCreate, .path(path.bytes), "is a link, and below a folder none is followed")
        }
        guard there.type == .regular else { return .special(path) }
        guard replaces else {
            throw Failure(.cannotCreate, .path(path.bytes), "exists", hint: naming == .none ? nil : Hint.forceReplaces)
        }
        try refuseUnwritable(place)
        return .file(place)
    }

    private func refuseUnwritable(_ place: OutputPlace) throws(Failure) {
        do {
            try place.checkWritable()
        } catch {
            throw Failure(error, about: .path(place.path.bytes), system: .cannotCreate)
        }
    }

    /// An output that is an input would destroy what is still to be read.
    private func refuseInput(_ output: Stat, _ subject: Failure.Subject) throws(Failure) {
        guard output.isStorage else { return }
        let identity = FileIdentity(output)
        if inputs.contains(identity) { throw Failure(.cannotCreate, subject, "is an input of this run") }
        if secrets.contains(identity) { throw Failure(.cannotCreate, subject, "holds a key of this run") }
    }
}
