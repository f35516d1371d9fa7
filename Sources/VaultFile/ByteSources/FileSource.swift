public import SystemPackage
import VaultFormat

#if canImport(Darwin)
import Darwin
#elseif canImport(Musl)
import Musl
#else
import Glibc
#endif

/// A regular file, read without moving its offset, or a block device.
public final class FileSource: ByteSource {
    /// Who sees to it that nobody rotates the file's keys while its header is read.
    package enum Locking: Sendable {
        /// This source takes a shared `flock` for the moment.
        case takesShared
        /// The caller holds a lock of his own on the descriptor. A `flock` belongs to the open file: taking a shared
        /// one here would turn his exclusive one into it, and giving it back would leave him with none.
        case heldByCaller
    }

    private let descriptor: FileDescriptor
    private let isOwner: Bool
    private let locking: Locking

    /// A file that is open for reading. Whoever opened it closes it, after the last use of this source.
    ///
    /// - Parameter descriptor: a regular file or a block device on which the program holds no `flock`; a shared one is
    ///   taken for moments.
    public convenience init(_ descriptor: FileDescriptor) {
        self.init(descriptor, locking: .takesShared)
    }

    package init(_ descriptor: FileDescriptor, locking: Locking) {
        self.descriptor = descriptor
        self.locking = locking
        isOwner = false
    }

    /// Opens a file; it is closed when the last owner of this source lets go of it. A pipe is refused at once, and not
    /// waited for.
    ///
    /// - Throws: `VaultError` with `inputFailed`, also if it is neither a regular file nor a block device.
    public convenience init(at path: FilePath) throws(VaultError) {
        try self.init(at: .path(path))
    }

    /// Opens the file at a place, as for a path.
    public init(at place: FilePlace) throws(VaultError) {
        do throws(Errno) {
            switch place {
            case .path(let path): descriptor = try .openForReading(path, .storage)
            case .name(let name, in: let folder): descriptor = try .openForReading(name, in: folder, .storage)
            }
        } catch {
            throw VaultError(.inputFailed, "it cannot be opened: \(error)", systemError: error)
        }
        locking = .takesShared
        isOwner = true
        switch try status().kind {
        case .regular, .blockDevice: return
        case .folder, .link, .other: throw Self.noStorage
        }
    }

    deinit {
        if isOwner { descriptor.closeQuietly() }
    }

    /// The file's length in bytes.
    ///
    /// - Throws: `VaultError` with `inputFailed` if it is neither a regular file nor a block device.
    public func size() throws -> UInt64 {
        let status = try status()
        switch status.kind {
        case .regular: return status.size
        case .blockDevice:
            return try Self.telling { () throws(Errno) in
                UInt64(clamping: try descriptor.move(to: 0, from: SEEK_END))
            }
        case .folder, .link, .other: throw Self.noStorage
        }
    }

    private func status() throws(VaultError) -> FileStatus {
        try Self.telling { () throws(Errno) in try descriptor.status() }
    }

    private static func telling<R>(_ body: () throws(Errno) -> R) throws(VaultError) -> R {
        do {
            return try body()
        } catch {
            throw VaultError(
                .inputFailed, "the file's length cannot be told: \(error)", systemError: error)
        }
    }

    /// How many names the file has.
    func linkCount() throws(Errno) -> Int {
        try descriptor.status().linkCount
    }

    private static let noStorage = VaultError(
        .inputFailed, "it is not a regular file, and cannot be read from any place")

    /// Reads from a place in the file.
    ///
    /// - Throws: `VaultError` with `inputFailed`.
    public func read(at offset: UInt64, into buffer: inout MutableSpan<UInt8>) throws -> Int {
        try descriptor.readSome(at: offset, into: &buffer)
    }

    /// Runs `body` under a shared `flock`, where the file system has one (SEEK-19).
    public func withSharedLock<R>(_ body: (_ isLocked: Bool) throws -> R) throws -> R {
        switch locking {
        case .takesShared: try descriptor.withSharedLock(body)
        case .heldByCaller: try body(true)
        }
    }
}
