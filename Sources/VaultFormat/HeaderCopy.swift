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
    /// What a reader needs of a copy to know how long it is.
    package static let prefixCount = 68
    /// What the two copies of one container have in common, whatever their generations.
    package static let commonCount = 68
    package static let slotsOffset = 76
    package static let macCount = 32
    package static let checksumCount = 32

    package let bytes: [UInt8]
    package let preamble: Preamble
    package let capacity: HeaderCapacity
    package let generation: UInt32
    package let slots: [Slot]

    /// The capacity that bytes claim for themselves; nil if they do not begin like a copy, which is then damaged.
    package static func claimedCapacity(_ prefix: ArraySlice<UInt8>) -> HeaderCapacity? {
        // mutant: fewer bytes give no capacity, or one that is longer than what is there
        guard prefix.count >= prefixCount, prefix.starts(with: Preamble.magic) else { return nil }
        return HeaderCapacity(bytes: Int(prefix.dropFirst(64).prefix(4).bigEndian() as UInt32))
    }

    /// Takes a copy that is intact: capacity and checksum are right. Everything else is checked here, in the order of
    /// the bytes (HDR-2, HDR-17). Without these checks a holder of a key could hide bytes in a header, or make readers
    /// that are less strict open what others refuse.
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
        var seen: Set<[UInt8]> = []
        for _ in 0..<count {
            let slot = try Slot(parsing: &slotReader)
            if slot.kind != nil, !seen.insert([UInt8(slot.type)] + slot.keyID.bytes).inserted {
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

    /// The smallest capacity for these slots, with room for one more of the largest if `withSpare` asks for it.
    ///
    /// - Throws: `doesNotFit` if no header may hold them.
    package static func capacity(for slots: [Slot], withSpare: Bool) throws(VaultError) -> HeaderCapacity {
        guard (1...Slot.maximumCount).contains(slots.count) else {
            throw VaultError(.doesNotFit, "a header holds 1 to 1024 slots, not \(slots.count)")
        }
        do { try Slot.checkCaps(slots) } catch { throw VaultError(.doesNotFit, error.check) }
        let fixed = slotsOffset + macCount + checksumCount
        let largest = slots.map(\.bytes.count).max() ?? 0
        let needed = slots.reduce(fixed) { $0 + $1.bytes.count }
        let spare = HeaderCapacity(holding: needed + largest)
        guard let capacity = withSpare ? spare ?? HeaderCapacity(holding: needed) : HeaderCapacity(holding: needed)
        else { throw VaultError(.doesNotFit, "the slots take \(needed) bytes, more than the largest header") }
        return capacity
    }
}

/// What a header copy says. That of an opened container is authenticated; what an `Inspection` shows is not.
public struct HeaderSummary: Hashable, Sendable {
    /// Random, but chosen by the container's maker: what names a container is its commitment.
    public let fileID: [UInt8]
    /// What binds the container to its file key and context: 32 bytes.
    public let commitment: [UInt8]
    /// The size of a full record's plaintext.
    public let chunkSize: ChunkSize
    /// How the plaintext is packed.
    public let compression: Compression
    /// The size of each of the two copies.
    public let capacity: HeaderCapacity
    /// Raised by one at every rotation.
    public let generation: UInt32
    /// The slots in their order.
    public let slots: [SlotDescription]

    package init(_ copy: HeaderCopy) {
        fileID = copy.preamble.fileID
        commitment = copy.preamble.commitment
        chunkSize = copy.preamble.chunkSize
        compression = copy.preamble.compression
        capacity = copy.capacity
        generation = copy.generation
        slots = copy.slots.map(SlotDescription.init)
    }
}
