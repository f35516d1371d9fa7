internal import CPlatform
internal import SystemPackage
internal import VaultFile

#if canImport(Darwin)
@unsafe @preconcurrency internal import Darwin
#elseif canImport(Musl)
@unsafe @preconcurrency internal import Musl
#else
@unsafe @preconcurrency internal import Glibc
#endif

/// The few calls that SystemPackage has no name for.
enum SystemCalls {
    /// The mode bits that this process takes from new files. The only way to read it is to set it, so it is read
    /// once, while there is no other thread that could make a file in between.
    static let creationMask: UInt16 = {
        let mask = umask(0o077)
        _ = umask(mask)
        return UInt16(truncatingIfNeeded: mask)
    }()

    /// Makes sure that no file can be opened as standard input, output or error where the caller closed one of them:
    /// a message would be written into it. What is put there fails when it is used.
    static func holdStandardDescriptors() {
        for (number, mode) in [(Int32(0), O_WRONLY), (1, O_RDONLY), (2, O_RDONLY)] where fcntl(number, F_GETFD) < 0 {
            // `open` gives the lowest free number, which is this one: those below are held by now.
            _ = unsafe open("/dev/null", mode)
        }
    }

    /// Keeps the memory of this process out of core dumps: a passphrase passes through stacks that nobody guards.
    static func forbidCoreDumps() {
        vaultfile_forbid_dumps()
    }

    /// Ends the process, after everything was written and closed.
    static func exit(_ status: Int32) -> Never {
        _exit(status)
    }

    /// Whether the descriptor is a terminal.
    static func isTerminal(_ descriptor: FileDescriptor) -> Bool {
        isatty(descriptor.rawValue) == 1
    }

    /// Keeps a descriptor from the programs that this one starts.
    static func closeOnExec(_ descriptor: FileDescriptor) {
        _ = fcntl(descriptor.rawValue, F_SETFD, FD_CLOEXEC)
    }

    /// Asks whether something can be written to: a folder can get names, a file other bytes.
    static func checkWritable(_ path: FilePath) throws(Errno) {
        guard unsafe path.withPlatformString({ unsafe access($0, W_OK) }) == 0 else { throw Errno(rawValue: errno) }
    }

    /// Removes a name.
    static func remove(_ path: FilePath) throws(Errno) {
        guard unsafe path.withPlatformString({ unsafe unlink($0) }) == 0 else { throw Errno(rawValue: errno) }
    }

    /// Makes a folder and those above it, mode 0700, where they are missing, and makes their names durable.
    static func makeFolders(_ path: FilePath) throws(Errno) {
        guard !path.isEmpty, (try? path.stat()) == nil else { return }
        let parent = path.removingLastComponent()
        if parent != path { try makeFolders(parent) }
        guard unsafe path.withPlatformString({ unsafe mkdir($0, 0o700) }) == 0 else {
            // Another process may have been faster.
            if errno == EEXIST { return }
            throw Errno(rawValue: errno)
        }
        let folder = try opened(parent.isEmpty ? "." : parent)
        defer { try? folder.close() }
        do {
            try folder.synchronize()
        } catch .invalidArgument, .notSupported {
            // Some file systems have nothing to sync in a folder.
        }
    }

    private static func opened(_ folder: FilePath) throws(Errno) -> FileDescriptor {
        do {
            return try FileDescriptor.open(folder, .readOnly, options: openOptions)
        } catch {
            throw error as? Errno ?? .ioError
        }
    }

    /// The path without links, `.` and `..`; nil where it does not exist.
    static func resolved(_ path: FilePath) -> FilePath? {
        unsafe path.withPlatformString { path in
            guard let found = unsafe realpath(path, nil) else { return nil }
            defer { unsafe free(found) }
            return unsafe FilePath(platformString: found)
        }
    }

    /// A time in UTC, as ISO 8601 writes it; nil for one that has no year of four digits.
    static func text(of seconds: Int64) -> String? {
        Timestamp(seconds: seconds).utc
    }

    /// For whatever is opened: neither handed to other programs, nor taken as the controlling terminal.
    static var openOptions: FileDescriptor.OpenOptions {
        [.closeOnExec, FileDescriptor.OpenOptions(rawValue: O_NOCTTY)]
    }
}
