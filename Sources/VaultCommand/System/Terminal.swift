internal import Synchronization
internal import SystemPackage
internal import VaultFile

#if canImport(Darwin)
@unsafe @preconcurrency internal import Darwin
#elseif canImport(Musl)
@unsafe @preconcurrency internal import Musl
#else
@unsafe @preconcurrency internal import Glibc
#endif

/// The terminal that a passphrase is asked on: the controlling one, whatever the standard descriptors are.
struct Terminal {
    private let descriptor: FileDescriptor

    /// Nil where the process has no terminal.
    init?() {
        guard
            let descriptor = try? FileDescriptor.open(
                "/dev/tty", .readWrite, options: Platform.openOptions)
        else { return nil }
        self.descriptor = descriptor
    }

    func close() {
        try? descriptor.close()
    }

    /// Asks for one line and reads it unseen.
    func ask(_ prompt: String) throws -> SecretText {
        try waitForForeground()
        let silenced = try Signals.undo.withLock { state throws(Errno) -> Silenced in
            let silenced = try Silenced(descriptor, prompt: prompt)
            state.silencedTerminal = silenced
            return silenced
        }
        defer {
            Signals.undo.withLock { state in
                silenced.restore()
                state.silencedTerminal = nil
            }
        }
        try descriptor.writeFully(Array(prompt.utf8).span)
        let line = try SecretText(lineFrom: descriptor)
        // The line end that was typed was not shown either.
        try descriptor.writeFully(Array("\n".utf8).span)
        return line
    }

    /// Asks something to which the answer is no secret, and whether it was `yes`.
    func confirm(_ question: String) throws -> Bool {
        try waitForForeground()
        try descriptor.writeFully(Array((question + " Type yes to do it: ").utf8).span)
        let line = try SecretText(lineFrom: descriptor)
        return try line.withBytes { bytes in
            let answer = (0..<bytes.count).map { bytes[$0] }
            return answer == Array("yes\n".utf8)
        }
    }

    /// Stops, as reading would, for as long as the terminal is another job's. Nothing is locked here, so that a signal
    /// can end the program all the same.
    private func waitForForeground() throws(Errno) {
        for _ in 0..<100 {
            if descriptor.isInForeground { return }
            kill(0, SIGTTIN)
        }
        // Nobody is left who could bring this job to the foreground: the signal did not stop it.
        throw Errno.ioError
    }

    /// Says something to whoever is typing.
    func say(_ line: String) throws {
        try descriptor.writeFully(Array((line + "\n").utf8).span)
    }

    /// A terminal that does not show what is typed, and how it was before.
    struct Silenced: @unchecked Sendable {
        private let descriptor: FileDescriptor
        private let before: termios
        private let prompt: String

        /// Turns the echo off.
        fileprivate init(_ descriptor: FileDescriptor, prompt: String) throws(Errno) {
            var settings = termios()
            guard unsafe tcgetattr(descriptor.rawValue, &settings) == 0 else { throw Errno(rawValue: errno) }
            self.descriptor = descriptor
            before = settings
            self.prompt = prompt
            // A passphrase is not to be read where it would be shown.
            guard silence() else { throw Errno(rawValue: errno) }
        }

        private func silence() -> Bool {
            var settings = before
            settings.c_lflag &= ~tcflag_t(ECHO | ECHOE | ECHOK | ECHONL)
            settings.c_lflag |= tcflag_t(ICANON | ISIG)
            // Not `TCSAFLUSH`, which waits until a terminal that was halted has shown everything. What was typed before
            // the question could be seen is discarded.
            guard unsafe tcsetattr(descriptor.rawValue, TCSANOW, &settings) == 0 else { return false }
            tcflush(descriptor.rawValue, TCIFLUSH)
            return true
        }

        /// Puts everything back, where the terminal is not another job's by now.
        func restore() {
            guard descriptor.isInForeground else { return }
            var settings = before
            _ = unsafe tcsetattr(descriptor.rawValue, TCSANOW, &settings)
        }

        /// After the process was stopped and goes on: the shell has used the terminal meanwhile.
        func silenceAgain() {
            guard descriptor.isInForeground, silence() else { return }
            descriptor.writeTextIfReady(prompt)
        }

        /// Puts everything back for good: what is shown next begins on a line of its own.
        func leave() {
            restore()
            descriptor.writeTextIfReady("\n")
        }
    }

    /// Takes a line of progress away from standard error.
    static func clearLine() {
        FileDescriptor.standardError.writeTextIfReady("\r\u{1B}[K")
    }
}

extension FileDescriptor {
    /// Whether this terminal is the one of the process's job now.
    fileprivate var isInForeground: Bool { tcgetpgrp(rawValue) == getpgrp() }

    /// Says something unless it would have to be waited for: a terminal that was halted must not keep a program from
    /// ending.
    func writeTextIfReady(_ text: String) {
        if (try? isReady(for: POLLOUT, within: 0)) == true { writeText(text) }
    }

    /// Says something where nobody is left to be told that it cannot be said; the exit status still says it.
    func writeText(_ text: String) {
        try? writeFully(Array(text.utf8).span)
    }
}
