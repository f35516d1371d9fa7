#if os(Linux)
import CPlatform

/// Runs a program of the system.
enum ChildProcess {
    /// Runs a program, which `PATH` finds, and waits for its end. Its standard input and output are `/dev/null`.
    ///
    /// - Parameter words: the program and its arguments, without NULs.
    /// - Returns: whether it ended with status 0.
    static func run(_ words: [[UInt8]]) -> Bool {
        var arguments = unsafe words.map { word in unsafe strdup(word.map(CChar.init(bitPattern:)) + [0]) } + [nil]
        defer { unsafe arguments.forEach { unsafe free($0) } }
        let actions = UnsafeMutablePointer<posix_spawn_file_actions_t>.allocate(capacity: 1)
        unsafe posix_spawn_file_actions_init(actions)
        defer {
            unsafe posix_spawn_file_actions_destroy(actions)
            unsafe actions.deallocate()
        }
        unsafe posix_spawn_file_actions_addopen(actions, 0, "/dev/null", O_RDWR, 0)
        unsafe posix_spawn_file_actions_addopen(actions, 1, "/dev/null", O_RDWR, 0)
        var child: pid_t = 0
        guard let program = unsafe arguments[0],
            unsafe posix_spawnp(&child, program, actions, nil, &arguments, vaultfile_environment()) == 0
        else { return false }
        var status: Int32 = 0
        while unsafe waitpid(child, &status, 0) == -1 {
            guard vaultfile_error_number() == EINTR else { return false }
        }
        return status == 0
    }
}
#endif
