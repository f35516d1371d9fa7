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
        state.withLock { $0.ended[number] = settle }
        while let settle = state.withLock({ state -> (() -> Void)? in
            guard !state.isSettling, let settle = state.ended.removeValue(forKey: state.head) else { return nil }
            state.isSettling = true
            return settle
        }) {
            settle()
            state.withLock { state in
                state.isSettling = false
                state.head += 1
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
