internal import CPlatform
internal import Synchronization
internal import SystemPackage
internal import VaultFile

/// The controlling terminal, on which passphrases are asked for. Redirected standard descriptors do not matter.
struct Terminal {
    private let descriptor: FileDescriptor
    /// Held from before a question until its answer is read. Several threads may have something to ask: without this, one
    /// would show what is typed while another reads a passphrase, and a plugin could get that passphrase.
    private static let turn = Mutex(())

    /// Runs `body` with the terminal, or with nil if the process has none, while no other thread uses it. `body` must not
    /// call this again.
    static func use<R: ~Copyable & Sendable>(_ body: (Terminal?) throws -> R) rethrows -> R {
        try turn.withLock { _ in
            let terminal = Terminal()
            defer { terminal?.close() }
            return try body(terminal)
        }
    }

    private init?() {
        guard
            let descriptor = try? FileDescriptor.open("/dev/tty", .readWrite, options: Platform.openOptions)
        else { return nil }
        self.descriptor = descriptor
    }

    private func close() {
        try? descriptor.close()
    }

    /// Asks for one line and reads it without showing it.
    func ask(_ prompt: String) throws -> SecretText {
        try silently { try askSilenced(prompt) }
    }

    /// Turns the echo off while `body` asks questions with `askSilenced`. What was typed before is discarded. What is
    /// typed early for a later question of `body` counts, and is not shown: a user may paste both lines of a new
    /// passphrase at once.
    func silently<R: ~Copyable>(_ body: () throws -> R) throws -> R {
        try waitForForeground()
        let silenced = try Signals.undo.withLock { state throws(Errno) -> Silenced in
            let silenced = try Silenced(descriptor)
            state.silencedTerminal = silenced
            return silenced
        }
        defer {
            Signals.undo.withLock { state in
                silenced.restore()
                state.silencedTerminal = nil
            }
        }
        return try body()
    }

    /// Asks for one line while the echo is off.
    func askSilenced(_ prompt: String) throws -> SecretText {
        Signals.undo.withLock { $0.silencedTerminal?.prompt = prompt }
        try descriptor.writeFully(Array(prompt.utf8).span)
        let line = try SecretText(lineFrom: descriptor)
        // The line end that the user typed was not shown.
        try descriptor.writeFully(Array("\n".utf8).span)
        return line
    }

    /// Asks a question whose answer is not secret.
    ///
    /// - Returns: Whether the answer is `yes`.
    func confirm(_ question: String) throws -> Bool {
        let line = try line(question + " Type yes to do it: ")
        return try line.withBytes { bytes in
            let answer = (0..<bytes.count).map { bytes[$0] }
            return answer == Array("yes\n".utf8)
        }
    }

    /// Asks for one line, which is shown while it is typed.
    func line(_ prompt: String) throws -> SecretText {
        try waitForForeground()
        try descriptor.writeFully(Array(prompt.utf8).span)
        return try SecretText(lineFrom: descriptor)
    }

    /// Stops the process while another job is in the foreground, as reading from the terminal would. No lock is held,
    /// so a signal can still end the program.
    private func waitForForeground() throws(Errno) {
        for attempt in 0..<100 {
            if descriptor.isInForeground { return }
            // The shell says only that the job is stopped, and not why.
            if attempt == 0 { descriptor.writeTextIfReady("vaultfile: has a question: type fg to see it\n") }
            kill(0, SIGTTIN)
        }
        // The signal did not stop this job, so no shell is left that could bring it to the foreground.
        throw Errno.ioError
    }

    /// Writes secret bytes to the terminal, on a line of their own.
    func show(_ secret: Span<UInt8>) throws {
        try descriptor.writeFully(secret)
        try descriptor.writeFully(Array("\n".utf8).span)
    }

    /// Writes a line to the terminal.
    func say(_ line: String) throws {
        try descriptor.writeFully(Array((line + "\n").utf8).span)
    }

    /// A terminal with its echo turned off, and the settings to restore.
    struct Silenced: @unchecked Sendable {
        private let descriptor: FileDescriptor
        private let before: termios
        /// The question that waits for an answer.
        fileprivate var prompt = ""

        /// Turns the echo off.
        fileprivate init(_ descriptor: FileDescriptor) throws(Errno) {
            var settings = termios()
            guard unsafe tcgetattr(descriptor.rawValue, &settings) == 0 else {
                throw Errno(rawValue: vaultfile_error_number())
            }
            self.descriptor = descriptor
            before = settings
            // Without this the passphrase would be shown.
            guard silence() else { throw Errno(rawValue: vaultfile_error_number()) }
        }

        private func silence() -> Bool {
            var settings = before
            settings.c_lflag &= ~tcflag_t(ECHO | ECHOE | ECHOK | ECHONL)
            settings.c_lflag |= tcflag_t(ICANON | ISIG)
            // Not `TCSAFLUSH`: it waits until all output is shown, and a halted terminal shows none. `tcflush` discards
            // what was typed before the prompt appeared.
            guard unsafe tcsetattr(descriptor.rawValue, TCSANOW, &settings) == 0 else { return false }
            tcflush(descriptor.rawValue, TCIFLUSH)
            return true
        }

        /// Restores the settings, unless another job is in the foreground.
        func restore() {
            guard descriptor.isInForeground else { return }
            var settings = before
            _ = unsafe tcsetattr(descriptor.rawValue, TCSANOW, &settings)
        }

        /// Turns the echo off again after the process was stopped: the shell has used the terminal meanwhile.
        func silenceAgain() {
            guard descriptor.isInForeground, silence() else { return }
            descriptor.writeTextIfReady(prompt)
        }

        /// Restores the settings and begins a new line.
        func leave() {
            restore()
            descriptor.writeTextIfReady("\n")
        }
    }
}

extension FileDescriptor {
    /// Whether the process's job is in the foreground of this terminal.
    fileprivate var isInForeground: Bool { tcgetpgrp(rawValue) == getpgrp() }

    /// Writes text if that does not block: a halted terminal must not keep the program from ending.
    func writeTextIfReady(_ text: String) {
        if (try? isReady(for: POLLOUT, within: 0)) == true { writeText(text) }
    }

    /// Writes text and ignores an error: there is no place left to report it, and the exit status still shows the
    /// failure.
    func writeText(_ text: String) {
        try? writeFully(Array(text.utf8).span)
    }
}
