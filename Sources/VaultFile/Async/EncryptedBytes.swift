import Synchronization
import SystemPackage
import VaultCrypto
public import VaultFormat
public import VaultStream

extension Vault {
    /// Encrypts a sequence of bytes. Each element is encrypted when the consumer asks for more of the container.
    ///
    ///     for try await bytes in Vault.encrypt(upload, for: [.key(key)]) {
    ///         try await connection.write(bytes)
    ///     }
    ///
    /// The sequence asks for the next plaintext after the consumer has taken all complete records. So it holds at most
    /// one element and one chunk.
    ///
    /// - Parameters:
    ///   - plaintext: the bytes, in elements of any length.
    ///   - recipients: who can open the container.
    ///   - options: of the container.
    ///   - onEnd: called with the manifest, before the sequence ends.
    /// - Returns: the container's bytes. Iteration throws what ``VaultWriter`` throws, what `plaintext` throws, and
    ///   `CancellationError`. The container is complete only if the sequence ends without an error.
    public static func encrypt<Plaintext: AsyncSequence>(
        _ plaintext: Plaintext, for recipients: [Recipient], options: SealOptions = SealOptions(),
        onEnd: @escaping @Sendable (Manifest) -> Void = { _ in }
    ) -> EncryptedBytes<Plaintext> where Plaintext.Element == [UInt8] {
        EncryptedBytes(plaintext: plaintext, recipients: recipients, options: options, onEnd: onEnd)
    }
}

/// A container that is a sequence of bytes. ``Vault/encrypt(_:for:options:onEnd:)`` returns it.
///
/// Each iteration makes another container, with another file key.
public struct EncryptedBytes<Plaintext: AsyncSequence>: AsyncSequence where Plaintext.Element == [UInt8] {
    let plaintext: Plaintext
    let recipients: [Recipient]
    let options: SealOptions
    let onEnd: @Sendable (Manifest) -> Void

    /// Begins a new container.
    public func makeAsyncIterator() -> Iterator {
        Iterator(
            plaintext: plaintext.makeAsyncIterator(), sealing: SealingInSteps(recipients, options), onEnd: onEnd)
    }

    /// Encrypts the next bytes when it is asked for them.
    public struct Iterator: AsyncIteratorProtocol {
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

        /// The next bytes of the container; nil at the end.
        ///
        /// - Throws: what ``VaultWriter`` throws, what the plaintext throws, `CancellationError`.
        public mutating func next() async throws -> [UInt8]? {
            guard !hasEnded else { return nil }
            do {
                return try await encryptMore()
            } catch {
                // Plaintext is lost. A container that went on would be complete and lack it.
                hasEnded = true
                throw error
            }
        }

        private mutating func encryptMore() async throws -> [UInt8]? {
            let sealing = sealing
            while true {
                if rest.isEmpty {
                    guard let more = try await plaintext.next() else {
                        // A sequence may end early because its task was cancelled. That is not the plaintext's end.
                        try Task.checkCancellation()
                        let end = try await ThreadExecutor.steps.run { try sealing.finish() }
                        hasEnded = true
                        onEnd(end.manifest)
                        return end.bytes
                    }
                    rest = more[...]
                }
                let step = rest.prefix(SealingInSteps.stepCount)
                rest = rest.dropFirst(step.count)
                let bytes = try await ThreadExecutor.steps.run { try sealing.write(step) }
                if !bytes.isEmpty { return bytes }
            }
        }
    }
}

extension EncryptedBytes: Sendable where Plaintext: Sendable {}

/// The writer of one iterator. The first step makes it, on a thread of the library, because passphrases are stretched
/// then.
final class SealingInSteps: Sendable {
    /// The most plaintext of one step, in bytes. A longer element takes several steps.
    static let stepCount = 1 << 18

    private let recipients: [Recipient]
    private let options: SealOptions
    private let writer = Mutex<VaultWriter?>(nil)

    init(_ recipients: [Recipient], _ options: SealOptions) {
        self.recipients = recipients
        self.options = options
    }

    /// - Returns: the bytes of the container that are complete.
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

/// Writes a container into a new file, in steps on threads of the library.
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
        var rest = plaintext[...]
        while !rest.isEmpty {
            let step = rest.prefix(SealingInSteps.stepCount)
            rest = rest.dropFirst(step.count)
            let bytes = try sealing.write(step)
            try file.withLock { try $0?.write(bytes.span) }
        }
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
