public import SystemPackage
import VaultCrypto
public import VaultFormat

/// A file that appears under its name complete, or not at all.
///
/// It is written without a name where the system can do that, else as `.vaultfile-*` beside its place with mode 0600,
/// and gets its name by `commit`. Dropped before, it leaves nothing behind, and what stood under the name is untouched.
public struct OutputFile: ~Copyable {
    /// Where to write. Closed by `commit` or when the value is dropped.
    public let descriptor: FileDescriptor
    private let folder: FileDescriptor
    private let folderPath: FilePath
    private let name: FilePath
    private let isReplacing: Bool
    private var temporary: FilePath?

    /// Prepares a file at `path`, links followed.
    ///
    /// - Parameter isReplacing: whether a regular file that stands there is replaced by `commit`.
    /// - Throws: `VaultError` with `outputExists` if something stands there that is not to be replaced or is no regular
    ///   file; `outputFailed` if no file can be made there.
    public init(at path: FilePath, replacing isReplacing: Bool = false) throws(VaultError) {
        let target = try Self.followingLinks(path)
        guard let last = target.lastComponent, last.kind == .regular else {
            throw VaultError(.outputFailed, "the path does not name a file")
        }
        if let status = try? Stat(target, followTargetSymlink: false) {
            guard status.type == .regular else {
                throw VaultError(.outputExists, "what stands there is not a regular file")
            }
            guard isReplacing else { throw Self.exists }
        }
        let parent = target.removingLastComponent()
        let folderPath = parent.isEmpty ? "." : parent
        let folder = try Self.open(Self.currentFolder, folderPath, OpenFlags.directory)
        do throws(VaultError) {
            (descriptor, temporary) = try Self.create(in: folder)
        } catch {
            try? folder.close()
            throw error
        }
        self.folder = folder
        self.folderPath = folderPath
        name = FilePath(root: nil, [last])
        self.isReplacing = isReplacing
    }

    deinit {
        if let temporary { _ = SystemCalls.current.unlinkAt(folder.rawValue, temporary) }
        try? descriptor.close()
        try? folder.close()
    }

    /// The path of the temporary file, for a program that must remove it when a signal ends it; nil if there is none.
    /// `commit` may use one for a moment even so, when it replaces a file.
    public var temporaryPath: FilePath? { temporary.map { folderPath.pushing($0) } }

    /// Writes the next bytes.
    ///
    /// - Throws: `VaultError` with `outputFailed`.
    public func write(_ bytes: Span<UInt8>) throws(VaultError) {
        try descriptor.writeFully(bytes)
    }

    /// Gives the file its name, its permissions and its time.
    ///
    /// - Parameters:
    ///   - permissions: exactly these, whatever the umask.
    ///   - modified: the modification time; nil leaves the present one.
    ///   - synchronize: whether file and folder are durable when this returns.
    /// - Throws: `VaultError` with `outputExists` if something has come to stand under the name that is not to be
    ///   replaced; `outputFailed`. In either case nothing is left behind.
    public consuming func commit(
        permissions: FilePermissions = .ownerReadWrite, modified: Timestamp? = nil, synchronize: Bool = true
    ) throws(VaultError) {
        let calls = SystemCalls.current
        let file = descriptor.rawValue
        try Self.call("its mode cannot be set") { calls.setPermissions(file, permissions.rawValue) }
        if let modified { try Self.call("its time cannot be set") { calls.setModified(file, modified) } }
        if synchronize { try Self.call("it cannot be synced") { calls.sync(file) } }
        if isReplacing {
            try replace()
        } else {
            try appear()
        }
        if synchronize {
            let folder = folder.rawValue
            try Self.call("its folder cannot be synced") { calls.sync(folder) }
        }
    }

    /// Takes the name from whatever has it.
    private mutating func replace() throws(VaultError) {
        let calls = SystemCalls.current
        let (folder, name) = (folder.rawValue, name)
        let named: FilePath
        if let temporary {
            named = temporary
        } else {
            named = Self.temporaryName()
            try linkNameless(to: named)
            temporary = named
        }
        try Self.call("it cannot be renamed") { calls.renameAt(folder, named, name) }
        temporary = nil
    }

    /// Takes the name if nothing has it: a file that came to stand there meanwhile is left alone.
    private mutating func appear() throws(VaultError) {
        let calls = SystemCalls.current
        let (folder, name) = (folder.rawValue, name)
        guard let named = temporary else { return try linkNameless(to: name) }
        do {
            try retrying { calls.renameExclusiveAt(folder, named, name) }
            temporary = nil
        } catch  where error == .fileExists {
            throw Self.exists
        } catch {
            // A system or file system without that call: a hard link replaces nothing either.
            do {
                try retrying { calls.linkAt(folder, named, folder, name, 0) }
            } catch  where error == .fileExists {
                throw Self.exists
            } catch {
                throw Self.failed("it cannot be renamed", error)
            }
        }
    }

    private func linkNameless(to name: FilePath) throws(VaultError) {
        let calls = SystemCalls.current
        let (folder, source) = (folder.rawValue, Self.procPath(of: descriptor))
        do {
            try retrying { calls.linkAt(OpenFlags.currentDirectory, source, folder, name, OpenFlags.followLinks) }
        } catch  where error == .fileExists {
            throw Self.exists
        } catch {
            throw Self.failed("it cannot be given its name", error)
        }
    }

    // MARK: Making the file

    private static let currentFolder = FileDescriptor(rawValue: OpenFlags.currentDirectory)

    private static func create(in folder: FileDescriptor) throws(VaultError) -> (FileDescriptor, FilePath?) {
        if let flags = OpenFlags.nameless, let descriptor = try? open(folder, ".", flags, mode: .ownerReadWrite) {
            // It gets its name through /proc; without that it would never have one.
            if (try? Stat(procPath(of: descriptor), followTargetSymlink: false)) != nil { return (descriptor, nil) }
            try? descriptor.close()
        }
        let name = temporaryName()
        return (try open(folder, name, OpenFlags.exclusive, mode: .ownerReadWrite), name)
    }

    private static func open(
        _ folder: FileDescriptor, _ path: FilePath, _ flags: Int32, mode: FilePermissions = []
    ) throws(VaultError) -> FileDescriptor {
        let calls = SystemCalls.current
        do {
            return FileDescriptor(
                rawValue: try retrying { calls.openAt(folder.rawValue, path, flags, mode.rawValue) })
        } catch {
            throw failed("no file can be made in its folder", error)
        }
    }

    private static func temporaryName() -> FilePath {
        FilePath(".vaultfile-" + RandomBytes.array(count: 8).hexadecimal)
    }

    private static func procPath(of descriptor: FileDescriptor) -> FilePath {
        FilePath("/proc/self/fd/\(descriptor.rawValue)")
    }

    private static func followingLinks(_ path: FilePath) throws(VaultError) -> FilePath {
        var path = path
        // As many as Linux follows.
        for _ in 0..<40 {
            do {
                guard let target = try path.linkTarget() else { return path }
                path = target.isAbsolute ? target : path.removingLastComponent().pushing(target)
            } catch {
                throw failed("its path cannot be followed", error)
            }
        }
        throw failed("its path cannot be followed", .tooManySymbolicLinkLevels)
    }

    private static let exists = VaultError(.outputExists, "it exists already")

    private static func failed(_ what: String, _ error: Errno) -> VaultError {
        VaultError(.outputFailed, "\(what): \(error)", systemError: error.rawValue)
    }

    private static func call(_ failure: String, _ body: () -> Int32) throws(VaultError) {
        do {
            try retrying(body)
        } catch {
            throw failed(failure, error)
        }
    }
}
