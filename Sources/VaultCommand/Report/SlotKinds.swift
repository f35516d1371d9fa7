internal import VaultFile

/// What the command says and does by the kind of a slot. Only this table tells kinds apart; a kind that it does not have
/// is one of the other types.
extension SlotDescription.Kind {
    private struct Row {
        let word: String
        let noun: String
        let plural: String
        /// Whether the ID of a slot says which secret opens it.
        var idNamesSecret = false
        /// Whether the command has secrets of this kind. What it cannot use may be of no use to anybody.
        var counts = true
    }

    private static let rows: [Self: Row] = [
        .symmetric: Row(word: "key", noun: "key", plural: "keys", idNamesSecret: true),
        .passphrase: Row(word: "passphrase", noun: "passphrase", plural: "passphrases"),
    ]
    private static let otherTypes = Row(word: "other", noun: "slot", plural: "slots of other types", counts: false)

    private var row: Row { Self.rows[self] ?? Self.otherTypes }

    /// For programs: `key`, `passphrase` or `other`.
    var word: String { row.word }
    /// For people, before an ID.
    var noun: String { row.noun }
    /// For people, where slots are counted.
    var plural: String { row.plural }
    /// Whether the ID of a slot says which secret opens it. Otherwise all slots of the kind are counted as one.
    var idNamesSecret: Bool { row.idNamesSecret }
    /// Whether a slot of this kind counts as one that opens the container.
    var countsAsOpener: Bool { row.counts }
    /// The kind as which its slots are counted: all other types are one.
    var counted: Self { Self.rows[self] == nil ? .unknown : self }
}
