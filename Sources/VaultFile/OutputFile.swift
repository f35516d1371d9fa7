public import SystemPackage
import VaultCrypto
public import VaultFormat

/// A file that appears under its name complete, or not at all.
///
/// It is written without a name where the system can do that, else as `.vaultfile-*` beside its place with mode 0600,
/// and gets its name by `commit`. Dropped before, it leaves nothing behind, and what stood under the name is untouched.
///
/// It does not know what is written to it: finish a `VaultWriter` before you commit its file, or take `Vault.write`, which
/// does both.
public struct OutputFile: ~Copyable {
    /// Where to write. Closed by `commit` or when the value is dropped.
    public let descriptor: FileDescriptor
    private let folder: FileDescriptor
    private let folderPath: FilePath
    private let name: FilePath
    private let isReplacing: Bool
    private var temporary: FilePath?

    /// Prepares a file at `path`.
    ///
    /// - Parameter isReplacing: whether a regular file that stands there, or that links lead to from there, is replaced
    ///   by `commit`.
    /// - Throws: `VaultError` with `outputExists` if something stands there that is not to be replaced or is no regular
    ///   file, a link that leads nowhere included; `outputFailed` if no file can be made there.
    public init(at path: FilePath, replacing isReplacing: Bool = false) throws(VaultError) {
        var target = path
        if let status = try? Stat(path, followTargetSymlink: false) {
            guard isReplacing else { throw Self.exists }
            // A link that leads nowhere is not followed: whoever made it would choose where the file comes to stand.
            guard let status = status.type == .symbolicLink ? try? Stat(path) : status, status.type == .regular else {
                throw VaultError(.outputExists, "what stands there is not a regular file")
            }
            target = try Self.followingLinks(path)
        }
        guard let last = target.lastComponent, last.kind == .regular else {
            throw VaultError(.outputFailed, "the path does not name a file")
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
        if let temporary { _ = try? retrying { SystemCalls.current.unlinkAt(folder.rawValue, temporary) } }
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
    ///   replaced; `outputFailed`. Nothing is left behind then, and what stood there is untouched; but if only the
    ///   folder cannot be synced, the file stands complete under its name and may be gone after a power failure.
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
        if synchronize { try Self.syncFolder(folder) }
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
            return
        } catch {
            guard error != .fileExists else { throw Self.exists }
            guard Self.isMissingCall(error) else { throw Self.failed("it cannot be renamed", error) }
        }
        // A hard link replaces nothing either. The old name goes before the folder is synced, or a crash could leave both.
        do {
            try retrying { calls.linkAt(folder, named, folder, name, 0) }
        } catch {
            throw error == .fileExists ? Self.exists : Self.failed("it cannot be renamed", error)
        }
        try Self.call("its temporary name cannot be removed") { calls.unlinkAt(folder, named) }
        temporary = nil
    }

    private func linkNameless(to name: FilePath) throws(VaultError) {
        let calls = SystemCalls.current
        let (folder, source) = (folder.rawValue, Self.procPath(of: descriptor))
        do {
            try retrying { calls.linkAt(OpenFlags.currentDirectory, source, folder, name, OpenFlags.followLinks) }
        } catch {
            throw error == .fileExists ? Self.exists : Self.failed("it cannot be given its name", error)
        }
    }

    /// Some file systems have nothing to sync in a folder and say so by an error.
    private static func syncFolder(_ folder: FileDescriptor) throws(VaultError) {
        do {
            try folder.synchronize()
        } catch {
            guard isMissingCall(error) else { throw failed("its folder cannot be synced", error) }
        }
    }

    private static func isMissingCall(_ error: Errno) -> Bool {
        [.noFunction, .invalidArgument, .notSupported, .notSupportedOnSocket].contains(error)
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
