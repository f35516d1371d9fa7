import SystemPackage
import Testing
import VaultFile

@testable import VaultCommand

extension Host {
    /// Whether the kernel keeps keys for this process.
    static let keepsKeys = (try? Keyring.lock(at: FilePath("/none"))) != nil

    #if os(Linux)
    fileprivate static let isLinux = true
    #else
    fileprivate static let isLinux = false
    #endif
}

/// `key unlock` and `key lock` with the kernel's own keys. None of these runs has a terminal: a locked keyring ends
/// with status 78.
@Suite(.enabled(if: Host.keepsKeys, "the system keeps no keys for this process")) struct UnlockTests {
    private static let place = "VAULTFILE_KEYRING=ring.vault"
    private static let unlocker = [place, "VAULTFILE_UNLOCK=file:unlocker"]

    private func words(_ text: String...) -> [[UInt8]] { text.map { Array($0.utf8) } }

    /// A folder with a keyring that the key file `unlocker` opens, and a file to encrypt. No other test's keyring is in
    /// this folder, so no other test unlocks it.
    private func prepared() throws -> Sandbox {
        let box = try Sandbox()
        try box.makeKey("unlocker")
        try box.write("a", "contents")
        let made = try box.run("key", "generate", "--name", "one", environment: Self.unlocker)
        #expect(made.ending == .status(0), "\(made.errors)")
        return box
    }

    @discardableResult
    private func unlock(_ box: Sandbox, _ options: String...) throws -> Sandbox.Outcome {
        let unlocked = try box.run(
            (["key", "unlock"] + options).map { Array($0.utf8) }, environment: Self.unlocker)
        #expect(unlocked.ending == .status(0), "\(unlocked.errors)")
        return unlocked
    }

    /// Runs a verb that no secret is named for.
    @discardableResult
    private func run(_ box: Sandbox, _ arguments: String...) throws -> Sandbox.Outcome {
        try box.run(arguments.map { Array($0.utf8) }, environment: [Self.place])
    }

    private func isUnlocked(_ box: Sandbox) throws -> Bool {
        let listed = try run(box, "key", "list")
        #expect(listed.ending == .status(listed.text.contains(" one\n") ? 0 : 78), "\(listed.errors)")
        return listed.ending == .status(0)
    }

    // MARK: Using it

    @Test("after key unlock no command asks, until key lock") func unlockOnce() throws {
        let box = try prepared()
        #expect(try !isUnlocked(box))
        #expect(try unlock(box).text == "ring.vault: is unlocked for 15 minutes\n")
        let steps = [
            ["key", "list"], ["encrypt", "a"], ["verify", "a.vault"], ["decrypt", "-o", "b", "a.vault"],
            ["key", "generate", "--name", "two"], ["rotate", "a.vault"], ["inspect", "-k", "two", "a.vault"],
            ["reencrypt", "--remove", "others", "a.vault"], ["key", "retire", "one"], ["key", "use", "one"],
            ["key", "show", "-k", "two"], ["key", "import", "--name", "three", "unlocker"], ["verify", "a.vault"],
        ]
        for step in steps {
            let done = try box.run(step.map { Array($0.utf8) }, environment: [Self.place])
            #expect(done.ending == .status(0) && done.errors.isEmpty, "\(step): \(done.errors)")
        }
        #expect(box.text("b") == "contents")
        #expect(try run(box, "inspect", "--summary", "a.vault").text.contains("; two\n"), "it shows names")
        #expect(try run(box, "key", "lock").text == "ring.vault: is locked\n")
        let locked = try run(box, "verify", "a.vault")
        #expect(locked.ending == .status(78) && locked.errors.contains("nothing else was given"))
        let again = try run(box, "key", "lock")
        #expect(again.text == "ring.vault: was not unlocked\n" && again.ending == .status(0))
    }

    @Test("backup, destroy, export, passphrase, restore and unlock ask all the same") func alwaysAsked() throws {
        let box = try prepared()
        try box.makeKey("other")
        for folder in ["backup", "new"] { try Host.makeFolder(box.path(folder)) }
        #expect(try box.run("key", "backup", "backup", environment: Self.unlocker).ending == .status(0))
        try unlock(box)
        for step in [
            ["key", "destroy", "--yes", "one"], ["key", "export", "one", "-o", "exported"],
            ["key", "passphrase", "--add", "file:other"], ["key", "unlock"], ["key", "backup", "new"],
            ["key", "restore", "backup"],
        ] {
            let refused = try box.run(step.map { Array($0.utf8) }, environment: [Self.place])
            #expect(refused.ending == .status(78), "\(step)")
            #expect(refused.errors.contains("nothing else was given"), "\(step): \(refused.errors)")
        }
        #expect(try isUnlocked(box) && box.bytes("exported") == nil)
        try run(box, "key", "lock")
    }

    @Test("--unlock comes before an unlocked keyring, and VAULTFILE_UNLOCK after it") func precedence() throws {
        let box = try prepared()
        try box.makeKey("wrong")
        try unlock(box)
        #expect(try run(box, "key", "list", "--unlock", "file:wrong").ending == .status(77))
        #expect(try run(box, "key", "list", "--unlock", "unprotected").ending != .status(0))
        let variable = try box.run(
            "key", "list", environment: [Self.place, "VAULTFILE_UNLOCK=command:touch ran; false"])
        #expect(variable.ending == .status(0) && box.bytes("ran") == nil)
        let unprotected = try box.run("key", "list", environment: [Self.place, "VAULTFILE_UNLOCK=unprotected"])
        #expect(unprotected.ending != .status(0))
        try run(box, "key", "lock")
    }

    @Test("a change of what unlocks the keyring locks it") func changedUnlockers() throws {
        let box = try prepared()
        try box.makeKey("second")
        try unlock(box)
        #expect(
            try box.run("key", "passphrase", "--add", "file:second", environment: Self.unlocker).ending == .status(0))
        #expect(try !isUnlocked(box))
        try unlock(box)
        let before = try #require(box.bytes("ring.vault.key"))
        try box.run("key", "passphrase", "--remove", "file:second", environment: Self.unlocker)
        let after = try #require(box.bytes("ring.vault.key"))
        try unlock(box)
        // Another program puts an older file there.
        try box.write(Array("ring.vault.key".utf8), before)
        #expect(try !isUnlocked(box))
        #expect(try run(box, "key", "lock").text.hasSuffix("was not unlocked\n"), "the stale key was dropped")
        try box.write(Array("ring.vault.key".utf8), after)
        try unlock(box)
        #expect(try box.run("key", "destroy", "--yes", "one", environment: Self.unlocker).ending == .status(0))
        #expect(try run(box, "key", "lock").text.hasSuffix("was not unlocked\n"))
    }

    @Test("it ends with its time") func timeOut() throws {
        let box = try prepared()
        #expect(try unlock(box, "--for", "1s").text == "ring.vault: is unlocked for 1 second\n")
        Host.pause(milliseconds: 2500)
        #expect(try !isUnlocked(box))
        #expect(try run(box, "key", "lock").text.hasSuffix("was not unlocked\n"))
        // A later unlocking replaces the time of an earlier one.
        try unlock(box, "--for", "1s")
        try unlock(box, "--for", "1m")
        Host.pause(milliseconds: 2500)
        #expect(try isUnlocked(box))
        try run(box, "key", "lock")
    }

    @Test(
        "--for takes numbers with units, up to a day",
        arguments: [
            ("90s", "90 seconds"), ("15m", "15 minutes"), ("1h", "1 hour"), ("1h30m", "90 minutes"),
            ("24h", "24 hours"),
            ("86400s", "24 hours"), ("1s", "1 second"),
        ]) func times(_ argument: String, _ words: String) throws
    {
        let time = try #require(UnlockTime(argument: argument))
        #expect(time.words == words)
        #expect(throws: Never.self) { try time.checked() }
    }

    @Test("other times are refused before anything is asked") func wrongTimes() throws {
        let box = try prepared()
        for argument in [
            "", "15", "m", "-5m", "1d", "15 m", "1h30", "1.5h", "99999999999999999999s", "9999999999999999h",
        ] {
            #expect(UnlockTime(argument: argument) == nil, "\(argument)")
            #expect(try run(box, "key", "unlock", "--for", argument).ending == .status(64), "\(argument)")
        }
        for argument in ["0s", "25h", "86401s"] {
            let refused = try run(box, "key", "unlock", "--for", argument)
            #expect(refused.ending == .status(64) && refused.errors.contains("takes 1s to 24h"), "\(argument)")
        }
    }

    @Test("JSON says until when, and whether it was unlocked") func json() throws {
        let box = try prepared()
        let schema = try JSONSchema()
        func object(_ text: String) throws -> [String: JSON] {
            let value = try JSON(parsing: String(text.dropLast()))
            #expect(schema.violations(of: value) == [], "\(text)")
            guard case .object(let members) = value else { throw Errno.invalidArgument }
            return members
        }
        let unlocked = try object(unlock(box, "--json").text)
        #expect(unlocked["verb"] == .string("key unlock") && unlocked["path"] == .string("ring.vault"))
        guard case .string(let until) = unlocked["unlockedUntil"] else { throw Errno.invalidArgument }
        #expect(until.hasPrefix("20") && until.hasSuffix("Z"))
        #expect(try object(run(box, "key", "lock", "--json").text)["wasUnlocked"] == .bool(true))
        let locked = try object(run(box, "key", "lock", "--json").text)
        #expect(locked["wasUnlocked"] == .bool(false) && locked["verb"] == .string("key lock"))
    }

    @Test("there must be a keyring, and something must protect it") func nothingToUnlock() throws {
        let box = try Sandbox()
        let none = try run(box, "key", "unlock")
        #expect(none.ending == .status(78) && none.errors.contains("there is no keyring"))
        try box.run("key", "generate", "--unprotected", environment: [Self.place])
        let unnamed = try run(box, "key", "unlock")
        #expect(unnamed.ending == .status(78) && unnamed.errors.contains("nothing protects this keyring"))
        let named = try run(box, "key", "unlock", "--unlock", "unprotected")
        #expect(named.ending == .status(64) && named.errors.contains("there is nothing to unlock"))
        let gone = try box.run("key", "lock", environment: ["VAULTFILE_KEYRING=none/ring.vault"])
        #expect(gone.ending == .status(78))
    }

    @Test("on a terminal the passphrase is asked for once") func terminal() throws {
        let box = try Sandbox()
        try box.write("passphrase", "w\u{F6}rd\n")
        let made = try box.run(
            "key", "generate", "--name", "one",
            environment: [Self.place, "VAULTFILE_UNLOCK=passphrase-file:passphrase"])
        #expect(made.ending == .status(0), "\(made.errors)")
        let terminal = try PseudoTerminal()
        let asking = try box.start(words("key", "unlock"), environment: [Self.place], terminal: terminal)
        _ = try terminal.expect("Passphrase for the keyring: ")
        try terminal.type("w\u{F6}rd\n")
        #expect(asking.end().ending == .status(0))
        let listed = try box.start(words("key", "list"), environment: [Self.place], terminal: terminal).end()
        #expect(listed.ending == .status(0) && listed.text.contains(" one\n"))
        try run(box, "key", "lock")
    }

    // MARK: Others

    /// Runs a command line of Python, which then runs the command as `sys.argv[1:]`.
    private func python(_ box: Sandbox, _ script: String, _ arguments: String..., environment: [String] = [place])
        throws -> Sandbox.Outcome
    {
        try box.write(
            "before.py", "import ctypes, os, platform, struct, sys\n\(script)\nos.execvp(sys.argv[1], sys.argv[1:])\n")
        let python = Host.environment("VAULTFILE_PYTHON") ?? "python3"
        return try box.start(
            arguments.map { Array($0.utf8) }, command: "exec \(python) before.py \"$@\"", environment: environment
        ).end()
    }

    /// The numbers of the system calls: add_key and keyctl.
    private static let calls = """
        libc = ctypes.CDLL(None, use_errno=True)
        add_key, keyctl = (248, 250) if platform.machine() == "x86_64" else (217, 219)

        """

    /// Gives the process a session keyring of its own, which has no link to the user's keyring.
    private static let newSession = calls + "assert libc.syscall(keyctl, 1, None) > 0"

    @Test("all sessions of the user share it") func sessions() throws {
        let box = try prepared()
        let unlocked = try python(box, Self.newSession, "key", "unlock", environment: Self.unlocker)
        #expect(unlocked.ending == .status(0), "\(unlocked.errors)")
        #expect(try isUnlocked(box))
        #expect(try python(box, Self.newSession, "key", "list").text.contains(" one\n"))
        #expect(try python(box, Self.newSession, "key", "lock").text == "ring.vault: is locked\n")
        #expect(try !isUnlocked(box))
    }

    @Test(
        "another user cannot use it, even with both files of the keyring",
        .enabled(if: Host.isRoot, "only root can become another user")) func otherUser() throws
    {
        let box = try prepared()
        let binary = try #require(Sandbox.bytes(at: FilePath(Sandbox.binary())))
        try box.write(
            Array("vaultfile".utf8), binary, mode: [.ownerReadWriteExecute, .groupReadExecute, .otherReadExecute])
        for name in ["ring.vault", "ring.vault.key", "unlocker"] {
            try Host.changeMode(box.path(name), to: [.ownerReadWrite, .groupRead, .otherRead])
        }
        try Host.changeMode(box.folder, to: [.ownerReadWriteExecute, .groupReadExecute, .otherReadExecute])
        func other(_ arguments: String, _ environment: [String]) throws -> Sandbox.Outcome {
            try box.start(
                [], command: "exec setpriv --reuid 65534 --regid 65534 --clear-groups ./vaultfile \(arguments)",
                environment: environment
            ).end()
        }
        try unlock(box)
        #expect(try other("key list", [Self.place]).ending == .status(78))
        #expect(try other("key lock", [Self.place]).text == "ring.vault: was not unlocked\n")
        #expect(try isUnlocked(box), "another user cannot lock it")
        // They can unlock it for themselves, with its secrets.
        #expect(try other("key unlock", Self.unlocker).ending == .status(0))
        #expect(try other("key list", [Self.place]).text.contains(" one\n"))
        try run(box, "key", "lock")
        #expect(try other("key list", [Self.place]).text.contains(" one\n"))
        #expect(try other("key lock", [Self.place]).text == "ring.vault: is locked\n")
    }
}

/// A process that may not ask the kernel for keys, as in a container of programs.
@Suite(.enabled(if: Host.isLinux, "the filter is Linux's")) struct BlockedUnlockTests {
    private static let unlocker = ["VAULTFILE_KEYRING=ring.vault", "VAULTFILE_UNLOCK=file:unlocker"]

    /// Installs a filter of system calls that answers with an error.
    private func filtered(
        _ box: Sandbox, _ error: Int, _ arguments: String..., calls: String = "(add_key, keyctl)", environment: [String]
    ) throws -> Sandbox.Outcome {
        try start(box, error, arguments, calls: calls, environment: environment).end()
    }

    private func start(
        _ box: Sandbox, _ error: Int, _ arguments: [String], calls: String = "(add_key, keyctl)",
        environment: [String], terminal: PseudoTerminal? = nil
    ) throws -> Sandbox.Running {
        let script = """
            import ctypes, os, platform, struct, sys
            libc = ctypes.CDLL(None, use_errno=True)
            add_key, keyctl = (248, 250) if platform.machine() == "x86_64" else (217, 219)
            step = lambda code, yes, no, value: struct.pack("HBBI", code, yes, no, value)
            numbers = \(calls)
            # Loads the number of the call; each comparison jumps to the error, or on to the next one.
            steps = [step(0x20, 0, 0, 0)]
            steps += [step(0x15, len(numbers) - index, 0, number) for index, number in enumerate(numbers)]
            steps += [step(0x06, 0, 0, 0x7fff0000), step(0x06, 0, 0, 0x00050000 | \(error))]
            code = ctypes.create_string_buffer(b"".join(steps))
            program = struct.pack("HxxxxxxP", len(steps), ctypes.addressof(code))
            assert libc.prctl(38, 1, 0, 0, 0) == 0 and libc.prctl(22, 2, program, 0, 0) == 0
            os.execvp(sys.argv[1], sys.argv[1:])

            """
        try box.write("filter.py", script)
        let python = Host.environment("VAULTFILE_PYTHON") ?? "python3"
        return try box.start(
            arguments.map { Array($0.utf8) }, command: "exec \(python) filter.py \"$@\"", environment: environment,
            terminal: terminal)
    }

    @Test("key unlock says so once, and the other commands ask as before", arguments: [1, 38])
    func blocked(_ error: Int) throws {
        let box = try Sandbox()
        try box.makeKey("unlocker")
        try box.write("a", "contents")
        #expect(try box.run("key", "generate", "--name", "one", environment: Self.unlocker).ending == .status(0))
        for calls in ["(add_key, keyctl)", "(add_key,)"] {
            // A secret would not be read: the command that prints it is not run.
            let environment = [Self.unlocker[0], "VAULTFILE_UNLOCK=command:touch ran; cat unlocker"]
            let refused = try filtered(box, error, "key", "unlock", calls: calls, environment: environment)
            #expect(refused.ending == .status(69), "\(refused.errors)")
            #expect(refused.errors.contains("keyStoreUnavailable") && refused.errors.contains("hint: "))
            #expect(refused.errors.split(separator: "\n").count == 2 && refused.text.isEmpty)
            #expect((box.bytes("ran") == nil) == calls.contains("keyctl"))
            let listed = try filtered(box, error, "key", "list", calls: calls, environment: Self.unlocker)
            #expect(listed.ending == .status(0) && listed.errors.isEmpty && listed.text.contains(" one\n"))
            let encrypted = try filtered(box, error, "encrypt", "-f", "a", calls: calls, environment: Self.unlocker)
            #expect(encrypted.ending == .status(0) && encrypted.errors.isEmpty)
            let unasked = try filtered(box, error, "key", "list", calls: calls, environment: [Self.unlocker[0]])
            #expect(unasked.ending == .status(78) && unasked.errors.contains("nothing else was given"))
        }
        let refused = try filtered(box, error, "key", "lock", environment: Self.unlocker)
        #expect(refused.ending == .status(69) && refused.errors.contains("keyStoreUnavailable"))
    }

    @Test("a command that asks for the keyring's passphrase says why, once", arguments: [1, 38])
    func explained(_ error: Int) throws {
        let box = try Sandbox()
        try box.write("passphrase", "w\u{F6}rd\n", mode: .ownerReadWrite)
        let (place, named) = ("VAULTFILE_KEYRING=ring.vault", "passphrase-file:passphrase")
        let made = try box.run("key", "generate", "--name", "one", "--unlock", named, environment: [place])
        #expect(made.ending == .status(0), "\(made.errors)")
        let terminal = try PseudoTerminal()
        let question = "Passphrase for the keyring: "
        // What is seen before the first question.
        let explanation = "The system does not let this program use an unlocked keyring.\r\n"
        let cases: [(words: [String], before: String)] = [
            (["key", "list"], explanation), (["key", "generate", "--name", "two"], explanation),
            // These ask even if the keyring is unlocked.
            (["key", "export", "one", "-o", "exported"], ""), (["key", "list", "--unlock", "passphrase"], ""),
        ]
        for (words, before) in cases {
            let running = try start(box, error, words, environment: [place], terminal: terminal)
            #expect(try terminal.expect(question) == before + question, "\(words)")
            try terminal.type("wrong\n")
            #expect(try terminal.expect(question) == "\r\nWrong passphrase.\r\n" + question, "\(words)")
            try terminal.type("w\u{F6}rd\n")
            let done = running.end()
            #expect(done.ending == .status(0), "\(words): \(done.errors)")
            #expect(!done.errors.contains("unlocked keyring"), "\(words): \(done.errors)")
            _ = try terminal.expect("\r\n")
        }
        let quiet = try start(box, error, ["key", "list", "--unlock", named], environment: [place], terminal: terminal)
        #expect(quiet.end().ending == .status(0))
        // Nothing forbids it here.
        let free = try box.start(
            ["key", "list"].map { Array($0.utf8) }, environment: [place], terminal: terminal)
        #expect(try terminal.expect(question) == question || !Host.keepsKeys)
        try terminal.type("w\u{F6}rd\n")
        #expect(free.end().ending == .status(0))
    }
}
