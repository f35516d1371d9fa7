public import SystemPackage
public import VaultStream

extension Vault {
    /// Moves the slots of a container to a header file, on a thread of the library.
    ///
    /// - Parameters:
    ///   - path: the path of the container.
    ///   - headerFile: the path of the header file; nil for the name that programs look for.
    ///   - credentials: the keys that open the container, and limits on the cost of opening.
    ///   - capacity: the size of the header file; nil for the least with room for one more slot.
    ///   - mayLoseSlots: whether to go on if a header file that is there has slots that the container does not have.
    ///   - options: which risks to accept.
    /// - Returns: the header file, and what became of the container.
    /// - Throws: what the synchronous call throws; `CancellationError` if the task was cancelled before anything was
    ///   written.
    @discardableResult
    public static func detach(
        at path: FilePath, to headerFile: FilePath? = nil, with credentials: Credentials,
        capacity: HeaderCapacity? = nil, mayLoseSlots: Bool = false, options: RotationOptions = RotationOptions()
    ) async throws -> Detachment {
        try await ThreadExecutor.calls.run {
            try detach(
                at: path, to: headerFile, with: credentials, capacity: capacity, mayLoseSlots: mayLoseSlots,
                options: options)
        }
    }

    /// Moves the slots of a header file back to its container, and removes the file, on a thread of the library.
    ///
    /// - Parameters:
    ///   - path: the path of the container.
    ///   - headerFile: the path of the header file.
    ///   - credentials: the keys that open it, and limits on the cost of opening.
    ///   - options: which risks to accept.
    /// - Returns: what became of the container.
    /// - Throws: what the synchronous call throws; `CancellationError` if the task was cancelled before anything was
    ///   written.
    @discardableResult
    public static func attach(
        at path: FilePath, from headerFile: FilePath, with credentials: Credentials,
        options: RotationOptions = RotationOptions()
    ) async throws -> Rotation {
        try await ThreadExecutor.calls.run {
            try attach(at: path, from: headerFile, with: credentials, options: options)
        }
    }

    /// Changes who can open a detached container, on a thread of the library.
    ///
    /// - Parameters:
    ///   - path: the path of the header file.
    ///   - change: the slots to remove and to add.
    ///   - credentials: the keys that open it now, and limits on the cost of opening.
    ///   - options: which risks to accept.
    /// - Returns: what has changed.
    /// - Throws: what the synchronous call throws; `CancellationError` if the task was cancelled before anything was
    ///   written.
    @discardableResult
    public static func rotateHeaderFile(
        at path: FilePath, _ change: KeyChange, with credentials: Credentials,
        options: RotationOptions = RotationOptions()
    ) async throws -> Rotation {
        try await rotateHeaderFile(at: .path(path), change, with: credentials, options: options)
    }

    /// The same for a file at a place.
    ///
    /// - Throws: as for a path.
    @discardableResult
    public static func rotateHeaderFile(
        at place: FilePlace, _ change: KeyChange, with credentials: Credentials,
        options: RotationOptions = RotationOptions()
    ) async throws -> Rotation {
        try await ThreadExecutor.calls.run {
            try rotateHeaderFile(at: place, change, with: credentials, options: options)
        }
    }
}
