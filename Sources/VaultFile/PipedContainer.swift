public import SystemPackage
import VaultFormat
public import VaultStream

/// A container that is read in order, as from a pipe. Its header is open, and its contents are not read yet.
///
/// With it, a program learns whether a container opens before it makes an output. `Vault.decrypt(from:to:)` does both
/// steps in one call.
public struct PipedContainer: ~Copyable, Sendable {
    let records: StreamedRecords

    init(_ records: StreamedRecords) {
        self.records = records
    }

    /// Reads and opens the header.
    ///
    /// - Parameters:
    ///   - input: a pipe, a socket, a device, or a file, which is read from its offset on.
    ///   - credentials: the keys, and limits on the cost of opening.
    ///   - onBeginning: called once with the first bytes, before they are checked. With them a program can say what an
    ///     input is that is not a container.
    /// - Throws: `VaultError`, and what the key provider throws.
    public init(
        from input: FileDescriptor, with credentials: Credentials,
        onBeginning: ([UInt8]) -> Void = { _ in }
    ) throws {
        self.init(try Self.open(input, with: credentials, onBeginning: onBeginning))
    }

    static func open(
        _ input: FileDescriptor, with credentials: Credentials, onBeginning: ([UInt8]) -> Void
    ) throws -> StreamedRecords {
        try StreamedRecords(
            PipelineInput(input), StreamOpening(trials: SlotTrials(credentials)), limits: credentials.limits,
            onBeginning: onBeginning)
    }

    /// Decrypts and checks the contents.
    ///
    /// - Parameters:
    ///   - output: gets the plaintext; nil to check everything and write nothing.
    ///   - jobs: the number of threads that do the work, at least 1. More than `Vault.maximumJobs` count as that many,
    ///     and nil is one per processor. The result does not depend on it.
    ///   - isSparse: whether blocks of 4096 zeros become holes if the output is a regular file. They take no room on the
    ///     disk, and read as zeros. Everything is checked as without it.
    ///   - onProgress: called on the calling thread now and then, with the count of decrypted bytes of plaintext. Not
    ///     called again after it has thrown.
    /// - Returns: the health, the manifest and the header of the container.
    /// - Throws: `VaultError`, and what `onProgress` throws. After an error, the output is authentic but may be only
    ///   the beginning of the plaintext.
    public consuming func decrypt(
        to output: FileDescriptor?, jobs: Int? = nil, sparse isSparse: Bool = false,
        onProgress: (UInt64) throws -> Void = { _ in }
    ) throws -> OpenedContainer {
        try Self.decrypt(records, to: output, jobs: jobs, sparse: isSparse, onProgress: onProgress)
    }

    static func decrypt(
        _ records: StreamedRecords, to output: FileDescriptor?, jobs: Int?, sparse isSparse: Bool,
        onProgress: (UInt64) throws -> Void
    ) throws -> OpenedContainer {
        let jobs = try ThreadCount(jobs: jobs)
        _ = try records.decryptAll(to: PipelineOutput(output, sparse: isSparse), jobs: jobs, onProgress: onProgress)
        return try records.finish()
    }
}
