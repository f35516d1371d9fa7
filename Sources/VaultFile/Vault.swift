public import SystemPackage
import VaultCrypto
public import VaultFormat
public import VaultStream

/// Whole files, in one call each.
public enum Vault {
    /// The bytes that every container begins with (Spec 2.2).
    public static var beginning: [UInt8] { Preamble.magic }
    /// The bytes that every complete container ends with (Spec 2.4).
    public static var ending: [UInt8] { Footer.endMagic }

    /// The library that enciphers, with its version. If another library enciphers small containers, that one too.
    public static var engine: String { RecordCipher.engineDescription }

    /// How many processors this process may run on.
    public static var processorCount: Int { ThreadCount.processors }

    /// The most threads that one call uses, whatever its `jobs` is. Each thread holds half a mebibyte, or one record if
    /// that is more.
    public static var maximumJobs: Int { ThreadCount.most }

    /// Encrypts everything from `input`'s offset to its end, and writes the container to `output`. Both may be files,
    /// pipes, sockets or devices.
    ///
    /// - Parameters:
    ///   - jobs: the number of threads that do the work, at least 1; more than `Vault.maximumJobs` count as that many,
    ///     and nil is one per processor. The result does not depend on it.
    ///   - onProgress: called on the calling thread now and then, with the count of bytes of plaintext that have been
    ///     encrypted. It is not called again once it has thrown.
    /// - Returns: the manifest.
    /// - Throws: `VaultError`: among others `inputFailed` if a regular file becomes shorter while it is read, and
    ///   `invalidArgument` for `jobs` below 1 or if `output` is a regular file with bytes after its offset. What
    ///   `onProgress` throws. What has been written by then is not a container.
    @discardableResult
    public static func encrypt(
        from input: FileDescriptor, to output: FileDescriptor, for recipients: [Recipient],
        options: SealOptions = SealOptions(), jobs: Int? = nil,
        onProgress: (UInt64) throws -> Void = { _ in }
    ) throws -> Manifest {
        try encrypt(
            from: input, to: output, for: recipients, options: options, jobs: jobs, randomness: .system,
            onProgress: onProgress)
    }

    package static func encrypt(
        from input: FileDescriptor, to output: FileDescriptor, for recipients: [Recipient], options: SealOptions,
        jobs: Int?, randomness: Randomness, onProgress: (UInt64) throws -> Void = { _ in }
    ) throws -> Manifest {
        let jobs = try ThreadCount(jobs: jobs)
        let sealing = try Sealing(from: input, to: output, for: recipients, options: options, randomness: randomness)
        return try sealing.run(jobs: jobs, onProgress: onProgress)
    }

    /// Decrypts the container from `input` and writes the plaintext to `output`.
    ///
    /// A regular file whose offset is 0 is opened by both its ends, so that it opens even if one header copy is
    /// damaged. Everything else is read as it comes. While the ends of such a file are read, it is locked by `flock`,
    /// and then unlocked: a lock that the caller holds on this descriptor is lost.
    ///
    /// - Parameters:
    ///   - output: a regular file must have no bytes after its offset (`invalidArgument`).
    ///   - jobs: the number of threads that do the work, at least 1; more than `Vault.maximumJobs` count as that many,
    ///     and nil is one per processor. The result does not depend on it.
    ///   - onProgress: called on the calling thread now and then, with the count of bytes of plaintext that have been
    ///     written. It is not called again once it has thrown.
    /// - Returns: the opened container.
    /// - Throws: `VaultError`, and what `onProgress` throws. Everything that has been written by then is authentic, but
    ///   is only a part of the plaintext: any part if `output` is a regular file without a name, otherwise its
    ///   beginning.
    @discardableResult
    public static func decrypt(
        from input: FileDescriptor, to output: FileDescriptor, with credentials: Credentials,
        jobs: Int? = nil, onProgress: (UInt64) throws -> Void = { _ in }
    ) throws -> OpenedContainer {
        let threads = try ThreadCount(jobs: jobs)
        if input.isSeekable {
            let reader = try SeekableVaultReader(FileSource(input), with: credentials)
            try reader.decrypt(nil, to: output, threads, onProgress: onProgress)
            return reader.opened
        }
        return try PipedContainer(from: input, with: credentials)
            .decrypt(to: output, jobs: jobs, onProgress: onProgress)
    }

    /// Encrypts bytes from memory into a new file with mode 0600, which appears complete or not at all.
    ///
    ///     try Vault.write(to: path, for: [.key(key)]) { write in
    ///         try write(first.span)
    ///         try write(second.span)
    ///     }
    ///
    /// - Parameters:
    ///   - isReplacing: whether a file that is at `output` already is replaced.
    ///   - body: gets a function that takes the next bytes of plaintext, and calls it as often as it needs. When `body`
    ///     returns, the container is finished and gets its name. If `body` throws, no file appears.
    /// - Throws: `VaultError`, and what `body` throws.
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

    /// Encrypts a file into a new file with mode 0600, which appears complete or not at all.
    ///
    /// - Parameter isReplacing: whether a file that is at `output` already is replaced.
    /// - Throws: `VaultError`.
    @discardableResult
    public static func encryptFile(
        at input: FilePath, to output: FilePath, replacing isReplacing: Bool = false, for recipients: [Recipient],
        options: SealOptions = SealOptions()
    ) throws -> Manifest {
        try convert(input, output, isReplacing: isReplacing) {
            try encrypt(from: $0, to: $1, for: recipients, options: options)
        }
    }

    /// Decrypts a file into a new file with mode 0600, which appears complete or not at all.
    ///
    /// - Parameter isReplacing: whether a file that is at `output` already is replaced.
    /// - Throws: `VaultError`.
    @discardableResult
    public static func decryptFile(
        at input: FilePath, to output: FilePath, replacing isReplacing: Bool = false, with credentials: Credentials
    ) throws -> OpenedContainer {
        try convert(input, output, isReplacing: isReplacing) {
            try decrypt(from: $0, to: $1, with: credentials)
        }
    }

    private static func convert<R>(
        _ input: FilePath, _ output: FilePath, isReplacing: Bool, _ body: (FileDescriptor, FileDescriptor) throws -> R
    ) throws -> R {
        let source = try FileDescriptor.openInput(input)
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
