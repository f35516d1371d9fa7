public import SystemPackage
import VaultCrypto
import VaultFormat

#if canImport(Darwin)
import Darwin
#elseif canImport(Musl)
import Musl
#else
import Glibc
#endif

/// Bytes that can be read from any place: a file, memory, an object in a store.
///
/// The size and the bytes are one version of one object: a source over a network pins it.
public protocol ByteSource: Sendable {
    /// The number of bytes there are.
    func size() throws -> UInt64

    /// Reads at most as many bytes as the buffer holds, and returns how many; 0 only at the end. May be called from
    /// several tasks at once.
    func read(at offset: UInt64, into buffer: inout MutableSpan<UInt8>) throws -> Int

    /// Runs `body` while nobody rotates the keys of the container, and says whether that is so. Where there is no lock,
    /// the default, a reader looks again until two looks agree.
    func withSharedLock<R>(_ body: (_ isLocked: Bool) throws -> R) throws -> R
}

extension ByteSource {
    /// No lock.
    public func withSharedLock<R>(_ body: (_ isLocked: Bool) throws -> R) throws -> R {
        try body(false)
    }

    /// The bytes from a place on, fewer than asked for only where the source ends.
    func bytes(at offset: UInt64, count: Int) throws -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: count)
        let filled = try fill(&bytes, 0..<count, at: offset)
        return filled < count ? [UInt8](bytes.prefix(filled)) : bytes
    }

    /// Fills a part of `bytes`, however many reads that takes, and returns how many bytes there were.
    func fill(_ bytes: inout [UInt8], _ part: Range<Int>, at offset: UInt64) throws -> Int {
        var filled = 0
        while filled < part.count {
            let rest = part.dropFirst(filled)
            let more = try bytes.withMutableSpan(of: rest) { try read(at: offset + UInt64(filled), into: &$0) }
            guard (0...rest.count).contains(more) else {
                throw VaultError(.inputFailed, "the source says that it has read \(more) bytes of \(rest.count)")
            }
            guard more > 0 else { break }
            filled += more
        }
        return filled
    }
}

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

    /// Opens the file at a place.
    package init(at place: FilePlace) throws(VaultError) {
        do throws(Errno) {
            switch place {
            case .path(let path): descriptor = try .openForReading(path, .storage)
            case .entry(let folder, _, let name): descriptor = try .openForReading(name, in: folder, .storage)
            }
        } catch {
            throw VaultError(.inputFailed, "it cannot be opened: \(error)", systemError: error.rawValue)
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
                .inputFailed, "the file's length cannot be told: \(error)", systemError: error.rawValue)
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

/// A container that is in memory.
public struct MemorySource: ByteSource {
    private let bytes: [UInt8]

    /// The container's bytes.
    public init(_ bytes: [UInt8]) {
        self.bytes = bytes
    }

    /// The number of bytes.
    public func size() -> UInt64 { UInt64(bytes.count) }

    /// Copies from a place in the bytes.
    public func read(at offset: UInt64, into buffer: inout MutableSpan<UInt8>) -> Int {
        guard offset < UInt64(bytes.count) else { return 0 }
        let start = Int(offset)
        let count = min(buffer.count, bytes.count - start)
        buffer.replace(at: 0, with: bytes.span.extracting(start..<start + count))
        return count
    }
}

extension ByteSource {
    /// Makes `bytes` at least `count` long and fills so many of them.
    ///
    /// - Returns: why that cannot be, where it is the medium that fails or ends; nil where it was done.
    /// - Throws: every other error of the source.
    func fill(_ bytes: inout [UInt8], exactly count: Int, at offset: UInt64) throws -> VaultError? {
        if bytes.count < count { bytes += [UInt8](repeating: 0, count: count - bytes.count) }
        do {
            guard try fill(&bytes, 0..<count, at: offset) == count else {
                return VaultError(.truncated, "the file has become shorter", offset: offset)
            }
            return nil
        } catch let error as VaultError where error.code == .inputFailed {
            return error
        }
    }
}
