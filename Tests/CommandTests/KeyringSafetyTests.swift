import SystemPackage
import Testing
import VaultFile

@testable import VaultCommand

/// What the command reports about an unusual keyring, and about old data that a change could not destroy.
@Suite struct KeyringSafetyTests {
    private static let place = ["VAULTFILE_KEYRING=ring.vault"]
    private static let unlocked = place + ["VAULTFILE_UNLOCK=file:unlocker"]
    private static let files = ["ring.vault", "ring.vault.key"]
    private static let unprotected = place + ["VAULTFILE_UNLOCK=unprotected"]

    /// A folder with a file to encrypt, a key file that unlocks the keyring, and a keyring with these keys.
    private func prepared(keys: [String] = [], environment: [String] = unlocked) throws -> Sandbox {
        let box = try Sandbox()
        try box.makeKey("unlocker")
        try box.write("a", "contents")
        for name in keys {
            let made = try box.run(
                words(["key", "generate"] + (environment == Self.unprotected ? ["--unprotected"] : []))
                    + words(["--name", name]), environment: environment)
            #expect(made.ending == .status(0), "\(made.errors)")
        }
        return box
    }

    private func words(_ text: [String]) -> [[UInt8]] { text.map { Array($0.utf8) } }

    private func put(_ bytes: [UInt8]?, at name: String, _ box: Sandbox) throws {
        try box.write(Array(name.utf8), try #require(bytes), mode: .ownerReadWrite)
    }

    // MARK: Unprotected keyrings

    @Test("a keyring that nothing protects is used only if that is said") func unprotected() throws {
        let box = try prepared(keys: ["first"], environment: Self.unprotected)
        let uses = [
            ["encrypt", "a"], ["verify", "a.vault"], ["key", "list"], ["key", "generate", "--name", "second"],
            ["rotate", "a.vault"], ["reencrypt", "--remove", "others", "a.vault"], ["decrypt", "-o", "-", "a.vault"],
            ["key", "export", "second", "-o", "-"], ["key", "destroy", "first", "--yes"],
        ]
        for arguments in uses {
            let before = Self.files.map { box.bytes($0) }
            let names = try box.names()
            let silent = try box.run(words(arguments), environment: Self.place)
            #expect(silent.ending == .status(78), "\(arguments): \(silent.errors)")
            #expect(silent.errors.hasPrefix("vaultfile: ring.vault.key: nothing protects this keyring"))
            #expect(silent.errors.contains("(keyringUnprotected)\n"))
            #expect(silent.errors.contains("--unlock unprotected, or set VAULTFILE_UNLOCK=unprotected"))
            #expect(try Self.files.map { box.bytes($0) } == before && box.names() == names)
            let said = try box.run(words(arguments), environment: Self.unprotected)
            #expect(said.ending == .status(0) && !said.errors.contains("protects"), "\(arguments): \(said.errors)")
        }
        let list = try box.run("key", "list", "--unlock", "unprotected", environment: Self.place)
        #expect(list.ending == .status(0) && list.errors.isEmpty)
        #expect(try box.run("key", "generate", "--unprotected", environment: Self.place).ending == .status(0))
        try Host.changeMode(box.path("ring.vault.key"), to: [.ownerReadWrite, .otherRead])
        let warned = try box.run("key", "list", "-q", environment: Self.unprotected)
        #expect(warned.ending == .status(0) && warned.errors.contains("ring.vault.key: warning: others can read it"))
    }

    @Test("a keyring that becomes protected is not unlocked by the word any more") func protected() throws {
        let box = try prepared(keys: ["first"], environment: Self.unprotected)
        let old = box.bytes("ring.vault.key")
        // Otherwise the new passphrase would protect a keyring that someone else has put there.
        for added in ["file:unlocker", "passphrase"] {
            let silent = try box.run("key", "passphrase", "--add", added, environment: Self.place)
            #expect(silent.ending == .status(78) && silent.errors.contains("(keyringUnprotected)"), "\(silent.errors)")
        }
        #expect(box.bytes("ring.vault.key") == old)
        let protected = try box.run("key", "passphrase", "--add", "file:unlocker", environment: Self.unprotected)
        #expect(protected.ending == .status(0), "\(protected.errors)")
        #expect(try box.mode("ring.vault.key") == 0o600)
        #expect(try box.run("key", "list", environment: Self.place).ending == .status(78))
        let word = try box.run("key", "list", environment: Self.unprotected)
        #expect(word.ending == .status(78) && word.errors.contains("something protects this keyring"))
        let listed = try box.run("key", "list", environment: Self.unlocked)
        #expect(listed.text.contains("current    first") && listed.errors.isEmpty)
        try put(old, at: "ring.vault.key", box)
        #expect(try box.run("key", "list", environment: Self.unprotected).ending == .status(77))
    }

    @Test("the word goes with nothing else, makes no keyring, and is a word for --unlock only") func word() throws {
        let box = try prepared()
        let makes = try box.run("key", "generate", environment: Self.unprotected)
        #expect(makes.ending == .status(64) && makes.errors.contains("--unprotected makes"), "\(makes.errors)")
        #expect(try box.names() == ["a", "unlocker"])
        let made = try box.run(
            "key", "generate", "--unprotected", "--unlock", "unprotected", "--name", "unprotected",
            environment: Self.unlocked)
        #expect(made.ending == .status(0), "\(made.errors)")
        let mixed = try box.run(
            "key", "list", "--unlock", "unprotected", "--unlock", "file:unlocker", environment: Self.place)
        #expect(mixed.ending == .status(64) && mixed.errors.contains("does not go with"))
        #expect(try box.run("encrypt", "-k", "unprotected", "a", environment: Self.unprotected).ending == .status(0))
    }

    @Test("a keyring that an attacker has put in place of the user's gets no new container") func redirected() throws {
        let box = try prepared(keys: ["first"])
        let planted = try prepared(keys: ["planted"], environment: Self.unprotected)
        #expect(try box.run("encrypt", "-o", "old", "a", environment: Self.unlocked).ending == .status(0))
        let old = box.bytes("old")
        for name in Self.files { try put(planted.bytes(name), at: name, box) }
        let attempts = [
            ["encrypt", "a"], ["rotate", "old"], ["reencrypt", "--remove", "others", "old"], ["key", "generate"],
            ["key", "import", "unlocker"], ["key", "use", "planted"],
            ["key", "passphrase", "--add", "file:unlocker"], ["decrypt", "-o", "-", "old"],
        ]
        for arguments in attempts {
            // The user names nothing: their keyring asks for its passphrase, and this one would not.
            let refused = try box.run(words(arguments), environment: Self.place)
            #expect(refused.ending == .status(78), "\(arguments): \(refused.errors)")
            #expect(refused.errors.contains("(keyringUnprotected)"), "\(arguments): \(refused.errors)")
        }
        #expect(try box.names() == ["a", "old"] + Self.files + ["unlocker"])
        #expect(box.bytes("old") == old)
        for name in Self.files { #expect(box.bytes(name) == planted.bytes(name)) }
    }

    @Test("one that nothing protects is not taken for the one that a secret unlocks") func downgrade() throws {
        let box = try prepared(keys: ["first"])
        let planted = try prepared(keys: ["planted"], environment: Self.unprotected)
        for name in Self.files { try put(planted.bytes(name), at: name, box) }
        let attempts = [
            ["encrypt", "a"], ["key", "list"], ["key", "generate"], ["key", "use", "planted"],
            ["key", "destroy", "--yes", "--all"], ["key", "passphrase", "--renew", "--add", "file:unlocker"],
        ]
        for arguments in attempts {
            for outcome in [
                try box.run(words(arguments), environment: Self.unlocked),
                try box.run(words(arguments + ["--unlock", "file:unlocker"]), environment: Self.place),
            ] {
                #expect(outcome.ending == .status(65), "\(arguments): \(outcome.errors)")
                #expect(outcome.errors.contains("ring.vault.key: nothing protects this keyring, although"))
                #expect(outcome.errors.contains("(keyringUnprotected)\n") && !outcome.errors.contains("warning"))
            }
        }
        #expect(try box.names() == ["a"] + Self.files + ["unlocker"])
        for name in Self.files { #expect(box.bytes(name) == planted.bytes(name)) }
    }

    @Test("--unprotected cannot be used with what is to unlock the keyring") func unprotectedAndUnlocked() throws {
        let box = try prepared()
        for (arguments, environment, other) in [
            (["--unlock", "file:unlocker"], Self.place, "--unlock"), ([], Self.unlocked, "VAULTFILE_UNLOCK"),
        ] {
            let refused = try box.run(
                words(["key", "generate", "--unprotected"] + arguments), environment: environment)
            #expect(refused.ending == .status(64) && refused.errors.contains("cannot be used with \(other)"))
        }
        #expect(try box.names() == ["a", "unlocker"])
    }

    @Test("a keyring file that is missing is not said to have never been") func lostKeyring() throws {
        let box = try prepared(keys: ["first"])
        #expect(try box.run("encrypt", "a", environment: Self.unlocked).ending == .status(0))
        try Platform.remove(box.path("ring.vault"))
        for arguments in [
            ["key", "list"], ["encrypt", "-o", "b", "a"], ["decrypt", "-o", "-", "a.vault"],
            ["rotate", "--add", "first", "a.vault"],
        ] {
            let refused = try box.run(words(arguments), environment: Self.unlocked)
            #expect(refused.ending == .status(78), "\(arguments)")
            #expect(refused.errors.contains("ring.vault: is missing, and its .key file holds none of the keys"))
            #expect(refused.errors.contains("restore both files from a backup"))
        }
    }

    @Test("a pipe in the place of the unlock key is not waited for") func pipe() throws {
        let box = try prepared(keys: ["first"])
        try Platform.remove(box.path("ring.vault.key"))
        try Host.makePipe(box.path("ring.vault.key"))
        for arguments in [
            ["key", "list"], ["key", "generate"], ["encrypt", "a"], ["key", "destroy", "--yes", "--all"],
        ] {
            let refused = try box.start(
                words(arguments), command: "exec timeout 60 \"$@\"", environment: Self.unlocked
            ).end()
            #expect(refused.ending == .status(78), "\(arguments): \(refused.errors)")
            #expect(refused.errors.contains("not a regular file"))
        }
    }

    @Test("a medium that fails is told from a file that is not there") func media() throws {
        func status(_ code: VaultError.Code, _ number: Errno?) -> VaultCommand.ExitStatus {
            VaultCommand.ExitStatus(ofSystem: VaultError(code, "test", errorNumber: number?.rawValue), missing: .noKey)
        }
        #expect(status(.inputFailed, .ioError) == .inputOutput && status(.outputFailed, .ioError) == .inputOutput)
        #expect(status(.outputFailed, .noSpace) == .inputOutput && status(.outputFailed, nil) == .inputOutput)
        #expect(status(.inputFailed, .noSuchFileOrDirectory) == .noKey && status(.inputFailed, nil) == .noKey)
        #expect(status(.inputFailed, .permissionDenied) == .noKey)
        #expect(status(.outputFailed, .readOnlyFileSystem) == .cannotCreate)
        let box = try prepared()
        // A limit on the size of files stands in for a full disk.
        let making = try box.run(
            words(["key", "generate"]), prelude: "trap '' XFSZ && ulimit -f 0", environment: Self.unlocked)
        #expect(making.ending == .status(74), "\(making.errors)")
        #expect(try box.run("key", "generate", environment: Self.unlocked).ending == .status(0))
        let before = try Self.files.map { try #require(box.bytes($0)) }
        let changing = try box.run(
            words(["key", "generate"]), prelude: "trap '' XFSZ && ulimit -f 0", environment: Self.unlocked)
        #expect(changing.ending == .status(74), "\(changing.errors)")
        #expect(Self.files.map { box.bytes($0) } == before)
    }

    // MARK: Old data that remains

    @Test("old copies are worth nothing when a key is destroyed, or that is said") func oldCopies() throws {
        let box = try prepared(keys: ["first", "second", "third"])
        let old = try Self.files.map { try #require(box.bytes($0)) }
        let alone = try box.run("key", "destroy", "first", "--yes", environment: Self.unlocked)
        #expect(alone.ending == .status(0) && alone.errors.isEmpty)
        let (keyring, key) = (box.bytes("ring.vault"), box.bytes("ring.vault.key"))
        #expect(key != old[1])
        try put(old[0], at: "ring.vault", box)
        let mismatch = try box.run("key", "list", environment: Self.unlocked)
        #expect(mismatch.ending == .status(77) && mismatch.errors.contains("do not belong together"))
        try put(keyring, at: "ring.vault", box)

        try box.makeKey("other")
        let added = try box.run("key", "passphrase", "--add", "file:other", environment: Self.unlocked)
        #expect(added.ending == .status(0))
        let several = try box.run("key", "destroy", "second", "--yes", environment: Self.unlocked)
        #expect(several.ending == .status(0))
        #expect(
            several.errors.hasPrefix(
                "vaultfile: ring.vault.key: warning: older copies of the keyring hold the destroyed keys, and open"))
        #expect(several.errors.contains("vaultfile key passphrase --renew"))
        try put(keyring, at: "ring.vault", box)
        let back = try box.run("key", "list", environment: Self.unlocked)
        #expect(back.text.contains("retired    second"))
        let renewed = try box.run(
            "key", "passphrase", "--renew", "--add", "file:other", "--unlock", "file:other", environment: Self.place)
        #expect(renewed.ending == .status(0) && renewed.errors.isEmpty)
        try put(keyring, at: "ring.vault", box)
        #expect(try box.run("key", "list", "--unlock", "file:other", environment: Self.place).ending == .status(77))
    }

    @Test("what a change of the keyring's unlockers drops is listed, and none that would shut everybody out is made")
    func dropped() throws {
        let box = try prepared(keys: ["first"])
        try box.makeKey("other")
        func run(_ text: String...) throws -> Sandbox.Outcome {
            try box.run(words(["key", "passphrase"] + text), environment: Self.unlocked)
        }
        func id(_ name: String) throws -> Substring {
            try #require(box.run("key", "show", "--key-file", name).text.split(separator: " ").first)
        }
        let last = try run("--remove", "file:unlocker")
        #expect(last.ending == .status(64) && last.errors.contains("would unlock the keyring any more (lastSlot)"))
        #expect(try run("--add", "file:other").ending == .status(0))
        let lost = try run("--remove", "file:unlocker")
        #expect(lost.ending == .status(77) && lost.errors.contains("would unlock the keyring any more (consentNeeded)"))
        #expect(lost.errors.contains("--add") && !lost.errors.contains("container"))
        let renewed = try run("--renew", "--add", "file:other")
        #expect(renewed.ending == .status(0), "\(renewed.errors)")
        #expect(
            renewed.text
                == "ring.vault: has a new key in its .key file\n"
                + "ring.vault: key \(try id("unlocker")) no longer unlocks it\n"
        )
    }

    @Test("what still needs a key is said before it is destroyed, each container counted once") func scanned() throws {
        let box = try prepared(keys: ["first"])
        for folder in ["s", "s/t"] { try Host.makeFolder(box.path(folder)) }
        for name in ["s/1.vault", "s/t/2.vault", "s/t/3.vault"] {
            #expect(try box.run("encrypt", "-o", name, "a", environment: Self.unlocked).ending == .status(0))
        }
        try Host.link(box.path("link"), to: "s")
        let scans = ["s/t", "s", "./s/", "link", "s/t"].flatMap { ["--scan", $0] }
        let done = try box.run(words(["key", "destroy", "-q", "--yes", "first"] + scans), environment: Self.unlocked)
        #expect(done.ending == .status(0), "\(done.errors)")
        #expect(
            done.errors.hasPrefix(
                "vaultfile: key 'first': warning: 3 containers scanned: 3 open with this key, 3 with this key only "
                    + "(s/t/2.vault, s/t/3.vault, s/1.vault)\n"))
    }

    @Test("other names of the old files are named") func hardLinks() throws {
        let box = try prepared(keys: ["first"])
        for name in Self.files {
            try Sandbox.shell("ln -- \"$1\" \"$1.kept\"", [Array(box.path(name).string.utf8)])
        }
        let kept = box.bytes("ring.vault.kept")
        let made = try box.run("key", "generate", environment: Self.unlocked)
        #expect(made.ending == .status(0))
        #expect(made.errors.hasPrefix("vaultfile: ring.vault: warning: its old file has other names (hard links)"))
        #expect(!made.errors.contains("ring.vault.key") && box.bytes("ring.vault.kept") == kept)
        let renewed = try box.run(
            "key", "passphrase", "--renew", "--add", "file:unlocker", environment: Self.unlocked)
        #expect(renewed.ending == .status(0))
        #expect(
            renewed.errors.hasPrefix("vaultfile: ring.vault.key: warning: its old file has other names (hard links)"))
        let next = try box.run("key", "generate", environment: Self.unlocked)
        #expect(next.ending == .status(0) && next.errors.isEmpty)
    }

    @Test("whoever knows only what unlocked it before an interrupted change learns what to do") func unfinished() throws
    {
        let box = try prepared(keys: ["first"])
        for name in ["new", "third"] { try box.makeKey(name) }
        let before = try #require(box.bytes("ring.vault.key"))
        let changed = try box.run(
            "key", "passphrase", "--add", "file:new", "--remove", "file:unlocker", environment: Self.unlocked)
        #expect(changed.ending == .status(0))
        // The tail is written first.
        let after = try #require(box.bytes("ring.vault.key"))
        try put(Array(before.prefix(4096) + after.dropFirst(4096)), at: "ring.vault.key", box)
        #expect(try box.run("key", "list", environment: Self.unlocked).ending == .status(0))
        let refused = try box.run("key", "passphrase", "--add", "file:third", environment: Self.unlocked)
        #expect(refused.ending == .status(77) && refused.errors.hasPrefix("vaultfile: ring.vault.key: "))
        #expect(
            refused.errors.contains("(rotationUnfinished)") && refused.errors.contains("hint: the keyring still opens"))
        let finished = try box.run(
            "key", "passphrase", "--add", "file:third", "--unlock", "file:new", environment: Self.place)
        #expect(finished.ending == .status(0), "\(finished.errors)")
        #expect(try box.run("key", "list", "--unlock", "file:third", environment: Self.place).ending == .status(0))
        #expect(try box.run("key", "list", environment: Self.unlocked).ending == .status(77))
    }

    @Test(
        "what VAULTFILE_UNLOCK reads is neither replaced nor removed",
        arguments: ["file:unlocker", "passphrase-file:p"])
    func unlockFiles(_ unlocking: String) throws {
        let environment = Self.place + ["VAULTFILE_UNLOCK=\(unlocking)"]
        let box = try Sandbox()
        try box.makeKey("unlocker")
        try box.write("p", "correct horse battery staple\n")
        try box.write("a", "contents")
        #expect(try box.run("key", "generate", environment: environment).ending == .status(0))
        #expect(try box.run("encrypt", "a", environment: environment).ending == .status(0))
        let name = String(try #require(unlocking.split(separator: ":").last))
        let before = try #require(box.bytes(name))
        for (words, status) in [
            (["encrypt", "--remove-source", name], Int32(64)), (["encrypt", "-f", "a", "-o", name], 73),
            (["decrypt", "-f", "a.vault", "-o", name], 73), (["recover", "-f", "a.vault", "-o", name], 73),
        ] {
            let refused = try box.run(self.words(words), environment: environment)
            #expect(refused.ending == .status(status), "\(words): \(refused.errors)")
            #expect(refused.errors.contains("holds a key of this run"), "\(refused.errors)")
            #expect(box.bytes(name) == before, "\(words)")
        }
    }

    @Test("a folder whose name cannot be made durable is an error") func folders() throws {
        guard !Host.isRoot else { return }
        let box = try prepared()
        try Host.makeFolder(box.path("home"))
        // A folder that the user cannot read cannot be synced.
        try Host.changeMode(box.path("home"), to: [.ownerWrite, .ownerExecute])
        let refused = try box.run(
            "key", "generate",
            environment: ["XDG_DATA_HOME=\(box.path("home").string)", "VAULTFILE_UNLOCK=file:unlocker"])
        try Host.changeMode(box.path("home"), to: .ownerReadWriteExecute)
        #expect(refused.ending == .status(73), "\(refused.errors)")
        #expect(box.bytes("home/vaultfile/keyring.vault.key") == nil)
    }
}
