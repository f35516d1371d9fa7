import SystemPackage
import VaultCrypto
import VaultFormat
public import VaultStream
internal import VaultSystem

extension Vault {
    /// The plaintext of a container whose bytes come, decrypted as it is asked for.
    ///
    ///     for try await bytes in Vault.decrypt(download, with: .key(key)) {
    ///         try await file.write(bytes)
    ///     }
    ///
    /// Every byte is authentic when it is given out. That the container is complete shows at its end only: what was
    /// given out may be trusted as the whole only after the sequence has ended without an error.
    ///
    /// The next part of the container is asked for when all plaintext of the part before was taken. One element, one
    /// record and 64 KiB of plaintext are held, also where a compressed container inflates to a thousand times its
    /// length. Each iteration holds a thread of the library until it ends or is let go of.
    ///
    /// - Parameters:
    ///   - container: the container's bytes, in elements of any length.
    ///   - credentials: what opens the container, and what that may cost.
    ///   - onEnd: called with what was opened, before the sequence ends.
    /// - Returns: the plaintext. Iteration throws what ``VaultReader`` throws, what `container` throws, and
    ///   `CancellationError`.
    public static func decrypt<Container: AsyncSequence>(
        _ container: Container, with credentials: Credentials,
        onEnd: @escaping @Sendable (OpenedContainer) -> Void = { _ in }
    ) -> DecryptedBytes<Container> where Container.Element == [UInt8] {
        DecryptedBytes(container: container, credentials: credentials, onEnd: onEnd)
    }
}

/// The plaintext of a container whose bytes come; ``Vault/decrypt(_:with:onEnd:)`` makes it.
public struct DecryptedBytes<Container: AsyncSequence>: AsyncSequence where Container.Element == [UInt8] {
    let container: Container
    let credentials: Credentials
    let onEnd: @Sendable (OpenedContainer) -> Void

    /// Begins to read the container.
    public func makeAsyncIterator() -> Iterator {
        Iterator(container.makeAsyncIterator(), Coroutine(credentials), onEnd)
    }

    /// Decrypts as it is asked for bytes.
    public struct Iterator: AsyncIteratorProtocol {
        private var container: Container.AsyncIterator
        private let coroutine: Coroutine
        private let onEnd: @Sendable (OpenedContainer) -> Void

        fileprivate init(
            _ container: Container.AsyncIterator, _ coroutine: Coroutine,
            _ onEnd: @escaping @Sendable (OpenedContainer) -> Void
        ) {
            self.container = container
            self.coroutine = coroutine
            self.onEnd = onEnd
        }

        /// The next bytes of plaintext, 64 KiB or one record; nil at its end.
        ///
        /// - Throws: what ``VaultReader`` throws, what the container's sequence throws, `CancellationError`.
        public mutating func next() async throws -> [UInt8]? {
            var answer = PieceExchange.Answer.goOn
            while true {
                try Task.checkCancellation()
                switch try await coroutine.resume(answer) {
                case .output(let bytes):
                    return bytes
                case .wantsInput:
                    answer = try await nextInput()
                case .end(.success(let opened)):
                    if let opened { onEnd(opened) }
                    return nil
                case .end(.failure(let error)):
                    throw error
                }
            }
        }

        private mutating func nextInput() async throws -> PieceExchange.Answer {
            do {
                if let more = try await container.next() { return .input(more) }
                // A sequence may end because its task was cancelled: that is not the container's end.
                try Task.checkCancellation()
                return .endOfInput
            } catch {
                coroutine.stop()
                throw error
            }
        }
    }
}

extension DecryptedBytes: Sendable where Container: Sendable {}

/// A reader on a thread of its own that stops wherever it has something to give or needs something: it inflates what a
/// few bytes of the container can make without end, and so cannot run to the end of a step before it gives that out.
private final class Coroutine: Sendable {
    private let exchange: PieceExchange
    private let credentials: Credentials
    private let phase = Monitor(Phase.new)

    private enum Phase {
        case new, running, over
    }

    init(_ credentials: Credentials) {
        self.credentials = credentials
        exchange = PieceExchange()
    }

    deinit {
        exchange.answer(.stop)
    }

    /// Ends the thread. There is nothing more to come.
    func stop() {
        phase.withLock { $0 = .over }
        exchange.answer(.stop)
    }

    /// Lets the thread go on with an answer to what it has said last, and waits until it says something.
    func resume(_ answer: PieceExchange.Answer) async throws -> PieceExchange.Event {
        let before = phase.withLock { phase in
            defer { if phase == .new { phase = .running } }
            return phase
        }
        switch before {
        case .over:
            return .end(.success(nil))
        case .running:
            exchange.answer(answer)
        case .new:
            let (exchange, credentials) = (exchange, credentials)
            let (calls, engine) = (SystemCalls.current, RecordCipher.engineOfThisTask)
            do {
                try Thread.start {
                    SystemCalls.$current.withValue(calls) {
                        RecordCipher.withEngine(engine) { exchange.end(Self.decrypt(exchange, credentials)) }
                    }
                }
            } catch {
                phase.withLock { $0 = .over }
                throw VaultError(.inputFailed, "the system has no thread to give: \(error)", systemError: error)
            }
        }
        let event = await exchange.event()
        if case .end = event { phase.withLock { $0 = .over } }
        return event
    }

    private static func decrypt(
        _ exchange: PieceExchange, _ credentials: Credentials
    ) -> Result<OpenedContainer?, any Error> {
        Result {
            var reader = VaultReader(with: credentials)
            var output = Batch(exchange)
            while let part = try exchange.input() {
                try reader.push(part.span) { try output.append($0) }
                try output.flush()
            }
            return try reader.finish()
        }
    }
}

/// Collects small pieces, so that threads do not take turns for each of them.
private struct Batch {
    private static let count = 1 << 16
    private let exchange: PieceExchange
    private var bytes: [UInt8] = []

    init(_ exchange: PieceExchange) {
        self.exchange = exchange
    }

    mutating func append(_ more: Span<UInt8>) throws {
        bytes.append(more)
        if bytes.count >= Self.count { try flush() }
    }

    mutating func flush() throws {
        guard !bytes.isEmpty else { return }
        try exchange.give(bytes)
        bytes.removeAll(keepingCapacity: false)
    }
}

/// What a thread and a task hand to each other: the thread says something and waits for an answer, the task answers and
/// waits for what is said next. So one of them waits at any time, and nothing piles up.
private final class PieceExchange: Sendable {
    enum Event: Sendable {
        case output([UInt8])
        case wantsInput
        case end(Result<OpenedContainer?, any Error>)
    }

    enum Answer: Sendable {
        case goOn
        case input([UInt8])
        case endOfInput
        /// The task is gone.
        case stop
    }

    private struct State {
        var event: Event?
        var answer: Answer?
        var waiter: CheckedContinuation<Event, Never>?
    }

    private let state = Monitor(State())

    // MARK: The thread's side

    /// - Returns: nil at the end of the input.
    func input() throws -> [UInt8]? {
        switch say(.wantsInput) {
        case .input(let bytes): bytes
        case .endOfInput: nil
        case .goOn, .stop: throw CancellationError()
        }
    }

    func give(_ bytes: [UInt8]) throws {
        if case .stop = say(.output(bytes)) { throw CancellationError() }
    }

    func end(_ result: Result<OpenedContainer?, any Error>) {
        put(.end(result))
    }

    private func say(_ event: Event) -> Answer {
        put(event)
        return state.wait { state in
            // A task that is gone stays gone.
            if case .stop = state.answer { return .stop }
            return state.answer.take()
        }
    }

    private func put(_ event: Event) {
        let waiter = state.withLock { state in
            let waiter = state.waiter.take()
            if waiter == nil { state.event = event }
            return waiter
        }
        waiter?.resume(returning: event)
    }

    // MARK: The task's side

    func answer(_ answer: Answer) {
        state.withLock { $0.answer = answer }
    }

    func event() async -> Event {
        await withCheckedContinuation { continuation in
            let event = state.withLock { state in
                let event = state.event.take()
                if event == nil { state.waiter = continuation }
                return event
            }
            if let event { continuation.resume(returning: event) }
        }
    }
}
