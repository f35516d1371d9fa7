internal import CPlatform
package import SystemPackage
package import VaultFormat

#if canImport(Darwin)
import Darwin
#elseif canImport(Musl)
import Musl
#else
import Glibc
#endif

/// Every system call that this library makes, by name, and nothing else: the one seam where a test can make the system
/// fail. Each returns what the call returns and leaves `errno` as the call left it.
@safe package struct SystemCalls: Sendable {
    package var read: @Sendable (Int32, UnsafeMutableRawBufferPointer) -> Int = {
        #if canImport(Darwin)
        unsafe Darwin.read($0, $1.baseAddress, $1.count)
        #elseif canImport(Musl)
        unsafe Musl.read($0, $1.baseAddress, $1.count)
        #else
        unsafe Glibc.read($0, $1.baseAddress, $1.count)
        #endif
    }
    package var readAt: @Sendable (Int32, UnsafeMutableRawBufferPointer, Int64) -> Int = {
        unsafe pread($0, $1.baseAddress, $1.count, off_t($2))
    }
    package var write: @Sendable (Int32, UnsafeRawBufferPointer) -> Int = {
        #if canImport(Darwin)
        unsafe Darwin.write($0, $1.baseAddress, $1.count)
        #elseif canImport(Musl)
        unsafe Musl.write($0, $1.baseAddress, $1.count)
        #else
        unsafe Glibc.write($0, $1.baseAddress, $1.count)
        #endif
    }
    package var writeAt: @Sendable (Int32, UnsafeRawBufferPointer, Int64) -> Int = {
        unsafe pwrite($0, $1.baseAddress, $1.count, off_t($2))
    }
    /// Writes parts of a buffer, one behind the other.
    package var writePartsAt: @Sendable (Int32, UnsafeRawBufferPointer, ArraySlice<Range<Int>>, Int64) -> Int = {
        descriptor, bytes, parts, offset in
        let vectors = unsafe parts.map { part in
            let part = unsafe UnsafeRawBufferPointer(rebasing: bytes[part])
            return unsafe iovec(iov_base: UnsafeMutableRawPointer(mutating: part.baseAddress), iov_len: part.count)
        }
        return unsafe pwritev(descriptor, vectors, Int32(vectors.count), off_t(offset))
    }
    package var statusFlags: @Sendable (Int32) -> Int32 = { fcntl($0, F_GETFL) }
    /// How many bytes a pipe holds that can be read without waiting; -1 where that cannot be told.
    package var available: @Sendable (Int32) -> Int = { Int(vaultfile_available($0)) }
    /// Lets a pipe hold so many bytes at least, where the system has a call for that: writer and reader wait for one
    /// another less.
    package var enlargePipe: @Sendable (Int32, Int32) -> Void = { descriptor, count in
        #if os(Linux)
        // F_GETPIPE_SZ and F_SETPIPE_SZ, which the C library hides behind a feature macro.
        let present = fcntl(descriptor, 1032)
        if present != -1, present < count { _ = fcntl(descriptor, 1031, count) }
        #endif
    }
    package var truncate: @Sendable (Int32, Int64) -> Int32 = { ftruncate($0, off_t($1)) }
    /// Waits until a descriptor can be read or written, for so many milliseconds; -1 is for ever.
    package var wait: @Sendable (Int32, Int16, Int32) -> Int32 = { descriptor, events, time in
        var request = pollfd(fd: descriptor, events: events, revents: 0)
        return unsafe poll(&request, 1, time)
    }
    package var sync: @Sendable (Int32) -> Int32 = {
        #if canImport(Darwin)
        // On Darwin fsync leaves the bytes in the drive's cache.
        fcntl($0, F_FULLFSYNC) == 0 ? 0 : fsync($0)
        #else
        fsync($0)
        #endif
    }
    /// Drops what the system holds of a part of a file in its memory, where it is written: the next look is at the
    /// disk.
    package var forget: @Sendable (Int32, Int64, Int64) -> Int32 = { descriptor, offset, count in
        #if os(Linux) || os(FreeBSD) || os(Android)
        posix_fadvise(descriptor, off_t(offset), off_t(count), Int32(POSIX_FADV_DONTNEED))
        #else
        0
        #endif
    }
    package var lock: @Sendable (Int32, Int32) -> Int32 = { flock($0, $1) }
    /// Waits for so many milliseconds.
    package var pause: @Sendable (Int32) -> Int32 = { poll(nil, 0, $0) }
    package var setOwner: @Sendable (Int32, UInt32, UInt32) -> Int32 = { fchown($0, $1, $2) }
    package var setPermissions: @Sendable (Int32, CInterop.Mode) -> Int32 = { fchmod($0, $1) }
    package var setModified: @Sendable (Int32, Timestamp) -> Int32 = {
        vaultfile_set_modified($0, $1.seconds, Int($1.nanoseconds))
    }
    package var openAt: @Sendable (Int32, FilePath, Int32, CInterop.Mode) -> Int32 = { folder, path, flags, mode in
        unsafe path.withPlatformString { unsafe openat(folder, $0, flags, mode) }
    }
    package var linkAt: @Sendable (Int32, FilePath, Int32, FilePath, Int32) -> Int32 = { from, old, to, new, flags in
        unsafe old.withPlatformString { old in
            unsafe new.withPlatformString { unsafe linkat(from, old, to, $0, flags) }
        }
    }
    package var renameAt: @Sendable (Int32, FilePath, FilePath) -> Int32 = { folder, old, new in
        unsafe old.withPlatformString { old in
            unsafe new.withPlatformString { unsafe renameat(folder, old, folder, $0) }
        }
    }
    /// Fails with `EEXIST` where the new name is taken.
    package var renameExclusiveAt: @Sendable (Int32, FilePath, FilePath) -> Int32 = { folder, old, new in
        unsafe old.withPlatformString { old in
            unsafe new.withPlatformString { unsafe vaultfile_rename_exclusive(folder, old, $0) }
        }
    }
    package var unlinkAt: @Sendable (Int32, FilePath) -> Int32 = { folder, path in
        unsafe path.withPlatformString { unsafe unlinkat(folder, $0, 0) }
    }
    package var readLink: @Sendable (FilePath, UnsafeMutableBufferPointer<CChar>) -> Int = { path, buffer in
        guard let start = buffer.baseAddress else { return -1 }
        return unsafe path.withPlatformString { unsafe readlink($0, start, buffer.count) }
    }

    package var seek: @Sendable (Int32, Int64, Int32) -> Int64 = { Int64(lseek($0, off_t($1), $2)) }
    /// What a descriptor stands for.
    package var status: @Sendable (Int32) -> Result<FileStatus, Errno> = { descriptor in
        Result { () throws(Errno) in FileStatus(try Stat(FileDescriptor(rawValue: descriptor))) }
    }
    /// What a path leads to, from a folder on.
    package var statusAt: @Sendable (Int32, FilePath, _ followsLinks: Bool) -> Result<FileStatus, Errno> = {
        folder, path, followsLinks in
        Result { () throws(Errno) in
            FileStatus(
                try Stat(
                    path, relativeTo: FileDescriptor(rawValue: folder),
                    flags: followsLinks ? [] : .symlinkNoFollow))
        }
    }
    package var close: @Sendable (Int32) -> Int32 = {
        #if canImport(Darwin)
        Darwin.close($0)
        #elseif canImport(Musl)
        Musl.close($0)
        #else
        Glibc.close($0)
        #endif
    }

    /// How many processors this process may run on.
    package static var processorCount: Int { Int(vaultfile_processor_count()) }

    package init() {}

    /// The calls in force; a test puts others in their place for as long as it runs.
    @TaskLocal package static var current = SystemCalls()

    package static var errorNumber: Int32 { errno }
}

// MARK: What the calls are used for

/// Calls until the system was not interrupted by a signal.
@discardableResult
func retrying<R: SignedInteger>(_ call: () -> R) throws(Errno) -> R {
    while true {
        let result = call()
        guard result == -1 else { return result }
        let error = Errno(rawValue: SystemCalls.errorNumber)
        guard error == .interrupted else { throw error }
    }
}

extension FilePath {
    /// A path of these bytes, up to the first NUL.
    package init(bytes: [UInt8]) {
        unsafe self.init(platformString: bytes.map(CChar.init(bitPattern:)) + [0])
    }

    /// Its bytes, which need not be text.
    package var bytes: [UInt8] {
        unsafe withPlatformString { text in
            var bytes: [UInt8] = []
            while unsafe text[bytes.count] != 0 { bytes.append(UInt8(bitPattern: unsafe text[bytes.count])) }
            return bytes
        }
    }

    /// The path of what the last component leads to, links followed; folders on the way are left to the system.
    func followingLinks() throws(Errno) -> FilePath {
        var path = self
        // As many as Linux follows.
        for _ in 0..<40 {
            guard let target = try path.linkTarget() else { return path }
            path = target.isAbsolute ? target : path.removingLastComponent().pushing(target)
        }
        throw .tooManySymbolicLinkLevels
    }

    /// Where a symbolic link leads, by one step; nil if it is none.
    func linkTarget() throws(Errno) -> FilePath? {
        var buffer = [CChar](repeating: 0, count: Int(PATH_MAX) + 1)
        let count: Int
        do {
            count = try unsafe buffer.withUnsafeMutableBufferPointer { buffer throws(Errno) in
                let room = unsafe UnsafeMutableBufferPointer(rebasing: buffer.dropLast())
                return try retrying { unsafe SystemCalls.current.readLink(self, room) }
            }
        } catch {
            // Not a link, or nothing there.
            guard error == .invalidArgument || error == .noSuchFileOrDirectory else { throw error }
            return nil
        }
        // The buffer began as zeros and is one longer than what was asked for.
        return unsafe FilePath(platformString: [CChar](buffer.prefix(count)) + [0])
    }
}

/// Flags of `open` and its kin.
enum OpenFlags {
    /// Neither handed to other programs, nor taken as the controlling terminal.
    static let reading = O_RDONLY | O_CLOEXEC | O_NOCTTY
    /// Keeps reading from changing the access time.
    #if os(Linux)
    // O_NOATIME of every architecture that Swift runs on; the C library hides it behind a feature macro.
    static let quietly: Int32 = 0o1000000
    #else
    static let quietly: Int32 = 0
    #endif
    static let directory = O_RDONLY | O_DIRECTORY | O_CLOEXEC
    static let updating = O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC
    static let exclusive = O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC
    /// A file without a name, gone with the last descriptor unless it is given one; nil where there are none.
    static let nameless = vaultfile_open_nameless() == 0 ? nil : vaultfile_open_nameless() | O_RDWR | O_CLOEXEC
    static let followLinks = Int32(AT_SYMLINK_FOLLOW)
    static let currentDirectory = Int32(AT_FDCWD)
}
