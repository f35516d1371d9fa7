import Testing
import VaultFile
import VaultTestSupport

/// Recipients, identities and groups in the files of a keyring.
@Suite struct KeyringRecipients {
    private static let time = Timestamp(seconds: 1_795_255_200)

    private func name(_ text: String) throws -> KeyName { try #require(KeyName(text)) }

    /// A keyring with a key, the recipients `alice` and `bob`, and the identity `me`.
    private func prepared() throws -> (box: KeyringBox, alice: Identity, me: Identity) {
        let box = try KeyringBox(keys: ["work"])
        let (alice, bob, me) = (
            try Identity.generate(.x25519), try Identity.generate(.x25519), try Identity.generate(.x25519)
        )
        try box.change { change in
            try change.add(alice.publicKey, named: name("alice"), created: Self.time)
            try change.add(bob.publicKey, named: name("bob"), created: Self.time)
            try change.add(me, named: name("me"), created: Self.time)
        }
        return (box, alice, me)
    }

    private func code(_ body: () throws -> Void) -> VaultError.Code? {
        do {
            try body()
            return nil
        } catch {
            return (error as? VaultError)?.code
        }
    }

    @Test("a keyring opens with its identities what is encrypted to its recipients") func opens() throws {
        let (box, alice, me) = try prepared()
        let keyring = try box.open()
        #expect(try box.states() == ["work current", "alice recipient", "bob recipient", "me identity"])
        #expect(try keyring.identities().map(\.publicKey) == [me.publicKey])
        #expect(try keyring.identity(named: name("me")).publicKey == me.publicKey)
        let key = try #require(try keyring.recipients(named: name("me")).first?.publicKey)
        let container = try sealed([1, 2, 3], for: [.publicKey(key)])
        #expect(try SeekableVaultReader(MemorySource(container), with: Credentials(keyring)).bytes(0..<3) == [1, 2, 3])
        let others = try sealed([1], for: [.publicKey(alice.publicKey)])
        #expect(code { _ = try SeekableVaultReader(MemorySource(others), with: Credentials(keyring)) } == .wrongKey)
        #expect(keyring.entry("alice")?.recipientText == alice.publicKey.text)
        // What a slot names by its ID is a symmetric key, and nothing else.
        let id = try #require(keyring.entry("me")?.id)
        #expect(code { _ = try keyring.key(id) } == .noSuchKey)
        #expect(try keyring.symmetricKeys(for: [id]).isEmpty && !keyring.keyChangeToCurrent().removing.ids.contains(id))
        #expect(keyring.entry(id.description)?.name == keyring.entry("me")?.name)
    }

    @Test("a generated identity is post-quantum, if the build has X-Wing") func generated() throws {
        let box = try KeyringBox()
        #if PublicKeys
        let entry = try box.change(making: true) { try $0.generateIdentity(named: name("me"), created: Self.time) }
        #expect(entry.publicKey?.kind == .xWing && entry.recipientText?.hasPrefix("age1pq1") == true)
        #expect(try box.open().entries == [entry] && box.open().identities().count == 1)
        #else
        #expect(
            code {
                try box.change(making: true) { try $0.generateIdentity(named: name("me"), created: Self.time) }
            } == .badKey)
        #endif
        let classical = try box.change(making: true) {
            try $0.generateIdentity(.x25519, named: name("old"), created: Self.time)
        }
        #expect(classical.publicKey?.kind == .x25519 && classical.state == .identity && classical.created == Self.time)
    }

    @Test("a public key unlocks no keyring, and no identity is tried on what does") func unlocking() throws {
        let (box, _, me) = try prepared()
        for unlocker in [Recipient.identity(me), .publicKey(me.publicKey, isHidden: true)] {
            let copy = box.folder["other"]
            #expect(
                code { try Keyring.makeUnlockKey(at: copy, for: [.key(testKey(1)), unlocker]) } == .invalidArgument)
            #expect(
                code {
                    _ = try Keyring.changeUnlockers(
                        at: box.path, KeyChange(adding: [unlocker]), unlocking: box.unlocker)
                } == .invalidArgument)
            #expect(
                code {
                    _ = try Keyring.protect(at: box.path, renewing: true, unlocking: box.unlocker, with: [unlocker])
                } == .invalidArgument)
        }
        // Another program may have made such a slot.
        let context = try Context("vaultfile keyring key")
        let secrets = Credentials(box.unlocker, context: context)
        _ = try Vault.rotate(
            at: Keyring.unlockKeyPath(of: box.path), KeyChange(adding: [.identity(me)]), with: secrets)
        #expect(code { _ = try box.open(KeySet(identities: [me])) } == .wrongKey)
        #expect(try box.open().entries.count == 4)
    }

    @Test("a former recipient is left out, and comes back") func former() throws {
        let (box, _, _) = try prepared()
        try box.change { try $0.setGroup(name("team"), members: [name("me"), name("alice")], created: Self.time) }
        func names(_ text: String) throws -> [String] {
            try box.open().recipients(named: name(text)).map(\.name.description)
        }
        #expect(try names("team") == ["me", "alice"] && names("alice") == ["alice"] && names("bob") == ["bob"])
        try box.change { try $0.retire(name("alice")) }
        #expect(try box.open().entry("alice")?.state == .former)
        #expect(try names("team") == ["me"] && names("alice").isEmpty)
        #expect(try box.open().entry("team")?.members.map(\.description) == ["me", "alice"])
        try box.change { try $0.use(name("alice")) }
        #expect(try names("team") == ["me", "alice"])
        #expect(try box.open().current?.name == name("work"), "the current key stays")
        for text in ["work", "nobody"] {
            #expect(code { _ = try box.open().recipients(named: name(text)) } == .noSuchKey)
        }
    }

    @Test("a destroyed identity is gone from both files and from the groups") func destroyed() throws {
        let (box, _, me) = try prepared()
        try box.change { change in
            try change.setGroup(name("team"), members: [name("me"), name("alice")], created: Self.time)
            try change.setGroup(name("mine"), members: [name("me")], created: Self.time)
        }
        let id = try #require(try box.open().entry("me")?.id)
        let before = try box.folder.read("keyring")
        let unlockFile = try box.folder.read("keyring.key")
        let traces = try box.destroy("me")
        #expect(traces.keyring == .overwritten && traces.unlockKey == .overwritten && traces.exchange == .done)
        #expect(traces.reason == .destroyedKey)
        #expect(try box.folder.read("keyring.key") != unlockFile)
        let keyring = try box.open()
        #expect(keyring.entry("me")?.state == .destroyed && keyring.entry("me")?.id == id)
        #expect(keyring.entry("me")?.recipientText == nil && keyring.entry("mine") == nil)
        #expect(keyring.entry("team")?.members == [try name("alice")])
        #expect(try keyring.identities().isEmpty)
        #expect(code { _ = try keyring.identity(named: name("me")) } == .keyDestroyed)
        #expect(code { _ = try keyring.recipients(named: name("me")) } == .noSuchKey)
        #expect(code { _ = try box.change { try $0.add(me, named: name("again"), created: Self.time) } } == .keyExists)
        // An old copy of the keyring file does not open with what unlocks it now.
        try box.folder.write(before, to: "keyring")
        #expect(code { _ = try box.open() } == .keyringMismatch)
    }

    @Test func changesThatAreRefused() throws {
        let (box, alice, me) = try prepared()
        try box.change { try $0.setGroup(name("team"), members: [name("me")], created: Self.time) }
        let before = try box.folder.read("keyring")
        func refused(_ body: (inout KeyringChange) throws -> Void) -> VaultError.Code? {
            code { try box.change(body) }
        }
        let (new, team) = (try name("new"), try name("team"))
        let stranger = try Identity.generate(.x25519)
        #expect(refused { try $0.add(alice.publicKey, named: new, created: Self.time) } == .keyExists)
        #expect(refused { try $0.add(me, named: new, created: Self.time) } == .keyExists)
        #expect(refused { try $0.add(me.publicKey, named: new, created: Self.time) } == .keyExists)
        #expect(refused { try $0.add(stranger, named: name("work"), created: Self.time) } == .keyNameTaken)
        #expect(refused { try $0.add(stranger.publicKey, named: team, created: Self.time) } == .keyNameTaken)
        #expect(
            refused { try $0.add(stranger, named: new, created: Timestamp(seconds: .max)) } == .invalidArgument)
        #expect(refused { try $0.use(name("me")) } == .invalidArgument)
        #expect(refused { try $0.retire(name("me")) } == .invalidArgument)
        #expect(refused { try $0.use(team) } == .invalidArgument)
        #expect(refused { try $0.retire(team) } == .invalidArgument)
        #expect(refused { try $0.destroy(name("alice")) } == .invalidArgument)
        #expect(refused { try $0.destroy(team) } == .invalidArgument)
        #expect(refused { try $0.setGroup(name("alice"), members: [name("me")], created: Self.time) } == .keyNameTaken)
        #expect(refused { try $0.setGroup(new, members: [], created: Self.time) } == .invalidArgument)
        #expect(refused { try $0.setGroup(new, members: [new], created: Self.time) } == .noSuchKey)
        for member in ["work", "team"] {
            #expect(
                refused { try $0.setGroup(new, members: [name(member)], created: Self.time) } == .invalidArgument)
        }
        let twice = [try name("me"), try name("me")]
        #expect(refused { try $0.setGroup(new, members: twice, created: Self.time) } == .invalidArgument)
        #expect(refused { try $0.removeGroup(new) } == .noSuchKey)
        #expect(refused { try $0.removeGroup(name("alice")) } == .noSuchKey)
        // A change without effect writes nothing.
        try box.change { change in
            try change.setGroup(team, members: [name("me")], created: .now)
            try change.use(name("alice"))
        }
        #expect(try box.folder.read("keyring") == before)
    }

    @Test("an identity takes the place of its recipient, which keeps its name and its groups") func fromRecipient()
        throws
    {
        let (box, alice, _) = try prepared()
        let entry = try box.change { change in
            try change.setGroup(name("team"), members: [name("alice")], created: Self.time)
            return try change.add(alice, named: name("other"), created: .now)
        }
        #expect(entry.name == (try name("alice")) && entry.state == .identity && entry.created == Self.time)
        let keyring = try box.open()
        #expect(keyring.entries.count == 5 && keyring.entry("other") == nil)
        #expect(try keyring.recipients(named: name("team")) == [entry])
        #expect(try keyring.identity(named: name("alice")).publicKey == alice.publicKey)
    }

    @Test("recipients and identities of plugins are kept, and destroyed") func plugins() throws {
        let box = try KeyringBox(keys: ["work"])
        let recipient = try PluginRecipient("age1stand1rua0ddtcd72c5fechpw")
        let identity = try PluginIdentity(text: Array("AGE-PLUGIN-STAND-1NQUZFQM8MWMWYKFQ67J".utf8).span)
        let other = try PluginIdentity(text: Array("AGE-PLUGIN-STAND-184L2T4AJJWHXUAS7GLDCGLQDESV0EUYZ".utf8).span)
        try box.change { change in
            try change.add(.plugin(recipient), named: name("stand"), created: Self.time)
            try change.add(identity, named: name("unknown"), created: Self.time)
            try change.setGroup(name("team"), members: [name("unknown"), name("stand")], created: Self.time)
        }
        #expect(
            try box.open().entry("unknown")?.id == nil && box.open().entry("stand")?.recipient == .plugin(recipient))
        #expect(try box.open().pluginIdentities().map(\.knownRecipients) == [[]])
        // With a second line it would open after the first one is destroyed.
        let again = code {
            _ = try box.change { try $0.add(identity.knowing([recipient]), named: name("card"), created: .now) }
        }
        #expect(again == .keyExists)
        let both = code {
            try box.change { change in
                try change.add(other, named: name("one"), created: .now)
                _ = try change.add(other, named: name("two"), created: .now)
            }
        }
        #expect(both == .keyExists)
        try box.change { try $0.add(other.knowing([recipient]), named: name("card"), created: .now) }
        #expect(
            try box.states() == ["work current", "stand identity", "unknown identity", "team group"])
        let keyring = try box.open()
        #expect(try keyring.pluginIdentities().map(\.knownRecipients) == [[recipient], []])
        #expect(try keyring.pluginIdentities().map { $0.withText { $0.count } } == [50, 37])
        #expect(try keyring.identities().isEmpty)
        #expect(try keyring.recipients(named: name("team")).map(\.recipientText) == [nil, recipient.text])
        // A copy that has the one identity under another name holds it.
        let copy = box.folder["copy"]
        _ = try Keyring.copy(from: box.path, to: copy, unlocking: box.unlocker)
        #expect(try box.destroy("unknown").exchange == .done)
        #expect(try box.states() == ["work current", "stand identity", "team group"])
        #expect(code { _ = try Keyring.copy(from: box.path, to: copy, unlocking: box.unlocker) } == .consentNeeded)
        try box.change { try $0.add(identity, named: name("again"), created: Self.time) }
        #expect(try Keyring.copy(from: box.path, to: copy, unlocking: box.unlocker).result.entries.count == 4)
        _ = try box.destroy("stand")
        #expect(try box.states() == ["work current", "stand destroyed", "again identity"])
    }

    @Test("groups are changed and removed; their members stay") func groups() throws {
        let (box, _, _) = try prepared()
        let team = try name("team")
        let made = try box.change { try $0.setGroup(team, members: [name("me")], created: Self.time) }
        let changed = try box.change { try $0.setGroup(team, members: [name("bob"), name("me")], created: .now) }
        #expect(made.id == nil && changed.created == Self.time && changed.members.count == 2)
        #expect(try box.open().entries.count == 5 && box.open().entry("team") == changed)
        try box.change { try $0.removeGroup(team) }
        #expect(try box.states() == ["work current", "alice recipient", "bob recipient", "me identity"])
    }

    @Test("a copy loses no identity and no recipient without consent") func copies() throws {
        let (box, alice, me) = try prepared()
        let copy = box.folder["copy"]
        _ = try Keyring.copy(from: box.path, to: copy, unlocking: box.unlocker)
        func lost(_ change: (inout KeyringChange) throws -> Void) throws -> [String] {
            try box.change(change)
            var names: [String] = []
            _ = try Keyring.copy(from: copy, to: box.path, unlocking: box.unlocker) { lost, _ in
                names = lost.map(\.name.description)
            }
            return names
        }
        let stranger = try Identity.generate(.x25519)
        #expect(try lost { try $0.add(stranger.publicKey, named: name("new"), created: Self.time) } == ["new"])
        #expect(try lost { try $0.add(stranger, named: name("new"), created: Self.time) } == ["new"])
        // The copy has the recipient, and not the identity.
        #expect(try lost { try $0.add(alice, named: name("alice"), created: Self.time) } == ["alice"])
        #expect(try lost { try $0.retire(name("bob")) } == [])
        #expect(try lost { try $0.setGroup(name("team"), members: [name("me")], created: Self.time) } == [])
        #expect(try lost { try $0.destroy(name("me")) } == [])
        #expect(try box.open().identity(named: name("me")).publicKey == me.publicKey)
    }
}
