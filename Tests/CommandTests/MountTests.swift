import SystemPackage
import Testing
import VaultFile

@testable import VaultCommand

/// The mount as other programs see it. These tests need `/dev/fuse`, libfuse3 and fusermount3.
@Suite(.enabled(if: Mounted.isPossible, "this machine cannot mount: no /dev/fuse, libfuse3 or fusermount3"))
struct MountTests {
    @Test("programs read a folder of containers, and a signal unmounts it", arguments: [Host.sigInt, Host.sigTerm])
    func folder(_ number: Int32) throws {
        let box = try Sandbox()
        try box.makeKey()
        try box.shell(
            """
            mkdir -p src/sub view; echo hello >src/a; seq 100000 >src/sub/b; ln -s a src/link
            """)
        try box.run("encrypt", "-q", "--key-file", "key", "--recursive", "src")
        try box.run("key", "generate", "-q", "-o", "other")
        try box.run("encrypt", "-q", "--key-file", "other", "-o", "src/locked.vault", "src/a")
        let mount = try Mounted(box, ["--key-file", "key", "src"])
        #expect(
            try box.shell("cd view && find . | LC_ALL=C sort && cat a")
                == ".\n./a\n./locked\n./sub\n./sub/b\nhello\n")
        #expect(try box.shell("cmp view/sub/b src/sub/b && stat -c '%s %a' view/locked view/a") == "0 400\n6 400\n")
        #expect(try box.shell("cat view/locked 2>&1 || true").contains("Permission denied"))
        #expect(try box.shell("touch view/new 2>&1 || true").contains("Read-only file system"))
        // A line of the table: nothing else may be allowed there.
        let options = try box.shell("grep \" $PWD/view \" /proc/mounts")
        #expect(options.contains(" fuse.vaultfile ro,nosuid,nodev,") && !options.contains("allow_other"))
        mount.running.child.send(number)
        let end = mount.running.end()
        #expect(end.ending == .status(0) && end.errors == "vaultfile: src: is mounted on view\n", "\(end.errors)")
        #expect(try !mount.isThere())
    }

    @Test("fusermount3 ends it, and a file that is open then ends a signal no later") func unmounted() throws {
        let box = try Sandbox()
        try box.makeKey()
        try box.shell("mkdir src view; seq 1000000 >src/a")
        try box.run("encrypt", "-q", "--key-file", "key", "--recursive", "src")
        let mount = try Mounted(box, ["-q", "--key-file", "key", "src"])
        try box.shell("fusermount3 -u view")
        #expect(mount.running.end().ending == .status(0))
        let second = try Mounted(box, ["-q", "--key-file", "key", "src"])
        let file = try FileDescriptor.open(box.path("view/a"), .readOnly)
        second.running.child.send(Host.sigTerm)
        #expect(second.running.end().ending == .status(0))
        #expect(try !second.isThere())
        var byte: [UInt8] = [0]
        #expect(throws: Errno.self) { try unsafe byte.withUnsafeMutableBytes { try unsafe file.read(into: $0) } }
        // Linux before 5.16 asks the mount about it.
        try? file.close()
    }

    @Test("after a kill nothing is left") func killed() throws {
        let box = try Sandbox()
        try box.makeKey()
        try box.shell("mkdir src view; echo x >src/a")
        try box.run("encrypt", "-q", "--key-file", "key", "--recursive", "src")
        let mount = try Mounted(box, ["-q", "--key-file", "key", "src"])
        mount.running.child.send(Host.sigKill)
        _ = mount.running.end()
        for _ in 0..<200 where try mount.isThere() { Host.pause(milliseconds: 20) }
        #expect(try !mount.isThere())
        #expect(try box.shell("ls -A view") == "")
    }

    @Test("a damaged page is lost alone, and what is replaced or rotated is read on") func changes() throws {
        let box = try Sandbox()
        try box.makeKey()
        try box.shell("mkdir src view; seq 1000000 | head -c 1000000 >src/a; cp src/a src/b")
        try box.run("encrypt", "-q", "--key-file", "key", "--remove-source", "--recursive", "src")
        // A byte in the record with the byte 500,000.
        try box.shell("printf X | dd of=src/a.vault bs=1 seek=500000 conv=notrunc status=none")
        let mount = try Mounted(box, ["-q", "--key-file", "key", "src"])
        let lost = try box.shell(
            """
            exec 2>/dev/null; seq 1000000 | head -c 1000000 >all
            for page in $(seq 0 244); do
                dd if=view/a bs=4096 skip=$page count=1 status=none >one || { echo $page; continue; }
                dd if=all bs=4096 skip=$page count=1 status=none | cmp -s - one || echo wrong
            done
            """)
        // The pages of one record of 64 KiB.
        #expect(lost.split(separator: "\n").count == 16 && !lost.contains("wrong"), "\(lost)")
        try box.shell("echo new >n")
        let open = try FileDescriptor.open(box.path("view/b"), .readOnly)
        try box.run("key", "generate", "-q", "-o", "key2")
        #expect(
            try box.run("rotate", "-q", "--key-file", "key", "--add", "file:key2", "src/b.vault").ending == .status(0))
        try box.run("encrypt", "-q", "-f", "--key-file", "key", "-o", "src/b.vault", "n")
        Host.pause(milliseconds: 1100)
        #expect(try box.shell("cat view/b") == "new\n")
        var bytes = [UInt8](repeating: 0, count: 1_000_000)
        let count = try unsafe bytes.withUnsafeMutableBytes { try unsafe open.read(fromAbsoluteOffset: 0, into: $0) }
        try open.close()
        #expect(count == 1_000_000 && bytes == box.bytes("all"))
        mount.running.child.send(Host.sigTerm)
        #expect(mount.running.end().ending == .status(0))
    }

    @Test("the members of a tar are files, links and folders") func members() throws {
        let box = try Sandbox()
        try box.makeKey()
        try box.shell(
            """
            mkdir -p t/d/deep view; echo one >t/d/one; ln -s one t/d/link; ln t/d/one t/hard; chmod 755 t/d/one
            truncate -s 1M t/sparse; echo x >>t/sparse; seq 50000 >t/d/deep/numbers
            """)
        try box.run("encrypt", "-q", "--key-file", "key", "t")
        let mount = try Mounted(box, ["-q", "--key-file", "key", "t.tar.vault"])
        #expect(
            try box.shell("cd view/t && cat d/link hard && readlink d/link && test -x d/one && ls")
                == "one\none\none\nd\nhard\nsparse\n")
        #expect(try box.shell("cmp view/t/d/deep/numbers t/d/deep/numbers && find view -type l | wc -l") == "2\n")
        #expect(try box.shell("cat view/t/sparse 2>&1 || true").contains("Operation not supported"))
        mount.running.child.send(Host.sigTerm)
        #expect(mount.running.end().ending == .status(0))
    }

    @Test("a database is queried where it is") func database() throws {
        let box = try Sandbox()
        try box.makeKey()
        try box.shell(
            """
            mkdir src view
            python3 - <<'E'
            import sqlite3
            base = sqlite3.connect("src/base")
            base.execute("create table t (n integer primary key, text)")
            base.executemany("insert into t values (?, ?)", ((n, "text %d" % n) for n in range(20000)))
            base.commit()
            E
            """)
        try box.run("encrypt", "-q", "--key-file", "key", "--recursive", "src")
        let mount = try Mounted(box, ["-q", "--key-file", "key", "src"])
        #expect(
            try box.shell(
                """
                python3 - <<'E'
                import sqlite3
                base = sqlite3.connect("file:view/base?mode=ro&immutable=1", uri=True)
                for query in ["select text from t where n = 12345", "select count(*) from t"]:
                    print(base.execute(query).fetchone()[0])
                E
                """) == "text 12345\n20000\n")
        mount.running.child.send(Host.sigTerm)
        #expect(mount.running.end().ending == .status(0))
    }

    @Test("what cannot be mounted says why") func refused() throws {
        let box = try Sandbox()
        try box.makeKey()
        try box.shell("mkdir -p src/in view; echo x >src/a")
        try box.run("encrypt", "-q", "--key-file", "key", "--recursive", "src")
        for (words, status, text) in [
            (["--key-file", "key", "src", "src"], Int32(64), "is in the folder that is mounted"),
            (["--key-file", "key", "src", "src/in"], 64, "is in the folder that is mounted"),
            (["--key-file", "key", "src", "none"], 73, "none"),
            (["--key-file", "key", "src", "src/a"], 73, "src/a"),
            (["--key-file", "key", "none", "view"], 66, "none"),
            (["--key-file", "key", "src/a.vault", "view"], 64, "its contents are not a tar stream"),
            (["--key-file", "key", "src/a", "view"], 65, "notVaultfile"),
            (["--key-file", "key", "-", "view"], 64, "SOURCE"), (["--key-file", "none", "src", "view"], 78, "none"),
            (["src", "view"], 78, "terminal"), (["--key-file", "key", "src"], 64, "mountpoint"),
        ] {
            let end = try box.run((["mount"] + words).map { Array($0.utf8) })
            #expect(end.ending == .status(status) && end.errors.contains(text), "\(words): \(end.ending) \(end.errors)")
        }
        #expect(try !box.shell("cat /proc/mounts").contains(box.folder.string))
    }
}

/// A mount that is ready.
struct Mounted {
    let running: Sandbox.Running
    private let box: Sandbox

    static let isPossible: Bool = {
        guard let device = try? FileDescriptor.open(FilePath("/dev/fuse"), .readWrite) else { return false }
        try? device.close()
        let found = try? Sandbox.shell("command -v fusermount3 >/dev/null && /sbin/ldconfig -p | grep libfuse3.so", [])
        return found?.isEmpty == false
    }()

    /// Mounts on the folder `view`, and waits until it is mounted.
    init(_ box: Sandbox, _ words: [String]) throws {
        self.box = box
        running = try box.start((["mount"] + words + ["view"]).map { Array($0.utf8) })
        for _ in 0..<500 {
            if try isThere() { return }
            Host.pause(milliseconds: 10)
        }
        running.child.send(Host.sigTerm)
        throw Errno.timedOut
    }

    /// Whether the table of mounts has it.
    func isThere() throws -> Bool {
        try box.shell("cat /proc/mounts").contains(" \(box.folder.string)/view fuse.vaultfile ")
    }
}
