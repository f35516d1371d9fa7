import Testing

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
}
