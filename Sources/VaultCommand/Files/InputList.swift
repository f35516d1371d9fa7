internal import Synchronization
internal import SystemPackage
internal import VaultFile
internal import VaultSystem

/// One input of a run.
struct InputItem: Sendable {
    let operand: PathArgument
    /// Where a walk found it; nil if the user named it. Only a file that a walk found can be passed over.
    var found: FoundFile?
    /// Whether it is from a list: then the user did not choose it alone.
    var isListed = false
    /// The open file, if it had to be opened to decide whether the verb takes it.
    var opened: Input?

    var subject: Failure.Subject { operand.subject }

    /// Calls `body` with the place of the input, to change the file there. A file that a walk found is reached through
    /// its open folder: otherwise anyone who could put a link into its path would choose which file is changed.
    ///
    /// - Throws: `Failure` if it does not exist or is a folder; `InputHasGone` if a walk found it and it is gone.
    func withPlace<R>(_ body: (FilePlace) throws -> R) throws -> R {
        guard let found else {
            _ = try operand.statAsInput()
            return try body(.path(operand.path))
        }
        do {
            return try found.withPlace(body)
        } catch let error as VaultError where InputHasGone.mayBeWhy(error) && !found.isThere {
            throw InputHasGone()
        }
    }

    /// How many bytes it has, if known.
    var size: UInt64? {
        if let opened { return opened.size }
        return (try? operand.path.stat()).map { UInt64(max(0, $0.size)) }
    }

    /// Calls `body` with the open input.
    ///
    /// - Parameter takesFolders: Whether it may be a folder.
    func withInput<R>(takingFolders takesFolders: Bool = false, _ body: (Input) throws -> R) throws -> R {
        if let opened { return try body(opened) }
        _ = try operand.statAsInput(takingFolders: takesFolders)
        let input = try Input(self)
        defer { input.close() }
        return try body(input)
    }
}

/// A file that a walk found was removed or replaced before it could be opened or locked, for example by another run on
/// the same folder. There is nothing to do for it.
struct InputHasGone: Error {
    /// Whether opening a file that is gone can fail with this error. An error during the work is not one of these.
    fileprivate static func mayBeWhy(_ error: VaultError) -> Bool {
        guard error.code == .inputFailed, let number = error.systemError else { return false }
        return [.noSuchFileOrDirectory, .tooManySymbolicLinkLevels].contains(number)
    }
}

/// Which files of a walk a verb takes.
enum Selection: Sendable {
    /// Files that are not containers.
    case plaintexts
    /// Containers. A container that lost its beginning or its end counts, so that it is reported and not passed over.
    case containers
    /// The header files of containers, too.
    case containersAndHeaderFiles

    /// Whether the verb takes the file.
    ///
    /// - Throws: `Failure` if neither end can be read: a file that may be a container is not passed over silently.
    func takes(_ input: Input) throws(Failure) -> Bool {
        let name = input.operand.lastComponent
        // Another run is writing this file and will rename or remove it.
        if OutputFile.hasTemporaryName(FilePath(bytes: name)) { return false }
        let isNamedSo = name.suffix(OutputRules.suffix.count) == OutputRules.suffix[...]
        switch self {
        case .containers, .containersAndHeaderFiles:
            if isNamedSo { return true }
            // It counts without its first bytes, too. Passed over, the loss of the only slots would stay unseen.
            if self == .containersAndHeaderFiles, input.operand.hasEndingOfHeaderFile { return true }
            if self == .containers, try Self.isHeaderFile(input) { return false }
            do throws(Failure) {
                if try input.beginsWithMagic { return true }
            } catch {
                // A container whose beginning cannot be read: the verb reports it.
                guard (try? input.endsWithMagic) == true else { throw error }
                return true
            }
            return try input.endsWithMagic
        case .plaintexts:
            // The magic at the end alone proves little: an archive that ends with a container has it too. If such a
            // file were passed over, it would stay unencrypted.
            if try input.beginsWithMagic { return false }
            guard isNamedSo else { return true }
            return try !input.endsWithMagic
        }
    }

    private static func isHeaderFile(_ input: Input) throws(Failure) -> Bool {
        do throws(Failure) {
            return try input.headerFile(FileSource(input.descriptor)) != nil
        } catch {
            // A damaged header file is no container either.
            guard error.status == .damaged else { throw error }
            return true
        }
    }

    /// Whether the verb passes over an input of a list, as it would in a walk: lists are made by walks. This is so for
    /// header files, if the verb takes containers alone.
    ///
    /// - Throws: `Failure` if it cannot be read.
    func passesOver(listed item: InputItem) throws(Failure) -> Bool {
        // To open a pipe would wait for its writer.
        guard self == .containers, item.operand.isNamedHeaderFile,
            (try? item.operand.path.stat().type) == .regular
        else { return false }
        let input = try Input(item)
        defer { input.close() }
        return try Self.isHeaderFile(input)
    }
}

/// The inputs of a run, one after the other, in bounded memory: the operands, the paths in `--files-from`, and with
/// `--recursive` the files below each of them that is a folder.
struct InputList: ~Copyable {
    enum Entry {
        case item(InputItem)
        case failed(Failure)
        case passedOver(FolderWalk.Irregular)

        /// What messages call it; nil if it has no name.
        var subject: Failure.Subject? {
            switch self {
            case .item(let item): item.subject
            case .failed(let failure): failure.subject
            case .passedOver: nil
            }
        }
    }

    private var operands: ArraySlice<PathArgument>
    private let isRecursive: Bool
    /// Whether folders are inputs.
    private let takesFolders: Bool
    private let mirror: Mirror?
    private var lines: LineReader?
    private var walk: FolderWalk?

    /// - Parameter mirror: Where outputs go. It is left out of the folders that contain it.
    /// - Throws: `Failure` if the list of `--files-from` cannot be opened.
    init(
        _ operands: [PathArgument], _ options: ManyInputs, listsFolders: Bool = false, into mirror: Mirror? = nil
    ) throws(Failure) {
        self.operands = operands[...]
        self.mirror = mirror
        isRecursive = options.recursive
        takesFolders = options.recursive || listsFolders
        lines = try options.filesFrom.map { path throws(Failure) in
            try LineReader(path, separator: options.null ? 0 : UInt8(ascii: "\n"))
        }
    }

    /// What comes next; nil at the end.
    mutating func next() -> Entry? {
        while true {
            switch walk?.next() {
            case .file(let path, let found): return .item(InputItem(operand: path, found: found))
            case .passedOver(let kind): return .passedOver(kind)
            case .failed(let failure): return .failed(failure)
            case .folder, .other: continue
            case nil: walk = nil
            }
            do throws(Failure) {
                let isListed = operands.isEmpty
                guard let operand = try nextNamed() else { return nil }
                guard takesFolders, !operand.isDash, try Self.isFolder(operand) else {
                    return .item(InputItem(operand: operand, isListed: isListed))
                }
                _ = try mirror?.isBelow(operand)
                walk = try FolderWalk(
                    operand, leavingOut: Set([mirror?.identity].compactMap(\.self)), isRecursive: isRecursive)
            } catch {
                return .failed(error)
            }
        }
    }

    private static func isFolder(_ operand: PathArgument) throws(Failure) -> Bool {
        do {
            return try operand.path.stat().type == .directory
        } catch {
            // Opening it will report what is wrong with its name.
            guard ExitStatus.isOfName(error) else { throw Failure(error, about: operand.subject) }
            return false
        }
    }

    private mutating func nextNamed() throws(Failure) -> PathArgument? {
        if let operand = operands.popFirst() { return operand }
        return try lines?.next()
    }
}

/// Paths from a file, one per line, in bounded memory.
final class LineReader {
    /// Longer than a path may be on any system.
    private static let maximumLength = 1 << 16

    private let path: PathArgument
    private let descriptor: FileDescriptor
    private let separator: UInt8
    private var buffer = [UInt8](repeating: 0, count: 1 << 16)
    private var rest = 0..<0
    private var isAtEnd = false
    private var count: UInt64 = 0

    init(_ path: PathArgument, separator: UInt8) throws(Failure) {
        self.path = path
        self.separator = separator
        descriptor = try path.subject.attempt(system: .noInput) { try path.opened() }
    }

    deinit {
        if !path.isDash { try? descriptor.close() }
    }

    /// The next path; nil at the end.
    ///
    /// - Throws: `Failure` if this line is not a path, or if the file cannot be read further.
    func next() throws(Failure) -> PathArgument? {
        guard var line = try nextLine() else { return nil }
        count += 1
        let what = "\(separator == 0 ? "name" : "line") \(count)"
        guard line.count <= Self.maximumLength else {
            throw wrong("\(what) is longer than any path", separator == 0 ? nil : .nullEndsNames)
        }
        guard !line.isEmpty else { throw wrong("\(what) is empty", nil) }
        guard !line.contains(0) else { throw wrong("\(what) holds a NUL", .nullEndsNames) }
        // In a list, `-` is a file with that name: standard input may be the list itself.
        if line == PathArgument.dash.bytes { line = Array("./-".utf8) }
        return PathArgument(bytes: line)
    }

    private func wrong(_ reason: String, _ hint: Hint?) -> Failure {
        Failure(.usage, path.subject, reason, hint: hint)
    }

    /// The bytes before the next separator. Of a line that is too long, only enough bytes to notice that.
    private func nextLine() throws(Failure) -> [UInt8]? {
        var line: [UInt8] = []
        while true {
            if rest.isEmpty, !isAtEnd { try read() }
            guard !rest.isEmpty else { return line.isEmpty ? nil : line }
            let end = buffer[rest].firstIndex(of: separator)
            let piece = rest.lowerBound..<(end ?? rest.upperBound)
            if line.count <= Self.maximumLength { line += buffer[piece] }
            rest = (end.map { $0 + 1 } ?? rest.upperBound)..<rest.upperBound
            if end != nil { return line }
        }
    }

    private func read() throws(Failure) {
        do {
            rest = 0..<(try descriptor.readSome(into: &buffer))
            isAtEnd = rest.isEmpty
        } catch {
            isAtEnd = true
            throw Failure(error, about: path.subject, system: .noInput)
        }
    }
}
