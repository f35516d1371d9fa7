import Synchronization
import SystemPackage
import VaultCrypto
public import VaultStream

/// Starts age plugins: programs that wrap and unwrap with keys that only they reach, such as one in a token (Spec,
/// appendix D).
///
/// One value serves a whole run. It holds one session at a time, so the user is asked one thing at a time, and one session
/// can serve many containers (``prepare(_:with:)``).
///
/// A plugin runs with the rights of this process. Only a recipient or an identity that the user gave names one; nothing
/// in a container does (PLUG-1).
public final class AgePlugins: Sendable {
    private let dialogue: any PluginDialogue
    private let path: String
    /// What sessions for several containers gave.
    private let prepared = Mutex(PreparedAnswers())
    /// Held during a session.
    private let turn = Mutex<Void>(())

    /// The most slots in one session.
    private static let mostSlots = 1024
    /// How long a plugin may take in any case; each slot or secret adds a quarter (PLUG-4).
    private let patience: Duration
    /// How long a plugin may take to end when all is done.
    private static let patienceAtEnd = Duration.seconds(2)
    private static let longestErrors = 1 << 16
    /// The most characters of a plugin's text in an error message.
    private static let longestReason = 300

    /// - Parameters:
    ///   - dialogue: brings what plugins ask to the user.
    ///   - path: the folders with the plugins, separated by colons; relative ones are passed over. Nil for the variable
    ///     `PATH`.
    public convenience init(dialogue: any PluginDialogue = NoPluginDialogue(), path: String? = nil) {
        self.init(dialogue: dialogue, path: path, patience: .seconds(120))
    }

    init(dialogue: any PluginDialogue, path: String?, patience: Duration) {
        self.dialogue = dialogue
        self.path = path ?? ChildProcess.path
        self.patience = patience
    }

    // MARK: Unwrapping

    /// Hands the stanzas of slots to a plugin, in one session: what ``KeyProvider/secrets(in:by:with:)`` needs. What
    /// ``prepare(_:with:)`` has found is not asked for again.
    ///
    /// - Parameters:
    ///   - slots: the stanzas of each slot.
    ///   - plugin: the name of the plugin.
    ///   - identities: the identities that the plugin gets.
    /// - Returns: what the plugin unwrapped, for each slot; nil for a slot that it does not open.
    /// - Throws: `pluginFailed` if the plugin is missing or fails, and opens none of the slots; what the dialogue throws.
    public func secrets(
        in slots: [[AgeStanza]], by plugin: String, with identities: [PluginIdentity]
    ) throws -> [StanzaSecret?] {
        let questions = PluginQuestion.all(slots, by: plugin, with: identities)
        var answers = try prepared.withLock { prepared in try questions.map { try prepared.answer(to: $0) } }
        let rest = answers.indices.filter { answers[$0] == nil }
        for (place, answer) in zip(rest, try ask(rest.map { slots[$0] }, by: plugin, with: identities)) {
            answers[place] = answer
        }
        let secrets = answers.map { $0?.secret }
        // A plugin that has opened a slot does not fail: its error was about the other slots (PLUG-7).
        if let failure = answers.lazy.compactMap({ $0?.failure }).first, secrets.allSatisfy({ $0 == nil }) {
            throw failure
        }
        return secrets
    }

    /// Holds a session, unless there are no slots.
    private func ask(
        _ slots: [[AgeStanza]], by plugin: String, with identities: [PluginIdentity]
    ) throws -> [PluginAnswer] {
        guard !slots.isEmpty else { return [] }
        do {
            var conversation = try PluginConversation(.unwrapping(slots.count))
            for identity in identities { try conversation.add(identity: identity) }
            for (place, stanzas) in slots.enumerated() { try conversation.add(slot: place, stanzas) }
            try conversation.add("done")
            try hold(&conversation, plugin, "identity-v1", slots.count)
            // The error says why the plugin did not open the slots that it was to open.
            let unopened = conversation.reported.map { PluginAnswer.failure(Self.failure(of: plugin, $0)) } ?? .nothing
            return conversation.secrets.map { $0.map(PluginAnswer.secret) ?? unopened }
        } catch let error as VaultError where error.code == .pluginFailed {
            return slots.map { _ in .failure(error) }
        }
    }

    /// Opens containers as far as needed to find the slots that plugins would get, and hands all of them over in one
    /// session for each plugin, or in several if there are more than 1024 slots. A walk through many files then needs one
    /// touch, not one for each file.
    ///
    /// What opens without a plugin takes no part, and neither does what cannot be read or is no container: the call that
    /// works on it says why. A plugin that fails here fails for each of these containers when it is opened.
    ///
    /// What was found is kept as long as this value: a hash and a secret of 16 bytes for each slot.
    ///
    /// - Parameters:
    ///   - containers: regular files; others are passed over. No lock is taken on them.
    ///   - credentials: how the containers will be opened. Passphrases are not asked for.
    /// - Throws: what the key provider and the dialogue throw; `memoryUnavailable`.
    public func prepare(_ containers: [FilePath], with credentials: Credentials) throws {
        let requests = StanzaRequests(credentials.keys)
        var collecting = credentials
        collecting.keys = requests
        for path in containers {
            try Cancellation.check()
            requests.beginContainer()
            guard (try? path.status())?.kind == .regular else { continue }
            do {
                // The caller may hold an exclusive lock on the container that made it call this.
                _ = try SeekableVaultReader(FileSource(at: .path(path), locking: .none), with: collecting)
            } catch is VaultError {}
            while let request = requests.take(atLeast: Self.mostSlots) { try prepare(request) }
        }
        while let request = requests.take(atLeast: 1) { try prepare(request) }
    }

    private func prepare(_ request: StanzaRequests.Request) throws {
        let slots = Array(request.slots.prefix(Self.mostSlots))
        let answers = try ask(slots, by: request.plugin, with: request.identities)
        let questions = PluginQuestion.all(slots, by: request.plugin, with: request.identities)
        try prepared.withLock { try $0.keep(answers, to: questions) }
        let rest = Array(request.slots.dropFirst(Self.mostSlots))
        guard !rest.isEmpty else { return }
        let more = StanzaRequests.Request(plugin: request.plugin, identities: request.identities, slots: rest)
        try prepare(more)
    }

    // MARK: Wrapping

    /// Wraps fresh secrets for a recipient, in one session (PLUG-5).
    ///
    /// - Parameters:
    ///   - recipient: whom the slots are for.
    ///   - count: how many containers get a slot.
    /// - Returns: what makes the slot of one container each.
    /// - Throws: `pluginFailed` if the plugin is missing, fails or reports an error; `mixedRecipients` for a label that is
    ///   not known; `memoryUnavailable`; what the dialogue throws.
    public func wrap(for recipient: PluginRecipient, count: Int = 1) throws -> [WrappedStanzas] {
        try wrap(for: recipient, by: recipient.plugin, count) { conversation throws(VaultError) in
            try conversation.add(recipient: recipient)
        }
    }

    /// Wraps fresh secrets for the recipient of an identity. If no recipient of it is known, the slots are hidden
    /// (PLUG-6).
    ///
    /// - Parameters:
    ///   - identity: whose recipient the slots are for.
    ///   - count: how many containers get a slot.
    /// - Returns: what makes the slot of one container each.
    /// - Throws: as the other one does.
    public func wrap(for identity: PluginIdentity, count: Int = 1) throws -> [WrappedStanzas] {
        if let recipient = identity.knownRecipients.first { return try wrap(for: recipient, count: count) }
        return try wrap(for: nil, by: identity.plugin, count) { conversation throws(VaultError) in
            try conversation.add(identity: identity)
        }
    }

    private func wrap(
        for recipient: PluginRecipient?, by plugin: String, _ count: Int,
        add: (inout PluginConversation) throws(VaultError) -> Void
    ) throws -> [WrappedStanzas] {
        var wrapped: [WrappedStanzas] = []
        while wrapped.count < count {
            let secrets = try (0..<min(count - wrapped.count, Self.mostSlots)).map { _ in try StanzaSecret.generate() }
            var conversation = try PluginConversation(.wrapping(secrets.count))
            try add(&conversation)
            try conversation.add("extension-labels")
            for secret in secrets { try conversation.add(secret: secret) }
            try conversation.add("done")
            try hold(&conversation, plugin, "recipient-v1", secrets.count)
            if let reported = conversation.reported { throw Self.failure(of: plugin, reported) }
            let labels = conversation.labels ?? []
            for (secret, stanzas) in zip(secrets, conversation.stanzas) {
                wrapped.append(try WrappedStanzas(secret, in: stanzas, for: recipient, labels: labels))
            }
        }
        return wrapped
    }

    // MARK: Sessions

    /// Ends the plugins that run: one that waits for its user would outlive this process. Call it only to end the process:
    /// no plugin starts afterwards.
    public static func endAll() { ChildProcess.killAll() }

    /// What the dialogue threw. It goes to the caller as it is, and is no fault of the plugin.
    private struct DialogueError: Error {
        let cause: any Error
    }

    private static func failure(of plugin: String, _ reason: String) -> VaultError {
        VaultError(.pluginFailed, "age-plugin-\(plugin): \(line(reason))")
    }

    /// A text on one line, and not too long: it can be the plugin's.
    static func line(_ text: String) -> String {
        var line = ""
        for scalar in text.unicodeScalars.prefix(longestReason) {
            switch scalar.properties.generalCategory {
            case .control, .lineSeparator, .paragraphSeparator: line += " "
            default: line.unicodeScalars.append(scalar)
            }
        }
        return text.unicodeScalars.count > longestReason ? line + "…" : line
    }

    private func hold(
        _ conversation: inout PluginConversation, _ plugin: String, _ mode: String, _ count: Int
    ) throws {
        guard let program = ChildProcess.find("age-plugin-\(plugin)", in: path) else {
            throw VaultError(
                .pluginFailed, "age-plugin-\(plugin): there is no such program in the folders of PATH",
                systemError: .noSuchFileOrDirectory)
        }
        // Two sessions at once would ask the user two things at once.
        try turn.withLock { _ in
            do {
                try hold(&conversation, plugin, program, mode, count)
            } catch let error as DialogueError {
                throw error.cause
            } catch let error as VaultError where error.code == .pluginFailed {
                throw Self.failure(of: plugin, error.message)
            } catch let error as Errno {
                throw Self.failure(of: plugin, "it cannot be used: \(error)")
            }
        }
    }

    private func hold(
        _ conversation: inout PluginConversation, _ plugin: String, _ program: FilePath, _ mode: String, _ count: Int
    ) throws {
        var child = try ChildProcess(program, arguments: ["--age-plugin=\(mode)"])
        var errors: [UInt8] = []
        defer {
            if !errors.isEmpty { dialogue.noteErrors(String(decoding: errors, as: UTF8.self), from: plugin) }
        }
        let clock = ContinuousClock()
        var deadline = clock.now + patience + patience / 4 * count
        var sent = 0
        var buffer = try SecretBuffer(count: 1 << 14)
        while true {
            try Cancellation.check()
            if try answer(&conversation, plugin, &deadline) { break }
            guard clock.now < deadline else { throw VaultError(.pluginFailed, "it takes too long") }
            let ready = try child.wait(toWrite: sent < conversation.outgoing.count)
            if ready.hasErrors {
                let count = try buffer.withMutableBytes { try child.readErrors(into: &$0) } ?? 0
                buffer.withBytes { Self.append($0.extracting(0..<count), to: &errors) }
            }
            if ready.canWrite {
                let first = sent
                sent += try conversation.outgoing.withBytes { text in
                    try child.write(text.extracting(first..<text.count))
                }
                if sent == conversation.outgoing.count {
                    conversation.outgoing.removeFirst(sent)
                    sent = 0
                }
            }
            if ready.canRead, let count = try buffer.withMutableBytes({ try child.read(into: &$0) }) {
                guard count > 0 else {
                    // What it says last tells why.
                    child.end(within: Self.patienceAtEnd) { Self.append($0, to: &errors) }
                    throw VaultError(.pluginFailed, "it ends before it is done" + Self.last(errors))
                }
                try buffer.withBytes { try conversation.receive($0.extracting(0..<count)) }
            }
        }
        child.end(within: Self.patienceAtEnd) { Self.append($0, to: &errors) }
    }

    /// Keeps what the plugin wrote to standard error, and drops what is too much.
    private static func append(_ bytes: Span<UInt8>, to errors: inout [UInt8]) {
        errors.append(bytes.extracting(0..<min(bytes.count, longestErrors - errors.count)))
    }

    /// The last line that the plugin wrote to standard error, for a message.
    private static func last(_ errors: [UInt8]) -> String {
        errors.split(separator: 0x0A).last.map { ": " + String(decoding: $0, as: UTF8.self) } ?? ""
    }

    /// Brings what the plugin asks to the user.
    ///
    /// - Parameter deadline: when the plugin has to be done. It moves by the time for which the user is asked, and by no
    ///   other: a plugin could otherwise keep this process busy with commands.
    /// - Returns: whether the plugin is done.
    private func answer(
        _ conversation: inout PluginConversation, _ plugin: String, _ deadline: inout ContinuousClock.Instant
    ) throws -> Bool {
        func asking<R: ~Copyable>(_ user: () throws -> R) throws(DialogueError) -> R {
            let start = ContinuousClock.now
            defer { deadline += ContinuousClock.now - start }
            do {
                return try user()
            } catch {
                throw DialogueError(cause: error)
            }
        }
        while true {
            switch try conversation.next() {
            case .waiting: return false
            case .finished: return true
            case .message(let text):
                try conversation.acknowledge(asking { dialogue.show(text, from: plugin) })
            case .choice(let text, let yes, let no):
                try conversation.choose(try asking { try dialogue.confirm(text, yes: yes, no: no, from: plugin) })
            case .question(let text, let isSecret):
                try conversation.reply(
                    try asking { try dialogue.answer(to: text, isSecret: isSecret, from: plugin) })
            }
        }
    }
}
