import CPlatform
import Synchronization
import SystemPackage
import VaultSystem

/// A program that runs as a child, with pipes to its three standard descriptors and nothing else open. There is no shell.
struct ChildProcess: ~Copyable {
    private let process: pid_t
    /// Nil once it is closed.
    private var input: FileDescriptor?
    private let output: FileDescriptor
    private let errors: FileDescriptor
    /// Whether the child has closed its standard output, or its standard error. The pipe would always be ready then.
    private var hasNoMoreOutput = false
    private var hasNoMoreErrors = false
    private var hasEnded = false

    /// What can be done now without waiting.
    struct Ready {
        var canWrite = false
        var canRead = false
        var hasErrors = false
    }

    /// The children that have not ended; nil once this process is about to end.
    private static let running = Mutex<Set<pid_t>?>([])

    /// Starts a program in the root folder, with the environment of this process and no signals blocked. Nothing that
    /// somebody has put into the folder of this process can be loaded by it.
    init(_ program: FilePath, arguments: [String]) throws(Errno) {
        var pipes: [FileDescriptor] = []
        do throws(Errno) {
            for _ in 0..<3 { pipes += try Self.pipe() }
            let child = [pipes[0], pipes[3], pipes[5]]
            for descriptor in [pipes[1], pipes[2], pipes[4]] {
                guard vaultfile_do_not_wait(descriptor.rawValue) == 0 else {
                    throw Errno(rawValue: vaultfile_error_number())
                }
            }
            process = try Self.running.withLock { running throws(Errno) in
                guard running != nil else { throw .canceled }
                let process = try Self.start(program, arguments, descriptors: child)
                running?.insert(process)
                return process
            }
        } catch {
            for descriptor in pipes { try? descriptor.close() }
            throw error
        }
        for place in [0, 3, 5] { try? pipes[place].close() }
        (input, output, errors) = (pipes[1], pipes[2], pipes[4])
    }

    deinit {
        try? input?.close()
        try? output.close()
        try? errors.close()
        guard !hasEnded else { return }
        _ = kill(process, SIGKILL)
        while !Self.hasEnded(process) { usleep(1_000) }
    }

    /// Kills all children. None starts afterwards.
    static func killAll() {
        running.withLock { running in
            for process in running ?? [] { _ = kill(process, SIGKILL) }
            running = nil
        }
    }

    /// The ends of a pipe: the one to read, then the one to write. Their numbers are above those of the standard
    /// descriptors, which the child gets in their place.
    private static func pipe() throws(Errno) -> [FileDescriptor] {
        var ends: [Int32] = [-1, -1]
        guard unsafe ends.withUnsafeMutableBufferPointer({ unsafe vaultfile_pipe($0.baseAddress) }) == 0 else {
            throw Errno(rawValue: vaultfile_error_number())
        }
        defer { for end in ends { try? FileDescriptor(rawValue: end).close() } }
        let reading = vaultfile_above_standard(ends[0])
        guard reading >= 0 else { throw Errno(rawValue: vaultfile_error_number()) }
        let writing = vaultfile_above_standard(ends[1])
        guard writing >= 0 else {
            let error = Errno(rawValue: vaultfile_error_number())
            try? FileDescriptor(rawValue: reading).close()
            throw error
        }
        return [FileDescriptor(rawValue: reading), FileDescriptor(rawValue: writing)]
    }

    private static func start(
        _ program: FilePath, _ arguments: [String], descriptors: [FileDescriptor]
    ) throws(Errno) -> pid_t {
        #if canImport(Darwin)
        var actions: posix_spawn_file_actions_t?
        var attributes: posix_spawnattr_t?
        #else
        var actions = unsafe posix_spawn_file_actions_t()
        var attributes = posix_spawnattr_t()
        #endif
        /// Each of these calls returns an error number. A child must not start without what one of them asks for.
        func check(_ status: Int32) throws(Errno) {
            guard status == 0 else { throw Errno(rawValue: status) }
        }
        try check(unsafe posix_spawn_file_actions_init(&actions))
        defer { unsafe posix_spawn_file_actions_destroy(&actions) }
        try check(unsafe posix_spawnattr_init(&attributes))
        defer { unsafe posix_spawnattr_destroy(&attributes) }
        for (number, descriptor) in descriptors.enumerated() {
            try check(unsafe posix_spawn_file_actions_adddup2(&actions, descriptor.rawValue, Int32(number)))
        }
        try check(unsafe vaultfile_start_in(&actions, "/"))
        // A program that ignores or blocks a signal must not keep the child from it.
        var none = sigset_t()
        var defaults = sigset_t()
        unsafe sigemptyset(&none)
        unsafe sigemptyset(&defaults)
        unsafe sigaddset(&defaults, SIGPIPE)
        try check(unsafe posix_spawnattr_setsigmask(&attributes, &none))
        try check(unsafe posix_spawnattr_setsigdefault(&attributes, &defaults))
        var flags = Int(POSIX_SPAWN_SETSIGMASK) | Int(POSIX_SPAWN_SETSIGDEF)
        #if canImport(Darwin)
        flags |= Int(POSIX_SPAWN_CLOEXEC_DEFAULT)
        #endif
        try check(unsafe posix_spawnattr_setflags(&attributes, Int16(truncatingIfNeeded: flags)))
        var process: pid_t = 0
        var words: [UnsafeMutablePointer<CChar>?] = unsafe ([program.string] + arguments).map { unsafe strdup($0) }
        unsafe words.append(nil)
        defer { unsafe words.forEach { unsafe free($0) } }
        // `strdup` gives nil without memory, and nil would end the list.
        guard unsafe words.dropLast().allSatisfy({ unsafe $0 != nil }) else { throw .noMemory }
        try check(
            unsafe words.withUnsafeMutableBufferPointer { words in
                guard let start = words.baseAddress else { return EINVAL }
                return unsafe program.withPlatformString { program in
                    unsafe posix_spawn(&process, program, &actions, &attributes, start, vaultfile_environment())
                }
            })
        return process
    }

    // MARK: Pipes

    /// Waits until one of the pipes is ready, or for a tenth of a second.
    func wait(toWrite: Bool) throws(Errno) -> Ready {
        var waiting = [
            // The system passes over a negative number.
            pollfd(fd: hasNoMoreOutput ? -1 : output.rawValue, events: Int16(POLLIN), revents: 0),
            pollfd(fd: hasNoMoreErrors ? -1 : errors.rawValue, events: Int16(POLLIN), revents: 0),
        ]
        if toWrite, let input { waiting.append(pollfd(fd: input.rawValue, events: Int16(POLLOUT), revents: 0)) }
        let count = unsafe waiting.withUnsafeMutableBufferPointer { unsafe poll($0.baseAddress, nfds_t($0.count), 100) }
        guard count >= 0 else {
            let error = Errno(rawValue: vaultfile_error_number())
            guard error == .interrupted else { throw error }
            return Ready()
        }
        return Ready(
            canWrite: waiting.count > 2 && waiting[2].revents != 0, canRead: waiting[0].revents != 0,
            hasErrors: waiting[1].revents != 0)
    }

    /// Reads what there is of its standard output.
    ///
    /// - Returns: 0 at the end; nil if there is nothing now.
    mutating func read(into buffer: inout MutableSpan<UInt8>) throws(Errno) -> Int? {
        let count = try Self.read(output, into: &buffer)
        if count == 0 { hasNoMoreOutput = true }
        return count
    }

    /// The same for its standard error.
    mutating func readErrors(into buffer: inout MutableSpan<UInt8>) throws(Errno) -> Int? {
        let count = try Self.read(errors, into: &buffer)
        if count == 0 { hasNoMoreErrors = true }
        return count
    }

    private static func read(_ pipe: FileDescriptor, into buffer: inout MutableSpan<UInt8>) throws(Errno) -> Int? {
        let count = unsafe buffer.withUnsafeMutableBytes {
            unsafe CPlatform.read(pipe.rawValue, $0.baseAddress, $0.count)
        }
        guard count < 0 else { return count }
        let error = Errno(rawValue: vaultfile_error_number())
        guard error == .interrupted || error == .resourceTemporarilyUnavailable else { throw error }
        return nil
    }

    /// Writes to its standard input what there is room for. If the child has closed it, the rest is dropped: what the
    /// child says then shows whether that was right.
    ///
    /// - Returns: how many bytes were written, or dropped.
    mutating func write(_ bytes: Span<UInt8>) throws(Errno) -> Int {
        guard let input else { return bytes.count }
        let (count, error) = Self.withoutSignal {
            unsafe bytes.withUnsafeBytes { unsafe CPlatform.write(input.rawValue, $0.baseAddress, $0.count) }
        }
        guard count < 0 else { return count }
        switch error {
        case .interrupted, .resourceTemporarilyUnavailable: return 0
        case .brokenPipe:
            closeInput()
            return bytes.count
        default: throw error
        }
    }

    mutating func closeInput() {
        try? input?.close()
        input = nil
    }

    /// Calls `write` so that a closed pipe gives an error, and does not end the process that uses this library.
    private static func withoutSignal(_ write: () -> Int) -> (Int, Errno) {
        func isPending() -> Bool {
            var pending = sigset_t()
            unsafe sigpending(&pending)
            return unsafe sigismember(&pending, SIGPIPE) == 1
        }
        let wasPending = isPending()
        var signal = sigset_t()
        var before = sigset_t()
        unsafe sigemptyset(&signal)
        unsafe sigaddset(&signal, SIGPIPE)
        unsafe pthread_sigmask(SIG_BLOCK, &signal, &before)
        let count = write()
        let error = Errno(rawValue: vaultfile_error_number())
        if count < 0, error == .brokenPipe, !wasPending, isPending() {
            var number: Int32 = 0
            unsafe sigwait(&signal, &number)
        }
        unsafe pthread_sigmask(SIG_SETMASK, &before, nil)
        return (count, error)
    }

    // MARK: The end

    /// Waits until the child ends, and ends it if that takes too long. What it writes is read meanwhile: it could
    /// otherwise wait for room in a pipe.
    ///
    /// - Parameter errors: gets what it writes to standard error.
    mutating func end(within patience: Duration, errors: (Span<UInt8>) -> Void = { _ in }) {
        closeInput()
        let clock = ContinuousClock()
        let deadline = clock.now + patience
        var buffer = [UInt8](repeating: 0, count: 1 << 12)
        while !hasEnded, clock.now < deadline {
            hasEnded = Self.hasEnded(process)
            // What it wrote before it ended is in the pipes.
            while drain(into: &buffer, errors), clock.now < deadline {}
            guard !hasEnded else { return }
            if hasNoMoreOutput, hasNoMoreErrors { usleep(5_000) } else { _ = try? wait(toWrite: false) }
        }
    }

    /// Reads once from each of the two pipes.
    ///
    /// - Returns: whether there was something.
    private mutating func drain(into buffer: inout [UInt8], _ errors: (Span<UInt8>) -> Void) -> Bool {
        var hasRead = false
        var span = buffer.mutableSpan
        if !hasNoMoreErrors {
            do {
                let count = try readErrors(into: &span) ?? 0
                errors(span.span.extracting(0..<count))
                hasRead = count > 0
            } catch {
                hasNoMoreErrors = true
            }
        }
        if !hasNoMoreOutput {
            do {
                if try read(into: &span) ?? 0 > 0 { hasRead = true }
            } catch {
                hasNoMoreOutput = true
            }
        }
        return hasRead
    }

    /// Whether a child has ended. Its number may be that of another process from then on, so the lock is held.
    private static func hasEnded(_ process: pid_t) -> Bool {
        running.withLock { running in
            var found: pid_t
            var status: Int32 = 0
            repeat {
                found = unsafe waitpid(process, &status, WNOHANG)
            } while found < 0 && vaultfile_error_number() == EINTR
            if found != 0 { running?.remove(process) }
            return found != 0
        }
    }

    /// The program of this name in the absolute folders of PATH (PLUG-2); nil if there is none.
    static func find(_ name: String, in path: String) -> FilePath? {
        for folder in path.split(separator: ":").map({ FilePath(String($0)) }) where folder.isAbsolute {
            let program = folder.appending(name)
            let status = try? program.status()
            if status?.kind == .regular, (unsafe program.withPlatformString { unsafe access($0, X_OK) }) == 0 {
                return program
            }
        }
        return nil
    }

    /// The variable PATH of this process.
    static var path: String { unsafe getenv("PATH").map { unsafe String(cString: $0) } ?? "" }
}
