import Synchronization
import SystemPackage
import Testing
import VaultTestSupport

@testable import VaultFile

/// Age plugins: real processes, with a stand-in that works under age too (Spec, appendix D).
@Suite struct PluginTests {
    private static let text = [UInt8]("abc".utf8)

    private static func container(_ recipients: [Recipient]) throws -> [UInt8] { try sealed(text, for: recipients) }

    /// A container whose one slot is for the plugin's recipient.
    private static func container(for standIn: StandIn) throws -> [UInt8] {
        try container([.stanzas(try #require(standIn.plugins().wrap(for: standIn.recipient).first))])
    }

    private static func open(_ container: [UInt8], _ keys: some KeyProvider) throws -> OpenedContainer {
        try SeekableVaultReader(MemorySource(container), with: Credentials(keys)).opened
    }

    @Test func wrapsAndUnwraps() throws {
        let standIn = try StandIn()
        let container = try Self.container(for: standIn)
        let opened = try Self.open(container, standIn.keys(standIn.plugins()))
        #expect(opened.header.slots.map(\.kind) == [.stanzas])
        #expect(standIn.sessions == ["wrap 1", "unwrap 1"])
        // Another key of the same plugin opens nothing, and the plugin said so without an error.
        let other = try StandIn(key: 1)
        #expect(
            try StoredContainer.code { _ = try Self.open(container, other.keys(standIn.plugins(), [other.identity])) }
                == .wrongKey)
    }

    @Test(
        "a plugin that breaks a rule opens nothing",
        arguments: [
            "early", "garbage", "messages", "questions", "commands", "error", "index", "twice", "long",
        ]) func faultsOfUnwrapping(_ mode: String) throws
    {
        let standIn = try StandIn()
        let wrapped = try #require(standIn.plugins().wrap(for: standIn.recipient).first)
        let container = try Self.container([
            .stanzas(wrapped), .passphrase(testPassphrase("p"), Argon2Parameters(passes: 2, memoryKiB: 19 << 10)),
        ])
        try standIn.use(mode)
        // A user who sees messages and answers: only the limits of a session end it.
        let plugins = standIn.plugins(Dialogue())
        #expect(try StoredContainer.code { _ = try Self.open(container, standIn.keys(plugins)) } == .pluginFailed)
        // It is no error while another slot opens.
        _ = try Self.open(
            container, standIn.keys(plugins, others: KeySet(passphrases: [testPassphrase("p")])))
    }

    @Test(
        "a plugin that breaks a rule makes no slot",
        arguments: [
            "early", "garbage", "messages", "questions", "commands", "error", "index", "nothing", "labels-twice",
        ]) func faultsOfWrapping(_ mode: String) throws
    {
        let standIn = try StandIn(mode)
        #expect(
            try StoredContainer.code { _ = try standIn.plugins(Dialogue()).wrap(for: standIn.recipient) }
                == .pluginFailed)
    }

    @Test func labels() throws {
        let standIn = try StandIn("label-postquantum")
        let wrapped = try #require(standIn.plugins().wrap(for: standIn.recipient).first)
        #expect(wrapped.isPostQuantum)
        for mode in ["label-x", "label-postquantum,x"] {
            try standIn.use(mode)
            #expect(
                try StoredContainer.code { _ = try standIn.plugins().wrap(for: standIn.recipient) } == .mixedRecipients)
        }
    }

    @Test("all stanzas of a secret are one slot's") func apart() throws {
        let standIn = try StandIn("apart")
        let container = try Self.container(for: standIn)
        try standIn.use("")
        #expect(try Self.open(container, standIn.keys(standIn.plugins())).header.slots.count == 1)
    }

    @Test func missing() throws {
        let standIn = try StandIn()
        let container = try Self.container(for: standIn)
        let empty = try TemporaryFolder()
        // A relative folder, and a folder in place of the program.
        try empty.makeFolder("age-plugin-stand")
        for path in ["", ".", empty.path.string] {
            let keys = standIn.keys(AgePlugins(path: path))
            #expect(try StoredContainer.code { _ = try Self.open(container, keys) } == .pluginFailed)
        }
    }

    @Test func takesTooLong() throws {
        let standIn = try StandIn()
        let container = try Self.container(for: standIn)
        try standIn.use("silent")
        let plugins = AgePlugins(dialogue: NoPluginDialogue(), path: standIn.path, patience: .milliseconds(300))
        let error = #expect(throws: VaultError.self) { try Self.open(container, standIn.keys(plugins)) }
        #expect(error?.message == "age-plugin-stand: it takes too long")
    }

    @Test("standard error without end is read and dropped") func flood() throws {
        let standIn = try StandIn()
        let container = try Self.container(for: standIn)
        try standIn.use("flood")
        let dialogue = Dialogue()
        _ = try Self.open(container, standIn.keys(standIn.plugins(dialogue)))
        #expect(dialogue.errors.count == 1 << 16)
    }

    @Test("a pipe that the plugin has closed is not ready for ever") func closed() throws {
        var child = try ChildProcess("/bin/sh", arguments: ["-c", "exec 2>&-; read line"])
        var buffer = try SecretBuffer(count: 16)
        var ready = try child.wait(toWrite: false)
        while !ready.hasErrors { ready = try child.wait(toWrite: false) }
        #expect(try buffer.withMutableBytes { try child.readErrors(into: &$0) } == 0)
        #expect(try !child.wait(toWrite: false).hasErrors)
        child.end(within: .seconds(10))
    }

    @Test("commands that are not known are refused, and the session goes on") func grease() throws {
        let standIn = try StandIn("grease")
        _ = try Self.open(Self.container(for: standIn), standIn.keys(standIn.plugins()))
    }

    @Test("what the plugin says reaches an error on one line, and not all of it") func longError() throws {
        let standIn = try StandIn()
        let container = try Self.container(for: standIn)
        try standIn.use("long-error")
        let error = #expect(throws: VaultError.self) { try Self.open(container, standIn.keys(standIn.plugins())) }
        let message = try #require(error?.message)
        #expect(message.hasPrefix("age-plugin-stand: one two [31m \u{202E}xxx") && message.hasSuffix("x…"))
        #expect(message.count < 350)
    }

    @Test("standard error is read until the plugin has ended") func lateErrors() throws {
        let standIn = try StandIn()
        let container = try Self.container(for: standIn)
        try standIn.use("late")
        let dialogue = Dialogue()
        _ = try Self.open(container, standIn.keys(standIn.plugins(dialogue)))
        #expect(dialogue.errors.count == 1 << 16)
    }

    @Test("commands are understood in pieces of any size") func pieces() throws {
        let spoken = AgeStanza(["msg"], body: [UInt8](repeating: 0x61, count: 144))?.encoded ?? []
        for size in [1, 7, 64, 1000] {
            var conversation = try PluginConversation(.unwrapping(1))
            var shown: [String] = []
            var rest = (spoken + spoken)[...]
            while !rest.isEmpty {
                try conversation.receive([UInt8](rest.prefix(size)).span)
                rest = rest.dropFirst(size)
                while case .message(let text) = try conversation.next() {
                    shown.append(text)
                    try conversation.acknowledge(true)
                }
            }
            #expect(shown == [String](repeating: String(repeating: "a", count: 144), count: 2))
        }
    }

    @Test("it has three pipes, and runs in the root folder, which holds nothing of others") func surroundings() throws {
        let standIn = try StandIn("look")
        let dialogue = Dialogue()
        _ = try standIn.plugins(dialogue).wrap(for: standIn.recipient)
        #expect(dialogue.shown == ["[0, 1, 2] /"])
    }

    @Test func dialogue() throws {
        let standIn = try StandIn()
        let container = try Self.container(for: standIn)
        func code(_ mode: String, _ dialogue: some PluginDialogue) throws -> VaultError.Code? {
            try standIn.use(mode)
            return try StoredContainer.code { _ = try Self.open(container, standIn.keys(standIn.plugins(dialogue))) }
        }
        let dialogue = Dialogue()
        #expect(try code("message", dialogue) == nil)
        #expect(dialogue.shown == ["touch\u{1B}[31m the token\n"])
        #expect(try code("message", NoPluginDialogue()) == nil)
        #expect(try code("confirm", Dialogue()) == nil)
        #expect(try code("confirm", Dialogue(chooses: false)) == .pluginFailed)
        #expect(try code("confirm", NoPluginDialogue()) == .pluginFailed)
        #expect(try code("pin", Dialogue()) == nil)
        #expect(try code("pin", Dialogue(types: "0000")) == .pluginFailed)
        #expect(try code("pin", NoPluginDialogue()) == .pluginFailed)
    }

    @Test("one session serves many containers") func prepare() throws {
        let standIn = try StandIn()
        let count = 20
        let wrapped = try standIn.plugins().wrap(for: standIn.recipient, count: count)
        let folder = try TemporaryFolder()
        var paths: [FilePath] = []
        for (index, wrapped) in wrapped.enumerated() {
            // Every fourth one opens with a key, without the plugin.
            let recipients: [Recipient] = [.stanzas(wrapped)] + (index % 4 == 0 ? [.key(testKey(1))] : [])
            paths.append(try folder.write(Self.container(recipients), to: "\(index)"))
        }
        paths += [try folder.write([1, 2, 3], to: "none"), folder["missing"]]
        try folder.makePipe("pipe")
        paths.append(folder["pipe"])
        let plugins = standIn.plugins()
        let keys = standIn.keys(plugins, others: KeySet(keys: [testKey(1)]))
        try plugins.prepare(paths, with: Credentials(keys))
        #expect(standIn.sessions == ["wrap 20", "unwrap 15"])
        for path in paths.prefix(count) {
            _ = try SeekableVaultReader(FileSource(at: .path(path)), with: Credentials(keys))
        }
        #expect(standIn.sessions.count == 2)
    }

    @Test("a session that failed for many fails for each, and is not held again") func preparedFailure() throws {
        let standIn = try StandIn()
        let container = try StoredContainer(Self.container(for: standIn))
        try standIn.use("error")
        let plugins = standIn.plugins()
        try plugins.prepare([container.path], with: Credentials(standIn.keys(plugins)))
        let before = standIn.sessions
        #expect(
            try StoredContainer.code { _ = try Self.open(container.bytes, standIn.keys(plugins)) } == .pluginFailed)
        #expect(standIn.sessions == before)
    }

    @Test("without a known recipient the slot is hidden") func hidden() throws {
        let standIn = try StandIn()
        let wrapped = try #require(standIn.plugins().wrap(for: standIn.identity).first)
        #expect(wrapped.recipient == nil)
        let opened = try Self.open(Self.container([.stanzas(wrapped)]), standIn.keys(standIn.plugins()))
        #expect(opened.header.slots.first?.keyID.bytes.prefix(8).allSatisfy { $0 == 0 } == true)
        let known = standIn.identity.knowing([standIn.recipient])
        #expect(try standIn.plugins().wrap(for: known).first?.recipient == standIn.recipient)
    }

    @Test("what is wrapped makes a slot of one container") func onlyOnce() throws {
        let standIn = try StandIn()
        let wrapped = try #require(standIn.plugins().wrap(for: standIn.recipient).first)
        _ = try Self.container([.stanzas(wrapped)])
        #expect(try StoredContainer.code { _ = try Self.container([.stanzas(wrapped)]) } == .invalidArgument)
    }

    @Test("rotation in place, and back") func rotation() throws {
        let standIn = try StandIn()
        let container = try StoredContainer(sealed(Self.text, for: [.key(testKey(1))]))
        let plugins = standIn.plugins()
        let wrapped = try #require(plugins.wrap(for: standIn.recipient).first)
        try Vault.rotate(
            at: container.path, KeyChange(adding: [.stanzas(wrapped)]), with: .key(testKey(1)))
        let keys = standIn.keys(plugins)
        // A plugin that has opened the container in this call counts as a way in (ROT-15).
        try Vault.rotate(
            at: container.path, KeyChange(removing: SlotSelection(ids: [testKey(1).id])), with: Credentials(keys))
        #expect(try Self.open(container.bytes, keys).header.slots.map(\.kind) == [.stanzas])
        // Its known recipient names the slot, and nothing starts the plugin for that.
        let before = standIn.sessions.count
        var removing = SlotSelection.none
        removing.pluginRecipients = [standIn.recipient]
        try Vault.rotate(
            at: container.path, KeyChange(adding: [.key(testKey(2))], removing: removing), with: Credentials(keys))
        #expect(standIn.sessions.count == before + 1)
        #expect(try Self.open(container.bytes, KeySet(keys: [testKey(2)])).header.slots.map(\.kind) == [.symmetric])
    }

    @Test("a task that is cancelled ends the session") func cancelled() async throws {
        let standIn = try StandIn()
        let container = try StoredContainer(Self.container(for: standIn))
        try standIn.use("silent")
        let path = container.path
        let keys = standIn.keys(standIn.plugins())
        let task = Task { try await SeekableVaultReader(FileSource(at: .path(path)), with: Credentials(keys)).length }
        while standIn.sessions.count < 2 { try await Task.sleep(for: .milliseconds(10)) }
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
    }
}

/// A user who answers.
private final class Dialogue: PluginDialogue {
    private let state = Mutex<(shown: [String], errors: String)>(([], ""))
    private let chooses: Bool
    private let types: String

    var shown: [String] { state.withLock { $0.shown } }
    var errors: [UInt8] { state.withLock { [UInt8]($0.errors.utf8) } }

    init(chooses: Bool = true, types: String = "1234") {
        self.chooses = chooses
        self.types = types
    }

    func show(_ message: String, from plugin: String) -> Bool {
        state.withLock { $0.shown.append(message) }
        return true
    }

    func confirm(_ message: String, yes: String, no: String?, from plugin: String) -> Bool? {
        #expect(message == "use the token?" && yes == "go on" && no == "stop" && plugin == "stand")
        return chooses
    }

    func answer(to question: String, isSecret: Bool, from plugin: String) throws -> SecretBuffer? {
        #expect(isSecret)
        var buffer = try SecretBuffer(count: types.utf8.count)
        buffer.withMutableBytes { bytes in
            for (index, byte) in types.utf8.enumerated() { bytes[index] = byte }
        }
        return buffer
    }

    func noteErrors(_ text: String, from plugin: String) {
        state.withLock { $0.errors = text }
    }
}
