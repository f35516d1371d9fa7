internal import VaultFile

extension Report {
    /// A result about a key, a recipient, an identity or a group of the keyring.
    init(_ entry: KeyringEntry) {
        self.init(.ok)
        keyID = entry.id?.description
        keyName = "\(entry.name)"
        created = entry.created.utc
        state = entry.state.name
        recipient = entry.recipientText
        if entry.state == .group { members = entry.members.map(\.description) }
    }
}

extension Console {
    /// Writes a result for each of these keys of the keyring.
    ///
    /// - Parameters:
    ///   - done: What was done, for the message if a result cannot be written.
    ///   - lines: The result as text. It may add to the report.
    func give(
        _ entries: [KeyringEntry], done: String, lines: (KeyringEntry, inout Report) -> [String]
    ) throws -> ExitStatus {
        .ofAll(
            try entries.map { entry in
                var report = Report(entry)
                let lines = lines(entry, &report)
                return try give(report, lines: lines, about: entry.subject, done: done)
            })
    }
}

extension KeyringEntry {
    /// What messages call it.
    var subject: Failure.Subject { .text("\(noun) '\(name)'") }

    /// What kind of thing it is, in a word.
    var noun: String {
        switch state {
        case .recipient, .former: "recipient"
        case .identity: "identity"
        case .group: "group"
        default: "key"
        }
    }

    /// The noun and the ID, if it has one.
    var nounAndID: String { noun + (id.map { " \($0)" } ?? "") }

    /// Its line in `key list`.
    ///
    /// - Parameter former: The names of former recipients, which a group keeps and does not encrypt to.
    func line(former: Set<KeyName>) -> String {
        let members = members.map { former.contains($0) ? "\($0) (former)" : "\($0)" }
        let names = members.isEmpty ? "" : ": " + members.joined(separator: ", ")
        let words = [(id?.description ?? "-", 32), (created.utc ?? "", 20), (state.name, 9)]
        let padded = words.map { $0.0 + String(repeating: " ", count: max(0, $0.1 - $0.0.count)) }
        return (padded + ["\(name)\(names)"]).joined(separator: "  ")
    }
}

extension KeyArgument {
    /// The entry of the keyring that this argument names.
    func entry(_ find: (String) -> KeyringEntry?) throws(Failure) -> KeyringEntry {
        guard let name else {
            throw .usage("key", "takes the name or the ID of a key of the keyring", hint: .listKeys)
        }
        guard let entry = find(name) else { throw .noSuchKey(subject) }
        return entry
    }
}

extension OperandList {
    /// The operands as names of keys.
    var keys: [KeyArgument] { paths.map { KeyArgument(bytes: $0.bytes) } }
}

extension KeyringEntry {
    /// Whether its name stands for one who gets a slot of a public key or of a plugin, or for several of them.
    var canBeRecipient: Bool { [.recipient, .former, .identity, .group].contains(state) }
}

extension Keyring {
    /// The recipients and identities that have a slot in a header copy, each once, without former ones (REENC-7).
    func presentRecipients(of copies: [HeaderSummary]) -> [KeyringEntry] {
        var seen: Set<KeyName> = []
        return copies.flatMap { header in header.slots.compactMap { entry(of: $0, in: header) } }.filter {
            ($0.state == .recipient || $0.state == .identity) && seen.insert($0.name).inserted
        }
    }
}
