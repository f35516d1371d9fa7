public import SystemPackage
public import VaultStream

extension Vault {
    /// Changes who can open a container, on a thread of the library.
    ///
    /// - Parameters:
    ///   - path: the path of the container.
    ///   - change: the slots to remove and to add.
    ///   - credentials: the keys that open the container now, and limits on the cost of opening.
    ///   - options: which risks to accept.
    /// - Returns: what has changed.
    /// - Throws: what the synchronous call throws; `CancellationError` if the task was cancelled before anything was
    ///   written.
    @discardableResult
    public static func rotate(
        at path: FilePath, _ change: KeyChange, with credentials: Credentials,
        options: RotationOptions = RotationOptions()
    ) async throws -> Rotation {
        try await rotate(at: .path(path), change, with: credentials, options: options)
    }

    /// The same for a file at a place.
    ///
    /// - Throws: as for a path.
    @discardableResult
    public static func rotate(
        at place: FilePlace, _ change: KeyChange, with credentials: Credentials,
        options: RotationOptions = RotationOptions()
    ) async throws -> Rotation {
        try await ThreadExecutor.calls.run {
            try rotate(at: place, change, with: credentials, options: options)
        }
    }

    /// Repairs the header copies and the end of a container, on a thread of the library.
    ///
    /// - Parameters:
    ///   - path: the path of the container.
    ///   - credentials: the keys, and limits on the cost of opening.
    ///   - options: which risks to accept.
    /// - Returns: what has changed.
    /// - Throws: what the synchronous call throws; `CancellationError` if the task was cancelled before anything was
    ///   written.
    @discardableResult
    public static func repair(
        at path: FilePath, with credentials: Credentials, options: RotationOptions = RotationOptions()
    ) async throws -> Rotation {
        try await repair(at: .path(path), with: credentials, options: options)
    }

    /// The same for a file at a place.
    ///
    /// - Throws: as for a path.
    @discardableResult
    public static func repair(
        at place: FilePlace, with credentials: Credentials, options: RotationOptions = RotationOptions()
    ) async throws -> Rotation {
        try await ThreadExecutor.calls.run {
            try repair(at: place, with: credentials, options: options)
        }
    }

    /// Encrypts a container's contents again under a new file key, on threads of the library.
    ///
    /// - Parameters:
    ///   - path: the path of the container.
    ///   - recipients: the only ones who can open the new container.
    ///   - credentials: the keys that open the old container, and limits on the cost of opening.
    ///   - options: which risks to accept.
    ///   - jobs: the number of threads that do the work, as for the synchronous call.
    /// - Returns: the old container, the new header, and the slots that were lost.
    /// - Throws: what the synchronous call throws; `CancellationError` if the task was cancelled. The container is
    ///   unchanged then.
    @discardableResult
    public static func reencrypt(
        at path: FilePath, for recipients: [Recipient], with credentials: Credentials,
        options: ReencryptionOptions = ReencryptionOptions(), jobs: Int? = nil
    ) async throws -> Reencryption {
        try await reencrypt(at: .path(path), for: recipients, with: credentials, options: options, jobs: jobs)
    }

    /// The same for a file at a place.
    ///
    /// - Throws: as for a path.
    @discardableResult
    public static func reencrypt(
        at place: FilePlace, for recipients: [Recipient], with credentials: Credentials,
        options: ReencryptionOptions = ReencryptionOptions(), jobs: Int? = nil
    ) async throws -> Reencryption {
        try await ThreadExecutor.calls.run {
            try reencrypt(at: place, for: recipients, with: credentials, options: options, jobs: jobs)
        }
    }
}
