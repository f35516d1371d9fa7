/// One of the two copies of the header (Spec 2.3), c bytes long.
///
///     0       preamble (64)
///     64      capacity c u32
///     68      generation u32
///     72      slot count u16
///     74      reserved u16 = 0
///     76      slots, then zeros
///     c − 64  MAC (32) over all before it
///     c − 32  checksum (32) over all before it
package struct HeaderCopy: Hashable, Sendable {
    /// The bytes from which a reader knows the length of a copy.
    package static let prefixCount = 68
    /// The bytes that both copies of a container share, whatever their generations.
    package static let commonCount = 68
    package static let slotsOffset = 76
    package static let macCount = 32
    package static let checksumCount = 32

    package let bytes: [UInt8]
    package let preamble: Preamble
    package let capacity: HeaderCapacity
    package let generation: UInt32
    package let slots: [Slot]

    /// The capacity that the bytes state; nil if they do not begin like a copy. The copy is then damaged (HDR-17).
    package static func claimedCapacity(_ prefix: ArraySlice<UInt8>) -> HeaderCapacity? {
        // mutant: fewer bytes give no capacity, or a capacity longer than the bytes that are there
        guard prefix.count >= prefixCount, prefix.starts(with: Preamble.magic) else { return nil }
        return HeaderCapacity(bytes: Int(prefix.dropFirst(64).prefix(4).bigEndian() as UInt32))
    }

    /// Parses an intact copy: its capacity and checksum are right. Everything else is checked here, in the order of the
    /// bytes (HDR-3, HDR-19). Without these checks a holder of a key could hide bytes in a header, or make a container
    /// that some readers open and others refuse.
    package init(parsing bytes: [UInt8]) throws(VaultError) {
        var reader = ByteReader(bytes[...])
        preamble = try Preamble(parsing: &reader)
        guard let capacity: UInt32 = reader.integer(), let generation: UInt32 = reader.integer(),
            let count: UInt16 = reader.integer(), let reserved: UInt16 = reader.integer(),
            let claimed = HeaderCapacity(bytes: Int(capacity)), claimed.bytes == bytes.count
        else { throw VaultError(.headerMalformed, "the header is cut") }
        self.capacity = claimed
        guard generation > 0 else { throw VaultError(.headerMalformed, "the generation is 0") }
        self.generation = generation
        guard (1...Slot.maximumCount).contains(Int(count)) else {
            throw VaultError(.headerMalformed, "there are \(count) slots, outside 1 to 1024")
        }
        guard reserved == 0 else { throw VaultError(.headerMalformed, "the reserved bytes are not zero") }

        var slotReader = ByteReader(bytes[reader.position..<bytes.count - Self.macCount - Self.checksumCount])
        var slots: [Slot] = []
        var seen: Set<ArraySlice<UInt8>> = []
        for _ in 0..<count {
            let slot = try Slot(parsing: &slotReader)
            if slot.kind.refusesRepeatedIDs, !seen.insert(slot.identity).inserted {
                throw VaultError(.headerMalformed, "two slots of type \(slot.type) have the key ID \(slot.keyID)")
            }
            slots.append(slot)
        }
        guard let padding = slotReader.take(slotReader.remaining), padding.isAllZero else {
            throw VaultError(.headerMalformed, "a byte behind the slots is not zero")
        }
        try Slot.checkCaps(slots)
        self.slots = slots
        self.bytes = bytes
    }

    /// Whether the slots are in a header file (DET-1). A mark that is changed, or is beside another slot, is a slot that
    /// nothing opens.
    package var isDetached: Bool { slots == [.mark] }

    /// The bytes of a copy before its MAC.
    package static func body(
        preamble: Preamble, capacity: HeaderCapacity, generation: UInt32, slots: [Slot]
    ) -> [UInt8] {
        var bytes = preamble.bytes
        bytes.append(bigEndian: UInt32(capacity.bytes))
        bytes.append(bigEndian: generation)
        bytes.append(bigEndian: UInt16(slots.count))
        bytes.append(bigEndian: UInt16(0))
        for slot in slots { bytes += slot.bytes }
        bytes.pad(to: capacity.bytes - macCount - checksumCount)
        return bytes
    }

    /// The smallest capacity for these slots; `withSpare` adds room for one more slot as long as the longest.
    ///
    /// - Throws: `doesNotFit` if no header may hold the slots.
    package static func capacity(for slots: [Slot], withSpare: Bool) throws(VaultError) -> HeaderCapacity {
        guard (1...Slot.maximumCount).contains(slots.count) else {
            throw VaultError(.doesNotFit, "a header holds 1 to 1024 slots, not \(slots.count)")
        }
        do { try Slot.checkCaps(slots) } catch { throw VaultError(.doesNotFit, error.message) }
        let fixed = slotsOffset + macCount + checksumCount
        let largest = slots.map(\.bytes.count).max() ?? 0
        let needed = slots.reduce(fixed) { $0 + $1.bytes.count }
        let spare = HeaderCapacity(holding: needed + largest)
        guard let capacity = withSpare ? spare ?? HeaderCapacity(holding: needed) : HeaderCapacity(holding: needed)
        else { throw VaultError(.doesNotFit, "the slots take \(needed) bytes, more than the largest header") }
        return capacity
    }
}

/// The fields of a header copy (Spec 2.3).
///
/// In an opened container they are authenticated. In an inspection, which uses no key, they are not: anybody can have
/// written them.
public struct HeaderSummary: Hashable, Sendable {
    /// 16 bytes, random unless the maker of the container chose them. Only ``commitment`` identifies a container.
    public let fileID: [UInt8]
    /// 32 bytes that bind the container to its file key and context (KEY-4).
    public let commitment: [UInt8]
    /// The plaintext size of a full record.
    public let chunkSize: ChunkSize
    /// Whether the plaintext is compressed.
    public let compression: Compression
    /// The size of each of the two header copies.
    public let capacity: HeaderCapacity
    /// The generation: 1 in a new container, and one more after every rotation (HDR-10, ROT-11).
    public let generation: UInt32
    /// The slots in their order.
    public let slots: [SlotDescription]
    /// Whether the container's slots are in a header file (DET-1). The mark is then the only one of ``slots``.
    public let isDetached: Bool
    /// What to remember of this state, to refuse older ones later. Only the header of an opened container is worth it.
    public let pin: HeaderPin
    /// The part that no rotation changes. The IDs of slots of public keys depend on it (KEY-18).
    package let preamble: Preamble

    package init(_ copy: HeaderCopy) {
        preamble = copy.preamble
        fileID = copy.preamble.fileID
        commitment = copy.preamble.commitment
        chunkSize = copy.preamble.chunkSize
        compression = copy.preamble.compression
        capacity = copy.capacity
        generation = copy.generation
        slots = copy.slots.map(SlotDescription.init)
        isDetached = copy.isDetached
        pin = HeaderPin(copy)
    }
}
