import Synchronization
import SystemPackage
import Testing
import VaultTestSupport

@testable import VaultFile

/// Sessions for many containers, and what several identities of one plugin mean.
@Suite struct PluginPreparationTests {
    private static let text = [UInt8]("abc".utf8)

    private let folder: TemporaryFolder
    /// The plugin with two keys: one folder, and so one log.
    private let mine: StandIn
    private let other: StandIn

    init() throws {
        folder = try TemporaryFolder()
        mine = try StandIn()
        other = try StandIn(key: 1)
    }

    private func store(_ recipients: [Recipient], _ name: String) throws -> FilePath {
        try folder.write(sealed(Self.text, for: recipients), to: name)
    }

    /// A container with one slot.
    private func store(for recipient: PluginRecipient, _ name: String) throws -> FilePath {
        try store([.stanzas(try #require(mine.plugins().wrap(for: recipient).first))], name)
    }

    /// A container with one hidden slot.
    private func storeHidden(for identity: PluginIdentity, _ name: String) throws -> FilePath {
        try store([.stanzas(try #require(mine.plugins().wrap(for: identity).first))], name)
    }

    private func opening(_ path: FilePath, _ keys: some KeyProvider) throws -> VaultError.Code? {
        try StoredContainer.code {
            _ = try SeekableVaultReader(FileSource(at: path), with: Credentials(keys))
        }
    }

    @Test("an answer counts only for the identities that the plugin had") func identities() throws {
        let paths = [try store(for: mine.recipient, "a"), try store(for: other.recipient, "b")]
        let plugins = mine.plugins()
        let both = mine.keys(plugins, [mine.identity, other.identity])
        try plugins.prepare(paths, with: Credentials(both))
        let before = mine.sessions.count
        // The order of the identities makes no other session.
        let turned = mine.keys(plugins, [other.identity, mine.identity])
        for path in paths { #expect(try opening(path, turned) == nil) }
        #expect(mine.sessions.count == before)
        #expect(try opening(paths[0], mine.keys(plugins, [other.identity])) == .wrongKey)
        #expect(try opening(paths[1], mine.keys(plugins, [other.identity])) == nil)
        #expect(mine.sessions.count == before + 2)
    }

    @Test("one identity removes only its own slot of two, after a session with both") func removal() throws {
        let plugins = mine.plugins()
        let slots = try [mine.identity, other.identity].map { try plugins.wrap(for: $0, count: 2) }
        let paths = try (0..<2).map { place in try store(slots.map { .stanzas($0[place]) }, "\(place)") }
        let keys = mine.keys(plugins, [mine.identity, other.identity])
        try plugins.prepare(paths, with: Credentials(keys))
        var removing = SlotSelection.none
        removing.pluginIdentities = [other.identity]
        for path in paths { try Vault.rotate(at: path, KeyChange(removing: removing), with: Credentials(keys)) }
        for path in paths {
            #expect(try opening(path, mine.keys(plugins)) == nil)
            #expect(try opening(path, mine.keys(plugins, [other.identity])) == .wrongKey)
        }
    }

    @Test("containers for which the identities differ get sessions of their own") func growing() throws {
        let paths = [try store(for: other.recipient, "a"), try store(for: mine.recipient, "b")]
        let plugins = mine.plugins()
        let keys = GrowingKeys(plugins, [other.identity, mine.identity])
        try plugins.prepare(paths, with: Credentials(keys))
        for path in paths {
            #expect(try opening(path, mine.keys(plugins, [other.identity, mine.identity])) == nil)
        }
    }

    @Test("only the first plugin of a container is asked ahead") func firstPlugin() throws {
        let requests = StanzaRequests(KeySet())
        let slot = [try #require(AgeStanza(["x"]))]
        for _ in 0..<2 {
            requests.beginContainer()
            _ = try requests.secrets(in: [slot, slot], by: "one", with: [])
            _ = try requests.secrets(in: [slot], by: "two", with: [])
        }
        let taken = try #require(requests.take(atLeast: 4))
        #expect(taken.plugin == "one" && taken.slots.count == 4)
        #expect(requests.take(atLeast: 1)?.plugin == nil)
    }

    @Test("more slots than a session has") func many() throws {
        let wrapped = try mine.plugins().wrap(for: mine.recipient, count: 1032)
        let paths = try wrapped.enumerated().map { try store([.stanzas($1)], "\($0)") }
        let plugins = mine.plugins()
        try plugins.prepare(paths, with: Credentials(mine.keys(plugins)))
        #expect(mine.sessions == ["wrap 1024", "wrap 8", "unwrap 1024", "unwrap 8"])
        for path in paths { #expect(try opening(path, mine.keys(plugins)) == nil) }
        #expect(mine.sessions.count == 4)
    }

    @Test("an error that the plugin reports is that of the slots it did not open") func reported() throws {
        let paths = [try store(for: mine.recipient, "a"), try store(for: mine.recipient, "b")]
        try mine.use("some")
        let plugins = mine.plugins()
        let keys = mine.keys(plugins)
        try plugins.prepare(paths, with: Credentials(keys))
        let before = mine.sessions
        #expect(try opening(paths[0], keys) == nil)
        #expect(try opening(paths[1], keys) == .pluginFailed)
        #expect(mine.sessions == before)
        // In one container with both slots, one is enough.
        let wrapped = try mine.plugins().wrap(for: mine.recipient, count: 2)
        #expect(try opening(store(wrapped.map { .stanzas($0, isHidden: true) }, "c"), keys) == nil)
    }

    @Test("what the dialogue throws ends the preparation, and is no fault of the plugin") func givenUp() throws {
        let path = try store(for: mine.recipient, "a")
        try mine.use("pin")
        let plugins = mine.plugins(GivingUp())
        let keys = mine.keys(plugins)
        #expect(throws: Errno.canceled) { try plugins.prepare([path], with: Credentials(keys)) }
        #expect(throws: Errno.canceled) { try opening(path, keys) }
    }

    @Test("no lock is taken to prepare") func unlocked() throws {
        let path = try store(for: mine.recipient, "a")
        let plugins = mine.plugins()
        let faults = Faults(countsLooks: true) { _ in nil }
        try faults.during { try plugins.prepare([path], with: Credentials(mine.keys(plugins))) }
        #expect(faults.calls.contains { $0.name == "openAt" } && !faults.calls.contains { $0.name == "lock" })
        #expect(mine.sessions == ["wrap 1", "unwrap 1"])
    }

    @Test("a hidden slot of another person is not lost in a re-encryption without consent") func successor() throws {
        let plugins = mine.plugins()
        let me = mine.identity.knowing([mine.recipient])
        func reencrypt(_ path: FilePath, _ identities: [PluginIdentity]) throws -> VaultError.Code? {
            let recipient = Recipient.stanzas(try #require(plugins.wrap(for: mine.recipient).first))
            return try StoredContainer.code {
                _ = try Vault.reencrypt(at: path, for: [recipient], with: Credentials(mine.keys(plugins, identities)))
            }
        }
        // Two identities had the session, and the plugin does not say which of them opened the slot.
        let theirs = try storeHidden(for: other.identity, "a")
        #expect(try reencrypt(theirs, [me, other.identity]) == .consentNeeded)
        #expect(try opening(theirs, mine.keys(plugins, [other.identity])) == nil)
        #expect(try reencrypt(storeHidden(for: mine.identity, "b"), [me]) == nil)
    }

    @Test("what is wrapped makes one slot, also in one container") func onlyOnce() throws {
        let wrapped = try #require(mine.plugins().wrap(for: mine.recipient).first)
        let path = try store([.key(testKey(1))], "a")
        let (recipient, credentials) = (Recipient.stanzas(wrapped), Credentials(KeySet(keys: [testKey(1)])))
        try Vault.rotate(at: path, KeyChange(adding: [recipient]), with: credentials)
        var removing = SlotSelection.none
        removing.pluginRecipients = [mine.recipient]
        try Vault.rotate(at: path, KeyChange(removing: removing), with: credentials)
        #expect(
            try StoredContainer.code {
                _ = try Vault.rotate(at: path, KeyChange(adding: [recipient]), with: credentials)
            } == .invalidArgument)
    }
}

/// Each container gets one identity more than the one before.
private final class GrowingKeys: KeyProvider {
    private let plugins: AgePlugins
    private let all: [PluginIdentity]
    private let count = Mutex(0)

    init(_ plugins: AgePlugins, _ all: [PluginIdentity]) {
        (self.plugins, self.all) = (plugins, all)
    }

    func symmetricKeys(for ids: [KeyID]) -> [SymmetricKey] { [] }

    func pluginIdentities() -> [PluginIdentity] {
        count.withLock { count in
            count += 1
            return Array(all.prefix(count))
        }
    }

    func secrets(
        in slots: [[AgeStanza]], by plugin: String, with identities: [PluginIdentity]
    ) throws -> [StanzaSecret?] {
        try plugins.secrets(in: slots, by: plugin, with: identities)
    }
}

/// A user who gives up.
private struct GivingUp: PluginDialogue {
    func show(_ message: String, from plugin: String) -> Bool { true }
    func confirm(_ message: String, yes: String, no: String?, from plugin: String) throws -> Bool? {
        throw Errno.canceled
    }
    func answer(to question: String, isSecret: Bool, from plugin: String) throws -> SecretBuffer? {
        throw Errno.canceled
    }
}
