import SystemPackage
import Testing
import VaultFile

@testable import VaultCommand

/// What may happen to a mount and to its source while programs read. These tests need what `MountTests` needs.
@Suite(.enabled(if: Mounted.isPossible, "this machine cannot mount: no /dev/fuse, libfuse3 or fusermount3"))
struct MountHarmTests {
    /// A folder `src` with a container of each file that `script` makes there.
    private func prepared(_ script: String, _ options: String...) throws -> Sandbox {
        let box = try Sandbox()
        try box.makeKey()
        try box.shell("mkdir src view; \(script)")
        let words = ["encrypt", "-q", "--key-file", "key", "--recursive"] + options + ["src"]
        #expect(try box.run(words.map { Array($0.utf8) }).ending == .status(0))
        return box
    }

    private let source = ["-q", "--key-file", "key", "src"]

    @Test(
        "many programs read many files at once",
        arguments: [[], ["--compress", "deflate"], ["--chunk-size", "1M"]])
    func readers(_ options: [String]) throws {
        let box = try Sandbox()
        try box.makeKey()
        try box.shell(
            "mkdir src view; for n in 0 1 2 3; do seq $n 7 3000000 | head -c 2500000 >src/$n; done; cp -r src plain")
        try box.run((["encrypt", "-q", "--key-file", "key", "--recursive"] + options + ["src"]).map { Array($0.utf8) })
        let mount = try Mounted(box, source)
        try box.write(
            "read.py",
            """
            import os, random, sys
            plain = [open("plain/%d" % n, "rb").read() for n in range(4)]
            for reader in range(12):
                if os.fork() == 0:
                    choice = random.Random(reader)
                    files = [os.open("view/%d" % n, os.O_RDONLY) for n in range(4)]
                    for n in range(150):
                        n, start, count = choice.randrange(4), choice.randrange(2500000), choice.randrange(1, 300000)
                        if choice.randrange(8) == 0: os.posix_fadvise(files[n], 0, 0, os.POSIX_FADV_DONTNEED)
                        if os.pread(files[n], count, start) != plain[n][start:start + count]: os._exit(1)
                    for n in range(4):
                        if open("view/%d" % n, "rb").read() != plain[n]: os._exit(1)
                    os._exit(0)
            print(sum(os.wait()[1] != 0 for reader in range(12)))
            """)
        #expect(try box.shell("python3 read.py") == "0\n")
        #expect(mount.end().ending == .status(0))
    }

    @Test("a file that is open stays what it was, whatever happens to its container") func changes() throws {
        let box = try prepared("seq 1000000 | head -c 1000000 >src/a; cp src/a all; cp src/a src/b; echo new >n")
        try box.makeKey("key2")
        try box.run("encrypt", "-q", "--key-file", "key", "-o", "new.vault", "n")
        let mount = try Mounted(box, source)
        let vaultfile = try "'\(Sandbox.binary())'"
        for (change, old, new) in [
            ("\(vaultfile) reencrypt -q --key-file key --add file:key src/a.vault", "all", "all"),
            ("\(vaultfile) rotate -q --key-file key --add file:key2 src/a.vault", "all", "all"),
            ("\(vaultfile) encrypt -q -f --key-file key -o src/a.vault n", "all", "n"),
            ("mv src/b.vault src/a.vault", "n", "all"), ("cp new.vault x && mv x src/a.vault", "all", "n"),
            ("rm src/a.vault", "n", "/dev/null"),
        ] {
            // The page cache keeps nothing of what is open, so all of it comes from the mount.
            let result = try box.shell(
                """
                exec 5<view/a 2>errors; \(change) </dev/null || exit
                python3 -c 'import os; os.posix_fadvise(5, 0, 0, os.POSIX_FADV_DONTNEED)'
                cmp - \(old) <&5 && sleep 1.1 && { cat view/a 2>/dev/null || true; } | cmp - \(new) && echo same
                """)
            #expect(result == "same\n", "\(change)")
        }
        #expect(mount.end().ending == .status(0))
    }

    @Test("the time of a folder follows that of the source") func folderTimes() throws {
        let box = try prepared("mkdir src/sub; echo x >src/a")
        try box.shell("touch -d @1000 src/sub src")
        let mount = try Mounted(box, source)
        #expect(try box.shell("stat -c %Y view/sub view") == "1000\n1000\n")
        try box.shell("touch -d @2000 src/sub; touch -d @3000 src; sleep 1.1")
        #expect(try box.shell("stat -c %Y view/sub view") == "2000\n3000\n")
        #expect(mount.end().ending == .status(0))
    }

    @Test("a container that is cut while it is open gives errors and its own bytes") func cut() throws {
        let box = try prepared("seq 1000000 | head -c 1000000 >src/a; cp src/a all; cp src/a src/b")
        let mount = try Mounted(box, source)
        let open = try FileDescriptor.open(box.path("view/a"), .readOnly)
        defer { try? open.close() }
        try box.shell("truncate -s 300000 src/a.vault")
        let all = try #require(box.bytes("all"))
        var page = [UInt8](repeating: 0, count: 4096)
        func read(_ offset: Int64) throws -> Int {
            try unsafe page.withUnsafeMutableBytes { try unsafe open.read(fromAbsoluteOffset: offset, into: $0) }
        }
        #expect(try read(4096) == 4096 && page == Array(all[4096..<8192]))
        #expect(throws: Errno.ioError) { try read(900_000) }
        #expect(try box.shell("cmp view/b all && echo same") == "same\n")
        // The whole source goes.
        let gone = try box.shell(
            """
            exec 6<view/b; rm -r src; sleep 1.1
            cmp - all <&6 && ls -A view && { cat view/b 2>/dev/null || echo none; }
            """)
        #expect(gone == "none\n")
        #expect(mount.end().ending == .status(0))
    }

    @Test("after a kill nothing is left", arguments: [false, true]) func killed(_ isOpen: Bool) throws {
        let box = try prepared("echo x >src/a")
        let mount = try Mounted(box, source)
        let open = isOpen ? try FileDescriptor.open(box.path("view/a"), .readOnly) : nil
        defer { try? open?.close() }
        mount.running.child.send(Host.sigKill)
        _ = mount.running.end()
        #expect(try !mount.staysThere())
        #expect(try box.shell("ls -A view") == "")
        let second = try Mounted(box, source)
        #expect(try box.shell("cat view/a") == "x\n")
        #expect(second.end().ending == .status(0))
    }

    @Test("its end leaves another mount at the same place", arguments: [Host.sigTerm, Host.sigKill])
    func anotherMount(_ signal: Int32) throws {
        let box = try prepared("echo x >src/a")
        let first = try Mounted(box, source)
        let open = try FileDescriptor.open(box.path("view/a"), .readOnly)
        try box.shell("fusermount3 -u -z view")
        let second = try Mounted(box, source)
        // The other way round: the second one is on top.
        let third = try Mounted(box, source)
        first.running.child.send(signal)
        _ = first.running.end()
        try open.close()
        second.running.child.send(signal)
        let hidden = second.running.end()
        // It cannot be unmounted, and says so.
        if signal == Host.sigTerm {
            #expect(hidden.ending == .status(74), "\(hidden.ending)")
            #expect(hidden.errors.contains("view: is still mounted"), "\(hidden.errors)")
        }
        // The processes that unmount after a kill have had their time.
        try box.shell("sleep 0.5")
        #expect(try box.shell("cat view/a") == "x\n")
        #expect(third.end().ending == .status(0))
        try box.shell("fusermount3 -u -z view 2>/dev/null; true")
    }

    @Test("if the process that unmounts is killed too, fusermount3 clears what is left") func bothKilled() throws {
        let box = try prepared("echo x >src/a")
        let mount = try Mounted(box, source)
        let process = mount.running.child.process
        // A group and a terminal that end take the process of the mount with them, and not this one.
        #expect(
            try box.shell(
                """
                for p in $(pgrep -P \(process)); do
                    for signal in INT TERM HUP; do kill -$signal $p; done; sleep 0.2
                    case $(ps -o stat= -p $p) in S*) kill -9 $p && echo one ;; esac
                done
                """) == "one\n")
        mount.running.child.send(Host.sigKill)
        _ = mount.running.end()
        #expect(try mount.isThere())
        let refused = try box.run((["mount"] + source + ["view"]).map { Array($0.utf8) })
        #expect(refused.ending == .status(73))
        #expect(refused.errors.contains("is a mount whose process was killed"))
        #expect(refused.errors.contains("fusermount3 -u"))
        try box.shell("fusermount3 -u view")
        let second = try Mounted(box, source)
        #expect(try box.shell("cat view/a") == "x\n")
        #expect(second.end().ending == .status(0))
    }

    @Test("a user who is not root mounts and unmounts; nobody else can look", .enabled(if: Mounted.hasNamespaces))
    func plainUser() throws {
        let box = try prepared("echo x >src/a")
        let output = try box.shell(
            """
            chmod 755 . && mkdir u && cp '\(Sandbox.binary())' u/vaultfile && cp -r src key u && mkdir u/view && chown -R 65534 u
            cat >run.sh <<'E'
            mount -t tmpfs tmpfs /mnt && mknod -m 666 /mnt/fuse c 10 229 && mount --bind /mnt/fuse /dev/fuse && cd u
            as="setpriv --reuid=65534 --regid=65534 --clear-groups env HOME=/ "
            there() { grep -c " $PWD/view fuse.vaultfile" /proc/mounts; }
            ready() { for n in $(seq 1000); do [ "$(there)" = $1 ] && return; sleep 0.01; done; echo "never $1"; }
            begin() { $as ./vaultfile mount -q --key-file key src view & process=$!; ready 1; }
            begin; $as cat view/a; cat view/a 2>/dev/null || echo refused
            kill $process; wait $process; echo ended $? $(there)
            begin; $as fusermount3 -u view; wait $process; echo ended $? $(there)
            begin; $as sh -c 'exec 5<view/a; echo; exec sleep 100' & open=$!; sleep 0.3
            kill $process; wait $process; echo ended $? $(there); kill $open; wait $open
            begin; kill -9 $process; wait $process; ready 0; echo killed $(there)
            E
            unshare -m sh run.sh 2>errors
            """)
        #expect(output == "x\nrefused\nended 0 0\nended 0 0\n\nended 0 0\nkilled 0\n", "\(output)")
    }

    @Test("without the device it says what is missing, and leaves nothing", .enabled(if: Mounted.hasNamespaces))
    func noDevice() throws {
        let box = try prepared("echo x >src/a")
        let vaultfile = try "'\(Sandbox.binary())' mount \(source.joined(separator: " ")) view 2>&1; echo $?"
        let output = try box.shell(
            """
            cat >run.sh <<'E'
            mount --bind /dev/null "$1" && \(vaultfile)
            pgrep -f "vaultfile-unmoun[t].*$PWD" || grep " $PWD/view fuse" /proc/mounts || echo nothing
            E
            unshare -m sh run.sh /dev/fuse
            """)
        #expect(output.contains("cannot be mounted on") && output.hasSuffix("\n73\nnothing\n"), "\(output)")
    }

    @Test("thousands of containers and hundreds of folders need few descriptors") func thousands() throws {
        let box = try prepared(
            """
            for n in $(seq 2000); do echo $n >src/$n; done
            for n in $(seq 300); do mkdir -p d/$n; echo $n >d/$n/f; done
            """)
        try box.run("encrypt", "-q", "--key-file", "key", "--recursive", "d")
        let mount = try Mounted(box, source, prelude: "ulimit -n 64")
        #expect(
            try box.shell("ls view | wc -l; ls -l view | wc -l; cat view/* | sort -n | tail -1")
                == "2000\n2001\n2000\n")
        #expect(mount.end().ending == .status(0))
        // With fewer, what is held open for the next use gives way.
        for limit in [64, 36] {
            let folders = try Mounted(box, ["-q", "--key-file", "key", "d"], prelude: "ulimit -n \(limit)")
            #expect(try box.shell("cat view/*/f | sort -n | tail -1; ls -R view | grep -c f") == "300\n300\n")
            #expect(try box.shell("find view -type f | xargs cat | sort -n | tail -1") == "300\n")
            #expect(folders.end().ending == .status(0))
        }
    }

    @Test("memory stays bounded, however much is read", arguments: [[], ["--compress", "deflate"]])
    func memory(_ options: [String]) throws {
        let box = try Sandbox()
        try box.makeKey()
        try box.shell("mkdir src view; for n in 1 2 3; do yes $n | head -c 100000000 >src/$n; done")
        try box.run((["encrypt", "-q", "--key-file", "key", "--recursive"] + options + ["src"]).map { Array($0.utf8) })
        let mount = try Mounted(box, source)
        func most() throws -> Int {
            let text = try box.shell("awk '/^VmHWM/ { print $2 }' /proc/\(mount.running.child.process)/status")
            return try #require(Int(text.dropLast()))
        }
        #expect(try box.shell("head -c 1000000 view/1 | wc -c") == "1000000\n")
        let before = try most()
        #expect(try box.shell("for n in 1 2 3; do cmp view/$n src/$n && echo same; done") == "same\nsame\nsame\n")
        let after = try most()
        // In kibibytes: a fifth of what was read.
        #expect(after - before < 60_000, "\(before) \(after)")
        #expect(mount.end().ending == .status(0))
    }
}
