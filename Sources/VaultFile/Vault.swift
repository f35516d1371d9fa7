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

    /// The library that enciphers, and its version; and that for small containers, if it is another.
    public static var engine: String { RecordCipher.engineDescription }

    /// How many threads work if nothing else is said: as many as there are processors.
    public static let processorCount = max(1, Int(SystemCalls.processorCount))

    /// Encrypts everything that `input` gives, from where it stands to its end, and writes the container to `output`:
    /// files, pipes, sockets, devices.
    ///
    /// - Parameters:
    ///   - jobs: how many threads work; with more than one, the calling thread hands on what is done. What comes out
    ///     does not depend on it.
    ///   - onProgress: called on the calling thread now and then, with the bytes of plaintext that have been encrypted.
    /// - Returns: the manifest.
    /// - Throws: `VaultError`, and what `onProgress` throws: `inputFailed` also where a regular file has become shorter
    ///   than it was at the beginning, `invalidArgument` where `output` is a regular file with bytes behind the place
    ///   where it stands. What has been written then is no container.
    @discardableResult
    public static func encrypt(
        from input: FileDescriptor, to output: FileDescriptor, for recipients: [Recipient],
        options: SealOptions = SealOptions(), jobs: Int = processorCount,
        onProgress: (UInt64) throws -> Void = { _ in }
    ) throws -> Manifest {
        try encrypt(
            from: input, to: output, for: recipients, options: options, jobs: jobs, randomness: .system,
            onProgress: onProgress)
    }

    package static func encrypt(
        from input: FileDescriptor, to output: FileDescriptor, for recipients: [Recipient], options: SealOptions,
        jobs: Int, randomness: Randomness, onProgress: (UInt64) throws -> Void = { _ in }
    ) throws -> Manifest {
        let sealing = try Sealing(from: input, to: output, for: recipients, options: options, randomness: randomness)
        return try sealing.run(jobs: jobs, onProgress: onProgress)
    }

    /// Decrypts the container that `input` gives and writes the plaintext to `output`.
    ///
    /// A regular file that stands at its beginning is opened by both its ends, so that it opens with either header copy
    /// damaged; everything else is read as it comes. While the ends of such a file are read it is locked, and unlocked
    /// then: a lock that the caller himself holds by this descriptor is gone afterwards.
    ///
    /// - Parameters:
    ///   - output: a regular file has no bytes behind the place where it stands (`invalidArgument`).
    ///   - jobs: how many threads work; with more than one, the calling thread hands on what is done. What comes out
    ///     does not depend on it.
    ///   - onProgress: called on the calling thread now and then, with the bytes of plaintext that have been written.
    /// - Returns: what was opened.
    /// - Throws: `VaultError`, and what `onProgress` throws. What has been written then is authentic, and may be part
    ///   of the whole, no more: of a regular file that has no name yet any part, of everything else its beginning.
    @discardableResult
    public static func decrypt(
        from input: FileDescriptor, to output: FileDescriptor, keys: any KeyProvider, context: Context = .none,
        limits: OpenLimits = .standard, jobs: Int = processorCount, onProgress: (UInt64) throws -> Void = { _ in }
    ) throws -> OpenedContainer {
        if input.isSeekable {
            let reader = try SeekableVaultReader(FileSource(input), keys: keys, context: context, limits: limits)
            try reader.decrypt(to: output, jobs: jobs, onProgress: onProgress)
            return reader.opened
        }
        return try PipedContainer(from: input, keys: keys, context: context, limits: limits)
            .decrypt(to: output, jobs: jobs, onProgress: onProgress)
    }

    /// Makes a container out of what a program has at hand, in a file that appears complete or not at all, with mode
    /// 0600.
    ///
    ///     try Vault.write(to: path, for: [.key(key)]) { write in
    ///         try write(first.span)
    ///         try write(second.span)
    ///     }
    ///
    /// - Parameters:
    ///   - isReplacing: whether a file that stands at `output` is replaced.
    ///   - body: is handed the function that takes the next bytes of plaintext, to be called as often as there are
    ///     some. When `body` returns, the container is finished and gets its name; when it throws, nothing has
    ///     happened.
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

    /// Encrypts a file into a new one, which appears complete or not at all, with mode 0600.
    ///
    /// - Parameter isReplacing: whether a file that stands at `output` is replaced.
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

    /// Decrypts a file into a new one, which appears complete or not at all, with mode 0600.
    ///
    /// - Parameter isReplacing: whether a file that stands at `output` is replaced.
    /// - Throws: `VaultError`.
    @discardableResult
    public static func decryptFile(
        at input: FilePath, to output: FilePath, replacing isReplacing: Bool = false, keys: any KeyProvider,
        context: Context = .none, limits: OpenLimits = .standard
    ) throws -> OpenedContainer {
        try convert(input, output, isReplacing: isReplacing) {
            try decrypt(from: $0, to: $1, keys: keys, context: context, limits: limits)
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
