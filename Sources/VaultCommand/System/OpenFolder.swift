internal import SystemPackage
internal import VaultFile

/// A folder that is held open: what is in it is reached from here, whatever becomes of the path that led to it.
final class OpenFolder: Sendable {
    /// What a folder says of a name without looking at what it stands for.
    enum Kind: Sendable {
        case folder, regular, other
    }

    private let descriptor: FileDescriptor
    let identity: FileIdentity

    private init(_ descriptor: FileDescriptor) throws(Errno) {
        self.descriptor = descriptor
        do {
            identity = FileIdentity(try descriptor.stat())
        } catch {
            try? descriptor.close()
            throw error
        }
    }

    /// Opens a folder that a person named; a link to one is followed.
    convenience init(at path: FilePath) throws {
        try self.init(try FileDescriptor.openForReading(path, .folder))
    }

    deinit {
        try? descriptor.close()
    }

    /// The folder of that name in this one, or `..`; no link is followed.
    func folder(_ name: [UInt8]) throws -> OpenFolder {
        try OpenFolder(try FileDescriptor.openForReading(FilePath(bytes: name), in: descriptor, .folder))
    }

    /// Opens a file of this folder for reading; no link is followed, and a pipe is not waited for.
    func file(_ name: [UInt8]) throws -> FileDescriptor {
        try FileDescriptor.openForReading(FilePath(bytes: name), in: descriptor, .storage)
    }

    /// Where a file of this folder is, for as long as this folder is held open.
    func place(_ name: [UInt8]) -> FilePlace {
        .name(FilePath(bytes: name), in: descriptor)
    }

    /// What stands in this folder under the name, a link as itself.
    func stat(_ name: [UInt8]) throws(Errno) -> Stat {
        try Stat(FilePath(bytes: name), relativeTo: descriptor, flags: .symlinkNoFollow)
    }

    /// Asks whether this folder takes names, or whether a file of it may be changed.
    func checkWritable(_ name: [UInt8] = [UInt8(ascii: ".")]) throws(Errno) {
        try Platform.checkWritable(FilePath(bytes: name), in: descriptor)
    }

    /// Removes a name from this folder.
    func remove(_ name: [UInt8]) throws(Errno) {
        try Platform.remove(FilePath(bytes: name), in: descriptor)
    }

    /// Lends each name in this folder but `.` and `..`, in the order of the file system.
    func forEachName(_ body: ([UInt8], Kind) -> Void) throws(Errno) {
        try Platform.forEachName(in: descriptor) { name, kind in body(name, kind ?? self.kind(of: name)) }
    }

    /// Not all file systems say in a listing what a name stands for.
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
