import VaultCrypto
import VaultStream

/// What a plugin said about one slot.
enum PluginAnswer {
    case secret(StanzaSecret)
    /// It does not open the slot.
    case nothing
    /// It failed, or reported an error, and did not open the slot.
    case failure(VaultError)

    var secret: StanzaSecret? {
        if case .secret(let secret) = self { secret } else { nil }
    }

    var failure: VaultError? {
        if case .failure(let error) = self { error } else { nil }
    }
}

/// What a plugin was asked about one slot: a hash of the plugin's name, of all identities that it got, and of the slot's
/// stanzas. With other identities the same plugin gives another answer, and the caller decides by the identities whose
/// slot it is.
struct PluginQuestion: Hashable {
    private let digest: [UInt8]

    /// The questions about several slots.
    static func all(
        _ slots: [[AgeStanza]], by plugin: String, with identities: [PluginIdentity]
    ) -> [PluginQuestion] {
        let session = PluginSession(plugin, identities)
        return slots.map { PluginQuestion($0, in: session) }
    }

    init(_ slot: [AgeStanza], in session: PluginSession) {
        let text = session.text + slot.flatMap(\.encoded)
        digest = BLAKE2b.digest(count: 32, label: "plugin-prepared-", message: text.span)
    }
}

/// A plugin with the identities that it gets, in any order.
struct PluginSession: Hashable {
    /// No other session has the same text.
    fileprivate let text: [UInt8]

    init(_ plugin: String, _ identities: [PluginIdentity]) {
        let marks = Set(identities.map(\.mark)).sorted { $0.lexicographicallyPrecedes($1) }
        // A name has no line end, and each mark has 32 bytes.
        text = [UInt8]("\(plugin)\n\(marks.count)\n".utf8) + marks.joined()
    }
}

/// What plugins answered about the slots of many containers. For each slot it keeps a hash and a secret of 16 bytes, all
/// secrets in one piece of guarded memory: one piece for each would exhaust what a process may map.
struct PreparedAnswers: ~Copyable {
    private enum Kept {
        /// Where in `secrets` it begins.
        case secret(Int)
        case nothing
        /// Its place in `failures`.
        case failure(Int)
    }

    private var kept: [PluginQuestion: Kept] = [:]
    private var secrets: GuardedText?
    private var failures: [VaultError] = []

    /// The answer to a question; nil if it was not asked.
    func answer(to question: PluginQuestion) throws(VaultError) -> PluginAnswer? {
        switch kept[question] {
        case .secret(let start):
            let secret = try secrets?.withBytes { bytes throws(VaultError) in
                try StanzaSecret(bytes: bytes.extracting(start..<start + StanzaSecret.byteCount))
            }
            return secret.map(PluginAnswer.secret)
        case .nothing: return .nothing
        case .failure(let place): return .failure(failures[place])
        case nil: return nil
        }
    }

    /// Keeps the answers of one session.
    mutating func keep(_ answers: [PluginAnswer], to questions: [PluginQuestion]) throws(VaultError) {
        var failure: Int?
        for (question, answer) in zip(questions, answers) {
            switch answer {
            case .secret(let secret):
                if secrets == nil { secrets = try GuardedText() }
                let start = secrets?.count ?? 0
                try secret.withBytes { bytes throws(VaultError) in try secrets?.append(bytes) }
                kept[question] = .secret(start)
            case .nothing: kept[question] = .nothing
            case .failure(let error):
                // All failures of one session are the same.
                let place = failure ?? failures.count
                if failure == nil { failures.append(error) }
                failure = place
                kept[question] = .failure(place)
            }
        }
    }
}
