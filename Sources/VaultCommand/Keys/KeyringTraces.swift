internal import VaultFile

extension Console {
    /// Warns of what a change of the keyring could not do away with.
    func warn(of traces: Keyring.Traces, _ place: KeyringPlace) {
        warn(of: traces.keyring, "the keys that were in it", place.path)
        warn(of: traces.unlockKey, "what unlocks older copies of the keyring", place.unlockKey)
        let hint = "vaultfile key passphrase --renew ends that"
        let copies =
            switch traces.reason {
            case .destroyedKey: "older copies of the keyring hold the destroyed keys, and"
            case .interrupted:
                "an earlier exchange of the unlock key was interrupted and is not done: older copies of the keyring"
            case .asked, nil: "older copies of the keyring"
            }
        switch traces.exchange {
        case .notNeeded, .done: return
        case .othersUnlockIt:
            // Which of the two keys those open with depends on where it was interrupted.
            let verb = traces.reason == .interrupted ? "may open" : "open"
            warn(place.unlockKey.subject, "\(copies) \(verb) with what unlocks it now", hint: hint)
        case .failed(let error):
            warn(
                place.unlockKey.subject, "\(copies) may open with what unlocks it now: \(error.message)", hint: hint)
        }
    }

    private func warn(of erasure: Keyring.Erasure, _ contents: String, _ path: PathArgument) {
        switch erasure {
        case .notNeeded, .overwritten: return
        case .linkedElsewhere:
            warn(
                path.subject, "its old file has other names, hard links, and goes on to hold \(contents) there",
                hint: "overwrite and remove it under these names")
        case .failed(let error):
            warn(
                path.subject, "its old file, with \(contents), could not be overwritten: \(error.message)",
                hint: "its bytes are on the disk until something else takes their place")
        }
    }
}
