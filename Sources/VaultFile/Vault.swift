public import SystemPackage
import VaultCrypto
public import VaultFormat
public import VaultStream
internal import VaultSystem

/// Whole files, in one call each.
public enum Vault {
    /// The bytes that every container begins with (Spec 2.2).
    public static var beginning: [UInt8] { Preamble.magic }
    /// The bytes that every complete container ends with (Spec 2.4).
    public static var ending: [UInt8] { Footer.endMagic }

    /// The library that encrypts, with its version. If small containers use another library, it is named too.
    public static var engine: String { RecordCipher.engineDescription }

    /// How many processors this process may run on.
    public static var processorCount: Int { ThreadCount.processors }

    /// The most threads that one call uses. A larger `jobs` has no further effect. Each thread uses half a mebibyte of
    /// memory, or one record if that is more.
    public static var maximumJobs: Int { ThreadCount.most }

    /// Encrypts `input` from its offset to its end, and writes the container to `output`. Each of them is a file, pipe,
    /// socket or device.
    ///
    /// - Parameters:
    ///   - input: the plaintext.
    ///   - output: gets the container. A regular file must have no bytes after its offset.
    ///   - recipients: who can open the container.
    ///   - options: of the container.
    ///   - jobs: the number of threads that do the work, at least 1. More than `Vault.maximumJobs` count as that many,
    ///     and nil is one per processor. The result does not depend on it.
    ///   - onProgress: called on the calling thread now and then, with the count of encrypted bytes of plaintext. Not
    ///     called again after it has thrown.
    ///   - checkEnd: called once, when the input has ended and before the end of the container is written. If the program
    ///     that writes into a pipe has failed, throw: an end of the input does not tell that something is missing.
    ///   - storeHeaderFile: stores the header file of a detached container durably (Spec, chapter 23). It is called once,
    ///     before a byte of the container is written. Nil for a container that has its own slots. If the call fails
    ///     afterwards, remove the header file.
    /// - Returns: the manifest.
    /// - Throws: `VaultError` with
    ///   - `inputFailed` if the input cannot be read, or a regular file became shorter than it was at the beginning;
    ///   - `outputFailed` if the output cannot be written;
    ///   - `invalidArgument` if `output` is a regular file with bytes after its offset, for `jobs` below 1, or for
    ///     options that the format cannot hold;
    ///   - `lastSlot` for no recipients, `doesNotFit` for too many, `tooLarge`, `memoryUnavailable`.
    ///
    ///   Also what the closures and a private slot's `wrap` throw. After an error, the output is not a complete
    ///   container.
    @discardableResult
    public static func encrypt(
        from input: FileDescriptor, to output: FileDescriptor, for recipients: [Recipient],
        options: SealOptions = SealOptions(), jobs: Int? = nil,
        onProgress: (UInt64) throws -> Void = { _ in }, onEnd checkEnd: () throws -> Void = {},
        storingHeaderFile storeHeaderFile: ((HeaderFile) throws -> Void)? = nil
    ) throws -> Manifest {
        try encrypt(
            from: input, to: output, for: recipients, options: options, jobs: jobs, randomness: .system,
            onProgress: onProgress, onEnd: checkEnd, storingHeaderFile: storeHeaderFile)
    }

    package static func encrypt(
        from input: FileDescriptor, to output: FileDescriptor, for recipients: [Recipient], options: SealOptions,
        jobs: Int?, randomness: Randomness, onProgress: (UInt64) throws -> Void = { _ in },
        onEnd checkEnd: () throws -> Void = {},
        storingHeaderFile storeHeaderFile: ((HeaderFile) throws -> Void)? = nil
    ) throws -> Manifest {
        let jobs = try ThreadCount(jobs: jobs)
        let sealing = try Sealing(
            from: input, to: output, for: recipients, options: options, randomness: randomness,
            storingHeaderFile: storeHeaderFile)
        return try sealing.run(jobs: jobs, onProgress: onProgress, onEnd: checkEnd)
    }

    /// Decrypts the container from `input` and writes the plaintext to `output`.
    ///
    /// If `input` is a regular file with offset 0, both its ends are read first. So it opens even if one header copy is
    /// damaged. While the ends are read, the file is locked by `flock`, and then unlocked: a lock that the caller holds
    /// on this descriptor is lost. Any other input is read in order.
    ///
    /// - Parameters:
    ///   - input: the container.
    ///   - output: gets the plaintext. A regular file must have no bytes after its offset (`invalidArgument`).
    ///   - credentials: the keys, and limits on the cost of opening.
    ///   - jobs: the number of threads that do the work, at least 1. More than `Vault.maximumJobs` count as that many,
    ///     and nil is one per processor. The result does not depend on it.
    ///   - isSparse: whether blocks of 4096 zeros become holes if the output is a regular file. They take no room on the
    ///     disk, and read as zeros. Everything is checked as without it.
    ///   - onProgress: called on the calling thread now and then, with the count of written bytes. Not called again
    ///     after it has thrown.
    /// - Returns: the health, the manifest and the header of the container.
    /// - Throws: `VaultError` with the first check of the container that failed (see <doc:Errors>), or with
    ///   `inputFailed`, `outputFailed`, `invalidArgument`. Also what `onProgress` and the key provider throw. After an
    ///   error, the output is authentic but may be incomplete: a regular file without a name may have any parts of the
    ///   plaintext, any other output only has the beginning.
    @discardableResult
    public static func decrypt(
        from input: FileDescriptor, to output: FileDescriptor, with credentials: Credentials,
        jobs: Int? = nil, sparse isSparse: Bool = false, onProgress: (UInt64) throws -> Void = { _ in }
    ) throws -> OpenedContainer {
        let threads = try ThreadCount(jobs: jobs)
        if input.isSeekable {
            let reader = try SeekableVaultReader(FileSource(input), with: credentials)
            try reader.decrypt(nil, to: output, threads, sparse: isSparse, onProgress: onProgress)
            return reader.opened
        }
        return try PipedContainer(from: input, with: credentials)
            .decrypt(to: output, jobs: jobs, sparse: isSparse, onProgress: onProgress)
    }

    /// Encrypts bytes from memory into a new file with mode 0600. The file appears when it is complete, or not at all.
    ///
    ///     try Vault.write(to: path, for: [.key(key)]) { write in
    ///         try write(first.span)
    ///         try write(second.span)
    ///     }
    ///
    /// - Parameters:
    ///   - output: the path of the container.
    ///   - isReplacing: whether to replace an existing file.
    ///   - recipients: who can open the container.
    ///   - options: of the container.
    ///   - body: writes the plaintext: it gets a function that takes the next bytes, and calls it any number of times.
    ///     When `body` returns, the container is finished and gets its name. When `body` throws, no file has changed.
    /// - Returns: the manifest.
    /// - Throws: `VaultError` with `outputExists`, `outputNotReplaceable`, `outputFailed`, or as ``VaultWriter`` throws
    ///   it. Also what `body` throws.
    @discardableResult
    public static func write(
        to output: FilePath, replacing isReplacing: Bool = false, for recipients: [Recipient],
        options: SealOptions = SealOptions(),
        _ body: (_ write: (_ plaintext: Span<UInt8>) throws -> Void) throws -> Void
    ) throws -> Manifest {
        let file = try OutputFile(at: output, replacing: isReplacing)
        var writer = try VaultWriter(for: recipients, options: options)
        try body { plaintext in
            try writer.write(plaintext) { try file.write($0) }
        }
        let manifest = try writer.finish { try file.write($0) }
        try file.commit()
        return manifest
    }

    /// Encrypts a file into a new file with mode 0600. The new file appears when it is complete, or not at all.
    ///
    /// - Parameters:
    ///   - input: the path of the file to encrypt.
    ///   - output: the path of the container.
    ///   - isReplacing: whether to replace an existing file.
    ///   - recipients: who can open the container.
    ///   - options: of the container.
    ///   - jobs: the number of threads that do the work, at least 1; nil is one per processor.
    ///   - onProgress: called on the calling thread now and then, with the count of encrypted bytes of plaintext.
    /// - Returns: the manifest.
    /// - Throws: `VaultError` with `inputFailed`, `outputExists`, `outputNotReplaceable`, `outputFailed`; with
    ///   `invalidArgument` if the output is the input, or for `jobs` below 1; or as ``VaultWriter`` throws it. Also what
    ///   `onProgress` throws.
    @discardableResult
    public static func encryptFile(
        at input: FilePath, to output: FilePath, replacing isReplacing: Bool = false, for recipients: [Recipient],
        options: SealOptions = SealOptions(), jobs: Int? = nil, onProgress: (UInt64) throws -> Void = { _ in }
    ) throws -> Manifest {
        try convert(input, output, isReplacing: isReplacing) {
            try encrypt(from: $0, to: $1, for: recipients, options: options, jobs: jobs, onProgress: onProgress)
        }
    }

    /// Decrypts a file into a new file with mode 0600. The new file appears when it is complete, or not at all.
    ///
    /// - Parameters:
    ///   - input: the path of the container.
    ///   - output: the path of the new file.
    ///   - isReplacing: whether to replace an existing file.
    ///   - credentials: the keys, and limits on the cost of opening.
    ///   - jobs: the number of threads that do the work, at least 1; nil is one per processor.
    ///   - isSparse: whether blocks of 4096 zeros become holes, which take no room on the disk.
    ///   - onProgress: called on the calling thread now and then, with the count of written bytes.
    /// - Returns: the health, the manifest and the header of the container.
    /// - Throws: `VaultError` with the first check of the container that failed, or with `inputFailed`, `outputExists`,
    ///   `outputNotReplaceable`, `outputFailed`; `invalidArgument` if the output is the input, or for `jobs` below 1.
    ///   Also what the key provider and `onProgress` throw.
    @discardableResult
    public static func decryptFile(
        at input: FilePath, to output: FilePath, replacing isReplacing: Bool = false, with credentials: Credentials,
        jobs: Int? = nil, sparse isSparse: Bool = false, onProgress: (UInt64) throws -> Void = { _ in }
    ) throws -> OpenedContainer {
        try convert(input, output, isReplacing: isReplacing) {
            try decrypt(from: $0, to: $1, with: credentials, jobs: jobs, sparse: isSparse, onProgress: onProgress)
        }
    }

    private static func convert<R>(
        _ input: FilePath, _ output: FilePath, isReplacing: Bool, _ body: (FileDescriptor, FileDescriptor) throws -> R
    ) throws -> R {
        // To open a pipe waits for its writer, and nothing can cancel that. So an asynchronous call waits when it
        // reads.
        let source = try FileDescriptor.openInput(input, Cancellation.current == nil ? .anything : .storage)
        defer { source.closeQuietly() }
        if let there = try? output.status(), let own = try? source.status(), there.identity == own.identity {
            throw VaultError(.invalidArgument, "the output is the input")
        }
        let file = try OutputFile(at: output, replacing: isReplacing)
        let result = try body(source, file.descriptor)
        try file.commit()
        return result
    }
}
