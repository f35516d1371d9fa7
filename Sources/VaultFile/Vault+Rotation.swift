public import SystemPackage
public import VaultFormat
public import VaultStream

extension Vault {
    /// Changes who can open a container, in place, in the time of two small writes: no byte of the contents moves
    /// (Spec 13). Whatever is pulled out when, the container opens with the old secrets or with the new ones, and the
    /// same call finishes the work.
    ///
    /// A header that outgrows its capacity, or one of less than 4096 bytes, makes a new file, which takes the old one's
    /// place when it is complete.
    ///
    /// It changes no contents, so it takes nothing from someone who has opened the container before, or who has a
    /// removed key and an old copy of the header; for that there is `reencrypt`. Store an added key durably before you
    /// call.
    ///
    /// - Parameter keys: what opens the container as it is.
    /// - Returns: what was done. Only then a removed key may be destroyed.
    /// - Throws: `VaultError` with what opening fails with, or with `copiesConflict`, `rotationUnfinished`,
    ///   `consentNeeded`, `lastSlot`, `doesNotFit`, `generationExhausted`, `hardLinks`, `inUse`: nothing was written
    ///   then. `inputFailed`, `outputFailed`: the change may have been begun. What the key provider and the options'
    ///   closures throw.
    @discardableResult
    public static func rotate(
        at path: FilePath, _ change: KeyChange, keys: any KeyProvider, context: Context = .none,
        options: RotationOptions = RotationOptions()
    ) throws -> Rotation {
        try rotate(at: .path(path), change, keys: keys, context: context, options: options)
    }

    /// The same for a file at a place.
    @discardableResult
    public static func rotate(
        at place: FilePlace, _ change: KeyChange, keys: any KeyProvider, context: Context = .none,
        options: RotationOptions = RotationOptions()
    ) throws -> Rotation {
        try rotate(at: place, change, keys: keys, context: context, options: options, randomness: .system)
    }

    package static func rotate(
        at place: FilePlace, _ change: KeyChange, keys: any KeyProvider, context: Context, options: RotationOptions,
        randomness: Randomness
    ) throws -> Rotation {
        try HeaderUpdate(
            change: change, keys: keys, context: context, options: options, randomness: randomness
        ).run(at: place)
    }

    /// Makes both header copies whole and equal again, from the one that is, and mends the container's end (Spec 13.2).
    ///
    /// Where the footer or what stands before the tail is damaged, all of the contents is read first: that is what
    /// tells where the end belongs.
    ///
    /// - Returns: what was done; nothing, if the container was whole.
    /// - Throws: what `rotate` throws.
    @discardableResult
    public static func repair(
        at path: FilePath, keys: any KeyProvider, context: Context = .none,
        options: RotationOptions = RotationOptions()
    ) throws -> Rotation {
        try repair(at: .path(path), keys: keys, context: context, options: options)
    }

    /// The same for a file at a place.
    @discardableResult
    public static func repair(
        at place: FilePlace, keys: any KeyProvider, context: Context = .none,
        options: RotationOptions = RotationOptions()
    ) throws -> Rotation {
        try repair(at: place, keys: keys, context: context, options: options, randomness: .system)
    }

    package static func repair(
        at place: FilePlace, keys: any KeyProvider, context: Context, options: RotationOptions,
        randomness: Randomness
    ) throws -> Rotation {
        try HeaderUpdate(
            change: nil, keys: keys, context: context, options: options, randomness: randomness
        ).run(at: place)
    }

    /// Gives a container's contents a new file key, and so shuts out whoever has had the old one (Spec 14). Every byte
    /// is read and written; the new container takes the old one's place when it is complete. Plaintext touches no disk.
    ///
    /// - Parameters:
    ///   - recipients: for whom the new container has slots, and for nobody else: no slot is taken over by itself,
    ///     because whoever has had the file key can have put any slot in.
    ///   - keys: what opens the old container.
    ///   - jobs: how many threads work. What comes out does not depend on it.
    /// - Throws: `VaultError` with what reading fails with, `consentNeeded` for slots that would be lost, `lastSlot`,
    ///   `doesNotFit`, `hardLinks`, `inUse`, `inputFailed`, `outputFailed`: the container is as it was then; if only
    ///   the folder cannot be synced, the new one stands there. What the key provider and the options' closures throw.
    @discardableResult
    public static func reencrypt(
        at path: FilePath, for recipients: [Recipient], keys: any KeyProvider, context: Context = .none,
        options: ReencryptionOptions = ReencryptionOptions(), jobs: Int = processorCount
    ) throws -> Reencryption {
        try reencrypt(
            at: .path(path), for: recipients, keys: keys, context: context, options: options, jobs: jobs)
    }

    /// The same for a file at a place.
    @discardableResult
    public static func reencrypt(
        at place: FilePlace, for recipients: [Recipient], keys: any KeyProvider, context: Context = .none,
        options: ReencryptionOptions = ReencryptionOptions(), jobs: Int = processorCount
    ) throws -> Reencryption {
        try reencrypt(
            at: place, for: recipients, keys: keys, context: context, options: options, jobs: jobs,
            randomness: .system)
    }

    package static func reencrypt(
        at place: FilePlace, for recipients: [Recipient], keys: any KeyProvider, context: Context,
        options: ReencryptionOptions, jobs: Int = processorCount, randomness: Randomness
    ) throws -> Reencryption {
        try Reencryption.run(
            at: place, for: recipients, keys: keys, context: context, options: options, jobs: jobs,
            randomness: randomness)
    }
}
