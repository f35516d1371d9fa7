import Testing

/// `vaultfile extract` and hard links.
extension ExtractTests {
    @Test("a hard link puts no symbolic link higher up, where it leads out") func hardLinksOfLinks() throws {
        let box = try prepared(
            """
            d('a'); d('a/b'); s('a/b/l', '../..'); h('up', 'a/b/l'); h('a/b/same', 'a/b/l'); s('a/b/n', '../x')
            h('a/n', 'a/b/n'); f('.vaultfile-extract-1/m'); s('nothing', '')
            """)
        let outcome = try extract(box, "h.vault")
        #expect(outcome.ending == .status(73))
        #expect(outcome.errors.contains("vaultfile: up: is a link to ../.., which may lead out"))
        #expect(outcome.errors.contains("vaultfile: .vaultfile-extract-1/m: has a name that extract uses"))
        #expect(outcome.errors.contains("vaultfile: nothing: is a link to nothing\n"))
        #expect(
            try FolderTests.shell(box, "cd out && ls -A; readlink a/b/same a/n; stat -c %h a/b/l")
                == "a\n../..\n../x\n2\n")
        // Without its target in this run, the link is a link of its own, and is judged where it is.
        try FolderTests.shell(box, "rm -r out; mkdir out")
        #expect(try extract(box, "h.vault", "a/b/same").ending == .status(0))
        #expect(try extract(box, "h.vault", "up").ending == .status(73))
        #expect(try FolderTests.shell(box, "cd out && ls -A; readlink a/b/same") == "a\n../..\n")
    }

    @Test("a hard link leads to the member before it, by every way") func hardLinks() throws {
        let box = try prepared(
            """
            f('a', b'v1'); h('b', 'a'); f('a', b'v2'); h('c', 'a'); h('d', 'b'); h('e', 'later'); f('later')
            """)
        let refused = "e: is a link to later, which was not extracted"
        let all = try extract(box, "h.vault")
        #expect(all.ending == .status(73) && all.errors.contains(refused), "\(all.errors)")
        #expect(try FolderTests.shell(box, "cd out && ls; cat a b c d; rm *") == "a\nb\nc\nd\nlater\nv2v1v2v1")
        let some = try extract(box, "h.vault", "later", "d", "c", "b", "e")
        #expect(some.ending == .status(73) && some.errors.contains(refused), "\(some.errors)")
        #expect(try FolderTests.shell(box, "cd out && ls; cat b c d; rm *") == "b\nc\nd\nlater\nv1v2v1")
        let cat = try box.run("cat", "h.vault", "b", "c", "d", "e", environment: key)
        #expect(cat.ending == .status(64) && cat.text == "v1v2v1", "\(cat.errors)")
        #expect(cat.errors.contains("e: is a link to later"))
    }

    @Test("a link to a member that is not extracted does not become one to an earlier member of that name")
    func failedTargets() throws {
        let box = try prepared(
            """
            f('a', b'v1'); f('a', b'x\\n' + b'\\0' * 510, pax={'GNU.sparse.major': '1', 'GNU.sparse.minor': '0',
                'GNU.sparse.name': 'a', 'GNU.sparse.realsize': '9000'}); h('b', 'a')
            """)
        for paths in [[], ["b"], ["a", "b"]] {
            try FolderTests.shell(box, "rm -rf out; mkdir out")
            let outcome = try box.run(
                (["extract", "-C", "out", "h.vault"] + paths).map { Array($0.utf8) }, environment: key)
            #expect(outcome.ending == .status(65) && outcome.errors.contains("vaultfile: b: "), "\(outcome.errors)")
            #expect(box.bytes("out/b") == nil)
        }
        #expect(try box.run("cat", "h.vault", "b", environment: key).ending == .status(65))
    }

    @Test("a link whose target is damaged is lost, too") func damagedTargets() throws {
        let box = try prepared(
            """
            for i in range(60): f('%02d' % i, b'x' * 20000)
            for i in range(60): h('l/%02d' % i, '%02d' % i)
            """)
        var bytes = try #require(box.bytes("h.vault"))
        bytes[bytes.count / 2] ^= 1
        try box.write(Array("h.vault".utf8), bytes)
        let outcome = try extract(box, "h.vault", "l")
        #expect(outcome.ending == .status(65) && !outcome.errors.contains("was not extracted"), "\(outcome.errors)")
        let lost = outcome.errors.split(separator: "\n").count {
            $0.contains("vaultfile: l/") && $0.contains(": is lost")
        }
        #expect((1...5).contains(lost))
        #expect(try FolderTests.shell(box, "ls out/l | wc -l") == "\(60 - lost)\n")
    }
}
