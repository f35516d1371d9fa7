import Testing

/// `vaultfile extract`, `ls`, `cat` and `mount`, and tar streams that break off.
extension ExtractTests {
    @Test(
        "where a stream breaks off, every verb says so, names the member, and gives what is there",
        arguments: [
            // Within the content of b, within the header of c, and without an end mark.
            (2000, "within b;"), (101_376 + 100, "at byte 101376: it ends within a header;"),
            (101_376 + 512, "at byte 101888: its end mark is missing;"),
        ] as [(Int, String)])
    func brokenOff(_ length: Int, _ place: String) throws {
        let box = try prepared("f('a', b'one'); f('b', b'y' * 99840); f('c', b'')")
        try box.shell("head -c \(length) h.tar >c.tar")
        #expect(try box.run("encrypt", "c.tar", environment: key).ending == .status(0))
        let told = "vaultfile: c.tar.vault: its tar stream breaks off \(place) members may be missing\n"
        let isWhole = length > 100_000
        let out = try extract(box, "c.tar.vault")
        #expect(out.ending == .status(65) && out.errors.contains(told), "\(out.errors)")
        #expect(box.text("out/a") == "one" && (box.bytes("out/b") != nil) == isWhole)
        let tooLong = "vaultfile: b: is longer than the rest of the tar stream\n"
        #expect(out.errors.contains(tooLong) == !isWhole, "\(out.errors)")
        for words in [["ls", "--scan"], ["ls", "-l", "--scan"], ["ls", "-l"]] {
            let list = try box.run(
                (words + ["c.tar.vault"] + (words.last == "-l" ? ["a", "b"] : [])).map { Array($0.utf8) },
                environment: key)
            #expect(list.ending == .status(65) && list.errors.contains(told), "\(list.errors)")
            let last = length > 101_800 && words.last != "-l" ? "c\n" : "b\n"
            #expect(list.text.contains("a\n") && list.text.hasSuffix(last), "\(list.text)")
        }
        let cat = try box.run("cat", "c.tar.vault", "a", environment: key)
        #expect(cat.ending == .status(65) && cat.text == "one" && cat.errors == told, "\(cat.errors)")
        let cut = try box.run("cat", "c.tar.vault", "b", "none", environment: key)
        #expect(cut.ending == .status(65) && cut.output.count == (isWhole ? 99_840 : 0))
        #expect(cut.errors.contains(told) && cut.errors.contains("none: is no member of c.tar.vault"), "\(cut.errors)")
        #expect(cut.errors.contains(tooLong) == !isWhole, "\(cut.errors)")
        guard Mounted.isPossible else { return }
        try FolderTests.shell(box, "mkdir view")
        let mount = try Mounted(box, ["-q", "--key-file", "key", "c.tar.vault"])
        #expect(try FolderTests.shell(box, "ls view; cat view/a; cat view/b | wc -c").hasPrefix("a\nb\n"))
        #expect(try FolderTests.shell(box, "cat view/a; cat view/b | wc -c") == "one\(isWhole ? 99_840 : 0)\n")
        let ended = mount.end()
        #expect(ended.errors.contains("its tar stream breaks off \(place) members may be missing\n"), "\(ended.errors)")
    }

    @Test("zeros in the place of a header end the stream, and a warning says that more follows") func zeros() throws {
        let box = try prepared("f('a', b'one'); f('b', b'two'); f('c', b'three')")
        // The header of b, as recover leaves it if it is lost.
        try box.shell("cp h.tar c.tar; dd if=/dev/zero of=c.tar bs=512 seek=2 count=1 conv=notrunc status=none")
        #expect(try box.run("encrypt", "c.tar", environment: key).ending == .status(0))
        let length = try #require(box.bytes("c.tar")).count - 3 * 512
        let told = """
            vaultfile: c.tar.vault: warning: \(length) bytes behind the end mark of its tar stream are not read: members \
            may be there
            vaultfile: hint: vaultfile decrypt -o - c.tar.vault | tar -x -i reads on behind it

            """
        let out = try extract(box, "c.tar.vault")
        #expect(out.ending == .status(0) && out.errors.contains(told), "\(out.errors)")
        #expect(box.text("out/a") == "one" && box.text("out/c") == nil)
        let list = try box.run("ls", "--scan", "c.tar.vault", environment: key)
        #expect(list.ending == .status(0) && list.text == "a\n" && list.errors.contains(told), "\(list.errors)")
        // What the hint says takes out the rest.
        try box.shell("mkdir rest")
        try box.run("decrypt", "-q", "-o", "again.tar", "c.tar.vault", environment: key)
        #expect(try box.shell("cd rest; tar -x -i -f ../again.tar 2>/dev/null || true; cat a c") == "onethree")
        // Zeros follow the mark of every tar, and are no news.
        let whole = try box.run("ls", "--scan", "h.vault", environment: key)
        #expect(!whole.errors.contains("end mark"), "\(whole.errors)")
    }
}
