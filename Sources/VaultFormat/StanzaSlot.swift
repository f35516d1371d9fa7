/// The body of a slot with age stanzas (type 5, SLOT-28).
///
///     0      labels u16
///     2      n, the length of the stanzas, u16
///     4      stanzas (n)
///     4 + n  nonce (24), wrapped file key (48)
package struct StanzaSlot: Hashable, Sendable {
    package static let longestStanzas = 8192
    package static let mostStanzas = 16
    /// Label bit 0: a quantum computer does not open it (MIX-1).
    package static let postQuantum: UInt16 = 1

    package let labels: UInt16
    package let stanzas: [AgeStanza]

    /// Nil if the slot is not usable: it is kept then and never opened (SLOT-29).
    package init?(_ slot: Slot) {
        guard slot.kind == .stanzas else { return nil }
        var reader = ByteReader(slot.body)
        guard let labels: UInt16 = reader.integer(), labels & ~Self.postQuantum == 0,
            let count: UInt16 = reader.integer(),
            let text = reader.take(Int(count)), reader.remaining == 24 + Slot.wrappedCount
        else { return nil }
        self.init(labels: labels, text: text)
    }

    /// Nil if the text is not what a slot may hold.
    package init?(labels: UInt16, text: ArraySlice<UInt8>) {
        guard (1...Self.longestStanzas).contains(text.count),
            let stanzas = AgeStanza.parse(text, atMost: Self.mostStanzas)
        else { return nil }
        self.labels = labels
        self.stanzas = stanzas
    }

    /// The first bytes of the body, before the nonce.
    package var encoded: [UInt8] {
        let text = stanzas.flatMap(\.encoded)
        var bytes: [UInt8] = []
        bytes.append(bigEndian: labels)
        bytes.append(bigEndian: UInt16(text.count))
        return bytes + text
    }

    package var isPostQuantum: Bool { labels & Self.postQuantum != 0 }
}
