import SystemPackage
import Testing
import VaultFile

@testable import VaultCommand

/// `key backup` and `key restore`.
@Suite struct KeyBackupTests {
    private static let unlocked = ["VAULTFILE_KEYRING=ring.vault", "VAULTFILE_UNLOCK=file:unlocker"]
    private static let files = ["ring.vault", "ring.vault.key"]
    private static let copies = ["bk/keyring.vault", "bk/keyring.vault.key"]

    private let box: Sandbox

    init() throws {
        box = try Sandbox()
        try box.makeKey("unlocker")
        try Host.makeFolder(box.path("bk"))
        try generate("first")
    }

    private func run(_ text: String...) throws -> Sandbox.Outcome {
        try box.run(text.map { Array($0.utf8) }, environment: Self.unlocked)
    }

    private func generate(_ name: String) throws {
        let made = try run("key", "generate", "--name", name)
        #expect(made.ending == .status(0), "\(made.errors)")
    }

    /// States and names of the keys.
    private func keys() throws -> [String] {
        try run("key", "list").text.split(separator: "\n").map { line in
            line.split(separator: " ").suffix(2).joined(separator: " ")
        }
    }

    private func read(_ names: [String]) throws -> [[UInt8]] { try names.map { try #require(box.bytes($0)) } }

    private func put(_ files: [[UInt8]], at names: [String]) throws {
        for (bytes, name) in zip(files, names) { try box.write(Array(name.utf8), bytes, mode: .ownerReadWrite) }
    }

    @Test("a backup is both files, opens, and brings the keyring back") func thereAndBack() throws {
        try generate("second")
        let made = try run("key", "backup", "bk")
        #expect(made.ending == .status(0) && made.text == "bk/keyring.vault: 2 keys\n", "\(made.errors)")
        #expect(try read(Self.copies) == read(Self.files))
        for name in Self.copies { #expect(try box.mode(name) == 0o600) }
        let listed = try box.run(
            "key", "list", environment: ["VAULTFILE_KEYRING=bk/keyring.vault", "VAULTFILE_UNLOCK=file:unlocker"])
        #expect(listed.ending == .status(0))
        for lost in [Self.files, [Self.files[0]], [Self.files[1]]] {
            for name in lost { try Platform.remove(box.path(name)) }
            let restored = try run("key", "restore", "bk/")
            #expect(restored.ending == .status(0) && restored.text == "ring.vault: 2 keys\n", "\(restored.errors)")
            #expect(try keys() == ["retired first", "current second"])
        }
        #expect(try box.names() == ["bk", "ring.vault", "ring.vault.key", "unlocker"])
    }

    @Test("a backup is made again, and holds no key that was destroyed") func again() throws {
        #expect(try run("key", "backup", "bk").ending == .status(0))
        try generate("second")
        #expect(try run("key", "destroy", "--yes", "first").ending == .status(0))
        let again = try run("key", "backup", "bk")
        #expect(again.ending == .status(0) && again.text.contains(": 1 key\n"), "\(again.errors)")
        #expect(try read(Self.copies) == read(Self.files))
    }

    @Test("a backup of another keyring is not replaced") func anotherKeyring() throws {
        #expect(try run("key", "backup", "bk").ending == .status(0))
        let before = try read(Self.copies)
        for name in Self.files { try Platform.remove(box.path(name)) }
        try generate("other")
        let refused = try run("key", "backup", "bk")
        #expect(refused.ending == .status(77) && refused.errors.contains("keys that would be lost: key 'first'"))
        #expect(refused.errors.contains("(consentNeeded)") && refused.errors.contains("another folder"))
        try box.makeKey("second")
        #expect(try run("key", "passphrase", "--add", "file:second", "--remove", "others").ending == .status(0))
        let strange = try box.run(
            "key", "backup", "--unlock", "file:second", "bk", environment: ["VAULTFILE_KEYRING=ring.vault"])
        #expect(strange.ending == .status(73), "\(strange.errors)")
        #expect(strange.errors.contains("bk/keyring.vault.key: there are files of a keyring that does not open"))
        #expect(try read(Self.copies) == before)
    }

    @Test("restore loses no key") func nothingIsLost() throws {
        #expect(try run("key", "backup", "bk").ending == .status(0))
        try generate("later")
        let before = try read(Self.files)
        let refused = try run("key", "restore", "bk")
        #expect(refused.ending == .status(77), "\(refused.errors)")
        #expect(refused.errors.contains("ring.vault: has keys that would be lost: key 'later' (consentNeeded)"))
        #expect(refused.errors.contains("move both of its files to another folder"))
        #expect(try read(Self.files) == before)
        // A keyring that does not open may hold other keys.
        var damaged = before
        for place in [100, damaged[1].count - 300] { damaged[1][place] ^= 1 }
        try put(damaged, at: Self.files)
        let closed = try run("key", "restore", "bk")
        #expect(closed.ending == .status(73) && closed.errors.contains("does not open"), "\(closed.errors)")
        // Nothing can be exported from it.
        #expect(closed.errors.hasSuffix("hint: move both of its files to another folder, then do this again\n"))
        #expect(try read(Self.files) == damaged)
        // An older copy is brought up to date.
        try put(try read(Self.copies), at: Self.files)
        try put(before, at: Self.copies)
        #expect(try run("key", "restore", "bk").ending == .status(0))
        #expect(try keys() == ["retired first", "current later"])
    }

    @Test("half a keyring gets its other half, and nothing is replaced") func halves() throws {
        #expect(try run("key", "backup", "bk").ending == .status(0))
        try generate("later")
        let newer = try read([Self.files[0]])
        try Platform.remove(box.path(Self.files[1]))
        #expect(try run("key", "restore", "bk").ending == .status(0))
        #expect(try read([Self.files[0]]) == newer && keys() == ["retired first", "current later"])
        // After the exchange of the unlock key, the halves do not belong together.
        #expect(try run("key", "passphrase", "--renew", "--add", "file:unlocker").ending == .status(0))
        let after = try read(Self.files)
        for (lost, other) in [(0, 1), (1, 0)] {
            try put(after, at: Self.files)
            try Platform.remove(box.path(Self.files[lost]))
            let refused = try run("key", "restore", "bk")
            #expect(refused.ending == .status(73) && refused.errors.contains("do not belong together"))
            #expect(try read([Self.files[other]]) == [after[other]])
            #expect(box.bytes(Self.files[lost]) == nil)
        }
    }

    @Test("a damaged backup is named, and is not restored") func damagedBackup() throws {
        #expect(try run("key", "backup", "bk").ending == .status(0))
        let whole = try read(Self.copies)
        for name in Self.files { try Platform.remove(box.path(name)) }
        for (number, name) in Self.copies.enumerated() {
            var bytes = whole
            let middle = bytes[number].count / 2
            for place in middle - 300..<middle + 300 { bytes[number][place] ^= 1 }
            try put(bytes, at: Self.copies)
            let refused = try run("key", "restore", "bk")
            #expect(refused.ending == .status(65) && refused.errors.contains("\(name): "), "\(refused.errors)")
            #expect(try box.names() == ["bk", "unlocker"])
        }
        try put(whole, at: Self.copies)
        try Platform.remove(box.path(Self.copies[1]))
        let half = try run("key", "restore", "bk")
        #expect(half.ending == .status(78) && half.errors.contains("bk/keyring.vault.key: is missing"))
        #expect(try run("key", "restore", "none").ending == .status(66))
        let nowhere = try run("key", "backup", "none")
        #expect(nowhere.ending == .status(73) && nowhere.errors.contains("hint: make the folder first"))
        #expect(try run("key", "backup", "bk").ending == .status(78), "there is no keyring")
    }

    @Test("a full disk, and the keyring's own folder") func targets() throws {
        let full = try box.run(
            ["key", "backup", "bk"].map { Array($0.utf8) }, prelude: "trap '' XFSZ && ulimit -f 0",
            environment: Self.unlocked)
        // The limit is for the file with the messages too.
        #expect(full.ending == .status(74))
        #expect(box.bytes(Self.copies[0]) == nil && box.bytes(Self.copies[1]) == nil)
        let own = try box.run(
            "key", "backup", ".", environment: ["VAULTFILE_KEYRING=keyring.vault", "VAULTFILE_UNLOCK=file:unlocker"])
        #expect(own.ending == .status(78), "there is no keyring of that name")
        for (from, to) in zip(Self.files, ["keyring.vault", "keyring.vault.key"]) {
            try put(try read([from]), at: [to])
        }
        let itself = try box.run(
            "key", "backup", ".", environment: ["VAULTFILE_KEYRING=keyring.vault", "VAULTFILE_UNLOCK=file:unlocker"])
        #expect(itself.ending == .status(64) && itself.errors.contains("onto itself"), "\(itself.errors)")
    }

    @Test("a keyring that nothing protects needs the word") func unprotected() throws {
        let place = ["VAULTFILE_KEYRING=bare"]
        #expect(try box.run("key", "generate", "--unprotected", environment: place).ending == .status(0))
        #expect(try box.run("key", "backup", "bk", environment: place).ending == .status(78))
        let word = place + ["VAULTFILE_UNLOCK=unprotected"]
        #expect(try box.run("key", "backup", "bk", environment: word).ending == .status(0))
        for name in ["bare", "bare.key"] { try Platform.remove(box.path(name)) }
        #expect(try box.run("key", "restore", "bk", environment: word).ending == .status(0))
        #expect(try box.run("key", "list", environment: word).ending == .status(0))
    }

    @Test func json() throws {
        let schema = try JSONSchema()
        for (verb, path, output) in [
            ("backup", "ring.vault", "bk/keyring.vault"), ("restore", "bk/keyring.vault", "ring.vault"),
        ] {
            let done = try run("key", verb, "--json", "bk")
            let value = try JSON(parsing: String(done.text.dropLast()))
            #expect(schema.violations(of: value) == [])
            guard case .object(let members) = value else { throw Errno.invalidArgument }
            #expect(members["path"] == .string(path) && members["output"] == .string(output))
            #expect(members["keyCount"] == .number(1) && members["verb"] == .string("key \(verb)"))
        }
    }
}
