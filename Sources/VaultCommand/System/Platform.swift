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
enum Platform {
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
    ///
    /// - Parameter folder: What a relative path begins at, if not at the working folder.
    static func checkWritable(_ path: FilePath, in folder: FileDescriptor? = nil) throws(Errno) {
        let start = folder?.rawValue ?? AT_FDCWD
        guard unsafe path.withPlatformString({ unsafe faccessat(start, $0, W_OK, 0) }) == 0 else {
            throw Errno(rawValue: errno)
        }
    }

    /// Removes a name.
    ///
    /// - Parameter folder: What a relative path begins at, if not at the working folder.
    static func remove(_ path: FilePath, in folder: FileDescriptor? = nil) throws(Errno) {
        let start = folder?.rawValue ?? AT_FDCWD
        guard unsafe path.withPlatformString({ unsafe unlinkat(start, $0, 0) }) == 0 else {
            throw Errno(rawValue: errno)
        }
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

    /// The value of a variable of the environment; nil where it is not set.
    static func environment(_ name: String) -> [UInt8]? {
        unsafe bytes(of: getenv(name))
    }

    /// The bytes of a C string; nil where there is none.
    static func bytes(of text: UnsafeMutablePointer<CChar>?) -> [UInt8]? {
        guard let text = unsafe text else { return nil }
        return unsafe [UInt8](UnsafeRawBufferPointer(start: text, count: strlen(text)))
    }

    /// Lends each name in a folder but `.` and `..`, in the order of the file system, with what the folder says that it
    /// stands for: nil where it does not say.
    static func forEachName(
        in folder: FileDescriptor, _ body: ([UInt8], OpenFolder.Kind?) -> Void
    ) throws(Errno) {
        // Opened anew: a copy of the descriptor would go on where the last reading ended.
        let number = try FileDescriptor.openForReading(".", in: folder, .folder).rawValue
        guard let stream = unsafe fdopendir(number) else {
            let error = Errno(rawValue: errno)
            close(number)
            throw error
        }
        defer { unsafe closedir(stream) }
        while true {
            errno = 0
            guard let entry = unsafe readdir(stream) else { break }
            // The record ends with the name, however long the field is declared.
            let start = unsafe UnsafeMutableRawPointer(entry) + (MemoryLayout<dirent>.offset(of: \.d_name) ?? 0)
            guard let name = unsafe bytes(of: start.assumingMemoryBound(to: CChar.self)),
                name != [UInt8(ascii: ".")], name != Array("..".utf8)
            else { continue }
            let kind: OpenFolder.Kind? =
                switch unsafe Int32(entry.pointee.d_type) {
                case Int32(DT_DIR): .folder
                case Int32(DT_REG): .regular
                case Int32(DT_UNKNOWN): nil
                default: .other
                }
            body(name, kind)
        }
        guard errno == 0 else { throw Errno(rawValue: errno) }
    }

    /// The path without links, `.` and `..`; nil where it does not exist.
    static func resolved(_ path: FilePath) -> FilePath? {
        unsafe path.withPlatformString { path in
            guard let found = unsafe realpath(path, nil) else { return nil }
            defer { unsafe free(found) }
            return unsafe FilePath(platformString: found)
        }
    }

    /// For whatever is opened: neither handed to other programs, nor taken as the controlling terminal.
    static var openOptions: FileDescriptor.OpenOptions {
        [.closeOnExec, FileDescriptor.OpenOptions(rawValue: O_NOCTTY)]
    }
}
