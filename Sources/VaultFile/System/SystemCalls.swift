internal import CPlatform
package import SystemPackage
package import VaultFormat
package import VaultSystem

/// Every system call that this library makes, by name, and nothing else. Tests replace calls here to make the system
/// fail. Each closure returns what its call returns and leaves `errno` as the call left it.
@safe package struct SystemCalls: Sendable {
    package var read: @Sendable (Int32, UnsafeMutableRawBufferPointer) -> Int = {
        unsafe CPlatform.read($0, $1.baseAddress, $1.count)
    }
    package var readAt: @Sendable (Int32, UnsafeMutableRawBufferPointer, Int64) -> Int = {
        unsafe pread($0, $1.baseAddress, $1.count, off_t($2))
    }
    package var write: @Sendable (Int32, UnsafeRawBufferPointer) -> Int = {
        unsafe CPlatform.write($0, $1.baseAddress, $1.count)
    }
    package var writeAt: @Sendable (Int32, UnsafeRawBufferPointer, Int64) -> Int = {
        unsafe pwrite($0, $1.baseAddress, $1.count, off_t($2))
    }
    /// Writes parts of a buffer, one after the other.
    package var writePartsAt: @Sendable (Int32, UnsafeRawBufferPointer, ArraySlice<Range<Int>>, Int64) -> Int = {
        descriptor, bytes, parts, offset in
        let vectors = unsafe parts.map { part in
            let part = unsafe UnsafeRawBufferPointer(rebasing: bytes[part])
            return unsafe iovec(iov_base: UnsafeMutableRawPointer(mutating: part.baseAddress), iov_len: part.count)
        }
        return unsafe pwritev(descriptor, vectors, Int32(vectors.count), off_t(offset))
    }
    package var statusFlags: @Sendable (Int32) -> Int32 = { vaultfile_status_flags($0) }
    /// How many bytes of a pipe can be read without waiting; -1 if the system does not say.
    package var available: @Sendable (Int32) -> Int = { Int(vaultfile_available($0)) }
    /// Makes a pipe hold at least this many bytes, if the system has a call for that. Its writer and its reader then
    /// wait for each other less.
    package var enlargePipe: @Sendable (Int32, Int32) -> Void = { vaultfile_enlarge_pipe($0, $1) }
    package var truncate: @Sendable (Int32, Int64) -> Int32 = { ftruncate($0, off_t($1)) }
    /// Waits until a descriptor can be read or written, for at most this many milliseconds; -1 is for ever.
    package var wait: @Sendable (Int32, Int16, Int32) -> Int32 = { descriptor, events, time in
        var request = pollfd(fd: descriptor, events: events, revents: 0)
        return unsafe poll(&request, 1, time)
    }
    package var sync: @Sendable (Int32) -> Int32 = { vaultfile_synchronize($0) }
    /// Drops the system's copy in memory of a part of a file, once that part is on disk. The next read is from the
    /// disk.
    package var forget: @Sendable (Int32, Int64, Int64) -> Int32 = { descriptor, offset, count in
        #if os(Linux) || os(FreeBSD) || os(Android)
        posix_fadvise(descriptor, off_t(offset), off_t(count), Int32(POSIX_FADV_DONTNEED))
        #else
        0
        #endif
    }
    package var lock: @Sendable (Int32, Int32) -> Int32 = { flock($0, $1) }
    /// Waits for this many milliseconds.
    package var pause: @Sendable (Int32) -> Int32 = { poll(nil, 0, $0) }
    package var setOwner: @Sendable (Int32, UInt32, UInt32) -> Int32 = { fchown($0, $1, $2) }
    package var setPermissions: @Sendable (Int32, CInterop.Mode) -> Int32 = { fchmod($0, $1) }
    /// Sets the mode of the file with a name in a folder. A link is not followed.
    package var setPermissionsAt: @Sendable (Int32, FilePath, CInterop.Mode) -> Int32 = { folder, path, mode in
        unsafe path.withPlatformString { unsafe fchmodat(folder, $0, mode, Int32(AT_SYMLINK_NOFOLLOW)) }
    }
    package var setModified: @Sendable (Int32, Timestamp) -> Int32 = {
        vaultfile_set_modified($0, $1.seconds, Int($1.nanoseconds))
    }
    package var openAt: @Sendable (Int32, FilePath, Int32, CInterop.Mode) -> Int32 = {
        FileDescriptor.systemOpenAt($0, $1, $2, $3)
    }
    package var makeFolderAt: @Sendable (Int32, FilePath, CInterop.Mode) -> Int32 = { folder, path, mode in
        unsafe path.withPlatformString { unsafe mkdirat(folder, $0, mode) }
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
    /// Fails with `EEXIST` if the new name is taken.
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
    /// The status of an open file.
    package var status: @Sendable (Int32) -> Result<FileStatus, Errno> = { descriptor in
        Result { () throws(Errno) in FileStatus(try Stat(FileDescriptor(rawValue: descriptor))) }
    }
    /// The status of the file at a path, which begins in a folder.
    package var statusAt: @Sendable (Int32, FilePath, _ followsLinks: Bool) -> Result<FileStatus, Errno> = {
        folder, path, followsLinks in
        Result { () throws(Errno) in
            FileStatus(
                try Stat(
                    path, relativeTo: FileDescriptor(rawValue: folder),
                    flags: followsLinks ? [] : .symlinkNoFollow))
        }
    }
    /// The names in a folder, each with its kind if the listing gives it.
    package var forEachName: @Sendable (Int32, (_ name: [UInt8], EntryKind?) -> Void) -> Result<Void, Errno> = {
        folder, body in
        Result { () throws(Errno) in try FileDescriptor(rawValue: folder).forEachName(body) }
    }
    /// The user whose rights this process has.
    package var userID: @Sendable () -> UInt32 = { geteuid() }
    /// The size of a block device in bytes.
    package var deviceSize: @Sendable (Int32) -> Int64 = { vaultfile_device_size($0) }
    package var close: @Sendable (Int32) -> Int32 = {
        CPlatform.close($0)
    }

    // MARK: Keys that the kernel keeps for the user

    /// Makes a key of this name in the process's own keyring. Returns the key's number.
    package var addKey: @Sendable (String, UnsafeRawBufferPointer) -> Int = { name, bytes in
        unsafe vaultfile_key_add(name, bytes.baseAddress, bytes.count)
    }
    /// Ends a key after this many seconds.
    package var expireKey: @Sendable (Int, UInt32) -> Int = { vaultfile_key_expire($0, $1) }
    /// Lets the user's other processes find, read and end a key.
    package var shareKey: @Sendable (Int) -> Int = { vaultfile_key_share($0) }
    /// Puts a key into the user's keyring, in the place of one that has the same name.
    package var linkKey: @Sendable (Int) -> Int = { vaultfile_key_link($0) }
    /// The number of the key of this name in the user's keyring.
    package var findKey: @Sendable (String) -> Int = { unsafe vaultfile_key_find($0) }
    /// Whether an error means that there is no such key, or that it has ended.
    static func isGone(_ error: Errno) -> Bool { vaultfile_key_is_gone(error.rawValue) != 0 }
    /// Reads a key. Returns the number of its bytes, even if the buffer is shorter.
    package var readKey: @Sendable (Int, UnsafeMutableRawBufferPointer) -> Int = {
        unsafe vaultfile_key_read($0, $1.baseAddress, $1.count)
    }
    /// Reads the numbers of the keys in the user's keyring, four bytes each. Returns the number of all these bytes, even
    /// if the buffer is shorter.
    package var listKeys: @Sendable (UnsafeMutableRawBufferPointer) -> Int = {
        unsafe vaultfile_key_list($0.baseAddress, $0.count)
    }
    /// Describes a key: its type, owner, group and permissions, each with a semicolon behind it, its name, and NUL.
    /// Returns the number of the bytes, even if the buffer is shorter.
    package var describeKey: @Sendable (Int, UnsafeMutableRawBufferPointer) -> Int = {
        unsafe vaultfile_key_describe($0, $1.baseAddress, $1.count)
    }
    /// Takes a key out of the user's keyring.
    package var unlinkKey: @Sendable (Int) -> Int = { vaultfile_key_unlink($0) }
    /// Ends a key at once, for all processes.
    package var invalidateKey: @Sendable (Int) -> Int = { vaultfile_key_invalidate($0) }

    /// How many processors this process may run on.
    package static var processorCount: Int { Int(vaultfile_processor_count()) }

    /// - Returns: whether the system has agreed.
    static func forbidCoreDumps() -> Bool { vaultfile_forbid_dumps() == 0 }

    package init() {}

    /// The calls that this task makes. A test replaces them while it runs.
    @TaskLocal package static var current = SystemCalls()

    package static var errorNumber: Int32 { vaultfile_error_number() }
}

// MARK: Using the calls

extension FilePath {
    /// The path after links in its last component are followed. The system follows links in the folders before it.
    func followingLinks() throws(Errno) -> FilePath {
        var path = self
        // Linux follows as many.
        for _ in 0..<40 {
            guard let target = try path.linkTarget() else { return path }
            path = target.isAbsolute ? target : path.removingLastComponent().pushing(target)
        }
        throw .tooManySymbolicLinkLevels
    }

    /// The target of a symbolic link, not followed further; nil if the path is not a link.
    func linkTarget() throws(Errno) -> FilePath? {
        var buffer = [CChar](repeating: 0, count: Int(PATH_MAX) + 1)
        let count: Int
        do {
            count = try unsafe buffer.withUnsafeMutableBufferPointer { buffer throws(Errno) in
                let room = unsafe UnsafeMutableBufferPointer(rebasing: buffer.dropLast())
                return try retrying { unsafe SystemCalls.current.readLink(self, room) }
            }
        } catch {
            // It is not a link, or does not exist.
            guard error == .invalidArgument || error == .noSuchFileOrDirectory else { throw error }
            return nil
        }
        // The buffer began as zeros and is one byte longer than the call was told.
        return unsafe FilePath(platformString: [CChar](buffer.prefix(count)) + [0])
    }
}

/// Flags for `open`, `openat` and `linkat`.
enum OpenFlags {
    static let directory = O_RDONLY | O_DIRECTORY | O_CLOEXEC
    static let reading = O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC
    static let updating = O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC
    static let exclusive = O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC
    /// Makes a file without a name. It is gone with its last descriptor, unless it gets a name first. Nil if the system
    /// has no such files.
    static let nameless = vaultfile_open_nameless() == 0 ? nil : vaultfile_open_nameless() | O_RDWR | O_CLOEXEC
    static let followLinks = Int32(AT_SYMLINK_FOLLOW)
    static let currentDirectory = Int32(AT_FDCWD)
}
