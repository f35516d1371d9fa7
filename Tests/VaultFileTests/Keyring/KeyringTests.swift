import Synchronization
import SystemPackage
import Testing
import VaultFile
import VaultStream
import VaultTestSupport

@Suite struct KeyringTests {
    @Test("keys are made, made current and retired", arguments: [true, false])
    func states(_ isProtected: Bool) throws {
        let box = try KeyringBox(protected: isProtected)
        let one = try box.generate("one")
        _ = try box.generate("two")
        #expect(try box.states() == ["one retired", "two current"], "a new key is the current one")
        #expect(try box.folder.names == ["keyring", "keyring.key"])
        try box.change { try $0.use(one.keyID) }
        #expect(try box.states() == ["one current", "two retired"])
        try box.change { try $0.retire(one.keyID) }
        #expect(try box.states() == ["one retired", "two retired"])
        #expect(try box.open().current == nil)
    }

    @Test("every key of the keyring opens, and is found by its ID", arguments: [true, false])
    func findsKeys(_ isProtected: Bool) throws {
        let box = try KeyringBox(protected: isProtected)
        let one = try box.generate("one")
        let two = try box.generate("two")
        let container = try sealed([1, 2, 3], for: [.key(box.open().key(one.keyID))])
        try box.change { try $0.retire(one.keyID) }
        let keyring = try box.open()
        #expect(try SeekableVaultReader(MemorySource(container), with: Credentials(keyring)).bytes(0..<3) == [1, 2, 3])
        #expect(keyring.entry("one") == keyring.entry(one.keyID.description) && keyring.entry("three") == nil)
        let ids = [one.keyID, two.keyID]
        #expect(try keyring.symmetricKeys(for: ids + [testKey(9).id]).map(\.id) == ids)
    }

    @Test("a destroyed key opens nothing; its ID and its time stay", arguments: [true, false])
    func destroyed(_ isProtected: Bool) throws {
        let box = try KeyringBox(protected: isProtected)
        let one = try box.generate("one")
        _ = try box.generate("two")
        let container = try sealed([1, 2, 3], for: [.key(box.open().key(one.keyID))])
        let traces = try box.destroy("one")
        #expect(traces.keyring == .overwritten && traces.unlockKey == .overwritten && traces.exchange == .done)
        #expect(try box.open().isProtected == isProtected)
        #expect(try box.states() == ["one destroyed", "two current"])
        let after = try box.open()
        #expect(throws: VaultError.self) { try after.key(one.keyID) }
        #expect(throws: VaultError.self) { try SeekableVaultReader(MemorySource(container), with: Credentials(after)) }
        #expect(after.entries.first?.id == one.id && after.entries.first?.created == one.created)
    }

    @Test func changesThatAreRefused() throws {
        let box = try KeyringBox(keys: ["one", "two"])
        let one = try #require(try box.open().entry("one"))
        try box.change { try $0.destroy(one.keyID) }
        let before = try box.folder.read("keyring")
        func code(_ body: (inout KeyringChange) throws -> Void) -> VaultError.Code? {
            do {
                try box.change(body)
                return nil
            } catch {
                return (error as? VaultError)?.code
            }
        }
        let name = try #require(KeyName("two"))
        let other = try #require(KeyName("other"))
        let time = Timestamp(seconds: 0)
        #expect(code { try $0.generate(named: name, created: time) } == .keyNameTaken)
        let key = try box.open().key(try #require(box.open().entry("two")).keyID)
        #expect(code { try $0.add(key, named: other, created: time, asCurrent: false) } == .keyExists)
        #expect(code { try $0.use(one.keyID) } == .keyDestroyed)
        #expect(code { try $0.retire(one.keyID) } == .keyDestroyed)
        #expect(code { try $0.destroy(testKey(9).id) } == .noSuchKey)
        #expect(code { try $0.generate(named: other, created: Timestamp(seconds: .max)) } == .invalidArgument)
        // A change happens completely or not at all.
        #expect(
            code { change in
                try change.generate(named: other, created: time)
                try change.use(one.keyID)
            } == .keyDestroyed)
        // A change without effect writes nothing.
        try box.change { try $0.use(key.id) }
        #expect(try box.folder.read("keyring") == before)
        // A second destruction does what a killed first one may not have done.
        let unlockKey = try box.folder.read("keyring.key")
        #expect(try box.destroy("one").exchange == .done)
        #expect(try box.folder.read("keyring.key") != unlockKey)
    }

    @Test("one call makes a keyring or what is missing of it, and never makes a second one") func created() throws {
        let folder = try TemporaryFolder()
        let path = folder["keyring"]
        let name = try #require(KeyName("one"))
        func code(_ body: () throws -> Void) throws -> VaultError.Code? { try StoredContainer.code(body) }
        #expect(try code { try Keyring.create(at: path, for: [], first: name) } == .lastSlot)
        #expect(try code { try Keyring.makeUnlockKey(at: path, for: []) } == .lastSlot)
        #expect(try folder.names.isEmpty)
        let unlockers: [Recipient] = [.passphrase(testPassphrase("p"), cheap), .key(testKey(1))]
        // The remains of an earlier, interrupted call.
        try Keyring.makeUnlockKey(at: path, for: unlockers)
        #expect(try code { try Keyring.create(at: path, for: [.key(testKey(2))], first: name) } == .wrongKey)
        let entry = try Keyring.create(at: path, for: unlockers, first: name)
        for keys in [KeySet(keys: [testKey(1)]), KeySet(passphrases: [testPassphrase("p")])] {
            let keyring = try Keyring.open(at: path, unlocking: keys)
            #expect(keyring.entries == [entry] && keyring.current == entry && keyring.isProtected)
            #expect(try keyring.currentKey().id == entry.id)
        }
        #expect(try code { try Keyring.create(at: path, for: unlockers, first: name) } == .outputExists)
        let retired = try Keyring.change(at: path, unlocking: KeySet(keys: [testKey(1)])) { change in
            try change.retire(entry.name)
        }
        #expect(retired.traces.exchange == .notNeeded)
        let keyring = try Keyring.open(at: path, unlocking: KeySet(keys: [testKey(1)]))
        #expect(try code { _ = try keyring.currentKey() } == .noCurrentKey)
        #expect(try code { _ = try keyring.keyChangeToCurrent() } == .noCurrentKey)
    }

    @Test func freeNames() throws {
        let box = try KeyringBox()
        let day = Timestamp(seconds: 1_795_255_200)
        for expected in ["key-2026-11-21", "key-2026-11-21-2", "key-2026-11-21-3"] {
            let made = try box.change(making: true) { change in
                try change.generate(named: try #require(change.freeName(on: day)), created: day)
            }
            #expect(made.name.description == expected)
        }
    }

    @Test func whoDoesNotUnlockIt() throws {
        let box = try KeyringBox(keys: ["one"])
        #expect(throws: VaultError.self) { try box.open(KeySet(keys: [testKey(2)])) }
        #expect(throws: VaultError.self) { try box.open(KeySet()) }
        let open = try KeyringBox(protected: false, keys: ["one"])
        #expect(try open.states(KeySet()) == ["one current"])
    }

    @Test("an unprotected keyring does not count as one that a secret unlocks") func downgrade() throws {
        let box = try KeyringBox(keys: ["one"])
        let planted = try KeyringBox(protected: false, keys: ["planted"])
        for name in ["keyring", "keyring.key"] { try box.folder.write(try planted.folder.read(name), to: name) }
        let attempts: [() throws -> Void] = [
            { _ = try Keyring.open(at: box.path, unlocking: box.unlocker) },
            { try box.generate("two") },
            {
                _ = try Keyring.protect(at: box.path, renewing: true, unlocking: box.unlocker, with: [.key(testKey(1))])
            },
        ]
        for attempt in attempts {
            let error = #expect(throws: VaultError.self) { try attempt() }
            #expect(error?.code == .keyringUnprotected)
        }
        #expect(try box.folder.read("keyring") == planted.folder.read("keyring"))
        let taken = try Keyring.open(at: box.path, unlocking: box.unlocker, allowsUnprotected: true)
        #expect(taken.entry("planted") != nil && !taken.isProtected)
        let own = try KeyringBox(keys: ["one"])
        #expect(try Keyring.open(at: own.path, unlocking: own.unlocker, allowsUnprotected: true).isProtected)
    }

    /// The error with which the keyring is refused; nil if it opens.
    private func refusal(_ box: KeyringBox) -> VaultError.Code? {
        do {
            _ = try box.open()
            return nil
        } catch {
            return (error as? VaultError)?.code
        }
    }

    @Test("only a container with a keyring's context, content type, form and text is a keyring")
    func anotherContainerIsNoKeyring() throws {
        let box = try KeyringBox(protected: false, keys: ["one"])
        let unlockKey = try SymmetricKey.read(from: box.folder["keyring.key"])
        let text = Array("vaultfile keyring 1\n".utf8)
        var options = SealOptions()
        func code(_ text: [UInt8], _ options: SealOptions) throws -> VaultError.Code? {
            try box.folder.write(try sealed(text, for: [.key(unlockKey)], options: options), to: "keyring")
            return refusal(box)
        }
        #expect(try code(text, options) == .keyringMismatch, "no context")
        options.context = Keyring.context
        #expect(try code(text, options) == .keyringMalformed, "no content type")
        options.metadata.contentType = Keyring.contentType
        #expect(try code(text, options) == nil, "a keyring")
        #expect(try code(text + [65], options) == .keyringMalformed, "a line that is not a key")
        var packed = options
        packed.compression = .deflate
        #expect(try code(text, packed) == .unsupportedCompression, "compressed")
        let long = [UInt8](repeating: 65, count: KeyringText.longest + 1)
        #expect(try code(long, options) == .keyringMalformed, "too long")
    }

    /// The next change would drop anything else that opens it.
    @Test("a keyring with more openers than an exchange leaves is refused") func furtherSlots() throws {
        let box = try KeyringBox(protected: false, keys: ["one"])
        let unlockKey = try SymmetricKey.read(from: box.folder["keyring.key"])
        var options = SealOptions()
        options.context = Keyring.context
        options.metadata.contentType = Keyring.contentType
        func code(_ others: [Recipient]) throws -> VaultError.Code? {
            let container = try sealed(
                Array("vaultfile keyring 1\n".utf8), for: [.key(unlockKey)] + others, options: options)
            try box.folder.write(container, to: "keyring")
            return refusal(box)
        }
        #expect(try code([.key(testKey(2)), .key(testKey(3))]) == .keyringMalformed, "three keys")
        #expect(try code([.passphrase(testPassphrase("x"), cheap)]) == .keyringMalformed, "a passphrase")
        #expect(try code([.key(testKey(2))]) == nil, "an unfinished exchange leaves two keys")
    }

    @Test("only a container with the context and content type of an unlock key unlocks a keyring")
    func anotherContainerIsNoUnlockKey() throws {
        let box = try KeyringBox(protected: false, keys: ["one"])
        let unlockKey = try SymmetricKey.read(from: box.folder["keyring.key"])
        var keyring = SealOptions()
        keyring.context = Keyring.context
        keyring.metadata.contentType = Keyring.contentType
        let text = Array("vaultfile keyring 1\n".utf8)
        try box.folder.write(
            try sealed(text, for: [.key(unlockKey), .key(testKey(2))], options: keyring), to: "keyring")
        try unlockKey.withKeyFile { key in
            let bytes = [UInt8](copying: key)
            func code(_ options: SealOptions, comment: Int = 0) throws -> VaultError.Code? {
                let text = [UInt8](repeating: UInt8(ascii: "#"), count: comment) + [UInt8(ascii: "\n")] + bytes
                try box.folder.write(
                    try sealed(text, for: [.key(testKey(1))], options: options), to: "keyring.key")
                return refusal(box)
            }
            var options = SealOptions()
            options.metadata.contentType = "application/x-vaultfile-key"
            #expect(try code(options) == .wrongKey, "no context")
            options.context = try Context(Array("vaultfile keyring key".utf8))
            let most = SymmetricKey.largestKeyFile - bytes.count - 1
            #expect(try code(options, comment: most) == nil, "the largest key file")
            #expect(try code(options, comment: most + 1) == .badKey, "a key file that is too large")
            options.metadata.contentType = Keyring.contentType
            #expect(try code(options) == .keyringMalformed, "another content type")
        }
    }

    @Test("a file without a key in place of the unlock key is refused") func noUnlockKey() throws {
        let box = try KeyringBox(protected: false, keys: ["one"])
        try box.folder.write([], to: "keyring.key")
        #expect(refusal(box) == .truncated, "an empty file")
        try box.folder.write(Array("# no key\n".utf8), to: "keyring.key")
        #expect(refusal(box) == .badKey, "only a comment")
        try box.folder.remove("keyring.key")
        #expect(refusal(box) == .inputFailed, "no file")
    }

    @Test func aKeyringThatIsLargerThanOneChunk() throws {
        let box = try KeyringBox()
        try box.change(making: true) { change in
            for number in 0..<500 {
                try change.generate(named: try #require(KeyName("key\(number)")), created: Timestamp(seconds: 0))
            }
        }
        let keyring = try box.open()
        #expect(keyring.entries.count == 500 && keyring.current?.name.description == "key499")
        #expect(try box.folder.read("keyring").count > 65_536)
        #expect(try keyring.key(keyring.entries[250].keyID).id == keyring.entries[250].id)
    }

    // MARK: What unlocks it

    @Test(arguments: [true, false]) func protecting(_ isProtected: Bool) throws {
        let box = try KeyringBox(protected: isProtected, keys: ["one", "two"])
        let oldKey = try box.folder.read("keyring.key")
        let new = KeySet(keys: [testKey(2)])
        let traces = try Keyring.protect(
            at: box.path, renewing: isProtected, unlocking: box.unlocker, allowsUnprotected: !isProtected,
            with: [.key(testKey(2)), .key(testKey(3))])
        #expect(traces.keyring == .overwritten && traces.unlockKey == .overwritten && traces.exchange == .done)
        #expect(try box.states(new) == ["one retired", "two current"])
        #expect(try box.states(KeySet(keys: [testKey(3)])).count == 2)
        #expect(throws: VaultError.self) { try box.open() }
        // The former unlock file is useless now.
        try box.folder.write(oldKey, to: "keyring.key")
        #expect(throws: VaultError.self) { try box.open() }
        #expect(throws: VaultError.self) { try Keyring.protect(at: box.path, renewing: true, unlocking: new, with: []) }
    }

    @Test func changingWhatUnlocksIt() throws {
        let box = try KeyringBox(keys: ["one"])
        let before = try box.folder.read("keyring")
        let passphrase = testPassphrase("secret")
        _ = try Keyring.changeUnlockers(
            at: box.path, KeyChange(adding: [.passphrase(passphrase, cheap)]), unlocking: box.unlocker)
        #expect(try box.states(KeySet(passphrases: [passphrase])) == ["one current"])
        _ = try Keyring.changeUnlockers(
            at: box.path, KeyChange(removing: SlotSelection(ids: [testKey(1).id])),
            unlocking: KeySet(passphrases: [passphrase]))
        #expect(throws: VaultError.self) { try box.open() }
        #expect(try box.states(KeySet(passphrases: [passphrase])) == ["one current"])
        #expect(try box.folder.read("keyring") == before)
    }

    // MARK: Several at once

    @Test func manyAtOnce() async throws {
        let box = try KeyringBox()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 0..<8 {
                group.addTask { _ = try box.generate("key\(number)") }
            }
            try await group.waitForAll()
        }
        let entries = try box.open().entries
        #expect(Set(entries.map(\.name.description)) == Set((0..<8).map { "key\($0)" }))
        #expect(entries.count { $0.state == .current } == 1)
        #expect(try box.folder.names == ["keyring", "keyring.key"])
    }

    /// Runs a closure once, when it is asked for keys.
    final class Intruder: KeyProvider {
        private let keys: KeySet
        private let deed: Mutex<(@Sendable () throws -> Void)?>

        init(_ keys: KeySet, _ deed: @escaping @Sendable () throws -> Void) {
            self.keys = keys
            self.deed = Mutex(deed)
        }

        func symmetricKeys(for ids: [KeyID]) throws -> [SymmetricKey] {
            let deed = deed.withLock { deed in
                defer { deed = nil }
                return deed
            }
            try deed?()
            return keys.symmetricKeys(for: ids)
        }
    }

    @Test("a reader sees the old or the new state while the keyring gets a new unlock key")
    func openingMeanwhile() throws {
        let box = try KeyringBox(keys: ["one"])
        let protector: @Sendable () throws -> Void = {
            _ = try Keyring.protect(at: box.path, renewing: true, unlocking: box.unlocker, with: [.key(testKey(1))])
        }
        #expect(try box.states(Intruder(box.unlocker, protector)) == ["one current"])
        let unlocking = Intruder(box.unlocker, protector)
        let made = try Keyring.change(at: box.path, unlocking: unlocking) { change in
            try change.generate(named: try #require(KeyName("two")), created: Timestamp(seconds: 0))
        }
        #expect(made.result.state == .current)
        #expect(try box.states() == ["one retired", "two current"])
        // A key that was made in between must not be lost.
        let generator = Intruder(box.unlocker) { try box.generate("three") }
        _ = try Keyring.change(at: box.path, unlocking: generator) { change in
            try change.use(try #require(change.entry("one")).name)
        }
        #expect(try box.states() == ["one current", "two retired", "three retired"])
    }

    @Test("an unlock key that is replaced and wiped meanwhile does not count as unprotected")
    func lookingMeanwhile() throws {
        let box = try KeyringBox(keys: ["one"])
        var calls = SystemCalls.withoutWaiting
        let open = calls.openAt
        let hasCome = Mutex(false)
        calls.openAt = { folder, path, flags, mode in
            let file = open(folder, path, flags, mode)
            guard path.string.hasSuffix(".key"), !hasCome.withLock({ $0 }) else { return file }
            hasCome.withLock { $0 = true }
            do {
                try SystemCalls.$current.withValue(.withoutWaiting) {
                    _ = try Keyring.protect(
                        at: box.path, renewing: true, unlocking: box.unlocker, with: [.key(testKey(1))])
                }
            } catch {
                Issue.record(error)
            }
            return file
        }
        let isProtected = try SystemCalls.$current.withValue(calls) { try Keyring.isProtected(at: box.path) }
        #expect(isProtected && hasCome.withLock { $0 })
        // A caller who took the keyring for unprotected must not lock out those who unlock it.
        let files = try ["keyring", "keyring.key"].map(box.folder.read)
        let error = #expect(throws: VaultError.self) {
            try Keyring.protect(at: box.path, renewing: false, unlocking: box.unlocker, with: [.key(testKey(2))])
        }
        #expect(error?.code == .keyringProtected)
        #expect(try ["keyring", "keyring.key"].map(box.folder.read) == files)
    }

    @Test func aLockThatIsHeldElsewhere() throws {
        let box = try KeyringBox(keys: ["one"])
        let file = try FileDescriptor.open(box.folder["keyring.key"], .readOnly)
        defer { try? file.close() }
        var calls = SystemCalls()
        calls.pause = { _ in 0 }
        #expect(calls.lock(file.rawValue, 2) == 0)
        let error = SystemCalls.$current.withValue(calls) { () -> VaultError? in
            do {
                try box.generate("two")
                return nil
            } catch {
                return error as? VaultError
            }
        }
        #expect(error?.code == .inUse)
    }
}
