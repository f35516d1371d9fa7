public import SystemPackage
import VaultFormat
public import VaultStream

extension Vault {
    /// Changes who can open a container, in place. It writes two small header copies, and no byte of the contents moves
    /// (Spec 13). If it is interrupted at any moment, the container opens with the old secrets or with the new ones,
    /// and the same call finishes the work.
    ///
    /// If the header outgrows its capacity, or has less than 4096 bytes, a new file is made. It replaces the old file
    /// when it is complete.
    ///
    /// The contents keep their file key. A person can still decrypt the container if they have opened it before, or if
    /// they have a removed key and an old copy of the header. Use `reencrypt` against that. Store an added key durably
    /// before you call.
    ///
    /// - Parameters:
    ///   - path: the path of the container.
    ///   - change: the slots to remove and to add.
    ///   - credentials: the keys that open the container now, and limits on the cost of opening.
    ///   - options: which risks to accept.
    /// - Returns: what has changed. Do not destroy a removed key before this has returned.
    /// - Throws: `VaultError` with
    ///   - the error of opening, `copiesConflict`, `rotationUnfinished`, `consentNeeded`, `lastSlot`, `doesNotFit`,
    ///     `generationExhausted`, `hardLinks` or `inUse`: nothing was written;
    ///   - `inputFailed` or `outputFailed`: a part of the change may be written.
    ///
    ///   Also what the key provider and the closures of `options` throw.
    @discardableResult
    public static func rotate(
        at path: FilePath, _ change: KeyChange, with credentials: Credentials,
        options: RotationOptions = RotationOptions()
    ) throws -> Rotation {
        try rotate(at: .path(path), change, with: credentials, options: options)
    }

    /// The same for a file at a place.
    ///
    /// - Throws: as for a path.
    @discardableResult
    public static func rotate(
        at place: FilePlace, _ change: KeyChange, with credentials: Credentials,
        options: RotationOptions = RotationOptions()
    ) throws -> Rotation {
        try rotate(at: place, change, with: credentials, options: options, randomness: .system)
    }

    package static func rotate(
        at place: FilePlace, _ change: KeyChange, with credentials: Credentials, options: RotationOptions,
        randomness: Randomness
    ) throws -> Rotation {
        try HeaderUpdate(change: change, credentials: credentials, options: options, randomness: randomness)
            .run(at: place)
    }

    /// Makes both header copies valid and equal again, and repairs the container's end (Spec 13.2).
    ///
    /// If the footer or the zeros before the tail are damaged, it first reads all of the contents, to find the place of
    /// the end.
    ///
    /// - Parameters:
    ///   - path: the path of the container.
    ///   - credentials: the keys, and limits on the cost of opening.
    ///   - options: which risks to accept.
    /// - Returns: what has changed. An intact container is not changed.
    /// - Throws: what `rotate` throws.
    @discardableResult
    public static func repair(
        at path: FilePath, with credentials: Credentials, options: RotationOptions = RotationOptions()
    ) throws -> Rotation {
        try repair(at: .path(path), with: credentials, options: options)
    }

    /// The same for a file at a place.
    ///
    /// - Throws: as for a path.
    @discardableResult
    public static func repair(
        at place: FilePlace, with credentials: Credentials, options: RotationOptions = RotationOptions()
    ) throws -> Rotation {
        try repair(at: place, with: credentials, options: options, randomness: .system)
    }

    package static func repair(
        at place: FilePlace, with credentials: Credentials, options: RotationOptions, randomness: Randomness
    ) throws -> Rotation {
        try HeaderUpdate(change: nil, credentials: credentials, options: options, randomness: randomness)
            .run(at: place)
    }

    /// Encrypts a container's contents again under a new file key. A person who has the old file key cannot open the
    /// new container (Spec 14). Every byte is read and written. The new container replaces the old one when it is
    /// complete. Plaintext is never written to disk.
    ///
    /// - Parameters:
    ///   - path: the path of the container.
    ///   - recipients: the new container has slots for these recipients only. No slot of the old container is copied:
    ///     any person who had the old file key may have added slots to it.
    ///   - credentials: the keys that open the old container, and limits on the cost of opening.
    ///   - options: which risks to accept.
    ///   - jobs: the number of threads that do the work, at least 1. More than `Vault.maximumJobs` count as that many,
    ///     and nil is one per processor. The result does not depend on it.
    /// - Returns: the old container, the new header, and the slots that were lost.
    /// - Throws: `VaultError` with the error of reading, `consentNeeded` for slots that would be lost, `lastSlot`,
    ///   `doesNotFit`, `hardLinks`, `inUse`, `inputFailed`, `outputFailed`, `invalidArgument` for `jobs` below 1. Also
    ///   what the key provider and the closures of `options` throw. After an error, the container is unchanged, with
    ///   one exception: if only its folder could not be synced, the new container has replaced it.
    @discardableResult
    public static func reencrypt(
        at path: FilePath, for recipients: [Recipient], with credentials: Credentials,
        options: ReencryptionOptions = ReencryptionOptions(), jobs: Int? = nil
    ) throws -> Reencryption {
        try reencrypt(at: .path(path), for: recipients, with: credentials, options: options, jobs: jobs)
    }

    /// The same for a file at a place.
    ///
    /// - Throws: as for a path.
    @discardableResult
    public static func reencrypt(
        at place: FilePlace, for recipients: [Recipient], with credentials: Credentials,
        options: ReencryptionOptions = ReencryptionOptions(), jobs: Int? = nil
    ) throws -> Reencryption {
        try reencrypt(
            at: place, for: recipients, with: credentials, options: options, jobs: jobs, randomness: .system)
    }

    package static func reencrypt(
        at place: FilePlace, for recipients: [Recipient], with credentials: Credentials,
        options: ReencryptionOptions, jobs: Int? = nil, randomness: Randomness
    ) throws -> Reencryption {
        try Reencryption.run(
            at: place, for: recipients, with: credentials, options: options, jobs: ThreadCount(jobs: jobs),
            randomness: randomness)
    }

    /// Encrypts new contents into the place of a container. The new container has a new file key (Spec 14), and the
    /// chunk size, the compression, the name and the mode of the old one. It has a digest if the old one had one. It
    /// replaces the old container when it is complete.
    ///
    /// Slots follow the rules of `reencrypt`: no slot is copied, and those that would be lost need consent.
    /// `options.keepsSlot` makes a new one for each secret of the credentials that opens an old one.
    ///
    /// - Parameters:
    ///   - path: the path of the container.
    ///   - contents: the new plaintext, from its offset to its end.
    ///   - recipients: who else gets a slot.
    ///   - credentials: the keys that open the old container, and limits on the cost of opening.
    ///   - options: which slots to keep, and which risks to accept.
    ///   - jobs: the number of threads, as for `reencrypt`.
    /// - Returns: the old container, the new header, and the slots that were lost.
    /// - Throws: as `reencrypt` does. After an error, the container is unchanged, with the same exception.
    @discardableResult
    public static func rewrite(
        at path: FilePath, from contents: FileDescriptor, for recipients: [Recipient] = [],
        with credentials: Credentials, options: ReencryptionOptions = ReencryptionOptions(), jobs: Int? = nil
    ) throws -> Reencryption {
        try Reencryption.run(
            at: .path(path), from: contents, for: recipients, with: credentials, options: options,
            jobs: ThreadCount(jobs: jobs), randomness: .system)
    }
}
