import SystemPackage
import Testing
import VaultFile

@testable import VaultCommand

/// The mount as other programs see it. These tests need `/dev/fuse`, libfuse3 and fusermount3.
@Suite(.enabled(if: Mounted.isPossible, "this machine cannot mount: no /dev/fuse, libfuse3 or fusermount3"))
struct MountTests {
    @Test(
        "programs read a folder of containers, and a signal unmounts it",
        arguments: [Host.sigInt, Host.sigTerm, Host.sigHup])
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

    @Test("a damaged record is lost alone") func damage() throws {
        let box = try Sandbox()
        try box.makeKey()
        try box.shell("mkdir src view; seq 1000000 | head -c 1000000 >src/a")
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
            cat view/a >whole || echo failed
            """)
        // The pages of one record of 64 KiB. A program that reads all of it gets an error, and not a short file.
        let lines = lost.split(separator: "\n")
        #expect(lines.count == 17 && !lost.contains("wrong") && lines.last == "failed", "\(lost)")
        #expect(mount.end().ending == .status(0))
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
        #expect(mount.end().ending == .status(0))
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
        #expect(mount.end().ending == .status(0))
    }

    @Test("a folder that no key opens, and a mount point with files, are warned of") func warnings() throws {
        let box = try Sandbox()
        try box.makeKey()
        try box.shell("mkdir -p src/sub view; for n in a b c d; do echo x >src/$n; done; echo mine >view/file")
        try box.run("encrypt", "-q", "--key-file", "key", "--recursive", "--remove-source", "src")
        try box.run("key", "generate", "-q", "-o", "other")
        let mount = try Mounted(box, ["-q", "--key-file", "other", "src"])
        #expect(try box.shell("ls view | tr '\\n' ' '; cat view/a 2>&1 || true").hasSuffix("Permission denied\n"))
        let end = mount.end()
        #expect(end.ending == .status(0))
        let full = "view: warning: is not empty: the mount hides what is in it\n"
        let shut = "src: warning: these keys do not open its first 3 containers\n"
        #expect(end.errors == "vaultfile: \(full)vaultfile: \(shut)")
        // Those below the folder count too, and a folder without containers is named.
        try box.shell("rm view/file; mkdir outer; cp -r src outer; mkdir none")
        for (source, text) in [("outer", "these keys do not open its first 3 containers"), ("none", "no container")] {
            let end = try Mounted(box, ["-q", "--key-file", "other", source]).end()
            #expect(end.ending == .status(0) && end.errors.contains(text), "\(end.errors)")
        }
        try box.shell("touch view/file")
        // With the two folders in the wrong order, the mount hides the containers.
        let swapped = try Mounted(box, ["-q", "--key-file", "key", "none"], at: "outer").end()
        #expect(swapped.errors.contains("hint: did you mean vaultfile mount outer none?"), "\(swapped.errors)")
        // One that opens is enough.
        try box.shell("rm view/file; echo y >src/e")
        try box.run("encrypt", "-q", "--key-file", "other", "--remove-source", "src/e")
        try box.shell("rm src/[abcd].vault")
        let open = try Mounted(box, ["-q", "--key-file", "other", "src"])
        #expect(try box.shell("cat view/e") == "y\n")
        #expect(open.end().errors == "")
    }

    @Test("damaged containers are counted, and do not hide that no key opens the others") func damagedOnes() throws {
        let box = try Sandbox()
        try box.makeKey()
        try box.shell("mkdir src view; for n in a b; do echo $n >src/$n; done; seq 100000 >src/c")
        try box.run("encrypt", "-q", "--key-file", "key", "--recursive", "--remove-source", "src")
        try box.run("key", "generate", "-q", "-o", "other")
        try box.shell("truncate -s 5000 src/c.vault; mkdir one; cp src/c.vault one")
        let shut = try Mounted(box, ["-q", "--key-file", "other", "src"]).end().errors
        #expect(shut.contains("src/c.vault: warning: cannot be opened: "), "\(shut)")
        #expect(shut.contains("(footerDamaged)\nvaultfile: hint: vaultfile repair mends the end"), "\(shut)")
        #expect(shut.contains("src: warning: these keys do not open its 2 other containers\n"), "\(shut)")
        let one = try Mounted(box, ["-q", "--key-file", "key", "one/"]).end().errors
        #expect(one.contains("one/c.vault: warning: cannot be opened: ") && !one.contains("do not open"), "\(one)")
        // A file that is none counts; links and header files do not.
        try box.shell(
            """
            mkdir src/sub; echo x >src/sub/d.vault; ln -s a.vault src/l.vault; echo x >src/a.vault.0123456789abcdef.hdr
            """)
        let two = try Mounted(box, ["-q", "--key-file", "other", "src"]).end().errors
        #expect(two.contains("src: warning: 2 of its 4 containers are damaged, or cannot be opened\n"), "\(two)")
        #expect(two.contains("hint: vaultfile verify --recursive --quick src names them\n"), "\(two)")
        #expect(two.contains("src: warning: these keys do not open its 2 other containers\n"), "\(two)")
        let named = try box.run("verify", "--recursive", "--quick", "--key-file", "key", "src").errors
        #expect(named.contains("src/c.vault: ") && named.contains("src/sub/d.vault: "), "\(named)")
    }

    @Test("a passphrase that was mistyped is asked for again before the mount begins") func mistyped() throws {
        let box = try Sandbox()
        try box.shell("mkdir src view; echo x >src/a")
        try box.write("words", "secret\n", mode: .ownerReadWrite)
        try box.run("encrypt", "-q", "--passphrase-file", "words", "src/a")
        let terminal = try PseudoTerminal()
        let running = try box.start(["mount", "-p", "src", "view"].map { Array($0.utf8) }, terminal: terminal)
        _ = try terminal.expect("Passphrase: ")
        try terminal.type("wrong\n")
        _ = try terminal.expect("Wrong passphrase.")
        _ = try terminal.expect("Passphrase: ")
        try terminal.type("secret\n")
        #expect(
            try box.shell("for n in $(seq 1000); do [ -e view/a ] && break; sleep 0.01; done; cat view/a") == "x\n")
        running.child.send(Host.sigTerm)
        let end = running.end()
        #expect(end.ending == .status(0) && !end.errors.contains("do not open"), "\(end.errors)")
    }

    @Test("a mount over a mount is announced, and what a tar leaves out is counted") func overAndLeftOut() throws {
        let box = try Sandbox()
        try box.makeKey()
        try box.shell("mkdir src view; echo x >src/a; tar -cPf t.tar \"$PWD/src\" src; tar -cf dot.tar -C src .")
        let tars = try box.run("encrypt", "--index", "--key-file", "key", "t.tar", "dot.tar")
        #expect(tars.errors.contains("t.tar: warning: 2 members of the tar stream have paths"), "\(tars.errors)")
        #expect(!tars.errors.contains("dot.tar: warning"))
        try box.run("encrypt", "-q", "--key-file", "key", "-o", "plain.vault", "t.tar")
        let first = try Mounted(box, ["-q", "--key-file", "key", "dot.tar.vault"], at: "view")
        for tar in ["t.tar.vault", "plain.vault"] {
            let second = try Mounted(box, ["-q", "--key-file", "key", tar], at: "view").end().errors
            #expect(second.contains("view: warning: is a mount of vaultfile already"), "\(second)")
            #expect(!second.contains("is not empty"))
            #expect(second.contains("\(tar): warning: 2 members are left out: their paths are absolute"), "\(second)")
            #expect(second.contains("hint: vaultfile decrypt -o - \(tar) | tar -x takes out absolute paths"))
        }
        let end = first.end()
        #expect(end.ending == .status(0) && end.errors == "", "\(end.errors)")
    }

    @Test("a container in a folder finds its header file beside it") func detached() throws {
        let box = try Sandbox()
        try box.makeKey()
        try box.shell("mkdir -p src/sub view; echo x >src/a; echo y >src/sub/b")
        try box.run("encrypt", "-q", "--key-file", "key", "--recursive", "--remove-source", "src")
        for name in ["src/a.vault", "src/sub/b.vault"] {
            #expect(try box.run("detach", "--key-file", "key", name).ending == .status(0))
        }
        try box.run("key", "generate", "-q", "-o", "other")
        try box.shell("mkdir lost; cp src/a.vault lost")
        let mount = try Mounted(box, ["-q", "--key-file", "key", "src"])
        #expect(try box.shell("cat view/a view/sub/b; find view -type f | wc -l") == "x\ny\n2\n")
        #expect(mount.end().errors == "")
        let shut = try Mounted(box, ["-q", "--key-file", "other", "src"]).end().errors
        #expect(shut.contains("these keys do not open its 2 containers"), "\(shut)")
        let lost = try Mounted(box, ["-q", "--key-file", "key", "lost"])
        #expect(try box.shell("cat view/a 2>&1 || true").contains("Input/output error"))
        let errors = lost.end().errors
        #expect(errors.contains("lost/a.vault: warning: cannot be opened: its keys are in a header file"), "\(errors)")
        #expect(errors.contains("hint: it has to be beside the container, under the name that detach gives it; "))
    }

    @Test("-v also says that it is unmounted, and -q says neither") func verbosity() throws {
        let box = try Sandbox()
        try box.makeKey()
        try box.shell("mkdir src view; echo x >src/a")
        try box.run("encrypt", "-q", "--key-file", "key", "--recursive", "src")
        let begin = "vaultfile: src: is mounted on view\n"
        for (option, text) in [("-v", begin + "vaultfile: src: is unmounted\n"), ("-q", "")] {
            let end = try Mounted(box, [option, "--key-file", "key", "src"]).end()
            #expect(end.ending == .status(0) && end.errors == text && end.text == "", "\(end)")
        }
    }

    @Test("a tar that breaks off shows its members; what is lost of the last one gives an error")
    func breaksOff() throws {
        let box = try Sandbox()
        try box.makeKey()
        try box.shell("mkdir t view; echo x >t/a; seq 100000 >t/b; tar -cf t.tar t/a t/b; head -c 300000 t.tar >cut")
        try box.run("encrypt", "-q", "--key-file", "key", "cut")
        let mount = try Mounted(box, ["-q", "--key-file", "key", "cut.vault"])
        #expect(
            try box.shell(
                """
                cat view/t/a; stat -c %s view/t/b; head -c 200000 view/t/b | cmp -n 200000 - t/b && echo same
                cat view/t/b >all 2>errors || grep -c 'Input/output error' errors
                """) == "x\n588895\nsame\n1\n")
        let end = mount.end()
        #expect(end.ending == .status(0))
        #expect(end.errors.contains("cut.vault: warning: its tar stream breaks off"), "\(end.errors)")
    }

    @Test("what cannot be mounted says why") func refused() throws {
        let box = try Sandbox()
        try box.makeKey()
        try box.shell("mkdir -p src/in view; echo x >src/a; mkfifo pipe")
        try box.run("encrypt", "-q", "--key-file", "key", "--recursive", "src")
        for (words, status, text) in [
            (["--key-file", "key", "src", "src"], Int32(64), "is in the folder that is mounted"),
            (["--key-file", "key", "src", "src/in"], 64, "is in the folder that is mounted"),
            (["--key-file", "key", "src", "none"], 73, "none"),
            (["--key-file", "key", "src", "src/a"], 73, "src/a: is not a folder"),
            (["--key-file", "key", "view", "src/a.vault"], 73, "did you mean vaultfile mount src/a.vault view?"),
            (["--key-file", "key", "none", "view"], 66, "none"),
            (["--key-file", "key", "src/a.vault", "view"], 64, "its contents are not a tar stream"),
            (["--key-file", "key", "src/a", "view"], 65, "notVaultfile"),
            (["--key-file", "key", "pipe", "view"], 64, "pipe: is no folder and no regular file"),
            (["--key-file", "key", "", "view"], 64, "SOURCE: is empty"),
            (["--key-file", "key", "src", ""], 64, "MOUNTPOINT: is empty"),
            (["--key-file", "key", "-", "view"], 64, "SOURCE"), (["--key-file", "none", "src", "view"], 78, "none"),
            (["src", "view"], 78, "terminal"), (["--key-file", "key", "src"], 64, "MOUNTPOINT: is missing"),
        ] {
            let end = try box.run((["mount"] + words).map { Array($0.utf8) })
            #expect(end.ending == .status(status) && end.errors.contains(text), "\(words): \(end.ending) \(end.errors)")
            #expect(!end.errors.contains("is not empty"), "\(end.errors)")
        }
        #expect(try !box.shell("cat /proc/mounts").contains(box.folder.string))
    }
}
