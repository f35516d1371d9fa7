internal import VaultFile

/// How the command names and treats each kind of slot.
extension SlotDescription.Kind {
    /// Whether it is a slot of a public key.
    var isOfPublicKey: Bool { self == .x25519 || self == .xWing || self == .stanzas }

    /// Whether the command can use secrets of this kind. A slot that it cannot use may have no secret at all, so it
    /// does not count as a way to open the container.
    var countsAsOpener: Bool { self == .symmetric || self == .passphrase || isOfPublicKey }

    /// The word in JSON: `key`, `passphrase`, `x25519`, `x-wing`, `stanzas` or `other`.
    var word: String { self == .symmetric ? "key" : countsAsOpener ? name : "other" }

    /// The word in text, before an ID.
    var noun: String {
        if self == .stanzas { return "plugin recipient" }
        return isOfPublicKey ? "\(name) recipient" : countsAsOpener ? word : "slot"
    }

    /// The word in text for counted slots.
    var plural: String { countsAsOpener ? noun + "s" : "slots of other types" }

    /// What opens a slot of a public key.
    var nounOfIdentity: String {
        switch self {
        case .stanzas: "identity of a plugin"
        case .xWing: "X-Wing identity"
        default: "X25519 identity"
        }
    }

    /// Whether the ID of a slot identifies the secret that opens it. Otherwise all slots of the kind are counted
    /// together.
    var idNamesSecret: Bool { self == .symmetric }

    /// The kind under which its slots are counted. All other types are counted as one kind.
    var counted: Self { countsAsOpener ? self : .unknown }
}

extension SlotDescription {
    /// The kind and the ID, for a message. A detached container has a mark in place of slots, and the mark has no ID.
    var text: String { kind == .mark ? "its slots in a header file" : "\(kind.noun) \(keyID)" }
}
