import Synchronization
import VaultFile

/// A stream that a C program pushes bytes into and takes bytes from. Calls wait for each other.
final class StreamValue<Machine: StreamMachine>: Sendable where Machine: ~Copyable {
    private struct State: ~Copyable {
        /// Nil once it is finished.
        var machine: Machine?
        /// What had no room in the caller's memory.
        var waiting = GrowingBytes()
        /// The first error. Every later call gives it again.
        var failure: (any Error)?

        init(_ machine: consuming Machine) {
            self.machine = consume machine
        }
    }

    private let state: Mutex<State>

    init(_ machine: consuming sending Machine) {
        state = Mutex(State(machine))
    }

    /// Takes bytes, and fills `output` with what is ready.
    func update(_ bytes: Span<UInt8>, _ output: inout Output) throws {
        try state.withLock { state in
            state.waiting.take(&output)
            // The bytes that were ready before an error are right, and come out before it.
            if let failure = state.failure {
                guard output.count > 0 else { throw failure }
                return
            }
            guard bytes.count > 0 else { return }
            guard var machine = state.machine.take() else { throw Failure.invalid("the stream is finished") }
            do {
                try Self.run(&state.waiting, &output) { sink in try machine.take(bytes, to: sink) }
                state.machine = consume machine
            } catch {
                state.failure = error
                // Without them the caller would have a hole in what it gets.
                guard output.count == 0, state.waiting.count == 0 else { return }
                throw error
            }
        }
    }

    func finish() throws {
        try state.withLock { state in
            if let failure = state.failure { throw failure }
            var last = state.machine.take()
            guard last != nil else { throw Failure.invalid("the stream is finished") }
            do {
                var none = try unsafe Output(nil, 0)
                try Self.run(&state.waiting, &none) { sink in try last.take()?.finish(to: sink) }
            } catch {
                state.failure = error
                throw error
            }
        }
    }

    /// Runs `body` with a sink that fills `output`, and keeps what has no room.
    private static func run(
        _ waiting: inout GrowingBytes, _ output: inout Output, _ body: ((Span<UInt8>) throws -> Void) throws -> Void
    ) throws {
        try body { piece in
            let taken = waiting.count == 0 ? output.put(piece) : 0
            let rest = piece.extracting(taken...)
            guard rest.count > 0 else { return }
            guard waiting.count + rest.count <= mostWaiting else {
                throw Failure(
                    name: "limitExceeded", message: "one piece of the stream gives more than 1 GiB of output")
            }
            try waiting.append(rest)
        }
    }
}

/// The most bytes that wait to be taken. A record of a compressed container may hold a thousand times its size.
private let mostWaiting = 1 << 30

/// What a stream does with its bytes.
protocol StreamMachine: ~Copyable, Sendable {
    mutating func take(_ bytes: Span<UInt8>, to sink: (Span<UInt8>) throws -> Void) throws
    consuming func finish(to sink: (Span<UInt8>) throws -> Void) throws
}

struct Encrypting: ~Copyable, StreamMachine {
    private var writer: VaultWriter

    init(_ writer: consuming VaultWriter) {
        self.writer = writer
    }

    mutating func take(_ bytes: Span<UInt8>, to sink: (Span<UInt8>) throws -> Void) throws {
        try writer.write(bytes, to: sink)
    }

    consuming func finish(to sink: (Span<UInt8>) throws -> Void) throws {
        try writer.finish(to: sink)
    }
}

struct Decrypting: ~Copyable, StreamMachine {
    private var reader: VaultReader

    init(_ reader: consuming VaultReader) {
        self.reader = reader
    }

    mutating func take(_ bytes: Span<UInt8>, to sink: (Span<UInt8>) throws -> Void) throws {
        try reader.push(bytes, to: sink)
    }

    consuming func finish(to sink: (Span<UInt8>) throws -> Void) throws {
        _ = try reader.finish()
    }
}
