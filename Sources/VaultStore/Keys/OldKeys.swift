import VaultFormat
import VaultStream

/// The keys of a class that a rotation takes out of the headers of items (STORE-36).
struct OldKeys: Sendable {
    /// The IDs of symmetric keys.
    let ids: Set<KeyID>
    /// Public keys of the class `unlessOpen`.
    let publics: Set<PublicKey>

    var isEmpty: Bool { ids.isEmpty && publics.isEmpty }

    /// The IDs of their slots in all header copies that are intact; nil if none is. Nothing authenticates them.
    func slots(in ends: ContainerEnds) -> Set<KeyID>? {
        guard let copies = ItemSlots.copies(ends) else { return nil }
        var found: Set<KeyID> = []
        for copy in copies {
            for slot in copy.slots where isSlot(slot, under: copy.preamble) { found.insert(slot.keyID) }
        }
        return found
    }

    private func isSlot(_ slot: Slot, under preamble: Preamble) -> Bool {
        if slot.kind == .symmetric { return ids.contains(slot.keyID) }
        return publics.have(slot, under: preamble)
    }
}

extension [ClassKey] {
    func retiredIDs(of protection: ItemProtection) -> Set<KeyID> {
        Set(filter { $0.protection == protection && $0.state == .retired }.map(\.key.id))
    }

    /// Makes a new key of a class the current one.
    mutating func renew(_ protection: ItemProtection) throws(VaultError) {
        for index in indices where self[index].protection == protection { self[index].state = .retired }
        append(try ClassKey.generate(protection))
    }

    mutating func drop(_ ids: Set<KeyID>, of protection: ItemProtection) {
        removeAll { $0.protection == protection && $0.state == .retired && ids.contains($0.key.id) }
    }
}
