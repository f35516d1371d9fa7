internal import Synchronization
internal import SystemPackage
internal import VaultFile
internal import VaultSystem

/// Writes results and messages in the order of the inputs, even if inputs finish in another order.
final class InputOrder: Sendable {
    private struct State {
        /// The first input that is not settled. Its messages are written at once.
        var head = 0
        /// What settles the later inputs that are done.
        var ended: [Int: () -> Void] = [:]
        /// Whether a thread settles the head.
        var isSettling = false

        mutating func begin(_ settle: @escaping () -> Void) -> (() -> Void)? {
            precondition(!isSettling, "each ends once")
            isSettling = true
            return settle
        }

        mutating func beginNext() -> (() -> Void)? {
            guard !isSettling, let settle = ended.removeValue(forKey: head) else { return nil }
            return begin(settle)
        }
    }

    private let state = Monitor(State())
    /// How many inputs may be in progress or wait at a time: their messages are kept in memory.
    private let window: Int

    init(window: Int) {
        self.window = window
    }

    /// Waits until the work on the input with this number may begin.
    func waitToBegin(_ number: Int) {
        state.wait { $0.head + window > number ? () : nil }
    }

    /// Waits until all inputs before this one are settled.
    fileprivate func waitForHead(_ number: Int) {
        state.wait { $0.head == number ? () : nil }
    }

    fileprivate func isHead(_ number: Int) -> Bool {
        state.withLock { $0.head == number }
    }

    /// Ends the work on an input. `settle` runs, on any thread, when all inputs before it are settled.
    func end(_ number: Int, _ settle: @escaping () -> Void) {
        var next = state.withLock { state in
            // The head settles at once. On one thread, every input is the head.
            guard state.head != number else { return state.begin(settle) }
            state.ended[number] = settle
            return state.beginNext()
        }
        while let settle = next {
            settle()
            next = state.withLock { state in
                state.isSettling = false
                state.head += 1
                return state.beginNext()
            }
        }
    }
}

/// The results and messages about one input. They are written at once if all inputs before it are settled, else kept
/// until then.
final class InputMessages: Sendable {
    /// The messages of the input that the calling thread works on; nil outside that work.
    @TaskLocal static var current: InputMessages?

    /// An input with more kept messages than this waits for its turn: damage can have more places than memory can hold.
    private static let maximumBytes = 1 << 15

    private struct Kept {
        var texts: [(Console.Text, Console)] = []
        var bytes = 0
        var status = ExitStatus.done
    }

    private let number: Int
    /// What messages call the input.
    let input: Failure.Subject?
    private let order: InputOrder
    /// The progress of the input, if one line shows the progress of all inputs.
    let progress: InputProgress?
    private let kept = Mutex(Kept())
    /// Whether earlier inputs may wait for something that this thread holds. Then the thread must not wait for them,
    /// and all messages are kept.
    let isAwaited = Atomic(false)

    init(_ number: Int, about input: Failure.Subject? = nil, in order: InputOrder, progress: InputProgress?) {
        self.number = number
        self.input = input
        self.order = order
        self.progress = progress
    }

    /// Writes a text or keeps it.
    func add(_ text: Console.Text, on console: Console) {
        let bytes = kept.withLock { kept in
            kept.texts.append((text, console))
            kept.bytes += text.text.utf8.count
            return kept.bytes
        }
        if bytes > Self.maximumBytes, !isAwaited.load(ordering: .relaxed) { order.waitForHead(number) }
        if order.isHead(number) { write() }
    }

    /// Writes what was kept. Call it when all inputs before this one are settled.
    ///
    /// - Returns: `done`, or the status of the input if a result could not be written.
    @discardableResult
    func write() -> ExitStatus {
        let texts = kept.withLock { kept in
            defer { (kept.texts, kept.bytes) = ([], 0) }
            return kept.texts
        }
        for (text, console) in texts {
            let status = console.put(text)
            kept.withLock { if $0.status == .done { $0.status = status } }
        }
        return kept.withLock { $0.status }
    }
}
