public import VaultFormat
public import VaultStream

/// Options of a rotation or a repair. The defaults refuse every change by which a person could lose access that the
/// change does not remove.
public struct RotationOptions: Sendable {
    /// The header copy to keep, if the two copies contradict each other, or if no given secret opens the newer one
    /// (ROT-6). Nil to refuse such a container.
    public var keeping: HeaderPlace?
    /// Whether to go on if no given secret opens the container afterwards (ROT-15).
    public var mayLoseAccess = false
    /// Whether to go on if a new file has to replace a file with several names (hard links). The other names keep the
    /// old file with its old keys (ROT-27).
    public var mayBreakLinks = false
    /// Whether the new header may have slots of post-quantum and of classical public keys, if one of them is new. If not,
    /// the error is `mixedRecipients` (MIX-2).
    public var mayMixRecipients = false
    /// Whether to return what would change, and to lock and write nothing.
    public var isDryRun = false
    /// Called if two valid copies differ, before one of them is chosen or the difference is refused (ROT-7). If it
    /// throws, the operation ends before anything is written.
    public var onDifference: @Sendable (CopyDifference) throws -> Void = { _ in }
    /// Called with the count of bytes after the container's end, before a repair removes them (REP-6, REP-7). If it
    /// throws, the repair ends before anything is written.
    public var onExcess: @Sendable (UInt64) throws -> Void = { _ in }
    /// Called now and then with the count of bytes that were read, if the whole container has to be read. That is so
    /// if its end is repaired or a new file is made.
    public var onProgress: @Sendable (UInt64) throws -> Void = { _ in }
    /// Called before the operation waits for a lock that another program holds. It waits two seconds for a shared lock
    /// if the front copy is damaged, then two seconds for an exclusive lock, and calls this at most once for each.
    public var onWaiting: @Sendable () -> Void = {}

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
    /// The slots that the new header took over from the old one. Show them to a person: if someone has put an old header
    /// back, slots that were removed before are among them.
    public let kept: [SlotDescription]
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
