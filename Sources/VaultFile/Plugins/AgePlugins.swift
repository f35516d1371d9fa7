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
    /// What sessions for several containers gave, by plugin and stanzas.
    private let prepared = Mutex<[String: [[AgeStanza]: Result]]>([:])
    /// Held during a session.
    private let turn = Mutex<Void>(())

    private enum Result {
        case answer(StanzaSecret?)
        case failure(VaultError)
    }

    /// The most slots in one session.
    private static let mostSlots = 512
    /// How long a plugin may take in any case; each slot or secret adds a quarter (PLUG-4).
    private let patience: Duration
    /// How long a plugin may take to end when all is done.
    private static let patienceAtEnd = Duration.seconds(2)
    private static let longestErrors = 1 << 16

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
    /// - Throws: `pluginFailed` if the plugin is missing or fails; what the dialogue throws.
    public func secrets(
        in slots: [[AgeStanza]], by plugin: String, with identities: [PluginIdentity]
    ) throws -> [StanzaSecret?] {
        let known = prepared.withLock { $0[plugin] } ?? [:]
        let rest = slots.filter { known[$0] == nil }
        let found = rest.isEmpty ? [] : try unwrap(rest, by: plugin, with: identities)
        var given = known
        for (slot, secret) in zip(rest, found) { given[slot] = .answer(secret) }
        return try slots.map { slot in
            switch given[slot] {
            case .answer(let secret): secret
            case .failure(let error): throw error
            case nil: nil
            }
        }
    }

    private func unwrap(
        _ slots: [[AgeStanza]], by plugin: String, with identities: [PluginIdentity]
    ) throws -> [StanzaSecret?] {
        var conversation = try PluginConversation(.unwrapping(slots.count))
        for identity in identities { try conversation.add(identity: identity) }
        for (place, stanzas) in slots.enumerated() { try conversation.add(slot: place, stanzas) }
        try conversation.add("done")
        try hold(&conversation, plugin, "identity-v1", slots.count)
        // An error of the plugin tells why nothing opens. It is none while something does.
        if let reported = conversation.reported, conversation.secrets.allSatisfy({ $0 == nil }) {
            throw Self.failure(of: plugin, reported)
        }
        return conversation.secrets
    }

    /// Opens containers as far as needed to find the slots that plugins would get, and hands all of them over in one
    /// session for each plugin. A walk through many files then needs one touch, not one for each file.
    ///
    /// What opens without a plugin takes no part, and neither does what cannot be read or is no container: the call that
    /// works on it says why. A plugin that fails here fails for each of these containers when it is opened.
    ///
    /// - Parameters:
    ///   - containers: regular files; others are passed over.
    ///   - credentials: how the containers will be opened. Passphrases are not asked for.
    /// - Throws: what the key provider and the dialogue throw.
    public func prepare(_ containers: [FilePath], with credentials: Credentials) throws {
        let requests = StanzaRequests(credentials.keys)
        var collecting = credentials
        collecting.keys = requests
        for path in containers {
            try Cancellation.check()
            requests.beginContainer()
            guard (try? path.status())?.kind == .regular else { continue }
            do {
                _ = try SeekableVaultReader(FileSource(at: .path(path)), with: collecting)
            } catch is VaultError {
                continue
            }
        }
        for request in requests.all {
            var rest = request.slots[...]
            while !rest.isEmpty {
                let slots = Array(rest.prefix(Self.mostSlots))
                rest = rest.dropFirst(slots.count)
                let results: [Result]
                do {
                    results = try unwrap(slots, by: request.plugin, with: request.identities).map(Result.answer)
                } catch let error as VaultError where error.code == .pluginFailed {
                    results = slots.map { _ in .failure(error) }
                }
                prepared.withLock { prepared in
                    for (slot, result) in zip(slots, results) { prepared[request.plugin, default: [:]][slot] = result }
                }
            }
        }
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

    private static func failure(of plugin: String, _ reason: String) -> VaultError {
        VaultError(.pluginFailed, "age-plugin-\(plugin): \(reason)")
    }

    private func hold(
        _ conversation: inout PluginConversation, _ plugin: String, _ mode: String, _ count: Int
    ) throws {
        guard let program = ChildProcess.find("age-plugin-\(plugin)", in: path) else {
            throw Self.failure(of: plugin, "there is no such program in the folders of PATH")
        }
        // Two sessions at once would ask the user two things at once.
        try turn.withLock { _ in
            do {
                try hold(&conversation, plugin, program, mode, count)
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
        let folder = try ChildProcess.makeTemporaryFolder()
        defer { ChildProcess.removeFolder(folder) }
        var child = try ChildProcess(program, arguments: ["--age-plugin=\(mode)"], in: folder)
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
            let start = clock.now
            let isFinished = try answer(&conversation, plugin)
            deadline += clock.now - start
            if isFinished { break }
            guard clock.now < deadline else { throw VaultError(.pluginFailed, "it takes too long") }
            let ready = try child.wait(toWrite: sent < conversation.outgoing.count)
            if ready.hasErrors {
                let count = try buffer.withMutableBytes { try child.readErrors(into: &$0) } ?? 0
                buffer.withBytes { bytes in
                    errors.append(bytes.extracting(0..<min(count, Self.longestErrors - errors.count)))
                }
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
                    throw VaultError(.pluginFailed, "it ends before it is done" + Self.last(errors))
                }
                try buffer.withBytes { try conversation.receive($0.extracting(0..<count)) }
            }
        }
        child.end(within: Self.patienceAtEnd)
    }

    /// The last line that the plugin wrote to standard error, for a message.
    private static func last(_ errors: [UInt8]) -> String {
        errors.split(separator: 0x0A).last.map { ": " + String(decoding: $0, as: UTF8.self) } ?? ""
    }

    /// Brings what the plugin asks to the user.
    ///
    /// - Returns: whether the plugin is done.
    private func answer(_ conversation: inout PluginConversation, _ plugin: String) throws -> Bool {
        while true {
            switch try conversation.next() {
            case .waiting: return false
            case .finished: return true
            case .message(let text): try conversation.acknowledge(dialogue.show(text, from: plugin))
            case .choice(let text, let yes, let no):
                try conversation.choose(dialogue.confirm(text, yes: yes, no: no, from: plugin))
            case .question(let text, let isSecret):
                try conversation.reply(dialogue.answer(to: text, isSecret: isSecret, from: plugin))
            }
        }
    }
}

/// Collects the slots that opening would hand to plugins.
private final class StanzaRequests: KeyProvider {
    struct Request {
        let plugin: String
        let identities: [PluginIdentity]
        var slots: [[AgeStanza]]
    }

    private struct State {
        var requests: [Request] = []
        /// The plugins that were to get slots of the present container.
        var asked: Set<String> = []
    }

    private let keys: any KeyProvider
    private let state = Mutex(State())

    init(_ keys: any KeyProvider) {
        self.keys = keys
    }

    var all: [Request] { state.withLock { $0.requests } }

    func beginContainer() {
        state.withLock { $0.asked = [] }
    }

    func symmetricKeys(for ids: [KeyID]) throws -> [SymmetricKey] { try keys.symmetricKeys(for: ids) }
    func identities() throws -> [Identity] { try keys.identities() }
    func pluginIdentities() throws -> [PluginIdentity] { try keys.pluginIdentities() }
    var privateSlots: [PrivateSlotFamily] { keys.privateSlots }
    func fileKey(for slot: PrivateSlot) throws -> FileKey? { try keys.fileKey(for: slot) }

    /// Takes what a plugin gets in its first session with a container. If that opens nothing, the second session is that
    /// container's own.
    func secrets(
        in slots: [[AgeStanza]], by plugin: String, with identities: [PluginIdentity]
    ) throws -> [StanzaSecret?] {
        state.withLock { state in
            guard state.asked.insert(plugin).inserted else { return }
            if let place = state.requests.firstIndex(where: { $0.plugin == plugin }) {
                state.requests[place].slots += slots
            } else {
                state.requests.append(Request(plugin: plugin, identities: identities, slots: slots))
            }
        }
        return [StanzaSecret?](repeating: nil, count: slots.count)
    }
}
