public import VaultFormat

/// Slots of the types that programs define for themselves (0x8000 and above, SLOT-15). The program opens them.
struct PrivateSlots: SlotKind {
    static let kind = SlotDescription.Kind.privateType

    static func includes(_ slot: Slot) -> Bool { slot.kind == kind }

    private var program: PrivateSlotProgram?

    init(_ limits: TrialLimits) {}

    mutating func note(_ slots: [HeaderSlot]) {}

    mutating func ask(_ provider: any KeyProvider) {
        if program == nil { program = PrivateSlotProgram(provider) }
    }

    func secrets(for slot: HeaderSlot) -> [any SlotSecret] { program.map { [$0] } ?? [] }
}

/// The caller's program, which opens its own slots.
private final class PrivateSlotProgram: SlotSecret {
    private let provider: any KeyProvider

    init(_ provider: any KeyProvider) {
        self.provider = provider
    }

    func mayOpen(_ slot: HeaderSlot) -> Bool {
        provider.privateSlots.contains { $0.includes(slot.slot) }
    }

    func attempt(_ slot: HeaderSlot, context: Context) throws -> SlotTrials.Verdict {
        let place = PrivateSlot(slot.slot, preamble: slot.preamble)
        guard let fileKey = try provider.fileKey(for: place) else { return .refused }
        // The program's answer is not trusted: one container must not have two contents.
        let fits = KeySchedule.fits(fileKey.secret, preamble: slot.preamble, context: context)
        return fits ? .opened(fileKey, by: self) : .refused
    }

    func recipient(like slot: Slot) -> Recipient? { nil }
}

/// The private slots of one program: a type, and the 8 bytes that begin their IDs, which the program drew once
/// (SLOT-15).
public struct PrivateSlotFamily: Hashable, Sendable {
    /// The slots' type, 0x8000 or above.
    public let type: UInt16
    /// The first 8 bytes of the slots' IDs.
    public let idPrefix: [UInt8]

    /// Nil unless the type is a private one and `idPrefix` has 8 bytes.
    public init?(type: UInt16, idPrefix: [UInt8]) {
        guard SlotDescription.Kind(type: type) == PrivateSlots.kind, idPrefix.count == 8 else { return nil }
        self.type = type
        self.idPrefix = idPrefix
    }

    fileprivate func includes(_ slot: Slot) -> Bool {
        slot.type == type && slot.keyID.bytes.starts(with: idPrefix)
    }
}

/// A slot of a type from 0x8000 on. Only the program that wrote it knows what its body means.
public struct PrivateSlot: Hashable, Sendable {
    /// The slot's type, 0x8000 or above.
    public let type: UInt16
    /// The slot's ID.
    public let keyID: KeyID
    /// What the program put into the slot.
    public let body: [UInt8]
    /// The container's preamble and the slot's first 20 bytes, 84 in all. Authenticate them with the wrapped key: they
    /// bind the slot to its container.
    public let associatedData: [UInt8]

    package init(_ slot: Slot, preamble: Preamble) {
        type = slot.type
        keyID = slot.keyID
        body = [UInt8](slot.body)
        associatedData = preamble.bytes + slot.bytes.prefix(Slot.headCount)
    }
}

extension Recipient {
    /// A program that unwraps the file key from a private slot, for example with a key service or hardware.
    ///
    /// - Parameters:
    ///   - family: the type, and the beginning of the ID.
    ///   - idSuffix: the other 8 bytes of the ID.
    ///   - bodyCount: the length of what `wrap` returns, at most 65,535 bytes.
    ///   - wrap: gets the file key and the associated data, as `PrivateSlot` has it, and returns the slot's body.
    /// - Throws: `invalidArgument` if the suffix does not have 8 bytes, or the body would have more than 65,535.
    public static func privateSlot(
        _ family: PrivateSlotFamily, idSuffix: [UInt8], bodyCount: Int,
        wrap: @escaping @Sendable (_ fileKey: FileKey, _ associatedData: [UInt8]) throws -> [UInt8]
    ) throws(VaultError) -> Recipient {
        guard let keyID = KeyID(bytes: family.idPrefix + idSuffix), (0...65_535).contains(bodyCount) else {
            throw VaultError(
                .invalidArgument, "a private slot has an ID suffix of 8 bytes and a body of at most 65,535 bytes")
        }
        return Recipient(
            maker: PrivateSlotMaker(family: family, keyID: { _ in keyID }, bodyCount: bodyCount, wrap: wrap))
    }

    /// A program whose slot has an ID that depends on the container.
    ///
    /// - Parameter keyID: the ID in a container with this file ID. It begins as the family says.
    package static func privateSlot(
        _ family: PrivateSlotFamily, keyID: @escaping @Sendable (_ fileID: [UInt8]) -> KeyID, bodyCount: Int,
        wrap: @escaping @Sendable (_ fileKey: FileKey, _ associatedData: [UInt8]) throws -> [UInt8]
    ) -> Recipient {
        Recipient(maker: PrivateSlotMaker(family: family, keyID: keyID, bodyCount: bodyCount, wrap: wrap))
    }
}

private struct PrivateSlotMaker: SlotMaker {
    let family: PrivateSlotFamily
    /// The ID in a container with this file ID.
    let keyID: @Sendable (_ fileID: [UInt8]) -> KeyID
    let bodyCount: Int
    let wrap: @Sendable (_ fileKey: FileKey, _ associatedData: [UInt8]) throws -> [UInt8]

    /// Nil: only the program has it.
    var secret: (any SlotSecret)? { nil }

    /// A program may give several slots one ID.
    var idNamesOne: Bool { false }

    func outline(under preamble: Preamble) -> Slot {
        Slot(type: family.type, keyID: keyID(preamble.fileID), body: [UInt8](repeating: 0, count: bodyCount))
    }

    func make(for fileKey: FileKey, preamble: Preamble, randomness: Randomness) throws -> MadeSlot {
        let associatedData = PrivateSlot(outline(under: preamble), preamble: preamble).associatedData
        let body = try wrap(fileKey, associatedData)
        guard body.count == bodyCount else {
            throw VaultError(
                .invalidArgument, "the private slot's body has \(body.count) bytes instead of \(bodyCount)")
        }
        return MadeSlot(
            slot: Slot(type: family.type, keyID: keyID(preamble.fileID), body: body), opener: nil)
    }
}

extension SecretsAtHand {
    package var privateSlots: [PrivateSlotFamily] { keys.privateSlots }

    package func fileKey(for slot: PrivateSlot) throws -> FileKey? {
        try keys.fileKey(for: slot)
    }
}
