import SystemPackage
import Testing
import VaultSystem

/// `vaultfile extract` and disks: one that cannot be read everywhere, and a power failure.
extension ExtractTests {
    @Test(
        "a part of the container that the disk cannot read is lost alone",
        .enabled(if: Mounted.isPossible, "only a mount makes such a disk"))
    func badSector() throws {
        let box = try prepared("for i in range(60): f('f%02d' % i, (b'%02d' % i) * 10000)")
        try FolderTests.shell(box, "mkdir disk view")
        let words = ["encrypt", "-q", "-o", "disk/inner.vault", "-"].map { Array($0.utf8) }
        #expect(try box.run(words, input: box.bytes("h.vault"), environment: key).ending == .status(0))
        // The mount gives EIO for the record of the outer container.
        try FolderTests.shell(box, "printf XXXX | dd of=disk/inner.vault bs=1 seek=600000 conv=notrunc 2>/dev/null")
        let mount = try Mounted(box, ["-q", "--key-file", "key", "disk"])
        let outcome = try extract(box, "view/inner")
        #expect(mount.end().ending == .status(0))
        #expect(outcome.ending == .status(65), "\(outcome.errors)")
        #expect(outcome.errors.contains("is lost: reading failed: "))
        let count = try FolderTests.shell(box, "ls out | wc -l")
        #expect(Int(count.dropLast()).map { (40..<60).contains($0) } == true, "\(count)")
        let whole = try #require(box.text("out/f59"))
        #expect(whole == String(repeating: "59", count: 10_000))
    }

    @Test(
        "a file is durable before it replaces one that was there, unless --no-sync is given",
        .enabled(if: (try? Sandbox.shell("command -v strace", [])) != ""), arguments: [true, false])
    func replacing(_ isSynchronized: Bool) throws {
        let box = try prepared("f('a', b'new'); f('b', b'new')")
        try box.write("out/a", "old")
        let words = ["extract", "-f", "-C", "out", "h.vault"] + (isSynchronized ? [] : ["--no-sync"])
        let run = try box.start(
            words.map { Array($0.utf8) }, command: "exec strace -f -o trace -e trace=fsync,renameat,renameat2 \"$@\"",
            environment: key)
        #expect(run.end().ending == .status(0) && box.text("out/a") == "new")
        let calls = try #require(box.text("trace")).split(separator: "\n").compactMap { line in
            line.contains(" fsync(") ? "fsync" : line.contains(" renameat") ? "rename" : nil
        }
        // Nothing has the other name, so nothing is lost.
        #expect(calls == (isSynchronized ? ["fsync", "rename", "rename"] : ["rename", "rename"]))
    }

    private static let canMount = (try? Sandbox.shell("unshare -m mount -t tmpfs none /mnt && echo yes", [])) == "yes\n"
    private static let canTrace = (try? Sandbox.shell("command -v strace", [])) != ""

    @Test(
        "members below mounts come out, also after a killed run, and each file system is durable",
        .enabled(if: canMount && canTrace, "only root mounts"))
    func mounts() throws {
        let box = try prepared(
            """
            d('d'); f('d/a', b'1'); d('d/t'); f('d/t/b', b'2'); h('d/t/l', 'd/a'); f('d/t/u/c', b'3'); f('e/b', b'4')
            h('e/l', 'e/b'); f('z', b'5')
            """)
        try box.write(
            "run.sh",
            """
            mkdir -p out/d/t out/e bound && mount -t tmpfs none out/d/t && mount --bind bound out/e
            mkdir -m 700 out/d/t/.vaultfile-extract-1 && echo plain >out/d/t/.vaultfile-extract-1/m
            strace -f -o trace -e trace=syncfs "$@" || exit
            cat out/d/a out/d/t/b out/d/t/l out/d/t/u/c out/e/b out/z
            find out -name '.vault*'; stat -c ' %Y' out/d/t; stat -c %h out/e/l
            """)
        // The mount point is a folder that was there: only with --preserve it gets the time of the member.
        let words = ["extract", "-f", "--preserve", "-C", "out", "h.vault"].map { Array($0.utf8) }
        let outcome = try box.start(words, command: "exec unshare -m sh run.sh \"$@\"", environment: key).end()
        // The workshop in the folder of a mount changes its time before the member's own time is set.
        #expect(outcome.ending == .status(0) && outcome.text == "121345 0\n2\n", "\(outcome.text) \(outcome.errors)")
        #expect(try #require(box.text("trace")).split(separator: "\n").count { $0.contains(" syncfs(") } == 3)
    }

    @Test(
        "where a file system renames nothing into a folder, files are written in that folder", .enabled(if: canTrace))
    func foreignFolder() throws {
        let box = try prepared("f('d/a', b'1'); f('d/b', b'2'); h('l', 'd/a')")
        let words = ["extract", "-C", "out", "h.vault"].map { Array($0.utf8) }
        func run(_ failing: String) throws -> Sandbox.Outcome {
            let trace = "strace -f -o trace -e trace=renameat2 -e inject=renameat2:error=EXDEV:when=\(failing)"
            return try box.start(words, command: "exec \(trace) \"$@\"", environment: key).end()
        }
        let outcome = try run("1")
        #expect(outcome.ending == .status(0) && outcome.errors == "", "\(outcome.errors)")
        #expect(try FolderTests.shell(box, "cat out/d/a out/d/b; ls -A out/d; stat -c %h out/l") == "12a\nb\n2\n")
        try FolderTests.shell(box, "rm -r out/d out/l")
        // A hard link becomes a file of its own there.
        let link = try run("3")
        #expect(link.ending == .status(0) && link.errors == "", "\(link.errors)")
        #expect(try FolderTests.shell(box, "cat out/l; ls -A out; stat -c %h out/l; rm out/l") == "1d\nl\n1\n")
        try FolderTests.shell(box, "rm -r out/d")
        let never = try run("1+")
        #expect(never.ending == .status(74) && never.errors.contains("d/a: "), "\(never.errors)")
        #expect(try FolderTests.shell(box, "ls -A out out/d") == "out:\nd\n\nout/d:\n")
    }

    /// A run that has begun to write a large file.
    private func begun(_ box: Sandbox) throws -> Sandbox.Running {
        let running = try box.start(["extract", "-C", "out", "h.vault"].map { Array($0.utf8) }, environment: key)
        let folder = try FileDescriptor.open(box.path("out"), .readOnly)
        defer { try? folder.close() }
        var hasBegun = false
        for _ in 0..<10_000 where !hasBegun {
            try folder.forEachName { name, _ in
                let file = "out/" + String(decoding: name, as: UTF8.self) + "/m"
                if let size = try? box.stat(file).size, size > 0 { hasBegun = true }
            }
            Host.pause(milliseconds: 1)
        }
        #expect(hasBegun)
        return running
    }

    @Test("a signal removes what was not finished, and the process ends by it") func signals() throws {
        let box = try prepared("f('d/a', bytes(64 << 20))")
        for number in [Host.sigHup, Host.sigInt, Host.sigTerm] {
            try FolderTests.shell(box, "rm -rf out/d")
            let running = try begun(box)
            running.child.send(number)
            let outcome = running.end()
            #expect(outcome.ending == .signal(number) && outcome.errors == "", "\(outcome.errors)")
            #expect(try FolderTests.shell(box, "ls -A out out/d") == "out:\nd\n\nout/d:\n")
        }
    }

    @Test("a run removes nothing that another one writes into the same folder") func besideEachOther() throws {
        let box = try prepared("f('a', bytes(64 << 20))")
        try FolderTests.shell(box, "echo x >x && tar -cf s.tar x")
        #expect(try box.run("encrypt", "--index", "s.tar", environment: key).ending == .status(0))
        let first = try begun(box)
        #expect(try extract(box, "s.tar.vault").ending == .status(0))
        #expect(first.end().ending == .status(0))
        #expect(try FolderTests.shell(box, "cd out && ls -A && wc -c <a") == "a\nx\n67108864\n")
    }
}
