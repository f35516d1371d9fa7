import SystemPackage
import Testing

@testable import VaultCommand

/// `rotate`, `repair` and `reencrypt` as a person or a script uses them.
@Suite struct RotationCommandTests {
    /// A container of `data` for the key `old`, beside the keys `old`, `new` and `other`.
    private func prepared(_ options: String...) throws -> Sandbox {
        let box = try Sandbox()
        for name in ["old", "new", "other"] { #expect(try box.run("key", "generate", "-o", name).ending == .status(0)) }
        try box.write("data", String(repeating: "x", count: 10_000))
        let arguments = ["encrypt", "--key-file", "old", "--header-capacity", "4096"] + options + ["data"]
        #expect(try box.run(arguments.map { Array($0.utf8) }).ending == .status(0))
        return box
    }

    private func opens(_ box: Sandbox, _ key: String, _ file: String = "data.vault") throws -> Bool {
        let outcome = try box.run("decrypt", "--key-file", key, "-o", "-", file)
        return outcome.ending == .status(0) && outcome.output == box.bytes("data")
    }

    @Test func rotates() throws {
        let box = try prepared()
        let inode = try box.stat("data.vault").inode
        func rotate(_ arguments: String...) throws -> Sandbox.Outcome {
            try box.run((["rotate"] + arguments + ["data.vault"]).map { Array($0.utf8) })
        }
        let dry = try rotate("--dry-run", "--key-file", "old", "--add", "file:new", "--remove", "file:old")
        #expect(dry.ending == .status(0) && dry.text == "would rotate\tdata.vault\n")
        #expect(dry.errors.hasPrefix("vaultfile: rotate: dry run: nothing is changed"))
        #expect(try opens(box, "old") && !opens(box, "new"))
        // The key to be removed also opens the container.
        let done = try rotate("--add", "file:new", "--remove", "file:old")
        #expect(done.ending == .status(0) && done.text == "rotated\tdata.vault\n" && done.errors == "")
        #expect(try opens(box, "new") && !opens(box, "old"))
        #expect(try box.stat("data.vault").inode == inode)
        let again = try rotate("--key-file", "new", "--add", "file:new", "--remove", "file:old")
        #expect(again.ending == .status(0) && again.text == "current\tdata.vault\n")
        let wrong = try rotate("--key-file", "old", "--add", "file:other")
        #expect(wrong.ending == .status(77) && wrong.text == "failed\tdata.vault\n")
        #expect(wrong.errors.contains("(wrongKey)"))
        #expect(try box.run("verify", "--key-file", "new", "data.vault").ending == .status(0))
    }

    @Test("to remove what no container has is no error, and a warning says so") func nothingToRemove() throws {
        let box = try prepared()
        try box.run("encrypt", "--key-file", "other", "-o", "second.vault", "data")
        let id = String(repeating: "0123456789abcdef", count: 2)
        func remove(_ words: String...) throws -> Sandbox.Outcome {
            let line = ["rotate"] + ["old", "other", "new"].flatMap { ["--key-file", $0] } + words
            return try box.run((line + ["data.vault", "second.vault"]).map { Array($0.utf8) })
        }
        let mistyped = try remove("--remove", id)
        #expect(mistyped.ending == .status(0) && mistyped.text == "current\tdata.vault\ncurrent\tsecond.vault\n")
        #expect(mistyped.errors.hasPrefix("vaultfile: --remove: warning: no slot has the ID \(id)"))
        // One container has the slot, the other does not.
        let some = try remove("--add", "file:new", "--remove", "file:old")
        #expect(some.ending == .status(0) && some.errors == "")
        let again = try remove("--add", "file:new", "--remove", "file:old")
        #expect(again.ending == .status(0) && again.errors.contains("warning: no slot is that of old, the ID "))
        try box.write("words", "x\n")
        let passphrase = try remove("--remove", "passphrase-file:words")
        #expect(passphrase.ending == .status(0) && passphrase.errors.contains("no slot opens with the passphrase"))
        let failing = try remove("--remove", id, "missing.vault")
        #expect(failing.ending == .status(66) && !failing.errors.contains("no slot has"), "that one may have it")
    }

    @Test(
        "a wrong change is refused, and the container stays the same",
        arguments: [
            ("rotate --key-file old --remove others", 64), ("rotate --key-file old --remove file:old", 64),
            ("rotate --key-file old", 64), ("rotate --key-file old --no-sync --add file:new", 64),
            ("rotate --key-file old --add others", 64), ("rotate --key-file old --add recipient:x", 78),
            ("rotate --key-file old --add file:missing", 78), ("rotate - --key-file old --add file:new", 64),
            ("reencrypt --key-file new", 77), ("repair --key-file old --keep middle", 64),
        ] as [(String, Int32)])
    func wrongChanges(_ line: String, _ status: Int32) throws {
        let box = try prepared()
        let before = box.bytes("data.vault")
        let words = line.split(separator: " ").map { Array($0.utf8) }
        #expect(try box.run(words + [Array("data.vault".utf8)]).ending == .status(status))
        #expect(box.bytes("data.vault") == before)
    }

    @Test("a slot whose key is not given is removed only with consent") func slotsOfOthers() throws {
        let box = try prepared()
        #expect(
            try box.run("rotate", "--key-file", "old", "--add", "file:other", "data.vault").ending == .status(0))
        let lost = try box.run("reencrypt", "--key-file", "old", "data.vault")
        #expect(lost.ending == .status(77) && lost.text == "failed\tdata.vault\n")
        let id = try #require(
            box.run("key", "show", "--key-file", "other").text.split(separator: " ").first.map(String.init))
        #expect(lost.errors.contains(id), "the slot that would be lost is named")
        #expect(try opens(box, "other"))
        let away = try box.run("rotate", "--key-file", "old", "--remove", "file:old", "data.vault")
        #expect(away.ending == .status(77) && away.errors.contains("--give-up-access"))
        #expect(
            try box.run("rotate", "--key-file", "old", "--remove", id, "data.vault").text == "rotated\tdata.vault\n",
            "a slot is removed by its ID, without its key")
        #expect(try opens(box, "old") && !opens(box, "other"))
    }

    @Test func reencrypts() throws {
        let box = try prepared("--digest")
        #expect(
            try box.run("rotate", "--key-file", "old", "--add", "file:other", "data.vault").ending == .status(0))
        let before = box.bytes("data.vault")
        let done = try box.run(
            "reencrypt", "--key-file", "old", "--add", "file:new", "--remove", "others", "data.vault")
        #expect(done.ending == .status(0) && done.text == "reencrypted\tdata.vault\n" && done.errors == "")
        #expect(try !opens(box, "old") && opens(box, "new") && !opens(box, "other"))
        #expect(box.bytes("data.vault") != before)
        #expect(try box.names() == ["data", "data.vault", "new", "old", "other"])
        let shown = try box.run("inspect", "--key-file", "new", "data.vault").text
        #expect(shown.contains("data") && shown.contains("SHA-256"))
    }

    @Test("what is removed stays removed, also where it is on the line to open") func leakedKey() throws {
        for remove in [["--remove", "file:old"], ["--remove", "others"]] {
            let box = try prepared()
            let words = ["reencrypt", "--key-file", "old"] + remove + ["--add", "file:new", "data.vault"]
            #expect(try box.run(words.map { Array($0.utf8) }).text == "reencrypted\tdata.vault\n")
            #expect(try !opens(box, "old") && opens(box, "new"))
        }
        // If nothing is added, the keys that open keep their slots.
        let box = try prepared()
        #expect(
            try box.run("reencrypt", "--key-file", "old", "--remove", "others", "data.vault").ending == .status(0))
        #expect(try opens(box, "old"))
        let last = try box.run("reencrypt", "--key-file", "old", "--remove", "file:old", "data.vault")
        #expect(last.ending == .status(64))
        #expect(try opens(box, "old"))
    }

    @Test func repairs() throws {
        let box = try prepared()
        let whole = try #require(box.bytes("data.vault"))
        for place in [100, whole.count - 5000 + 900, whole.count - 2] {
            var bytes = whole
            bytes[place] ^= 1
            try box.write(Array("data.vault".utf8), bytes)
            #expect(try box.run("verify", "--key-file", "old", "data.vault").ending == .status(65))
            let done = try box.run("repair", "--key-file", "old", "data.vault")
            #expect(done.ending == .status(0), "\(place): \(done.errors)")
            #expect(done.text.hasPrefix("repaired\tdata.vault\t"))
            #expect(box.bytes("data.vault") == whole)
        }
        #expect(
            try box.run("repair", "--key-file", "old", "data.vault").text
                == "unchanged\tdata.vault\theaders and ends only; verify checks the contents\n")
    }

    @Test func reportsForPrograms() throws {
        let box = try prepared()
        let done = try box.run("rotate", "--json", "--key-file", "old", "--add", "file:new", "data.vault").text
        #expect(done.contains("\"outcome\":\"rotated\"") && done.contains("\"generation\":2"))
        #expect(done.contains("\"newFile\":false") && done.contains("\"capacity\":4096"))
        let failed = try box.run("rotate", "--json", "--key-file", "other", "--add", "file:other", "data.vault").text
        #expect(failed.contains("\"status\":\"failed\"") && failed.contains("\"error\":\"wrongKey\""))
    }

    @Test func manyNames() throws {
        let box = try prepared()
        _ = try Sandbox.shell(
            "ln \"$1\" \"$2\"", [box.path("data.vault"), box.path("hard")].map { Array($0.string.utf8) })
        // A change in place is visible under all names. A new file would leave the other names with the old container.
        #expect(try box.run("rotate", "--key-file", "old", "--add", "file:new", "data.vault").ending == .status(0))
        #expect(box.bytes("hard") == box.bytes("data.vault"))
        let refused = try box.run("reencrypt", "--key-file", "old", "--remove", "others", "data.vault")
        #expect(refused.ending == .status(73) && refused.errors.contains("--break-links"))
        #expect(
            try box.run("reencrypt", "--break-links", "--key-file", "old", "--remove", "others", "data.vault").ending
                == .status(0))
        #expect(try opens(box, "new", "hard") && !opens(box, "new"))
    }

    @Test func folders() throws {
        let box = try prepared()
        try Host.makeFolder(box.path("tree"))
        for number in 0..<30 {
            try box.write("tree/\(number)", "contents \(number)")
            #expect(try box.run("encrypt", "--key-file", "old", "tree/\(number)").ending == .status(0))
        }
        let words = [
            "rotate", "-q", "--json", "--recursive", "--jobs", "3", "--add", "file:new", "--remove", "file:old", "tree",
        ]
        let done = try box.run(words.map { Array($0.utf8) })
        #expect(done.ending == .status(0))
        #expect(done.text.split(separator: "\n").filter { $0.contains("\"outcome\":\"rotated\"") }.count == 30)
        #expect(done.errors.contains("\"passedOver\":30"))
        let dry = try box.run(
            ["rotate", "--dry-run", "--recursive", "--key-file", "new", "--add", "file:other", "tree"].map {
                Array($0.utf8)
            })
        #expect(dry.text.split(separator: "\n").allSatisfy { $0.hasPrefix("would rotate\ttree/") })
        #expect(dry.errors.hasSuffix("vaultfile: rotate: 30 would rotate, 30 passed over\n"))
        #expect(try box.run("verify", "--key-file", "other", "tree/7.vault").ending == .status(77))
        let again = try box.run(
            ["rotate", "--recursive", "--key-file", "new", "--add", "file:new", "tree"].map { Array($0.utf8) })
        #expect(again.text.split(separator: "\n").allSatisfy { $0.hasPrefix("current\ttree/") })
        #expect(try opens(box, "old") == true)
        let one = try box.run("decrypt", "--key-file", "new", "-o", "-", "tree/7.vault")
        #expect(one.text == "contents 7")
    }

    @Test(
        "what stands in the place of a folder of the walk is left alone", arguments: ["rotate", "repair", "reencrypt"])
    func exchangedFolder(_ verb: String) throws {
        let box = try prepared()
        let place = "VAULTFILE_KEYRING=ring"
        let made = try box.run("key", "generate", "--unlock", "file:other", environment: [place])
        #expect(made.ending == .status(0), "\(made.errors)")
        let unlocked = [place, "VAULTFILE_UNLOCK=file:other"]
        for folder in ["tree", "tree/sub", "outside"] { try Host.makeFolder(box.path(folder)) }
        let names = ["1.vault", "2.vault"]
        for name in names {
            let path = "tree/sub/\(name)"
            _ = try box.run(
                "encrypt", "--header-capacity", "4096", "-o", path, "data", environment: unlocked)
            // What repair has to mend.
            var bytes = try #require(box.bytes(path))
            bytes[100] ^= 1
            for folder in ["tree/sub", "outside"] { try box.write(Array("\(folder)/\(name)".utf8), bytes) }
        }
        let before = try names.map { try #require(box.bytes("outside/\($0)")) }
        // The keyring is unlocked when the first container has been found and examined.
        let exchange = "VAULTFILE_UNLOCK=command:mv tree/sub moved && ln -s ../outside tree/sub && cat other"
        let words = [verb, "--recursive"] + (verb == "repair" ? [] : ["--add", "file:new", "--remove", "others"])
        let done = try box.run((words + ["tree"]).map { Array($0.utf8) }, environment: [place, exchange])
        #expect(done.ending == .status(0), "\(done.errors)")
        #expect(done.text.split(separator: "\n").count == 2)
        #expect(names.map { box.bytes("outside/\($0)") } == before)
        for name in names {
            #expect(try box.run("decrypt", "-o", "-", "outside/\(name)", environment: unlocked).ending == .status(0))
            let moved = try box.run(
                "verify", "moved/\(name)", environment: verb == "repair" ? unlocked : ["VAULTFILE_KEY_FILE=new"])
            #expect(moved.ending == .status(0), "\(moved.errors)")
        }
    }

    @Test("what stands behind the end is said before it is cut off, and much of it is not cut off unasked")
    func excess() throws {
        for capacity in ["4096", "512"] {
            let box = try prepared()
            let made = try box.run(
                "encrypt", "-f", "--key-file", "old", "--header-capacity", capacity, "data")
            #expect(made.ending == .status(0), "\(made.errors)")
            let whole = try #require(box.bytes("data.vault"))
            let repair = ["repair", "--key-file", "old", "data.vault"].map { Array($0.utf8) }
            try box.write(Array("data.vault".utf8), whole + [UInt8](repeating: 7, count: 4096))
            let little = try box.run(repair)
            #expect(little.ending == .status(0) && little.text.hasPrefix("repaired\tdata.vault\t"), "\(little.errors)")
            #expect(little.errors.contains("warning: 4096 bytes follow its end and are cut off"))
            let mended = box.bytes("data.vault")
            let much = whole + [UInt8](repeating: 7, count: 4097)
            try box.write(Array("data.vault".utf8), much)
            let refused = try box.run(repair)
            #expect(refused.ending == .status(65) && refused.text == "failed\tdata.vault\n")
            #expect(refused.errors.contains("4097 bytes follow its end") && refused.errors.contains("--yes"))
            #expect(box.bytes("data.vault") == much)
            let told = try box.run(repair + [Array("--yes".utf8)])
            #expect(told.ending == .status(0) && told.errors.contains("4097 bytes"))
            #expect(box.bytes("data.vault")?.count == mended?.count)
            #expect(try opens(box, "old"))
        }
    }

    @Test("spread over processes by GNU parallel, as the README says") func parallel() throws {
        let box = try Sandbox()
        let ring = ["VAULTFILE_KEYRING=ring", "VAULTFILE_UNLOCK=unprotected"]
        try box.run("key", "generate", "--unprotected", "--name", "first", environment: ring)
        try Host.makeFolder(box.path("tree"))
        for number in 0..<25 { try box.write("tree/\(number)\n", "contents") }
        func run(_ words: String...) throws -> Sandbox.Outcome {
            try box.run(words.map { Array($0.utf8) }, environment: ring)
        }
        #expect(try run("encrypt", "--recursive", "tree").ending == .status(0))
        #expect(try run("key", "generate", "--name", "second").ending == .status(0))
        let words = ["rotate", "--files-from", "-", "-0", "--jobs", "1"].map { Array($0.utf8) }
        for word in ["rotated", "current"] {
            let outcome = try box.start(
                words, command: "find tree -name '*.vault' -print0 | parallel --pipe --recend '\\0' -N 10 \"$@\"",
                environment: ring + ["HOME=\(box.folder)"]
            ).end()
            let lines = outcome.text.split(separator: "\n")
            #expect(lines.count == 25 && lines.allSatisfy { $0.hasPrefix("\(word)\ttree/") }, "\(outcome.errors)")
        }
    }

    @Test("a retired key opens, and gets no new slot") func retiredKeys() throws {
        let box = try Sandbox()
        let keyring = ["VAULTFILE_KEYRING=ring", "VAULTFILE_UNLOCK=unprotected"]
        func run(_ words: String...) throws -> Sandbox.Outcome {
            try box.run(words.map { Array($0.utf8) }, environment: keyring)
        }
        try box.write("data", "contents")
        _ = try run("key", "generate", "--unprotected", "--name", "first")
        #expect(try run("encrypt", "data").ending == .status(0))
        _ = try run("key", "generate", "--name", "second")
        let sealed = try run("encrypt", "-k", "first", "-o", "other", "data")
        #expect(sealed.ending == .status(64) && sealed.errors.contains("retired"))
        #expect(try run("rotate", "--add", "first", "data.vault").ending == .status(64))
        #expect(try run("reencrypt", "-k", "first", "data.vault").ending == .status(77))
        #expect(try run("decrypt", "-k", "first", "-o", "-", "data.vault").text == "contents")
        #expect(try run("reencrypt", "--remove", "first", "data.vault").text == "reencrypted\tdata.vault\n")
        #expect(try run("decrypt", "-k", "first", "-o", "-", "data.vault").ending == .status(77))
        #expect(try run("decrypt", "-o", "-", "data.vault").text == "contents")
    }
}
