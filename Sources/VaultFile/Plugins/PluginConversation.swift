import VaultCrypto
import VaultFormat
import VaultStream

/// What a plugin says, and what it is answered: the protocol of age plugins, without a process and without I/O (Spec,
/// appendix D).
///
/// The plugin is a program that the user trusts with a key. Still, its limits hold: it may have faults, and what it gets
/// comes from containers of strangers.
struct PluginConversation: ~Copyable {
    /// What the plugin is asked for.
    enum Purpose {
        /// To wrap so many secrets for one recipient.
        case wrapping(Int)
        /// To unwrap the stanzas of so many slots.
        case unwrapping(Int)

        var count: Int {
            switch self {
            case .wrapping(let count), .unwrapping(let count): count
            }
        }
    }

    /// What the plugin wants next.
    enum Event {
        /// More of its bytes.
        case waiting
        /// A message for the user. `acknowledge` answers it.
        case message(String)
        /// A choice for the user. `choose` answers it.
        case choice(String, yes: String, no: String?)
        /// A text from the user. `reply` answers it.
        case question(String, isSecret: Bool)
        /// Nothing: it is done.
        case finished
    }

    private let purpose: Purpose
    private var incoming: GuardedText
    /// The line ends in `incoming` that belong to the next command, and how far they were looked for: a command that
    /// comes in many pieces is searched once.
    private var lineEnds: [Int] = []
    private var searched = 0
    /// What the plugin gets next.
    var outgoing: GuardedText
    private var received = 0
    private var commands = 0
    private var messages = 0
    private var questions = 0
    private var isFinished = false
    /// The text of the first `error` command.
    private(set) var reported: String?
    private(set) var labels: Set<String>?
    /// With `wrapping`: the stanzas for each secret.
    private(set) var stanzas: [[AgeStanza]]
    /// With `unwrapping`: the secret for each slot.
    private(set) var secrets: [StanzaSecret?]

    init(_ purpose: Purpose) throws(VaultError) {
        let incoming = try GuardedText()
        let outgoing = try GuardedText()
        var counts = (stanzas: 0, secrets: 0)
        switch purpose {
        case .wrapping(let count): counts.stanzas = count
        case .unwrapping(let count): counts.secrets = count
        }
        self.purpose = purpose
        self.incoming = incoming
        self.outgoing = outgoing
        stanzas = [[AgeStanza]](repeating: [], count: counts.stanzas)
        secrets = [StanzaSecret?](repeating: nil, count: counts.secrets)
    }

    // MARK: Limits (PLUG-4)

    static let mostMessages = 16
    static let mostQuestions = 8
    static func mostCommands(_ purpose: Purpose) -> Int { 64 + 4 * purpose.count }
    static func mostBytes(_ purpose: Purpose) -> Int { 1 << 20 + (purpose.count << 14) }

    private func failed(_ reason: String) -> VaultError { VaultError(.pluginFailed, reason) }

    // MARK: The first phase: the program speaks

    mutating func add(identity: PluginIdentity) throws(VaultError) {
        try outgoing.append("-> add-identity ")
        try identity.withText { text throws(VaultError) in try outgoing.append(text) }
        try outgoing.append("\n\n")
    }

    mutating func add(recipient: PluginRecipient) throws(VaultError) {
        try outgoing.append("-> add-recipient \(recipient.text)\n\n")
    }

    mutating func add(slot: Int, _ stanzas: [AgeStanza]) throws(VaultError) {
        for stanza in stanzas {
            guard let command = AgeStanza(["recipient-stanza", "\(slot)"] + stanza.arguments, body: stanza.body) else {
                continue
            }
            try outgoing.append(command.encoded)
        }
    }

    mutating func add(secret: StanzaSecret) throws(VaultError) {
        try outgoing.append("-> wrap-file-key\n")
        try secret.withBytes { bytes throws(VaultError) in try outgoing.append(body: bytes) }
    }

    mutating func add(_ command: String) throws(VaultError) { try outgoing.append("-> \(command)\n\n") }

    // MARK: The second phase: the plugin speaks

    /// Takes bytes from the plugin.
    ///
    /// - Throws: `pluginFailed` if it has written too much.
    mutating func receive(_ bytes: Span<UInt8>) throws(VaultError) {
        received += bytes.count
        guard received <= Self.mostBytes(purpose) else { throw failed("it writes more than its session may have") }
        try incoming.append(bytes)
    }

    /// Answers commands up to the first one that is for the user.
    ///
    /// - Throws: `pluginFailed` at anything that is no stanza, and at every command that is wrong.
    mutating func next() throws(VaultError) -> Event {
        while !isFinished {
            guard let command = try takeCommand() else { return .waiting }
            commands += 1
            guard commands <= Self.mostCommands(purpose) else { throw failed("it gives too many commands") }
            if let event = try obey(command.words, command.body) { return event }
        }
        return .finished
    }

    private struct Command: ~Copyable {
        let words: [String]
        /// The letters of its body, which may hold a secret.
        let body: GuardedText
    }

    private mutating func takeCommand() throws(VaultError) -> Command? {
        var (ends, searched) = (lineEnds, searched)
        let isWhole = try incoming.withBytes { text throws(VaultError) in
            var start = ends.last.map { $0 + 1 } ?? 0
            while let end = (searched..<text.count).first(where: { text[$0] == 0x0A }) {
                ends.append(end)
                searched = end + 1
                if ends.count > 1, end - start > AgeStanza.lineCount { throw failed("a line of it is too long") }
                if ends.count > 1, end - start < AgeStanza.lineCount { return true }
                start = end + 1
            }
            searched = text.count
            return false
        }
        (lineEnds, self.searched) = (ends, searched)
        guard isWhole, let first = ends.first, let last = ends.last else { return nil }
        let words = incoming.withBytes { text in AgeStanza.arguments(in: (0..<first).map { text[$0] }[...]) }
        guard let words else { throw failed("it writes what is no command") }
        var body = try GuardedText()
        for (before, end) in zip(ends, ends.dropFirst()) {
            try incoming.withBytes { text throws(VaultError) in try body.append(text.extracting(before + 1..<end)) }
        }
        incoming.removeFirst(last + 1)
        (lineEnds, self.searched) = ([], 0)
        return Command(words: words, body: body)
    }

    /// - Returns: what the user must be asked; nil if the command is answered.
    private mutating func obey(_ words: [String], _ body: borrowing GuardedText) throws(VaultError) -> Event? {
        switch (words.first ?? "", purpose) {
        case ("done", _):
            isFinished = true
            return nil
        case ("msg", _):
            messages += 1
            guard messages <= Self.mostMessages else { throw failed("it has too many messages") }
            return .message(try text(body))
        case ("confirm", _):
            try countQuestion()
            guard (2...3).contains(words.count), let yes = Self.label(words[1]) else { throw failed("it asks wrongly") }
            return .choice(try text(body), yes: yes, no: words.count > 2 ? Self.label(words[2]) : nil)
        case ("request-public", _), ("request-secret", _):
            try countQuestion()
            return .question(try text(body), isSecret: words[0] == "request-secret")
        case ("error", _):
            if reported == nil { reported = try text(body) }
        case ("labels", .wrapping):
            guard labels == nil else { throw failed("it gives labels twice") }
            labels = Set(words.dropFirst())
        case ("recipient-stanza", .wrapping(let count)):
            let place = try index(words, below: count)
            guard let stanza = AgeStanza(Array(words.dropFirst(2)), body: try bytes(body)) else {
                throw failed("it makes a stanza without a type")
            }
            stanzas[place].append(stanza)
        case ("file-key", .unwrapping(let count)):
            let place = try index(words, below: count)
            guard secrets[place] == nil else { throw failed("it gives two secrets for one slot") }
            secrets[place] = try secret(body)
        default:
            try answer("unsupported")
            return nil
        }
        try answer("ok")
        return nil
    }

    private mutating func countQuestion() throws(VaultError) {
        questions += 1
        guard questions <= Self.mostQuestions else { throw failed("it asks too many questions") }
    }

    private func index(_ words: [String], below count: Int) throws(VaultError) -> Int {
        guard words.count > 1, let index = Int(words[1]), String(index) == words[1], (0..<count).contains(index) else {
            throw failed("it speaks of what it was not asked for")
        }
        return index
    }

    private static func label(_ word: String) -> String? {
        Base64.decodeUnpadded([UInt8](word.utf8)[...]).map { String(decoding: $0, as: UTF8.self) }
    }

    private func text(_ body: borrowing GuardedText) throws(VaultError) -> String {
        String(decoding: try bytes(body), as: UTF8.self)
    }

    private func bytes(_ body: borrowing GuardedText) throws(VaultError) -> [UInt8] {
        let letters = body.withBytes { text in text.indices.map { text[$0] } }
        guard let bytes = Base64.decodeUnpadded(letters[...]) else { throw failed("it writes what is not base64") }
        return bytes
    }

    private func secret(_ body: borrowing GuardedText) throws(VaultError) -> StanzaSecret {
        try body.withBytes { letters throws(VaultError) in
            let count = Base64.unpaddedByteCount(of: letters.count)
            guard count == StanzaSecret.byteCount else { throw failed("it gives a secret that has not 16 bytes") }
            var bytes = try SecretBuffer(count: StanzaSecret.byteCount)
            guard bytes.withMutableBytes({ Base64.decodeUnpadded(letters, into: &$0) }) else {
                throw failed("it writes what is not base64")
            }
            return try bytes.withBytes { bytes throws(VaultError) in try StanzaSecret(bytes: bytes) }
        }
    }

    // MARK: Answers

    private mutating func answer(_ words: String) throws(VaultError) { try outgoing.append("-> \(words)\n\n") }

    /// Answers a message.
    ///
    /// - Parameter isSeen: whether there is a user.
    mutating func acknowledge(_ isSeen: Bool) throws(VaultError) { try answer(isSeen ? "ok" : "fail") }

    /// Answers a choice; nil if there is no user.
    mutating func choose(_ isYes: Bool?) throws(VaultError) {
        try answer(isYes.map { $0 ? "ok yes" : "ok no" } ?? "fail")
    }

    /// Answers a question; nil if there is no user.
    mutating func reply(_ text: consuming SecretBuffer?) throws(VaultError) {
        guard let text else { return try answer("fail") }
        try outgoing.append("-> ok\n")
        try text.withBytes { bytes throws(VaultError) in try outgoing.append(body: bytes) }
    }
}
