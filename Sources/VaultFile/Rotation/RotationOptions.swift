public import VaultFormat
public import VaultStream

/// Options of a rotation or a repair. The defaults refuse everything after which somebody could open less than before.
public struct RotationOptions: Sendable {
    /// The header copy to keep, if the two contradict each other, or if no secret at hand opens the newer one (ROT-6).
    public var keeping: HeaderPlace?
    /// Whether to go on if none of the secrets at hand opens the container afterwards (ROT-13).
    public var mayLoseAccess = false
    /// Whether to go on if a new file has to replace the file and the file has other names. Those will then still mean
    /// the old file with its old keys (ROT-25).
    public var mayBreakLinks = false
    /// Whether only to find out what would be done. Nothing is locked and nothing is written.
    public var isDryRun = false
    /// Called with the slots in which two valid copies differ, before one of the copies is chosen or the difference is
    /// refused (ROT-7). An error that it throws ends the operation before anything is written.
    public var onDifference: @Sendable (CopyDifference) throws -> Void = { _ in }
    /// Called with the count of bytes after the container's end, before a repair cuts them off or leaves them out
    /// (REP-5, REP-6). An error that it throws ends the repair before anything is written.
    public var onExcess: @Sendable (UInt64) throws -> Void = { _ in }
    /// Called now and then with the count of bytes that were read, if the whole container has to be read: to repair its
    /// end, or to make a new file of it.
    public var onProgress: @Sendable (UInt64) throws -> Void = { _ in }

    /// The defaults.
    public init() {}
}

/// How two valid header copies differ.
public struct CopyDifference: Hashable, Sendable {
    /// The generation of the front copy: how often it was changed.
    public let frontGeneration: UInt32
    /// The generation of the tail copy: how often it was changed.
    public let tailGeneration: UInt32
    /// The slots that only the front copy has.
    public let onlyInFront: [SlotDescription]
    /// The slots that only the tail copy has.
    public let onlyInTail: [SlotDescription]

    init(front: HeaderCopy, tail: HeaderCopy) {
        frontGeneration = front.generation
        tailGeneration = tail.generation
        onlyInFront = front.slots.filter { !tail.slots.contains($0) }.map(SlotDescription.init)
        onlyInTail = tail.slots.filter { !front.slots.contains($0) }.map(SlotDescription.init)
    }
}

/// The result of a rotation or a repair; after a dry run, what would be done.
public struct Rotation: Hashable, Sendable {
    /// The health of the container before; nil if it did not open before its end was repaired.
    public let found: Health?
    /// The slots that were added.
    public let added: [SlotDescription]
    /// The slots that were removed.
    public let removed: [SlotDescription]
    /// Whether the header was changed, and so has a new generation.
    public let isNewHeader: Bool
    /// Whether a header copy, or the container's end, was repaired.
    public let isRepaired: Bool
    /// Whether a new file took the old one's place, because the header outgrew its capacity or has less than 4096
    /// bytes.
    public let isNewFile: Bool
    /// The new header.
    public let header: HeaderSummary
}
