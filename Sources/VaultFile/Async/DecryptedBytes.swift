import SystemPackage
import VaultCrypto
import VaultFormat
public import VaultStream
internal import VaultSystem

extension Vault {
    /// Decrypts a sequence of bytes. Each element is decrypted when the consumer asks for it.
    ///
    ///     for try await bytes in Vault.decrypt(download, with: .key(key)) {
    ///         try await file.write(bytes)
    ///     }
    ///
    /// Every byte is authenticated before the consumer gets it. Only the end of the container shows that it is
    /// complete: trust the bytes as the whole plaintext only after the sequence has ended without an error.
    ///
    /// The sequence asks for the next part of the container after the consumer has taken all plaintext of the part
    /// before. So it holds one element, one record and 64 KiB of plaintext, even if a compressed container inflates to
    /// a thousand times its length. Each iterator uses a thread of the library until the sequence ends or the iterator
    /// is released.
    ///
    /// - Parameters:
    ///   - container: the container's bytes, in elements of any length.
    ///   - credentials: the keys, and limits on the cost of opening.
    ///   - onEnd: called with the health, the manifest and the header, before the sequence ends.
    /// - Returns: the plaintext. Iteration throws what ``VaultReader`` throws, what `container` throws, and
    ///   `CancellationError`.
    public static func decrypt<Container: AsyncSequence>(
        _ container: Container, with credentials: Credentials,
        onEnd: @escaping @Sendable (OpenedContainer) -> Void = { _ in }
    ) -> DecryptedBytes<Container> where Container.Element == [UInt8] {
        DecryptedBytes(container: container, credentials: credentials, onEnd: onEnd)
    }
}

/// The plaintext of a container that is a sequence of bytes. ``Vault/decrypt(_:with:onEnd:)`` returns it.
public struct DecryptedBytes<Container: AsyncSequence>: AsyncSequence where Container.Element == [UInt8] {
    let container: Container
    let credentials: Credentials
    let onEnd: @Sendable (OpenedContainer) -> Void

    /// Begins a new iteration.
    public func makeAsyncIterator() -> Iterator {
        Iterator(container.makeAsyncIterator(), Coroutine(credentials), onEnd)
    }

    /// Decrypts the next bytes when it is asked for them.
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

        /// The next bytes of plaintext, about 64 KiB or one record; nil at the end.
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
                // A sequence may end early because its task was cancelled. That is not the container's end.
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

/// A reader on its own thread. The thread pauses whenever it has plaintext or needs input.
///
/// A few bytes of a compressed container can inflate to gigabytes. A reader that returned all plaintext of one input at
/// once would need memory for that.
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

    /// Ends the thread.
    func stop() {
        phase.withLock { $0 = .over }
        exchange.answer(.stop)
    }

    /// Resumes the thread with an answer to its last event, and waits for its next event.
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
                throw VaultError(.memoryUnavailable, "the system has no more threads: \(error)", systemError: error)
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

/// Collects small pieces, so that the threads do not switch for each of them.
private struct Batch {
    private static let count = 1 << 16
    private let exchange: PieceExchange
    private var bytes: [UInt8] = []

    init(_ exchange: PieceExchange) {
        self.exchange = exchange
    }

    mutating func append(_ more: Span<UInt8>) throws {
        // A piece is as large as a chunk, which the container's maker chose. The array may grow to twice its size.
        try ByteBuffer.check(count: 2 * (bytes.count + more.count))
        bytes.append(more)
        if bytes.count >= Self.count { try flush() }
    }

    mutating func flush() throws {
        guard !bytes.isEmpty else { return }
        try exchange.put(output: bytes)
        bytes.removeAll(keepingCapacity: false)
    }
}

/// Connects a thread and a task. The thread sends an event and waits for the answer. The task answers and waits for the
/// next event. So one of them always waits, and at most one event is held.
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
        /// The task has released the iterator.
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
        switch answer(to: .wantsInput) {
        case .input(let bytes): bytes
        case .endOfInput: nil
        case .goOn, .stop: throw CancellationError()
        }
    }

    func put(output bytes: [UInt8]) throws {
        if case .stop = answer(to: .output(bytes)) { throw CancellationError() }
    }

    func end(_ result: Result<OpenedContainer?, any Error>) {
        put(.end(result))
    }

    private func answer(to event: Event) -> Answer {
        put(event)
        return state.wait { state in
            // A stop is final.
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
