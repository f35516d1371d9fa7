internal import Synchronization
internal import VaultFile

/// Counts the keys for which the containers of a run have slots, as their headers say. None of this is authenticated.
final class KeyInventory: Sendable {
    /// What opens slots.
    enum Opener: Hashable, Sendable {
        case key(KeyID)
        /// All slots of a kind whose IDs do not name a secret, such as passphrases.
        case kind(SlotDescription.Kind)
        /// All keys after the first ones, which are not counted separately. Anyone can write headers with any number of
        /// keys, and counting each would take unbounded memory.
        case furtherKeys
    }

    private let maximumKeys: Int
    private let uses = Mutex<[Opener: KeyUseReport]>([:])

    init(maximumKeys: Int = 1 << 16) {
        self.maximumKeys = maximumKeys
    }

    /// Counts a container. Call it in the order of the inputs: which keys are counted separately depends on the order.
    func add(_ seen: Inspection) {
        guard let slots = SlotSummary(seen) else { return }
        let found =
            slots.keys.map { (Opener.key($0), !slots.opens(without: [$0])) }
            + slots.kinds.map { (Opener.kind($0), !slots.opens(without: [], $0)) }
        uses.withLock { uses in
            for (opener, isAlone) in found {
                let isNew = uses[opener] == nil && uses.count >= maximumKeys
                let opener = isNew ? .furtherKeys : opener
                var use = uses[opener] ?? KeyUseReport(kind: opener.kind, files: 0, bytes: 0, filesWithoutOther: 0)
                use.files += 1
                use.bytes &+= seen.containerLength
                if isAlone { use.filesWithoutOther += 1 }
                uses[opener] = use
            }
        }
    }

    /// The counts: keys by falling number of files, then by ID, and after them the other openers.
    var sorted: [(opener: Opener, use: KeyUseReport)] {
        func rank(_ opener: Opener, _ use: KeyUseReport) -> UInt64 {
            if case .key = opener { use.files } else { 0 }
        }
        return uses.withLock { $0 }
            .sorted { (rank($1.key, $1.value), $0.key.text) < (rank($0.key, $0.value), $1.key.text) }
            .map { (opener: $0.key, use: $0.value) }
    }

    /// Writes the inventory as results.
    ///
    /// - Parameter name: Returns the name of a key, if known.
    func give(on console: Console, name: (KeyID) -> String? = { _ in nil }) throws -> ExitStatus {
        let sorted = sorted
        guard !sorted.isEmpty else { return .done }
        var statuses: [ExitStatus] = []
        if !console.json {
            statuses.append(
                try console.give(
                    Report(.ok), lines: ["keys in use, not authenticated:"], about: .standardOutput))
        }
        for (opener, use) in sorted {
            var report = Report(.keyUse, .ok)
            report.use = use
            var line = "  \(opener.text)  \(use.files.counted("file")), \(use.bytes.counted("byte"))"
            if use.filesWithoutOther > 0 {
                let verb = use.filesWithoutOther == 1 ? "opens" : "open"
                line += "; \(use.filesWithoutOther) of them \(verb) with \(opener.words) only"
            }
            if case .key(let id) = opener {
                report.keyID = "\(id)"
                report.keyName = name(id)
                if let name = report.keyName { line += "; \(Escaping.line(name))" }
            }
            statuses.append(
                try console.give(report, lines: [line], about: .text("inspect"), done: "the keys were counted"))
        }
        return .ofAll(statuses)
    }
}

extension KeyInventory.Opener {
    /// The text form: an ID, or words of the same width.
    fileprivate var text: String {
        switch self {
        case .key(let id): "\(id)"
        case .kind(let kind): Self.padded(kind.plural)
        case .furtherKeys: Self.padded("further keys")
        }
    }

    /// The words in a sentence.
    fileprivate var words: String {
        switch self {
        case .key: "this key"
        case .kind(let kind): kind.plural
        case .furtherKeys: "these keys"
        }
    }

    private static func padded(_ text: String) -> String {
        text + String(repeating: " ", count: max(0, 32 - text.count))
    }

    /// The JSON form.
    fileprivate var kind: String {
        switch self {
        case .key: "key"
        case .kind(let kind): kind.word
        case .furtherKeys: "furtherKeys"
        }
    }
}
