internal import Synchronization
internal import VaultFile

/// Which keys the containers of a run have slots for, as their headers say: nothing of it is authenticated.
final class KeyInventory: Sendable {
    /// What opens slots.
    enum Opener: Hashable, Sendable {
        case key(KeyID)
        /// All slots of a kind whose IDs name no secret.
        case kind(SlotDescription.Kind)
        /// Keys beyond as many as memory is spent on: whoever writes headers can put in any number.
        case furtherKeys
    }

    /// How much of something there is.
    struct Use: Sendable {
        var files: UInt64 = 0
        var bytes: UInt64 = 0
        /// How many of the files no other key or passphrase has a slot in. Slots of other types are no other way in.
        var filesWithoutOther: UInt64 = 0
    }

    private let maximumKeys: Int
    private let uses = Mutex<[Opener: Use]>([:])

    init(maximumKeys: Int = 1 << 16) {
        self.maximumKeys = maximumKeys
    }

    /// Counts a container, by both of its header copies: what is in either opens it. To be called in the order of the
    /// inputs, for the first keys that come are those that are told apart.
    func add(_ seen: Inspection) {
        guard let openers = ContainerOpeners(seen) else { return }
        let found =
            openers.keys.map { (Opener.key($0), !openers.open(without: [$0])) }
            + openers.kinds.map { (Opener.kind($0), !openers.open(without: [], $0)) }
        uses.withLock { uses in
            for (opener, isAlone) in found {
                let isNew = uses[opener] == nil && uses.count >= maximumKeys
                uses[isNew ? .furtherKeys : opener, default: Use()].add(seen.containerLength, isAlone: isAlone)
            }
        }
    }

    /// What was counted: the keys with the most files first, those with as many in the order of their IDs, then the
    /// rest.
    var sorted: [(opener: Opener, use: Use)] {
        uses.withLock { uses in
            uses.sorted { ($1.value.rank($1.key), $0.key.text) < ($0.value.rank($0.key), $1.key.text) }
                .map { (opener: $0.key, use: $0.value) }
        }
    }

    /// Gives it as a result.
    ///
    /// - Parameter name: What a key is called, where that is known.
    func give(on console: Console, name: (KeyID) -> String? = { _ in nil }) throws -> ExitStatus {
        let sorted = sorted
        guard !sorted.isEmpty else { return .done }
        var statuses: [ExitStatus] = []
        if !console.json {
            statuses.append(
                try console.give(
                    Report(.ok, verb: "inspect"), lines: ["keys in use, not authenticated:"], about: .standardOutput))
        }
        for (opener, use) in sorted {
            var report = Report(.keyUse, .ok)
            report.verb = "inspect"
            report.use = KeyUseReport(use, of: opener)
            var line = "  \(opener.text)  \(use.files) files, \(use.bytes) bytes"
            if use.filesWithoutOther > 0 { line += "; nothing else opens \(use.filesWithoutOther) of them" }
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

extension KeyInventory.Use {
    fileprivate mutating func add(_ length: UInt64, isAlone: Bool) {
        files += 1
        bytes &+= length
        if isAlone { filesWithoutOther += 1 }
    }

    /// Keys before all else.
    fileprivate func rank(_ opener: KeyInventory.Opener) -> UInt64 {
        if case .key = opener { files } else { 0 }
    }
}

extension KeyInventory.Opener {
    /// For people: an ID, or words as long.
    fileprivate var text: String {
        switch self {
        case .key(let id): "\(id)"
        case .kind(let kind): Self.padded(kind.plural)
        case .furtherKeys: Self.padded("further keys")
        }
    }

    private static func padded(_ text: String) -> String {
        text + String(repeating: " ", count: max(0, 32 - text.count))
    }

    /// For programs.
    fileprivate var kind: String {
        switch self {
        case .key: "key"
        case .kind(let kind): kind.word
        case .furtherKeys: "furtherKeys"
        }
    }
}

extension KeyUseReport {
    fileprivate init(_ use: KeyInventory.Use, of opener: KeyInventory.Opener) {
        kind = opener.kind
        files = use.files
        bytes = use.bytes
        filesWithoutOther = use.filesWithoutOther
    }
}
