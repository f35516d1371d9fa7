import SystemPackage
import Testing
import VaultFile

@testable import VaultCommand

/// The exit statuses, each from a run that ends with it.
@Suite struct StatusTests {
    @Test("0: done") func done() throws {
        let box = try Sandbox()
        try box.makeKey()
        try box.write("a", "contents")
        #expect(try box.run("encrypt", "--key-file", "key", "a").ending == .status(0))
        #expect(try box.run("verify", "--key-file", "key", "a.vault").ending == .status(0))
        #expect(try box.run("inspect", "a.vault").ending == .status(0))
        let decrypted = try box.run("decrypt", "--key-file", "key", "-o", "-", "a.vault")
        #expect(decrypted.ending == .status(0))
        #expect(decrypted.text == "contents")
        #expect(decrypted.errors == "")
        #expect(try box.run("--version").text.hasPrefix("vaultfile "))
        #expect(try box.run("--help").text.contains("encrypt"))
        let help = try box.run("help", "--long", "decrypt").text.split(whereSeparator: \.isWhitespace).joined(
            separator: " ")
        #expect(help.hasPrefix("OVERVIEW: Decrypt containers.") && help.contains("ONLY AFTER STATUS 0"))
    }

    @Test(
        "64: usage",
        arguments: [
            [], ["--no-such-option"], ["frobnicate"], ["key"], ["verify"], ["inspect"],
            ["encrypt", "--outp", "x", "a"],
            ["encrypt", "-o", "x", "a", "b"], ["encrypt", "-o", "-", "a", "b"], ["decrypt", "a"],
            ["encrypt", "--chunk-size", "5000", "a"], ["encrypt", "--chunk-size", "64X", "a"],
            ["encrypt", "--header-capacity", "100", "a"], ["encrypt", "--remove-source", "--no-sync", "a"],
            ["encrypt", "--key-file", "-", "-"], ["encrypt", "--passphrase-fd", "0", "--key-file", "-", "a"],
            ["decrypt", "-", "-"], ["encrypt", "a", "a"], ["decrypt", "--restore-name", "-o", "x", "a.vault"],
            ["decrypt", "--offset", "-1", "a.vault"], ["encrypt", "--remove-source", "-o", "-", "a"],
        ])
    func usage(_ arguments: [String]) throws {
        let box = try Sandbox()
        try box.makeKey()
        try box.write("a", "contents")
        try box.write("b", "contents")
        let before = try box.names()
        let outcome = try box.run(
            arguments.map { Array($0.utf8) }, input: [], environment: ["VAULTFILE_KEY_FILE=key"])
        #expect(outcome.ending == .status(64))
        #expect(outcome.output == [])
        #expect(outcome.errors.hasPrefix("vaultfile: "))
        #expect(try box.names() == before)
    }

    @Test("64: a container is not encrypted again, unless it is piped in") func container() throws {
        let box = try Sandbox()
        try box.makeKey()
        try box.write("a", "contents")
        try box.run("encrypt", "--key-file", "key", "a")
        #expect(try box.run("encrypt", "--key-file", "key", "a.vault").ending == .status(64))
        let piped = try box.run(
            [Array("encrypt".utf8), Array("--key-file".utf8), Array("key".utf8)], input: box.bytes("a.vault"),
            piped: true)
        #expect(piped.ending == .status(0))
        #expect(try box.names() == ["a", "a.vault", "key"])
    }

    @Test("65: every single byte changed, and every length cut") func damaged() throws {
        let box = try Sandbox()
        try box.makeKey()
        try box.write("a", "contents")
        try box.run("encrypt", "--key-file", "key", "a")
        let container = try #require(box.bytes("a.vault"))
        for place in stride(from: 0, to: container.count, by: 97) {
            var changed = container
            changed[place] ^= 1
            try box.write(Array("b.vault".utf8), changed)
            let outcome = try box.run("verify", "--key-file", "key", "b.vault")
            #expect(outcome.ending == .status(65), "byte \(place)")
            #expect(outcome.errors.hasPrefix("vaultfile: b.vault: "))
            #expect(outcome.text == "")
        }
        for count in stride(from: 0, to: container.count, by: 131) {
            let piped = try box.run(
                ["decrypt", "--key-file", "key"].map { Array($0.utf8) }, input: Array(container.prefix(count)),
                piped: true)
            #expect(piped.ending == .status(65), "length \(count)")
        }
        try box.write(Array("b.vault".utf8), container + [0])
        #expect(try box.run("decrypt", "--key-file", "key", "b.vault").ending == .status(65))
        #expect(box.bytes("b") == nil)
    }

    @Test("0 with a warning: a header copy is damaged, and the plaintext is right") func health() throws {
        let box = try Sandbox()
        try box.makeKey()
        try box.write("a", "contents")
        try box.run("encrypt", "--key-file", "key", "a")
        var container = try #require(box.bytes("a.vault"))
        container[100] ^= 1
        try box.write(Array("b.vault".utf8), container)
        let decrypted = try box.run("decrypt", "--key-file", "key", "b.vault")
        #expect(decrypted.ending == .status(0))
        #expect(decrypted.errors.contains("warning: ") && decrypted.errors.contains("frontDamaged"))
        #expect(decrypted.errors.contains("hint: "))
        #expect(box.text("b") == "contents")
        let verified = try box.run("verify", "--key-file", "key", "b.vault")
        #expect(verified.ending == .status(65))
        #expect(verified.errors.contains("frontDamaged"))
        let inspected = try box.run("inspect", "b.vault")
        #expect(inspected.text.contains("damaged"))
    }

    @Test("65: verify names every damaged range") func ranges() throws {
        let box = try Sandbox()
        try box.makeKey()
        try box.write(Array("a".utf8), (0..<40_960).map { UInt8(truncatingIfNeeded: $0) })
        try box.run("encrypt", "--key-file", "key", "--chunk-size", "4K", "a")
        var container = try #require(box.bytes("a.vault"))
        let capacity = container.count > 45_000 ? 4096 : 512
        // The records 2, 3 and 7.
        for record in [2, 3, 7] { container[capacity + record * 4116 + 50] ^= 1 }
        try box.write(Array("a.vault".utf8), container)
        let outcome = try box.run("verify", "--key-file", "key", "a.vault")
        #expect(outcome.ending == .status(65))
        #expect(outcome.errors.contains("bytes 8192..<16384 of the contents are lost"))
        #expect(outcome.errors.contains("bytes 28672..<32768 of the contents are lost"))
        #expect(outcome.errors.split(separator: "\n").filter { !$0.contains("hint: ") }.count == 2)
        #expect(try box.run("verify", "--quick", "--key-file", "key", "a.vault").ending == .status(0))
    }

    @Test("66: no such input, a folder, an input that may not be read") func noInput() throws {
        let box = try Sandbox()
        try box.makeKey()
        try Host.makeFolder(box.path("folder"))
        for verb in ["encrypt", "decrypt", "verify"] {
            #expect(try box.run(verb, "--key-file", "key", "none.vault").ending == .status(66))
        }
        for verb in ["decrypt", "verify"] {
            #expect(try box.run(verb, "--key-file", "key", "folder").ending == .status(66))
        }
        #expect(try box.run("inspect", "none").ending == .status(66))
        if !Host.isRoot {
            try box.write("locked", "x", mode: [])
            #expect(try box.run("encrypt", "--key-file", "key", "locked").ending == .status(66))
        }
    }

    @Test("69: what a later version will know") func unsupported() throws {
        let box = try Sandbox()
        try box.write("a", "contents")
        try box.makeKey()
        try box.run("encrypt", "--key-file", "key", "a")
        var container = try #require(box.bytes("a.vault"))
        container[9] = 2
        try box.write(Array("a.vault".utf8), container)
        // Another version under a wrong checksum is damage, not a version.
        #expect(try box.run("verify", "--key-file", "key", "a.vault").ending == .status(65))
    }

    @Test("73: the output exists, or cannot be made") func cannotCreate() throws {
        let box = try Sandbox()
        try box.makeKey()
        try box.write("a", "contents")
        try box.write("a.vault", "old")
        #expect(try box.run("encrypt", "--key-file", "key", "a").ending == .status(73))
        #expect(box.text("a.vault") == "old")
        let nowhere = try box.run("encrypt", "--key-file", "key", "-o", "none/x", "a")
        #expect(nowhere.ending == .status(73) && nowhere.errors.contains("hint: make the folder first"))
        #expect(try box.run("encrypt", "--key-file", "key", "-o", "none/", "a").ending == .status(73))
        #expect(try box.run("encrypt", "--key-file", "key", "-o", "a/", "a").ending == .status(73))
        try Host.makeFolder(box.path("folder"))
        #expect(try box.run("encrypt", "--key-file", "key", "-o", "folder", "a").ending == .status(73))
        #expect(try box.run("key", "generate", "-o", "key").ending == .status(73))
    }

    @Test("74: the disk is full") func full() throws {
        let box = try Sandbox()
        try box.makeKey()
        try box.write(Array("a".utf8), [UInt8](repeating: 7, count: 300_000))
        let limited = try box.run("encrypt", "--key-file", "key", "a", prelude: "ulimit -f 8")
        #expect(limited.ending == .status(74))
        #expect(limited.errors.hasPrefix("vaultfile: a.vault: "))
        #expect(try box.names() == ["a", "key"])
        // A place in an output without encryption is not one of the container.
        #expect(try box.run("encrypt", "--key-file", "key", "a").ending == .status(0))
        let short = try box.run(
            "decrypt", "--key-file", "key", "-o", "b", "a.vault", prelude: "ulimit -f 8")
        #expect(short.ending == .status(74) && !short.errors.contains("of the container"), "\(short.errors)")
        #if os(Linux)
        let device = try box.run("encrypt", "--key-file", "key", "-o", "/dev/full", "a")
        #expect(device.ending == .status(74))
        #expect(device.errors.hasPrefix("vaultfile: /dev/full: ") && device.errors.contains("No space left on device"))
        let output = try box.run("inspect", "a", prelude: "exec >/dev/full")
        #expect(output.ending == .status(65))
        let version = try box.run("--version", prelude: "exec >/dev/full")
        #expect(version.ending == .status(74))
        #endif
    }

    @Test("77: no key fits") func noKeyFits() throws {
        let box = try Sandbox()
        try box.makeKey()
        try box.makeKey("other")
        try box.write("a", "contents")
        try box.run("encrypt", "--key-file", "key", "--context", "one", "a")
        for arguments in [
            ["--key-file", "other", "--context", "one"], ["--key-file", "key"],
            ["--key-file", "key", "--context", "two"],
            ["--key-file", "key", "--context="],
        ] {
            let words = ["decrypt", "-o", "out"] + arguments + ["a.vault"]
            let outcome = try box.run(words.map { Array($0.utf8) })
            #expect(outcome.ending == .status(77), "\(arguments)")
            #expect(box.bytes("out") == nil)
        }
        let right = try box.run("decrypt", "-o", "-", "--key-file", "key", "--context=one", "a.vault")
        #expect(right.text == "contents")
    }

    @Test("78: no key to be had") func noKey() throws {
        let box = try Sandbox()
        try box.makeKey()
        try box.write("a", "contents")
        try box.run("encrypt", "--key-file", "key", "-o", "c", "a")
        let none = try box.run("encrypt", "a")
        #expect(none.ending == .status(78))
        #expect(none.errors.contains("hint: ") && none.errors.contains("--key-file"))
        #expect(try box.run("decrypt", "-o", "-", "c").ending == .status(78))
        #expect(try box.run("encrypt", "-p", "a").ending == .status(78))
        #expect(try box.run("encrypt", "--key-file", "none", "a").ending == .status(78))
        #expect(try box.run("encrypt", "--key-file", "a", "a").ending == .status(78))
        #expect(try box.run("encrypt", "a", environment: ["VAULTFILE_KEY_FILE=none"]).ending == .status(78))
        #expect(try box.run("encrypt", "--key-command", "exit 3", "a").errors.contains("status 3"))
        #expect(try box.run("encrypt", "--passphrase-fd", "9", "a", prelude: "exec 9<&-").ending == .status(78))
        #expect(try box.names() == ["a", "c", "key"])
    }

    @Test("of several inputs: 65 if any, else the first failure; the rest is done") func several() throws {
        let box = try Sandbox()
        try box.makeKey()
        try box.write("a", "1")
        try box.write("b", "2")
        let missing = try box.run("encrypt", "--key-file", "key", "none", "a", "b")
        #expect(missing.ending == .status(66))
        #expect(try box.names() == ["a", "a.vault", "b", "b.vault", "key"])
        try box.write("broken.vault", "nothing of the kind")
        try box.write("out", "")
        let mixed = try box.run("verify", "--key-file", "key", "none", "a.vault", "broken.vault", "b.vault")
        #expect(mixed.ending == .status(65))
        #expect(mixed.text == "a.vault: intact\nb.vault: intact\n")
    }

    @Test("every error of the library has a status") func table() throws {
        let source = FilePath(#filePath).removingLastComponent().appending(
            "../../Sources/VaultFormat/VaultError.swift")
        let text = String(decoding: try #require(Sandbox.bytes(at: source)), as: UTF8.self)
        let names = text.matches(of: /static let (\w+) = Code\(/).map { String($0.output.1) }
        #expect(names.count > 30)
        #expect(Set(names) == Set(ExitStatus.table.keys.map(\.name)))
        #expect(ExitStatus(.recordDamaged) == .damaged)
        #expect(ExitStatus(.unsupportedMember) == .unsupported)
        #expect(ExitStatus(.limitExceeded) == .noKeyFits)
        #expect(ExitStatus(.rangeInvalid) == .usage)
        #expect(ExitStatus(.badKey) == .noKey)
        #expect(ExitStatus(.outputExists) == .cannotCreate)
        #expect(ExitStatus.ofAll([.done, .noInput, .damaged, .usage]) == .damaged)
        #expect(ExitStatus.ofAll([.done, .noInput, .usage]) == .noInput)
        #expect(ExitStatus.ofAll([]) == .done)
    }
}
