internal import CPlatform
internal import Synchronization
internal import SystemPackage

/// The line of progress: the last line of the terminal that standard error is. Results and messages are written above
/// it.
enum StatusLine {
    /// A line that is shown.
    struct Shown: Sendable {
        fileprivate let text: String
        /// Its width in columns.
        fileprivate let width: Int

        /// Takes the line away, if that does not block.
        func erase() {
            FileDescriptor.standardError.writeTextIfReady(
                isDumb ? "\r" + String(repeating: " ", count: width) + "\r" : "\r\u{1B}[K")
        }
    }

    /// Held during each write, so that no line of progress comes in between.
    private static let speaking = Mutex(())

    /// Whether the terminal understands no escape sequences.
    private static let isDumb = [nil, "", "dumb"].contains(
        Platform.environment("TERM").map { String(decoding: $0, as: UTF8.self) })

    /// The greatest width of a line. A line that wraps cannot be taken away.
    private static var columns: Int {
        let columns = Int(vaultfile_terminal_columns(FileDescriptor.standardError.rawValue))
        return columns > 1 ? columns - 1 : 79
    }

    /// Whether this process may write progress to its terminal: it is not a job in the background, whose line would
    /// appear in what the user types.
    private static var isInForeground: Bool {
        let group = tcgetpgrp(FileDescriptor.standardError.rawValue)
        // It is not the terminal that controls this process.
        return group == -1 || group == getpgrp()
    }

    /// Replaces the line.
    ///
    /// - Parameter line: Makes the text and its width, for the greatest width.
    static func show(_ line: (_ columns: Int) -> (text: String, width: Int)) {
        guard isInForeground else { return }
        let (text, width) = line(columns)
        // Not written while the lock of `Signals` is held: on a halted terminal, the thread that ends the program would
        // wait for the lock.
        speaking.withLock { _ in
            let before = Signals.undo.withLock { exchange(&$0.statusLine, with: Shown(text: text, width: width)) }
            let rest = isDumb ? String(repeating: " ", count: max(0, (before?.width ?? 0) - width)) : "\u{1B}[K"
            FileDescriptor.standardError.writeText("\r" + text + rest)
        }
    }

    /// Takes the line away.
    static func clear() {
        speaking.withLock { _ in _ = takeAway() }
    }

    /// Runs `body`, which writes to the terminal, and shows the line below that.
    static func above<R>(_ body: () throws -> R) rethrows -> R {
        try speaking.withLock { _ in
            let shown = takeAway()
            defer {
                if let shown {
                    Signals.undo.withLock { $0.statusLine = shown }
                    FileDescriptor.standardError.writeText(shown.text)
                }
            }
            return try body()
        }
    }

    private static func takeAway() -> Shown? {
        Signals.undo.withLock { state in
            let shown = exchange(&state.statusLine, with: nil)
            shown?.erase()
            return shown
        }
    }
}
