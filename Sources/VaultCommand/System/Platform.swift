internal import CPlatform
internal import SystemPackage
internal import VaultFile
internal import VaultSystem

/// The few system calls that SystemPackage does not offer.
enum Platform {
    /// The mode bits that this process removes from new files. Reading the mask means setting it for a moment, so it is
    /// read once, before another thread could create a file with the wrong mode.
    static let creationMask: UInt16 = {
        let mask = umask(0o077)
        _ = umask(mask)
        return UInt16(truncatingIfNeeded: mask)
    }()

    /// Fills those of the descriptors 0, 1 and 2 that the caller closed. Otherwise a file that is opened later could
    /// become standard error, and messages would be written into it. Reads and writes on the fillers fail.
    static func holdStandardDescriptors() {
        for (number, mode) in [(Int32(0), O_WRONLY), (1, O_RDONLY), (2, O_RDONLY)]
        where vaultfile_status_flags(number) < 0 {
            // `open` returns the lowest free number. The lower ones are taken, so it is this one.
            _ = unsafe vaultfile_open_at(AT_FDCWD, "/dev/null", mode, 0)
        }
    }

    /// Ends the process at once. All output must have been written and closed.
    static func exit(_ status: Int32) -> Never {
        _exit(status)
    }

    /// Whether the descriptor is a terminal.
    static func isTerminal(_ descriptor: FileDescriptor) -> Bool {
        isatty(descriptor.rawValue) == 1
    }

    /// Whether a person types standard input and sees standard output.
    static var isDialogue: Bool { isTerminal(.standardInput) && isTerminal(.standardOutput) }

    /// Makes sure that child processes do not inherit a descriptor.
    static func closeOnExec(_ descriptor: FileDescriptor) {
        vaultfile_close_on_exec(descriptor.rawValue)
    }

    /// Checks that a folder accepts new files, or that a file may be changed.
    ///
    /// - Parameter folder: What a relative path begins at, if not at the working folder.
    static func checkWritable(_ path: FilePath, in folder: FileDescriptor? = nil) throws(Errno) {
        let start = folder?.rawValue ?? AT_FDCWD
        try retrying { unsafe path.withPlatformString { unsafe faccessat(start, $0, W_OK, 0) } }
    }

    /// Removes a name.
    ///
    /// - Parameter folder: What a relative path begins at, if not at the working folder.
    static func remove(_ path: FilePath, in folder: FileDescriptor? = nil) throws(Errno) {
        let start = folder?.rawValue ?? AT_FDCWD
        try retrying { unsafe path.withPlatformString { unsafe unlinkat(start, $0, 0) } }
    }

    /// Cuts a file to no bytes. A link is not followed.
    static func empty(_ path: FilePath, in folder: FileDescriptor) throws(Errno) {
        let flags = O_WRONLY | O_TRUNC | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC
        let file = try retrying {
            unsafe path.withPlatformString { unsafe vaultfile_open_at(folder.rawValue, $0, flags, 0) }
        }
        close(file)
    }

    /// Makes a folder.
    ///
    /// - Parameter folder: What a relative path begins at, if not at the working folder.
    static func makeFolder(
        _ path: FilePath, _ permissions: FilePermissions, in folder: FileDescriptor? = nil
    ) throws(Errno) {
        let start = folder?.rawValue ?? AT_FDCWD
        try retrying { unsafe path.withPlatformString { unsafe mkdirat(start, $0, permissions.rawValue) } }
    }

    /// Creates a folder and the missing folders above it, with mode 0700, and makes their names durable.
    static func makeFolders(_ path: FilePath) throws(Errno) {
        guard !path.isEmpty, (try? path.stat()) == nil else { return }
        let parent = path.removingLastComponent()
        if parent != path { try makeFolders(parent) }
        do {
            try makeFolder(path, .ownerReadWriteExecute)
        } catch .fileExists {
            // Another process has created it meanwhile.
            return
        }
        let folder = try FileDescriptor.openForReading(parent.isEmpty ? "." : parent, .folder)
        try OpenFolder(folder).synchronize()
    }

    /// The present time of the clock that gives files their times.
    static var now: Timestamp {
        let time = vaultfile_now()
        let nanoseconds = UInt32(truncatingIfNeeded: vaultfile_nanoseconds(time))
        return Timestamp(seconds: vaultfile_seconds(time), nanoseconds: nanoseconds) ?? .now
    }

    /// Waits.
    static func pause(_ time: Duration) {
        _ = poll(nil, 0, Int32(min(time / .milliseconds(1), 60_000)))
    }

    /// The value of an environment variable; nil if it is not set.
    static func environment(_ name: String) -> [UInt8]? {
        unsafe bytes(of: getenv(name))
    }

    /// The bytes of a C string; nil if the pointer is null.
    static func bytes(of text: UnsafeMutablePointer<CChar>?) -> [UInt8]? {
        guard let text = unsafe text else { return nil }
        return unsafe [UInt8](UnsafeRawBufferPointer(start: text, count: strlen(text)))
    }

    /// The path without links, `.` and `..`; nil if it does not exist.
    static func resolved(_ path: FilePath) -> FilePath? {
        unsafe path.withPlatformString { path in
            guard let found = unsafe realpath(path, nil) else { return nil }
            defer { unsafe free(found) }
            return unsafe FilePath(platformString: found)
        }
    }

    /// The options of every open: child processes do not inherit the file, and a terminal does not become the
    /// controlling one.
    static var openOptions: FileDescriptor.OpenOptions {
        [.closeOnExec, FileDescriptor.OpenOptions(rawValue: O_NOCTTY)]
    }
}

extension Stat {
    /// Whether the file stores its bytes. Writing to such a file while it is read destroys it.
    var isStorage: Bool { type == .regular || type == .blockSpecial }

    /// The permission bits without the set-ID and sticky bits.
    var plainPermissions: FilePermissions { FilePermissions(rawValue: permissions.rawValue & 0o777) }

    /// Whether others than the owner may read the file.
    var othersCanRead: Bool { !permissions.isDisjoint(with: [.groupRead, .otherRead]) }
}
