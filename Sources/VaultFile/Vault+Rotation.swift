public import SystemPackage
import VaultFormat
public import VaultStream

extension Vault {
    /// Changes who can open a container, in place, in the time of two small writes: no byte of the contents moves (Spec
    /// 13). If it is interrupted at any moment, the container opens with the old secrets or with the new ones, and the
    /// same call finishes the work.
    ///
    /// If the header outgrows its capacity, or has less than 4096 bytes, a new file is made. It takes the old file's
    /// place when it is complete.
    ///
    /// The contents keep their file key. Somebody who has opened the container before, or who has a removed key and an
    /// old copy of the header, can still decrypt it; use `reencrypt` against that. Store an added key durably before
    /// you call.
    ///
    /// - Parameters:
    ///   - path: of the container.
    ///   - change: the slots to remove and to add.
    ///   - credentials: what opens the container now.
    ///   - options: what to do in doubt.
    /// - Returns: what was done. Do not destroy a removed key before this has returned.
    /// - Throws: `VaultError` with what opening fails with, or with `copiesConflict`, `rotationUnfinished`,
    ///   `consentNeeded`, `lastSlot`, `doesNotFit`, `generationExhausted`, `hardLinks`, `inUse`: then nothing was
    ///   written. With `inputFailed` or `outputFailed`: then the change may have begun. What the key provider and the
    ///   options' closures throw.
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
        try HeaderUpdate(
            change: change, credentials: credentials, options: options, randomness: randomness
        ).run(at: place)
    }

    /// Makes both header copies whole and equal again, and repairs the container's end (Spec 13.2).
    ///
    /// If the footer or the zeros before the tail are damaged, all of the contents is read first, to find out where the
    /// end belongs.
    ///
    /// - Parameters:
    ///   - path: of the container.
    ///   - credentials: what opens the container.
    ///   - options: what to do in doubt.
    /// - Returns: what was done. A container that was whole is not changed.
    /// - Throws: what `rotate` throws.
    @discardableResult
    public static func repair(
        at path: FilePath, with credentials: Credentials,
        options: RotationOptions = RotationOptions()
    ) throws -> Rotation {
        try repair(at: .path(path), with: credentials, options: options)
    }

    /// The same for a file at a place.
    ///
    /// - Throws: as for a path.
    @discardableResult
    public static func repair(
        at place: FilePlace, with credentials: Credentials,
        options: RotationOptions = RotationOptions()
    ) throws -> Rotation {
        try repair(at: place, with: credentials, options: options, randomness: .system)
    }

    package static func repair(
        at place: FilePlace, with credentials: Credentials, options: RotationOptions,
        randomness: Randomness
    ) throws -> Rotation {
        try HeaderUpdate(
            change: nil, credentials: credentials, options: options, randomness: randomness
        ).run(at: place)
    }

    /// Encrypts a container's contents again under a new file key, and so shuts out everybody who has the old one
    /// (Spec 14). Every byte is read and written. The new container takes the old one's place when it is complete.
    /// Plaintext is never written to disk.
    ///
    /// - Parameters:
    ///   - path: of the container.
    ///   - recipients: the new container has slots for these recipients only. No slot of the old container is taken
    ///     over: anybody who had the old file key may have added slots to it.
    ///   - credentials: what opens the old container.
    ///   - options: what to do in doubt.
    ///   - jobs: the number of threads that do the work, at least 1; more than `Vault.maximumJobs` count as that many,
    ///     and nil is one per processor. The result does not depend on it.
    /// - Throws: `VaultError` with what reading fails with, `consentNeeded` for slots that would be lost, `lastSlot`,
    ///   `doesNotFit`, `hardLinks`, `inUse`, `inputFailed`, `outputFailed`, `invalidArgument` for `jobs` below 1. Then
    ///   the container is as it was; but if only its folder could not be synced, the new one is in its place. What the
    ///   key provider and the options' closures throw.
    @discardableResult
    public static func reencrypt(
        at path: FilePath, for recipients: [Recipient], with credentials: Credentials,
        options: ReencryptionOptions = ReencryptionOptions(), jobs: Int? = nil
    ) throws -> Reencryption {
        try reencrypt(
            at: .path(path), for: recipients, with: credentials, options: options, jobs: jobs)
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
            at: place, for: recipients, with: credentials, options: options, jobs: jobs,
            randomness: .system)
    }

    package static func reencrypt(
        at place: FilePlace, for recipients: [Recipient], with credentials: Credentials,
        options: ReencryptionOptions, jobs: Int? = nil, randomness: Randomness
    ) throws -> Reencryption {
        try Reencryption.run(
            at: place, for: recipients, with: credentials, options: options,
            jobs: ThreadCount(jobs: jobs), randomness: randomness)
    }
}
