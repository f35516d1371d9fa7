import Synchronization
import VaultCrypto
import VaultFile
import VaultFormat
import VaultStream

/// An item that is being written. It is valid in the closure that gets it, and appears when the closure returns.
///
/// If its class is `complete`, it is dropped by ``VaultStore/lock()``: each later call throws `locked`, and nothing
/// appears.
public final class ItemWriter: Revocable {
    private struct State: ~Copyable {
        var writer: VaultWriter?
        var length: UInt64 = 0
        var isOver = false
    }

    let protection: ItemProtection
    private let state: Mutex<State>
    private let output: PendingFile

    init(_ writer: consuming VaultWriter, _ protection: ItemProtection, to output: PendingFile) {
        self.protection = protection
        self.output = output
        state = Mutex(State(writer: consume writer))
    }

    func revoke() { state.withLock { $0.writer = nil } }

    /// Drops the keys, because the writing is over.
    func end() {
        state.withLock { state in
            state.isOver = state.isOver || state.writer != nil
            state.writer = nil
        }
    }

    private static func error(_ state: borrowing State, _ protection: ItemProtection) -> any Error {
        state.isOver
            ? VaultError(.invalidArgument, "the writer of the item has ended") : StoreError.locked(protection)
    }

    /// Encrypts the next bytes of the content.
    ///
    /// - Throws: ``StoreError`` with `locked`; `VaultError` with `outputFailed`, `tooLarge`.
    public func write(_ bytes: Span<UInt8>) throws {
        var taken = 0
        while taken < bytes.count {
            let piece = bytes.extracting(taken..<min(taken + Self.pieceBytes, bytes.count))
            try write(piece: piece)
            taken += piece.count
        }
    }

    /// The most bytes that are encrypted while `revoke` waits.
    private static let pieceBytes = 512 << 10

    private func write(piece: Span<UInt8>) throws {
        // Written outside: a disk that hangs must not delay the lock of the store.
        var sealed: [UInt8] = []
        try state.withLock { state in
            guard state.writer != nil else { throw Self.error(state, protection) }
            try state.writer?.write(piece) { sealed.append($0) }
            state.length += UInt64(piece.count)
        }
        try output.write(sealed.span)
    }

    /// Completes the container, which is neither durable nor has a name yet.
    ///
    /// - Returns: the length of the content.
    func finish() throws -> UInt64 {
        var sealed: [UInt8] = []
        let length = try state.withLock { state in
            guard let writer = state.writer.take() else { throw Self.error(state, protection) }
            state.isOver = true
            try writer.finish { sealed.append($0) }
            return state.length
        }
        try output.write(sealed.span)
        return length
    }
}

/// The file of a new item, which has no name yet.
final class PendingFile: Sendable {
    private struct State: ~Copyable {
        var file: OutputFile?
    }

    private let state: Mutex<State>
    /// Keeps the folder open that the file is in.
    private let folder: StoreFolder

    init(_ file: consuming OutputFile, in folder: StoreFolder) {
        self.folder = folder
        state = Mutex(State(file: consume file))
    }

    deinit { drop() }

    private static let isOver = VaultError(.invalidArgument, "the writer of the item has ended")

    func write(_ bytes: Span<UInt8>) throws {
        try state.withLock { state in
            guard state.file != nil else { throw Self.isOver }
            try state.file?.write(bytes)
        }
    }

    func sync() throws {
        try state.withLock { state in
            guard state.file != nil else { throw Self.isOver }
            try state.file?.descriptor.synchronizeFile()
        }
    }

    /// Gives the file its name.
    func appear(replacing isReplacing: Bool) throws {
        try state.withLock { state in
            guard var file = state.file.take() else { throw Self.isOver }
            file.replaces(isReplacing)
            try file.commit(synchronize: false)
        }
    }

    /// Drops the file, unless it has its name.
    func drop() { state.withLock { $0.file = nil } }
}
