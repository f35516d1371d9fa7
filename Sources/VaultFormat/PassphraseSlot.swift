/// The cost of passphrase slots, and its limits.
extension Slot {
    private static let maximumPassphraseSlots = 4

    /// The cost of a passphrase slot, whose body has its 84 bytes by SLOT-6; nil for other kinds.
    package var argon2: Argon2Parameters? {
        guard kind == .passphrase else { return nil }
        return Argon2Parameters(passes: body.prefix(4).bigEndian(), memoryKiB: body.dropFirst(4).prefix(4).bigEndian())
    }

    private var lanes: UInt32 { body.dropFirst(8).prefix(4).bigEndian() }

    /// The caps of a header copy: the most that opening may cost, whatever the caller allows (SLOT-8 to SLOT-11). Each
    /// factor is checked before the sum, so that no product can overflow.
    static func checkCaps(_ slots: [Slot]) throws(VaultError) {
        var count = 0
        var sum: UInt64 = 0
        for slot in slots {
            guard let cost = slot.argon2 else { continue }
            count += 1
            guard count <= maximumPassphraseSlots else {
                throw VaultError(.headerMalformed, "there are more than 4 passphrase slots")
            }
            guard slot.lanes == 1 else {
                throw VaultError(.headerMalformed, "a passphrase slot asks for \(slot.lanes) lanes instead of 1")
            }
            guard cost.isAllowedForReading else {
                throw VaultError(
                    .headerMalformed,
                    "a passphrase slot asks for \(cost.passes) passes over \(cost.memoryKiB) KiB, beyond the caps")
            }
            sum += cost.stretchingKiB
            guard sum <= Argon2Parameters.stretchingAllowed else {
                throw VaultError(.headerMalformed, "the passphrase slots together ask for more than 2^22 KiB")
            }
        }
    }
}

extension OpenLimits {
    /// The indices of the slots of one header copy for which these limits allow a passphrase to be stretched.
    ///
    /// A slot that is beyond the limits does not count against those after it (SLOT-20).
    package func slotsWithin(_ slots: [Slot]) -> Set<Int> {
        var allowed: Set<Int> = []
        var sum: UInt64 = 0
        for (index, slot) in slots.enumerated() {
            guard let cost = slot.argon2, cost.passes <= maximumPasses, cost.memoryKiB <= maximumMemoryKiB,
                allowed.count < maximumPassphraseSlots, sum + cost.stretchingKiB <= maximumStretchingKiB
            else { continue }
            allowed.insert(index)
            sum += cost.stretchingKiB
        }
        return allowed
    }
}
