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
                "/dev/tty", .readWrite, options: SystemCalls.openOptions)
        else { return nil }
        self.descriptor = descriptor
    }

    func close() {
        try? descriptor.close()
    }

    /// Asks for one line and reads it unseen.
    func ask(_ prompt: String) throws -> SecretText {
        let silenced = Signals.undo.withLock { state -> Silenced? in
            let silenced = Silenced(descriptor, prompt: prompt)
            state.silencedTerminal = silenced
            return silenced
        }
        defer {
            Signals.undo.withLock { state in
                silenced?.restore()
                state.silencedTerminal = nil
            }
        }
        try descriptor.writeFully(Array(prompt.utf8).span)
        let line = try SecretText(lineFrom: descriptor)
        // The line end that was typed was not shown either.
        try descriptor.writeFully(Array("\n".utf8).span)
        return line
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

        /// Turns the echo off; nil where there is none to turn off.
        fileprivate init?(_ descriptor: FileDescriptor, prompt: String) {
            var settings = termios()
            guard unsafe tcgetattr(descriptor.rawValue, &settings) == 0 else { return nil }
            self.descriptor = descriptor
            before = settings
            self.prompt = prompt
            silence()
        }

        private func silence() {
            var settings = before
            settings.c_lflag &= ~tcflag_t(ECHO | ECHOE | ECHOK | ECHONL)
            settings.c_lflag |= tcflag_t(ICANON | ISIG)
            // Discards what was typed before the question could be seen.
            _ = unsafe tcsetattr(descriptor.rawValue, TCSAFLUSH, &settings)
        }

        /// Puts everything back.
        func restore() {
            var settings = before
            _ = unsafe tcsetattr(descriptor.rawValue, TCSAFLUSH, &settings)
        }

        /// After the process was stopped and goes on: the shell has used the terminal meanwhile.
        func silenceAgain() {
            silence()
            descriptor.writeText(prompt)
        }

        /// Puts everything back for good: what is shown next begins on a line of its own.
        func leave() {
            restore()
            descriptor.writeText("\n")
        }
    }

    /// Takes a line of progress away from standard error.
    static func clearLine() {
        FileDescriptor.standardError.writeText("\r\u{1B}[K")
    }
}

extension FileDescriptor {
    /// Says something where nobody is left to be told that it cannot be said; the exit status still says it.
    func writeText(_ text: String) {
        try? writeFully(Array(text.utf8).span)
    }
}
