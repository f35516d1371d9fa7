import SystemPackage
import Testing
import VaultFile

@testable import VaultCommand

/// Which of the keyring's two files a message is about, and damage that one of them survives.
@Suite struct KeyringFileTests {
    private static let unlocked = ["VAULTFILE_KEYRING=ring.vault", "VAULTFILE_UNLOCK=file:unlocker"]
    private static let files = ["ring.vault", "ring.vault.key"]

    private let box: Sandbox

    init() throws {
        box = try Sandbox()
        try box.makeKey("unlocker")
        #expect(try run("key", "generate", "--name", "first").ending == .status(0))
    }

    private func run(_ text: String...) throws -> Sandbox.Outcome {
        try box.run(text.map { Array($0.utf8) }, environment: Self.unlocked)
    }

    private func flip(_ name: String, _ places: some Sequence<Int>) throws {
        var bytes = try #require(box.bytes(name))
        for place in places { bytes[place < 0 ? bytes.count + place : place] ^= 1 }
        try box.write(Array(name.utf8), bytes, mode: .ownerReadWrite)
    }

    @Test("damage is reported of the file that has it, in text and in JSON", arguments: files)
    func damaged(_ name: String) throws {
        let count = try #require(box.bytes(name)).count
        try flip(name, count / 2 - 200..<count / 2 + 200)
        let uses = [
            ["key", "list"], ["key", "generate"], ["key", "passphrase", "--renew", "--add", "file:unlocker"],
        ]
        for words in uses {
            let text = try box.run(words.map { Array($0.utf8) }, environment: Self.unlocked)
            #expect(text.ending == .status(65) && text.errors.hasPrefix("vaultfile: \(name): "), "\(text.errors)")
            let json = try box.run((words + ["--json"]).map { Array($0.utf8) }, environment: Self.unlocked)
            #expect(json.errors.contains("\"path\":\"\(name)\""), "\(json.errors)")
        }
    }

    @Test("a damaged header copy is reported once, and the next change makes it whole", arguments: [100, -200])
    func headerCopies(_ place: Int) throws {
        let whole = try #require(box.bytes("ring.vault.key"))
        for name in Self.files { try flip(name, [place]) }
        try box.write("a", "contents")
        let word = place > 0 ? "front is damaged (frontDamaged)" : "end is damaged (tailDamaged)"
        for words in [["key", "list"], ["encrypt", "-f", "a"], ["verify", "a.vault", "a.vault"]] {
            let done = try box.run(words.map { Array($0.utf8) }, environment: Self.unlocked)
            #expect(done.ending == .status(0), "\(done.errors)")
            let warnings = done.errors.split(separator: "\n").filter { $0.contains("warning: ") }
            #expect(
                warnings == Self.files.map { "vaultfile: \($0): warning: the header copy at its \(word)" },
                "\(done.errors)")
            #expect(done.errors.contains("hint: the other copy is intact"), "\(done.errors)")
        }
        // Nothing else is changed by it.
        let mended = try run("key", "use", "first")
        #expect(mended.ending == .status(0) && mended.errors.contains("ring.vault.key: warning: "), "\(mended.errors)")
        #expect(mended.errors.contains("; it is whole again\n") && !mended.errors.contains("hint"), "\(mended.errors)")
        #expect(box.bytes("ring.vault.key") == whole)
        let after = try run("key", "list")
        #expect(after.ending == .status(0) && after.errors.isEmpty && after.text.contains("current    first"))
    }

    @Test("a change of the passphrase makes damaged copies whole too") func changedUnlockers() throws {
        for name in Self.files { try flip(name, [100]) }
        try box.makeKey("other")
        let changed = try run("key", "passphrase", "--add", "file:other")
        #expect(changed.ending == .status(0) && changed.errors.contains("it is whole again"), "\(changed.errors)")
        #expect(try run("key", "list").errors.isEmpty)
    }

    @Test("a folder is not taken for a keyring") func folders() throws {
        try Host.makeFolder(box.path("d"))
        try box.write("a", "contents")
        for place in ["d", "d/"] {
            for words in [["key", "list"], ["key", "generate"], ["encrypt", "a"], ["key", "passphrase"]] {
                let refused = try box.run(words.map { Array($0.utf8) }, environment: ["VAULTFILE_KEYRING=\(place)"])
                #expect(refused.ending == .status(78), "\(words): \(refused.errors)")
                #expect(
                    refused.errors == "vaultfile: \(place): is a folder, and a keyring is a file\n"
                        + "vaultfile: hint: VAULTFILE_KEYRING=d/keyring.vault names a file in it\n")
            }
        }
        #expect(try box.names() == ["a", "d", "ring.vault", "ring.vault.key", "unlocker"])
    }

    #if os(Linux)
    @Test(
        "what cannot be written on a read-only mount cannot be created",
        .enabled(if: (try? Sandbox.shell("unshare -m mount --bind -o ro /tmp /tmp && echo ok", [])) == "ok\n"))
    func readOnlyMount() throws {
        try box.write("a", "contents")
        #expect(try run("encrypt", "a").ending == .status(0))
        #expect(try run("key", "generate", "--name", "second").ending == .status(0))
        for words in [
            ["rotate", "a.vault"], ["repair", "a.vault"], ["reencrypt", "--remove", "others", "a.vault"],
            ["key", "use", "first"], ["key", "generate"], ["key", "passphrase", "--add", "file:unlocker"],
        ] {
            let script = "mount --bind -o ro . . && cd \"$PWD\" && exec \"$@\""
            let refused = try box.start(
                words.map { Array($0.utf8) }, command: "exec unshare -m sh -c '\(script)' sh \"$@\"",
                environment: Self.unlocked
            ).end()
            #expect(refused.ending == .status(73), "\(words): \(refused.errors)")
        }
    }
    #endif
}
