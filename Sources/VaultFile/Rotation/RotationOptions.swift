public import VaultFormat
public import VaultStream

/// How a rotation or a repair is done. The defaults refuse whatever could take something from somebody.
public struct RotationOptions: Sendable {
    /// The copy to keep where the two contradict each other, or where no secret at hand opens the newer one (ROT-6).
    public var keeping: HeaderPlace?
    /// Whether to go on where none of the secrets at hand opens the container afterwards (ROT-13).
    public var mayLoseAccess = false
    /// Whether to go on where the file has to be replaced by a new one and has other names, which go on to mean the old
    /// one with its old keys (ROT-25).
    public var mayBreakLinks = false
    /// Whether only to find out what would be done: nothing is locked and nothing is written.
    public var isDryRun = false
    /// What opening may cost.
    public var limits = OpenLimits.standard
    /// Called with the slots in which two valid copies differ, before one of them is taken for the current one or
    /// the difference is refused (ROT-7). What it throws ends the operation before anything is written.
    public var onDifference: @Sendable (CopyDifference) throws -> Void = { _ in }
    /// Called with the number of bytes that stand behind the container's end, before a repair cuts them off or leaves
    /// them out (REP-5, REP-6). What it throws ends the repair before anything is written.
    public var onExcess: @Sendable (UInt64) throws -> Void = { _ in }
    /// Called now and then with the bytes that were read, where the whole container has to be: to repair its end, or
    /// to make a new file of it.
    public var onProgress: @Sendable (UInt64) throws -> Void = { _ in }

    /// The defaults.
    public init() {}
}

/// How two valid header copies differ.
public struct CopyDifference: Hashable, Sendable {
    /// How often the front was changed.
    public let frontGeneration: UInt32
    /// How often the tail was changed.
    public let tailGeneration: UInt32
    /// The slots that stand in the front alone.
    public let onlyInFront: [SlotDescription]
    /// The slots that stand in the tail alone.
    public let onlyInTail: [SlotDescription]

    init(front: HeaderCopy, tail: HeaderCopy) {
        frontGeneration = front.generation
        tailGeneration = tail.generation
        onlyInFront = front.slots.filter { !tail.slots.contains($0) }.map(SlotDescription.init)
        onlyInTail = tail.slots.filter { !front.slots.contains($0) }.map(SlotDescription.init)
    }
}

/// What a rotation or a repair has done, or, as a dry run, would do.
public struct Rotation: Hashable, Sendable {
    /// The health in which the container was found; nil where it did not open before its end was repaired.
    public let found: Health?
    /// The slots that were made.
    public let added: [SlotDescription]
    /// The slots that are gone.
    public let removed: [SlotDescription]
    /// Whether there is a header of a new generation.
    public let isNewHeader: Bool
    /// Whether one copy, or the container's end, was written anew from what was whole.
    public let isRepaired: Bool
    /// Whether a new file took the old one's place, since the header outgrew its capacity or is a small one.
    public let isNewFile: Bool
    /// The header as it is now.
    public let header: HeaderSummary
}
