public import SystemPackage
import VaultFormat
public import VaultStream

/// A container that is read as its bytes come, as through a pipe. Its header is open, and its contents are not read
/// yet.
///
/// `init` fails before anything is written. `Vault.decrypt(from:to:)` does both steps in one call.
public struct PipedContainer: ~Copyable {
    private let records: StreamedRecords

    /// Reads and opens the header.
    ///
    /// - Parameters:
    ///   - input: a pipe, a socket, a device, or a file, which is read from its offset on.
    ///   - credentials: what opens the container, and what that may cost.
    ///   - onBeginning: called once with the first bytes, before they are checked. With them a program can say what an
    ///     input is that is not a container.
    /// - Throws: `VaultError`, and what the key provider throws.
    public init(
        from input: FileDescriptor, with credentials: Credentials,
        onBeginning: ([UInt8]) -> Void = { _ in }
    ) throws {
        let trials = SlotTrials(credentials)
        records = try StreamedRecords(
            PipelineInput(input), StreamOpening(trials: trials), limits: credentials.limits, onBeginning: onBeginning)
    }

    /// Decrypts and checks all of it.
    ///
    /// - Parameters:
    ///   - output: where the plaintext goes; nil to check everything and write nothing.
    ///   - jobs: the number of threads that do the work, at least 1; more than `Vault.maximumJobs` count as that many,
    ///     and nil is one per processor. The result does not depend on it.
    ///   - onProgress: called on the calling thread now and then, with the count of bytes of plaintext that have been
    ///     decrypted. It is not called again once it has thrown.
    /// - Returns: the opened container.
    /// - Throws: `VaultError`, and what `onProgress` throws. Everything that has been written by then is authentic, but
    ///   may be only a beginning.
    public consuming func decrypt(
        to output: FileDescriptor?, jobs: Int? = nil, onProgress: (UInt64) throws -> Void = { _ in }
    ) throws -> OpenedContainer {
        let jobs = try ThreadCount(jobs: jobs)
        _ = try records.decryptAll(to: PipelineOutput(output), jobs: jobs, onProgress: onProgress)
        return try records.finish()
    }
}
