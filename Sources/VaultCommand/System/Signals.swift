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

/// What has to be undone when a signal ends the program, and the thread that does it.
///
/// The signals are blocked in every thread and taken by one that waits for them. It is an ordinary thread, so it may
/// lock, unlink and restore where a signal handler may not.
enum Signals {
    /// What is to be undone. Whoever changes it and the world together, as by making a temporary file and noting its
    /// name, holds the lock over both, so that no signal comes between them.
    struct Undo {
        /// The terminal whose echo is off.
        var silencedTerminal: Terminal.Silenced?
        /// Whether a line of progress stands on standard error.
        var progressShown = false
    }

    /// Guards all of it.
    static let undo = Mutex(Undo())

    /// How the signals stood when the program began: what a child is to start with.
    struct Inherited: Sendable {
        var blocked: SignalSet
        /// Those whose effect was the default one and which this program changed for itself.
        var changed: [Int32]
    }

    private static let inherited = Mutex<Inherited?>(nil)

    /// How the signals stood before `start`.
    static var atStart: Inherited? { inherited.withLock { $0 } }

    /// Gives the signals of a crash their default effect back, which ends the program. The language's runtime takes
    /// them to print what stood in registers and on stacks, bytes of keys among it, to wherever standard error goes;
    /// and a program that was told to end goes on. To be called before anything else.
    static func refuseCrashReports() {
        for number in [SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP, SIGABRT, SIGQUIT] where !isIgnored(number) {
            setEffect(of: number, ignored: false)
        }
    }

    /// Begins to take signals. To be called once, before there is another thread.
    ///
    /// - Throws: what the system says that has no thread to give.
    static func start() throws(Errno) {
        var changed: [Int32] = []
        // A closed pipe and a file size limit are errors of `write`, to be cleaned up after like any other.
        for number in [SIGPIPE, SIGXFSZ] where !isIgnored(number) {
            setEffect(of: number, ignored: true)
            changed.append(number)
        }
        // A parent that ignores its children's ends would hide from this program those of its own.
        if isIgnored(SIGCHLD) { setEffect(of: SIGCHLD, ignored: false) }
        // What was ignored at the start stays so: `nohup` means it.
        let taken = [SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGTSTP, SIGCONT].filter { !isIgnored($0) }
        // A job in the background that set the terminal would be stopped with the lock held, beyond the reach of any
        // signal but SIGKILL; blocked, SIGTTOU lets it go on, and `Terminal` looks for itself whose turn it is.
        let before = SignalSet(taken + [SIGTTOU]).block()
        let atStart = Inherited(blocked: before, changed: changed)
        inherited.withLock { $0 = atStart }
        try Thread.start { wait(for: SignalSet(taken)) }
    }

    /// Whether a closed pipe was to end the program silently, as is usual.
    private static var closedPipeEnds: Bool {
        inherited.withLock { $0?.changed.contains(SIGPIPE) ?? false }
    }

    /// Ends the process if an error says that nobody reads its output any more, and that ended processes when it began.
    static func endIfClosedPipe(_ error: any Error) {
        let output = error as? VaultError
        let number = output?.code == .outputFailed ? output?.systemError : error as? Errno
        guard number == .brokenPipe, closedPipeEnds else { return }
        end(by: SIGPIPE)
    }

    /// Undoes what is unfinished and ends the process by the signal `number`, so that its parent sees which it was.
    static func end(by number: Int32) -> Never {
        undo.withLock { state -> Never in
            if let silenced = state.silencedTerminal { silenced.leave() }
            if state.progressShown { Terminal.clearLine() }
            UnfinishedFiles.removeAll()
            setEffect(of: number, ignored: false)
            SignalSet([number]).unblock()
            kill(getpid(), number)
            // Nothing may go on with what has been undone, so the lock is never let go of.
            while true { pause() }
        }
    }

    private static func wait(for signals: SignalSet) -> Never {
        while true {
            let number = signals.wait()
            switch number {
            case SIGTSTP: stop()
            case SIGCONT: undo.withLock { $0.silencedTerminal?.silenceAgain() }
            case 1...: end(by: number)
            default: continue
            }
        }
    }

    /// Lets the process be stopped with its terminal as it was. SIGCONT silences the terminal again, whatever stopped
    /// it.
    private static func stop() {
        undo.withLock { $0.silencedTerminal?.restore() }
        SignalSet([SIGTSTP]).unblock()
        kill(getpid(), SIGTSTP)
        _ = SignalSet([SIGTSTP]).block()
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
        // Functions cannot be compared; SIG_IGN is the address 1 everywhere.
        return unsafe unsafeBitCast(handler, to: Int.self) == 1
    }

    private static func setEffect(of number: Int32, ignored: Bool) {
        _ = signal(number, ignored ? SIG_IGN : SIG_DFL)
    }
}

/// A set of signals.
struct SignalSet: @unchecked Sendable {
    private(set) var raw = sigset_t()

    init(_ numbers: [Int32]) {
        unsafe sigemptyset(&raw)
        for number in numbers { unsafe sigaddset(&raw, number) }
    }

    /// Blocks these in the calling thread and those that it starts.
    ///
    /// - Returns: What was blocked before.
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

    /// Waits until one of these comes, and takes it.
    func wait() -> Int32 {
        var signals = raw
        var number: Int32 = 0
        unsafe sigwait(&signals, &number)
        return number
    }
}
