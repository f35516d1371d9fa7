import SystemPackage
import Testing
import VaultFile
import VaultTestSupport

@testable import VaultCommand

/// What must never be lost: keys, the only copy of a plaintext, and findings of damage.
@Suite struct LossTests {
    private func prepared() throws -> Sandbox {
        let box = try Sandbox()
        try box.makeKey()
        try box.write("data", String(repeating: "x", count: 10_000))
        return box
    }

    @Test func keysOfTheRunStay() throws {
        let box = try prepared()
        let key = box.bytes("key")
        for environment in [[], ["VAULTFILE_KEY_FILE=key"]] {
            let keys = environment.isEmpty ? ["--key-file", "key"] : []
            // If a key among the operands were removed, everything that only it opens would be lost.
            let removing = (["encrypt"] + keys + ["--remove-source", "key", "data"]).map { Array($0.utf8) }
            #expect(try box.run(removing, environment: environment).ending == .status(64))
            #expect(box.bytes("key") == key)
            try box.write("data", "again")
            let overwriting = (["encrypt"] + keys + ["-f", "-o", "key", "data"]).map { Array($0.utf8) }
            #expect(try box.run(overwriting, environment: environment).ending == .status(73))
            #expect(box.bytes("key") == key)
            _ = try Sandbox.shell("rm \"$1\"", [Array(box.path("data.vault").string.utf8)])
        }
    }

    @Test func aStoredNameSelectsNoDevice() throws {
        let box = try prepared()
        #expect(try box.run("encrypt", "--key-file", "key", "data").ending == .status(0))
        try Host.makeFolder(box.path("out"))
        try Host.link(box.path("out/data"), to: "/dev/null")
        let outcome = try box.run(
            "decrypt", "--key-file", "key", "--restore-name", "--remove-source", "-o", "out/", "data.vault")
        #expect(outcome.ending == .status(73))
        #expect(box.bytes("data.vault") != nil)
    }

    /// Each damaged range is reported when it is found, in order. The result holds the first.
    @Test func everyDamagedRangeIsSaid() throws {
        let box = try prepared()
        #expect(try box.run("encrypt", "--key-file", "key", "--chunk-size", "4K", "data").ending == .status(0))
        var bytes = try #require(box.bytes("data.vault"))
        let first = bytes.count - 512 - 32 - 512 - 20 - 10_060
        for record in [0, 2] { bytes[first + record * 4116 + 100] ^= 1 }
        try box.write(Array("data.vault".utf8), bytes)
        let outcome = try box.run("verify", "--key-file", "key", "data.vault")
        #expect(outcome.ending == .status(65))
        let ranges = outcome.errors.split(separator: "\n").filter { $0.contains("are lost") }
        #expect(ranges.count == 2)
        #expect(ranges.first?.contains("bytes 0..<4096") == true)
        #expect(ranges.last?.contains("bytes 8192..<10000") == true)
    }

    @Test(arguments: [
        Int64.min, .max, 67_768_036_191_676_799, -67_768_040_609_740_800, 253_402_300_800, -62_167_219_201,
    ])
    func timesOutsideOfTheCalendar(_ seconds: Int64) throws {
        let box = try prepared()
        let text = try #require(box.bytes("key"))
        var options = SealOptions()
        options.metadata.modified = Timestamp(seconds: seconds, nanoseconds: 0)
        var container: [UInt8] = []
        let key = try SymmetricKey(keyFile: text.span)
        let writer = try VaultWriter(for: [.key(key)], options: options)
        _ = try writer.finish { container.append(copying: $0) }
        try box.write(Array("t.vault".utf8), container)
        let outcome = try box.run("inspect", "--key-file", "key", "t.vault")
        #expect(outcome.ending == .status(0))
        #expect(outcome.text.contains(String(seconds)))
    }

    /// What a killed run leaves is removed by the next run that writes into the folder, which says so.
    @Test(arguments: ["encrypt", "decrypt", "recover", "key generate"]) func leftovers(_ verb: String) throws {
        let box = try prepared()
        #expect(try box.run("encrypt", "--key-file", "key", "data").ending == .status(0))
        let left = ".vaultfile-0123456789abcdef"
        for words in [["--json"], ["-q"]] {
            try box.write(left, "a whole plaintext")
            let input = verb == "key generate" ? [] : ["--key-file", "key", verb == "encrypt" ? "data" : "data.vault"]
            let output = words == ["-q"] ? "new" : "out"
            let arguments = verb.split(separator: " ").map(String.init) + words + ["-o", output] + input
            let outcome = try box.run(arguments.map { Array($0.utf8) })
            #expect(outcome.ending == .status(0), "\(outcome.errors)")
            #expect(outcome.errors.contains("was removed: \(left)") == (words != ["-q"]), "\(outcome.errors)")
            #expect(try !box.names().contains(left))
        }
    }

    /// A user saves an unfinished file by naming it. It may be the only copy, whatever fails then.
    @Test(arguments: ["encrypt", "decrypt", "recover"]) func anUnfinishedFileIsAnInput(_ verb: String) throws {
        let box = try prepared()
        try box.makeKey("other")
        #expect(try box.run("encrypt", "--key-file", "key", "data").ending == .status(0))
        let left = ".vaultfile-0123456789abcdef"
        let bytes = try #require(box.bytes(verb == "encrypt" ? "data" : "data.vault"))
        try box.write(Array(left.utf8), bytes)
        for (key, status) in [("other", verb == "encrypt" ? Int32(0) : 77), ("key", 0)] {
            for way in [left, "- <\(left)"] {
                let outcome = try box.start(
                    [verb, "-f", "-o", "out", "--key-file", key].map { Array($0.utf8) }, command: "exec \"$@\" \(way)"
                ).end()
                #expect(outcome.ending == .status(status), "\(way): \(outcome.errors)")
                #expect(box.bytes(left) == bytes && !outcome.errors.contains("removed"), "\(way)")
            }
        }
    }

    @Test("an unfinished file that is a key or that --files-from lists stays") func anUnfinishedFileIsNamed() throws {
        let box = try prepared()
        let left = ".vaultfile-0123456789abcdef"
        let key = try #require(box.bytes("key"))
        try box.write(Array(left.utf8), key)
        for environment in [[], ["VAULTFILE_KEY_FILE=\(left)"]] {
            let words = ["encrypt", "-f"] + (environment.isEmpty ? ["--key-file", left] : []) + ["data"]
            #expect(try box.run(words.map { Array($0.utf8) }, environment: environment).ending == .status(0))
            #expect(box.bytes(left) == key)
        }
        let (ring, unlock) = (["VAULTFILE_KEYRING=ring"], "file:\(left)")
        #expect(
            try box.run("key", "generate", "--name", "first", "--unlock", unlock, environment: ring).ending
                == .status(0))
        let exported = try box.run("key", "export", "first", "-o", "first", "--unlock", unlock, environment: ring)
        #expect(exported.ending == .status(0) && box.bytes("first") != nil, "\(exported.errors)")
        #expect(box.bytes(left) == key)
        try box.write("list", "data\n\(left)\n")
        let listed = try box.run("encrypt", "-f", "--key-file", "key", "--jobs", "1", "--files-from", "list")
        #expect(listed.ending == .status(0), "\(listed.errors)")
        #expect(box.bytes(left) == key && box.bytes(left + ".vault") != nil)
    }

    @Test("a stored name is not one that the next run removes") func aStoredTemporaryName() throws {
        let box = try prepared()
        let name = ".vaultfile-0000000000000000"
        try box.write(name, "contents")
        #expect(try box.run("encrypt", "--key-file", "key", "-o", "a.vault", name).ending == .status(0))
        try Host.makeFolder(box.path("inbox"))
        let restored = try box.run(
            "decrypt", "--key-file", "key", "--restore-name", "--remove-source", "-o", "inbox/", "a.vault")
        #expect(restored.ending == .status(73), "\(restored.errors)")
        #expect(restored.errors.contains("hint: name the output with -o"))
        #expect(box.bytes("a.vault") != nil && box.bytes("inbox/\(name)") == nil)
        let named = try box.run("decrypt", "--key-file", "key", "-o", "inbox/\(name)", "a.vault")
        #expect(named.ending == .status(73) && named.errors.contains("is a name of unfinished files"))
        let other = try box.run("decrypt", "--key-file", "key", "-o", "inbox/a", "a.vault")
        #expect(other.ending == .status(0) && box.text("inbox/a") == "contents")
    }

    #if os(Linux)
    @Test(
        "killed before the rename, the plaintext is under no other name after the next run",
        .enabled(if: (try? Sandbox.shell("command -v strace", [])) != ""), arguments: ["renameat", "renameat2"])
    func killedBeforeRename(_ call: String) throws {
        let box = try prepared()
        #expect(try box.run("encrypt", "--key-file", "key", "data").ending == .status(0))
        let outcome = try box.start(
            ["decrypt", "-f", "--key-file", "key", "data.vault"].map { Array($0.utf8) },
            command: "exec strace -f -qq -o trace -e trace=\(call) -e inject=\(call):signal=KILL \"$@\""
        ).end()
        // Which of the two calls the system's library makes depends on the machine.
        guard outcome.ending != .status(0) else { return }
        let left = try #require(try box.names().first { $0.hasPrefix(".vaultfile-") })
        #expect(box.bytes(left) == box.bytes("data"))
        let next = try box.run("decrypt", "-o", "other", "--key-file", "key", "data.vault")
        #expect(next.ending == .status(0) && next.errors.contains("was removed: \(left)"), "\(next.errors)")
        #expect(try !box.names().contains(left))
    }
    #endif
}
