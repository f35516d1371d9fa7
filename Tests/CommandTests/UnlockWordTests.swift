import Testing

/// A word that cannot unlock a keyring is refused before a key, a passphrase, an input or the keyring is read.
@Suite struct UnlockWordTests {
    private static let place = "VAULTFILE_KEYRING=ring.vault"

    /// All verbs that take --unlock. None of their files exists.
    static let lines = [
        "encrypt --key-command KEY a", "decrypt --key-command KEY a.vault", "verify --key-command KEY a.vault",
        "inspect --key-command KEY a.vault", "cat --key-command KEY a.vault",
        "recover --key-command KEY -o r a.vault", "edit --key-command KEY a.vault",
        "rotate --key-command KEY --add command:KEY a.vault", "repair --key-command KEY a.vault",
        "reencrypt --key-command KEY a.vault", "ls --files-from list", "key backup bk", "key restore bk",
        "key generate", "key destroy one", "key list", "key use one", "key retire one",
        "key show --key-command KEY", "key unlock", "key passphrase --add command:KEY", "key import --key-command KEY",
        "key export one -o y",
    ]

    private static func arguments(_ line: String) -> [[UInt8]] {
        line.split(separator: " ").map { Array($0.replacing("KEY", with: "touch ran; false").utf8) }
    }

    @Test("every verb refuses the value of VAULTFILE_UNLOCK first", arguments: lines)
    func variable(_ line: String) throws {
        let box = try Sandbox()
        let run = try box.run(
            Self.arguments(line), environment: [Self.place, "VAULTFILE_UNLOCK=passphrase:hidden"])
        #expect(run.ending == .status(64), "\(run.errors)")
        #expect(run.errors.hasPrefix("vaultfile: VAULTFILE_UNLOCK: takes no passphrase"), "\(run.errors)")
        #expect(!run.errors.contains("hidden") && run.errors.contains("hint: file:PATH"))
        #expect(try box.names() == [])
    }

    @Test(
        "other words are refused too",
        arguments: [
            ("file:", "has no value after its colon"), ("work", "names a key of the keyring, which cannot unlock"),
            ("0123456789abcdef", "names a key of the keyring, which cannot unlock"),
            ("others", "others names slots"), ("nonsense:hidden", "has an unknown word before the colon"),
            ("passphrase-fd:x", "has no descriptor's number"), ("a b", "is neither a name for a key nor an ID"),
        ])
    func words(_ word: String, _ reason: String) throws {
        let box = try Sandbox()
        let line = Self.arguments("verify --key-command KEY a.vault")
        let named = try box.run(
            [line[0]] + [Array("--unlock".utf8), Array(word.utf8)] + line[1...], environment: [Self.place])
        let inherited = try box.run(line, environment: [Self.place, "VAULTFILE_UNLOCK=\(word)"])
        for (run, option) in [(named, "--unlock"), (inherited, "VAULTFILE_UNLOCK")] {
            #expect(run.ending == .status(64), "\(run.errors)")
            #expect(run.errors.hasPrefix("vaultfile: \(option): \(reason)"), "\(run.errors)")
            #expect(!run.errors.contains("hidden"))
        }
        #expect(try box.names() == [])
    }

    @Test("a secret that does not unlock the keyring is named by its source") func mismatch() throws {
        let box = try Sandbox()
        for name in ["right", "wrong"] { try box.makeKey(name) }
        #expect(
            try box.run("key", "generate", "--unlock", "file:right", environment: [Self.place]).ending == .status(0))
        let named = try box.run("key", "list", "--unlock", "file:wrong", environment: [Self.place])
        #expect(named.ending == .status(77), "\(named.errors)")
        #expect(named.errors == "vaultfile: ring.vault.key: what --unlock names does not unlock the keyring\n")
        let inherited = try box.run("key", "list", environment: [Self.place, "VAULTFILE_UNLOCK=file:wrong"])
        #expect(inherited.ending == .status(77))
        #expect(inherited.errors.contains(": what VAULTFILE_UNLOCK names does not unlock the keyring\n"))
        #expect(inherited.errors.contains("hint: VAULTFILE_UNLOCK is set, so the passphrase was not asked for"))
    }
}
