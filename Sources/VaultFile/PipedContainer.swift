public import SystemPackage
public import VaultFormat
public import VaultStream

/// A container that is read as it comes, as through a pipe. Its header is open, and nothing of its contents is read.
///
/// An error of `init` comes before anything is written. `Vault.decrypt(from:to:)` does both steps in one.
public struct PipedContainer: ~Copyable {
    private let records: StreamedRecords

    /// Reads and opens the header.
    ///
    /// - Parameters:
    ///   - input: what the container comes from: a pipe, a socket, a device, a file from where it stands.
    ///   - onBeginning: called once with the first bytes, before they are judged, so that a program can say what an input
    ///     is that is no container.
    /// - Throws: `VaultError`, and what the key provider throws.
    public init(
        from input: FileDescriptor, keys: any KeyProvider, context: Context = .none, limits: OpenLimits = .standard,
        onBeginning: ([UInt8]) -> Void = { _ in }
    ) throws {
        let trials = SlotTrials(keys: keys, context: context, limits: limits)
        records = try StreamedRecords(
            PipelineInput(input), StreamOpening(trials: trials), limits: limits, onBeginning: onBeginning)
    }

    /// Decrypts and checks all of it.
    ///
    /// - Parameters:
    ///   - output: where the plaintext goes; nil to check everything and write nothing.
    ///   - jobs: how many threads work. What comes out does not depend on it.
    ///   - onProgress: called on the calling thread now and then, with the bytes of plaintext that have been decrypted.
    /// - Returns: what was opened.
    /// - Throws: `VaultError`, and what `onProgress` throws. What has been written then is authentic, and may be a
    ///   beginning only.
    public consuming func decrypt(
        to output: FileDescriptor?, jobs: Int = Vault.processorCount, onProgress: (UInt64) throws -> Void = { _ in }
    ) throws -> OpenedContainer {
        _ = try records.decryptAll(to: PipelineOutput(output), jobs: jobs, onProgress: onProgress)
        return try records.finish()
    }
}
