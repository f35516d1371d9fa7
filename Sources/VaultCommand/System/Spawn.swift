internal import SystemPackage

#if canImport(Darwin)
@unsafe @preconcurrency internal import Darwin
#elseif canImport(Musl)
@unsafe @preconcurrency internal import Musl
#else
@unsafe @preconcurrency internal import Glibc
#endif

/// A command of the shell that runs beside this program, with its standard output in a pipe to here.
struct ShellCommand {
    /// What it prints is to be read from here, and closed.
    let output: FileDescriptor
    private let process: pid_t

    /// How a command ended that did not succeed.
    enum Failure: Error {
        case status(Int32)
        case signal(Int32)
        case unknown
    }

    /// Starts `/bin/sh -c COMMAND` with nothing to read, and with the signals as this program found them.
    init(_ command: [UInt8]) throws(Errno) {
        let pipe: (readEnd: FileDescriptor, writeEnd: FileDescriptor)
        do { pipe = try FileDescriptor.pipe() } catch let error as Errno { throw error } catch { throw .ioError }
        Platform.closeOnExec(pipe.readEnd)
        Platform.closeOnExec(pipe.writeEnd)
        defer { try? pipe.writeEnd.close() }
        let (status, process) = Self.start(command, writingTo: pipe.writeEnd)
        guard status == 0 else {
            try? pipe.readEnd.close()
            throw Errno(rawValue: status)
        }
        self.process = process
        output = pipe.readEnd
    }

    /// Waits for its end.
    ///
    /// - Throws: `Failure` unless it exited with status 0.
    func wait() throws(Failure) {
        var status: Int32 = 0
        while unsafe waitpid(process, &status, 0) < 0 {
            guard errno == EINTR else { throw .unknown }
        }
        // The macros of <sys/wait.h>, which C alone can use.
        let signal = status & 0x7F
        guard signal == 0 else { throw .signal(signal) }
        let code = (status >> 8) & 0xFF
        guard code == 0 else { throw .status(code) }
    }

    private static func start(_ command: [UInt8], writingTo output: FileDescriptor) -> (Int32, pid_t) {
        #if canImport(Darwin)
        var actions: posix_spawn_file_actions_t?
        var attributes: posix_spawnattr_t?
        #else
        var actions = unsafe posix_spawn_file_actions_t()
        var attributes = posix_spawnattr_t()
        #endif
        unsafe posix_spawn_file_actions_init(&actions)
        unsafe posix_spawnattr_init(&attributes)
        defer {
            unsafe posix_spawn_file_actions_destroy(&actions)
            unsafe posix_spawnattr_destroy(&attributes)
        }
        unsafe posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0)
        unsafe posix_spawn_file_actions_adddup2(&actions, output.rawValue, 1)
        if let atStart = Signals.atStart {
            var blocked = atStart.blocked.raw
            var defaults = SignalSet(atStart.changed).raw
            unsafe posix_spawnattr_setsigmask(&attributes, &blocked)
            unsafe posix_spawnattr_setsigdefault(&attributes, &defaults)
            unsafe posix_spawnattr_setflags(
                &attributes, Int16(truncatingIfNeeded: Int(POSIX_SPAWN_SETSIGMASK) | Int(POSIX_SPAWN_SETSIGDEF)))
        }
        var process: pid_t = 0
        let status = unsafe withArguments([
            "sh".utf8CString, "-c".utf8CString, ContiguousArray(command.map(CChar.init(bitPattern:)) + [0]),
        ]) {
            unsafe posix_spawn(&process, "/bin/sh", &actions, &attributes, $0, environ)
        }
        return (status, process)
    }

    /// Lends the arguments as C wants them: pointers, the last of them null.
    private static func withArguments(
        _ arguments: [ContiguousArray<CChar>],
        _ body: (UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>) -> Int32
    ) -> Int32 {
        var pointers: [UnsafeMutablePointer<CChar>?] = unsafe arguments.map { argument in
            unsafe argument.withUnsafeBufferPointer { text in unsafe text.baseAddress.flatMap { unsafe strdup($0) } }
        }
        unsafe pointers.append(nil)
        defer { unsafe pointers.forEach { unsafe free($0) } }
        return unsafe pointers.withUnsafeMutableBufferPointer { buffer in
            guard let start = buffer.baseAddress else { return EINVAL }
            return unsafe body(start)
        }
    }
}
