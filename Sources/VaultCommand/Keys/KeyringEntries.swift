internal import VaultFile

extension Report {
    /// A result about a key of the keyring.
    init(_ entry: KeyringEntry) {
        self.init(.ok)
        keyID = "\(entry.id)"
        keyName = "\(entry.name)"
        created = entry.created.utc
        state = entry.state.name
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
    var subject: Failure.Subject { .text("key '\(name)'") }

    /// Its line in `key list`.
    var line: String {
        let padded = state.name + String(repeating: " ", count: max(0, 9 - state.name.count))
        return "\(id)  \(created.utc ?? "")  \(padded)  \(name)"
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
