internal import VaultFile

/// What opens a container, as far as its header copies say: what has a slot in either opens it. Nothing of it is
/// authenticated.
struct ContainerOpeners {
    /// The keys that have a slot. A slot of another type may show the same ID, and no key opens that.
    let keys: Set<KeyID>
    /// Whether a passphrase has one.
    let hasPassphrase: Bool
    /// Whether there are slots of other types. They count as no way in: what this program cannot use may be of no use
    /// to anybody.
    let hasOther: Bool

    /// Nil where no copy can be read.
    init?(_ seen: Inspection) {
        let headers = [seen.front, seen.tail].compactMap(\.summary)
        guard !headers.isEmpty else { return nil }
        let slots = headers.flatMap(\.slots)
        keys = Set(slots.filter { $0.kind == .symmetric }.map(\.keyID))
        hasPassphrase = slots.contains { $0.kind == .passphrase }
        hasOther = slots.contains { $0.kind != .symmetric && $0.kind != .passphrase }
    }

    /// Whether a key or a passphrase opens it, these keys apart.
    func open(without ids: Set<KeyID>) -> Bool {
        hasPassphrase || !keys.isSubset(of: ids)
    }
}
