internal import Synchronization
internal import SystemPackage
internal import VaultFile

/// The order in which several threads speak: that of the inputs, whichever of them is done first.
final class SpeakingOrder: Sendable {
    private struct State {
        /// Whose turn it is.
        var head = 0
        /// What is to be done at the turns of those that have come to their end.
        var ended: [Int: () -> Void] = [:]
        /// Whether a thread does so now.
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
    /// How many may be on their way: what they have to say is kept in memory.
    private let window: Int

    init(window: Int) {
        self.window = window
    }

    /// Waits until the one of this number may begin.
    func waitToBegin(_ number: Int) {
        state.wait { $0.head + window > number ? () : nil }
    }

    /// Waits until it is its turn.
    fileprivate func waitToSpeak(_ number: Int) {
        state.wait { $0.head == number ? () : nil }
    }

    fileprivate func isTurn(of number: Int) -> Bool {
        state.look { $0.head == number }
    }

    /// Ends the turn of this number: once those before it have ended, on whatever thread, `settle` is done, and the
    /// next one speaks.
    func end(_ number: Int, _ settle: @escaping () -> Void) {
        var next = state.withLock { state in
            // Nothing is kept where it is its turn, as it always is on one thread.
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

/// What is said while one input is worked on: at once where it is its turn, else kept until then.
final class Turn: Sendable {
    /// That of the work which the calling thread does.
    @TaskLocal static var current: Turn?

    /// Who has more to say waits for his turn: damage can have more places than there is memory.
    private static let maximumBytes = 1 << 15

    private struct Kept {
        var texts: [(Console.Text, Console)] = []
        var bytes = 0
        var status = ExitStatus.done
    }

    private let number: Int
    private let order: SpeakingOrder
    /// The progress of the run that this is a part of, where there is one line for all.
    let progress: RunProgress?
    private let kept = Mutex(Kept())
    /// Whether those before may be waiting for something that the thread has: then it waits for nobody's turn, and all
    /// that it says is kept.
    let isAwaited = Atomic(false)

    init(_ number: Int, in order: SpeakingOrder, progress: RunProgress?) {
        self.number = number
        self.order = order
        self.progress = progress
    }

    /// Says something, now or at its turn.
    func say(_ text: Console.Text, on console: Console) {
        let bytes = kept.withLock { kept in
            kept.texts.append((text, console))
            kept.bytes += text.text.utf8.count
            return kept.bytes
        }
        if bytes > Self.maximumBytes, !isAwaited.load(ordering: .relaxed) { order.waitToSpeak(number) }
        if order.isTurn(of: number) { speak() }
    }

    /// Says what was kept: to be called at its turn.
    ///
    /// - Returns: What this ends with where a result could not be written, `done` else.
    @discardableResult
    func speak() -> ExitStatus {
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
