import Synchronization
import SystemPackage
import VaultCrypto
public import VaultFormat
public import VaultStream

extension Vault {
    /// A container of bytes as they come, made as it is asked for.
    ///
    ///     for try await bytes in Vault.encrypt(upload, for: [.key(key)]) {
    ///         try await connection.write(bytes)
    ///     }
    ///
    /// The next plaintext is asked for when all of the container that the plaintext before completes was taken: no more
    /// than one element and one chunk is held.
    ///
    /// - Parameters:
    ///   - plaintext: the bytes, in elements of any length.
    ///   - recipients: who can open the container.
    ///   - options: of the container.
    ///   - onEnd: called with the manifest, before the sequence ends.
    /// - Returns: the container's bytes. Iteration throws what ``VaultWriter`` throws, what `plaintext` throws, and
    ///   `CancellationError`. Only a sequence that ended without an error was a whole container.
    public static func encrypt<Plaintext: AsyncSequence>(
        _ plaintext: Plaintext, for recipients: [Recipient], options: SealOptions = SealOptions(),
        onEnd: @escaping @Sendable (Manifest) -> Void = { _ in }
    ) -> EncryptedBytes<Plaintext> where Plaintext.Element == [UInt8] {
        EncryptedBytes(plaintext: plaintext, recipients: recipients, options: options, onEnd: onEnd)
    }
}

/// The bytes of a container that is made as they are asked for; ``Vault/encrypt(_:for:options:onEnd:)`` makes it.
///
/// Each iteration makes a container of its own, with a file key of its own.
public struct EncryptedBytes<Plaintext: AsyncSequence>: AsyncSequence where Plaintext.Element == [UInt8] {
    let plaintext: Plaintext
    let recipients: [Recipient]
    let options: SealOptions
    let onEnd: @Sendable (Manifest) -> Void

    /// Begins a container.
    public func makeAsyncIterator() -> Iterator {
        Iterator(
            plaintext: plaintext.makeAsyncIterator(), sealing: SealingInSteps(recipients, options), onEnd: onEnd)
    }

    /// Encrypts as it is asked for bytes.
    public struct Iterator: AsyncIteratorProtocol {
        /// How much is encrypted before what came of it is given out, whatever the length of the elements.
        private static var stepCount: Int { 1 << 18 }

        var plaintext: Plaintext.AsyncIterator
        let sealing: SealingInSteps
        let onEnd: @Sendable (Manifest) -> Void
        private var rest: ArraySlice<UInt8> = []
        private var hasEnded = false

        init(
            plaintext: Plaintext.AsyncIterator, sealing: SealingInSteps, onEnd: @escaping @Sendable (Manifest) -> Void
        ) {
            self.plaintext = plaintext
            self.sealing = sealing
            self.onEnd = onEnd
        }

        /// The next bytes of the container, some kilobytes or a chunk; nil at its end.
        ///
        /// - Throws: what ``VaultWriter`` throws, what the plaintext throws, `CancellationError`.
        public mutating func next() async throws -> [UInt8]? {
            guard !hasEnded else { return nil }
            do {
                return try await encryptMore()
            } catch {
                // Bytes are lost: to go on would make a container that is complete and lacks them.
                hasEnded = true
                throw error
            }
        }

        private mutating func encryptMore() async throws -> [UInt8]? {
            let sealing = sealing
            while true {
                if rest.isEmpty {
                    guard let more = try await plaintext.next() else {
                        // A sequence may end because its task was cancelled: that is not the plaintext's end.
                        try Task.checkCancellation()
                        let end = try await ThreadExecutor.bounded.run { try sealing.finish() }
                        hasEnded = true
                        onEnd(end.manifest)
                        return end.bytes
                    }
                    rest = more[...]
                }
                let step = rest.prefix(Self.stepCount)
                rest = rest.dropFirst(step.count)
                let bytes = try await ThreadExecutor.bounded.run { try sealing.write(step) }
                if !bytes.isEmpty { return bytes }
            }
        }
    }
}

extension EncryptedBytes: Sendable where Plaintext: Sendable {}

/// A writer in the hands of one iterator. It is made on a thread of the library, where passphrases are stretched.
final class SealingInSteps: Sendable {
    private let recipients: [Recipient]
    private let options: SealOptions
    private let writer = Mutex<VaultWriter?>(nil)

    init(_ recipients: [Recipient], _ options: SealOptions) {
        self.recipients = recipients
        self.options = options
    }

    /// - Returns: what is complete.
    func write(_ plaintext: ArraySlice<UInt8>) throws -> [UInt8] {
        try writer.withLock { writer in
            if writer == nil { writer = try VaultWriter(for: recipients, options: options) }
            var bytes: [UInt8] = []
            try writer?.write(plaintext.span) { bytes.append($0) }
            return bytes
        }
    }

    /// - Returns: the rest of the container, and its manifest.
    func finish() throws -> (bytes: [UInt8], manifest: Manifest) {
        try writer.withLock { writer in
            if writer == nil { writer = try VaultWriter(for: recipients, options: options) }
            guard let last = writer.take() else { preconditionFailure("it was made just now") }
            var bytes: [UInt8] = []
            let manifest = try last.finish { bytes.append($0) }
            return (bytes, manifest)
        }
    }
}

/// A container that is written into a new file, step by step, each on a thread of the library.
final class SealingToFile: Sendable {
    private let path: FilePath
    private let isReplacing: Bool
    private let sealing: SealingInSteps
    private let file = Mutex<OutputFile?>(nil)

    init(_ path: FilePath, isReplacing: Bool, _ recipients: [Recipient], _ options: SealOptions) {
        self.path = path
        self.isReplacing = isReplacing
        sealing = SealingInSteps(recipients, options)
    }

    func start() throws {
        try file.withLock { $0 = try OutputFile(at: path, replacing: isReplacing) }
    }

    func write(_ plaintext: [UInt8]) throws {
        let bytes = try sealing.write(plaintext[...])
        try file.withLock { try $0?.write(bytes.span) }
    }

    func finish() throws -> Manifest {
        let (bytes, manifest) = try sealing.finish()
        try file.withLock { file in
            try file?.write(bytes.span)
            try file.take()?.commit()
        }
        return manifest
    }
}
