import SystemPackage

#if canImport(Darwin)
@unsafe @preconcurrency import Darwin
#elseif canImport(Musl)
@unsafe @preconcurrency import Musl
#else
@unsafe @preconcurrency import Glibc
#endif

/// A process that a test started.
struct Child {
    /// How a process ended.
    enum Ending: Equatable, CustomStringConvertible {
        case status(Int32)
        case signal(Int32)

        var description: String {
            switch self {
            case .status(let status): "status \(status)"
            case .signal(let number): "signal \(number)"
            }
        }
    }

    let process: pid_t

    /// The targets of the three standard descriptors.
    enum Stream {
        case null
        case file(FilePath)
        case newFile(FilePath)
        case descriptor(FileDescriptor)
    }

    /// Starts a program with the signal settings of a login shell.
    ///
    /// - Parameter terminal: Becomes the controlling terminal of a new session.
    init(
        _ arguments: [[UInt8]], environment: [[UInt8]], streams: [Stream], terminal: FilePath? = nil
    ) throws {
        var actions = unsafe posix_spawn_file_actions_t()
        var attributes = posix_spawnattr_t()
        unsafe posix_spawn_file_actions_init(&actions)
        unsafe posix_spawnattr_init(&attributes)
        defer {
            unsafe posix_spawn_file_actions_destroy(&actions)
            unsafe posix_spawnattr_destroy(&attributes)
        }
        // The first terminal that a session leader opens becomes its controlling terminal.
        if let terminal {
            unsafe posix_spawn_file_actions_addopen(&actions, 9, terminal.string, O_RDWR, 0)
            unsafe posix_spawn_file_actions_addclose(&actions, 9)
        }
        for (number, stream) in streams.enumerated() {
            let number = Int32(number)
            switch stream {
            case .null: unsafe posix_spawn_file_actions_addopen(&actions, number, "/dev/null", O_RDWR, 0)
            case .file(let path): unsafe posix_spawn_file_actions_addopen(&actions, number, path.string, O_RDWR, 0)
            case .newFile(let path):
                unsafe posix_spawn_file_actions_addopen(
                    &actions, number, path.string, O_RDWR | O_CREAT | O_TRUNC, 0o600)
            case .descriptor(let descriptor):
                unsafe posix_spawn_file_actions_adddup2(&actions, descriptor.rawValue, number)
            }
        }
        // Other tests of this process have pipes open. A pipe does not end while any process has its writing end.
        #if canImport(Glibc)
        // By its name: whether Swift sees the declaration depends on which module includes <spawn.h> first.
        typealias CloseFrom = @convention(c) (UnsafeMutablePointer<posix_spawn_file_actions_t>, Int32) -> Int32
        if let symbol = unsafe dlsym(nil, "posix_spawn_file_actions_addclosefrom_np") {
            _ = unsafe unsafeBitCast(symbol, to: CloseFrom.self)(&actions, Int32(streams.count))
        }
        #endif
        var none = sigset_t()
        var all = sigset_t()
        unsafe sigemptyset(&none)
        unsafe sigfillset(&all)
        unsafe sigdelset(&all, SIGKILL)
        unsafe sigdelset(&all, SIGSTOP)
        unsafe posix_spawnattr_setsigmask(&attributes, &none)
        unsafe posix_spawnattr_setsigdefault(&attributes, &all)
        var flags = Int32(POSIX_SPAWN_SETSIGMASK) | Int32(POSIX_SPAWN_SETSIGDEF)
        #if canImport(Darwin)
        flags |= Int32(POSIX_SPAWN_CLOEXEC_DEFAULT)
        if terminal != nil { flags |= Int32(POSIX_SPAWN_SETSID) }
        #else
        // POSIX_SPAWN_SETSID, which the C library hides behind a feature macro.
        if terminal != nil { flags |= 0x80 }
        #endif
        unsafe posix_spawnattr_setflags(&attributes, Int16(truncatingIfNeeded: flags))
        var process: pid_t = 0
        let status = unsafe withPointers(to: arguments) { arguments in
            unsafe withPointers(to: environment) { environment in
                unsafe posix_spawn(&process, "/bin/sh", &actions, &attributes, arguments, environment)
            }
        }
        guard status == 0 else { throw Errno(rawValue: status) }
        self.process = process
    }

    /// Waits until the process ends.
    func wait() -> Ending {
        var status: Int32 = 0
        while unsafe waitpid(process, &status, 0) < 0, errno == EINTR {}
        return status & 0x7F == 0 ? .status(status >> 8 & 0xFF) : .signal(status & 0x7F)
    }

    /// Waits until the process is stopped.
    func waitUntilStopped() -> Bool {
        var status: Int32 = 0
        while unsafe waitpid(process, &status, WUNTRACED) < 0, errno == EINTR {}
        return status & 0xFF == 0x7F
    }

    func send(_ signal: Int32) {
        kill(process, signal)
    }
}

private func withPointers(
    to texts: [[UInt8]], _ body: (UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>) -> Int32
) -> Int32 {
    var pointers: [UnsafeMutablePointer<CChar>?] = unsafe texts.map { text in
        unsafe (text.map(CChar.init(bitPattern:)) + [0]).withUnsafeBufferPointer { text in
            unsafe text.baseAddress.flatMap { unsafe strdup($0) }
        }
    }
    unsafe pointers.append(nil)
    defer { unsafe pointers.forEach { unsafe free($0) } }
    return unsafe pointers.withUnsafeMutableBufferPointer { buffer in
        guard let start = buffer.baseAddress else { return EINVAL }
        return unsafe body(start)
    }
}

/// A pseudo-terminal: what a person types and sees.
final class PseudoTerminal {
    private let master: FileDescriptor
    private let slave: FileDescriptor
    /// Output that has appeared and was not yet expected.
    private var pending = ""
    let path: FilePath

    init() throws {
        #if os(Linux)
        // The work of posix_openpt and similar functions, which the C library hides behind a feature macro.
        let number = unsafe open("/dev/ptmx", O_RDWR | O_NOCTTY)
        var locked: Int32 = 0
        var index: UInt32 = 0
        let (unlock, name): (UInt, UInt) = (0x4004_5431, 0x8004_5430)
        guard number >= 0, unsafe ioctl(number, unlock, &locked) == 0, unsafe ioctl(number, name, &index) == 0 else {
            throw Errno(rawValue: errno)
        }
        path = FilePath("/dev/pts/\(index)")
        #else
        let number = posix_openpt(O_RDWR | O_NOCTTY)
        guard number >= 0, grantpt(number) == 0, unlockpt(number) == 0, let name = unsafe ptsname(number) else {
            throw Errno(rawValue: errno)
        }
        path = unsafe FilePath(platformString: name)
        #endif
        master = FileDescriptor(rawValue: number)
        // Held open, so that the settings remain visible after the program has ended.
        slave = try FileDescriptor.open(
            path, .readWrite, options: [.closeOnExec, FileDescriptor.OpenOptions(rawValue: O_NOCTTY)])
        // Later children of the test must not inherit it.
        _ = fcntl(number, F_SETFD, FD_CLOEXEC)
    }

    func type(_ text: String) throws {
        try master.writeAll(text.utf8)
    }

    /// Reads the output, up to and including `text`.
    func expect(_ text: String) throws -> String {
        while true {
            if let found = pending.firstRange(of: text) {
                defer { pending.removeSubrange(..<found.upperBound) }
                return String(pending[..<found.upperBound])
            }
            var poll = pollfd(fd: master.rawValue, events: Int16(POLLIN), revents: 0)
            guard Self.poll(&poll) > 0 else { throw Errno.timedOut }
            var buffer = [UInt8](repeating: 0, count: 1024)
            let count = try unsafe buffer.withUnsafeMutableBytes { try unsafe master.read(into: $0) }
            guard count > 0 else { throw Errno.brokenPipe }
            pending += String(decoding: buffer.prefix(count), as: UTF8.self)
        }
    }

    /// Whether the terminal shows typed text.
    var echoes: Bool {
        var settings = termios()
        guard unsafe tcgetattr(master.rawValue, &settings) == 0 else { return false }
        return settings.c_lflag & tcflag_t(ECHO) != 0
    }

    deinit {
        try? master.close()
        try? slave.close()
    }

    private static func poll(_ request: inout pollfd) -> Int32 {
        #if canImport(Darwin)
        unsafe Darwin.poll(&request, 1, 60_000)
        #elseif canImport(Musl)
        unsafe Musl.poll(&request, 1, 60_000)
        #else
        unsafe Glibc.poll(&request, 1, 60_000)
        #endif
    }
}

/// The environment and the folders of the tests.
enum Host {
    static func environment(_ name: String) -> String? {
        unsafe getenv(name).map { unsafe String(cString: $0) }
    }

    static let isRoot = getuid() == 0

    /// Makes a new temporary folder.
    static func temporaryFolder(in parent: String? = nil) throws -> FilePath {
        var template = Array(((parent ?? environment("TMPDIR") ?? "/tmp") + "/vaultfile-tests-XXXXXX").utf8CString)
        let made = unsafe template.withUnsafeMutableBufferPointer { template in
            unsafe template.baseAddress.map { unsafe mkdtemp($0) != nil } ?? false
        }
        guard made else { throw Errno(rawValue: errno) }
        return unsafe FilePath(platformString: Array(template))
    }

    static func remove(file: FilePath, folder: FilePath) {
        _ = unsafe file.withPlatformString { unsafe unlink($0) }
        _ = unsafe folder.withPlatformString { unsafe rmdir($0) }
    }

    static func makeFolder(_ path: FilePath) throws {
        guard unsafe path.withPlatformString({ unsafe mkdir($0, 0o755) }) == 0 else { throw Errno(rawValue: errno) }
    }

    static func makePipe(_ path: FilePath) throws {
        guard unsafe path.withPlatformString({ unsafe mkfifo($0, 0o600) }) == 0 else { throw Errno(rawValue: errno) }
    }

    static func changeMode(_ path: FilePath, to mode: FilePermissions) throws {
        guard unsafe path.withPlatformString({ unsafe chmod($0, mode.rawValue) }) == 0 else {
            throw Errno(rawValue: errno)
        }
    }

    static func link(_ path: FilePath, to target: String) throws {
        guard unsafe path.withPlatformString({ unsafe symlink(target, $0) }) == 0 else { throw Errno(rawValue: errno) }
    }

    /// The return value of a failed system call.
    static func fail<R: SignedInteger>(_ error: Errno) -> R {
        errno = error.rawValue
        return -1
    }

    static func pause(milliseconds: UInt32) {
        usleep(milliseconds * 1000)
    }
}

extension Host {
    static let sigHup = SIGHUP
    static let sigInt = SIGINT
    static let sigTerm = SIGTERM
    static let sigKill = SIGKILL
    static let sigQuit = SIGQUIT
    static let sigPipe = SIGPIPE
    /// The signals of a crash.
    static let crashes = [SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP, SIGABRT]

    /// A path that a test and the process of its exit test both know.
    static func sharedPath(isChild: Bool) -> FilePath {
        FilePath("/tmp/vaultfile-tests-\(isChild ? getppid() : getpid())")
    }
}

extension FileDescriptor {
    /// Makes the descriptor blocking, for every process that shares it.
    func setBlocking() throws {
        guard fcntl(rawValue, F_SETFL, fcntl(rawValue, F_GETFL) & ~O_NONBLOCK) >= 0 else {
            throw Errno(rawValue: errno)
        }
    }
}
