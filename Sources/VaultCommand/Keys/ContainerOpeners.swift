internal import VaultFile

/// What opens a container, as far as its header copies say: what has a slot in either opens it. Nothing of it is
/// authenticated.
struct ContainerOpeners {
    /// The keys that have a slot. A slot of another type may show the same ID, and no key opens that.
    let keys: Set<KeyID>
    /// The kinds of the other slots.
    let kinds: Set<SlotDescription.Kind>

    /// Nil where no copy can be read.
    init?(_ seen: Inspection) {
        let headers = [seen.front, seen.tail].compactMap(\.summary)
        guard !headers.isEmpty else { return nil }
        let slots = headers.flatMap(\.slots)
        keys = Set(slots.filter(\.kind.idNamesSecret).map(\.keyID))
        kinds = Set(slots.filter { !$0.kind.idNamesSecret }.map(\.kind.counted))
    }

    /// Whether something opens it without these keys, and without slots of this kind.
    func open(without ids: Set<KeyID>, _ kind: SlotDescription.Kind? = nil) -> Bool {
        kinds.contains { $0.countsAsOpener && $0 != kind } || !keys.isSubset(of: ids)
    }
}
