import Testing
import VaultCrypto
import VaultFormat
import VaultTestSupport

@testable import VaultStream

/// Recipients, identities and groups in the text of a keyring (KEYRING-16, KEYRING-19). The vectors have a text for each
/// rule.
@Suite struct KeyringRecipientText {
    private static let time = Timestamp(seconds: 1_795_255_200)

    private static func entry(
        _ state: KeyringEntry.State, _ name: String, _ key: PublicKey? = nil, members: [String] = []
    ) throws -> KeyringEntry {
        let recipient = key.map(RecipientFile.Entry.publicKey)
        return KeyringEntry(
            id: recipient?.keyringID, name: try #require(KeyName(name)), created: time, state: state,
            recipient: recipient,
            members: try members.map { try #require(KeyName($0)) })
    }

    private static func text(_ keyring: borrowing KeyringText) throws -> [UInt8] {
        try keyring.withBytes { [UInt8](copying: $0) }
    }

    private static func parse(_ text: [UInt8]) throws -> KeyringText {
        var buffer = try SecretBuffer(count: text.count)
        buffer.withMutableBytes { $0.replace(at: 0, with: text.span) }
        return try KeyringText.parse(buffer)
    }

    private static func kinds() -> [SlotDescription.Kind] {
        #if PublicKeys
        [.x25519, .xWing]
        #else
        [.x25519]
        #endif
    }

    @Test("what is written is read", arguments: kinds()) func writtenAndRead(_ kind: SlotDescription.Kind) throws {
        let (me, alice, bob) = (try Identity.generate(kind), try Identity.generate(kind), try Identity.generate(kind))
        let key = try SymmetricKey.generate()
        let work = KeyringEntry(id: key.id, name: try #require(KeyName("work")), created: Self.time, state: .current)
        let items = [
            KeyringText.Item(try Self.entry(.group, "team", members: ["me", "bob", "alice"]), .none),
            KeyringText.Item(work, .new(key)),
            KeyringText.Item(try Self.entry(.identity, "me", me.publicKey), .newIdentity(me)),
            KeyringText.Item(try Self.entry(.recipient, "alice", alice.publicKey), .none),
            KeyringText.Item(try Self.entry(.former, "bob", bob.publicKey), .none),
        ]
        let made = try KeyringText.make(items)
        let text = try Self.text(made)
        let read = try Self.parse(text)
        #expect(read.entries == items.map(\.entry))
        #expect(read.entries.map(\.recipientText) == [nil, nil, me, alice, bob].map { $0?.publicKey.text })
        #expect(read.entries[0].members.map(\.description) == ["me", "bob", "alice"])
        for keyring in [0, 1] {
            let entry = items[2].entry
            let identity = try keyring == 0 ? made.identity(entry) : read.identity(entry)
            #expect(identity?.publicKey == me.publicKey)
        }
        #expect(try read.identity(items[3].entry) == nil && read.identity(items[1].entry) == nil)
        // An identity's ID is no symmetric key's.
        #expect(try read.key(try #require(items[2].entry.id)) == nil && read.key(key.id)?.id == key.id)
        let again = try read.changed(to: read.entries.map { KeyringText.Item($0, $0.hasSecret ? .kept : .none) })
        #expect(try Self.text(again) == text)
    }

    @Test("a plugin's identity is kept byte for byte") func plugins() throws {
        let lines = Vector.keys.filter { $0.name.hasPrefix("N20-identities") || $0.name.hasPrefix("N20-every") }
        #expect(lines.count == 2)
        for vector in lines {
            let read = try Self.parse(vector.container)
            let kept = try read.changed(to: read.entries.map { KeyringText.Item($0, $0.hasSecret ? .kept : .none) })
            #expect(try Self.text(kept) == vector.container)
            for entry in read.entries where entry.id == nil {
                #expect(try read.identity(entry) == nil && entry.recipientText == nil && entry.publicKey == nil)
                #expect(try read.pluginIdentity(entry)?.knownRecipients == [])
            }
            // Each is written again from its value, as a new one.
            let items = try read.entries.map { entry in
                let identity = try read.pluginIdentity(entry)
                #expect((identity == nil) == (entry.state != .identity || entry.publicKey != nil))
                return KeyringText.Item(
                    entry, identity.map(KeyringText.Source.newPluginIdentity) ?? (entry.hasSecret ? .kept : .none))
            }
            #expect(try Self.text(try read.changed(to: items)) == vector.container)
        }
    }

    @Test func whatMayNotBeWritten() throws {
        let (me, other) = (try Identity.generate(.x25519), try Identity.generate(.x25519))
        let mine = try Self.entry(.identity, "me", me.publicKey)
        let alice = KeyringText.Item(try Self.entry(.recipient, "alice", other.publicKey), .none)
        func group(_ members: String..., name: String = "team") throws -> KeyringText.Item {
            KeyringText.Item(try Self.entry(.group, name, members: members), .none)
        }
        let cases: [[KeyringText.Item]] = [
            [KeyringText.Item(mine, .none)], [KeyringText.Item(mine, .kept)],
            [KeyringText.Item(mine, .newIdentity(other))],
            [KeyringText.Item(mine, .new(testKey(1)))], [KeyringText.Item(alice.entry, .newIdentity(other))],
            [KeyringText.Item(try Self.entry(.destroyed, "me", me.publicKey), .newIdentity(me))],
            [KeyringText.Item(alice.entry, .kept)],
            [alice, KeyringText.Item(try Self.entry(.former, "other", other.publicKey), .none)],
            [alice, try group()], [alice, try group("bob")], [alice, try group("alice", "alice")],
            [alice, try group("team")], [alice, try group("alice"), try group("team", name: "teams")],
            [alice, try group("alice", name: "alice")],
        ]
        for items in cases {
            let error = #expect(throws: VaultError.self) { _ = try KeyringText.make(items) }
            #expect(error?.code == .keyringMalformed)
        }
        #expect(throws: Never.self) { _ = try KeyringText.make([alice, try group("alice")]) }
    }

    @Test("a text that would be too long is refused") func tooLong() throws {
        let long = String(repeating: "n", count: 60)
        let members = try (1000..<3000).map { try #require(KeyName("\(long)\($0)")) }
        let key = try Identity.generate(.x25519).publicKey
        var items = [KeyringText.Item(try Self.entry(.recipient, "alice", key), .none)]
        for name in members {
            let id = try #require(KeyID(bytes: Array(repeating: 0, count: 8) + name.description.utf8.suffix(8)))
            items.append(
                KeyringText.Item(
                    KeyringEntry(id: id, name: name, created: Self.time, state: .former, recipient: .publicKey(key)),
                    .none))
        }
        for number in 0..<8 {
            items.append(
                KeyringText.Item(try Self.entry(.group, "g\(number)", members: members.map(\.description)), .none))
        }
        let error = #expect(throws: VaultError.self) { _ = try KeyringText.make(items) }
        #expect(error?.code == .keyringMalformed && error?.message.contains("1048576") == true)
    }

    @Test("no error holds a secret, and none is copied into an entry", arguments: ["recipient", "former", "group"])
    func misplacedSecret(_ state: String) throws {
        let me = try Identity.generate(.x25519)
        let secret = try me.withFile { String(decoding: [UInt8](copying: $0), as: UTF8.self) }
        let line = try #require(secret.split(separator: "\n").last)
        let id = state == "group" ? "-" : "\(try #require(try Self.entry(.identity, "me", me.publicKey).id))"
        let text = "vaultfile keyring 1\n\(state) 2026-11-21T10:00:00Z \(id) \(line) me\n"
        let error = #expect(throws: VaultError.self) { _ = try Self.parse(Array(text.utf8)) }
        #expect(error?.code == .keyringMalformed && error?.message.contains("AGE-SECRET") == false)
    }

    @Test(arguments: [
        "former", "header-file", "identity", "identity-command", "identity-file", "recipient-file", "recipients-file",
        "age1", "age1x", "AGE1x", "age-", "age-key", "Age-Secret-Key",
    ])
    func noNames(_ text: String) {
        #expect(KeyName(text) == nil)
    }

    @Test(arguments: ["group", "age", "ages", "age2", "aged-1", "recipients"]) func names(_ text: String) {
        #expect(KeyName(text)?.description == text)
    }
}
