internal import VaultFile

extension Inspection {
    /// The header copies that can be read. They are not authenticated.
    var headers: [HeaderSummary] { [front.summary, tail.summary].compactMap(\.self) }

    /// The commitment of a container of which both copies can be read and are detached; nil if it may have slots of its own.
    ///
    /// A change that was interrupted leaves one copy with slots and one that is detached. A damaged copy may have slots, too:
    /// a person who has its bytes can mend them.
    var commitmentIfDetached: [UInt8]? {
        guard problem == nil, headers.count == 2, headers.allSatisfy(\.isDetached) else { return nil }
        return headers[0].commitment
    }

    /// The slots in either copy, each once. They are not authenticated.
    var slots: [SlotDescription] {
        headers.flatMap(\.slots).reduce(into: []) { if !$0.contains($1) { $0.append($1) } }
    }
}

/// What opens a container, as its header copies say. A slot in either copy counts. None of this is authenticated.
struct SlotSummary {
    /// The keys that have a slot. A slot of another type may show the same ID, but a key does not open that slot.
    let keys: Set<KeyID>
    /// The kinds of the other slots.
    let kinds: Set<SlotDescription.Kind>

    /// Nil if neither copy can be read.
    init?(_ seen: Inspection) {
        guard seen.front.summary != nil || seen.tail.summary != nil else { return nil }
        let slots = seen.slots
        keys = Set(slots.filter(\.kind.idNamesSecret).map(\.keyID))
        kinds = Set(slots.filter { !$0.kind.idNamesSecret }.map(\.kind.counted))
    }

    /// Whether something opens it other than these keys and slots of this kind.
    func opens(without ids: Set<KeyID>, _ kind: SlotDescription.Kind? = nil) -> Bool {
        kinds.contains { $0.countsAsOpener && $0 != kind } || !keys.isSubset(of: ids)
    }
}
