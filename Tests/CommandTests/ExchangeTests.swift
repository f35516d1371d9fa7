import Synchronization
import SystemPackage
import Testing
import VaultFile
import VaultFormat

@testable import VaultCommand

/// Changes that other programs make meanwhile to the folders and files of a run.
@Suite struct ExchangeTests {
    /// A folder to walk, and a foreign one.
    private func box() throws -> Sandbox {
        let box = try Sandbox()
        for folder in ["tree", "tree/sub", "outside"] { try Host.makeFolder(box.path(folder)) }
        return box
    }

    /// The first file of a walk.
    private func found(in box: Sandbox) throws -> InputItem {
        var walk = try FolderWalk(PathArgument(bytes: Array(box.path("tree").string.utf8)))
        guard case .file(let path, let found)? = walk.next() else { throw Errno.noSuchFileOrDirectory }
        return InputItem(operand: path, found: found)
    }

    private static let exchange = "mv tree/sub moved && ln -s ../outside tree/sub"

    private func names(_ folder: String, in box: Sandbox) throws -> String {
        try Sandbox.shell("cd \"$1/$2\" && LC_ALL=C ls -A", [Array(box.folder.string.utf8), Array(folder.utf8)])
    }

    @Test(
        "an output comes to stand where its input was found, whenever the folder is exchanged",
        arguments: 0..<4, [false, true])
    func output(_ moment: Int, _ replaces: Bool) throws {
        let box = try box()
        try box.write("tree/sub/1", "contents")
        try box.write("outside/1", "foreign input")
        if replaces {
            try box.write("tree/sub/1.vault", "old")
            try box.write("outside/1.vault", "foreign output")
        }
        let item = try found(in: box)
        let input = try Input(item)
        defer { input.close() }
        let at = { (now: Int) in
            if now == moment { try Sandbox.shell("cd \"$1\" && \(Self.exchange)", [Array(box.folder.string.utf8)]) }
        }
        try at(0)
        let rules = OutputRules(naming: .adding, output: nil, replaces: replaces)
        let destination = try rules.destination(for: item, input.stat)
        try at(1)
        let output = try Outputs().open(destination, replaces: replaces)
        _ = try output.descriptor.writeAll("new".utf8)
        try at(2)
        try output.finish(permissions: .ownerReadWrite, modified: nil, synchronize: false)
        try at(3)
        try RemovableInput(input).remove(done: "encrypted", isForced: false)
        #expect(try names("moved", in: box) == "1.vault\n")
        #expect(box.text("moved/1.vault") == "new")
        #expect(try names("outside", in: box) == (replaces ? "1\n1.vault\n" : "1\n"))
        #expect(box.text("outside/1") == "foreign input")
        #expect(box.text("outside/1.vault") == (replaces ? "foreign output" : nil))
    }

    @Test("plaintext comes to stand in no foreign folder", arguments: [[], ["--restore-name"]])
    func decrypt(_ options: [String]) throws {
        let box = try box()
        try box.makeKey("other")
        let place = "VAULTFILE_KEYRING=ring"
        let made = try box.run("key", "generate", "--unlock", "file:other", environment: [place])
        #expect(made.ending == .status(0), "\(made.errors)")
        for name in ["1", "2"] { try box.write("tree/sub/\(name)", "contents \(name)") }
        let sealed = try box.run(
            "encrypt", "--recursive", "--remove-source", "tree", environment: [place, "VAULTFILE_UNLOCK=file:other"])
        #expect(sealed.ending == .status(0), "\(sealed.errors)")
        // The run unlocks the keyring after it has found the first container, and with --restore-name before it writes
        // anything.
        let done = try box.run(
            (["decrypt", "--recursive"] + options + ["tree"]).map { Array($0.utf8) },
            environment: [place, "VAULTFILE_UNLOCK=command:\(Self.exchange) && cat other"])
        #expect(done.ending == .status(0), "\(done.errors)")
        #expect(try names("outside", in: box) == "")
        #expect(try names("moved", in: box) == "1\n1.vault\n2\n2.vault\n")
        for name in ["1", "2"] { #expect(box.text("moved/\(name)") == "contents \(name)") }
    }

    @Test("nothing is written through a link below a folder", arguments: ["../../outside/kept", "../../outside/none"])
    func link(_ target: String) throws {
        let box = try box()
        try box.makeKey()
        try box.write("outside/kept", "foreign")
        try box.write("tree/sub/1", "contents")
        try box.run("encrypt", "--recursive", "--remove-source", "--key-file", "key", "tree")
        try Host.link(box.path("tree/sub/1"), to: target)
        let done = try box.run("decrypt", "--recursive", "-f", "--key-file", "key", "tree")
        #expect(done.ending == .status(73) && done.errors.contains("tree/sub/1: is a link"), "\(done.errors)")
        #expect(try names("outside", in: box) == "kept\n" && box.text("outside/kept") == "foreign")
    }

    @Test("what another run has not finished is no input", arguments: ["verify", "rotate", "reencrypt", "decrypt"])
    func unfinished(_ verb: String) throws {
        let box = try box()
        try box.makeKey()
        try box.write("tree/1", "contents")
        try box.run("encrypt", "--recursive", "--remove-source", "--key-file", "key", "tree")
        let bytes = try #require(box.bytes("tree/1.vault"))
        let temporary = "tree/.vaultfile-0123456789abcdef"
        try box.write(Array(temporary.utf8), bytes)
        let writer = try box.lock(temporary)
        defer { try? writer.close() }
        let change = ["rotate", "reencrypt"].contains(verb) ? ["--add", "file:key"] : []
        let words = [verb, "--recursive", "--key-file", "key"] + change + ["tree"]
        let done = try box.run(words.map { Array($0.utf8) })
        #expect(done.ending == .status(0), "\(done.errors)")
        #expect(done.errors.contains("1 passed over") && !done.text.contains(".vaultfile-"), "\(done.errors)")
        #expect(box.bytes(temporary) == bytes)
    }

    private func repair(_ place: FilePlace) throws {
        _ = try Vault.repair(at: place, with: Credentials(KeySet()), options: RotationOptions())
    }

    @Test("what has gone before it is locked is passed over, and what only looks so is not") func gone() throws {
        let box = try box()
        try box.write("tree/1.vault", "no container")
        let opened = try found(in: box)
        let damage = #expect(throws: VaultError.self) {
            try opened.withPlace { try repair($0) }
        }
        #expect(damage?.code == .notVaultfile)
        try Platform.remove(box.path("tree/1.vault"))
        #expect(throws: InputHasGone.self) {
            try opened.withPlace { try repair($0) }
        }
        // A missing file is reported if it was named.
        #expect(throws: Failure.self) {
            try InputItem(operand: opened.operand).withPlace { _ = try FileSource(at: $0) }
        }
    }

    @Test("what another run removed is passed over", arguments: ["rotate", "repair", "reencrypt"])
    func removed(_ verb: String) throws {
        let box = try box()
        for name in ["key", "other"] { try box.makeKey(name) }
        let place = "VAULTFILE_KEYRING=ring"
        let made = try box.run("key", "generate", "--unlock", "file:other", environment: [place])
        #expect(made.ending == .status(0), "\(made.errors)")
        for name in ["1", "2"] { try box.write("tree/sub/\(name)", "contents \(name)") }
        try box.run(
            "encrypt", "--recursive", "--remove-source", "tree", environment: [place, "VAULTFILE_UNLOCK=file:other"])
        // The run unlocks the keyring after it has found and inspected the first container, which is not locked yet.
        let removal = "VAULTFILE_UNLOCK=command:rm tree/sub/1.vault && cat other"
        let words = [verb, "--recursive"] + (verb == "repair" ? [] : ["--add", "file:key", "--remove", "others"])
        let done = try box.run((words + ["tree"]).map { Array($0.utf8) }, environment: [place, removal])
        #expect(done.ending == .status(0), "\(done.errors)")
        #expect(done.text.split(separator: "\n").count == 1 && done.text.contains("\ttree/sub/2.vault"))
        #expect(done.errors.hasSuffix(", 1 passed over\n"), "\(done.errors)")
    }
}
