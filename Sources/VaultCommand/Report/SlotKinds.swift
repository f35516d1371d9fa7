internal import VaultFile

/// How the command names and treats each kind of slot. Only this table distinguishes kinds. A kind without a row is
/// treated as another type.
extension SlotDescription.Kind {
    private struct Row {
        let word: String
        let noun: String
        let plural: String
        /// Whether the ID of a slot identifies the secret that opens it.
        var idNamesSecret = false
        /// Whether the command can use secrets of this kind. A slot that it cannot use may have no secret at all.
        var counts = true
    }

    private static let rows: [Self: Row] = [
        .symmetric: Row(word: "key", noun: "key", plural: "keys", idNamesSecret: true),
        .passphrase: Row(word: "passphrase", noun: "passphrase", plural: "passphrases"),
    ]
    private static let otherTypes = Row(word: "other", noun: "slot", plural: "slots of other types", counts: false)

    private var row: Row { Self.rows[self] ?? Self.otherTypes }

    /// The word in JSON: `key`, `passphrase` or `other`.
    var word: String { row.word }
    /// The word in text, before an ID.
    var noun: String { row.noun }
    /// The word in text for counted slots.
    var plural: String { row.plural }
    /// Whether the ID of a slot identifies the secret that opens it. Otherwise all slots of the kind are counted
    /// together.
    var idNamesSecret: Bool { row.idNamesSecret }
    /// Whether a slot of this kind counts as a way to open the container.
    var countsAsOpener: Bool { row.counts }
    /// The kind under which its slots are counted. All other types are counted as one kind.
    var counted: Self { Self.rows[self] == nil ? .unknown : self }
}
