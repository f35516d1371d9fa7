import CPlatform
import Synchronization
import SystemPackage
import Testing
import VaultFile
import VaultStream
import VaultTestSupport

/// Counts how often it is asked for keys.
private final class Asked: KeyProvider {
    private let keys: KeySet
    private let number = Mutex(0)

    init(_ keys: KeySet = KeySet(keys: [testKey(1)])) {
        self.keys = keys
    }

    var count: Int { number.withLock { $0 } }

    func symmetricKeys(for ids: [KeyID]) throws -> [SymmetricKey] {
        number.withLock { $0 += 1 }
        return keys.symmetricKeys(for: ids)
    }
}

extension KeyringBox {
    fileprivate func unlock(_ keys: any KeyProvider = KeySet(keys: [testKey(1)])) throws {
        try Keyring.unlock(at: path, for: .seconds(60), unlocking: keys)
    }

    /// Whether the keyring opens, and how often its secrets are asked for.
    fileprivate func asks(for keys: KeySet = KeySet(keys: [testKey(1)])) throws -> Int {
        let asked = Asked(keys)
        _ = try Keyring.open(at: path, unlocking: asked, allowsUnlocked: true)
        return asked.count
    }
}

/// A keyring that is unlocked for a time. The kernel is a model here; `UnlockTests` has the real one.
@Suite struct KeyringUnlockingTests {
    @Test("an unlocked keyring opens and changes without its secrets") func unlocked() throws {
        let model = ModelKeys()
        try model.run {
            let box = try KeyringBox(keys: ["one"])
            #expect(try box.asks() == 1, "it is locked")
            try box.unlock()
            #expect(try box.asks() == 0)
            let asked = Asked()
            _ = try Keyring.change(at: box.path, unlocking: asked, allowsUnlocked: true) { change in
                _ = try change.generate(named: #require(KeyName("two")), created: Timestamp(seconds: 0))
            }
            #expect(asked.count == 0)
            let keyring = try Keyring.open(at: box.path, unlocking: KeySet(), allowsUnlocked: true)
            #expect(keyring.entries.count == 2 && keyring.isProtected)
            #expect(throws: VaultError.self, "only callers that say so use it") { try box.open(KeySet()) }
        }
        let kept = try #require(model.kept.first)
        #expect(model.kept.count == 1 && kept.seconds == 60 && kept.isShared)
        #expect(kept.name.hasPrefix("vaultfile:\(geteuid()):"))
    }

    @Test("lock ends it") func locked() throws {
        let model = ModelKeys()
        try model.run {
            let box = try KeyringBox(keys: ["one"])
            try box.unlock()
            #expect(try Keyring.lock(at: box.path))
            #expect(model.keys.withLock { $0.isEmpty })
            #expect(try box.asks() == 1)
            #expect(try !Keyring.lock(at: box.path))
        }
    }

    @Test("two keyrings do not mix, and one reached by another path is the same") func places() throws {
        try ModelKeys().run {
            let (box, other) = (try KeyringBox(keys: ["one"]), try KeyringBox(keys: ["one"]))
            try box.unlock()
            #expect(try other.asks() == 1)
            try other.unlock()
            #expect(try box.asks() == 0 && other.asks() == 0)
            #expect(try Keyring.lock(at: other.path))
            #expect(try box.asks() == 0 && other.asks() == 1)
            let detour = FilePath(box.folder.path.string + "/../" + (box.folder.path.lastComponent?.string ?? ""))
            let asked = Asked()
            _ = try Keyring.open(at: detour.appending("keyring"), unlocking: asked, allowsUnlocked: true)
            #expect(asked.count == 0)
        }
    }

    @Test("after a change of what unlocks the keyring, its secrets are asked for") func changedUnlockers() throws {
        let model = ModelKeys()
        try model.run {
            let box = try KeyringBox(keys: ["one"])
            try box.unlock()
            _ = try Keyring.changeUnlockers(
                at: box.path, KeyChange(adding: [.key(testKey(2))]), unlocking: box.unlocker)
            #expect(model.kept.isEmpty)
            try box.unlock()
            _ = try Keyring.protect(at: box.path, renewing: true, unlocking: box.unlocker, with: [.key(testKey(1))])
            #expect(model.kept.isEmpty)
            try box.unlock()
            let asked = Asked()
            let traces = try Keyring.change(at: box.path, unlocking: asked, allowsUnlocked: true) { change in
                try change.destroy(try #require(change.entry("one")).name)
            }.traces
            #expect(asked.count > 0 && traces.exchange == .done, "an exchange of the unlock key needs the secrets")
            #expect(model.kept.isEmpty)
        }
    }

    @Test("a kept key is dropped if another program has put other files there") func replacedFiles() throws {
        let model = ModelKeys()
        try model.run {
            let box = try KeyringBox(keys: ["one"])
            let before = try box.folder.read("keyring.key")
            _ = try Keyring.changeUnlockers(
                at: box.path, KeyChange(adding: [.key(testKey(2))]), unlocking: box.unlocker)
            try box.unlock()
            try box.folder.write(before, to: "keyring.key")
            #expect(try box.asks() == 1, "an older unlock file with the same unlock key")
            #expect(model.kept.isEmpty)

            try box.unlock()
            let other = try KeyringBox(keys: ["other"])
            for name in ["keyring", "keyring.key"] { try box.folder.write(other.folder.read(name), to: name) }
            #expect(try box.asks() == 1, "another keyring")
            #expect(model.kept.isEmpty)

            try box.unlock()
            let third = try KeyringBox(keys: ["third"])
            try box.folder.write(third.folder.read("keyring"), to: "keyring")
            #expect(throws: Keyring.mismatch, "only the keyring file is another one") { try box.asks() }
            #expect(model.kept.isEmpty)
        }
    }

    @Test("an unprotected keyring is not put in the place of an unlocked one") func unprotectedInstead() throws {
        let model = ModelKeys()
        try model.run {
            let box = try KeyringBox(keys: ["one"])
            try box.unlock()
            let bare = try KeyringBox(protected: false, keys: ["bare"])
            for name in ["keyring", "keyring.key"] { try box.folder.write(bare.folder.read(name), to: name) }
            #expect(throws: Keyring.unprotected) { try box.asks() }
            #expect(model.kept.isEmpty)
            #expect(throws: Keyring.unprotected) { try box.unlock() }
        }
    }

    @Test("bytes that are not an unlock key are not used", arguments: [[], [UInt8](repeating: 7, count: 64)])
    func foreignBytes(_ bytes: [UInt8]) throws {
        let model = ModelKeys()
        try model.run {
            let box = try KeyringBox(keys: ["one"])
            try box.unlock()
            model.keys.withLock { keys in for number in keys.keys { keys[number]?.bytes = bytes } }
            #expect(try box.asks() == 1)
        }
    }

    @Test(
        "where the system keeps no keys, nothing is asked to unlock, and everything to open",
        arguments: [
            Errno.noFunction, .notPermitted, .permissionDenied,
        ]) func refusals(_ error: Errno) throws
    {
        try ModelKeys(failing: ["findKey": error, "addKey": error]).run {
            let box = try KeyringBox(keys: ["one"])
            let asked = Asked()
            let thrown = #expect(throws: VaultError.self) { try box.unlock(asked) }
            #expect(thrown?.code == .keyStoreUnavailable && thrown?.systemError == error && asked.count == 0)
            #expect(try box.asks() == 1)
            let failed = #expect(throws: VaultError.self) { try Keyring.lock(at: box.path) }
            #expect(failed?.code == .keyStoreUnavailable)
        }
        try ModelKeys(failing: ["addKey": error]).run {
            let thrown = #expect(throws: VaultError.self) { try KeyringBox(keys: ["one"]).unlock() }
            #expect(thrown?.code == .keyStoreUnavailable)
        }
    }

    @Test("if a call fails, no key is left", arguments: ["addKey", "expireKey", "shareKey", "linkKey"])
    func failures(_ call: String) throws {
        let model = ModelKeys(failing: [call: .diskQuotaExceeded])
        try model.run {
            let thrown = #expect(throws: VaultError.self) { try KeyringBox(keys: ["one"]).unlock() }
            #expect(thrown?.code == .outputFailed && thrown?.systemError == .diskQuotaExceeded)
        }
        #expect(model.keys.withLock { $0.isEmpty })
    }

    @Test("lock says so if the key stays, and one of its two calls is enough") func stubborn() throws {
        for (failures, isLocked) in [
            (["unlinkKey"], true), (["invalidateKey"], true), (["unlinkKey", "invalidateKey"], false),
        ] {
            let model = ModelKeys(failing: Dictionary(uniqueKeysWithValues: failures.map { ($0, Errno.ioError) }))
            try model.run {
                let box = try KeyringBox(keys: ["one"])
                try box.unlock()
                if isLocked {
                    #expect(try Keyring.lock(at: box.path))
                    #expect(try box.asks() == 1)
                } else {
                    let thrown = #expect(throws: VaultError.self) { try Keyring.lock(at: box.path) }
                    #expect(thrown?.code == .outputFailed)
                }
            }
        }
    }

    @Test(
        "if the system cannot tell, lock is an error, and opening says why it asks",
        arguments: ["findKey", "readKey"], [Errno.ioError, .diskQuotaExceeded])
    func unreadable(_ call: String, _ error: Errno) throws {
        let (model, failing) = (ModelKeys(), ModelKeys(failing: [call: error]))
        let box = try KeyringBox(keys: ["one"])
        try model.run { try box.unlock() }
        failing.keys.withLock { keys in keys = model.keys.withLock { $0 } }
        try failing.run {
            if call == "findKey" {
                let thrown = #expect(throws: VaultError.self) { try Keyring.lock(at: box.path) }
                #expect(thrown?.code == .inputFailed && thrown?.systemError == error)
            }
            let (opened, changed) = (Asked(), Asked())
            var said: [Errno?] = []
            _ = try Keyring.open(
                at: box.path, unlocking: opened, allowsUnlocked: true, onUnreadable: { said.append($0.systemError) })
            _ = try Keyring.change(
                at: box.path, unlocking: changed, allowsUnlocked: true, onUnreadable: { said.append($0.systemError) }
            ) { _ in }
            #expect(opened.count == 1 && changed.count == 1 && said == [error, error])
        }
    }

    @Test("an unlock file that cannot be read is said too, and one that is missing is not") func unreadableFile()
        throws
    {
        try ModelKeys().run {
            let box = try KeyringBox(keys: ["one"])
            try box.unlock()
            for (name, isSaid) in [("readAt", true), ("readLink", true), ("", false)] {
                let hasFailed = Mutex(false)
                let faults = Faults { call in
                    guard call.name == name, !hasFailed.withLock({ exchange(&$0, with: true) }) else { return nil }
                    return Errno.ioError.rawValue
                }
                var said: [Errno?] = []
                if name.isEmpty { try box.folder.remove("keyring.key") }
                faults.during {
                    _ = try? Keyring.open(
                        at: box.path, unlocking: box.unlocker, allowsUnlocked: true,
                        onUnreadable: { said.append($0.systemError) })
                }
                #expect(said == (isSaid ? [.ioError] : []), "\(name)")
            }
        }
    }

    @Test("a key that has ended is no error", arguments: [126, 127, 128]) func ended(_ number: Int32) throws {
        // ENOKEY, EKEYEXPIRED and EKEYREVOKED
        try ModelKeys(failing: ["findKey": Errno(rawValue: number)]).run {
            let box = try KeyringBox(keys: ["one"])
            #expect(try !Keyring.lock(at: box.path))
            #expect(try box.asks() == 1)
        }
    }

    @Test("a keyring is unlocked for one second to 24 hours") func times() throws {
        let model = ModelKeys()
        try model.run {
            let box = try KeyringBox(keys: ["one"])
            for time in [Duration.zero, .milliseconds(999), .seconds(-5), Keyring.longestUnlocking + .seconds(1)] {
                let thrown = #expect(throws: VaultError.self) {
                    try Keyring.unlock(at: box.path, for: time, unlocking: box.unlocker)
                }
                #expect(thrown?.code == .invalidArgument)
            }
            for time in [Duration.seconds(1), Keyring.longestUnlocking] {
                try Keyring.unlock(at: box.path, for: time, unlocking: box.unlocker)
                #expect(model.kept.map(\.seconds) == [UInt32(time.components.seconds)])
            }
        }
    }

    @Test("only the right secrets unlock, and only a whole keyring") func wrongSecrets() throws {
        let model = ModelKeys()
        try model.run {
            let box = try KeyringBox(keys: ["one"])
            let wrong = #expect(throws: VaultError.self) { try box.unlock(KeySet(keys: [testKey(9)])) }
            #expect(wrong?.code == .wrongKey)
            try box.folder.write(KeyringBox(keys: ["other"]).folder.read("keyring"), to: "keyring")
            #expect(throws: Keyring.mismatch) { try box.unlock() }
        }
        #expect(model.keys.withLock { $0.isEmpty })
    }
}
