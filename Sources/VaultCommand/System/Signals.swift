internal import CPlatform
internal import Synchronization
internal import SystemPackage
internal import VaultArchive
internal import VaultFile
internal import VaultSystem

/// Clean-up when a signal ends the program.
///
/// The signals are blocked in every thread. One thread waits for them; unlike a signal handler it may take locks,
/// remove files and restore the terminal.
enum Signals {
    /// What has to be undone. Code that changes the terminal and records the change here holds the lock over both
    /// steps, so that a signal cannot come between them.
    struct Undo {
        /// The terminal whose echo is off.
        var silencedTerminal: Terminal.Silenced?
        /// The line of progress that is shown on standard error.
        var statusLine: StatusLine.Shown?
        /// What to say if a signal ends a run over many inputs: how far it is. It takes no lock that another thread may
        /// hold.
        var interruption: (@Sendable () -> String?)?
        /// The text that is being edited.
        var text: EditedText?
        /// The folders that files are extracted in.
        var workshops: Workshops?
        /// What ends the work in order, for a run that only a signal ends. The first signal calls it, and a second one
        /// ends the program.
        var stop: (@Sendable () -> Void)?
        /// Whether an editor has the keyboard. What is typed there to interrupt it must not end this program.
        var ignoresKeyboard = false
    }

    static let undo = Mutex(Undo())

    private static let stopCount = Atomic(0)

    /// Changes whenever the process is stopped or continued.
    static var stops: Int { stopCount.load(ordering: .relaxed) }

    /// The signal settings that the program was started with. Child processes get them too.
    struct Inherited: Sendable {
        var blocked: SignalSet
        /// The signals with the default effect that this program ignores for itself.
        var changed: [Int32]
    }

    private static let inherited = Mutex<Inherited?>(nil)

    /// The signal settings before `start`; nil before that.
    static var atStart: Inherited? { inherited.withLock { $0 } }

    /// Makes a crash end the program without a report. On such a signal, Swift's runtime would print the contents of
    /// registers and stacks, which may include bytes of keys, to standard error. Call this before anything else.
    static func refuseCrashReports() {
        for number in [SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP, SIGABRT, SIGQUIT] where !isIgnored(number) {
            setEffect(of: number, ignored: false)
        }
    }

    /// Starts the thread that waits for signals. Call this once, before any other thread starts.
    ///
    /// - Throws: `Errno` if the system cannot start a thread.
    static func start() throws(Errno) {
        var changed: [Int32] = []
        // Then a closed pipe and a file size limit make `write` fail, and the usual clean-up follows. SIGIO comes when
        // another program opens a file on which this one has a lease (`RemovableInput`).
        for number in [SIGPIPE, SIGXFSZ, SIGIO] where !isIgnored(number) {
            setEffect(of: number, ignored: true)
            changed.append(number)
        }
        // If the parent process ignores SIGCHLD, this program inherits that and could not wait for its own children.
        if isIgnored(SIGCHLD) { setEffect(of: SIGCHLD, ignored: false) }
        // A signal that was ignored at the start stays ignored, as `nohup` wants.
        let taken = [SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGTSTP, SIGCONT].filter { !isIgnored($0) }
        // A background job that changes the terminal gets SIGTTOU, which would stop it while it holds the lock; only
        // SIGKILL could end it then. While SIGTTOU is blocked the change succeeds, so `Terminal` itself checks first
        // whether this job is in the foreground.
        let before = SignalSet(taken + [SIGTTOU]).block()
        let atStart = Inherited(blocked: before, changed: changed)
        inherited.withLock { $0 = atStart }
        try Thread.start { wait(for: SignalSet(taken)) }
    }

    /// Whether a closed pipe had its default effect when the program began: to end it silently.
    private static var closedPipeEnds: Bool {
        inherited.withLock { $0?.changed.contains(SIGPIPE) ?? false }
    }

    /// Ends the process if an error says that the reader of its output has closed the pipe, and SIGPIPE had its default
    /// effect when the program began.
    static func endIfClosedPipe(_ error: any Error) {
        let output = error as? VaultError
        let number = output?.code == .outputFailed ? output?.systemError : error as? Errno
        guard number == .brokenPipe, closedPipeEnds else { return }
        end(by: SIGPIPE)
    }

    /// Cleans up and ends the process by the signal `number`, so that its parent sees which signal it was.
    static func end(by number: Int32) -> Never {
        undo.withLock { state -> Never in
            if let silenced = state.silencedTerminal { silenced.leave() }
            state.statusLine?.erase()
            if number != SIGPIPE, let text = state.interruption?() {
                FileDescriptor.standardError.writeTextIfReady(text + "\n")
            }
            state.text?.end(by: number)
            state.workshops?.end()
            AgePlugins.endAll()
            UnfinishedFiles.removeAll()
            setEffect(of: number, ignored: false)
            SignalSet([number]).unblock()
            kill(getpid(), number)
            // The lock is never released: no other thread may use what has been undone.
            while true { pause() }
        }
    }

    private static func wait(for signals: SignalSet) -> Never {
        while true {
            let number = signals.wait()
            switch number {
            case SIGTSTP: stop()
            case SIGCONT:
                stopCount.add(1, ordering: .relaxed)
                undo.withLock { $0.silencedTerminal?.silenceAgain() }
            case SIGINT, SIGQUIT:
                if !undo.withLock({ $0.ignoresKeyboard }) { stopOrEnd(by: number) }
            case 1...: stopOrEnd(by: number)
            default: continue
            }
        }
    }

    /// Ends the work in order if it can be, else the process.
    private static func stopOrEnd(by number: Int32) {
        // On a thread of its own: it may take long, and this one waits for the next signal.
        guard let stop = undo.withLock({ exchange(&$0.stop, with: nil) }), (try? Thread.start(stop)) != nil else {
            end(by: number)
        }
    }

    /// Restores the terminal and stops the process. SIGCONT silences the terminal again, and the next progress shows its
    /// line again.
    private static func stop() {
        undo.withLock { state in
            state.silencedTerminal?.restore()
            exchange(&state.statusLine, with: nil)?.erase()
        }
        stopCount.add(1, ordering: .relaxed)
        SignalSet([SIGTSTP]).unblock()
        kill(getpid(), SIGTSTP)
        _ = SignalSet([SIGTSTP]).block()
        // Without a shell that could continue it, the system does not stop the process, and no SIGCONT comes. What is typed
        // next is still a passphrase.
        if !SignalSet([SIGCONT]).isPending { undo.withLock { $0.silencedTerminal?.silenceAgain() } }
    }

    private static func isIgnored(_ number: Int32) -> Bool {
        var action = sigaction()
        guard unsafe sigaction(number, nil, &action) == 0 else { return false }
        #if canImport(Darwin)
        let handler = unsafe action.__sigaction_u.__sa_handler
        #elseif canImport(Musl)
        let handler = unsafe action.__sa_handler.sa_handler
        #else
        let handler = unsafe action.__sigaction_handler.sa_handler
        #endif
        // Swift cannot compare functions. SIG_IGN is the address 1 on every system.
        return unsafe unsafeBitCast(handler, to: Int.self) == 1
    }

    private static func setEffect(of number: Int32, ignored: Bool) {
        vaultfile_ignore_signal(number, ignored ? 1 : 0)
    }
}

/// A set of signals.
struct SignalSet: @unchecked Sendable {
    private(set) var raw = sigset_t()

    init(_ numbers: [Int32]) {
        unsafe sigemptyset(&raw)
        for number in numbers { unsafe sigaddset(&raw, number) }
    }

    /// Blocks these signals in the calling thread and in the threads that it starts.
    ///
    /// - Returns: The signals that were blocked before.
    func block() -> SignalSet {
        var before = SignalSet([])
        var signals = raw
        unsafe pthread_sigmask(SIG_BLOCK, &signals, &before.raw)
        return before
    }

    func unblock() {
        var signals = raw
        unsafe pthread_sigmask(SIG_UNBLOCK, &signals, nil)
    }

    /// Whether one of these signals has come and waits.
    var isPending: Bool {
        var waiting = SignalSet([])
        unsafe sigpending(&waiting.raw)
        var signals = raw
        return (1...SIGSYS).contains { number in
            unsafe sigismember(&signals, number) == 1 && sigismember(&waiting.raw, number) == 1
        }
    }

    /// Waits for one of these signals and returns its number.
    func wait() -> Int32 {
        var signals = raw
        var number: Int32 = 0
        unsafe sigwait(&signals, &number)
        return number
    }
}
