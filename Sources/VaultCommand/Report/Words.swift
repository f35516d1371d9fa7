/// The verbs, by the words that they are typed and reported with.
enum VerbName: String, CaseIterable, Encodable, Sendable {
    case encrypt, decrypt, verify, inspect, rotate, reencrypt, repair, recover
    case keyGenerate = "key generate"
    case keyShow = "key show"
    case keyList = "key list"
    case keyUse = "key use"
    case keyRetire = "key retire"
    case keyDestroy = "key destroy"
    case keyImport = "key import"
    case keyExport = "key export"
    case keyPassphrase = "key passphrase"

    /// What is typed, behind `key` where that is part of it.
    var lastWord: String { rawValue.split(separator: " ").last.map(String.init) ?? rawValue }

    /// Whether it changes containers where they are.
    var worksInPlace: Bool { [.rotate, .reencrypt, .repair].contains(self) }
}

/// What became of an input, by the word that reports and sums have for it.
enum OutcomeName: String, Encodable, Sendable {
    case encrypted, decrypted, recovered, inspected, intact
    case rotated, reencrypted, repaired
    /// Its keys are current already.
    case current
    /// It has no slot for a key of the keyring.
    case skipped
    /// It was left out because an earlier run seems to have encrypted it.
    case encryptedBefore
    /// It is none of the verb's inputs.
    case passedOver
    case damaged, failed

    /// The word as people read it.
    var text: String {
        switch self {
        case .encryptedBefore: "encrypted before"
        case .passedOver: "passed over"
        default: rawValue
        }
    }
}
