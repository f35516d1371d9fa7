public import SystemPackage
public import VaultFormat
public import VaultStream

extension Vault {
    /// Moves the slots of a container to a header file (DET-8). Afterwards nobody opens the container without it: keep it
    /// as safe as the container, and make a copy of it. A person who lost all header files has lost the contents; to
    /// destroy them all erases the container.
    ///
    /// The header file is durable before the container loses its slots. If the call is interrupted at any moment, the
    /// container opens by itself or with the header file, and the same call finishes the work.
    ///
    /// - Parameters:
    ///   - path: the path of the container.
    ///   - headerFile: the path of the header file. A file that is there is replaced if it is a header file of this
    ///     container. Nil for the name that programs look for (``headerFilePath(of:commitment:)``).
    ///   - credentials: the keys that open the container, and limits on the cost of opening. The header file in them is
    ///     not used.
    ///   - capacity: the size of the header file; nil for the least with room for one more slot.
    ///   - mayLoseSlots: whether to go on if a header file that is there has slots that the container does not have.
    ///   - options: which risks to accept.
    /// - Returns: the header file, and what became of the container. A container that is detached already is repaired.
    /// - Throws: what `rotate(at:_:with:options:)` throws; also `copiesDisagree` if the file that is
    ///   there is no header file of this container, and `invalidArgument` if it is the container. Errors about the
    ///   header file say so.
    @discardableResult
    public static func detach(
        at path: FilePath, to headerFile: FilePath? = nil, with credentials: Credentials,
        capacity: HeaderCapacity? = nil, mayLoseSlots: Bool = false, options: RotationOptions = RotationOptions()
    ) throws -> Detachment {
        let update = HeaderUpdate(change: nil, credentials: credentials, options: options, randomness: .system)
        return try Detaching(
            path: path, headerFile: headerFile, capacity: capacity, mayLoseSlots: mayLoseSlots, update: update
        ).run()
    }

    /// Moves the slots of a header file back to its container, and removes the file (DET-9). Other header files of the
    /// container, and copies of this one, then open nothing any more as header files: the container has its own slots.
    ///
    /// - Parameters:
    ///   - path: the path of the container.
    ///   - headerFile: the path of the header file.
    ///   - credentials: the keys that open it, and limits on the cost of opening. The header file in them is not used.
    ///   - options: which risks to accept.
    /// - Returns: what became of the container. The header file is removed only after the container is durable.
    /// - Throws: what `rotate(at:_:with:options:)` throws; also `notDetached` if the container has its
    ///   own slots and not all of those in the header file, which then stays; `invalidArgument` if it is the container.
    @discardableResult
    public static func attach(
        at path: FilePath, from headerFile: FilePath, with credentials: Credentials,
        options: RotationOptions = RotationOptions()
    ) throws -> Rotation {
        let update = HeaderUpdate(change: nil, credentials: credentials, options: options, randomness: .system)
        return try Attaching(path: path, headerFile: headerFile, update: update).run()
    }

    /// Changes who can open a detached container (DET-10): replaces its header file under a lock, by a rename. The body is
    /// not read. Other header files of the body stay as they are.
    ///
    /// ``HeaderFile/rotated(_:with:mayLoseAccess:mayMixRecipients:)`` is the same without a file system.
    ///
    /// - Parameters:
    ///   - path: the path of the header file.
    ///   - change: the slots to remove and to add.
    ///   - credentials: the keys that open it now, limits, and in `expectingHeaderFile` the state that the caller
    ///     remembers.
    ///   - options: which risks to accept. `keeping` has no meaning here.
    /// - Returns: what has changed. If nothing has, no file is written.
    /// - Throws: what `rotate(at:_:with:options:)` throws.
    @discardableResult
    public static func rotateHeaderFile(
        at path: FilePath, _ change: KeyChange, with credentials: Credentials,
        options: RotationOptions = RotationOptions()
    ) throws -> Rotation {
        try rotateHeaderFile(at: .path(path), change, with: credentials, options: options)
    }

    /// The same for a file at a place.
    ///
    /// - Throws: as for a path.
    @discardableResult
    public static func rotateHeaderFile(
        at place: FilePlace, _ change: KeyChange, with credentials: Credentials,
        options: RotationOptions = RotationOptions()
    ) throws -> Rotation {
        try rotateHeaderFile(at: place, change, with: credentials, options: options, randomness: .system)
    }

    package static func rotateHeaderFile(
        at place: FilePlace, _ change: KeyChange, with credentials: Credentials, options: RotationOptions,
        randomness: Randomness
    ) throws -> Rotation {
        try HeaderFileUpdate(change: change, credentials: credentials, options: options, randomness: randomness)
            .run(at: place)
    }
}

extension Vault {
    /// Where a program looks for the header file of a container: beside it, under its name and a part of its commitment
    /// (DET-4). Whether there is such a file is not checked.
    ///
    /// - Parameters:
    ///   - path: the path of the container. Links are followed.
    ///   - commitment: that of the container.
    /// - Throws: `VaultError` with `inputFailed` if the links cannot be followed.
    public static func headerFilePath(of path: FilePath, commitment: [UInt8]) throws(VaultError) -> FilePath {
        try path.headerFile(commitment)
    }

    /// Opens a container, and if it is detached, with the header file that has the name for it (DET-4).
    ///
    /// Use it where a user has named no header file. The file is looked for only if a header copy says that there is one,
    /// and only after opening without it failed for lack of a key: a planted file would otherwise be one more way in. A
    /// repair that ends with `rotationUnfinished` is tried with the header file, too: it then completes a detach that was
    /// interrupted.
    ///
    /// - Parameters:
    ///   - place: the place of the container.
    ///   - body: opens the container with this header file; nil for none. It may be called twice. The place is valid only
    ///     during the call.
    /// - Returns: what `body` returns.
    /// - Throws: what `body` throws; `inputFailed` if the system does not tell whether there is a header file.
    public static func withHeaderFile<R>(
        of place: FilePlace, _ body: (_ headerFile: FilePlace?) throws -> R
    ) throws -> R {
        guard let source = try? FileSource(at: place, locking: .none),
            let ends = try? ContainerEnds(reading: source), ends.showsMark, let commitment = ends.commitment
        else { return try body(nil) }
        // No slot of the container itself can open then.
        if ends.showsOnlyMarks { return try body(place.headerFile(commitment)) }
        do {
            return try body(nil)
        } catch let error as VaultError where error.mayLackHeaderFile {
            guard let found = try place.headerFile(commitment) else { throw error }
            return try body(found)
        }
    }
}

extension VaultError {
    /// Whether a call can end with this error because it was not given the header file: no slot opened, or after a detach
    /// that was interrupted, the newer copy has none (ROT-5).
    fileprivate var mayLackHeaderFile: Bool {
        [.wrongKey, .headerDetached, .limitExceeded, .pluginFailed, .rotationUnfinished].contains(code)
    }
}
