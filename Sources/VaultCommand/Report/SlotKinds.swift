internal import VaultFile

/// How the command names and treats each kind of slot. The command uses keys and passphrases; slots of public keys are
/// other slots to it.
extension SlotDescription.Kind {
    /// Whether the command can use secrets of this kind. A slot that it cannot use may have no secret at all, so it
    /// does not count as a way to open the container.
    var countsAsOpener: Bool { self == .symmetric || self == .passphrase }

    /// The word in JSON: `key`, `passphrase` or `other`.
    var word: String { self == .symmetric ? "key" : countsAsOpener ? name : "other" }

    /// The word in text, before an ID.
    var noun: String { countsAsOpener ? word : "slot" }

    /// The word in text for counted slots.
    var plural: String { countsAsOpener ? word + "s" : "slots of other types" }

    /// Whether the ID of a slot identifies the secret that opens it. Otherwise all slots of the kind are counted
    /// together.
    var idNamesSecret: Bool { self == .symmetric }

    /// The kind under which its slots are counted. All other types are counted as one kind.
    var counted: Self { countsAsOpener ? self : .unknown }
}
