import Testing
import VaultFile

@testable import VaultCommand

/// What a mount says about passphrases before it begins. These tests need what `MountTests` needs.
@Suite(.enabled(if: Mounted.isPossible, "this machine cannot mount: no /dev/fuse, libfuse3 or fusermount3"))
struct MountKeysTests {
    /// A folder `src` with containers that the passphrase `secret` opens, one for each name.
    private func prepared(_ names: String..., script: String = ":") throws -> Sandbox {
        let box = try Sandbox()
        try box.makeKey()
        try box.write("words", "secret\n", mode: .ownerReadWrite)
        try box.write("other", "other\n", mode: .ownerReadWrite)
        try box.shell("mkdir src view; for n in \(names.joined(separator: " ")); do seq 30000 >src/$n; done")
        for name in names {
            let end = try box.run("encrypt", "-q", "--remove-source", "--passphrase-file", "words", "src/\(name)")
            #expect(end.ending == .status(0))
        }
        try box.shell(script)
        return box
    }

    private func start(_ box: Sandbox, _ terminal: PseudoTerminal) throws -> Sandbox.Running {
        try box.start(["mount", "-p", "src", "view"].map { Array($0.utf8) }, terminal: terminal)
    }

    /// What it has said on standard error, after it was mounted and `check` has passed.
    private func end(
        _ box: Sandbox, _ running: Sandbox.Running, _ check: () -> String = { "true" }
    ) throws -> String {
        let isThere = "grep -q \" $PWD/view fuse\" /proc/mounts"
        let wait = "for n in $(seq 1000); do \(isThere) && break; sleep 0.01; done"
        #expect(try box.shell("seq 30000 >all; \(wait); \(check()) && echo right") == "right\n")
        running.child.send(Host.sigTerm)
        let end = running.end()
        #expect(end.ending == .status(0))
        return end.errors
    }

    @Test("a right passphrase is not called wrong because its container is damaged, and another one needs a key")
    func damaged() throws {
        let box = try prepared("a")
        try box.shell("echo x >src/b")
        try box.run("encrypt", "-q", "--remove-source", "--key-file", "key", "src/b")
        // Behind the contents: the manifest. Both header copies stay.
        try box.shell("printf XXXX | dd of=src/a.vault bs=1 seek=173300 conv=notrunc status=none")
        let terminal = try PseudoTerminal()
        let running = try start(box, terminal)
        _ = try terminal.expect("Passphrase: ")
        try terminal.type("secret\n")
        let errors = try end(box, running)
        #expect(errors.contains("src/a.vault: warning: cannot be opened: record"), "\(errors)")
        #expect(errors.contains("src: warning: these keys do not open its other container\n"), "\(errors)")
    }

    @Test("a passphrase that opens none of the containers that were tried may be repeated, if it is right for others")
    func others() throws {
        let box = try prepared("a", "b", "c", "d")
        try box.shell("mkdir src/sub; seq 30000 >src/sub/e")
        try box.run("encrypt", "-q", "--remove-source", "--passphrase-file", "other", "src/sub/e")
        let terminal = try PseudoTerminal()
        let running = try start(box, terminal)
        _ = try terminal.expect("Passphrase: ")
        try terminal.type("other\n")
        let said = try terminal.expect("Passphrase: ")
        #expect(
            said.contains("It opens none of the 3 containers that it was tried on.") && said.contains("type it again."),
            "\(said)")
        try terminal.type("other\n")
        let errors = try end(box, running) { "cmp view/sub/e all" }
        #expect(errors.contains("src: warning: these keys do not open its first 3 containers\n"), "\(errors)")
    }

    @Test("a damaged header says nothing about a passphrase, and one that is wrong for all is called wrong")
    func damagedHeader() throws {
        let box = try prepared("a", "b")
        // Both header copies.
        try box.shell(
            """
            truncate -s 100000 src/a.vault; printf XXXXXXXX | dd of=src/a.vault bs=1 seek=200 conv=notrunc status=none
            """)
        let terminal = try PseudoTerminal()
        let running = try start(box, terminal)
        _ = try terminal.expect("Passphrase: ")
        try terminal.type("other\n")
        let said = try terminal.expect("Passphrase: ")
        #expect(said.contains("It does not open the container that it was tried on."), "\(said)")
        try terminal.type("secret\n")
        let errors = try end(box, running) { "cmp view/b all" }
        #expect(errors.contains("src/a.vault: warning: cannot be opened: ") || !errors.contains("warning"), "\(errors)")
        try box.shell("rm src/a.vault")
        let again = try PseudoTerminal()
        let second = try start(box, again)
        _ = try again.expect("Passphrase: ")
        try again.type("other\n")
        _ = try again.expect("Wrong passphrase.")
        _ = try again.expect("Passphrase: ")
        try again.type("secret\n")
        #expect(try end(box, second) { "cmp view/b all" } == "vaultfile: src: is mounted on view\n")
    }
}
