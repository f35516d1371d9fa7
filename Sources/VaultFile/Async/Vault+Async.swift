public import SystemPackage
public import VaultFormat
public import VaultStream

// The asynchronous calls do what the synchronous ones of the same name do, on threads of the library. Key providers,
// byte sources and progress closures are called on these threads, too, and may wait there.
//
// A cancelled task ends its call soon, with a `CancellationError`: between two pieces of the work, and within a tenth
// of a second while it waits for a pipe. A passphrase that is being stretched is stretched to the end.

extension Vault {
    /// Encrypts everything that `input` gives, as the synchronous call does, and lets the task wait for it.
    ///
    /// - Parameters:
    ///   - input: read from where it stands to its end.
    ///   - output: gets the container.
    ///   - recipients: who can open the container.
    ///   - options: of the container.
    ///   - jobs: the number of threads that do the work, from 1 to `Vault.maximumJobs`; nil for one per processor.
    ///   - onProgress: called on a thread of the library now and then, with the bytes of plaintext that are encrypted.
    /// - Returns: the manifest.
    /// - Throws: what the synchronous call throws; `CancellationError` if the task was cancelled. What has been written
    ///   then is no container.
    @discardableResult
    public static func encrypt(
        from input: FileDescriptor, to output: FileDescriptor, for recipients: [Recipient],
        options: SealOptions = SealOptions(), jobs: Int? = nil,
        onProgress: @Sendable (UInt64) throws -> Void = { _ in }
    ) async throws -> Manifest {
        try await ThreadExecutor.unbounded.run {
            try encrypt(
                from: input, to: output, for: recipients, options: options, jobs: jobs, onProgress: onProgress)
        }
    }

    /// Decrypts the container that `input` gives, as the synchronous call does, and lets the task wait for it.
    ///
    /// - Parameters:
    ///   - input: a regular file at its beginning is opened by both its ends; anything else is read as it comes.
    ///   - output: gets the plaintext.
    ///   - credentials: what opens the container, and what that may cost.
    ///   - jobs: the number of threads that do the work, from 1 to `Vault.maximumJobs`; nil for one per processor.
    ///   - onProgress: called on a thread of the library now and then, with the bytes of plaintext that are written.
    /// - Returns: what was opened.
    /// - Throws: what the synchronous call throws; `CancellationError` if the task was cancelled. What has been written
    ///   then is authentic, and may be a part of the whole.
    @discardableResult
    public static func decrypt(
        from input: FileDescriptor, to output: FileDescriptor, with credentials: Credentials,
        jobs: Int? = nil, onProgress: @Sendable (UInt64) throws -> Void = { _ in }
    ) async throws -> OpenedContainer {
        try await ThreadExecutor.unbounded.run {
            try decrypt(
                from: input, to: output, with: credentials, jobs: jobs, onProgress: onProgress)
        }
    }

    /// Encrypts a file into a new one, as the synchronous call does, and lets the task wait for it.
    ///
    /// - Parameters:
    ///   - input: the file to encrypt.
    ///   - output: where the container comes to be.
    ///   - isReplacing: whether a file that has this name is replaced.
    ///   - recipients: who can open the container.
    ///   - options: of the container.
    /// - Returns: the manifest.
    /// - Throws: what the synchronous call throws; `CancellationError` if the task was cancelled. Nothing has changed
    ///   then.
    @discardableResult
    public static func encryptFile(
        at input: FilePath, to output: FilePath, replacing isReplacing: Bool = false, for recipients: [Recipient],
        options: SealOptions = SealOptions()
    ) async throws -> Manifest {
        try await ThreadExecutor.unbounded.run {
            try encryptFile(at: input, to: output, replacing: isReplacing, for: recipients, options: options)
        }
    }

    /// Decrypts a file into a new one, as the synchronous call does, and lets the task wait for it.
    ///
    /// - Parameters:
    ///   - input: the container.
    ///   - output: where the plaintext comes to be.
    ///   - isReplacing: whether a file that has this name is replaced.
    ///   - credentials: what opens the container, and what that may cost.
    /// - Returns: what was opened.
    /// - Throws: what the synchronous call throws; `CancellationError` if the task was cancelled. Nothing has changed
    ///   then.
    @discardableResult
    public static func decryptFile(
        at input: FilePath, to output: FilePath, replacing isReplacing: Bool = false, with credentials: Credentials
    ) async throws -> OpenedContainer {
        try await ThreadExecutor.unbounded.run {
            try decryptFile(
                at: input, to: output, replacing: isReplacing, with: credentials)
        }
    }

    /// Makes a container out of bytes as they come, in a file that appears complete or not at all, with mode 0600.
    ///
    ///     try await Vault.write(upload, to: path, for: [.key(key)])
    ///
    /// The next bytes are asked for when those before are encrypted and written: no more than one element and one chunk
    /// is held.
    ///
    /// - Parameters:
    ///   - plaintext: the bytes, in elements of any length.
    ///   - output: where the container comes to be.
    ///   - isReplacing: whether a file that has this name is replaced.
    ///   - recipients: who can open the container.
    ///   - options: of the container.
    /// - Returns: the manifest.
    /// - Throws: `VaultError` as ``write(to:replacing:for:options:_:)`` throws it, what `plaintext` throws, and
    ///   `CancellationError`. Nothing has changed then.
    @discardableResult
    public static func write<Plaintext: AsyncSequence>(
        _ plaintext: Plaintext, to output: FilePath, replacing isReplacing: Bool = false, for recipients: [Recipient],
        options: SealOptions = SealOptions()
    ) async throws -> Manifest where Plaintext.Element == [UInt8] {
        let sealing = SealingToFile(output, isReplacing: isReplacing, recipients, options)
        try await ThreadExecutor.bounded.run { try sealing.start() }
        for try await bytes in plaintext {
            try await ThreadExecutor.bounded.run { try sealing.write(bytes) }
        }
        // A sequence may end because its task was cancelled: that is not the plaintext's end.
        try Task.checkCancellation()
        return try await ThreadExecutor.bounded.run { try sealing.finish() }
    }

    /// Changes who can open a container, as the synchronous call does, and lets the task wait for it.
    ///
    /// - Parameters:
    ///   - path: of the container.
    ///   - change: who comes, and who goes.
    ///   - credentials: what opens the container as it is.
    ///   - options: what to do in doubt.
    /// - Returns: what was done.
    /// - Throws: what the synchronous call throws; `CancellationError` if the task was cancelled before the change was
    ///   begun, or while a container was copied: nothing has changed then.
    @discardableResult
    public static func rotate(
        at path: FilePath, _ change: KeyChange, with credentials: Credentials,
        options: RotationOptions = RotationOptions()
    ) async throws -> Rotation {
        try await ThreadExecutor.bounded.run {
            try rotate(
                at: path, change, with: credentials, options: options)
        }
    }

    /// Makes both header copies whole again, as the synchronous call does, and lets the task wait for it.
    ///
    /// - Parameters:
    ///   - path: of the container.
    ///   - credentials: what opens the container.
    ///   - options: what to do in doubt.
    /// - Returns: what was done.
    /// - Throws: what the synchronous call throws; `CancellationError` as in `rotate`.
    @discardableResult
    public static func repair(
        at path: FilePath, with credentials: Credentials, options: RotationOptions = RotationOptions()
    ) async throws -> Rotation {
        try await ThreadExecutor.bounded.run {
            try repair(
                at: path, with: credentials, options: options)
        }
    }

    /// Gives a container's contents a new file key, as the synchronous call does, and lets the task wait for it.
    ///
    /// - Parameters:
    ///   - path: of the container.
    ///   - recipients: who can open the new container, and nobody else.
    ///   - credentials: what opens the old container.
    ///   - options: what to do in doubt.
    ///   - jobs: the number of threads that do the work, from 1 to `Vault.maximumJobs`; nil for one per processor.
    /// - Returns: what was done.
    /// - Throws: what the synchronous call throws; `CancellationError` if the task was cancelled. The container is as
    ///   it was then.
    @discardableResult
    public static func reencrypt(
        at path: FilePath, for recipients: [Recipient], with credentials: Credentials,
        options: ReencryptionOptions = ReencryptionOptions(), jobs: Int? = nil
    ) async throws -> Reencryption {
        try await ThreadExecutor.bounded.run {
            try reencrypt(
                at: path, for: recipients, with: credentials, options: options,
                jobs: jobs)
        }
    }
}

extension SeekableVaultReader {
    /// Opens a container on a thread of the library, where a passphrase is stretched and the source may wait.
    ///
    /// - Parameters:
    ///   - source: the container's bytes.
    ///   - credentials: what opens it, and what that may cost.
    /// - Throws: what the synchronous initialiser throws; `CancellationError` if the task was cancelled.
    public convenience init(_ source: any ByteSource, with credentials: Credentials) async throws {
        let reader = try await ThreadExecutor.bounded.run {
            try SeekableVaultReader(
                source, with: credentials)
        }
        self.init(copying: reader)
    }

    /// The bytes of a range, in memory, read on a thread of the library.
    ///
    /// - Parameter range: within the plaintext.
    /// - Throws: what the synchronous call throws; `CancellationError` if the task was cancelled.
    public func bytes(_ range: Range<UInt64>) async throws -> [UInt8] {
        try await ThreadExecutor.bounded.run { try self.bytes(range) }
    }

    /// Decrypts a range, or everything, as the synchronous call does, and lets the task wait for it.
    ///
    /// - Parameters:
    ///   - range: nil for everything.
    ///   - output: gets the plaintext.
    ///   - jobs: the number of threads that do the work, from 1 to `Vault.maximumJobs`; nil for one per processor.
    ///   - onProgress: called on a thread of the library now and then, with the bytes that are written.
    /// - Throws: what the synchronous call throws; `CancellationError` if the task was cancelled.
    public func decrypt(
        _ range: Range<UInt64>? = nil, to output: FileDescriptor, jobs: Int? = nil,
        onProgress: @Sendable (UInt64) throws -> Void = { _ in }
    ) async throws {
        try await ThreadExecutor.unbounded.run {
            try self.decrypt(range, to: output, jobs: jobs, onProgress: onProgress)
        }
    }

    /// Reads and authenticates everything, as the synchronous call does, and lets the task wait for it.
    ///
    /// - Parameter jobs: the number of threads that do the work, from 1 to `Vault.maximumJobs`; nil for one per
    ///   processor.
    /// - Throws: the error of the first damage, if there is any; `CancellationError` if the task was cancelled.
    public func verify(jobs: Int? = nil) async throws {
        try await ThreadExecutor.bounded.run { try self.verify(jobs: jobs) }
    }

    /// Reads and authenticates every record, as the synchronous call does, and lets the task wait for it. **Damage is
    /// told to `onDamage` alone.**
    ///
    /// - Parameters:
    ///   - jobs: the number of threads that do the work, from 1 to `Vault.maximumJobs`; nil for one per processor.
    ///   - onProgress: called on a thread of the library now and then, with the bytes that have been looked at.
    ///   - onDamage: called on a thread of the library for each damaged range.
    /// - Throws: what the closures throw; `CancellationError` if the task was cancelled.
    public func verify(
        jobs: Int? = nil, onProgress: @Sendable (UInt64) throws -> Void = { _ in },
        onDamage: @Sendable (Damage) throws -> Void
    ) async throws {
        try await ThreadExecutor.bounded.run {
            try self.verify(jobs: jobs, onProgress: onProgress, onDamage: onDamage)
        }
    }
}

extension Recovery {
    /// Looks for header copies in all of the file, as the synchronous initialiser does, on a thread of the library.
    ///
    /// - Parameters:
    ///   - source: the damaged container.
    ///   - credentials: what opens it, and what one header copy may cost.
    ///   - options: what the search may cost, and which copy it is to use.
    ///   - onProgress: called on a thread of the library now and then, with the bytes that have been looked at.
    /// - Throws: what the synchronous initialiser throws; `CancellationError` if the task was cancelled.
    public convenience init(
        _ source: any ByteSource, with credentials: Credentials, options: RecoveryOptions = RecoveryOptions(),
        onProgress: @Sendable (UInt64) throws -> Void = { _ in }
    ) async throws {
        let recovery = try await ThreadExecutor.bounded.run {
            try Recovery(
                source, with: credentials, options: options
            ) {
                try Cancellation.check()
                try onProgress($0)
            }
        }
        self.init(copying: recovery)
    }

    /// Lends `sink` the plaintext in order, as the synchronous call does, on a thread of the library.
    ///
    /// - Parameters:
    ///   - header: which of `headers` to use; nil if there is only one.
    ///   - jobs: the number of threads that do the work, from 1 to `Vault.maximumJobs`; nil for one per processor.
    ///   - sink: takes the plaintext, zeros in the place of what is lost. Called on a thread of the library, where it
    ///     may wait.
    ///   - onDamage: called there with each range that is lost.
    ///   - onProgress: called there now and then, with the bytes of the file that have been looked at.
    /// - Returns: what was given out.
    /// - Throws: what the synchronous call throws; `CancellationError` if the task was cancelled.
    public func read(
        using header: RecoveryHeader? = nil, jobs: Int? = nil,
        to sink: @Sendable (Span<UInt8>) throws -> Void, onDamage: @Sendable (Damage) throws -> Void = { _ in },
        onProgress: @Sendable (UInt64) throws -> Void = { _ in }
    ) async throws -> Recovered {
        try await ThreadExecutor.unbounded.run {
            try self.read(using: header, jobs: jobs, to: sink, onDamage: onDamage) {
                try Cancellation.check()
                try onProgress($0)
            }
        }
    }
}

extension Inspection {
    /// Tries the caller's secrets on every slot of the current copy, on a thread of the library.
    ///
    /// - Parameter credentials: the secrets, and what trying them may cost.
    /// - Returns: the slots in their order, and what came of each.
    /// - Throws: what the synchronous call throws; `CancellationError` if the task was cancelled.
    public func trySlots(with credentials: Credentials) async throws -> [TriedSlot] {
        try await ThreadExecutor.bounded.run {
            try self.trySlots(
                with: credentials)
        }
    }
}

extension Keyring {
    /// Reads a keyring on a thread of the library, where a passphrase is stretched.
    ///
    /// - Parameters:
    ///   - path: of the keyring.
    ///   - keys: what opens the unlock key.
    ///   - allowsUnprotected: whether a keyring is taken that nothing protects.
    /// - Throws: what the synchronous call throws; `CancellationError` if the task was cancelled.
    public static func open(
        at path: FilePath, unlocking keys: any KeyProvider, allowsUnprotected: Bool = false
    ) async throws -> Keyring {
        try await ThreadExecutor.bounded.run {
            try open(at: path, unlocking: keys, allowsUnprotected: allowsUnprotected)
        }
    }

    /// Changes a keyring on a thread of the library. A change that was begun is not cancelled.
    ///
    /// - Parameters:
    ///   - path: of the keyring.
    ///   - isMaking: whether a keyring is made where there is none, if what unlocks it is there.
    ///   - keys: what opens the unlock key.
    ///   - allowsUnprotected: as for `open`.
    ///   - body: asks for the change. It may be called more than once, and its last call counts.
    /// - Returns: what `body` returned, and what is left of what was replaced.
    /// - Throws: what the synchronous call throws; `CancellationError` if the task was cancelled before.
    public static func change<R: Sendable>(
        at path: FilePath, making isMaking: Bool = false, unlocking keys: any KeyProvider,
        allowsUnprotected: Bool = false, _ body: @Sendable (inout KeyringChange) throws -> R
    ) async throws -> Changed<R> {
        try await ThreadExecutor.bounded.run {
            try Cancellation.$current.withValue(nil) {
                try change(
                    at: path, making: isMaking, unlocking: keys, allowsUnprotected: allowsUnprotected, body)
            }
        }
    }
}
