#if os(Linux)
import CPlatform
import SystemPackage

/// A program of the system that runs.
struct ChildProcess {
    private let process: pid_t

    /// Starts a program, which `PATH` finds. Its standard output is `/dev/null`.
    ///
    /// - Parameters:
    ///   - words: the program and its arguments, without NULs.
    ///   - input: becomes its standard input; nil for `/dev/null`.
    ///   - isApart: whether it outlives this process: keys on the terminal send it no signals, and it has no standard
    ///     error.
    init(_ words: [[UInt8]], input: CInt? = nil, isApart: Bool = false) throws(Errno) {
        var arguments = unsafe words.map { word in unsafe strdup(word.map(CChar.init(bitPattern:)) + [0]) } + [nil]
        defer { unsafe arguments.forEach { unsafe free($0) } }
        guard let program = unsafe arguments[0] else { throw .invalidArgument }
        let actions = UnsafeMutablePointer<posix_spawn_file_actions_t>.allocate(capacity: 1)
        let attributes = UnsafeMutablePointer<posix_spawnattr_t>.allocate(capacity: 1)
        unsafe posix_spawn_file_actions_init(actions)
        unsafe posix_spawnattr_init(attributes)
        defer {
            unsafe posix_spawn_file_actions_destroy(actions)
            unsafe posix_spawnattr_destroy(attributes)
            unsafe actions.deallocate()
            unsafe attributes.deallocate()
        }
        if let input {
            unsafe posix_spawn_file_actions_adddup2(actions, input, 0)
        } else {
            unsafe posix_spawn_file_actions_addopen(actions, 0, "/dev/null", O_RDWR, 0)
        }
        unsafe posix_spawn_file_actions_addopen(actions, 1, "/dev/null", O_RDWR, 0)
        if isApart {
            unsafe posix_spawn_file_actions_addopen(actions, 2, "/dev/null", O_RDWR, 0)
            unsafe posix_spawnattr_setflags(attributes, Int16(POSIX_SPAWN_SETPGROUP))
            unsafe posix_spawnattr_setpgroup(attributes, 0)
        }
        var child: pid_t = 0
        let status = unsafe posix_spawnp(
            &child, program, actions, attributes, &arguments, vaultfile_environment())
        guard status == 0 else { throw Errno(rawValue: status) }
        process = child
    }

    /// Waits for its end, once.
    ///
    /// - Returns: whether it ended with status 0.
    func wait() -> Bool {
        var status: Int32 = 0
        while unsafe waitpid(process, &status, 0) == -1 {
            guard vaultfile_error_number() == EINTR else { return false }
        }
        return status == 0
    }
}
#endif
