internal import Synchronization
internal import SystemPackage
internal import VaultFile
internal import VaultSystem

/// The outputs of one run. No two of them have the same name.
final class Outputs: Sendable {
    private let written = Mutex<Set<FileIdentity>>([])
    private let leftovers: LeftoverFiles?

    /// - Parameters:
    ///   - files: The files that the run reads. None of them is taken for an unfinished file.
    ///   - areAll: Whether these are all. If not, nothing is removed.
    init(keeping files: Set<FileIdentity> = [], areAll: Bool = true) {
        guard areAll else {
            leftovers = nil
            return
        }
        leftovers = LeftoverFiles { file in
            (try? file.stat()).map { files.contains(FileIdentity($0)) } ?? true
        }
    }

    /// Refuses a run that would write to one name twice, before it writes anything.
    static func refuseDoubles(among destinations: [Destination]) throws(Failure) {
        var seen: Set<FilePath> = []
        for case .file(let place) in destinations where !seen.insert(identity(of: place.path.path)).inserted {
            throw Failure(.usage, .path(place.path.bytes), "two inputs would be written to it")
        }
    }

    /// The same path for the same file: links are followed as far as the path exists.
    private static func identity(of path: FilePath) -> FilePath {
        if let resolved = Platform.resolved(path) { return resolved }
        let folder = path.removingLastComponent()
        guard let last = path.lastComponent, let resolved = Platform.resolved(folder.isEmpty ? "." : folder) else {
            return path
        }
        return resolved.appending(last)
    }

    /// Opens an output.
    ///
    /// - Parameter replaces: Whether an existing file is replaced.
    func open(_ destination: Destination, replaces: Bool) throws(Failure) -> Output {
        do {
            switch destination {
            case .standardOutput:
                return Output(destination, .standardOutput)
            case .special(let path):
                let descriptor = try FileDescriptor.open(path.path, .writeOnly, options: Platform.openOptions)
                do throws(Failure) {
                    try Self.checkSpecial(descriptor, path)
                } catch {
                    try? descriptor.close()
                    throw error
                }
                return Output(destination, descriptor)
            case .file(let place):
                // On a disk that ignores case, two names can be the same file, which this run may have written already.
                if let there = try? place.stat(), written.withLock({ $0.contains(FileIdentity(there)) }) {
                    throw Failure(.cannotCreate, destination.subject, "was written by this run")
                }
                let pending = try place.withPlace { try PendingFile(at: $0, replaces: replaces, leftovers) }
                return Output(destination, pending)
            }
        } catch {
            throw Failure(error, about: destination.subject, system: .cannotCreate)
        }
    }

    private static func checkSpecial(_ descriptor: FileDescriptor, _ path: PathArgument) throws(Failure) {
        if Platform.isTerminal(descriptor) {
            throw Failure(.usage, .path(path.bytes), "is a terminal", hint: .outputTerminal)
        }
        // Checked again, because it may have changed: writing into a regular file in place would leave parts of its old
        // contents.
        if (try? descriptor.stat().type) == .regular {
            throw Failure(.cannotCreate, .path(path.bytes), "has become a regular file")
        }
    }

    /// Remembers that this run wrote it.
    func note(_ output: Output) {
        if let identity = output.identity { written.withLock { _ = $0.insert(identity) } }
    }
}

/// An open output.
final class Output {
    let destination: Destination
    /// What to write to.
    let descriptor: FileDescriptor
    private let pending: PendingFile?
    private var isClosed = false

    fileprivate init(_ destination: Destination, _ descriptor: FileDescriptor) {
        self.destination = destination
        self.descriptor = descriptor
        pending = nil
    }

    fileprivate init(_ destination: Destination, _ pending: PendingFile) {
        self.destination = destination
        self.descriptor = pending.descriptor
        self.pending = pending
    }

    deinit {
        // Tells the reader of a pipe that nothing more comes.
        if case .special = destination, !isClosed { try? descriptor.close() }
    }

    /// The file that was made; nil if the output is none, or if the system did not tell.
    var identity: FileIdentity? { (try? identityOfFile()) ?? nil }

    /// The file that was made; nil if the output is none.
    ///
    /// - Throws: the system's error if it did not tell.
    func identityOfFile() throws -> FileIdentity? { try pending?.identity.get() }

    /// Says which unfinished files were removed that killed runs had left in the folder.
    func reportLeftovers(on console: Console) {
        guard let names = pending?.removed, !names.isEmpty else { return }
        let what =
            names.count == 1
            ? "an unfinished file that a killed run had left beside it was"
            : "\(names.count) unfinished files that killed runs had left beside it were"
        let some = names.prefix(4).map { Escaping.line($0.bytes) } + (names.count > 4 ? ["..."] : [])
        console.announce(destination.subject, "\(what) removed: \(some.joined(separator: " "))")
    }

    /// Whether the file has its final name.
    private var isInPlace: Bool {
        guard let identity, case .file(let place) = destination, let there = try? place.stat() else { return false }
        return FileIdentity(there) == identity
    }

    /// Why the file did not get its name, or why the name may not be durable.
    private func failure(of error: any Error) -> Failure {
        var failure = Failure(error, about: destination.subject)
        guard let known = error as? VaultError, known.code == .outputFailed else { return failure }
        if isInPlace {
            failure.reason = "is in place and complete, but may not survive a power failure: " + failure.reason
        }
        return failure
    }

    /// Refuses to replace a file that another program has changed, or put there, since it was judged.
    private func checkUnchanged(_ judged: Stat) throws {
        guard case .file(let place) = destination else { return }
        // Before the check, because it may take long: a file that another program puts there between the check and the
        // rename is lost.
        try descriptor.synchronize()
        let there: Stat
        do {
            there = try place.stat()
        } catch Errno.noSuchFileOrDirectory {
            return
        }
        guard FileIdentity(there) == FileIdentity(judged), there.size == judged.size, there.changed == judged.changed
        else {
            throw Failure(
                .inUse, destination.subject, "another program has changed it meanwhile, so it is kept")
        }
    }

    /// Makes the contents of a device durable. A pipe cannot be synced, and its error is ignored.
    private func synchronizeSpecial() throws(Errno) {
        do {
            try descriptor.synchronize()
        } catch {
            guard error.isMissingCall else { throw error }
        }
    }

    /// Gives a file its name, mode and time. Closes any other output.
    ///
    /// - Parameter judged: The only file that the output may replace; nil if that does not matter.
    /// - Returns: The mode that the file has; nil if the output is not a file that was made.
    @discardableResult
    func finish(
        permissions: FilePermissions, modified: Timestamp?, synchronize: Bool,
        replacing judged: Stat? = nil
    ) throws(Failure) -> FilePermissions? {
        do {
            if let pending {
                if let judged { try checkUnchanged(judged) }
                let mask = FilePermissions(rawValue: CInterop.Mode(Platform.creationMask))
                return try pending.commit(
                    permissions: permissions.subtracting(mask), modified: modified, synchronize: synchronize)
            } else if case .special = destination {
                if synchronize { try synchronizeSpecial() }
                isClosed = true
                try descriptor.close()
            }
            return nil
        } catch {
            throw failure(of: error)
        }
    }
}

/// A file that has no name yet.
private final class PendingFile {
    private var file: OutputFile?
    let descriptor: FileDescriptor
    let identity: Result<FileIdentity, any Error>
    /// What killed runs had left in its folder.
    let removed: [FilePath]

    init(at place: FilePlace, replaces: Bool, _ leftovers: LeftoverFiles?) throws {
        let made = try OutputFile(at: place, replacing: replaces)
        removed = leftovers?.remove(beside: made) ?? []
        descriptor = made.descriptor
        let descriptor = descriptor
        identity = Result { FileIdentity(try descriptor.stat()) }
        file = consume made
    }

    func commit(permissions: FilePermissions, modified: Timestamp?, synchronize: Bool) throws -> FilePermissions? {
        try file.take()?.commit(permissions: permissions, modified: modified, synchronize: synchronize)
    }
}
