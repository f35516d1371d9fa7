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
}
