import VaultFormat
import VaultStream

/// What the header of a container shows. Nothing authenticates it.
enum ItemSlots {
    /// All header copies that are intact; nil if none is.
    static func copies(_ ends: ContainerEnds) -> [HeaderCopy]? {
        let copies = [ends.front, ends.tail].filter(KeySchedule.isIntact).compactMap { try? HeaderCopy(parsing: $0) }
        return copies.isEmpty ? nil : copies
    }

    /// The IDs of the symmetric slots in all header copies that are intact; nil if none is.
    static func ids(_ ends: ContainerEnds) -> Set<KeyID>? {
        copies(ends).map { Set($0.flatMap(\.slots).filter { $0.kind == .symmetric }.map(\.keyID)) }
    }
}

extension Set<PublicKey> {
    /// Whether a slot is for one of these keys (SLOT-25). A hidden one does not tell.
    func have(_ slot: Slot, under preamble: Preamble) -> Bool {
        contains { $0.kind == slot.kind && $0.id(under: preamble) == slot.keyID }
    }
}
