public import SystemPackage
public import VaultFormat
public import VaultStream

// Each asynchronous call does what the synchronous call of the same name does, on a thread of the library. The library
// also calls key providers, byte sources and closures on its threads. They may block there.
//
// If the task is cancelled, the call soon ends with a `CancellationError`: between two pieces of the work, or within a
// tenth of a second if it waits for a pipe or a lock. Stretching a passphrase is not interrupted.

extension Vault {
    /// Encrypts `input` from its offset to its end, on threads of the library.
    ///
    /// - Parameters:
    ///   - input: a file, pipe, socket or device.
    ///   - output: gets the container. A regular file must have no bytes after its offset.
    ///   - recipients: who can open the container.
    ///   - options: of the container.
    ///   - jobs: the number of threads that do the work, as for the synchronous call.
    ///   - onProgress: called on a thread of the library now and then, with the count of encrypted bytes of plaintext.
    ///   - checkEnd: called once, when the input has ended, as for the synchronous call. It is called on a thread of the
    ///     library.
    ///   - storeHeaderFile: stores the header file of a detached container, as for the synchronous call. It is called on
    ///     a thread of the library.
    /// - Returns: the manifest.
    /// - Throws: what the synchronous call throws; `CancellationError` if the task was cancelled. After an error, the
    ///   output is not a complete container.
    @discardableResult
    public static func encrypt(
        from input: FileDescriptor, to output: FileDescriptor, for recipients: [Recipient],
        options: SealOptions = SealOptions(), jobs: Int? = nil,
        onProgress: @Sendable (UInt64) throws -> Void = { _ in }, onEnd checkEnd: @Sendable () throws -> Void = {},
        storingHeaderFile storeHeaderFile: (@Sendable (HeaderFile) throws -> Void)? = nil
    ) async throws -> Manifest {
        try await ThreadExecutor.calls.run {
            try encrypt(
                from: input, to: output, for: recipients, options: options, jobs: jobs, onProgress: onProgress,
                onEnd: checkEnd, storingHeaderFile: storeHeaderFile)
        }
    }

    /// Decrypts the container from `input`, on threads of the library.
    ///
    /// - Parameters:
    ///   - input: the container. If it is a regular file with offset 0, both its ends are read first. Any other input
    ///     is read in order.
    ///   - output: gets the plaintext. A regular file must have no bytes after its offset.
    ///   - credentials: the keys, and limits on the cost of opening.
    ///   - jobs: the number of threads that do the work, as for the synchronous call.
    ///   - isSparse: whether blocks of zeros become holes, as for the synchronous call.
    ///   - onProgress: called on a thread of the library now and then, with the count of written bytes.
    /// - Returns: the health, the manifest and the header of the container.
    /// - Throws: what the synchronous call throws; `CancellationError` if the task was cancelled. After an error, the
    ///   output is authentic but may be only a part of the plaintext.
    @discardableResult
    public static func decrypt(
        from input: FileDescriptor, to output: FileDescriptor, with credentials: Credentials,
        jobs: Int? = nil, sparse isSparse: Bool = false, onProgress: @Sendable (UInt64) throws -> Void = { _ in }
    ) async throws -> OpenedContainer {
        try await ThreadExecutor.calls.run {
            try decrypt(
                from: input, to: output, with: credentials, jobs: jobs, sparse: isSparse, onProgress: onProgress)
        }
    }

    /// Encrypts a file into a new file, on threads of the library.
    ///
    /// - Parameters:
    ///   - input: the path of the file to encrypt.
    ///   - output: the path of the container.
    ///   - isReplacing: whether to replace an existing file.
    ///   - recipients: who can open the container.
    ///   - options: of the container.
    ///   - jobs: the number of threads that do the work, at least 1; nil is one per processor.
    /// - Returns: the manifest.
    /// - Throws: what the synchronous call throws; `CancellationError` if the task was cancelled. After an error, no
    ///   file has changed.
    @discardableResult
    public static func encryptFile(
        at input: FilePath, to output: FilePath, replacing isReplacing: Bool = false, for recipients: [Recipient],
        options: SealOptions = SealOptions(), jobs: Int? = nil
    ) async throws -> Manifest {
        try await ThreadExecutor.calls.run {
            try encryptFile(
                at: input, to: output, replacing: isReplacing, for: recipients, options: options, jobs: jobs)
        }
    }

    /// Decrypts a file into a new file, on threads of the library.
    ///
    /// - Parameters:
    ///   - input: the path of the container.
    ///   - output: the path of the new file.
    ///   - isReplacing: whether to replace an existing file.
    ///   - credentials: the keys, and limits on the cost of opening.
    ///   - jobs: the number of threads that do the work, at least 1; nil is one per processor.
    ///   - isSparse: whether blocks of 4096 zeros become holes, which take no room on the disk.
    /// - Returns: the health, the manifest and the header of the container.
    /// - Throws: what the synchronous call throws; `CancellationError` if the task was cancelled. After an error, no
    ///   file has changed.
    @discardableResult
    public static func decryptFile(
        at input: FilePath, to output: FilePath, replacing isReplacing: Bool = false, with credentials: Credentials,
        jobs: Int? = nil, sparse isSparse: Bool = false
    ) async throws -> OpenedContainer {
        try await ThreadExecutor.calls.run {
            try decryptFile(
                at: input, to: output, replacing: isReplacing, with: credentials, jobs: jobs, sparse: isSparse)
        }
    }

    /// Encrypts a sequence of bytes into a new file with mode 0600. The file appears when it is complete, or not at
    /// all.
    ///
    ///     try await Vault.write(upload, to: path, for: [.key(key)])
    ///
    /// Each element is encrypted and written before the next one is requested. So at most one element and one chunk are
    /// in memory.
    ///
    /// - Parameters:
    ///   - plaintext: the bytes, in elements of any length.
    ///   - output: the path of the container.
    ///   - isReplacing: whether to replace an existing file.
    ///   - recipients: who can open the container.
    ///   - options: of the container.
    /// - Returns: the manifest.
    /// - Throws: `VaultError` as ``write(to:replacing:for:options:_:)`` throws it, what `plaintext` throws, and
    ///   `CancellationError`. After an error, no file has changed.
    @discardableResult
    public static func write<Plaintext: AsyncSequence>(
        _ plaintext: Plaintext, to output: FilePath, replacing isReplacing: Bool = false, for recipients: [Recipient],
        options: SealOptions = SealOptions()
    ) async throws -> Manifest where Plaintext.Element == [UInt8] {
        let sealing = SealingToFile(output, isReplacing: isReplacing, recipients, options)
        try await ThreadExecutor.steps.run { try sealing.start() }
        for try await bytes in plaintext {
            try await ThreadExecutor.steps.run { try sealing.write(bytes) }
        }
        // A sequence may end early because its task was cancelled. A truncated plaintext must not become a complete
        // container.
        try Task.checkCancellation()
        return try await ThreadExecutor.steps.run { try sealing.finish() }
    }
}
