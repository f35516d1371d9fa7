internal import CPlatform
internal import SystemPackage
internal import VaultSystem

/// A shell command that runs as a child process. Its standard output is a pipe to this program.
///
/// The command ends when its shell ends. A program that the shell leaves in the background may keep the pipe open for
/// ever, so the end of the pipe is not waited for.
struct ShellCommand {
    /// The pipe with what the command prints. Call `waitForOutput` before each read.
    let output: FileDescriptor
    private let process: pid_t
    /// The pipe with what the command writes to standard error; nil if it has this program's.
    private var errors: FileDescriptor?
    private var caught: [UInt8] = []
    private var ending: Ending?
    private var isOpen = true

    /// How a command ended.
    private enum Ending {
        case status(Int32)
        case signal(Int32)
        case unknown
    }

    /// More of standard error is read and dropped.
    private static let mostErrors = 1 << 16

    /// Starts `/bin/sh -c COMMAND` with an empty standard input and with the signal settings that this program was
    /// started with.
    ///
    /// - Parameter catchesErrors: Whether its standard error is read. Otherwise it goes to this program's.
    init(_ command: [UInt8], catchesErrors: Bool = false) throws {
        let pipe = try FileDescriptor.pipe()
        Platform.closeOnExec(pipe.readEnd)
        Platform.closeOnExec(pipe.writeEnd)
        defer { try? pipe.writeEnd.close() }
        var caught: (readEnd: FileDescriptor, writeEnd: FileDescriptor)?
        do {
            if catchesErrors { caught = try FileDescriptor.pipe() }
        } catch {
            try? pipe.readEnd.close()
            throw error
        }
        defer { try? caught?.writeEnd.close() }
        if let caught {
            Platform.closeOnExec(caught.readEnd)
            Platform.closeOnExec(caught.writeEnd)
        }
        let (status, process) = Self.start(command, writingTo: pipe.writeEnd, errors: caught?.writeEnd)
        guard status == 0 else {
            try? pipe.readEnd.close()
            try? caught?.readEnd.close()
            throw Errno(rawValue: status)
        }
        self.process = process
        output = pipe.readEnd
        errors = caught?.readEnd
    }

    /// The lines that the command has written to standard error, if they are caught.
    var errorLines: [[UInt8]] { caught.split(separator: UInt8(ascii: "\n")).map(Array.init) }

    /// Reads what there is of standard error: a command whose pipe is full would wait for ever.
    private mutating func catchErrors() {
        guard let errors else { return }
        var buffer = [UInt8](repeating: 0, count: 4096)
        while (try? errors.isReady(for: POLLIN, within: 0)) == true,
            let count = try? errors.readSome(into: &buffer), count > 0
        {
            caught += buffer.prefix(min(count, Self.mostErrors - caught.count))
        }
    }

    /// Waits until a read returns at once, with bytes or with the end of the pipe.
    ///
    /// - Returns: False once the shell has ended and the pipe is empty.
    mutating func waitForOutput() throws(Errno) -> Bool {
        while true {
            // Asked before the pipe is checked: once the shell has ended, all that it printed is in the pipe.
            let hasEnded = ending != nil
            catchErrors()
            if try output.isReady(for: POLLIN, within: hasEnded ? 0 : 50) { return true }
            if hasEnded { return false }
            ending = Self.wait(process, WNOHANG)
        }
    }

    /// Closes the pipe, which ends a command that still prints, and waits until the shell ends.
    ///
    /// - Returns: Why the command failed, in words; nil if it succeeded.
    @discardableResult
    mutating func end() -> String? {
        if isOpen { try? output.close() }
        isOpen = false
        while errors != nil, ending == nil {
            catchErrors()
            ending = Self.wait(process, WNOHANG)
            if ending == nil { Platform.pause(.milliseconds(10)) }
        }
        ending = ending ?? Self.wait(process, 0)
        catchErrors()
        try? errors?.close()
        errors = nil
        return Self.failure(ending, of: "command")
    }

    private static func failure(_ ending: Ending?, of program: String) -> String? {
        switch ending {
        case .status(0): nil
        case .status(let status): "the \(program) failed with status \(status)"
        case .signal(let number): "signal \(number) ended the \(program)"
        case .unknown, nil: "the system does not say how the \(program) ended"
        }
    }

    /// An editor, which uses the terminal of this program.
    struct Foreground {
        let process: pid_t

        /// Starts the command with one more argument.
        init(_ command: [UInt8], argument: [UInt8]) throws(Errno) {
            let line = (Self.isSimple(command) ? Array("exec ".utf8) : []) + command + Array(" \"$@\"".utf8)
            let (status, process) = ShellCommand.start(line, [command, argument], writingTo: nil)
            guard status == 0 else { throw Errno(rawValue: status) }
            self.process = process
        }

        /// Whether the command is only a program with arguments. Then it takes the place of the shell: a signal that
        /// is typed would end the shell, and the editor would go on alone.
        private static func isSimple(_ command: [UInt8]) -> Bool {
            let isWord = { (byte: UInt8) in
                UInt8(ascii: "a")...UInt8(ascii: "z") ~= byte | 0x20 || "0123456789._/+-:,@ ".utf8.contains(byte)
            }
            return command.allSatisfy(isWord)
        }

        /// Waits until it ends.
        ///
        /// - Returns: Why it failed, in words; nil if it succeeded.
        func wait() -> String? { ShellCommand.failure(ShellCommand.wait(process, 0), of: "editor") }
    }

    /// How the process ended; nil if it still runs and `options` say not to wait.
    private static func wait(_ process: pid_t, _ options: Int32) -> Ending? {
        var status: Int32 = 0
        var found: pid_t
        repeat {
            found = unsafe waitpid(process, &status, options)
        } while found < 0 && vaultfile_error_number() == EINTR
        guard found != 0 else { return nil }
        guard found > 0 else { return .unknown }
        // What the macros of <sys/wait.h> do. Swift cannot use them.
        let signal = status & 0x7F
        return signal == 0 ? .status((status >> 8) & 0xFF) : .signal(signal)
    }

    /// - Parameters:
    ///   - arguments: What the shell gets after the command: `$0`, `$1` and so on.
    ///   - output: Its standard output; standard input is then empty. Nil if it has the three descriptors of this
    ///     program.
    ///   - errors: Its standard error; nil if it has this program's.
    private static func start(
        _ command: [UInt8], _ arguments: [[UInt8]] = [], writingTo output: FileDescriptor?,
        errors: FileDescriptor? = nil
    ) -> (Int32, pid_t) {
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
        if let output {
            unsafe posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0)
            unsafe posix_spawn_file_actions_adddup2(&actions, output.rawValue, 1)
        }
        if let errors { unsafe posix_spawn_file_actions_adddup2(&actions, errors.rawValue, 2) }
        if let atStart = Signals.atStart {
            var blocked = atStart.blocked.raw
            var defaults = SignalSet(atStart.changed).raw
            unsafe posix_spawnattr_setsigmask(&attributes, &blocked)
            unsafe posix_spawnattr_setsigdefault(&attributes, &defaults)
            unsafe posix_spawnattr_setflags(
                &attributes, Int16(truncatingIfNeeded: Int(POSIX_SPAWN_SETSIGMASK) | Int(POSIX_SPAWN_SETSIGDEF)))
        }
        var process: pid_t = 0
        let words = [Array("sh".utf8), Array("-c".utf8), command] + arguments
        let status = unsafe withArguments(words.map { ContiguousArray($0.map(CChar.init(bitPattern:)) + [0]) }) {
            unsafe posix_spawn(&process, "/bin/sh", &actions, &attributes, $0, vaultfile_environment())
        }
        return (status, process)
    }

    /// Calls `body` with the arguments as a C array that ends with a null pointer.
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
