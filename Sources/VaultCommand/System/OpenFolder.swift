internal import SystemPackage
internal import VaultFile
internal import VaultSystem

/// An open folder. Its files are reached through its descriptor, so replacing a part of its path by a link cannot
/// redirect the program.
final class OpenFolder: Sendable {
    typealias Kind = EntryKind

    private let descriptor: FileDescriptor
    let identity: FileIdentity
    /// Its mode when it was opened.
    let permissions: FilePermissions

    /// Takes over the descriptor of a folder.
    init(_ descriptor: FileDescriptor) throws(Errno) {
        self.descriptor = descriptor
        do {
            let stat = try descriptor.stat()
            identity = FileIdentity(stat)
            permissions = stat.plainPermissions
        } catch {
            try? descriptor.close()
            throw error
        }
    }

    /// Opens a folder that the user named. A link to a folder is followed.
    convenience init(at path: FilePath) throws {
        try self.init(try FileDescriptor.openForReading(path, .folder))
    }

    deinit {
        try? descriptor.close()
    }

    /// Opens the folder with this name in this one, or `..`. A link is not followed.
    func folder(_ name: [UInt8]) throws -> OpenFolder {
        try OpenFolder(try FileDescriptor.openForReading(FilePath(bytes: name), in: descriptor, .folder))
    }

    /// Whether this folder is another one or is somewhere in it.
    func isBelow(orEqualTo other: FileIdentity) throws -> Bool {
        var here = self
        while here.identity != other {
            let parent = try here.folder(Array("..".utf8))
            guard parent != here else { return false }
            here = parent
        }
        return true
    }

    /// Makes a folder in this one. Does nothing if another program has just made it.
    ///
    /// - Parameter permissions: Its mode, without what the process's mask removes.
    func makeFolder(_ name: [UInt8], _ permissions: FilePermissions) throws(Errno) {
        do {
            try Platform.makeFolder(FilePath(bytes: name), permissions, in: descriptor)
        } catch .fileExists {
            return
        }
    }

    /// Opens a file of this folder for reading. A link is not followed, and a pipe does not make it wait.
    func file(_ name: [UInt8]) throws -> FileDescriptor {
        try FileDescriptor.openForReading(FilePath(bytes: name), in: descriptor, .storage)
    }

    /// Lends its descriptor.
    func withDescriptor<R>(_ body: (FileDescriptor) throws -> R) rethrows -> R {
        try withExtendedLifetime(self) { try body(descriptor) }
    }

    /// The place of a file in this folder. Valid only while this folder is open.
    func place(_ name: [UInt8]) -> FilePlace {
        .name(FilePath(bytes: name), in: descriptor)
    }

    /// The status of the entry with this name. A link is not followed.
    func stat(_ name: [UInt8]) throws(Errno) -> Stat {
        try Stat(FilePath(bytes: name), relativeTo: descriptor, flags: .symlinkNoFollow)
    }

    /// Checks that this folder accepts new files, or that the file `name` in it may be changed.
    func checkWritable(_ name: [UInt8] = [UInt8(ascii: ".")]) throws(Errno) {
        try Platform.checkWritable(FilePath(bytes: name), in: descriptor)
    }

    /// Removes the entry `name`.
    func remove(_ name: [UInt8]) throws(Errno) {
        try Platform.remove(FilePath(bytes: name), in: descriptor)
    }

    /// Makes new and removed names durable. Some file systems cannot sync folders, and report that as an error, which
    /// is ignored.
    func synchronize() throws(Errno) {
        do {
            try descriptor.synchronize()
        } catch {
            guard error.isMissingCall else { throw error }
        }
    }

    /// Calls `body` for each entry except `.` and `..`, in the order of the file system.
    func forEachName(_ body: ([UInt8], Kind) -> Void) throws(Errno) {
        try descriptor.forEachName { name, kind in body(name, kind ?? self.kind(of: name)) }
    }

    /// The kind of an entry, for file systems whose listings do not give it.
    private func kind(of name: [UInt8]) -> Kind {
        switch try? stat(name).type {
        case .directory: .folder
        case .regular: .regular
        default: .other
        }
    }
}

extension OpenFolder: Equatable {
    static func == (one: OpenFolder, other: OpenFolder) -> Bool { one.identity == other.identity }
}
