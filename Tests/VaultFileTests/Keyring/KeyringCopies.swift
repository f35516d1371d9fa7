import SystemPackage
import Testing
import VaultFile
import VaultTestSupport

/// Copies of a keyring, and damage that its two files survive.
@Suite struct KeyringCopies {
    private func read(_ box: KeyringBox, _ name: String = "keyring") throws -> [[UInt8]] {
        try [name, "\(name).key"].map { try box.folder.read($0) }
    }

    @Test(arguments: [true, false]) func thereAndBack(_ isProtected: Bool) throws {
        let box = try KeyringBox(protected: isProtected, keys: ["one", "two"])
        let before = try read(box)
        func copy(_ from: String, _ to: String) throws -> [KeyringEntry] {
            try Keyring.copy(
                from: box.folder[from], to: box.folder[to], unlocking: box.unlocker, allowsUnprotected: !isProtected
            ).result.entries
        }
        #expect(try copy("keyring", "copy") == box.open().entries)
        #expect(try read(box, "copy")[0] == before[0])
        try box.generate("three")
        let lost = #expect(throws: VaultError.self) { try copy("copy", "keyring") }
        #expect(lost?.code == .consentNeeded)
        #expect(try copy("keyring", "copy").count == 3)
        #expect(try copy("copy", "keyring").count == 3)
        #expect(try box.folder.names == ["copy", "copy.key", "keyring", "keyring.key"])
    }

    @Test("the caller decides whether keys may be lost, and destroyed ones are none") func losses() throws {
        let box = try KeyringBox(keys: ["one", "two"])
        _ = try Keyring.copy(from: box.path, to: box.folder["copy"], unlocking: box.unlocker)
        _ = try box.destroy("one")
        var named: [String] = []
        func copy(_ from: FilePath, _ to: FilePath) throws -> Keyring.Traces {
            try Keyring.copy(from: from, to: to, unlocking: box.unlocker) { lost, source in
                named += lost.map { "\($0.name)" }
                #expect(source.entries.count == 2)
            }.traces
        }
        let traces = try copy(box.path, box.folder["copy"])
        #expect(named == ["one"] && traces.keyring == .overwritten && traces.unlockKey == .overwritten)
        #expect(
            try Keyring.open(at: box.folder["copy"], unlocking: box.unlocker).entries.map(\.state.name) == [
                "destroyed", "current",
            ])
        named = []
        _ = try copy(box.folder["copy"], box.path)
        #expect(named.isEmpty)
    }

    @Test("a keyring is not copied onto itself, also under another name") func itself() throws {
        let box = try KeyringBox(keys: ["one"])
        let before = try read(box)
        for name in ["keyring", "link"] {
            if name == "link" {
                try box.folder.makeLink("link", to: "keyring")
                try box.folder.makeLink("link.key", to: "keyring.key")
            }
            let error = #expect(throws: VaultError.self) {
                try Keyring.copy(from: box.path, to: box.folder[name], unlocking: box.unlocker)
            }
            #expect(error?.code == .invalidArgument)
        }
        #expect(try read(box) == before)
    }

    @Test("an error says which of the two files it is about") func subjects() throws {
        for (name, isAboutUnlockKey) in [("keyring", false), ("keyring.key", true)] {
            let box = try KeyringBox(keys: ["one"])
            var bytes = try box.folder.read(name)
            for place in bytes.count / 2 - 200..<bytes.count / 2 + 200 { bytes[place] ^= 1 }
            try box.folder.write(bytes, to: name)
            let error = #expect(throws: VaultError.self) { try box.open() }
            #expect(error?.isAboutUnlockKey == isAboutUnlockKey, "\(String(describing: error))")
        }
    }

    @Test("damaged header copies are reported, and the next change makes them whole", arguments: [100, -200])
    func health(_ place: Int) throws {
        let box = try KeyringBox(keys: ["one"])
        let (before, whole) = (try box.open(), try box.folder.read("keyring.key"))
        #expect(before.health == .intact && before.unlockKeyHealth == .intact)
        for name in ["keyring", "keyring.key"] {
            var bytes = try box.folder.read(name)
            bytes[place > 0 ? place : bytes.count + place] ^= 1
            try box.folder.write(bytes, to: name)
        }
        let expected: Health = place > 0 ? .frontDamaged : .tailDamaged
        let damaged = try box.open()
        #expect(damaged.health == expected && damaged.unlockKeyHealth == expected)
        let files = try read(box)
        let refused = try StoredContainer.code {
            _ = try Keyring.change(at: box.path, unlocking: box.unlocker) { try $0.use(testKey(9).id) }
        }
        #expect(refused == .noSuchKey)
        #expect(try read(box) == files)
        let changed = try Keyring.change(at: box.path, unlocking: box.unlocker) { _ in }
        #expect(changed.health == expected && changed.unlockKeyHealth == expected)
        let after = try box.open()
        #expect(after.health == .intact && after.unlockKeyHealth == .intact && after.entries == before.entries)
        #expect(try box.folder.read("keyring.key") == whole)
    }

    @Test("both files are made at once, or none") func made() throws {
        let folder = try TemporaryFolder()
        let (path, name) = (folder["keyring"], try #require(KeyName("one")))
        func make(_ unlockers: [Recipient], unprotected: Bool = false) throws -> VaultError.Code? {
            try StoredContainer.code {
                _ = try Keyring.create(at: path, for: unlockers, unprotected: unprotected) {
                    try $0.generate(named: name, created: .now)
                }
            }
        }
        #expect(try make([]) == .lastSlot)
        #expect(try make([.key(testKey(1))], unprotected: true) == .invalidArgument)
        #expect(throws: VaultError.self) {
            try Keyring.create(at: path, for: [.key(testKey(1))]) { try $0.destroy(testKey(2).id) }
        }
        #expect(try folder.names.isEmpty)
        #expect(try make([.key(testKey(1))]) == nil)
        #expect(try Keyring.open(at: path, unlocking: KeySet(keys: [testKey(1)])).entries.count == 1)
        #expect(try make([.key(testKey(1))]) == .outputExists)
        // An unlock key alone may be of a keyring that was lost.
        let alone = folder["alone"]
        try Keyring.makeUnlockKey(at: alone, for: [.key(testKey(1))])
        let refused = #expect(throws: VaultError.self) {
            try Keyring.create(at: alone, for: [.key(testKey(1))]) { _ in }
        }
        #expect(refused?.code == .outputExists && refused?.isAboutUnlockKey == true)
        #expect(try folder.names == ["alone.key", "keyring", "keyring.key"])
    }
}
