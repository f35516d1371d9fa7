internal import VaultFile

/// What `key passphrase` and `store passphrase` have in common.
extension SlotSelection {
    /// What `--remove` names.
    ///
    /// - Parameter secret: reads what is named by itself.
    /// - Returns: the slots to remove, and those secrets. They also open.
    static func ofRemoved(
        _ arguments: [KeyArgument], _ secret: (KeyArgument) throws(Failure) -> Secret
    ) throws(Failure) -> (SlotSelection, opening: [Secret]) {
        var removing = SlotSelection(ids: [], passphrases: [], others: false)
        var opening: [Secret] = []
        for argument in arguments {
            if let id = argument.id {
                removing.ids.insert(id)
            } else if argument.source == .others {
                removing.others = true
            } else {
                opening.append(try secret(argument))
            }
        }
        for secret in opening { removing.insert(secret) }
        return (removing, opening)
    }

    /// Chooses the slot that a new passphrase replaces: that of the passphrase that was given, or else the only one.
    ///
    /// - Parameters:
    ///   - unlocker: what unlocks it now.
    ///   - subject: what messages are about.
    ///   - slots: the slots of the unlock file.
    mutating func replacePassphrase(
        of unlocker: KeyringUnlocker, about subject: Failure.Subject, _ slots: () throws -> [SlotDescription]
    ) throws {
        if let given = try unlocker.passphrasesIfAny() {
            passphrases = given
            return
        }
        ids = Set(try slots().filter { $0.kind == .passphrase }.map(\.keyID))
        guard ids.count <= 1 else {
            throw Failure(.usage, subject, "more than one passphrase unlocks it", hint: .removeOnePassphrase)
        }
    }
}

extension SlotDescription {
    /// What is said of a new slot of an unlock file.
    var unlocksLine: String { "\(wordsOfUnlocker("new")) unlocks it" }
    /// What is said of a slot that is gone.
    var isGoneLine: String { "\(wordsOfUnlocker("old")) no longer unlocks it" }

    /// The ID of a passphrase's slot must not look like the passphrase.
    private func wordsOfUnlocker(_ age: String) -> String {
        kind == .passphrase ? "the \(age) passphrase (slot \(keyID))" : "\(kind.noun) \(keyID)"
    }
}

extension Rotation {
    /// What is said of a change of an unlock file.
    var unlockerLines: [String] {
        let lines = removed.map(\.isGoneLine) + added.map(\.unlocksLine)
        return lines.isEmpty ? ["is unchanged"] : lines
    }
}
