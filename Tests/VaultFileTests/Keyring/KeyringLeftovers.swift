import SystemPackage
import Testing
import VaultFile
import VaultStream
import VaultTestSupport

/// Files that a killed change left beside a keyring, and files that others put there (KEYRING-14).
@Suite struct KeyringLeftovers {
    private static let names = ["keyring", "keyring.key"]

    private static func temporary(_ name: String) -> String {
        OutputFile.reservedName(for: FilePath(name)).string
    }

    /// Changes of all kinds, of a keyring with the key "one".
    private static let changes: [@Sendable (KeyringBox) throws -> Void] = [
        { try $0.generate("two") },
        // A call that changes nothing.
        { try $0.change { _ in } },
        { _ = try $0.destroy("one") },
        { _ = try Keyring.protect(at: $0.path, renewing: true, unlocking: $0.unlocker, with: [.key(testKey(1))]) },
        { box in
            _ = try Keyring.changeUnlockers(
                at: box.path, KeyChange(adding: [.key(testKey(2))]), unlocking: box.unlocker)
        },
    ]

    @Test("every change overwrites and removes it", arguments: 0..<changes.count) func erased(_ number: Int) throws {
        let box = try KeyringBox(keys: ["one"])
        var files: [FileDescriptor] = []
        defer { for file in files { try? file.close() } }
        for name in Self.names {
            let path = try box.folder.write(try box.folder.read(name), to: Self.temporary(name))
            files.append(try FileDescriptor.open(path, .readOnly))
        }
        try Self.changes[number](box)
        #expect(try box.folder.names == Self.names)
        for file in files {
            var bytes = [UInt8](repeating: 1, count: 100_000)
            var span = bytes.mutableSpan
            let count = try file.readSome(at: 0, into: &span)
            #expect(count > 100 && bytes.prefix(count).allSatisfy { $0 == 0 })
        }
    }

    @Test("the temporary names are those of KEYRING-14") func temporaryNames() {
        #expect(Self.temporary("keyring.vault") == ".vaultfile-7cf77a995b2a2549ee7461f3b0775068")
        #expect(Self.temporary("keyring.vault.key") == ".vaultfile-e28938fbb7f3acd05e3c8d590c36df4f")
    }

    @Test("a change of unlockers also reports what is left of earlier files") func toldWhileUnlockersChange() throws {
        let box = try KeyringBox(keys: ["one"])
        for name in Self.names { try box.folder.write(try box.folder.read(name), to: Self.temporary(name)) }
        let change = KeyChange(adding: [.key(testKey(2))])
        let traces = try Keyring.changeUnlockers(at: box.path, change, unlocking: box.unlocker).traces
        #expect(traces.keyring == .overwritten && traces.unlockKey == .overwritten && traces.exchange == .notNeeded)
        // Without a keyring there is only this file.
        let alone = try KeyringBox()
        try alone.folder.write([1, 2, 3], to: Self.temporary("keyring.key"))
        let left = try Keyring.changeUnlockers(at: alone.path, change, unlocking: alone.unlocker).traces
        #expect(left.keyring == .notNeeded && left.unlockKey == .overwritten)
        #expect(try alone.folder.names == ["keyring.key"])
    }

    @Test("files of other programs with temporary names stay") func others() throws {
        let box = try KeyringBox(keys: ["one"])
        let bytes = try box.folder.read("keyring")
        // The temporary names of an output, of a replacement of another file, and of a keyring with another name.
        let others = [".vaultfile-0123456789abcdef", Self.temporary("container"), Self.temporary("keyring2")].sorted()
        for name in others { try box.folder.write(bytes, to: name) }
        for change in Self.changes { try change(box) }
        for name in others { #expect(try box.folder.read(name) == bytes) }
        #expect(try box.folder.names == others + Self.names)
    }

    @Test("a file that another program has locked is not changed, and that is reported") func locked() throws {
        let box = try KeyringBox(keys: ["one"])
        let bytes = try box.folder.read("keyring")
        let name = Self.temporary("keyring")
        let file = try FileDescriptor.open(try box.folder.write(bytes, to: name), .readOnly)
        defer { try? file.close() }
        let (exclusive, atOnce): (Int32, Int32) = (2, 4)
        #expect(SystemCalls().lock(file.rawValue, exclusive | atOnce) == 0)
        var calls = SystemCalls()
        calls.pause = { _ in 0 }
        let traces = try SystemCalls.$current.withValue(calls) { try box.destroy("one") }
        guard case .failed(let error) = traces.keyring else {
            Issue.record("\(traces)")
            return
        }
        #expect(error.code == .inUse)
        #expect(try box.folder.read(name) == bytes)
        #expect(try box.states() == ["one destroyed"])
    }

    @Test("a file that no change can have left is not touched, and does not prevent a change")
    func planted() throws {
        let box = try KeyringBox(keys: ["one"])
        let name = Self.temporary("keyring")
        let here: Int32 = -100
        let other = try box.folder.write([1, 2, 3], to: "other")
        // A link to another file.
        let link = box.folder[name]
        try box.folder.makeLink(name, to: "other")
        guard case .failed = try box.destroy("one").keyring else {
            Issue.record("a link was taken for a leftover")
            return
        }
        #expect(SystemCalls().unlinkAt(here, link) == 0)
        // A second name of another file: the name goes, the file stays.
        #expect(SystemCalls().linkAt(here, other, here, link, 0) == 0)
        #expect(try box.destroy("one").keyring == .linkedElsewhere)
        #expect(try box.folder.read("other") == [1, 2, 3])
        // A file that is too long for a keyring.
        try box.folder.write([UInt8](repeating: 1, count: 4 << 20 + 1), to: name)
        guard case .failed = try box.destroy("one").keyring else {
            Issue.record("a long file was taken for a leftover")
            return
        }
        #expect(try box.folder.names == ([name, "other"] + Self.names).sorted())
    }
}
