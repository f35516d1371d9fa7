import Synchronization
public import SystemPackage
import VaultFormat
package import VaultSystem

/// A regular file or a block device. Its offset does not move.
public final class FileSource: ByteSource {
    /// What prevents other programs from rotating the file's keys while its headers are read.
    package enum Locking: Sendable {
        /// This source takes a shared `flock` while it reads them.
        case takesShared
        /// The caller holds a lock on the descriptor. A `flock` belongs to the open file: a shared lock would replace
        /// the caller's exclusive lock, and its release would leave the caller without a lock.
        case heldByCaller
        /// No lock is held or taken: nothing is decided by what is read.
        case none
    }

    private let descriptor: FileDescriptor
    private let isOwner: Bool
    private let locking: Locking
    private let onWaiting: @Sendable () -> Void
    /// Whether a wait for the lock has ended without the lock. Later readings of the headers do not wait again.
    private let hasGivenUp = Atomic(false)

    /// Reads a file that is open for reading. The caller closes it after the last use of this source.
    ///
    /// - Parameters:
    ///   - descriptor: a regular file or a block device. The program must not hold a `flock` on it: this source takes a
    ///     shared one while it reads the headers, and then releases it.
    ///   - onWaiting: called on the reading thread before it waits for a lock that another program holds, at most once
    ///     for each opening. The wait ends after two seconds. Then the headers are read without a lock.
    public convenience init(_ descriptor: FileDescriptor, onWaiting: @escaping @Sendable () -> Void = {}) {
        self.init(descriptor, locking: .takesShared, onWaiting: onWaiting)
    }

    package init(
        _ descriptor: FileDescriptor, locking: Locking, onWaiting: @escaping @Sendable () -> Void = {}
    ) {
        self.descriptor = descriptor
        self.locking = locking
        self.onWaiting = onWaiting
        isOwner = false
    }

    /// Opens a file, which is closed when the last reference to this source goes. A pipe is refused at once.
    ///
    /// - Parameters:
    ///   - path: of a regular file or a block device.
    ///   - onWaiting: as for a descriptor.
    /// - Throws: `VaultError` with `inputFailed` if it cannot be opened (``VaultError/systemError`` says why), or is
    ///   neither a regular file nor a block device.
    public convenience init(
        at path: FilePath, onWaiting: @escaping @Sendable () -> Void = {}
    ) throws(VaultError) {
        try self.init(at: .path(path), onWaiting: onWaiting)
    }

    /// Opens the file at a place.
    ///
    /// - Throws: as for a path.
    public convenience init(
        at place: FilePlace, onWaiting: @escaping @Sendable () -> Void = {}
    ) throws(VaultError) {
        try self.init(at: place, locking: .takesShared, onWaiting: onWaiting)
    }

    init(
        at place: FilePlace, locking: Locking, onWaiting: @escaping @Sendable () -> Void = {}
    ) throws(VaultError) {
        do throws(Errno) {
            switch place {
            case .path(let path): descriptor = try .openToRead(path, .storage)
            case .name(let name, in: let folder): descriptor = try .openToRead(name, in: folder, .storage)
            }
        } catch {
            throw VaultError(.inputFailed, "it cannot be opened: \(error)", systemError: error)
        }
        self.locking = locking
        self.onWaiting = onWaiting
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
    /// - Throws: `VaultError` with `inputFailed` if the system cannot tell it, or if the file is neither a regular file
    ///   nor a block device.
    public func size() throws -> UInt64 {
        let status = try status()
        switch status.kind {
        case .regular: return status.size
        case .blockDevice:
            return try Self.telling { () throws(Errno) in
                UInt64(clamping: try descriptor.deviceSize())
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
                .inputFailed, "the file's length cannot be determined: \(error)", systemError: error)
        }
    }

    /// The identity of the open file. While it is open, no other file gets the same.
    ///
    /// - Throws: `inputFailed`.
    package func identity() throws(VaultError) -> FileIdentity { try descriptor.identity() }

    /// How many names (hard links) the file has.
    func linkCount() throws(Errno) -> Int {
        try descriptor.status().linkCount
    }

    private static let noStorage = VaultError(
        .inputFailed, "it is not a regular file, and cannot be read from any place")

    /// Reads bytes from `offset` on, at most as many as the buffer holds.
    ///
    /// - Returns: the count of bytes that were read; 0 at the end of the file.
    /// - Throws: `VaultError` with `inputFailed`.
    public func read(at offset: UInt64, into buffer: inout MutableSpan<UInt8>) throws -> Int {
        try descriptor.readSome(at: offset, into: &buffer)
    }

    /// Runs `body` under a shared `flock`, if the file system has locks and no other program keeps the file locked
    /// for two seconds (SEEK-19).
    ///
    /// - Throws: what `body` throws.
    public func withSharedLock<R>(_ body: (_ isLocked: Bool) throws -> R) throws -> R {
        guard locking == .takesShared else { return try body(locking == .heldByCaller) }
        let attempts = hasGivenUp.load(ordering: .relaxed) ? 1 : LockPatience.attempts
        let isLocked = try descriptor.lockShared(attempts: attempts, onWaiting: onWaiting)
        defer { if isLocked { descriptor.unlock() } }
        if !isLocked { hasGivenUp.store(true, ordering: .relaxed) }
        return try body(isLocked)
    }
}
